/* performer_trig.c, made by attnc 0.1.0: attnc performer_trig.yaml
   C11 with GNU extensions, for a C compiler; C++ includes performer_trig.h.
   Performer attention with trigonometric random features
   Choromanski et al., Rethinking Attention with Performers (2021), section 2.3

   What it computes, over axes b (batch), g (key/value head), m (query head of g), i (query), j (key):
     graph performer_trig f32
     axis b batch
     axis g kv_heads
     axis m members
     axis i n_q
     axis j n_k
     axis d 64
     axis e 64
     axis c 256
     %0 = input q [b g m i d]
     %1 = input k [b g j d]
     %2 = input v [b g j e]
     %3 = map [b g m i d] mul(%0, 0.3535533905932738)
     %4 = map [b g m i d] mul(%3, %3)
     %5 = reduce sum 0 [b g m i] %4
     %6 = map [b g m i] mul(%5, 0.5)
     %7 = param features.w orthogonal [c d]
     %8 = contract [b g m i c] %3 %7
     %9 = map [b g m i c] sin(%8)
     %10 = map [b g m i c] cos(%8)
     %11 = map [b g j d] mul(%1, 0.3535533905932738)
     %12 = map [b g j d] mul(%11, %11)
     %13 = reduce sum 0 [b g j] %12
     %14 = map [b g j] mul(%13, 0.5)
     %15 = contract [b g j c] %11 %7
     %16 = map [b g j c] sin(%15)
     %17 = map [b g j c] cos(%15)
     %18 = contract [b g m i j] %9 %16
     %19 = contract [b g m i j] %10 %17
     %20 = map [b g m i j] mul(mul(mul(add(%18, %19), exp(%6)), exp(%14)), 0.00390625)
     %21 = reduce sum 0 [b g m i] %20 where le(j, add(i, sub(size(j), size(i))))
     %22 = contract [b g m i e] %20 %2 where le(j, add(i, sub(size(j), size(i))))
     %23 = map [b g m i e] select(eq(%21, 0.0), 0.0, div(%22, %21))
     output %23

   How: a tile of queries, one to a lane, meets the keys tile by tile, so that sums over keys and the running
   maximum need no step across lanes. Sums over a tile of keys start from zero and are added to what came before.
   Keys that no query of the tile sees are skipped.
   Where queries are few, those of all heads that share keys are the rows of one tile, and keys are in the lanes:
   each key is read once, in chunks that threads share out, whose sums are added up in their order.
   Linear from 390 keys on: the weight is an inner product of 512 features,
   whose sum over keys is a state of 512 x 65 numbers that queries meet.
     x86-64-v4  quadratic tiles of 32 queries and 96 keys, in blocks of 256 queries; 901120 bytes of workspace a thread
     x86-64-v4  linear    tiles of 64 queries and 64 keys; 1020032 bytes of workspace a thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 646656 bytes of workspace a thread
     x86-64-v3  quadratic tiles of 16 queries and 96 keys, in blocks of 256 queries; 878592 bytes of workspace a thread
     x86-64-v3  linear    tiles of 64 queries and 64 keys; 1020032 bytes of workspace a thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 646656 bytes of workspace a thread
     generic    quadratic tiles of 16 queries and 96 keys, in blocks of 128 queries; 548864 bytes of workspace a thread
     generic    linear    tiles of 64 queries and 64 keys; 1020032 bytes of workspace a thread
     generic    few       tiles of 64 queries and 128 keys; 646656 bytes of workspace a thread
   Compile with: cc -O2 -fopenmp performer_trig.c … -lattnrt -lm */
#ifdef __cplusplus
#error "performer_trig.c is C, not C++: a C compiler has to compile it"
#endif
#include "performer_trig.h"

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
    const struct performer_trig_params *params;
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
typedef double wide_v4 __attribute__((vector_size(128)));
TARGET_v4 INLINE vec_v4 load_v4(const float *p) { return *(const stored_v4 *)(const void *)p; }
TARGET_v4 INLINE void store_v4(float *p, vec_v4 x) { *(stored_v4 *)(void *)p = x; }
TARGET_v4 INLINE vec_v4 splat_v4(float x) { return x - (vec_v4){0}; }

/* a where the mask is set, else b */
TARGET_v4 INLINE vec_v4 pick_v4(mask_v4 m, vec_v4 a, vec_v4 b) { return (vec_v4)((m & (mask_v4)a) | (~m & (mask_v4)b));
    }

static const ints_v4 lane_v4 = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

TARGET_v4 INLINE vec_v4 max_v4(vec_v4 a, vec_v4 b) { return pick_v4((mask_v4)(a < b), b, a); }

/* The same, and NaN stays as the second, too. */
TARGET_v4 INLINE vec_v4 max_nan_v4(vec_v4 a, vec_v4 b) { return pick_v4((mask_v4)(b != b), b, max_v4(a, b)); }

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

/* The sine of *x plus `quarter` quarter turns: x less the turns' angle in three parts (fdlibm's), which is exact to
   1e-17 for angles up to 10^6. */
TARGET_v4 INLINE vec_v4 turn_v4(const wide_v4 *x, int64_t quarter)
{
    const wide_v4 t = *x * 0.63661977236758134308 + 6755399441055744.0; /* quarter turns, rounded, in the low bits */
    const wide_v4 n = t - 6755399441055744.0;
    const wide_v4 left = ((*x - n * 1.57079632673412561417) - n * 6.07710050630396597660e-11)
        - n * 2.02226624879595063154e-21;
    const ints_v4 turns = (ints_v4)t + quarter;
    const vec_v4 r = __builtin_convertvector(left, vec_v4), z = r * r;
    const vec_v4 s = r + r * z * (z * (z * -0.00019587841f + 0.0083327480f) - 0.16666665f);
    const vec_v4 c = 1.0f - z * 0.5f + z * z * (z * (z * 2.4547892e-05f - 0.0013888303f) + 0.041666665f);
    const mask_v4 odd = __builtin_convertvector(-(turns & 1), mask_v4);
    const mask_v4 negative = __builtin_convertvector((turns & 2), mask_v4);
    return (vec_v4)((mask_v4)pick_v4(odd, c, s) ^ (negative << 30));
}

TARGET_v4 INLINE vec_v4 sin_v4(const wide_v4 *x) { return turn_v4(x, 0); }
TARGET_v4 INLINE vec_v4 cos_v4(const wide_v4 *x) { return turn_v4(x, 1); }

/* The sum over the lanes. */
TARGET_v4 INLINE float lane_sum_v4(vec_v4 x)
{
    x += __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    x += __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
    return x[0];
}

/* The largest of the lanes; where one is NaN, perhaps not that. */
TARGET_v4 INLINE float lane_max_v4(vec_v4 x)
{
    x = max_v4(x, __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
    x = max_v4(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
    x = max_v4(x, __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
    x = max_v4(x, __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
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
    dot_v4(2, 32, 256, 4, 64, 32, a, 64, 1, b, 32, c, 32, 0, NULL, NULL);
}
TARGET_v4 APART void dot1_v4(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_v4(3, lanes, 256, 4, 64, 32, a, 64, 1, b, 96, c, 96, 0, NULL, NULL);
}
TARGET_v4 APART void dot2_v4(int64_t rows, const float *a, const float *b, float *c)
{
    dot_v4(2, 32, rows, -1, 256, 32, a, 1, 96, b, 32, c, 32, 0, NULL, NULL);
}
TARGET_v4 APART void dot3_v4(int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_finite_v4(2, 32, 64, 4, steps, 192, a, 1, a_step, b, 32, c, 32, 3, factor, compensation);
}
TARGET_v4 APART void dot4_v4(int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_v4(2, 32, 64, 4, steps, 192, a, 1, a_step, b, 32, c, 32, 3, factor, compensation);
}
TARGET_v4 APART void dot5_v4(const float *a, const float *b, float *c)
{
    dot_v4(4, 64, 256, 4, 64, 32, a, 64, 1, b, 64, c, 64, 0, NULL, NULL);
}
TARGET_v4 APART void dot6_v4(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_v4(4, 64, rows, -1, steps, 192, a, 64, 1, b, b_step, c, 64, 0, NULL, NULL);
}
TARGET_v4 APART void dot7_v4(int64_t steps, const float *a, const float *b, float *c)
{
    dot_v4(4, 64, 64, 4, steps, 32, a, 1, 64, b, 64, c, 64, 1, NULL, NULL);
}
TARGET_v4 APART void dot8_v4(int64_t rows, const float *a, const float *b, float *c)
{
    dot_v4(4, 64, rows, -1, 256, 32, a, 1, 64, b, 64, c, 64, 0, NULL, NULL);
}
TARGET_v4 APART void dot9_v4(int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_finite_v4(4, 64, 64, 4, steps, 192, a, 1, a_step, b, 64, c, 64, 3, factor, compensation);
}
TARGET_v4 APART void dot10_v4(int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_v4(4, 64, 64, 4, steps, 192, a, 1, a_step, b, 64, c, 64, 3, factor, compensation);
}
TARGET_v4 APART void dot11_v4(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_v4(4, lanes, 256, 4, 64, 32, a, 64, 1, b, 144, c, 144, 0, NULL, NULL);
}
TARGET_v4 APART void dot12_v4(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_v4(4, lanes, rows, -1, 256, 32, a, 1, 64, b, 144, c, 144, 0, NULL, NULL);
}
TARGET_v4 APART void dot13_v4(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_finite_lanes_v4(1, 4, 64, rows, -1, steps, 192, a, 144, 1, b, b_step, c, 64, 1, NULL, NULL);
}
TARGET_v4 APART void dot14_v4(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_fetched_v4(4, 64, rows, -1, steps, 192, a, 144, 1, b, b_step, c, 64, 1, NULL, NULL);
}

/* Task number `task`: one tile of queries of one head; `work` is the thread's part of the workspace. */
TARGET_v4 static void performer_trig_rows_v4(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const features_w = call->params->features_w;
    float *const all_query_2 = (float *)(void *)(work + 0); /* [i: 32, 8 times] */
    float *const query_3 = (float *)(void *)(work + 1024); /* [c: 256, i: 32] */
    float *const all_query_sin = (float *)(void *)(work + 33792); /* [c: 256, i: 32, 8 times] */
    float *const all_query_cos = (float *)(void *)(work + 295936); /* [c: 256, i: 32, 8 times] */
    float *const key_2 = (float *)(void *)(work + 1024); /* [j: 96] */
    float *const key_3 = (float *)(void *)(work + 558080); /* [c: 256, j: 96] */
    float *const key_sin = (float *)(void *)(work + 656384); /* [c: 256, j: 96] */
    float *const score = (float *)(void *)(work + 1408); /* [j: 96, i: 32] */
    float *const score_2 = (float *)(void *)(work + 13696); /* [j: 96, i: 32] */
    float *const weight = (float *)(void *)(work + 754688); /* [j: 96, i: 32] */
    float *const all_row_max = (float *)(void *)(work + 766976); /* [i: 32, 8 times] */
    float *const old_max = (float *)(void *)(work + 25984); /* [i: 32] */
    float *const all_row_sum = (float *)(void *)(work + 768000); /* [i: 32, 8 times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + 769024); /* [i: 32, 8 times] */
    float *const all_sum = (float *)(void *)(work + 770048); /* [e: 64, i: 32, 8 times] */
    float *const all_sum_compensation = (float *)(void *)(work + 835584); /* [e: 64, i: 32, 8 times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: 32] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const q_tile = (float *)(void *)(work + 558080); /* [d: 64, i: 32] */
    float *const k_tile = (float *)(void *)(work + 1408); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 32) {
        const int64_t i0 = i_next, i1 = min(i0 + 32, i_end);
        float *const query_2 = all_query_2 + (i0 - i_block) / 32 * 32;
        float *const query_sin = all_query_sin + (i0 - i_block) / 32 * 8192;
        float *const query_cos = all_query_cos + (i0 - i_block) / 32 * 8192;
        float *const row_max = all_row_max + (i0 - i_block) / 32 * 32;
        float *const row_sum = all_row_sum + (i0 - i_block) / 32 * 32;
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 32 * 32;
        float *const sum = all_sum + (i0 - i_block) / 32 * 2048;
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 32 * 2048;
        /* q_tile = q, with zeros beyond the last row */
        transpose_v4(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32);
        for (int64_t i = i1 - i0; i < round_up(i1 - i0, 16); i++)
            for (int64_t d = 0; d < 64; d++) q_tile[d * 32 + i] = 0;
        /* query_2 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(query_2 + i, splat_v4(0.0f));
        }
        /* q_tile = q_tile * 0.35355339f; query_2 += q_tile * q_tile */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
            vec_v4 query_2_in[2];
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                query_2_in[u] = (vec_v4){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                    const vec_v4 q_tile_0 = load_v4(q_tile + d * 32 + i);
                    const vec_v4 q_tile_new1 = q_tile_0 * 0.35355339f;
                    store_v4(q_tile + d * 32 + i, q_tile_new1);
                    query_2_in[u] += q_tile_new1 * q_tile_new1;
                }
            }
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                store_v4(query_2 + i, load_v4(query_2 + i) + query_2_in[u]);
            }
        }
        /* query_3[c][i] = sum over d of features_w * q_tile */
        dot0_v4(features_w, q_tile, query_3);
        /* query_sin = sin(query_3); query_cos = cos(query_3) */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            for (int64_t c = 0; c < 256; c++) {
                const vec_v4 query_3_2 = load_v4(query_3 + c * 32 + i);
                const wide_v4 angle3 = __builtin_convertvector(query_3_2, wide_v4);
                store_v4(query_sin + c * 32 + i, sin_v4(&angle3));
                const wide_v4 angle4 = __builtin_convertvector(query_3_2, wide_v4);
                store_v4(query_cos + c * 32 + i, cos_v4(&angle4));
            }
        }
        /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(row_max + i, splat_v4(-FLT_MAX));
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
        /* key_2 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_2 + j, splat_v4(0.0f));
        }
        /* k_tile = k_tile * 0.35355339f; key_2 += k_tile * k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 48) {
            vec_v4 key_2_in[3];
            UNROLL for (int64_t u = 0, j = j_first; u < 3; u++, j += 16) {
                key_2_in[u] = (vec_v4){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 3; u++, j += 16) {
                    const vec_v4 k_tile_5 = load_v4(k_tile + d * 96 + j);
                    const vec_v4 k_tile_new6 = k_tile_5 * 0.35355339f;
                    store_v4(k_tile + d * 96 + j, k_tile_new6);
                    key_2_in[u] += k_tile_new6 * k_tile_new6;
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 3; u++, j += 16) {
                store_v4(key_2 + j, load_v4(key_2 + j) + key_2_in[u]);
            }
        }
        /* key_3[c][j] = sum over d of features_w * k_tile */
        dot1_v4(round_up(j1 - j0, 48), features_w, k_tile, key_3);
        /* key_sin = sin(key_3); key_3 = cos(key_3) */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            for (int64_t c = 0; c < 256; c++) {
                const vec_v4 key_3_7 = load_v4(key_3 + c * 96 + j);
                const wide_v4 angle8 = __builtin_convertvector(key_3_7, wide_v4);
                store_v4(key_sin + c * 96 + j, sin_v4(&angle8));
                const wide_v4 angle9 = __builtin_convertvector(key_3_7, wide_v4);
                store_v4(key_3 + c * 96 + j, cos_v4(&angle9));
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 32) {
            const int64_t i0 = i_next, i1 = min(i0 + 32, i_end);
            float *const query_2 = all_query_2 + (i0 - i_block) / 32 * 32;
            float *const query_sin = all_query_sin + (i0 - i_block) / 32 * 8192;
            float *const query_cos = all_query_cos + (i0 - i_block) / 32 * 8192;
            float *const row_max = all_row_max + (i0 - i_block) / 32 * 32;
            float *const row_sum = all_row_sum + (i0 - i_block) / 32 * 32;
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 32 * 32;
            float *const sum = all_sum + (i0 - i_block) / 32 * 2048;
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 32 * 2048;
            if (!(j0 < (i1 + n_k - n_q))) continue; /* nothing in the tile can be seen */
            /* score[j][i] = sum over c of key_sin * query_sin */
            dot2_v4(j1 - j0, key_sin, query_sin, score);
            /* score_2[j][i] = sum over c of key_3 * query_cos */
            dot2_v4(j1 - j0, key_3, query_cos, score_2);
            /* weight = (query_2 * 0.7213475f) + (key_2 * 0.7213475f) */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 t_10 = load_v4(query_2 + i) * 0.7213475f;
                for (int64_t j = 0; j < j1 - j0; j++) {
                    store_v4(weight + j * 32 + i, t_10 + (key_2[j] * 0.7213475f));
                }
            }
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(old_max + i, load_v4(row_max + i));
            }
            if ((i0 + n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
                /* weight = select(j <= (i + (n_k - n_q)), weight, -INFINITY) */
                const int64_t t_11 = n_k - n_q;
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    const ints_v4 t_12 = (i0 + i + lane_v4) + t_11;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_v4(weight + j * 32 + i, pick_v4(__builtin_convertvector((j0 + j) <= t_12, mask_v4),
                            load_v4(weight + j * 32 + i), splat_v4(-INFINITY)));
                    }
                }
            }
            /* row_max max= weight */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
                vec_v4 row_max_in[2][2];
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) row_max_in[u][j_chain] = splat_v4(-INFINITY);
                }
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                        const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                        UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                            row_max_in[u][j_chain] = max_v4(row_max_in[u][j_chain], load_v4(weight + j * 32 + i));
                        }
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                    store_v4(row_max + i, max_v4(load_v4(row_max + i), max_v4(row_max_in[u][0], row_max_in[u][1])));
                }
            }
            /* old_max = exp2(old_max - row_max) */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(old_max + i, exp2_v4(load_v4(old_max + i) - load_v4(row_max + i)));
            }
            /* score = exp2(weight - row_max) * ((score + score_2) * 0.00390625f) */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 row_max_13 = load_v4(row_max + i);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    store_v4(score + j * 32 + i, exp2_v4(load_v4(weight + j * 32 + i) - row_max_13) * ((load_v4(score +
                        j * 32 + i) + load_v4(score_2 + j * 32 + i)) * 0.00390625f));
                }
            }
            if ((i0 + n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
                /* score = select(j <= (i + (n_k - n_q)), score, 0.0f) */
                const int64_t t_14 = n_k - n_q;
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    const ints_v4 t_15 = (i0 + i + lane_v4) + t_14;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_v4(score + j * 32 + i, pick_v4(__builtin_convertvector((j0 + j) <= t_15, mask_v4),
                            load_v4(score + j * 32 + i), splat_v4(0.0f)));
                    }
                }
            }
            /* row_sum = row_sum * old_max; row_sum_compensation = row_sum_compensation * old_max */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 old_max_16 = load_v4(old_max + i);
                store_v4(row_sum + i, load_v4(row_sum + i) * old_max_16);
                store_v4(row_sum_compensation + i, load_v4(row_sum_compensation + i) * old_max_16);
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
            /* sum[e][i] = sum * old_max + sum over j of v * score */
            if (__builtin_expect(((i0 + n_k - n_q + 1) < j1) && !finite_v4(v + j0 * v_row, v_row, j1 - j0, 64),
                0)) { /* infinity and NaN reach only what sees them */
                dot3_v4(j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    mask_v4 seen[2];
                    if (finite_v4(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    const int64_t t_17 = n_k - n_q;
                    for (int64_t i = 0; i < i1 - i0; i += 16) {
                        seen[i / 16] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_v4) + t_17), mask_v4);
                    }
                    add_seen_v4(64, sum, 32, v + j0 * v_row + j * v_row, 1, score + j * 32, seen, i1 - i0);
                }
            } else
                dot4_v4(j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 32) {
            const int64_t i0 = i_next, i1 = min(i0 + 32, i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / 32 * 32;
            float *const sum = all_sum + (i0 - i_block) / 32 * 2048;
            /* result = select(row_sum == 0.0f, 0.0f, sum / row_sum) */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 row_sum_18 = load_v4(row_sum + i);
                const mask_v4 t_19 = row_sum_18 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    store_v4(result + e * 32 + i, pick_v4(t_19, splat_v4(0.0f),
                        load_v4(sum + e * 32 + i) / row_sum_18));
                }
            }
            /* out = result, transposed back */
            transpose_v4(result, 32, 64, i1 - i0, out + i0 * out_row, out_row);
        }
    }
}

/* States begin with no key. */
TARGET_v4 APART void performer_trig_begin_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    (void)call;
    (void)task;
    const int64_t f0 = turn * 32, f1 = min(f0 + 32, 512);
    float *const carried = (float *)(void *)(part->shared + 0); /* [f: 512] */
    float *const carried_2 = (float *)(void *)(part->shared + 2048); /* [f: 512] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 135168); /* [f: 512] */
    float *const carried_3 = (float *)(void *)(part->shared + 4096); /* [f: 512, e: 64] */
    float *const carried_3_compensation = (float *)(void *)(part->shared + 137216); /* [f: 512, e: 64] */
    /* carried = -FLT_MAX; carried_2 = 0.0f; carried_2_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += 16) {
        store_v4(carried + f, splat_v4(-FLT_MAX));
        store_v4(carried_2 + f, splat_v4(0.0f));
        store_v4(carried_2_compensation + f, splat_v4(0.0f));
    }
    /* carried_3 = 0.0f; carried_3_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t u = 0, e = e_first; u < 4; u++, e += 16) {
                store_v4(carried_3 + f * 64 + e, splat_v4(0.0f));
                store_v4(carried_3_compensation + f * 64 + e, splat_v4(0.0f));
            }
        }
    }
}

/* The keys of a chunk, summed from zero into its slot. */
TARGET_v4 APART void performer_trig_keys_v4(const struct call *call, int64_t task, const struct part *part,
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
    const float *const features_w = call->params->features_w;
    float *const key_2 = (float *)(void *)(part->work + 0); /* [j: 64] */
    float *const key_3 = (float *)(void *)(part->work + 256); /* [c: 256, j: 64] */
    float *const key_sin = (float *)(void *)(part->work + 65792); /* [c: 256, j: 64] */
    float *const key_4 = (float *)(void *)(part->work + 131328); /* [f: 512, j: 64] */
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 512 of 528] */
    float *const key_5 = (float *)(void *)(part->work + 262400); /* [f: 192, j: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 2112); /* [chunk, f: 512 of 528] */
    float *const state_3 = (float *)(void *)(part->slots + 4224); /* [chunk, f: 512, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 65792); /* [d: 64, j: 64] */
    /* state = -FLT_MAX; state_2 = 0.0f */
    for (int64_t f = 0; f < 512; f += 16) {
        store_v4(state + (chunk - chunk0) * 33824 + f, splat_v4(-FLT_MAX));
        store_v4(state_2 + (chunk - chunk0) * 33824 + f, splat_v4(0.0f));
    }
    for (int64_t j0 = chunk * 64, j_end = min(n_k, (chunk + 1) * 64); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_v4(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 64);
        for (int64_t j = j1 - j0; j < round_up(j1 - j0, 16); j++)
            for (int64_t d = 0; d < 64; d++) k_tile[d * 64 + j] = 0;
        /* key_2 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_2 + j, splat_v4(0.0f));
        }
        /* k_tile = k_tile * 0.35355339f; key_2 += k_tile * k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 64) {
            vec_v4 key_2_in[4];
            UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                key_2_in[u] = (vec_v4){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                    const vec_v4 k_tile_0 = load_v4(k_tile + d * 64 + j);
                    const vec_v4 k_tile_new1 = k_tile_0 * 0.35355339f;
                    store_v4(k_tile + d * 64 + j, k_tile_new1);
                    key_2_in[u] += k_tile_new1 * k_tile_new1;
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                store_v4(key_2 + j, load_v4(key_2 + j) + key_2_in[u]);
            }
        }
        /* key_3[c][j] = sum over d of features_w * k_tile */
        dot5_v4(features_w, k_tile, key_3);
        /* key_sin = sin(key_3); key_3 = cos(key_3) */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            for (int64_t c = 0; c < 256; c++) {
                const vec_v4 key_3_2 = load_v4(key_3 + c * 64 + j);
                const wide_v4 angle3 = __builtin_convertvector(key_3_2, wide_v4);
                store_v4(key_sin + c * 64 + j, sin_v4(&angle3));
                const wide_v4 angle4 = __builtin_convertvector(key_3_2, wide_v4);
                store_v4(key_3 + c * 64 + j, cos_v4(&angle4));
            }
        }
        /* key_4 = key_2 * 0.7213475f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_5 = load_v4(key_2 + j) * 0.7213475f;
            for (int64_t f = 0; f < 512; f++) {
                store_v4(key_4 + f * 64 + j, t_5);
            }
        }
        /* state max= key_4 */
        for (int64_t f = 0; f < 512; f++) {
            vec_v4 lanes_max = splat_v4(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4 term = load_v4(key_4 + f * 64 + j);
                lanes_max = max_v4(lanes_max, j + 16 <= j1 - j0 ? term : pick_v4(__builtin_convertvector(j + lane_v4 <
                    j1 - j0, mask_v4), term, splat_v4(-INFINITY)));
            }
            const float largest = lane_max_v4(lanes_max);
            if (largest > state[(chunk - chunk0) * 33824 + f]) state[(chunk - chunk0) * 33824 + f] = largest;
        }
        for (int64_t f0 = 0, f_end = 512; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* key_5 = exp2(key_4 - state) * select(f < 256, key_sin, key_3) */
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                for (int64_t f = f0; f < f1; f++) {
                    store_v4(key_5 + (f - f0) * 64 + j, exp2_v4(load_v4(key_4 + f * 64 + j) - (state[(chunk - chunk0) *
                        33824 + f])) * ((f < 256) ? load_v4(key_sin + min(f,
                        255) * 64 + j) : load_v4(key_3 + max(f - 256, 0) * 64 + j)));
                }
            }
            /* state_2 += key_5 */
            for (int64_t f = f0; f < f1; f++) {
                vec_v4 lane_sums = splat_v4(0);
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    const vec_v4 term = load_v4(key_5 + (f - f0) * 64 + j);
                    lane_sums += j + 16 <= j1 - j0 ? term : pick_v4(__builtin_convertvector(j + lane_v4 < j1 - j0,
                        mask_v4), term, splat_v4(0));
                }
                const float total = lane_sum_v4(lane_sums);
                state_2[(chunk - chunk0) * 33824 + f] += total;
            }
            /* state_3[f][e] = sum over j of key_5 * v */
            dot6_v4(f1 - f0, j1 - j0, key_5, v + j0 * v_row, v_row, state_3 + (chunk - chunk0) * 33824 + f0 * 64);
        }
    }
}

/* Some elements of the states take in the chunks at hand, one after the other. */
TARGET_v4 APART void performer_trig_fold_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    (void)call;
    (void)task;
    const int64_t f0 = turn * 32, f1 = min(f0 + 32, 512);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 512 of 528] */
    float *const state_2 = (float *)(void *)(part->slots + 2112); /* [chunk, f: 512 of 528] */
    float *const state_3 = (float *)(void *)(part->slots + 4224); /* [chunk, f: 512, e: 64] */
    float *const carried = (float *)(void *)(part->shared + 0); /* [f: 512] */
    float *const keep = (float *)(void *)(part->work + 0); /* [f: 512] */
    float *const take = (float *)(void *)(part->work + 2048); /* [f: 512] */
    float *const carried_2 = (float *)(void *)(part->shared + 2048); /* [f: 512] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 135168); /* [f: 512] */
    float *const carried_3 = (float *)(void *)(part->shared + 4096); /* [f: 512, e: 64] */
    float *const carried_3_compensation = (float *)(void *)(part->shared + 137216); /* [f: 512, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before = carried; carried max= state; keep = exp2(before - carried); take = exp2(state - carried);
           state = before */
        for (int64_t f = f0; f < f1; f += 16) {
            const vec_v4 carried_6 = load_v4(carried + f);
            const vec_v4 before_new7 = carried_6;
            const vec_v4 state_8 = load_v4(state + (chunk - chunk0) * 33824 + f);
            const vec_v4 carried_new9 = max_v4(load_v4(carried + f), state_8);
            store_v4(carried + f, carried_new9);
            store_v4(keep + f, exp2_v4(before_new7 - carried_new9));
            store_v4(take + f, exp2_v4(state_8 - carried_new9));
            store_v4(state + (chunk - chunk0) * 33824 + f, before_new7);
        }
        /* before_2 = carried_2; carried_2 = carried_2 * keep; carried_2_compensation = carried_2_compensation * keep;
           carried_2 += state_2 ... */
        for (int64_t f = f0; f < f1; f += 16) {
            const vec_v4 carried_2_10 = load_v4(carried_2 + f);
            const vec_v4 before_2_new11 = carried_2_10;
            const vec_v4 keep_12 = load_v4(keep + f);
            store_v4(carried_2 + f, carried_2_10 * keep_12);
            store_v4(carried_2_compensation + f, load_v4(carried_2_compensation + f) * keep_12);
            add_v4(carried_2 + f, carried_2_compensation + f, load_v4(state_2 + (chunk - chunk0) * 33824 + f) *
                load_v4(take + f), splat_v4(1));
            store_v4(state_2 + (chunk - chunk0) * 33824 + f, before_2_new11);
        }
        /* before_3 = carried_3; carried_3 = carried_3 * keep; carried_3_compensation = carried_3_compensation * keep;
           carried_3 += state_3 ... */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                UNROLL for (int64_t u = 0, e = e_first; u < 4; u++, e += 16) {
                    const vec_v4 carried_3_13 = load_v4(carried_3 + f * 64 + e);
                    const vec_v4 before_3_new14 = carried_3_13;
                    const float keep_15 = keep[f];
                    store_v4(carried_3 + f * 64 + e, carried_3_13 * keep_15);
                    store_v4(carried_3_compensation + f * 64 + e, load_v4(carried_3_compensation + f * 64 + e) *
                        keep_15);
                    add_v4(carried_3 + f * 64 + e, carried_3_compensation + f * 64 + e,
                        load_v4(state_3 + (chunk - chunk0) * 33824 + f * 64 + e) * take[f], splat_v4(1));
                    store_v4(state_3 + (chunk - chunk0) * 33824 + f * 64 + e, before_3_new14);
                }
            }
        }
    }
}

/* The queries of a chunk meet the states before it, and its own keys. */
TARGET_v4 APART void performer_trig_queries_v4(const struct call *call, int64_t task, const struct part *part,
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
    const float *const features_w = call->params->features_w;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 512 of 528] */
    float *const state_2 = (float *)(void *)(part->slots + 2112); /* [chunk, f: 512 of 528] */
    float *const state_3 = (float *)(void *)(part->slots + 4224); /* [chunk, f: 512, e: 64] */
    float *const query_2 = (float *)(void *)(part->work + 0); /* [i: 64] */
    float *const query_3 = (float *)(void *)(part->work + 256); /* [c: 256, i: 64] */
    float *const query_sin = (float *)(void *)(part->work + 65792); /* [c: 256, i: 64] */
    float *const key_7 = (float *)(void *)(part->work + 131328); /* [j: 64] */
    float *const key_8 = (float *)(void *)(part->work + 131584); /* [c: 256, j: 64] */
    float *const key_sin_2 = (float *)(void *)(part->work + 197120); /* [c: 256, j: 64] */
    float *const score = (float *)(void *)(part->work + 262656); /* [j: 64, i: 64] */
    float *const score_2 = (float *)(void *)(part->work + 197120); /* [j: 64, i: 64] */
    float *const query_4 = (float *)(void *)(part->work + 131328); /* [f: 512, i: 64] */
    float *const query_5 = (float *)(void *)(part->work + 279040); /* [i: 64] */
    float *const query_6 = (float *)(void *)(part->work + 279296); /* [f: 192, i: 64] */
    float *const query_7 = (float *)(void *)(part->work + 328448); /* [i: 64] */
    float *const weight = (float *)(void *)(part->work + 131584); /* [j: 64, i: 64] */
    float *const row_max = (float *)(void *)(part->work + 328704); /* [i: 64] */
    float *const old_max = (float *)(void *)(part->work + 131328); /* [i: 64] */
    float *const row_sum = (float *)(void *)(part->work + 328960); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 329216); /* [i: 64] */
    float *const query_8 = (float *)(void *)(part->work + 329472); /* [e: 64, i: 64] */
    float *const sum = (float *)(void *)(part->work + 279296); /* [e: 64, i: 64] */
    float *const sum_compensation = (float *)(void *)(part->work + 295680); /* [e: 64, i: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    float *const q_tile = (float *)(void *)(part->work + 65792); /* [d: 64, i: 64] */
    float *const k_tile_2 = (float *)(void *)(part->work + 197120); /* [d: 64, j: 64] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 64) - (n_k - n_q)), i_end = min(n_q,
            ((chunk + 1) * 64) - (n_k - n_q)); i0 < i_end; i0 += 64) {
            const int64_t i1 = min(i0 + 64, i_end);
            /* q_tile = q, with zeros beyond the last row */
            transpose_v4(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 64);
            for (int64_t i = i1 - i0; i < round_up(i1 - i0, 16); i++)
                for (int64_t d = 0; d < 64; d++) q_tile[d * 64 + i] = 0;
            /* query_2 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(query_2 + i, splat_v4(0.0f));
            }
            /* q_tile = q_tile * 0.35355339f; query_2 += q_tile * q_tile */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 64) {
                vec_v4 query_2_in[4];
                UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                    query_2_in[u] = (vec_v4){0};
                }
                for (int64_t d = 0; d < 64; d++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                        const vec_v4 q_tile_16 = load_v4(q_tile + d * 64 + i);
                        const vec_v4 q_tile_new17 = q_tile_16 * 0.35355339f;
                        store_v4(q_tile + d * 64 + i, q_tile_new17);
                        query_2_in[u] += q_tile_new17 * q_tile_new17;
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                    store_v4(query_2 + i, load_v4(query_2 + i) + query_2_in[u]);
                }
            }
            /* query_3[c][i] = sum over d of features_w * q_tile */
            dot5_v4(features_w, q_tile, query_3);
            /* query_sin = sin(query_3); query_3 = cos(query_3) */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                for (int64_t c = 0; c < 256; c++) {
                    const vec_v4 query_3_18 = load_v4(query_3 + c * 64 + i);
                    const wide_v4 angle19 = __builtin_convertvector(query_3_18, wide_v4);
                    store_v4(query_sin + c * 64 + i, sin_v4(&angle19));
                    const wide_v4 angle20 = __builtin_convertvector(query_3_18, wide_v4);
                    store_v4(query_3 + c * 64 + i, cos_v4(&angle20));
                }
            }
            /* query_5 = -FLT_MAX */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(query_5 + i, splat_v4(-FLT_MAX));
            }
            /* query_4 = (query_2 * 0.7213475f) + state; query_5 max= query_4 */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 t_21 = load_v4(query_2 + i) * 0.7213475f;
                vec_v4 query_5_in = load_v4(query_5 + i);
                for (int64_t f = 0; f < 512; f++) {
                    const vec_v4 query_4_new22 = t_21 + (state[(chunk - chunk0) * 33824 + f]);
                    store_v4(query_4 + f * 64 + i, query_4_new22);
                    query_5_in = max_v4(query_5_in, query_4_new22);
                }
                store_v4(query_5 + i, query_5_in);
            }
            /* query_7 = 0.0f; row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(query_7 + i, splat_v4(0.0f));
                store_v4(row_max + i, splat_v4(-FLT_MAX));
                store_v4(row_sum + i, splat_v4(0.0f));
                store_v4(row_sum_compensation + i, splat_v4(0.0f));
            }
            /* query_8 = 0.0f */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 64) {
                for (int64_t e = 0; e < 64; e++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                        store_v4(query_8 + e * 64 + i, splat_v4(0.0f));
                    }
                }
            }
            for (int64_t f0 = 0, f_end = 512; f0 < f_end; f0 += 192) {
                const int64_t f1 = min(f0 + 192, f_end);
                /* query_6 = exp2(query_4 - query_5) * (select(f < 256, query_sin, query_3) * 0.00390625f);
                   query_7 += query_6 * state_2 */
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    const vec_v4 query_5_23 = load_v4(query_5 + i);
                    vec_v4 query_7_in = (vec_v4){0};
                    vec_v4 query_7_in_whole = (vec_v4){0};
                    for (int64_t f = f0; f < f1; f++) {
                        const vec_v4 query_6_new24 = exp2_v4(load_v4(query_4 + f * 64 + i) - query_5_23) * (((f < 256) ?
                            load_v4(query_sin + min(f, 255) * 64 + i) : load_v4(query_3 + max(f - 256,
                            0) * 64 + i)) * 0.00390625f);
                        store_v4(query_6 + (f - f0) * 64 + i, query_6_new24);
                        query_7_in += query_6_new24 * (state_2[(chunk - chunk0) * 33824 + f]);
                        if (f % 192 == 191) {
                            query_7_in_whole += query_7_in;
                            query_7_in = (vec_v4){0};
                        }
                    }
                    query_7_in += query_7_in_whole;
                    store_v4(query_7 + i, load_v4(query_7 + i) + query_7_in);
                }
                /* query_8[e][i] += sum over f of state_3 * query_6 */
                dot7_v4(f1 - f0, state_3 + (chunk - chunk0) * 33824 + f0 * 64, query_6, query_8);
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
            for (int64_t j0 = max(0, chunk * 64), j_end = min(n_k, i1 + n_k - n_q); j0 < j_end; j0 += 64) {
                const int64_t j1 = min(j0 + 64, j_end);
                /* k_tile_2 = k, with zeros beyond the last row */
                transpose_v4(k + j0 * k_row, k_row, j1 - j0, 64, k_tile_2, 64);
                for (int64_t j = j1 - j0; j < round_up(j1 - j0, 16); j++)
                    for (int64_t d = 0; d < 64; d++) k_tile_2[d * 64 + j] = 0;
                /* key_7 = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    store_v4(key_7 + j, splat_v4(0.0f));
                }
                /* k_tile_2 = k_tile_2 * 0.35355339f; key_7 += k_tile_2 * k_tile_2 */
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 64) {
                    vec_v4 key_7_in[4];
                    UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                        key_7_in[u] = (vec_v4){0};
                    }
                    for (int64_t d = 0; d < 64; d++) {
                        UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                            const vec_v4 k_tile_2_25 = load_v4(k_tile_2 + d * 64 + j);
                            const vec_v4 k_tile_2_new26 = k_tile_2_25 * 0.35355339f;
                            store_v4(k_tile_2 + d * 64 + j, k_tile_2_new26);
                            key_7_in[u] += k_tile_2_new26 * k_tile_2_new26;
                        }
                    }
                    UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                        store_v4(key_7 + j, load_v4(key_7 + j) + key_7_in[u]);
                    }
                }
                /* key_8[c][j] = sum over d of features_w * k_tile_2 */
                dot5_v4(features_w, k_tile_2, key_8);
                /* key_sin_2 = sin(key_8); key_8 = cos(key_8) */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    for (int64_t c = 0; c < 256; c++) {
                        const vec_v4 key_8_27 = load_v4(key_8 + c * 64 + j);
                        const wide_v4 angle28 = __builtin_convertvector(key_8_27, wide_v4);
                        store_v4(key_sin_2 + c * 64 + j, sin_v4(&angle28));
                        const wide_v4 angle29 = __builtin_convertvector(key_8_27, wide_v4);
                        store_v4(key_8 + c * 64 + j, cos_v4(&angle29));
                    }
                }
                /* score[j][i] = sum over c of key_sin_2 * query_sin */
                dot8_v4(j1 - j0, key_sin_2, query_sin, score);
                /* score_2[j][i] = sum over c of key_8 * query_3 */
                dot8_v4(j1 - j0, key_8, query_3, score_2);
                /* weight = (query_2 * 0.7213475f) + (key_7 * 0.7213475f) */
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    const vec_v4 t_30 = load_v4(query_2 + i) * 0.7213475f;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_v4(weight + j * 64 + i, t_30 + (key_7[j] * 0.7213475f));
                    }
                }
                /* old_max = row_max */
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    store_v4(old_max + i, load_v4(row_max + i));
                }
                if ((j0 < (((chunk + 1) - 1) * 64)) || ((i0 + n_k - n_q + 1) < j1)) { /* the tile is not wholly inside
                    the mask */
                    /* weight = select((j <= (i + (n_k - n_q))) && ((chunk * 64) <= j), weight, -INFINITY) */
                    const int64_t t_31 = n_k - n_q;
                    for (int64_t i = 0; i < i1 - i0; i += 16) {
                        const ints_v4 t_32 = (i0 + i + lane_v4) + t_31;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_v4(weight + j * 64 + i, pick_v4(__builtin_convertvector(((j0 + j) <= t_32) &
                                (-(int64_t)((chunk * 64) <= (j0 + j))), mask_v4), load_v4(weight + j * 64 + i),
                                splat_v4(-INFINITY)));
                        }
                    }
                }
                /* row_max max= weight */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += 64) {
                    vec_v4 row_max_in[4];
                    UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                        row_max_in[u] = load_v4(row_max + i);
                    }
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                            row_max_in[u] = max_v4(row_max_in[u], load_v4(weight + j * 64 + i));
                        }
                    }
                    UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                        store_v4(row_max + i, row_max_in[u]);
                    }
                }
                /* old_max = exp2(old_max - row_max) */
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    store_v4(old_max + i, exp2_v4(load_v4(old_max + i) - load_v4(row_max + i)));
                }
                /* score = exp2(weight - row_max) * ((score + score_2) * 0.00390625f) */
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    const vec_v4 row_max_33 = load_v4(row_max + i);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_v4(score + j * 64 + i, exp2_v4(load_v4(weight + j * 64 + i) - row_max_33) *
                            ((load_v4(score + j * 64 + i) + load_v4(score_2 + j * 64 + i)) * 0.00390625f));
                    }
                }
                if ((j0 < (((chunk + 1) - 1) * 64)) || ((i0 + n_k - n_q + 1) < j1)) { /* the tile is not wholly inside
                    the mask */
                    /* score = select((j <= (i + (n_k - n_q))) && ((chunk * 64) <= j), score, 0.0f) */
                    const int64_t t_34 = n_k - n_q;
                    for (int64_t i = 0; i < i1 - i0; i += 16) {
                        const ints_v4 t_35 = (i0 + i + lane_v4) + t_34;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_v4(score + j * 64 + i, pick_v4(__builtin_convertvector(((j0 + j) <= t_35) &
                                (-(int64_t)((chunk * 64) <= (j0 + j))), mask_v4), load_v4(score + j * 64 + i),
                                splat_v4(0.0f)));
                        }
                    }
                }
                /* row_sum = row_sum * old_max; row_sum_compensation = row_sum_compensation * old_max */
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    const vec_v4 old_max_36 = load_v4(old_max + i);
                    store_v4(row_sum + i, load_v4(row_sum + i) * old_max_36);
                    store_v4(row_sum_compensation + i, load_v4(row_sum_compensation + i) * old_max_36);
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
                /* sum[e][i] = sum * old_max + sum over j of v * score */
                if (__builtin_expect(((j0 < (((chunk + 1) - 1) * 64)) || ((i0 + n_k - n_q + 1) < j1)) && !finite_v4(v +
                    j0 * v_row, v_row, j1 - j0, 64), 0)) { /* infinity and NaN reach only what sees them */
                    dot9_v4(j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        mask_v4 seen[4];
                        if (finite_v4(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                        const int64_t t_37 = n_k - n_q;
                        const int t_38 = (chunk * 64) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += 16) {
                            seen[i / 16] = __builtin_convertvector(((j0 + j) <= ((i0 + i + lane_v4) + t_37)) &
                                (-(int64_t)t_38), mask_v4);
                        }
                        add_seen_v4(64, sum, 64, v + j0 * v_row + j * v_row, 1, score + j * 64, seen, i1 - i0);
                    }
                } else
                    dot10_v4(j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
            }
            /* sum = select(((row_sum * exp2(row_max - max(row_max, query_5))) + (query_7 * exp2(query_5 - max(row_max,
               query_5)))) == 0.0f, 0. ... */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 row_max_39 = load_v4(row_max + i);
                const vec_v4 query_5_40 = load_v4(query_5 + i);
                const vec_v4 t_41 = max_nan_v4(row_max_39, query_5_40);
                const vec_v4 t_42 = exp2_v4(row_max_39 - t_41);
                const vec_v4 t_43 = exp2_v4(query_5_40 - t_41);
                const vec_v4 t_44 = (load_v4(row_sum + i) * t_42) + (load_v4(query_7 + i) * t_43);
                const mask_v4 t_45 = t_44 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    store_v4(sum + e * 64 + i, pick_v4(t_45, splat_v4(0.0f),
                        ((load_v4(sum + e * 64 + i) * t_42) + (load_v4(query_8 + e * 64 + i) * t_43)) / t_44));
                }
            }
            /* out = sum, transposed back */
            transpose_v4(sum, 64, 64, i1 - i0, out + m * out_head + i0 * out_row, out_row);
        }
    }
}

/* All of a head: every thread whose part this is calls it. */
TARGET_v4 static void performer_trig_linear_v4(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 64 + 1 : 1;
    for (int64_t turn = part->number; turn < ((512 + 31) / 32); turn += part->threads) performer_trig_begin_v4(call,
        task, part, turn);
    meet(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) performer_trig_keys_v4(call, task, part, turn);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            for (int64_t turn = group * ((512 + 31) / 32) / 16; turn < (group + 1) * ((512 + 31) / 32) / 16; turn++)
                performer_trig_fold_v4(call, task, part, turn);
            pass_segment(part, group, segment);
        }
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) performer_trig_queries_v4(call, task, part,
            turn);
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    meet(part);
}

/* States begin with no key. */
TARGET_v4 APART void performer_trig_few_begin_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = turn * 64, r1 = min(r0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + g * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    const float *const features_w = call->params->features_w;
    float *const query = (float *)(void *)(part->shared + 0); /* [d: 64, r: 64] */
    float *const query_2 = (float *)(void *)(part->shared + 16384); /* [r: 64] */
    float *const query_3 = (float *)(void *)(part->shared + 16640); /* [c: 256, r: 64] */
    float *const query_sin = (float *)(void *)(part->shared + 82176); /* [c: 256, r: 64] */
    float *const query_cos = (float *)(void *)(part->shared + 147712); /* [c: 256, r: 64] */
    float *const q_tile = (float *)(void *)(part->work + 0); /* [d: 64, r: 64] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r = 0; r < round_up(r1 - r0, 16); r++)
        for (int64_t d = 0; d < 64; d++)
            q_tile[d * 64 + r] = r < r1 - r0 ? q[r / n_q * q_head + r % n_q * q_row + d] : 0;
    /* query_2 = 0.0f */
    for (int64_t r = r0; r < r1; r += 16) {
        store_v4(query_2 + r, splat_v4(0.0f));
    }
    /* query = q_tile * 0.35355339f; query_2 += query * query */
    for (int64_t r = r0; r < r1; r += 16) {
        vec_v4 query_2_in = (vec_v4){0};
        for (int64_t d = 0; d < 64; d++) {
            const vec_v4 query_new0 = load_v4(q_tile + d * 64 + r) * 0.35355339f;
            store_v4(query + d * 64 + r, query_new0);
            query_2_in += query_new0 * query_new0;
        }
        store_v4(query_2 + r, load_v4(query_2 + r) + query_2_in);
    }
    /* query_3[c][r] = sum over d of features_w * query */
    dot5_v4(features_w, query + r0, query_3 + r0);
    /* query_sin = sin(query_3); query_cos = cos(query_3) */
    for (int64_t r = r0; r < r1; r += 16) {
        for (int64_t c = 0; c < 256; c++) {
            const vec_v4 query_3_1 = load_v4(query_3 + c * 64 + r);
            const wide_v4 angle2 = __builtin_convertvector(query_3_1, wide_v4);
            store_v4(query_sin + c * 64 + r, sin_v4(&angle2));
            const wide_v4 angle3 = __builtin_convertvector(query_3_1, wide_v4);
            store_v4(query_cos + c * 64 + r, cos_v4(&angle3));
        }
    }
}

/* States begin with no key. */
TARGET_v4 APART void performer_trig_few_begin_2_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = turn * 16, r1 = min(r0 + 16, rows);
    float *const carried = (float *)(void *)(part->shared + 213248); /* [r: 64] */
    float *const carried_2 = (float *)(void *)(part->shared + 213504); /* [r: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 230144); /* [r: 64] */
    float *const carried_3 = (float *)(void *)(part->shared + 213760); /* [r: 64, e: 64] */
    float *const carried_3_compensation = (float *)(void *)(part->shared + 230400); /* [r: 64, e: 64] */
    /* carried = -FLT_MAX; carried_2 = 0.0f; carried_2_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += 16) {
        store_v4(carried + r, splat_v4(-FLT_MAX));
        store_v4(carried_2 + r, splat_v4(0.0f));
        store_v4(carried_2_compensation + r, splat_v4(0.0f));
    }
    /* carried_3 = 0.0f; carried_3_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t u = 0, e = e_first; u < 4; u++, e += 16) {
                store_v4(carried_3 + r * 64 + e, splat_v4(0.0f));
                store_v4(carried_3_compensation + r * 64 + e, splat_v4(0.0f));
            }
        }
    }
}

/* The keys of a chunk, summed from zero into its slot. */
TARGET_v4 APART void performer_trig_few_keys_v4(const struct call *call, int64_t task, const struct part *part,
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
    const float *const features_w = call->params->features_w;
    float *const query_2 = (float *)(void *)(part->shared + 16384); /* [r: 64] */
    float *const query_sin = (float *)(void *)(part->shared + 82176); /* [c: 256, r: 64] */
    float *const query_cos = (float *)(void *)(part->shared + 147712); /* [c: 256, r: 64] */
    float *const key_2 = (float *)(void *)(part->work + 0); /* [j: 128] */
    float *const key_3 = (float *)(void *)(part->work + 512); /* [c: 256, j: 128 of 144] */
    float *const key_sin = (float *)(void *)(part->work + 147968); /* [c: 256, j: 128 of 144] */
    float *const score = (float *)(void *)(part->work + 295424); /* [r: 64, j: 128 of 144] */
    float *const score_2 = (float *)(void *)(part->work + 147968); /* [r: 64, j: 128 of 144] */
    float *const weight = (float *)(void *)(part->work + 512); /* [r: 64, j: 128 of 144] */
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(part->work + 0); /* [r: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state_3 = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 147968); /* [d: 64, j: 128 of 144] */
    /* state = -FLT_MAX; state_2 = 0.0f */
    for (int64_t r = 0; r < rows; r += 16) {
        store_v4(state + (chunk - chunk0) * 4224 + r, splat_v4(-FLT_MAX));
        store_v4(state_2 + (chunk - chunk0) * 4224 + r, splat_v4(0.0f));
    }
    /* state_3 = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t u = 0, e = e_first; u < 4; u++, e += 16) {
                store_v4(state_3 + (chunk - chunk0) * 4224 + r * 64 + e, splat_v4(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + n_k - n_q); j0 < j_end; j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_v4(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 144);
        for (int64_t j = j1 - j0; j < round_up(j1 - j0, 16); j++)
            for (int64_t d = 0; d < 64; d++) k_tile[d * 144 + j] = 0;
        /* key_2 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_2 + j, splat_v4(0.0f));
        }
        /* k_tile = k_tile * 0.35355339f; key_2 += k_tile * k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 64) {
            vec_v4 key_2_in[4];
            UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                key_2_in[u] = (vec_v4){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                    const vec_v4 k_tile_4 = load_v4(k_tile + d * 144 + j);
                    const vec_v4 k_tile_new5 = k_tile_4 * 0.35355339f;
                    store_v4(k_tile + d * 144 + j, k_tile_new5);
                    key_2_in[u] += k_tile_new5 * k_tile_new5;
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                store_v4(key_2 + j, load_v4(key_2 + j) + key_2_in[u]);
            }
        }
        /* key_3[c][j] = sum over d of features_w * k_tile */
        dot11_v4(round_up(j1 - j0, 64), features_w, k_tile, key_3);
        /* key_sin = sin(key_3); key_3 = cos(key_3) */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            for (int64_t c = 0; c < 256; c++) {
                const vec_v4 key_3_6 = load_v4(key_3 + c * 144 + j);
                const wide_v4 angle7 = __builtin_convertvector(key_3_6, wide_v4);
                store_v4(key_sin + c * 144 + j, sin_v4(&angle7));
                const wide_v4 angle8 = __builtin_convertvector(key_3_6, wide_v4);
                store_v4(key_3 + c * 144 + j, cos_v4(&angle8));
            }
        }
        /* score[r][j] = sum over c of query_sin * key_sin */
        dot12_v4(round_up(j1 - j0, 64), rows, query_sin, key_sin, score);
        /* score_2[r][j] = sum over c of query_cos * key_3 */
        dot12_v4(round_up(j1 - j0, 64), rows, query_cos, key_3, score_2);
        /* weight = (query_2 * 0.7213475f) + (key_2 * 0.7213475f) */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_9 = load_v4(key_2 + j) * 0.7213475f;
            for (int64_t r = 0; r < rows; r++) {
                store_v4(weight + r * 144 + j, (query_2[r] * 0.7213475f) + t_9);
            }
        }
        /* old_max = state */
        for (int64_t r = 0; r < rows; r += 16) {
            store_v4(old_max + r, load_v4(state + (chunk - chunk0) * 4224 + r));
        }
        if ((n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
            /* weight = select(j <= ((r % n_q) + (n_k - n_q)), weight, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const ints_v4 t_10 = j0 + j + lane_v4;
                for (int64_t r = 0; r < rows; r++) {
                    store_v4(weight + r * 144 + j, pick_v4(__builtin_convertvector(t_10 <= ((r % n_q) + n_k - n_q),
                        mask_v4), load_v4(weight + r * 144 + j), splat_v4(-INFINITY)));
                }
            }
        }
        /* state max= weight */
        for (int64_t r = 0; r < rows; r++) {
            vec_v4 lanes_max = splat_v4(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4 term = load_v4(weight + r * 144 + j);
                lanes_max = max_v4(lanes_max, j + 16 <= j1 - j0 ? term : pick_v4(__builtin_convertvector(j + lane_v4 <
                    j1 - j0, mask_v4), term, splat_v4(-INFINITY)));
            }
            const float largest = lane_max_v4(lanes_max);
            if (largest > state[(chunk - chunk0) * 4224 + r]) state[(chunk - chunk0) * 4224 + r] = largest;
        }
        /* old_max = exp2(old_max - state) */
        for (int64_t r = 0; r < rows; r += 16) {
            store_v4(old_max + r, exp2_v4(load_v4(old_max + r) - load_v4(state + (chunk - chunk0) * 4224 + r)));
        }
        /* score = exp2(weight - state) * ((score + score_2) * 0.00390625f) */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            for (int64_t r = 0; r < rows; r++) {
                store_v4(score + r * 144 + j, exp2_v4(load_v4(weight + r * 144 + j) - (state[(chunk - chunk0) * 4224 +
                    r])) * ((load_v4(score + r * 144 + j) + load_v4(score_2 + r * 144 + j)) * 0.00390625f));
            }
        }
        if ((n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
            /* score = select(j <= ((r % n_q) + (n_k - n_q)), score, 0.0f) */
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const ints_v4 t_11 = j0 + j + lane_v4;
                for (int64_t r = 0; r < rows; r++) {
                    store_v4(score + r * 144 + j, pick_v4(__builtin_convertvector(t_11 <= ((r % n_q) + n_k - n_q),
                        mask_v4), load_v4(score + r * 144 + j), splat_v4(0.0f)));
                }
            }
        }
        /* state_2 = state_2 * old_max */
        for (int64_t r = 0; r < rows; r += 16) {
            store_v4(state_2 + (chunk - chunk0) * 4224 + r, load_v4(state_2 + (chunk - chunk0) * 4224 + r) *
                load_v4(old_max + r));
        }
        /* state_2 += score */
        for (int64_t r = 0; r < rows; r++) {
            vec_v4 lane_sums = splat_v4(0);
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4 term = load_v4(score + r * 144 + j);
                lane_sums += j + 16 <= j1 - j0 ? term : pick_v4(__builtin_convertvector(j + lane_v4 < j1 - j0, mask_v4),
                    term, splat_v4(0));
            }
            const float total = lane_sum_v4(lane_sums);
            state_2[(chunk - chunk0) * 4224 + r] += total;
        }
        /* state_3 = state_3 * old_max */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                UNROLL for (int64_t u = 0, e = e_first; u < 4; u++, e += 16) {
                    store_v4(state_3 + (chunk - chunk0) * 4224 + r * 64 + e,
                        load_v4(state_3 + (chunk - chunk0) * 4224 + r * 64 + e) * old_max[r]);
                }
            }
        }
        /* state_3[r][e] += sum over j of score * v */
        if (__builtin_expect(((n_k - n_q + 1) < j1) && !finite_v4(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN reach only what sees them */
            dot13_v4(rows, j1 - j0, score, v + j0 * v_row, v_row, state_3 + (chunk - chunk0) * 4224);
            for (int64_t r = 0; r < rows; r++) {
                mask_v4 seen[8];
                const int64_t t_12 = (r % n_q) + n_k - n_q;
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    seen[j / 16] = __builtin_convertvector((j0 + j + lane_v4) <= t_12, mask_v4);
                }
                add_seen_lanes_v4(64, state_3 + (chunk - chunk0) * 4224 + r * 64, score + r * 144, v + j0 * v_row,
                    v_row, j1 - j0, seen);
            }
        } else
            dot14_v4(rows, j1 - j0, score, v + j0 * v_row, v_row, state_3 + (chunk - chunk0) * 4224);
    }
}

/* Some elements of the states take in the chunks at hand, one after the other. */
TARGET_v4 APART void performer_trig_few_fold_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = turn * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state_3 = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const carried = (float *)(void *)(part->shared + 213248); /* [r: 64] */
    float *const keep = (float *)(void *)(part->work + 0); /* [r: 64] */
    float *const take = (float *)(void *)(part->work + 256); /* [r: 64] */
    float *const carried_2 = (float *)(void *)(part->shared + 213504); /* [r: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 230144); /* [r: 64] */
    float *const carried_3 = (float *)(void *)(part->shared + 213760); /* [r: 64, e: 64] */
    float *const carried_3_compensation = (float *)(void *)(part->shared + 230400); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before = carried; carried max= state; keep = exp2(before - carried); take = exp2(state - carried);
           before_2 = carried_2; carried ... */
        for (int64_t r = r0; r < r1; r += 16) {
            const vec_v4 carried_13 = load_v4(carried + r);
            const vec_v4 before_new14 = carried_13;
            const vec_v4 state_15 = load_v4(state + (chunk - chunk0) * 4224 + r);
            const vec_v4 carried_new16 = max_v4(load_v4(carried + r), state_15);
            store_v4(carried + r, carried_new16);
            const vec_v4 keep_new17 = exp2_v4(before_new14 - carried_new16);
            store_v4(keep + r, keep_new17);
            const vec_v4 take_new18 = exp2_v4(state_15 - carried_new16);
            store_v4(take + r, take_new18);
            const vec_v4 carried_2_19 = load_v4(carried_2 + r);
            store_v4(carried_2 + r, carried_2_19 * keep_new17);
            store_v4(carried_2_compensation + r, load_v4(carried_2_compensation + r) * keep_new17);
            add_v4(carried_2 + r, carried_2_compensation + r, load_v4(state_2 + (chunk - chunk0) * 4224 + r) *
                take_new18, splat_v4(1));
        }
        /* before_3 = carried_3; carried_3 = carried_3 * keep; carried_3_compensation = carried_3_compensation * keep;
           carried_3 += state_3 ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                UNROLL for (int64_t u = 0, e = e_first; u < 4; u++, e += 16) {
                    const vec_v4 carried_3_20 = load_v4(carried_3 + r * 64 + e);
                    const float keep_21 = keep[r];
                    store_v4(carried_3 + r * 64 + e, carried_3_20 * keep_21);
                    store_v4(carried_3_compensation + r * 64 + e, load_v4(carried_3_compensation + r * 64 + e) *
                        keep_21);
                    add_v4(carried_3 + r * 64 + e, carried_3_compensation + r * 64 + e,
                        load_v4(state_3 + (chunk - chunk0) * 4224 + r * 64 + e) * take[r], splat_v4(1));
                }
            }
        }
    }
}

/* A tile of queries meets the states. */
TARGET_v4 APART void performer_trig_few_queries_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = turn * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_2 = (float *)(void *)(part->shared + 213504); /* [r: 64] */
    float *const carried_3 = (float *)(void *)(part->shared + 213760); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(part->work + 0); /* [r: 64, e: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    /* result = select(carried_2 == 0.0f, 0.0f, carried_3 / carried_2) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t u = 0, e = e_first; u < 4; u++, e += 16) {
                const float carried_2_22 = carried_2[r];
                store_v4(result + r * 64 + e, (carried_2_22 == 0.0f) ? splat_v4(0.0f) : load_v4(carried_3 + r * 64 + e)
                    / carried_2_22);
            }
        }
    }
    /* out = result */
    for (int64_t e = 0; e < 64; e++)
        for (int64_t r = r0; r < r1; r++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* All of a head: every thread whose part this is calls it. */
TARGET_v4 static void performer_trig_few_v4(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t turn = part->number; turn < ((rows + 63) / 64);
        turn += part->threads) performer_trig_few_begin_v4(call, task, part, turn);
    for (int64_t turn = part->number; turn < ((rows + 15) / 16);
        turn += part->threads) performer_trig_few_begin_2_v4(call, task, part, turn);
    meet(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) performer_trig_few_keys_v4(call, task, part,
            turn);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            for (int64_t turn = group * ((rows + 15) / 16) / 16; turn < (group + 1) * ((rows + 15) / 16) / 16; turn++)
                performer_trig_few_fold_v4(call, task, part, turn);
            pass_segment(part, group, segment);
        }
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    meet(part);
    for (int64_t turn = part->number; turn < ((rows + 15) / 16);
        turn += part->threads) performer_trig_few_queries_v4(call, task, part, turn);
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
typedef double wide_v3 __attribute__((vector_size(64)));
TARGET_v3 INLINE vec_v3 load_v3(const float *p) { return *(const stored_v3 *)(const void *)p; }
TARGET_v3 INLINE void store_v3(float *p, vec_v3 x) { *(stored_v3 *)(void *)p = x; }
TARGET_v3 INLINE vec_v3 splat_v3(float x) { return x - (vec_v3){0}; }

/* a where the mask is set, else b */
TARGET_v3 INLINE vec_v3 pick_v3(mask_v3 m, vec_v3 a, vec_v3 b) { return (vec_v3)((m & (mask_v3)a) | (~m & (mask_v3)b));
    }

static const ints_v3 lane_v3 = {0, 1, 2, 3, 4, 5, 6, 7};

TARGET_v3 INLINE vec_v3 max_v3(vec_v3 a, vec_v3 b) { return pick_v3((mask_v3)(a < b), b, a); }

/* The same, and NaN stays as the second, too. */
TARGET_v3 INLINE vec_v3 max_nan_v3(vec_v3 a, vec_v3 b) { return pick_v3((mask_v3)(b != b), b, max_v3(a, b)); }

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

/* The sine of *x plus `quarter` quarter turns: x less the turns' angle in three parts (fdlibm's), which is exact to
   1e-17 for angles up to 10^6. */
TARGET_v3 INLINE vec_v3 turn_v3(const wide_v3 *x, int64_t quarter)
{
    const wide_v3 t = *x * 0.63661977236758134308 + 6755399441055744.0; /* quarter turns, rounded, in the low bits */
    const wide_v3 n = t - 6755399441055744.0;
    const wide_v3 left = ((*x - n * 1.57079632673412561417) - n * 6.07710050630396597660e-11)
        - n * 2.02226624879595063154e-21;
    const ints_v3 turns = (ints_v3)t + quarter;
    const vec_v3 r = __builtin_convertvector(left, vec_v3), z = r * r;
    const vec_v3 s = r + r * z * (z * (z * -0.00019587841f + 0.0083327480f) - 0.16666665f);
    const vec_v3 c = 1.0f - z * 0.5f + z * z * (z * (z * 2.4547892e-05f - 0.0013888303f) + 0.041666665f);
    const mask_v3 odd = __builtin_convertvector(-(turns & 1), mask_v3);
    const mask_v3 negative = __builtin_convertvector((turns & 2), mask_v3);
    return (vec_v3)((mask_v3)pick_v3(odd, c, s) ^ (negative << 30));
}

TARGET_v3 INLINE vec_v3 sin_v3(const wide_v3 *x) { return turn_v3(x, 0); }
TARGET_v3 INLINE vec_v3 cos_v3(const wide_v3 *x) { return turn_v3(x, 1); }

/* The sum over the lanes. */
TARGET_v3 INLINE float lane_sum_v3(vec_v3 x)
{
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
    x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
    x += __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
    return x[0];
}

/* The largest of the lanes; where one is NaN, perhaps not that. */
TARGET_v3 INLINE float lane_max_v3(vec_v3 x)
{
    x = max_v3(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3));
    x = max_v3(x, __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5));
    x = max_v3(x, __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6));
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
    dot_v3(2, 16, 256, 4, 64, 32, a, 64, 1, b, 16, c, 16, 0, NULL, NULL);
}
TARGET_v3 APART void dot1_v3(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_v3(2, lanes, 256, 4, 64, 32, a, 64, 1, b, 96, c, 96, 0, NULL, NULL);
}
TARGET_v3 APART void dot2_v3(int64_t rows, const float *a, const float *b, float *c)
{
    dot_v3(2, 16, rows, -1, 256, 32, a, 1, 96, b, 16, c, 16, 0, NULL, NULL);
}
TARGET_v3 APART void dot3_v3(int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_finite_v3(2, 16, 64, 4, steps, 192, a, 1, a_step, b, 16, c, 16, 3, factor, compensation);
}
TARGET_v3 APART void dot4_v3(int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_v3(2, 16, 64, 4, steps, 192, a, 1, a_step, b, 16, c, 16, 3, factor, compensation);
}
TARGET_v3 APART void dot5_v3(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_v3(2, lanes, 256, 4, 64, 32, a, 64, 1, b, 64, c, 64, 0, NULL, NULL);
}
TARGET_v3 APART void dot6_v3(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_v3(2, 64, rows, -1, steps, 192, a, 64, 1, b, b_step, c, 64, 0, NULL, NULL);
}
TARGET_v3 APART void dot7_v3(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_v3(2, lanes, 64, 4, steps, 32, a, 1, 64, b, 64, c, 64, 1, NULL, NULL);
}
TARGET_v3 APART void dot8_v3(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_v3(2, lanes, rows, -1, 256, 32, a, 1, 64, b, 64, c, 64, 0, NULL, NULL);
}
TARGET_v3 APART void dot9_v3(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_finite_v3(2, lanes, 64, 4, steps, 192, a, 1, a_step, b, 64, c, 64, 3, factor, compensation);
}
TARGET_v3 APART void dot10_v3(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_v3(2, lanes, 64, 4, steps, 192, a, 1, a_step, b, 64, c, 64, 3, factor, compensation);
}
TARGET_v3 APART void dot11_v3(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_v3(2, lanes, 256, 4, 64, 32, a, 64, 1, b, 144, c, 144, 0, NULL, NULL);
}
TARGET_v3 APART void dot12_v3(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_v3(2, lanes, rows, -1, 256, 32, a, 1, 64, b, 144, c, 144, 0, NULL, NULL);
}
TARGET_v3 APART void dot13_v3(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_finite_lanes_v3(1, 2, 64, rows, -1, steps, 192, a, 144, 1, b, b_step, c, 64, 1, NULL, NULL);
}
TARGET_v3 APART void dot14_v3(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_fetched_v3(2, 64, rows, -1, steps, 192, a, 144, 1, b, b_step, c, 64, 1, NULL, NULL);
}

/* Task number `task`: one tile of queries of one head; `work` is the thread's part of the workspace. */
TARGET_v3 static void performer_trig_rows_v3(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const features_w = call->params->features_w;
    float *const all_query_2 = (float *)(void *)(work + 0); /* [i: 16, 16 times] */
    float *const query_3 = (float *)(void *)(work + 1024); /* [c: 256, i: 16] */
    float *const all_query_sin = (float *)(void *)(work + 17408); /* [c: 256, i: 16, 16 times] */
    float *const all_query_cos = (float *)(void *)(work + 279552); /* [c: 256, i: 16, 16 times] */
    float *const key_2 = (float *)(void *)(work + 1024); /* [j: 96] */
    float *const key_3 = (float *)(void *)(work + 541696); /* [c: 256, j: 96] */
    float *const key_sin = (float *)(void *)(work + 640000); /* [c: 256, j: 96] */
    float *const score = (float *)(void *)(work + 1408); /* [j: 96, i: 16] */
    float *const score_2 = (float *)(void *)(work + 7552); /* [j: 96, i: 16] */
    float *const weight = (float *)(void *)(work + 738304); /* [j: 96, i: 16] */
    float *const all_row_max = (float *)(void *)(work + 744448); /* [i: 16, 16 times] */
    float *const old_max = (float *)(void *)(work + 13696); /* [i: 16] */
    float *const all_row_sum = (float *)(void *)(work + 745472); /* [i: 16, 16 times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + 746496); /* [i: 16, 16 times] */
    float *const all_sum = (float *)(void *)(work + 747520); /* [e: 64, i: 16, 16 times] */
    float *const all_sum_compensation = (float *)(void *)(work + 813056); /* [e: 64, i: 16, 16 times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: 16] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const q_tile = (float *)(void *)(work + 541696); /* [d: 64, i: 16] */
    float *const k_tile = (float *)(void *)(work + 640000); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
        const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
        float *const query_2 = all_query_2 + (i0 - i_block) / 16 * 16;
        float *const query_sin = all_query_sin + (i0 - i_block) / 16 * 4096;
        float *const query_cos = all_query_cos + (i0 - i_block) / 16 * 4096;
        float *const row_max = all_row_max + (i0 - i_block) / 16 * 16;
        float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 16 * 16;
        float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 16 * 1024;
        /* q_tile = q, with zeros beyond the last row */
        transpose_v3(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 16);
        for (int64_t i = i1 - i0; i < round_up(i1 - i0, 8); i++)
            for (int64_t d = 0; d < 64; d++) q_tile[d * 16 + i] = 0;
        /* query_2 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(query_2 + i, splat_v3(0.0f));
        }
        /* q_tile = q_tile * 0.35355339f; query_2 += q_tile * q_tile */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
            vec_v3 query_2_in[2];
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                query_2_in[u] = (vec_v3){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    const vec_v3 q_tile_0 = load_v3(q_tile + d * 16 + i);
                    const vec_v3 q_tile_new1 = q_tile_0 * 0.35355339f;
                    store_v3(q_tile + d * 16 + i, q_tile_new1);
                    query_2_in[u] += q_tile_new1 * q_tile_new1;
                }
            }
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                store_v3(query_2 + i, load_v3(query_2 + i) + query_2_in[u]);
            }
        }
        /* query_3[c][i] = sum over d of features_w * q_tile */
        dot0_v3(features_w, q_tile, query_3);
        /* query_sin = sin(query_3); query_cos = cos(query_3) */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            for (int64_t c = 0; c < 256; c++) {
                const vec_v3 query_3_2 = load_v3(query_3 + c * 16 + i);
                const wide_v3 angle3 = __builtin_convertvector(query_3_2, wide_v3);
                store_v3(query_sin + c * 16 + i, sin_v3(&angle3));
                const wide_v3 angle4 = __builtin_convertvector(query_3_2, wide_v3);
                store_v3(query_cos + c * 16 + i, cos_v3(&angle4));
            }
        }
        /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(row_max + i, splat_v3(-FLT_MAX));
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
        /* key_2 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_2 + j, splat_v3(0.0f));
        }
        /* k_tile = k_tile * 0.35355339f; key_2 += k_tile * k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            vec_v3 key_2_in[2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                key_2_in[u] = (vec_v3){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    const vec_v3 k_tile_5 = load_v3(k_tile + d * 96 + j);
                    const vec_v3 k_tile_new6 = k_tile_5 * 0.35355339f;
                    store_v3(k_tile + d * 96 + j, k_tile_new6);
                    key_2_in[u] += k_tile_new6 * k_tile_new6;
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                store_v3(key_2 + j, load_v3(key_2 + j) + key_2_in[u]);
            }
        }
        /* key_3[c][j] = sum over d of features_w * k_tile */
        dot1_v3(round_up(j1 - j0, 16), features_w, k_tile, key_3);
        /* key_sin = sin(key_3); key_3 = cos(key_3) */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            for (int64_t c = 0; c < 256; c++) {
                const vec_v3 key_3_7 = load_v3(key_3 + c * 96 + j);
                const wide_v3 angle8 = __builtin_convertvector(key_3_7, wide_v3);
                store_v3(key_sin + c * 96 + j, sin_v3(&angle8));
                const wide_v3 angle9 = __builtin_convertvector(key_3_7, wide_v3);
                store_v3(key_3 + c * 96 + j, cos_v3(&angle9));
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const query_2 = all_query_2 + (i0 - i_block) / 16 * 16;
            float *const query_sin = all_query_sin + (i0 - i_block) / 16 * 4096;
            float *const query_cos = all_query_cos + (i0 - i_block) / 16 * 4096;
            float *const row_max = all_row_max + (i0 - i_block) / 16 * 16;
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 16 * 1024;
            if (!(j0 < (i1 + n_k - n_q))) continue; /* nothing in the tile can be seen */
            /* score[j][i] = sum over c of key_sin * query_sin */
            dot2_v3(j1 - j0, key_sin, query_sin, score);
            /* score_2[j][i] = sum over c of key_3 * query_cos */
            dot2_v3(j1 - j0, key_3, query_cos, score_2);
            /* weight = (query_2 * 0.7213475f) + (key_2 * 0.7213475f) */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 t_10 = load_v3(query_2 + i) * 0.7213475f;
                for (int64_t j = 0; j < j1 - j0; j++) {
                    store_v3(weight + j * 16 + i, t_10 + (key_2[j] * 0.7213475f));
                }
            }
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(old_max + i, load_v3(row_max + i));
            }
            if ((i0 + n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
                /* weight = select(j <= (i + (n_k - n_q)), weight, -INFINITY) */
                const int64_t t_11 = n_k - n_q;
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    const ints_v3 t_12 = (i0 + i + lane_v3) + t_11;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_v3(weight + j * 16 + i, pick_v3(__builtin_convertvector((j0 + j) <= t_12, mask_v3),
                            load_v3(weight + j * 16 + i), splat_v3(-INFINITY)));
                    }
                }
            }
            /* row_max max= weight */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                vec_v3 row_max_in[2][2];
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) row_max_in[u][j_chain] = splat_v3(-INFINITY);
                }
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                        const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                        UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                            row_max_in[u][j_chain] = max_v3(row_max_in[u][j_chain], load_v3(weight + j * 16 + i));
                        }
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    store_v3(row_max + i, max_v3(load_v3(row_max + i), max_v3(row_max_in[u][0], row_max_in[u][1])));
                }
            }
            /* old_max = exp2(old_max - row_max) */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(old_max + i, exp2_v3(load_v3(old_max + i) - load_v3(row_max + i)));
            }
            /* score = exp2(weight - row_max) * ((score + score_2) * 0.00390625f) */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 row_max_13 = load_v3(row_max + i);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    store_v3(score + j * 16 + i, exp2_v3(load_v3(weight + j * 16 + i) - row_max_13) * ((load_v3(score +
                        j * 16 + i) + load_v3(score_2 + j * 16 + i)) * 0.00390625f));
                }
            }
            if ((i0 + n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
                /* score = select(j <= (i + (n_k - n_q)), score, 0.0f) */
                const int64_t t_14 = n_k - n_q;
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    const ints_v3 t_15 = (i0 + i + lane_v3) + t_14;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_v3(score + j * 16 + i, pick_v3(__builtin_convertvector((j0 + j) <= t_15, mask_v3),
                            load_v3(score + j * 16 + i), splat_v3(0.0f)));
                    }
                }
            }
            /* row_sum = row_sum * old_max; row_sum_compensation = row_sum_compensation * old_max */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 old_max_16 = load_v3(old_max + i);
                store_v3(row_sum + i, load_v3(row_sum + i) * old_max_16);
                store_v3(row_sum_compensation + i, load_v3(row_sum_compensation + i) * old_max_16);
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
            /* sum[e][i] = sum * old_max + sum over j of v * score */
            if (__builtin_expect(((i0 + n_k - n_q + 1) < j1) && !finite_v3(v + j0 * v_row, v_row, j1 - j0, 64),
                0)) { /* infinity and NaN reach only what sees them */
                dot3_v3(j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    mask_v3 seen[2];
                    if (finite_v3(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    const int64_t t_17 = n_k - n_q;
                    for (int64_t i = 0; i < i1 - i0; i += 8) {
                        seen[i / 8] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_v3) + t_17), mask_v3);
                    }
                    add_seen_v3(64, sum, 16, v + j0 * v_row + j * v_row, 1, score + j * 16, seen, i1 - i0);
                }
            } else
                dot4_v3(j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            /* result = select(row_sum == 0.0f, 0.0f, sum / row_sum) */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 row_sum_18 = load_v3(row_sum + i);
                const mask_v3 t_19 = row_sum_18 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    store_v3(result + e * 16 + i, pick_v3(t_19, splat_v3(0.0f),
                        load_v3(sum + e * 16 + i) / row_sum_18));
                }
            }
            /* out = result, transposed back */
            transpose_v3(result, 16, 64, i1 - i0, out + i0 * out_row, out_row);
        }
    }
}

/* States begin with no key. */
TARGET_v3 APART void performer_trig_begin_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    (void)call;
    (void)task;
    const int64_t f0 = turn * 32, f1 = min(f0 + 32, 512);
    float *const carried = (float *)(void *)(part->shared + 0); /* [f: 512] */
    float *const carried_2 = (float *)(void *)(part->shared + 2048); /* [f: 512] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 135168); /* [f: 512] */
    float *const carried_3 = (float *)(void *)(part->shared + 4096); /* [f: 512, e: 64] */
    float *const carried_3_compensation = (float *)(void *)(part->shared + 137216); /* [f: 512, e: 64] */
    /* carried = -FLT_MAX; carried_2 = 0.0f; carried_2_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += 8) {
        store_v3(carried + f, splat_v3(-FLT_MAX));
        store_v3(carried_2 + f, splat_v3(0.0f));
        store_v3(carried_2_compensation + f, splat_v3(0.0f));
    }
    /* carried_3 = 0.0f; carried_3_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
            UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 8) {
                store_v3(carried_3 + f * 64 + e, splat_v3(0.0f));
                store_v3(carried_3_compensation + f * 64 + e, splat_v3(0.0f));
            }
        }
    }
}

/* The keys of a chunk, summed from zero into its slot. */
TARGET_v3 APART void performer_trig_keys_v3(const struct call *call, int64_t task, const struct part *part,
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
    const float *const features_w = call->params->features_w;
    float *const key_2 = (float *)(void *)(part->work + 0); /* [j: 64] */
    float *const key_3 = (float *)(void *)(part->work + 256); /* [c: 256, j: 64] */
    float *const key_sin = (float *)(void *)(part->work + 65792); /* [c: 256, j: 64] */
    float *const key_4 = (float *)(void *)(part->work + 131328); /* [f: 512, j: 64] */
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 512 of 528] */
    float *const key_5 = (float *)(void *)(part->work + 262400); /* [f: 192, j: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 2112); /* [chunk, f: 512 of 528] */
    float *const state_3 = (float *)(void *)(part->slots + 4224); /* [chunk, f: 512, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 65792); /* [d: 64, j: 64] */
    /* state = -FLT_MAX; state_2 = 0.0f */
    for (int64_t f = 0; f < 512; f += 8) {
        store_v3(state + (chunk - chunk0) * 33824 + f, splat_v3(-FLT_MAX));
        store_v3(state_2 + (chunk - chunk0) * 33824 + f, splat_v3(0.0f));
    }
    for (int64_t j0 = chunk * 64, j_end = min(n_k, (chunk + 1) * 64); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_v3(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 64);
        for (int64_t j = j1 - j0; j < round_up(j1 - j0, 8); j++)
            for (int64_t d = 0; d < 64; d++) k_tile[d * 64 + j] = 0;
        /* key_2 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_2 + j, splat_v3(0.0f));
        }
        /* k_tile = k_tile * 0.35355339f; key_2 += k_tile * k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            vec_v3 key_2_in[2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                key_2_in[u] = (vec_v3){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    const vec_v3 k_tile_0 = load_v3(k_tile + d * 64 + j);
                    const vec_v3 k_tile_new1 = k_tile_0 * 0.35355339f;
                    store_v3(k_tile + d * 64 + j, k_tile_new1);
                    key_2_in[u] += k_tile_new1 * k_tile_new1;
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                store_v3(key_2 + j, load_v3(key_2 + j) + key_2_in[u]);
            }
        }
        /* key_3[c][j] = sum over d of features_w * k_tile */
        dot5_v3(round_up(j1 - j0, 16), features_w, k_tile, key_3);
        /* key_sin = sin(key_3); key_3 = cos(key_3) */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            for (int64_t c = 0; c < 256; c++) {
                const vec_v3 key_3_2 = load_v3(key_3 + c * 64 + j);
                const wide_v3 angle3 = __builtin_convertvector(key_3_2, wide_v3);
                store_v3(key_sin + c * 64 + j, sin_v3(&angle3));
                const wide_v3 angle4 = __builtin_convertvector(key_3_2, wide_v3);
                store_v3(key_3 + c * 64 + j, cos_v3(&angle4));
            }
        }
        /* key_4 = key_2 * 0.7213475f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_5 = load_v3(key_2 + j) * 0.7213475f;
            for (int64_t f = 0; f < 512; f++) {
                store_v3(key_4 + f * 64 + j, t_5);
            }
        }
        /* state max= key_4 */
        for (int64_t f = 0; f < 512; f++) {
            vec_v3 lanes_max = splat_v3(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const vec_v3 term = load_v3(key_4 + f * 64 + j);
                lanes_max = max_v3(lanes_max, j + 8 <= j1 - j0 ? term : pick_v3(__builtin_convertvector(j + lane_v3 < j1
                    - j0, mask_v3), term, splat_v3(-INFINITY)));
            }
            const float largest = lane_max_v3(lanes_max);
            if (largest > state[(chunk - chunk0) * 33824 + f]) state[(chunk - chunk0) * 33824 + f] = largest;
        }
        for (int64_t f0 = 0, f_end = 512; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* key_5 = exp2(key_4 - state) * select(f < 256, key_sin, key_3) */
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                for (int64_t f = f0; f < f1; f++) {
                    store_v3(key_5 + (f - f0) * 64 + j, exp2_v3(load_v3(key_4 + f * 64 + j) - (state[(chunk - chunk0) *
                        33824 + f])) * ((f < 256) ? load_v3(key_sin + min(f,
                        255) * 64 + j) : load_v3(key_3 + max(f - 256, 0) * 64 + j)));
                }
            }
            /* state_2 += key_5 */
            for (int64_t f = f0; f < f1; f++) {
                vec_v3 lane_sums = splat_v3(0);
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    const vec_v3 term = load_v3(key_5 + (f - f0) * 64 + j);
                    lane_sums += j + 8 <= j1 - j0 ? term : pick_v3(__builtin_convertvector(j + lane_v3 < j1 - j0,
                        mask_v3), term, splat_v3(0));
                }
                const float total = lane_sum_v3(lane_sums);
                state_2[(chunk - chunk0) * 33824 + f] += total;
            }
            /* state_3[f][e] = sum over j of key_5 * v */
            dot6_v3(f1 - f0, j1 - j0, key_5, v + j0 * v_row, v_row, state_3 + (chunk - chunk0) * 33824 + f0 * 64);
        }
    }
}

/* Some elements of the states take in the chunks at hand, one after the other. */
TARGET_v3 APART void performer_trig_fold_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    (void)call;
    (void)task;
    const int64_t f0 = turn * 32, f1 = min(f0 + 32, 512);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 512 of 528] */
    float *const state_2 = (float *)(void *)(part->slots + 2112); /* [chunk, f: 512 of 528] */
    float *const state_3 = (float *)(void *)(part->slots + 4224); /* [chunk, f: 512, e: 64] */
    float *const carried = (float *)(void *)(part->shared + 0); /* [f: 512] */
    float *const keep = (float *)(void *)(part->work + 0); /* [f: 512] */
    float *const take = (float *)(void *)(part->work + 2048); /* [f: 512] */
    float *const carried_2 = (float *)(void *)(part->shared + 2048); /* [f: 512] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 135168); /* [f: 512] */
    float *const carried_3 = (float *)(void *)(part->shared + 4096); /* [f: 512, e: 64] */
    float *const carried_3_compensation = (float *)(void *)(part->shared + 137216); /* [f: 512, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before = carried; carried max= state; keep = exp2(before - carried); take = exp2(state - carried);
           state = before */
        for (int64_t f = f0; f < f1; f += 8) {
            const vec_v3 carried_6 = load_v3(carried + f);
            const vec_v3 before_new7 = carried_6;
            const vec_v3 state_8 = load_v3(state + (chunk - chunk0) * 33824 + f);
            const vec_v3 carried_new9 = max_v3(load_v3(carried + f), state_8);
            store_v3(carried + f, carried_new9);
            store_v3(keep + f, exp2_v3(before_new7 - carried_new9));
            store_v3(take + f, exp2_v3(state_8 - carried_new9));
            store_v3(state + (chunk - chunk0) * 33824 + f, before_new7);
        }
        /* before_2 = carried_2; carried_2 = carried_2 * keep; carried_2_compensation = carried_2_compensation * keep;
           carried_2 += state_2 ... */
        for (int64_t f = f0; f < f1; f += 8) {
            const vec_v3 carried_2_10 = load_v3(carried_2 + f);
            const vec_v3 before_2_new11 = carried_2_10;
            const vec_v3 keep_12 = load_v3(keep + f);
            store_v3(carried_2 + f, carried_2_10 * keep_12);
            store_v3(carried_2_compensation + f, load_v3(carried_2_compensation + f) * keep_12);
            add_v3(carried_2 + f, carried_2_compensation + f, load_v3(state_2 + (chunk - chunk0) * 33824 + f) *
                load_v3(take + f), splat_v3(1));
            store_v3(state_2 + (chunk - chunk0) * 33824 + f, before_2_new11);
        }
        /* before_3 = carried_3; carried_3 = carried_3 * keep; carried_3_compensation = carried_3_compensation * keep;
           carried_3 += state_3 ... */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 8) {
                    const vec_v3 carried_3_13 = load_v3(carried_3 + f * 64 + e);
                    const vec_v3 before_3_new14 = carried_3_13;
                    const float keep_15 = keep[f];
                    store_v3(carried_3 + f * 64 + e, carried_3_13 * keep_15);
                    store_v3(carried_3_compensation + f * 64 + e, load_v3(carried_3_compensation + f * 64 + e) *
                        keep_15);
                    add_v3(carried_3 + f * 64 + e, carried_3_compensation + f * 64 + e,
                        load_v3(state_3 + (chunk - chunk0) * 33824 + f * 64 + e) * take[f], splat_v3(1));
                    store_v3(state_3 + (chunk - chunk0) * 33824 + f * 64 + e, before_3_new14);
                }
            }
        }
    }
}

/* The queries of a chunk meet the states before it, and its own keys. */
TARGET_v3 APART void performer_trig_queries_v3(const struct call *call, int64_t task, const struct part *part,
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
    const float *const features_w = call->params->features_w;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 512 of 528] */
    float *const state_2 = (float *)(void *)(part->slots + 2112); /* [chunk, f: 512 of 528] */
    float *const state_3 = (float *)(void *)(part->slots + 4224); /* [chunk, f: 512, e: 64] */
    float *const query_2 = (float *)(void *)(part->work + 0); /* [i: 64] */
    float *const query_3 = (float *)(void *)(part->work + 256); /* [c: 256, i: 64] */
    float *const query_sin = (float *)(void *)(part->work + 65792); /* [c: 256, i: 64] */
    float *const key_7 = (float *)(void *)(part->work + 131328); /* [j: 64] */
    float *const key_8 = (float *)(void *)(part->work + 131584); /* [c: 256, j: 64] */
    float *const key_sin_2 = (float *)(void *)(part->work + 197120); /* [c: 256, j: 64] */
    float *const score = (float *)(void *)(part->work + 262656); /* [j: 64, i: 64] */
    float *const score_2 = (float *)(void *)(part->work + 197120); /* [j: 64, i: 64] */
    float *const query_4 = (float *)(void *)(part->work + 131328); /* [f: 512, i: 64] */
    float *const query_5 = (float *)(void *)(part->work + 279040); /* [i: 64] */
    float *const query_6 = (float *)(void *)(part->work + 279296); /* [f: 192, i: 64] */
    float *const query_7 = (float *)(void *)(part->work + 328448); /* [i: 64] */
    float *const weight = (float *)(void *)(part->work + 131584); /* [j: 64, i: 64] */
    float *const row_max = (float *)(void *)(part->work + 328704); /* [i: 64] */
    float *const old_max = (float *)(void *)(part->work + 131328); /* [i: 64] */
    float *const row_sum = (float *)(void *)(part->work + 328960); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 329216); /* [i: 64] */
    float *const query_8 = (float *)(void *)(part->work + 329472); /* [e: 64, i: 64] */
    float *const sum = (float *)(void *)(part->work + 279296); /* [e: 64, i: 64] */
    float *const sum_compensation = (float *)(void *)(part->work + 295680); /* [e: 64, i: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    float *const q_tile = (float *)(void *)(part->work + 65792); /* [d: 64, i: 64] */
    float *const k_tile_2 = (float *)(void *)(part->work + 197120); /* [d: 64, j: 64] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 64) - (n_k - n_q)), i_end = min(n_q,
            ((chunk + 1) * 64) - (n_k - n_q)); i0 < i_end; i0 += 64) {
            const int64_t i1 = min(i0 + 64, i_end);
            /* q_tile = q, with zeros beyond the last row */
            transpose_v3(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 64);
            for (int64_t i = i1 - i0; i < round_up(i1 - i0, 8); i++)
                for (int64_t d = 0; d < 64; d++) q_tile[d * 64 + i] = 0;
            /* query_2 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(query_2 + i, splat_v3(0.0f));
            }
            /* q_tile = q_tile * 0.35355339f; query_2 += q_tile * q_tile */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                vec_v3 query_2_in[2];
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    query_2_in[u] = (vec_v3){0};
                }
                for (int64_t d = 0; d < 64; d++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                        const vec_v3 q_tile_16 = load_v3(q_tile + d * 64 + i);
                        const vec_v3 q_tile_new17 = q_tile_16 * 0.35355339f;
                        store_v3(q_tile + d * 64 + i, q_tile_new17);
                        query_2_in[u] += q_tile_new17 * q_tile_new17;
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    store_v3(query_2 + i, load_v3(query_2 + i) + query_2_in[u]);
                }
            }
            /* query_3[c][i] = sum over d of features_w * q_tile */
            dot5_v3(round_up(i1 - i0, 16), features_w, q_tile, query_3);
            /* query_sin = sin(query_3); query_3 = cos(query_3) */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                for (int64_t c = 0; c < 256; c++) {
                    const vec_v3 query_3_18 = load_v3(query_3 + c * 64 + i);
                    const wide_v3 angle19 = __builtin_convertvector(query_3_18, wide_v3);
                    store_v3(query_sin + c * 64 + i, sin_v3(&angle19));
                    const wide_v3 angle20 = __builtin_convertvector(query_3_18, wide_v3);
                    store_v3(query_3 + c * 64 + i, cos_v3(&angle20));
                }
            }
            /* query_5 = -FLT_MAX */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(query_5 + i, splat_v3(-FLT_MAX));
            }
            /* query_4 = (query_2 * 0.7213475f) + state; query_5 max= query_4 */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 t_21 = load_v3(query_2 + i) * 0.7213475f;
                vec_v3 query_5_in = load_v3(query_5 + i);
                for (int64_t f = 0; f < 512; f++) {
                    const vec_v3 query_4_new22 = t_21 + (state[(chunk - chunk0) * 33824 + f]);
                    store_v3(query_4 + f * 64 + i, query_4_new22);
                    query_5_in = max_v3(query_5_in, query_4_new22);
                }
                store_v3(query_5 + i, query_5_in);
            }
            /* query_7 = 0.0f; row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(query_7 + i, splat_v3(0.0f));
                store_v3(row_max + i, splat_v3(-FLT_MAX));
                store_v3(row_sum + i, splat_v3(0.0f));
                store_v3(row_sum_compensation + i, splat_v3(0.0f));
            }
            /* query_8 = 0.0f */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                for (int64_t e = 0; e < 64; e++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                        store_v3(query_8 + e * 64 + i, splat_v3(0.0f));
                    }
                }
            }
            for (int64_t f0 = 0, f_end = 512; f0 < f_end; f0 += 192) {
                const int64_t f1 = min(f0 + 192, f_end);
                /* query_6 = exp2(query_4 - query_5) * (select(f < 256, query_sin, query_3) * 0.00390625f);
                   query_7 += query_6 * state_2 */
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    const vec_v3 query_5_23 = load_v3(query_5 + i);
                    vec_v3 query_7_in = (vec_v3){0};
                    vec_v3 query_7_in_whole = (vec_v3){0};
                    for (int64_t f = f0; f < f1; f++) {
                        const vec_v3 query_6_new24 = exp2_v3(load_v3(query_4 + f * 64 + i) - query_5_23) * (((f < 256) ?
                            load_v3(query_sin + min(f, 255) * 64 + i) : load_v3(query_3 + max(f - 256,
                            0) * 64 + i)) * 0.00390625f);
                        store_v3(query_6 + (f - f0) * 64 + i, query_6_new24);
                        query_7_in += query_6_new24 * (state_2[(chunk - chunk0) * 33824 + f]);
                        if (f % 192 == 191) {
                            query_7_in_whole += query_7_in;
                            query_7_in = (vec_v3){0};
                        }
                    }
                    query_7_in += query_7_in_whole;
                    store_v3(query_7 + i, load_v3(query_7 + i) + query_7_in);
                }
                /* query_8[e][i] += sum over f of state_3 * query_6 */
                dot7_v3(round_up(i1 - i0, 16), f1 - f0, state_3 + (chunk - chunk0) * 33824 + f0 * 64, query_6, query_8);
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
            for (int64_t j0 = max(0, chunk * 64), j_end = min(n_k, i1 + n_k - n_q); j0 < j_end; j0 += 64) {
                const int64_t j1 = min(j0 + 64, j_end);
                /* k_tile_2 = k, with zeros beyond the last row */
                transpose_v3(k + j0 * k_row, k_row, j1 - j0, 64, k_tile_2, 64);
                for (int64_t j = j1 - j0; j < round_up(j1 - j0, 8); j++)
                    for (int64_t d = 0; d < 64; d++) k_tile_2[d * 64 + j] = 0;
                /* key_7 = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    store_v3(key_7 + j, splat_v3(0.0f));
                }
                /* k_tile_2 = k_tile_2 * 0.35355339f; key_7 += k_tile_2 * k_tile_2 */
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
                    vec_v3 key_7_in[2];
                    UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                        key_7_in[u] = (vec_v3){0};
                    }
                    for (int64_t d = 0; d < 64; d++) {
                        UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                            const vec_v3 k_tile_2_25 = load_v3(k_tile_2 + d * 64 + j);
                            const vec_v3 k_tile_2_new26 = k_tile_2_25 * 0.35355339f;
                            store_v3(k_tile_2 + d * 64 + j, k_tile_2_new26);
                            key_7_in[u] += k_tile_2_new26 * k_tile_2_new26;
                        }
                    }
                    UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                        store_v3(key_7 + j, load_v3(key_7 + j) + key_7_in[u]);
                    }
                }
                /* key_8[c][j] = sum over d of features_w * k_tile_2 */
                dot5_v3(round_up(j1 - j0, 16), features_w, k_tile_2, key_8);
                /* key_sin_2 = sin(key_8); key_8 = cos(key_8) */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    for (int64_t c = 0; c < 256; c++) {
                        const vec_v3 key_8_27 = load_v3(key_8 + c * 64 + j);
                        const wide_v3 angle28 = __builtin_convertvector(key_8_27, wide_v3);
                        store_v3(key_sin_2 + c * 64 + j, sin_v3(&angle28));
                        const wide_v3 angle29 = __builtin_convertvector(key_8_27, wide_v3);
                        store_v3(key_8 + c * 64 + j, cos_v3(&angle29));
                    }
                }
                /* score[j][i] = sum over c of key_sin_2 * query_sin */
                dot8_v3(round_up(i1 - i0, 16), j1 - j0, key_sin_2, query_sin, score);
                /* score_2[j][i] = sum over c of key_8 * query_3 */
                dot8_v3(round_up(i1 - i0, 16), j1 - j0, key_8, query_3, score_2);
                /* weight = (query_2 * 0.7213475f) + (key_7 * 0.7213475f) */
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    const vec_v3 t_30 = load_v3(query_2 + i) * 0.7213475f;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_v3(weight + j * 64 + i, t_30 + (key_7[j] * 0.7213475f));
                    }
                }
                /* old_max = row_max */
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    store_v3(old_max + i, load_v3(row_max + i));
                }
                if ((j0 < (((chunk + 1) - 1) * 64)) || ((i0 + n_k - n_q + 1) < j1)) { /* the tile is not wholly inside
                    the mask */
                    /* weight = select((j <= (i + (n_k - n_q))) && ((chunk * 64) <= j), weight, -INFINITY) */
                    const int64_t t_31 = n_k - n_q;
                    for (int64_t i = 0; i < i1 - i0; i += 8) {
                        const ints_v3 t_32 = (i0 + i + lane_v3) + t_31;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_v3(weight + j * 64 + i, pick_v3(__builtin_convertvector(((j0 + j) <= t_32) &
                                (-(int64_t)((chunk * 64) <= (j0 + j))), mask_v3), load_v3(weight + j * 64 + i),
                                splat_v3(-INFINITY)));
                        }
                    }
                }
                /* row_max max= weight */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                    vec_v3 row_max_in[2][2];
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                        UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) row_max_in[u][j_chain] =
                            splat_v3(-INFINITY);
                    }
                    for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                        UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                            const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                                row_max_in[u][j_chain] = max_v3(row_max_in[u][j_chain], load_v3(weight + j * 64 + i));
                            }
                        }
                    }
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                        store_v3(row_max + i, max_v3(load_v3(row_max + i), max_v3(row_max_in[u][0], row_max_in[u][1])));
                    }
                }
                /* old_max = exp2(old_max - row_max) */
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    store_v3(old_max + i, exp2_v3(load_v3(old_max + i) - load_v3(row_max + i)));
                }
                /* score = exp2(weight - row_max) * ((score + score_2) * 0.00390625f) */
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    const vec_v3 row_max_33 = load_v3(row_max + i);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_v3(score + j * 64 + i, exp2_v3(load_v3(weight + j * 64 + i) - row_max_33) *
                            ((load_v3(score + j * 64 + i) + load_v3(score_2 + j * 64 + i)) * 0.00390625f));
                    }
                }
                if ((j0 < (((chunk + 1) - 1) * 64)) || ((i0 + n_k - n_q + 1) < j1)) { /* the tile is not wholly inside
                    the mask */
                    /* score = select((j <= (i + (n_k - n_q))) && ((chunk * 64) <= j), score, 0.0f) */
                    const int64_t t_34 = n_k - n_q;
                    for (int64_t i = 0; i < i1 - i0; i += 8) {
                        const ints_v3 t_35 = (i0 + i + lane_v3) + t_34;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_v3(score + j * 64 + i, pick_v3(__builtin_convertvector(((j0 + j) <= t_35) &
                                (-(int64_t)((chunk * 64) <= (j0 + j))), mask_v3), load_v3(score + j * 64 + i),
                                splat_v3(0.0f)));
                        }
                    }
                }
                /* row_sum = row_sum * old_max; row_sum_compensation = row_sum_compensation * old_max */
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    const vec_v3 old_max_36 = load_v3(old_max + i);
                    store_v3(row_sum + i, load_v3(row_sum + i) * old_max_36);
                    store_v3(row_sum_compensation + i, load_v3(row_sum_compensation + i) * old_max_36);
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
                /* sum[e][i] = sum * old_max + sum over j of v * score */
                if (__builtin_expect(((j0 < (((chunk + 1) - 1) * 64)) || ((i0 + n_k - n_q + 1) < j1)) && !finite_v3(v +
                    j0 * v_row, v_row, j1 - j0, 64), 0)) { /* infinity and NaN reach only what sees them */
                    dot9_v3(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max,
                        sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        mask_v3 seen[8];
                        if (finite_v3(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                        const int64_t t_37 = n_k - n_q;
                        const int t_38 = (chunk * 64) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += 8) {
                            seen[i / 8] = __builtin_convertvector(((j0 + j) <= ((i0 + i + lane_v3) + t_37)) &
                                (-(int64_t)t_38), mask_v3);
                        }
                        add_seen_v3(64, sum, 64, v + j0 * v_row + j * v_row, 1, score + j * 64, seen, i1 - i0);
                    }
                } else
                    dot10_v3(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max,
                        sum_compensation);
            }
            /* sum = select(((row_sum * exp2(row_max - max(row_max, query_5))) + (query_7 * exp2(query_5 - max(row_max,
               query_5)))) == 0.0f, 0. ... */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 row_max_39 = load_v3(row_max + i);
                const vec_v3 query_5_40 = load_v3(query_5 + i);
                const vec_v3 t_41 = max_nan_v3(row_max_39, query_5_40);
                const vec_v3 t_42 = exp2_v3(row_max_39 - t_41);
                const vec_v3 t_43 = exp2_v3(query_5_40 - t_41);
                const vec_v3 t_44 = (load_v3(row_sum + i) * t_42) + (load_v3(query_7 + i) * t_43);
                const mask_v3 t_45 = t_44 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    store_v3(sum + e * 64 + i, pick_v3(t_45, splat_v3(0.0f),
                        ((load_v3(sum + e * 64 + i) * t_42) + (load_v3(query_8 + e * 64 + i) * t_43)) / t_44));
                }
            }
            /* out = sum, transposed back */
            transpose_v3(sum, 64, 64, i1 - i0, out + m * out_head + i0 * out_row, out_row);
        }
    }
}

/* All of a head: every thread whose part this is calls it. */
TARGET_v3 static void performer_trig_linear_v3(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 64 + 1 : 1;
    for (int64_t turn = part->number; turn < ((512 + 31) / 32); turn += part->threads) performer_trig_begin_v3(call,
        task, part, turn);
    meet(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) performer_trig_keys_v3(call, task, part, turn);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            for (int64_t turn = group * ((512 + 31) / 32) / 16; turn < (group + 1) * ((512 + 31) / 32) / 16; turn++)
                performer_trig_fold_v3(call, task, part, turn);
            pass_segment(part, group, segment);
        }
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) performer_trig_queries_v3(call, task, part,
            turn);
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    meet(part);
}

/* States begin with no key. */
TARGET_v3 APART void performer_trig_few_begin_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = turn * 64, r1 = min(r0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + g * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    const float *const features_w = call->params->features_w;
    float *const query = (float *)(void *)(part->shared + 0); /* [d: 64, r: 64] */
    float *const query_2 = (float *)(void *)(part->shared + 16384); /* [r: 64] */
    float *const query_3 = (float *)(void *)(part->shared + 16640); /* [c: 256, r: 64] */
    float *const query_sin = (float *)(void *)(part->shared + 82176); /* [c: 256, r: 64] */
    float *const query_cos = (float *)(void *)(part->shared + 147712); /* [c: 256, r: 64] */
    float *const q_tile = (float *)(void *)(part->work + 0); /* [d: 64, r: 64] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r = 0; r < round_up(r1 - r0, 8); r++)
        for (int64_t d = 0; d < 64; d++)
            q_tile[d * 64 + r] = r < r1 - r0 ? q[r / n_q * q_head + r % n_q * q_row + d] : 0;
    /* query_2 = 0.0f */
    for (int64_t r = r0; r < r1; r += 8) {
        store_v3(query_2 + r, splat_v3(0.0f));
    }
    /* query = q_tile * 0.35355339f; query_2 += query * query */
    for (int64_t r = r0; r < r1; r += 8) {
        vec_v3 query_2_in = (vec_v3){0};
        for (int64_t d = 0; d < 64; d++) {
            const vec_v3 query_new0 = load_v3(q_tile + d * 64 + r) * 0.35355339f;
            store_v3(query + d * 64 + r, query_new0);
            query_2_in += query_new0 * query_new0;
        }
        store_v3(query_2 + r, load_v3(query_2 + r) + query_2_in);
    }
    /* query_3[c][r] = sum over d of features_w * query */
    dot5_v3(round_up(r1 - r0, 16), features_w, query + r0, query_3 + r0);
    /* query_sin = sin(query_3); query_cos = cos(query_3) */
    for (int64_t r = r0; r < r1; r += 8) {
        for (int64_t c = 0; c < 256; c++) {
            const vec_v3 query_3_1 = load_v3(query_3 + c * 64 + r);
            const wide_v3 angle2 = __builtin_convertvector(query_3_1, wide_v3);
            store_v3(query_sin + c * 64 + r, sin_v3(&angle2));
            const wide_v3 angle3 = __builtin_convertvector(query_3_1, wide_v3);
            store_v3(query_cos + c * 64 + r, cos_v3(&angle3));
        }
    }
}

/* States begin with no key. */
TARGET_v3 APART void performer_trig_few_begin_2_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = turn * 16, r1 = min(r0 + 16, rows);
    float *const carried = (float *)(void *)(part->shared + 213248); /* [r: 64] */
    float *const carried_2 = (float *)(void *)(part->shared + 213504); /* [r: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 230144); /* [r: 64] */
    float *const carried_3 = (float *)(void *)(part->shared + 213760); /* [r: 64, e: 64] */
    float *const carried_3_compensation = (float *)(void *)(part->shared + 230400); /* [r: 64, e: 64] */
    /* carried = -FLT_MAX; carried_2 = 0.0f; carried_2_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += 8) {
        store_v3(carried + r, splat_v3(-FLT_MAX));
        store_v3(carried_2 + r, splat_v3(0.0f));
        store_v3(carried_2_compensation + r, splat_v3(0.0f));
    }
    /* carried_3 = 0.0f; carried_3_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
            UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 8) {
                store_v3(carried_3 + r * 64 + e, splat_v3(0.0f));
                store_v3(carried_3_compensation + r * 64 + e, splat_v3(0.0f));
            }
        }
    }
}

/* The keys of a chunk, summed from zero into its slot. */
TARGET_v3 APART void performer_trig_few_keys_v3(const struct call *call, int64_t task, const struct part *part,
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
    const float *const features_w = call->params->features_w;
    float *const query_2 = (float *)(void *)(part->shared + 16384); /* [r: 64] */
    float *const query_sin = (float *)(void *)(part->shared + 82176); /* [c: 256, r: 64] */
    float *const query_cos = (float *)(void *)(part->shared + 147712); /* [c: 256, r: 64] */
    float *const key_2 = (float *)(void *)(part->work + 0); /* [j: 128] */
    float *const key_3 = (float *)(void *)(part->work + 512); /* [c: 256, j: 128 of 144] */
    float *const key_sin = (float *)(void *)(part->work + 147968); /* [c: 256, j: 128 of 144] */
    float *const score = (float *)(void *)(part->work + 295424); /* [r: 64, j: 128 of 144] */
    float *const score_2 = (float *)(void *)(part->work + 147968); /* [r: 64, j: 128 of 144] */
    float *const weight = (float *)(void *)(part->work + 512); /* [r: 64, j: 128 of 144] */
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(part->work + 0); /* [r: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state_3 = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 147968); /* [d: 64, j: 128 of 144] */
    /* state = -FLT_MAX; state_2 = 0.0f */
    for (int64_t r = 0; r < rows; r += 8) {
        store_v3(state + (chunk - chunk0) * 4224 + r, splat_v3(-FLT_MAX));
        store_v3(state_2 + (chunk - chunk0) * 4224 + r, splat_v3(0.0f));
    }
    /* state_3 = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
            UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 8) {
                store_v3(state_3 + (chunk - chunk0) * 4224 + r * 64 + e, splat_v3(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + n_k - n_q); j0 < j_end; j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_v3(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 144);
        for (int64_t j = j1 - j0; j < round_up(j1 - j0, 8); j++)
            for (int64_t d = 0; d < 64; d++) k_tile[d * 144 + j] = 0;
        /* key_2 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_2 + j, splat_v3(0.0f));
        }
        /* k_tile = k_tile * 0.35355339f; key_2 += k_tile * k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            vec_v3 key_2_in[2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                key_2_in[u] = (vec_v3){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    const vec_v3 k_tile_4 = load_v3(k_tile + d * 144 + j);
                    const vec_v3 k_tile_new5 = k_tile_4 * 0.35355339f;
                    store_v3(k_tile + d * 144 + j, k_tile_new5);
                    key_2_in[u] += k_tile_new5 * k_tile_new5;
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                store_v3(key_2 + j, load_v3(key_2 + j) + key_2_in[u]);
            }
        }
        /* key_3[c][j] = sum over d of features_w * k_tile */
        dot11_v3(round_up(j1 - j0, 16), features_w, k_tile, key_3);
        /* key_sin = sin(key_3); key_3 = cos(key_3) */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            for (int64_t c = 0; c < 256; c++) {
                const vec_v3 key_3_6 = load_v3(key_3 + c * 144 + j);
                const wide_v3 angle7 = __builtin_convertvector(key_3_6, wide_v3);
                store_v3(key_sin + c * 144 + j, sin_v3(&angle7));
                const wide_v3 angle8 = __builtin_convertvector(key_3_6, wide_v3);
                store_v3(key_3 + c * 144 + j, cos_v3(&angle8));
            }
        }
        /* score[r][j] = sum over c of query_sin * key_sin */
        dot12_v3(round_up(j1 - j0, 16), rows, query_sin, key_sin, score);
        /* score_2[r][j] = sum over c of query_cos * key_3 */
        dot12_v3(round_up(j1 - j0, 16), rows, query_cos, key_3, score_2);
        /* weight = (query_2 * 0.7213475f) + (key_2 * 0.7213475f) */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_9 = load_v3(key_2 + j) * 0.7213475f;
            for (int64_t r = 0; r < rows; r++) {
                store_v3(weight + r * 144 + j, (query_2[r] * 0.7213475f) + t_9);
            }
        }
        /* old_max = state */
        for (int64_t r = 0; r < rows; r += 8) {
            store_v3(old_max + r, load_v3(state + (chunk - chunk0) * 4224 + r));
        }
        if ((n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
            /* weight = select(j <= ((r % n_q) + (n_k - n_q)), weight, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const ints_v3 t_10 = j0 + j + lane_v3;
                for (int64_t r = 0; r < rows; r++) {
                    store_v3(weight + r * 144 + j, pick_v3(__builtin_convertvector(t_10 <= ((r % n_q) + n_k - n_q),
                        mask_v3), load_v3(weight + r * 144 + j), splat_v3(-INFINITY)));
                }
            }
        }
        /* state max= weight */
        for (int64_t r = 0; r < rows; r++) {
            vec_v3 lanes_max = splat_v3(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const vec_v3 term = load_v3(weight + r * 144 + j);
                lanes_max = max_v3(lanes_max, j + 8 <= j1 - j0 ? term : pick_v3(__builtin_convertvector(j + lane_v3 < j1
                    - j0, mask_v3), term, splat_v3(-INFINITY)));
            }
            const float largest = lane_max_v3(lanes_max);
            if (largest > state[(chunk - chunk0) * 4224 + r]) state[(chunk - chunk0) * 4224 + r] = largest;
        }
        /* old_max = exp2(old_max - state) */
        for (int64_t r = 0; r < rows; r += 8) {
            store_v3(old_max + r, exp2_v3(load_v3(old_max + r) - load_v3(state + (chunk - chunk0) * 4224 + r)));
        }
        /* score = exp2(weight - state) * ((score + score_2) * 0.00390625f) */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            for (int64_t r = 0; r < rows; r++) {
                store_v3(score + r * 144 + j, exp2_v3(load_v3(weight + r * 144 + j) - (state[(chunk - chunk0) * 4224 +
                    r])) * ((load_v3(score + r * 144 + j) + load_v3(score_2 + r * 144 + j)) * 0.00390625f));
            }
        }
        if ((n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
            /* score = select(j <= ((r % n_q) + (n_k - n_q)), score, 0.0f) */
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const ints_v3 t_11 = j0 + j + lane_v3;
                for (int64_t r = 0; r < rows; r++) {
                    store_v3(score + r * 144 + j, pick_v3(__builtin_convertvector(t_11 <= ((r % n_q) + n_k - n_q),
                        mask_v3), load_v3(score + r * 144 + j), splat_v3(0.0f)));
                }
            }
        }
        /* state_2 = state_2 * old_max */
        for (int64_t r = 0; r < rows; r += 8) {
            store_v3(state_2 + (chunk - chunk0) * 4224 + r, load_v3(state_2 + (chunk - chunk0) * 4224 + r) *
                load_v3(old_max + r));
        }
        /* state_2 += score */
        for (int64_t r = 0; r < rows; r++) {
            vec_v3 lane_sums = splat_v3(0);
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const vec_v3 term = load_v3(score + r * 144 + j);
                lane_sums += j + 8 <= j1 - j0 ? term : pick_v3(__builtin_convertvector(j + lane_v3 < j1 - j0, mask_v3),
                    term, splat_v3(0));
            }
            const float total = lane_sum_v3(lane_sums);
            state_2[(chunk - chunk0) * 4224 + r] += total;
        }
        /* state_3 = state_3 * old_max */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 8) {
                    store_v3(state_3 + (chunk - chunk0) * 4224 + r * 64 + e,
                        load_v3(state_3 + (chunk - chunk0) * 4224 + r * 64 + e) * old_max[r]);
                }
            }
        }
        /* state_3[r][e] += sum over j of score * v */
        if (__builtin_expect(((n_k - n_q + 1) < j1) && !finite_v3(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN reach only what sees them */
            dot13_v3(rows, j1 - j0, score, v + j0 * v_row, v_row, state_3 + (chunk - chunk0) * 4224);
            for (int64_t r = 0; r < rows; r++) {
                mask_v3 seen[16];
                const int64_t t_12 = (r % n_q) + n_k - n_q;
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    seen[j / 8] = __builtin_convertvector((j0 + j + lane_v3) <= t_12, mask_v3);
                }
                add_seen_lanes_v3(64, state_3 + (chunk - chunk0) * 4224 + r * 64, score + r * 144, v + j0 * v_row,
                    v_row, j1 - j0, seen);
            }
        } else
            dot14_v3(rows, j1 - j0, score, v + j0 * v_row, v_row, state_3 + (chunk - chunk0) * 4224);
    }
}

/* Some elements of the states take in the chunks at hand, one after the other. */
TARGET_v3 APART void performer_trig_few_fold_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = turn * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state_3 = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const carried = (float *)(void *)(part->shared + 213248); /* [r: 64] */
    float *const keep = (float *)(void *)(part->work + 0); /* [r: 64] */
    float *const take = (float *)(void *)(part->work + 256); /* [r: 64] */
    float *const carried_2 = (float *)(void *)(part->shared + 213504); /* [r: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 230144); /* [r: 64] */
    float *const carried_3 = (float *)(void *)(part->shared + 213760); /* [r: 64, e: 64] */
    float *const carried_3_compensation = (float *)(void *)(part->shared + 230400); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before = carried; carried max= state; keep = exp2(before - carried); take = exp2(state - carried);
           before_2 = carried_2; carried ... */
        for (int64_t r = r0; r < r1; r += 8) {
            const vec_v3 carried_13 = load_v3(carried + r);
            const vec_v3 before_new14 = carried_13;
            const vec_v3 state_15 = load_v3(state + (chunk - chunk0) * 4224 + r);
            const vec_v3 carried_new16 = max_v3(load_v3(carried + r), state_15);
            store_v3(carried + r, carried_new16);
            const vec_v3 keep_new17 = exp2_v3(before_new14 - carried_new16);
            store_v3(keep + r, keep_new17);
            const vec_v3 take_new18 = exp2_v3(state_15 - carried_new16);
            store_v3(take + r, take_new18);
            const vec_v3 carried_2_19 = load_v3(carried_2 + r);
            store_v3(carried_2 + r, carried_2_19 * keep_new17);
            store_v3(carried_2_compensation + r, load_v3(carried_2_compensation + r) * keep_new17);
            add_v3(carried_2 + r, carried_2_compensation + r, load_v3(state_2 + (chunk - chunk0) * 4224 + r) *
                take_new18, splat_v3(1));
        }
        /* before_3 = carried_3; carried_3 = carried_3 * keep; carried_3_compensation = carried_3_compensation * keep;
           carried_3 += state_3 ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 8) {
                    const vec_v3 carried_3_20 = load_v3(carried_3 + r * 64 + e);
                    const float keep_21 = keep[r];
                    store_v3(carried_3 + r * 64 + e, carried_3_20 * keep_21);
                    store_v3(carried_3_compensation + r * 64 + e, load_v3(carried_3_compensation + r * 64 + e) *
                        keep_21);
                    add_v3(carried_3 + r * 64 + e, carried_3_compensation + r * 64 + e,
                        load_v3(state_3 + (chunk - chunk0) * 4224 + r * 64 + e) * take[r], splat_v3(1));
                }
            }
        }
    }
}

/* A tile of queries meets the states. */
TARGET_v3 APART void performer_trig_few_queries_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = turn * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_2 = (float *)(void *)(part->shared + 213504); /* [r: 64] */
    float *const carried_3 = (float *)(void *)(part->shared + 213760); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(part->work + 0); /* [r: 64, e: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    /* result = select(carried_2 == 0.0f, 0.0f, carried_3 / carried_2) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
            UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 8) {
                const float carried_2_22 = carried_2[r];
                store_v3(result + r * 64 + e, (carried_2_22 == 0.0f) ? splat_v3(0.0f) : load_v3(carried_3 + r * 64 + e)
                    / carried_2_22);
            }
        }
    }
    /* out = result */
    for (int64_t e = 0; e < 64; e++)
        for (int64_t r = r0; r < r1; r++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* All of a head: every thread whose part this is calls it. */
TARGET_v3 static void performer_trig_few_v3(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t turn = part->number; turn < ((rows + 63) / 64);
        turn += part->threads) performer_trig_few_begin_v3(call, task, part, turn);
    for (int64_t turn = part->number; turn < ((rows + 15) / 16);
        turn += part->threads) performer_trig_few_begin_2_v3(call, task, part, turn);
    meet(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) performer_trig_few_keys_v3(call, task, part,
            turn);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            for (int64_t turn = group * ((rows + 15) / 16) / 16; turn < (group + 1) * ((rows + 15) / 16) / 16; turn++)
                performer_trig_few_fold_v3(call, task, part, turn);
            pass_segment(part, group, segment);
        }
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    meet(part);
    for (int64_t turn = part->number; turn < ((rows + 15) / 16);
        turn += part->threads) performer_trig_few_queries_v3(call, task, part, turn);
    meet(part);
}
#endif

/* ==== generic ==== */

/* 4 elements in a register; mask_any compares them, ints_any are positions, wide_any is for what needs double. */
typedef float vec_any __attribute__((vector_size(16)));
typedef float stored_any __attribute__((vector_size(16), aligned(sizeof(float)), may_alias)); /* in memory, anywhere */
typedef int32_t mask_any __attribute__((vector_size(16)));
typedef int64_t ints_any __attribute__((vector_size(32)));
typedef double wide_any __attribute__((vector_size(32)));
INLINE vec_any load_any(const float *p) { return *(const stored_any *)(const void *)p; }
INLINE void store_any(float *p, vec_any x) { *(stored_any *)(void *)p = x; }
INLINE vec_any splat_any(float x) { return x - (vec_any){0}; }

/* a where the mask is set, else b */
INLINE vec_any pick_any(mask_any m, vec_any a, vec_any b) { return (vec_any)((m & (mask_any)a) | (~m & (mask_any)b)); }

static const ints_any lane_any = {0, 1, 2, 3};

INLINE vec_any max_any(vec_any a, vec_any b) { return pick_any((mask_any)(a < b), b, a); }

/* The same, and NaN stays as the second, too. */
INLINE vec_any max_nan_any(vec_any a, vec_any b) { return pick_any((mask_any)(b != b), b, max_any(a, b)); }

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

/* The sine of *x plus `quarter` quarter turns: x less the turns' angle in three parts (fdlibm's), which is exact to
   1e-17 for angles up to 10^6. */
INLINE vec_any turn_any(const wide_any *x, int64_t quarter)
{
    const wide_any t = *x * 0.63661977236758134308 + 6755399441055744.0; /* quarter turns, rounded, in the low bits */
    const wide_any n = t - 6755399441055744.0;
    const wide_any left = ((*x - n * 1.57079632673412561417) - n * 6.07710050630396597660e-11)
        - n * 2.02226624879595063154e-21;
    const ints_any turns = (ints_any)t + quarter;
    const vec_any r = __builtin_convertvector(left, vec_any), z = r * r;
    const vec_any s = r + r * z * (z * (z * -0.00019587841f + 0.0083327480f) - 0.16666665f);
    const vec_any c = 1.0f - z * 0.5f + z * z * (z * (z * 2.4547892e-05f - 0.0013888303f) + 0.041666665f);
    const mask_any odd = __builtin_convertvector(-(turns & 1), mask_any);
    const mask_any negative = __builtin_convertvector((turns & 2), mask_any);
    return (vec_any)((mask_any)pick_any(odd, c, s) ^ (negative << 30));
}

INLINE vec_any sin_any(const wide_any *x) { return turn_any(x, 0); }
INLINE vec_any cos_any(const wide_any *x) { return turn_any(x, 1); }

/* The sum over the lanes. */
INLINE float lane_sum_any(vec_any x)
{
    x += __builtin_shufflevector(x, x, 2, 3, 0, 1);
    x += __builtin_shufflevector(x, x, 1, 0, 3, 2);
    return x[0];
}

/* The largest of the lanes; where one is NaN, perhaps not that. */
INLINE float lane_max_any(vec_any x)
{
    x = max_any(x, __builtin_shufflevector(x, x, 2, 3, 0, 1));
    x = max_any(x, __builtin_shufflevector(x, x, 1, 0, 3, 2));
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
    dot_any(2, lanes, 256, 4, 64, 32, a, 64, 1, b, 16, c, 16, 0, NULL, NULL);
}
APART void dot1_any(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, 256, 4, 64, 32, a, 64, 1, b, 96, c, 96, 0, NULL, NULL);
}
APART void dot2_any(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, rows, -1, 256, 32, a, 1, 96, b, 16, c, 16, 0, NULL, NULL);
}
APART void dot3_any(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_finite_any(2, lanes, 64, 4, steps, 192, a, 1, a_step, b, 16, c, 16, 3, factor, compensation);
}
APART void dot4_any(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_any(2, lanes, 64, 4, steps, 192, a, 1, a_step, b, 16, c, 16, 3, factor, compensation);
}
APART void dot5_any(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, 256, 4, 64, 32, a, 64, 1, b, 64, c, 64, 0, NULL, NULL);
}
APART void dot6_any(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_any(2, 64, rows, -1, steps, 192, a, 64, 1, b, b_step, c, 64, 0, NULL, NULL);
}
APART void dot7_any(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, 64, 4, steps, 32, a, 1, 64, b, 64, c, 64, 1, NULL, NULL);
}
APART void dot8_any(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, rows, -1, 256, 32, a, 1, 64, b, 64, c, 64, 0, NULL, NULL);
}
APART void dot9_any(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_finite_any(2, lanes, 64, 4, steps, 192, a, 1, a_step, b, 64, c, 64, 3, factor, compensation);
}
APART void dot10_any(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_any(2, lanes, 64, 4, steps, 192, a, 1, a_step, b, 64, c, 64, 3, factor, compensation);
}
APART void dot11_any(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, 256, 4, 64, 32, a, 64, 1, b, 144, c, 144, 0, NULL, NULL);
}
APART void dot12_any(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, rows, -1, 256, 32, a, 1, 64, b, 144, c, 144, 0, NULL, NULL);
}
APART void dot13_any(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_finite_lanes_any(1, 2, 64, rows, -1, steps, 192, a, 144, 1, b, b_step, c, 64, 1, NULL, NULL);
}
APART void dot14_any(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_fetched_any(2, 64, rows, -1, steps, 192, a, 144, 1, b, b_step, c, 64, 1, NULL, NULL);
}

/* Task number `task`: one tile of queries of one head; `work` is the thread's part of the workspace. */
static void performer_trig_rows_any(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const features_w = call->params->features_w;
    float *const all_query_2 = (float *)(void *)(work + 0); /* [i: 16, 8 times] */
    float *const query_3 = (float *)(void *)(work + 512); /* [c: 256, i: 16] */
    float *const all_query_sin = (float *)(void *)(work + 16896); /* [c: 256, i: 16, 8 times] */
    float *const all_query_cos = (float *)(void *)(work + 147968); /* [c: 256, i: 16, 8 times] */
    float *const key_2 = (float *)(void *)(work + 512); /* [j: 96] */
    float *const key_3 = (float *)(void *)(work + 279040); /* [c: 256, j: 96] */
    float *const key_sin = (float *)(void *)(work + 377344); /* [c: 256, j: 96] */
    float *const score = (float *)(void *)(work + 896); /* [j: 96, i: 16] */
    float *const score_2 = (float *)(void *)(work + 7040); /* [j: 96, i: 16] */
    float *const weight = (float *)(void *)(work + 475648); /* [j: 96, i: 16] */
    float *const all_row_max = (float *)(void *)(work + 481792); /* [i: 16, 8 times] */
    float *const old_max = (float *)(void *)(work + 13184); /* [i: 16] */
    float *const all_row_sum = (float *)(void *)(work + 482304); /* [i: 16, 8 times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + 482816); /* [i: 16, 8 times] */
    float *const all_sum = (float *)(void *)(work + 483328); /* [e: 64, i: 16, 8 times] */
    float *const all_sum_compensation = (float *)(void *)(work + 516096); /* [e: 64, i: 16, 8 times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: 16] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const q_tile = (float *)(void *)(work + 279040); /* [d: 64, i: 16] */
    float *const k_tile = (float *)(void *)(work + 377344); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
        const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
        float *const query_2 = all_query_2 + (i0 - i_block) / 16 * 16;
        float *const query_sin = all_query_sin + (i0 - i_block) / 16 * 4096;
        float *const query_cos = all_query_cos + (i0 - i_block) / 16 * 4096;
        float *const row_max = all_row_max + (i0 - i_block) / 16 * 16;
        float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 16 * 16;
        float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 16 * 1024;
        /* q_tile = q, with zeros beyond the last row */
        transpose_any(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 16);
        for (int64_t i = i1 - i0; i < round_up(i1 - i0, 4); i++)
            for (int64_t d = 0; d < 64; d++) q_tile[d * 16 + i] = 0;
        /* query_2 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(query_2 + i, splat_any(0.0f));
        }
        /* q_tile = q_tile * 0.35355339f; query_2 += q_tile * q_tile */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
            vec_any query_2_in[2];
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                query_2_in[u] = (vec_any){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    const vec_any q_tile_0 = load_any(q_tile + d * 16 + i);
                    const vec_any q_tile_new1 = q_tile_0 * 0.35355339f;
                    store_any(q_tile + d * 16 + i, q_tile_new1);
                    query_2_in[u] += q_tile_new1 * q_tile_new1;
                }
            }
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                store_any(query_2 + i, load_any(query_2 + i) + query_2_in[u]);
            }
        }
        /* query_3[c][i] = sum over d of features_w * q_tile */
        dot0_any(round_up(i1 - i0, 8), features_w, q_tile, query_3);
        /* query_sin = sin(query_3); query_cos = cos(query_3) */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            for (int64_t c = 0; c < 256; c++) {
                const vec_any query_3_2 = load_any(query_3 + c * 16 + i);
                const wide_any angle3 = __builtin_convertvector(query_3_2, wide_any);
                store_any(query_sin + c * 16 + i, sin_any(&angle3));
                const wide_any angle4 = __builtin_convertvector(query_3_2, wide_any);
                store_any(query_cos + c * 16 + i, cos_any(&angle4));
            }
        }
        /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(row_max + i, splat_any(-FLT_MAX));
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
        /* key_2 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_2 + j, splat_any(0.0f));
        }
        /* k_tile = k_tile * 0.35355339f; key_2 += k_tile * k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            vec_any key_2_in[2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                key_2_in[u] = (vec_any){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    const vec_any k_tile_5 = load_any(k_tile + d * 96 + j);
                    const vec_any k_tile_new6 = k_tile_5 * 0.35355339f;
                    store_any(k_tile + d * 96 + j, k_tile_new6);
                    key_2_in[u] += k_tile_new6 * k_tile_new6;
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                store_any(key_2 + j, load_any(key_2 + j) + key_2_in[u]);
            }
        }
        /* key_3[c][j] = sum over d of features_w * k_tile */
        dot1_any(round_up(j1 - j0, 8), features_w, k_tile, key_3);
        /* key_sin = sin(key_3); key_3 = cos(key_3) */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            for (int64_t c = 0; c < 256; c++) {
                const vec_any key_3_7 = load_any(key_3 + c * 96 + j);
                const wide_any angle8 = __builtin_convertvector(key_3_7, wide_any);
                store_any(key_sin + c * 96 + j, sin_any(&angle8));
                const wide_any angle9 = __builtin_convertvector(key_3_7, wide_any);
                store_any(key_3 + c * 96 + j, cos_any(&angle9));
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const query_2 = all_query_2 + (i0 - i_block) / 16 * 16;
            float *const query_sin = all_query_sin + (i0 - i_block) / 16 * 4096;
            float *const query_cos = all_query_cos + (i0 - i_block) / 16 * 4096;
            float *const row_max = all_row_max + (i0 - i_block) / 16 * 16;
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 16 * 1024;
            if (!(j0 < (i1 + n_k - n_q))) continue; /* nothing in the tile can be seen */
            /* score[j][i] = sum over c of key_sin * query_sin */
            dot2_any(round_up(i1 - i0, 8), j1 - j0, key_sin, query_sin, score);
            /* score_2[j][i] = sum over c of key_3 * query_cos */
            dot2_any(round_up(i1 - i0, 8), j1 - j0, key_3, query_cos, score_2);
            /* weight = (query_2 * 0.7213475f) + (key_2 * 0.7213475f) */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any t_10 = load_any(query_2 + i) * 0.7213475f;
                for (int64_t j = 0; j < j1 - j0; j++) {
                    store_any(weight + j * 16 + i, t_10 + (key_2[j] * 0.7213475f));
                }
            }
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(old_max + i, load_any(row_max + i));
            }
            if ((i0 + n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
                /* weight = select(j <= (i + (n_k - n_q)), weight, -INFINITY) */
                const int64_t t_11 = n_k - n_q;
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const ints_any t_12 = (i0 + i + lane_any) + t_11;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_any(weight + j * 16 + i, pick_any(__builtin_convertvector((j0 + j) <= t_12, mask_any),
                            load_any(weight + j * 16 + i), splat_any(-INFINITY)));
                    }
                }
            }
            /* row_max max= weight */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                vec_any row_max_in[2][2];
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) row_max_in[u][j_chain] = splat_any(-INFINITY);
                }
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                        const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                        UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                            row_max_in[u][j_chain] = max_any(row_max_in[u][j_chain], load_any(weight + j * 16 + i));
                        }
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    store_any(row_max + i, max_any(load_any(row_max + i), max_any(row_max_in[u][0], row_max_in[u][1])));
                }
            }
            /* old_max = exp2(old_max - row_max) */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(old_max + i, exp2_any(load_any(old_max + i) - load_any(row_max + i)));
            }
            /* score = exp2(weight - row_max) * ((score + score_2) * 0.00390625f) */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any row_max_13 = load_any(row_max + i);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    store_any(score + j * 16 + i, exp2_any(load_any(weight + j * 16 + i) - row_max_13) *
                        ((load_any(score + j * 16 + i) + load_any(score_2 + j * 16 + i)) * 0.00390625f));
                }
            }
            if ((i0 + n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
                /* score = select(j <= (i + (n_k - n_q)), score, 0.0f) */
                const int64_t t_14 = n_k - n_q;
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const ints_any t_15 = (i0 + i + lane_any) + t_14;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_any(score + j * 16 + i, pick_any(__builtin_convertvector((j0 + j) <= t_15, mask_any),
                            load_any(score + j * 16 + i), splat_any(0.0f)));
                    }
                }
            }
            /* row_sum = row_sum * old_max; row_sum_compensation = row_sum_compensation * old_max */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any old_max_16 = load_any(old_max + i);
                store_any(row_sum + i, load_any(row_sum + i) * old_max_16);
                store_any(row_sum_compensation + i, load_any(row_sum_compensation + i) * old_max_16);
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
            /* sum[e][i] = sum * old_max + sum over j of v * score */
            if (__builtin_expect(((i0 + n_k - n_q + 1) < j1) && !finite_any(v + j0 * v_row, v_row, j1 - j0, 64),
                0)) { /* infinity and NaN reach only what sees them */
                dot3_any(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    mask_any seen[4];
                    if (finite_any(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    const int64_t t_17 = n_k - n_q;
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        seen[i / 4] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_any) + t_17), mask_any);
                    }
                    add_seen_any(64, sum, 16, v + j0 * v_row + j * v_row, 1, score + j * 16, seen, i1 - i0);
                }
            } else
                dot4_any(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            /* result = select(row_sum == 0.0f, 0.0f, sum / row_sum) */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any row_sum_18 = load_any(row_sum + i);
                const mask_any t_19 = row_sum_18 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    store_any(result + e * 16 + i, pick_any(t_19, splat_any(0.0f),
                        load_any(sum + e * 16 + i) / row_sum_18));
                }
            }
            /* out = result, transposed back */
            transpose_any(result, 16, 64, i1 - i0, out + i0 * out_row, out_row);
        }
    }
}

/* States begin with no key. */
APART void performer_trig_begin_any(const struct call *call, int64_t task, const struct part *part, int64_t turn)
{
    (void)call;
    (void)task;
    const int64_t f0 = turn * 32, f1 = min(f0 + 32, 512);
    float *const carried = (float *)(void *)(part->shared + 0); /* [f: 512] */
    float *const carried_2 = (float *)(void *)(part->shared + 2048); /* [f: 512] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 135168); /* [f: 512] */
    float *const carried_3 = (float *)(void *)(part->shared + 4096); /* [f: 512, e: 64] */
    float *const carried_3_compensation = (float *)(void *)(part->shared + 137216); /* [f: 512, e: 64] */
    /* carried = -FLT_MAX; carried_2 = 0.0f; carried_2_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += 4) {
        store_any(carried + f, splat_any(-FLT_MAX));
        store_any(carried_2 + f, splat_any(0.0f));
        store_any(carried_2_compensation + f, splat_any(0.0f));
    }
    /* carried_3 = 0.0f; carried_3_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
            UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 4) {
                store_any(carried_3 + f * 64 + e, splat_any(0.0f));
                store_any(carried_3_compensation + f * 64 + e, splat_any(0.0f));
            }
        }
    }
}

/* The keys of a chunk, summed from zero into its slot. */
APART void performer_trig_keys_any(const struct call *call, int64_t task, const struct part *part, int64_t turn)
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
    const float *const features_w = call->params->features_w;
    float *const key_2 = (float *)(void *)(part->work + 0); /* [j: 64] */
    float *const key_3 = (float *)(void *)(part->work + 256); /* [c: 256, j: 64] */
    float *const key_sin = (float *)(void *)(part->work + 65792); /* [c: 256, j: 64] */
    float *const key_4 = (float *)(void *)(part->work + 131328); /* [f: 512, j: 64] */
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 512 of 528] */
    float *const key_5 = (float *)(void *)(part->work + 262400); /* [f: 192, j: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 2112); /* [chunk, f: 512 of 528] */
    float *const state_3 = (float *)(void *)(part->slots + 4224); /* [chunk, f: 512, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 65792); /* [d: 64, j: 64] */
    /* state = -FLT_MAX; state_2 = 0.0f */
    for (int64_t f = 0; f < 512; f += 4) {
        store_any(state + (chunk - chunk0) * 33824 + f, splat_any(-FLT_MAX));
        store_any(state_2 + (chunk - chunk0) * 33824 + f, splat_any(0.0f));
    }
    for (int64_t j0 = chunk * 64, j_end = min(n_k, (chunk + 1) * 64); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_any(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 64);
        for (int64_t j = j1 - j0; j < round_up(j1 - j0, 4); j++)
            for (int64_t d = 0; d < 64; d++) k_tile[d * 64 + j] = 0;
        /* key_2 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_2 + j, splat_any(0.0f));
        }
        /* k_tile = k_tile * 0.35355339f; key_2 += k_tile * k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            vec_any key_2_in[2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                key_2_in[u] = (vec_any){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    const vec_any k_tile_0 = load_any(k_tile + d * 64 + j);
                    const vec_any k_tile_new1 = k_tile_0 * 0.35355339f;
                    store_any(k_tile + d * 64 + j, k_tile_new1);
                    key_2_in[u] += k_tile_new1 * k_tile_new1;
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                store_any(key_2 + j, load_any(key_2 + j) + key_2_in[u]);
            }
        }
        /* key_3[c][j] = sum over d of features_w * k_tile */
        dot5_any(round_up(j1 - j0, 8), features_w, k_tile, key_3);
        /* key_sin = sin(key_3); key_3 = cos(key_3) */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            for (int64_t c = 0; c < 256; c++) {
                const vec_any key_3_2 = load_any(key_3 + c * 64 + j);
                const wide_any angle3 = __builtin_convertvector(key_3_2, wide_any);
                store_any(key_sin + c * 64 + j, sin_any(&angle3));
                const wide_any angle4 = __builtin_convertvector(key_3_2, wide_any);
                store_any(key_3 + c * 64 + j, cos_any(&angle4));
            }
        }
        /* key_4 = key_2 * 0.7213475f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_5 = load_any(key_2 + j) * 0.7213475f;
            for (int64_t f = 0; f < 512; f++) {
                store_any(key_4 + f * 64 + j, t_5);
            }
        }
        /* state max= key_4 */
        for (int64_t f = 0; f < 512; f++) {
            vec_any lanes_max = splat_any(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const vec_any term = load_any(key_4 + f * 64 + j);
                lanes_max = max_any(lanes_max, j + 4 <= j1 - j0 ? term : pick_any(__builtin_convertvector(j + lane_any <
                    j1 - j0, mask_any), term, splat_any(-INFINITY)));
            }
            const float largest = lane_max_any(lanes_max);
            if (largest > state[(chunk - chunk0) * 33824 + f]) state[(chunk - chunk0) * 33824 + f] = largest;
        }
        for (int64_t f0 = 0, f_end = 512; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* key_5 = exp2(key_4 - state) * select(f < 256, key_sin, key_3) */
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                for (int64_t f = f0; f < f1; f++) {
                    store_any(key_5 + (f - f0) * 64 + j, exp2_any(load_any(key_4 + f * 64 + j) - (state[(chunk - chunk0)
                        * 33824 + f])) * ((f < 256) ? load_any(key_sin + min(f,
                        255) * 64 + j) : load_any(key_3 + max(f - 256, 0) * 64 + j)));
                }
            }
            /* state_2 += key_5 */
            for (int64_t f = f0; f < f1; f++) {
                vec_any lane_sums = splat_any(0);
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    const vec_any term = load_any(key_5 + (f - f0) * 64 + j);
                    lane_sums += j + 4 <= j1 - j0 ? term : pick_any(__builtin_convertvector(j + lane_any < j1 - j0,
                        mask_any), term, splat_any(0));
                }
                const float total = lane_sum_any(lane_sums);
                state_2[(chunk - chunk0) * 33824 + f] += total;
            }
            /* state_3[f][e] = sum over j of key_5 * v */
            dot6_any(f1 - f0, j1 - j0, key_5, v + j0 * v_row, v_row, state_3 + (chunk - chunk0) * 33824 + f0 * 64);
        }
    }
}

/* Some elements of the states take in the chunks at hand, one after the other. */
APART void performer_trig_fold_any(const struct call *call, int64_t task, const struct part *part, int64_t turn)
{
    (void)call;
    (void)task;
    const int64_t f0 = turn * 32, f1 = min(f0 + 32, 512);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 512 of 528] */
    float *const state_2 = (float *)(void *)(part->slots + 2112); /* [chunk, f: 512 of 528] */
    float *const state_3 = (float *)(void *)(part->slots + 4224); /* [chunk, f: 512, e: 64] */
    float *const carried = (float *)(void *)(part->shared + 0); /* [f: 512] */
    float *const keep = (float *)(void *)(part->work + 0); /* [f: 512] */
    float *const take = (float *)(void *)(part->work + 2048); /* [f: 512] */
    float *const carried_2 = (float *)(void *)(part->shared + 2048); /* [f: 512] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 135168); /* [f: 512] */
    float *const carried_3 = (float *)(void *)(part->shared + 4096); /* [f: 512, e: 64] */
    float *const carried_3_compensation = (float *)(void *)(part->shared + 137216); /* [f: 512, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before = carried; carried max= state; keep = exp2(before - carried); take = exp2(state - carried);
           state = before */
        for (int64_t f = f0; f < f1; f += 4) {
            const vec_any carried_6 = load_any(carried + f);
            const vec_any before_new7 = carried_6;
            const vec_any state_8 = load_any(state + (chunk - chunk0) * 33824 + f);
            const vec_any carried_new9 = max_any(load_any(carried + f), state_8);
            store_any(carried + f, carried_new9);
            store_any(keep + f, exp2_any(before_new7 - carried_new9));
            store_any(take + f, exp2_any(state_8 - carried_new9));
            store_any(state + (chunk - chunk0) * 33824 + f, before_new7);
        }
        /* before_2 = carried_2; carried_2 = carried_2 * keep; carried_2_compensation = carried_2_compensation * keep;
           carried_2 += state_2 ... */
        for (int64_t f = f0; f < f1; f += 4) {
            const vec_any carried_2_10 = load_any(carried_2 + f);
            const vec_any before_2_new11 = carried_2_10;
            const vec_any keep_12 = load_any(keep + f);
            store_any(carried_2 + f, carried_2_10 * keep_12);
            store_any(carried_2_compensation + f, load_any(carried_2_compensation + f) * keep_12);
            add_any(carried_2 + f, carried_2_compensation + f, load_any(state_2 + (chunk - chunk0) * 33824 + f) *
                load_any(take + f), splat_any(1));
            store_any(state_2 + (chunk - chunk0) * 33824 + f, before_2_new11);
        }
        /* before_3 = carried_3; carried_3 = carried_3 * keep; carried_3_compensation = carried_3_compensation * keep;
           carried_3 += state_3 ... */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 4) {
                    const vec_any carried_3_13 = load_any(carried_3 + f * 64 + e);
                    const vec_any before_3_new14 = carried_3_13;
                    const float keep_15 = keep[f];
                    store_any(carried_3 + f * 64 + e, carried_3_13 * keep_15);
                    store_any(carried_3_compensation + f * 64 + e, load_any(carried_3_compensation + f * 64 + e) *
                        keep_15);
                    add_any(carried_3 + f * 64 + e, carried_3_compensation + f * 64 + e,
                        load_any(state_3 + (chunk - chunk0) * 33824 + f * 64 + e) * take[f], splat_any(1));
                    store_any(state_3 + (chunk - chunk0) * 33824 + f * 64 + e, before_3_new14);
                }
            }
        }
    }
}

/* The queries of a chunk meet the states before it, and its own keys. */
APART void performer_trig_queries_any(const struct call *call, int64_t task, const struct part *part, int64_t turn)
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
    const float *const features_w = call->params->features_w;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 512 of 528] */
    float *const state_2 = (float *)(void *)(part->slots + 2112); /* [chunk, f: 512 of 528] */
    float *const state_3 = (float *)(void *)(part->slots + 4224); /* [chunk, f: 512, e: 64] */
    float *const query_2 = (float *)(void *)(part->work + 0); /* [i: 64] */
    float *const query_3 = (float *)(void *)(part->work + 256); /* [c: 256, i: 64] */
    float *const query_sin = (float *)(void *)(part->work + 65792); /* [c: 256, i: 64] */
    float *const key_7 = (float *)(void *)(part->work + 131328); /* [j: 64] */
    float *const key_8 = (float *)(void *)(part->work + 131584); /* [c: 256, j: 64] */
    float *const key_sin_2 = (float *)(void *)(part->work + 197120); /* [c: 256, j: 64] */
    float *const score = (float *)(void *)(part->work + 262656); /* [j: 64, i: 64] */
    float *const score_2 = (float *)(void *)(part->work + 197120); /* [j: 64, i: 64] */
    float *const query_4 = (float *)(void *)(part->work + 131328); /* [f: 512, i: 64] */
    float *const query_5 = (float *)(void *)(part->work + 279040); /* [i: 64] */
    float *const query_6 = (float *)(void *)(part->work + 279296); /* [f: 192, i: 64] */
    float *const query_7 = (float *)(void *)(part->work + 328448); /* [i: 64] */
    float *const weight = (float *)(void *)(part->work + 131584); /* [j: 64, i: 64] */
    float *const row_max = (float *)(void *)(part->work + 328704); /* [i: 64] */
    float *const old_max = (float *)(void *)(part->work + 131328); /* [i: 64] */
    float *const row_sum = (float *)(void *)(part->work + 328960); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 329216); /* [i: 64] */
    float *const query_8 = (float *)(void *)(part->work + 329472); /* [e: 64, i: 64] */
    float *const sum = (float *)(void *)(part->work + 279296); /* [e: 64, i: 64] */
    float *const sum_compensation = (float *)(void *)(part->work + 295680); /* [e: 64, i: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    float *const q_tile = (float *)(void *)(part->work + 65792); /* [d: 64, i: 64] */
    float *const k_tile_2 = (float *)(void *)(part->work + 197120); /* [d: 64, j: 64] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 64) - (n_k - n_q)), i_end = min(n_q,
            ((chunk + 1) * 64) - (n_k - n_q)); i0 < i_end; i0 += 64) {
            const int64_t i1 = min(i0 + 64, i_end);
            /* q_tile = q, with zeros beyond the last row */
            transpose_any(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 64);
            for (int64_t i = i1 - i0; i < round_up(i1 - i0, 4); i++)
                for (int64_t d = 0; d < 64; d++) q_tile[d * 64 + i] = 0;
            /* query_2 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(query_2 + i, splat_any(0.0f));
            }
            /* q_tile = q_tile * 0.35355339f; query_2 += q_tile * q_tile */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                vec_any query_2_in[2];
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    query_2_in[u] = (vec_any){0};
                }
                for (int64_t d = 0; d < 64; d++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                        const vec_any q_tile_16 = load_any(q_tile + d * 64 + i);
                        const vec_any q_tile_new17 = q_tile_16 * 0.35355339f;
                        store_any(q_tile + d * 64 + i, q_tile_new17);
                        query_2_in[u] += q_tile_new17 * q_tile_new17;
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    store_any(query_2 + i, load_any(query_2 + i) + query_2_in[u]);
                }
            }
            /* query_3[c][i] = sum over d of features_w * q_tile */
            dot5_any(round_up(i1 - i0, 8), features_w, q_tile, query_3);
            /* query_sin = sin(query_3); query_3 = cos(query_3) */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                for (int64_t c = 0; c < 256; c++) {
                    const vec_any query_3_18 = load_any(query_3 + c * 64 + i);
                    const wide_any angle19 = __builtin_convertvector(query_3_18, wide_any);
                    store_any(query_sin + c * 64 + i, sin_any(&angle19));
                    const wide_any angle20 = __builtin_convertvector(query_3_18, wide_any);
                    store_any(query_3 + c * 64 + i, cos_any(&angle20));
                }
            }
            /* query_5 = -FLT_MAX */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(query_5 + i, splat_any(-FLT_MAX));
            }
            /* query_4 = (query_2 * 0.7213475f) + state; query_5 max= query_4 */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any t_21 = load_any(query_2 + i) * 0.7213475f;
                vec_any query_5_in = load_any(query_5 + i);
                for (int64_t f = 0; f < 512; f++) {
                    const vec_any query_4_new22 = t_21 + (state[(chunk - chunk0) * 33824 + f]);
                    store_any(query_4 + f * 64 + i, query_4_new22);
                    query_5_in = max_any(query_5_in, query_4_new22);
                }
                store_any(query_5 + i, query_5_in);
            }
            /* query_7 = 0.0f; row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(query_7 + i, splat_any(0.0f));
                store_any(row_max + i, splat_any(-FLT_MAX));
                store_any(row_sum + i, splat_any(0.0f));
                store_any(row_sum_compensation + i, splat_any(0.0f));
            }
            /* query_8 = 0.0f */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                for (int64_t e = 0; e < 64; e++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                        store_any(query_8 + e * 64 + i, splat_any(0.0f));
                    }
                }
            }
            for (int64_t f0 = 0, f_end = 512; f0 < f_end; f0 += 192) {
                const int64_t f1 = min(f0 + 192, f_end);
                /* query_6 = exp2(query_4 - query_5) * (select(f < 256, query_sin, query_3) * 0.00390625f);
                   query_7 += query_6 * state_2 */
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const vec_any query_5_23 = load_any(query_5 + i);
                    vec_any query_7_in = (vec_any){0};
                    vec_any query_7_in_whole = (vec_any){0};
                    for (int64_t f = f0; f < f1; f++) {
                        const vec_any query_6_new24 = exp2_any(load_any(query_4 + f * 64 + i) - query_5_23) * (((f <
                            256) ? load_any(query_sin + min(f, 255) * 64 + i) : load_any(query_3 + max(f - 256,
                            0) * 64 + i)) * 0.00390625f);
                        store_any(query_6 + (f - f0) * 64 + i, query_6_new24);
                        query_7_in += query_6_new24 * (state_2[(chunk - chunk0) * 33824 + f]);
                        if (f % 192 == 191) {
                            query_7_in_whole += query_7_in;
                            query_7_in = (vec_any){0};
                        }
                    }
                    query_7_in += query_7_in_whole;
                    store_any(query_7 + i, load_any(query_7 + i) + query_7_in);
                }
                /* query_8[e][i] += sum over f of state_3 * query_6 */
                dot7_any(round_up(i1 - i0, 8), f1 - f0, state_3 + (chunk - chunk0) * 33824 + f0 * 64, query_6, query_8);
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
            for (int64_t j0 = max(0, chunk * 64), j_end = min(n_k, i1 + n_k - n_q); j0 < j_end; j0 += 64) {
                const int64_t j1 = min(j0 + 64, j_end);
                /* k_tile_2 = k, with zeros beyond the last row */
                transpose_any(k + j0 * k_row, k_row, j1 - j0, 64, k_tile_2, 64);
                for (int64_t j = j1 - j0; j < round_up(j1 - j0, 4); j++)
                    for (int64_t d = 0; d < 64; d++) k_tile_2[d * 64 + j] = 0;
                /* key_7 = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    store_any(key_7 + j, splat_any(0.0f));
                }
                /* k_tile_2 = k_tile_2 * 0.35355339f; key_7 += k_tile_2 * k_tile_2 */
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
                    vec_any key_7_in[2];
                    UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                        key_7_in[u] = (vec_any){0};
                    }
                    for (int64_t d = 0; d < 64; d++) {
                        UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                            const vec_any k_tile_2_25 = load_any(k_tile_2 + d * 64 + j);
                            const vec_any k_tile_2_new26 = k_tile_2_25 * 0.35355339f;
                            store_any(k_tile_2 + d * 64 + j, k_tile_2_new26);
                            key_7_in[u] += k_tile_2_new26 * k_tile_2_new26;
                        }
                    }
                    UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                        store_any(key_7 + j, load_any(key_7 + j) + key_7_in[u]);
                    }
                }
                /* key_8[c][j] = sum over d of features_w * k_tile_2 */
                dot5_any(round_up(j1 - j0, 8), features_w, k_tile_2, key_8);
                /* key_sin_2 = sin(key_8); key_8 = cos(key_8) */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    for (int64_t c = 0; c < 256; c++) {
                        const vec_any key_8_27 = load_any(key_8 + c * 64 + j);
                        const wide_any angle28 = __builtin_convertvector(key_8_27, wide_any);
                        store_any(key_sin_2 + c * 64 + j, sin_any(&angle28));
                        const wide_any angle29 = __builtin_convertvector(key_8_27, wide_any);
                        store_any(key_8 + c * 64 + j, cos_any(&angle29));
                    }
                }
                /* score[j][i] = sum over c of key_sin_2 * query_sin */
                dot8_any(round_up(i1 - i0, 8), j1 - j0, key_sin_2, query_sin, score);
                /* score_2[j][i] = sum over c of key_8 * query_3 */
                dot8_any(round_up(i1 - i0, 8), j1 - j0, key_8, query_3, score_2);
                /* weight = (query_2 * 0.7213475f) + (key_7 * 0.7213475f) */
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const vec_any t_30 = load_any(query_2 + i) * 0.7213475f;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_any(weight + j * 64 + i, t_30 + (key_7[j] * 0.7213475f));
                    }
                }
                /* old_max = row_max */
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    store_any(old_max + i, load_any(row_max + i));
                }
                if ((j0 < (((chunk + 1) - 1) * 64)) || ((i0 + n_k - n_q + 1) < j1)) { /* the tile is not wholly inside
                    the mask */
                    /* weight = select((j <= (i + (n_k - n_q))) && ((chunk * 64) <= j), weight, -INFINITY) */
                    const int64_t t_31 = n_k - n_q;
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        const ints_any t_32 = (i0 + i + lane_any) + t_31;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_any(weight + j * 64 + i, pick_any(__builtin_convertvector(((j0 + j) <= t_32) &
                                (-(int64_t)((chunk * 64) <= (j0 + j))), mask_any), load_any(weight + j * 64 + i),
                                splat_any(-INFINITY)));
                        }
                    }
                }
                /* row_max max= weight */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                    vec_any row_max_in[2][2];
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                        UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) row_max_in[u][j_chain] =
                            splat_any(-INFINITY);
                    }
                    for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                        UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                            const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                                row_max_in[u][j_chain] = max_any(row_max_in[u][j_chain], load_any(weight + j * 64 + i));
                            }
                        }
                    }
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                        store_any(row_max + i, max_any(load_any(row_max + i), max_any(row_max_in[u][0],
                            row_max_in[u][1])));
                    }
                }
                /* old_max = exp2(old_max - row_max) */
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    store_any(old_max + i, exp2_any(load_any(old_max + i) - load_any(row_max + i)));
                }
                /* score = exp2(weight - row_max) * ((score + score_2) * 0.00390625f) */
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const vec_any row_max_33 = load_any(row_max + i);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_any(score + j * 64 + i, exp2_any(load_any(weight + j * 64 + i) - row_max_33) *
                            ((load_any(score + j * 64 + i) + load_any(score_2 + j * 64 + i)) * 0.00390625f));
                    }
                }
                if ((j0 < (((chunk + 1) - 1) * 64)) || ((i0 + n_k - n_q + 1) < j1)) { /* the tile is not wholly inside
                    the mask */
                    /* score = select((j <= (i + (n_k - n_q))) && ((chunk * 64) <= j), score, 0.0f) */
                    const int64_t t_34 = n_k - n_q;
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        const ints_any t_35 = (i0 + i + lane_any) + t_34;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_any(score + j * 64 + i, pick_any(__builtin_convertvector(((j0 + j) <= t_35) &
                                (-(int64_t)((chunk * 64) <= (j0 + j))), mask_any), load_any(score + j * 64 + i),
                                splat_any(0.0f)));
                        }
                    }
                }
                /* row_sum = row_sum * old_max; row_sum_compensation = row_sum_compensation * old_max */
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const vec_any old_max_36 = load_any(old_max + i);
                    store_any(row_sum + i, load_any(row_sum + i) * old_max_36);
                    store_any(row_sum_compensation + i, load_any(row_sum_compensation + i) * old_max_36);
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
                /* sum[e][i] = sum * old_max + sum over j of v * score */
                if (__builtin_expect(((j0 < (((chunk + 1) - 1) * 64)) || ((i0 + n_k - n_q + 1) < j1)) && !finite_any(v +
                    j0 * v_row, v_row, j1 - j0, 64), 0)) { /* infinity and NaN reach only what sees them */
                    dot9_any(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max,
                        sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        mask_any seen[16];
                        if (finite_any(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                        const int64_t t_37 = n_k - n_q;
                        const int t_38 = (chunk * 64) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += 4) {
                            seen[i / 4] = __builtin_convertvector(((j0 + j) <= ((i0 + i + lane_any) + t_37)) &
                                (-(int64_t)t_38), mask_any);
                        }
                        add_seen_any(64, sum, 64, v + j0 * v_row + j * v_row, 1, score + j * 64, seen, i1 - i0);
                    }
                } else
                    dot10_any(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max,
                        sum_compensation);
            }
            /* sum = select(((row_sum * exp2(row_max - max(row_max, query_5))) + (query_7 * exp2(query_5 - max(row_max,
               query_5)))) == 0.0f, 0. ... */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any row_max_39 = load_any(row_max + i);
                const vec_any query_5_40 = load_any(query_5 + i);
                const vec_any t_41 = max_nan_any(row_max_39, query_5_40);
                const vec_any t_42 = exp2_any(row_max_39 - t_41);
                const vec_any t_43 = exp2_any(query_5_40 - t_41);
                const vec_any t_44 = (load_any(row_sum + i) * t_42) + (load_any(query_7 + i) * t_43);
                const mask_any t_45 = t_44 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    store_any(sum + e * 64 + i, pick_any(t_45, splat_any(0.0f),
                        ((load_any(sum + e * 64 + i) * t_42) + (load_any(query_8 + e * 64 + i) * t_43)) / t_44));
                }
            }
            /* out = sum, transposed back */
            transpose_any(sum, 64, 64, i1 - i0, out + m * out_head + i0 * out_row, out_row);
        }
    }
}

/* All of a head: every thread whose part this is calls it. */
static void performer_trig_linear_any(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 64 + 1 : 1;
    for (int64_t turn = part->number; turn < ((512 + 31) / 32); turn += part->threads) performer_trig_begin_any(call,
        task, part, turn);
    meet(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) performer_trig_keys_any(call, task, part, turn);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            for (int64_t turn = group * ((512 + 31) / 32) / 16; turn < (group + 1) * ((512 + 31) / 32) / 16; turn++)
                performer_trig_fold_any(call, task, part, turn);
            pass_segment(part, group, segment);
        }
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) performer_trig_queries_any(call, task, part,
            turn);
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    meet(part);
}

/* States begin with no key. */
APART void performer_trig_few_begin_any(const struct call *call, int64_t task, const struct part *part, int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = turn * 64, r1 = min(r0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + g * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    const float *const features_w = call->params->features_w;
    float *const query = (float *)(void *)(part->shared + 0); /* [d: 64, r: 64] */
    float *const query_2 = (float *)(void *)(part->shared + 16384); /* [r: 64] */
    float *const query_3 = (float *)(void *)(part->shared + 16640); /* [c: 256, r: 64] */
    float *const query_sin = (float *)(void *)(part->shared + 82176); /* [c: 256, r: 64] */
    float *const query_cos = (float *)(void *)(part->shared + 147712); /* [c: 256, r: 64] */
    float *const q_tile = (float *)(void *)(part->work + 0); /* [d: 64, r: 64] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r = 0; r < round_up(r1 - r0, 4); r++)
        for (int64_t d = 0; d < 64; d++)
            q_tile[d * 64 + r] = r < r1 - r0 ? q[r / n_q * q_head + r % n_q * q_row + d] : 0;
    /* query_2 = 0.0f */
    for (int64_t r = r0; r < r1; r += 4) {
        store_any(query_2 + r, splat_any(0.0f));
    }
    /* query = q_tile * 0.35355339f; query_2 += query * query */
    for (int64_t r = r0; r < r1; r += 4) {
        vec_any query_2_in = (vec_any){0};
        for (int64_t d = 0; d < 64; d++) {
            const vec_any query_new0 = load_any(q_tile + d * 64 + r) * 0.35355339f;
            store_any(query + d * 64 + r, query_new0);
            query_2_in += query_new0 * query_new0;
        }
        store_any(query_2 + r, load_any(query_2 + r) + query_2_in);
    }
    /* query_3[c][r] = sum over d of features_w * query */
    dot5_any(round_up(r1 - r0, 8), features_w, query + r0, query_3 + r0);
    /* query_sin = sin(query_3); query_cos = cos(query_3) */
    for (int64_t r = r0; r < r1; r += 4) {
        for (int64_t c = 0; c < 256; c++) {
            const vec_any query_3_1 = load_any(query_3 + c * 64 + r);
            const wide_any angle2 = __builtin_convertvector(query_3_1, wide_any);
            store_any(query_sin + c * 64 + r, sin_any(&angle2));
            const wide_any angle3 = __builtin_convertvector(query_3_1, wide_any);
            store_any(query_cos + c * 64 + r, cos_any(&angle3));
        }
    }
}

/* States begin with no key. */
APART void performer_trig_few_begin_2_any(const struct call *call, int64_t task, const struct part *part, int64_t turn)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = turn * 16, r1 = min(r0 + 16, rows);
    float *const carried = (float *)(void *)(part->shared + 213248); /* [r: 64] */
    float *const carried_2 = (float *)(void *)(part->shared + 213504); /* [r: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 230144); /* [r: 64] */
    float *const carried_3 = (float *)(void *)(part->shared + 213760); /* [r: 64, e: 64] */
    float *const carried_3_compensation = (float *)(void *)(part->shared + 230400); /* [r: 64, e: 64] */
    /* carried = -FLT_MAX; carried_2 = 0.0f; carried_2_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += 4) {
        store_any(carried + r, splat_any(-FLT_MAX));
        store_any(carried_2 + r, splat_any(0.0f));
        store_any(carried_2_compensation + r, splat_any(0.0f));
    }
    /* carried_3 = 0.0f; carried_3_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
            UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 4) {
                store_any(carried_3 + r * 64 + e, splat_any(0.0f));
                store_any(carried_3_compensation + r * 64 + e, splat_any(0.0f));
            }
        }
    }
}

/* The keys of a chunk, summed from zero into its slot. */
APART void performer_trig_few_keys_any(const struct call *call, int64_t task, const struct part *part, int64_t turn)
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
    const float *const features_w = call->params->features_w;
    float *const query_2 = (float *)(void *)(part->shared + 16384); /* [r: 64] */
    float *const query_sin = (float *)(void *)(part->shared + 82176); /* [c: 256, r: 64] */
    float *const query_cos = (float *)(void *)(part->shared + 147712); /* [c: 256, r: 64] */
    float *const key_2 = (float *)(void *)(part->work + 0); /* [j: 128] */
    float *const key_3 = (float *)(void *)(part->work + 512); /* [c: 256, j: 128 of 144] */
    float *const key_sin = (float *)(void *)(part->work + 147968); /* [c: 256, j: 128 of 144] */
    float *const score = (float *)(void *)(part->work + 295424); /* [r: 64, j: 128 of 144] */
    float *const score_2 = (float *)(void *)(part->work + 147968); /* [r: 64, j: 128 of 144] */
    float *const weight = (float *)(void *)(part->work + 512); /* [r: 64, j: 128 of 144] */
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(part->work + 0); /* [r: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state_3 = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 147968); /* [d: 64, j: 128 of 144] */
    /* state = -FLT_MAX; state_2 = 0.0f */
    for (int64_t r = 0; r < rows; r += 4) {
        store_any(state + (chunk - chunk0) * 4224 + r, splat_any(-FLT_MAX));
        store_any(state_2 + (chunk - chunk0) * 4224 + r, splat_any(0.0f));
    }
    /* state_3 = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
            UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 4) {
                store_any(state_3 + (chunk - chunk0) * 4224 + r * 64 + e, splat_any(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + n_k - n_q); j0 < j_end; j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_any(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 144);
        for (int64_t j = j1 - j0; j < round_up(j1 - j0, 4); j++)
            for (int64_t d = 0; d < 64; d++) k_tile[d * 144 + j] = 0;
        /* key_2 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_2 + j, splat_any(0.0f));
        }
        /* k_tile = k_tile * 0.35355339f; key_2 += k_tile * k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            vec_any key_2_in[2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                key_2_in[u] = (vec_any){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    const vec_any k_tile_4 = load_any(k_tile + d * 144 + j);
                    const vec_any k_tile_new5 = k_tile_4 * 0.35355339f;
                    store_any(k_tile + d * 144 + j, k_tile_new5);
                    key_2_in[u] += k_tile_new5 * k_tile_new5;
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                store_any(key_2 + j, load_any(key_2 + j) + key_2_in[u]);
            }
        }
        /* key_3[c][j] = sum over d of features_w * k_tile */
        dot11_any(round_up(j1 - j0, 8), features_w, k_tile, key_3);
        /* key_sin = sin(key_3); key_3 = cos(key_3) */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            for (int64_t c = 0; c < 256; c++) {
                const vec_any key_3_6 = load_any(key_3 + c * 144 + j);
                const wide_any angle7 = __builtin_convertvector(key_3_6, wide_any);
                store_any(key_sin + c * 144 + j, sin_any(&angle7));
                const wide_any angle8 = __builtin_convertvector(key_3_6, wide_any);
                store_any(key_3 + c * 144 + j, cos_any(&angle8));
            }
        }
        /* score[r][j] = sum over c of query_sin * key_sin */
        dot12_any(round_up(j1 - j0, 8), rows, query_sin, key_sin, score);
        /* score_2[r][j] = sum over c of query_cos * key_3 */
        dot12_any(round_up(j1 - j0, 8), rows, query_cos, key_3, score_2);
        /* weight = (query_2 * 0.7213475f) + (key_2 * 0.7213475f) */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_9 = load_any(key_2 + j) * 0.7213475f;
            for (int64_t r = 0; r < rows; r++) {
                store_any(weight + r * 144 + j, (query_2[r] * 0.7213475f) + t_9);
            }
        }
        /* old_max = state */
        for (int64_t r = 0; r < rows; r += 4) {
            store_any(old_max + r, load_any(state + (chunk - chunk0) * 4224 + r));
        }
        if ((n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
            /* weight = select(j <= ((r % n_q) + (n_k - n_q)), weight, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const ints_any t_10 = j0 + j + lane_any;
                for (int64_t r = 0; r < rows; r++) {
                    store_any(weight + r * 144 + j, pick_any(__builtin_convertvector(t_10 <= ((r % n_q) + n_k - n_q),
                        mask_any), load_any(weight + r * 144 + j), splat_any(-INFINITY)));
                }
            }
        }
        /* state max= weight */
        for (int64_t r = 0; r < rows; r++) {
            vec_any lanes_max = splat_any(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const vec_any term = load_any(weight + r * 144 + j);
                lanes_max = max_any(lanes_max, j + 4 <= j1 - j0 ? term : pick_any(__builtin_convertvector(j + lane_any <
                    j1 - j0, mask_any), term, splat_any(-INFINITY)));
            }
            const float largest = lane_max_any(lanes_max);
            if (largest > state[(chunk - chunk0) * 4224 + r]) state[(chunk - chunk0) * 4224 + r] = largest;
        }
        /* old_max = exp2(old_max - state) */
        for (int64_t r = 0; r < rows; r += 4) {
            store_any(old_max + r, exp2_any(load_any(old_max + r) - load_any(state + (chunk - chunk0) * 4224 + r)));
        }
        /* score = exp2(weight - state) * ((score + score_2) * 0.00390625f) */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            for (int64_t r = 0; r < rows; r++) {
                store_any(score + r * 144 + j, exp2_any(load_any(weight + r * 144 + j) - (state[(chunk - chunk0) * 4224
                    + r])) * ((load_any(score + r * 144 + j) + load_any(score_2 + r * 144 + j)) * 0.00390625f));
            }
        }
        if ((n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
            /* score = select(j <= ((r % n_q) + (n_k - n_q)), score, 0.0f) */
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const ints_any t_11 = j0 + j + lane_any;
                for (int64_t r = 0; r < rows; r++) {
                    store_any(score + r * 144 + j, pick_any(__builtin_convertvector(t_11 <= ((r % n_q) + n_k - n_q),
                        mask_any), load_any(score + r * 144 + j), splat_any(0.0f)));
                }
            }
        }
        /* state_2 = state_2 * old_max */
        for (int64_t r = 0; r < rows; r += 4) {
            store_any(state_2 + (chunk - chunk0) * 4224 + r, load_any(state_2 + (chunk - chunk0) * 4224 + r) *
                load_any(old_max + r));
        }
        /* state_2 += score */
        for (int64_t r = 0; r < rows; r++) {
            vec_any lane_sums = splat_any(0);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const vec_any term = load_any(score + r * 144 + j);
                lane_sums += j + 4 <= j1 - j0 ? term : pick_any(__builtin_convertvector(j + lane_any < j1 - j0,
                    mask_any), term, splat_any(0));
            }
            const float total = lane_sum_any(lane_sums);
            state_2[(chunk - chunk0) * 4224 + r] += total;
        }
        /* state_3 = state_3 * old_max */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 4) {
                    store_any(state_3 + (chunk - chunk0) * 4224 + r * 64 + e,
                        load_any(state_3 + (chunk - chunk0) * 4224 + r * 64 + e) * old_max[r]);
                }
            }
        }
        /* state_3[r][e] += sum over j of score * v */
        if (__builtin_expect(((n_k - n_q + 1) < j1) && !finite_any(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN reach only what sees them */
            dot13_any(rows, j1 - j0, score, v + j0 * v_row, v_row, state_3 + (chunk - chunk0) * 4224);
            for (int64_t r = 0; r < rows; r++) {
                mask_any seen[32];
                const int64_t t_12 = (r % n_q) + n_k - n_q;
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    seen[j / 4] = __builtin_convertvector((j0 + j + lane_any) <= t_12, mask_any);
                }
                add_seen_lanes_any(64, state_3 + (chunk - chunk0) * 4224 + r * 64, score + r * 144, v + j0 * v_row,
                    v_row, j1 - j0, seen);
            }
        } else
            dot14_any(rows, j1 - j0, score, v + j0 * v_row, v_row, state_3 + (chunk - chunk0) * 4224);
    }
}

/* Some elements of the states take in the chunks at hand, one after the other. */
APART void performer_trig_few_fold_any(const struct call *call, int64_t task, const struct part *part, int64_t turn)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = turn * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state_3 = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const carried = (float *)(void *)(part->shared + 213248); /* [r: 64] */
    float *const keep = (float *)(void *)(part->work + 0); /* [r: 64] */
    float *const take = (float *)(void *)(part->work + 256); /* [r: 64] */
    float *const carried_2 = (float *)(void *)(part->shared + 213504); /* [r: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 230144); /* [r: 64] */
    float *const carried_3 = (float *)(void *)(part->shared + 213760); /* [r: 64, e: 64] */
    float *const carried_3_compensation = (float *)(void *)(part->shared + 230400); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before = carried; carried max= state; keep = exp2(before - carried); take = exp2(state - carried);
           before_2 = carried_2; carried ... */
        for (int64_t r = r0; r < r1; r += 4) {
            const vec_any carried_13 = load_any(carried + r);
            const vec_any before_new14 = carried_13;
            const vec_any state_15 = load_any(state + (chunk - chunk0) * 4224 + r);
            const vec_any carried_new16 = max_any(load_any(carried + r), state_15);
            store_any(carried + r, carried_new16);
            const vec_any keep_new17 = exp2_any(before_new14 - carried_new16);
            store_any(keep + r, keep_new17);
            const vec_any take_new18 = exp2_any(state_15 - carried_new16);
            store_any(take + r, take_new18);
            const vec_any carried_2_19 = load_any(carried_2 + r);
            store_any(carried_2 + r, carried_2_19 * keep_new17);
            store_any(carried_2_compensation + r, load_any(carried_2_compensation + r) * keep_new17);
            add_any(carried_2 + r, carried_2_compensation + r, load_any(state_2 + (chunk - chunk0) * 4224 + r) *
                take_new18, splat_any(1));
        }
        /* before_3 = carried_3; carried_3 = carried_3 * keep; carried_3_compensation = carried_3_compensation * keep;
           carried_3 += state_3 ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 4) {
                    const vec_any carried_3_20 = load_any(carried_3 + r * 64 + e);
                    const float keep_21 = keep[r];
                    store_any(carried_3 + r * 64 + e, carried_3_20 * keep_21);
                    store_any(carried_3_compensation + r * 64 + e, load_any(carried_3_compensation + r * 64 + e) *
                        keep_21);
                    add_any(carried_3 + r * 64 + e, carried_3_compensation + r * 64 + e,
                        load_any(state_3 + (chunk - chunk0) * 4224 + r * 64 + e) * take[r], splat_any(1));
                }
            }
        }
    }
}

/* A tile of queries meets the states. */
APART void performer_trig_few_queries_any(const struct call *call, int64_t task, const struct part *part, int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = turn * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_2 = (float *)(void *)(part->shared + 213504); /* [r: 64] */
    float *const carried_3 = (float *)(void *)(part->shared + 213760); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(part->work + 0); /* [r: 64, e: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    /* result = select(carried_2 == 0.0f, 0.0f, carried_3 / carried_2) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
            UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 4) {
                const float carried_2_22 = carried_2[r];
                store_any(result + r * 64 + e, (carried_2_22 == 0.0f) ? splat_any(0.0f) : load_any(carried_3 + r * 64 +
                    e) / carried_2_22);
            }
        }
    }
    /* out = result */
    for (int64_t e = 0; e < 64; e++)
        for (int64_t r = r0; r < r1; r++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* All of a head: every thread whose part this is calls it. */
static void performer_trig_few_any(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t turn = part->number; turn < ((rows + 63) / 64);
        turn += part->threads) performer_trig_few_begin_any(call, task, part, turn);
    for (int64_t turn = part->number; turn < ((rows + 15) / 16);
        turn += part->threads) performer_trig_few_begin_2_any(call, task, part, turn);
    meet(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) performer_trig_few_keys_any(call, task, part,
            turn);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            for (int64_t turn = group * ((rows + 15) / 16) / 16; turn < (group + 1) * ((rows + 15) / 16) / 16; turn++)
                performer_trig_few_fold_any(call, task, part, turn);
            pass_segment(part, group, segment);
        }
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    meet(part);
    for (int64_t turn = part->number; turn < ((rows + 15) / 16);
        turn += part->threads) performer_trig_few_queries_any(call, task, part, turn);
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
        if (n_k >= 390 && rows <= 64) return (struct version){.head = performer_trig_few_v4, .tile = 0, .own = 332288,
            .shared = 246784, .slot = 16896, .slots = 4, .together = 1};
        if (n_k >= 390) return (struct version){.head = performer_trig_linear_v4, .tile = 0, .own = 345856,
            .shared = 268288, .slot = 135296, .slots = 3, .together = 1};
        if (rows <= 64) return (struct version){.head = performer_trig_few_v4, .tile = 0, .own = 332288,
            .shared = 246784, .slot = 16896, .slots = 4, .together = 1};
        return (struct version){.rows = performer_trig_rows_v4, .tile = 256, .own = 901120};
    }
#endif
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        if (n_k >= 390 && rows <= 64) return (struct version){.head = performer_trig_few_v3, .tile = 0, .own = 332288,
            .shared = 246784, .slot = 16896, .slots = 4, .together = 1};
        if (n_k >= 390) return (struct version){.head = performer_trig_linear_v3, .tile = 0, .own = 345856,
            .shared = 268288, .slot = 135296, .slots = 3, .together = 1};
        if (rows <= 64) return (struct version){.head = performer_trig_few_v3, .tile = 0, .own = 332288,
            .shared = 246784, .slot = 16896, .slots = 4, .together = 1};
        return (struct version){.rows = performer_trig_rows_v3, .tile = 256, .own = 878592};
    }
#endif
    if (n_k >= 390 && rows <= 64) return (struct version){.head = performer_trig_few_any, .tile = 0, .own = 332288,
        .shared = 246784, .slot = 16896, .slots = 4, .together = 1};
    if (n_k >= 390) return (struct version){.head = performer_trig_linear_any, .tile = 0, .own = 345856,
        .shared = 268288, .slot = 135296, .slots = 3, .together = 1};
    if (rows <= 64) return (struct version){.head = performer_trig_few_any, .tile = 0, .own = 332288, .shared = 246784,
        .slot = 16896, .slots = 4, .together = 1};
    return (struct version){.rows = performer_trig_rows_any, .tile = 128, .own = 548864};
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

size_t performer_trig_params_size(void)
{
    return 65536 + attn_orthogonal_work(256, 64);
}

int performer_trig_params_init(struct performer_trig_params *params, uint64_t seed, void *storage)
{
    if (!params || !storage) return ATTN_EPOINTER;
    if ((uintptr_t)storage % 64) return ATTN_EALIGN;
    unsigned char *const bytes = (unsigned char *)storage;
    *params = (struct performer_trig_params){0};
    float *const features_w = (float *)(void *)(bytes + 0);
    attn_orthogonal_f32(seed, attn_stream("features.w"), 256, 64, features_w, bytes + 65536);
    params->features_w = features_w;
    return 0;
}

/* The most of all that runs for n_k keys or fewer, however many queries there are. */
static size_t max_bytes_a_thread(int64_t n_k)
{
    static const int64_t from[] = {0, 390};
    size_t bytes = 0;
    for (size_t k = 0; k < sizeof from / sizeof *from; k++) {
        const struct version few = version(from[k], 0), v = version(from[k], MANY_ROWS);
        if ((k == 0 || from[k] <= n_k) && bytes_a_thread(&few) > bytes) bytes = bytes_a_thread(&few);
        if ((k == 0 || from[k] <= n_k) && bytes_a_thread(&v) > bytes) bytes = bytes_a_thread(&v);
    }
    return bytes;
}

size_t performer_trig_workspace(const struct attn_problem *problem)
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

int performer_trig_forward(const struct attn_problem *problem, const struct performer_trig_params *params,
    const float *q, const float *k, const float *v,
    float *out, void *workspace)
{
    if (!problem) return ATTN_EPOINTER;
    struct call call = {.params = params, .q = q, .k = k, .v = v, .out = out};
    const int error = attn_problem_check(problem, 64, 64, &call.p);
    if (error) return error;
    if (call.p.batch == 0 || call.p.heads == 0 || call.p.n_q == 0) return 0;
    if (!q || !out || !workspace || (call.p.n_k > 0 && (!k || !v))) return ATTN_EPOINTER;
    if (!params || !params->features_w) return ATTN_EPARAM;
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
    {"features.w", ATTN_F32, 2, {256, 64}, offsetof(struct performer_trig_params, features_w), 1},
};

static int params_init_any(void *params, uint64_t seed, void *storage)
{
    return performer_trig_params_init((struct performer_trig_params *)params, seed, storage);
}

static int forward_any(const struct attn_problem *problem, const void *params, const void *q, const void *k,
    const void *v, void *out, void *workspace)
{
    return performer_trig_forward(problem, (const struct performer_trig_params *)params, (const float *)q,
        (const float *)k, (const float *)v, (float *)out, workspace);
}


const struct attn_kernel performer_trig_kernel = {
    .name = "performer_trig", .version = "0.1.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 1, .param = param, .params_bytes = sizeof(struct performer_trig_params),
    .params_size = performer_trig_params_size, .params_init = params_init_any, .workspace = performer_trig_workspace,
    .forward = forward_any,
};
