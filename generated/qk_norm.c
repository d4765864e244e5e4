/* qk_norm.c, made by attnc 0.1.0: attnc qk_norm.yaml
   C11 with GNU extensions, for a C compiler; C++ includes qk_norm.h.
   causal softmax attention with learned layer norms of queries and keys before the rotation
   Dehghani et al., Scaling Vision Transformers to 22 Billion Parameters (2023), section 2, QK normalization;
   Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding (2021), section 3.2

   What it computes, over axes b (batch), g (key/value head), m (query head of g), i (query), j (key):
     graph qk_norm f32
     axis b batch
     axis g kv_heads
     axis m members
     axis i n_q
     axis j n_k
     axis d 64
     axis e 64
     axis t 32
     %0 = input q [b g m i d]
     %1 = input k [b g j d]
     %2 = input v [b g j e]
     %3 = reduce sum 0 [b g j] %1
     %4 = map [b g j d] sub(%1, mul(%3, 0.015625))
     %5 = map [b g j d] mul(%4, %4)
     %6 = reduce sum 0 [b g j] %5
     %7 = map [b g j] div(1.0, sqrt(add(mul(%6, 0.015625), 1e-05)))
     %8 = param k_norm.weight [d]
     %9 = param k_norm.bias [d]
     %10 = map [b g j d] add(mul(mul(%4, %7), %8), %9)
     %11 = table rope_theta [t] {1, 0.7498942093324559, 0.5623413251903491, 0.4216965034285822, 0.31622776601683794,
     0.23713737056616552, 0.1778279410038923, 0.1333521432163324, 0.1, 0.07498942093324558, 0.05623413251903491,
     0.042169650342858224,
         0.03162277660168379, 0.023713737056616554, 0.01778279410038923, 0.01333521432163324, 0.01,
         0.007498942093324558, 0.005623413251903491, 0.004216965034285823, 0.0031622776601683794, 0.0023713737056616554,
         0.0017782794100389228, 0.001333521432163324,
         0.001, 0.0007498942093324559, 0.0005623413251903491, 0.00042169650342858224, 0.00031622776601683794,
         0.00023713737056616554, 0.00017782794100389227, 0.0001333521432163324}
     %12 = map [j t] cos(mul(j, %11))
     %13 = map [j t] sin(mul(j, %11))
     %14 = map [b g j d] add(mul(%10, %12[j, div(d, 2)]), mul(mul(%10[b, g, j, select(eq(mod(d, 2), 0), add(d, 1),
     add(d, -1))], %13[j, div(d, 2)]), select(eq(mod(d, 2), 0), -1.0, 1.0)))
     %15 = reduce sum 0 [b g m i] %0
     %16 = map [b g m i d] sub(%0, mul(%15, 0.015625))
     %17 = map [b g m i d] mul(%16, %16)
     %18 = reduce sum 0 [b g m i] %17
     %19 = map [b g m i] div(1.0, sqrt(add(mul(%18, 0.015625), 1e-05)))
     %20 = param q_norm.weight [d]
     %21 = param q_norm.bias [d]
     %22 = map [b g m i d] add(mul(mul(%16, %19), %20), %21)
     %23 = map [i t] cos(mul(add(i, sub(size(j), size(i))), %11))
     %24 = map [i t] sin(mul(add(i, sub(size(j), size(i))), %11))
     %25 = map [b g m i d] add(mul(%22, %23[i, div(d, 2)]), mul(mul(%22[b, g, m, i, select(eq(mod(d, 2), 0), add(d, 1),
     add(d, -1))], %24[i, div(d, 2)]), select(eq(mod(d, 2), 0), -1.0, 1.0)))
     %26 = contract [b g m i j] %25 %14
     %27 = map [b g m i j] exp(mul(%26, 0.125))
     %28 = reduce sum 0 [b g m i] %27 where le(j, add(i, sub(size(j), size(i))))
     %29 = contract [b g m i e] %27 %2 where le(j, add(i, sub(size(j), size(i))))
     %30 = map [b g m i e] select(eq(%28, 0.0), 0.0, div(%29, %28))
     output %30

   How: a tile of queries, one to a lane, meets the keys tile by tile, so that sums over keys and the running
   maximum need no step across lanes. Sums over a tile of keys start from zero and are added to what came before.
   Keys that no query of the tile sees are skipped.
   Where queries are few, those of all heads that share keys are the rows of one tile, and keys are in the lanes:
   each key is read once, in chunks that threads share out, whose sums are added up in their order.
     x86-64-v4  quadratic tiles of 32 queries and 96 keys, in blocks of 256 queries; 273408 bytes of workspace a thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 277760 bytes of workspace a thread
     x86-64-v3  quadratic tiles of 16 queries and 96 keys, in blocks of 256 queries; 273408 bytes of workspace a thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 277760 bytes of workspace a thread
     generic    quadratic tiles of 16 queries and 96 keys, in blocks of 128 queries; 173568 bytes of workspace a thread
     generic    few       tiles of 64 queries and 128 keys; 277760 bytes of workspace a thread
   Compile with: cc -O2 -fopenmp qk_norm.c … -lattnrt -lm */
#ifdef __cplusplus
#error "qk_norm.c is C, not C++: a C compiler has to compile it"
#endif
#include "qk_norm.h"

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
    const struct qk_norm_params *params;
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

static const double rope_theta[32] = {
    1, 0.74989420933245587, 0.56234132519034907, 0.42169650342858223, 0.31622776601683794, 0.23713737056616552,
    0.17782794100389229, 0.1333521432163324, 0.10000000000000001, 0.074989420933245579, 0.056234132519034911,
        0.042169650342858224,
    0.031622776601683791, 0.023713737056616554, 0.017782794100389229, 0.013335214321633241, 0.01, 0.0074989420933245579,
    0.005623413251903491, 0.0042169650342858229, 0.0031622776601683794, 0.0023713737056616554, 0.0017782794100389228,
        0.0013335214321633241,
    0.001, 0.00074989420933245586, 0.0005623413251903491, 0.00042169650342858224, 0.00031622776601683794,
        0.00023713737056616554,
    0.00017782794100389227, 0.0001333521432163324};

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
TARGET_v4 APART void dot0_v4(int64_t rows, const float *a, const float *b, float *c)
{
    dot_v4(2, 32, rows, -1, 64, 32, a, 1, 96, b, 32, c, 32, 0, NULL, NULL);
}
TARGET_v4 APART void dot1_v4(int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_finite_v4(2, 32, 64, 4, steps, 192, a, 1, a_step, b, 32, c, 32, 3, factor, compensation);
}
TARGET_v4 APART void dot2_v4(int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_v4(2, 32, 64, 4, steps, 192, a, 1, a_step, b, 32, c, 32, 3, factor, compensation);
}
TARGET_v4 APART void dot3_v4(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_v4(4, lanes, rows, -1, 64, 32, a, 1, 64, b, 144, c, 144, 0, NULL, NULL);
}
TARGET_v4 APART void dot4_v4(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_finite_lanes_v4(1, 4, 64, rows, -1, steps, 192, a, 144, 1, b, b_step, c, 64, 1, NULL, NULL);
}
TARGET_v4 APART void dot5_v4(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_fetched_v4(4, 64, rows, -1, steps, 192, a, 144, 1, b, b_step, c, 64, 1, NULL, NULL);
}

/* Task number `task`: one tile of queries of one head; `work` is the thread's part of the workspace. */
TARGET_v4 static void qk_norm_rows_v4(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const k_norm_weight = call->params->k_norm_weight;
    const float *const k_norm_bias = call->params->k_norm_bias;
    const float *const q_norm_weight = call->params->q_norm_weight;
    const float *const q_norm_bias = call->params->q_norm_bias;
    float *const key = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_3 = (float *)(void *)(work + 384); /* [j: 96] */
    float *const key_cos = (float *)(void *)(work + 0); /* [t: 32, j: 96] */
    float *const key_sin = (float *)(void *)(work + 12288); /* [t: 32, j: 96] */
    float *const key_5 = (float *)(void *)(work + 24576); /* [d: 64, j: 96] */
    float *const query = (float *)(void *)(work + 0); /* [i: 32] */
    float *const query_3 = (float *)(void *)(work + 128); /* [i: 32] */
    float *const query_cos = (float *)(void *)(work + 0); /* [t: 32, i: 32] */
    float *const query_sin = (float *)(void *)(work + 4096); /* [t: 32, i: 32] */
    float *const all_query_5 = (float *)(void *)(work + 49152); /* [d: 64, i: 32, 8 times] */
    float *const score = (float *)(void *)(work + 0); /* [j: 96, i: 32] */
    float *const all_row_max = (float *)(void *)(work + 114688); /* [i: 32, 8 times] */
    float *const old_max = (float *)(void *)(work + 12288); /* [i: 32] */
    float *const all_row_sum = (float *)(void *)(work + 115712); /* [i: 32, 8 times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + 116736); /* [i: 32, 8 times] */
    float *const all_sum = (float *)(void *)(work + 117760); /* [e: 64, i: 32, 8 times] */
    float *const all_sum_compensation = (float *)(void *)(work + 183296); /* [e: 64, i: 32, 8 times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: 32] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const q_tile = (float *)(void *)(work + 8192); /* [d: 64, i: 32] */
    float *const k_tile = (float *)(void *)(work + 248832); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 32) {
        const int64_t i0 = i_next, i1 = min(i0 + 32, i_end);
        float *const query_5 = all_query_5 + (i0 - i_block) / 32 * 2048;
        float *const row_max = all_row_max + (i0 - i_block) / 32 * 32;
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
        /* q_tile = ((q_tile * (1.0f / sqrt((query_3 * 0.015625f) + 1e-05f))) * q_norm.weight) + q_norm.bias */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4 t_3 = 1.0f / sqrt_v4((load_v4(query_3 + i) * 0.015625f) + 1e-05f);
            for (int64_t d = 0; d < 64; d++) {
                store_v4(q_tile + d * 32 + i, ((load_v4(q_tile + d * 32 + i) * t_3) * q_norm_weight[d]) +
                    q_norm_bias[d]);
            }
        }
        /* query_cos = cos((i + (n_k - n_q)) * rope_theta); query_sin = sin((i + (n_k - n_q)) * rope_theta) */
        const int64_t t_4 = n_k - n_q;
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const ints_v4 t_5 = (i0 + i + lane_v4) + t_4;
            for (int64_t t = 0; t < 32; t++) {
                const wide_v4 angle6 = __builtin_convertvector(t_5, wide_v4) * rope_theta[t];
                store_v4(query_cos + t * 32 + i, cos_v4(&angle6));
                const wide_v4 angle7 = __builtin_convertvector(t_5, wide_v4) * rope_theta[t];
                store_v4(query_sin + t * 32 + i, sin_v4(&angle7));
            }
        }
        /* query_5 = ((q_tile * query_cos) + ((q_tile * query_sin) * select((d % 2) == 0, -1.0f,
           1.0f))) * 0.18033688f */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                    store_v4(query_5 + d * 32 + i, ((load_v4(q_tile + d * 32 + i) * load_v4(query_cos + (d / 2) * 32 +
                        i)) + ((load_v4(q_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * 32 + i) * load_v4(query_sin + (d
                        / 2) * 32 + i)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0))) * 0.18033688f);
                }
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
            const vec_v4 t_9 = load_v4(key + j) * 0.015625f;
            vec_v4 key_3_in = (vec_v4){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v4 k_tile_8 = load_v4(k_tile + d * 96 + j);
                const vec_v4 k_tile_new10 = k_tile_8 - t_9;
                store_v4(k_tile + d * 96 + j, k_tile_new10);
                key_3_in += k_tile_new10 * k_tile_new10;
            }
            store_v4(key_3 + j, load_v4(key_3 + j) + key_3_in);
        }
        /* k_tile = ((k_tile * (1.0f / sqrt((key_3 * 0.015625f) + 1e-05f))) * k_norm.weight) + k_norm.bias */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_11 = 1.0f / sqrt_v4((load_v4(key_3 + j) * 0.015625f) + 1e-05f);
            for (int64_t d = 0; d < 64; d++) {
                store_v4(k_tile + d * 96 + j, ((load_v4(k_tile + d * 96 + j) * t_11) * k_norm_weight[d]) +
                    k_norm_bias[d]);
            }
        }
        /* key_cos = cos(j * rope_theta); key_sin = sin(j * rope_theta) */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const ints_v4 t_12 = j0 + j + lane_v4;
            for (int64_t t = 0; t < 32; t++) {
                const wide_v4 angle13 = __builtin_convertvector(t_12, wide_v4) * rope_theta[t];
                store_v4(key_cos + t * 96 + j, cos_v4(&angle13));
                const wide_v4 angle14 = __builtin_convertvector(t_12, wide_v4) * rope_theta[t];
                store_v4(key_sin + t * 96 + j, sin_v4(&angle14));
            }
        }
        /* key_5 = (k_tile * key_cos) + ((k_tile * key_sin) * select((d % 2) == 0, -1.0f, 1.0f)) */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 48) {
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 3; u++, j += 16) {
                    store_v4(key_5 + d * 96 + j, (load_v4(k_tile + d * 96 + j) * load_v4(key_cos + (d / 2) * 96 + j)) +
                        ((load_v4(k_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * 96 + j) * load_v4(key_sin + (d / 2) *
                        96 + j)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0)));
                }
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 32) {
            const int64_t i0 = i_next, i1 = min(i0 + 32, i_end);
            float *const query_5 = all_query_5 + (i0 - i_block) / 32 * 2048;
            float *const row_max = all_row_max + (i0 - i_block) / 32 * 32;
            float *const row_sum = all_row_sum + (i0 - i_block) / 32 * 32;
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 32 * 32;
            float *const sum = all_sum + (i0 - i_block) / 32 * 2048;
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 32 * 2048;
            if (!(j0 < (i1 + n_k - n_q))) continue; /* nothing in the tile can be seen */
            /* score[j][i] = sum over d of key_5 * query_5 */
            dot0_v4(j1 - j0, key_5, query_5, score);
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(old_max + i, load_v4(row_max + i));
            }
            if ((i0 + n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
                /* score = select(j <= (i + (n_k - n_q)), score, -INFINITY) */
                const int64_t t_15 = n_k - n_q;
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    const ints_v4 t_16 = (i0 + i + lane_v4) + t_15;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_v4(score + j * 32 + i, pick_v4(__builtin_convertvector((j0 + j) <= t_16, mask_v4),
                            load_v4(score + j * 32 + i), splat_v4(-INFINITY)));
                    }
                }
            }
            /* row_max max= score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
                vec_v4 row_max_in[2][2];
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) row_max_in[u][j_chain] = splat_v4(-INFINITY);
                }
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                        const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                        UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                            row_max_in[u][j_chain] = max_v4(row_max_in[u][j_chain], load_v4(score + j * 32 + i));
                        }
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                    store_v4(row_max + i, max_v4(load_v4(row_max + i), max_v4(row_max_in[u][0], row_max_in[u][1])));
                }
            }
            /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
               row_sum_compensation = row_sum_compensation * old_max */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 old_max_17 = load_v4(old_max + i);
                const vec_v4 old_max_new18 = exp2_v4(old_max_17 - load_v4(row_max + i));
                store_v4(old_max + i, old_max_new18);
                store_v4(row_sum + i, load_v4(row_sum + i) * old_max_new18);
                store_v4(row_sum_compensation + i, load_v4(row_sum_compensation + i) * old_max_new18);
            }
            /* score = exp2(score - row_max); row_sum += score */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 row_max_20 = load_v4(row_max + i);
                vec_v4 row_sum_in = (vec_v4){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_v4 score_19 = load_v4(score + j * 32 + i);
                    const vec_v4 score_new21 = exp2_v4(score_19 - row_max_20);
                    store_v4(score + j * 32 + i, score_new21);
                    row_sum_in += score_new21;
                }
                add_v4(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v4(1));
            }
            /* sum[e][i] = sum * old_max + sum over j of v * score */
            if (__builtin_expect(((i0 + n_k - n_q + 1) < j1) && !finite_v4(v + j0 * v_row, v_row, j1 - j0, 64),
                0)) { /* infinity and NaN reach only what sees them */
                dot1_v4(j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    mask_v4 seen[2];
                    if (finite_v4(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    const int64_t t_22 = n_k - n_q;
                    for (int64_t i = 0; i < i1 - i0; i += 16) {
                        seen[i / 16] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_v4) + t_22), mask_v4);
                    }
                    add_seen_v4(64, sum, 32, v + j0 * v_row + j * v_row, 1, score + j * 32, seen, i1 - i0);
                }
            } else
                dot2_v4(j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 32) {
            const int64_t i0 = i_next, i1 = min(i0 + 32, i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / 32 * 32;
            float *const sum = all_sum + (i0 - i_block) / 32 * 2048;
            /* result = select(row_sum == 0.0f, 0.0f, sum / row_sum) */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 row_sum_23 = load_v4(row_sum + i);
                const mask_v4 t_24 = row_sum_23 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    store_v4(result + e * 32 + i, pick_v4(t_24, splat_v4(0.0f),
                        load_v4(sum + e * 32 + i) / row_sum_23));
                }
            }
            /* out = result, transposed back */
            transpose_v4(result, 32, 64, i1 - i0, out + i0 * out_row, out_row);
        }
    }
}

/* States begin with no key. */
TARGET_v4 APART void qk_norm_few_begin_v4(const struct call *call, int64_t task, const struct part *part, int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = turn * 64, r1 = min(r0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + g * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    const float *const q_norm_weight = call->params->q_norm_weight;
    const float *const q_norm_bias = call->params->q_norm_bias;
    float *const query = (float *)(void *)(part->shared + 0); /* [r: 64] */
    float *const query_2 = (float *)(void *)(part->shared + 256); /* [d: 64, r: 64] */
    float *const query_3 = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const query_4 = (float *)(void *)(part->shared + 16896); /* [d: 64, r: 64] */
    float *const query_cos = (float *)(void *)(part->shared + 33280); /* [t: 32, r: 64] */
    float *const query_sin = (float *)(void *)(part->shared + 41472); /* [t: 32, r: 64] */
    float *const query_5 = (float *)(void *)(part->shared + 49664); /* [d: 64, r: 64] */
    float *const q_tile = (float *)(void *)(part->work + 0); /* [d: 64, r: 64] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r = 0; r < round_up(r1 - r0, 16); r++)
        for (int64_t d = 0; d < 64; d++)
            q_tile[d * 64 + r] = r < r1 - r0 ? q[r / n_q * q_head + r % n_q * q_row + d] : 0;
    /* query = 0.0f */
    for (int64_t r = r0; r < r1; r += 16) {
        store_v4(query + r, splat_v4(0.0f));
    }
    /* query += q_tile */
    for (int64_t r = r0; r < r1; r += 16) {
        vec_v4 query_in = (vec_v4){0};
        for (int64_t d = 0; d < 64; d++) {
            query_in += load_v4(q_tile + d * 64 + r);
        }
        store_v4(query + r, load_v4(query + r) + query_in);
    }
    /* query_3 = 0.0f */
    for (int64_t r = r0; r < r1; r += 16) {
        store_v4(query_3 + r, splat_v4(0.0f));
    }
    /* query_2 = q_tile - (query * 0.015625f); query_3 += query_2 * query_2 */
    for (int64_t r = r0; r < r1; r += 16) {
        const vec_v4 t_0 = load_v4(query + r) * 0.015625f;
        vec_v4 query_3_in = (vec_v4){0};
        for (int64_t d = 0; d < 64; d++) {
            const vec_v4 query_2_new1 = load_v4(q_tile + d * 64 + r) - t_0;
            store_v4(query_2 + d * 64 + r, query_2_new1);
            query_3_in += query_2_new1 * query_2_new1;
        }
        store_v4(query_3 + r, load_v4(query_3 + r) + query_3_in);
    }
    /* query_4 = ((query_2 * (1.0f / sqrt((query_3 * 0.015625f) + 1e-05f))) * q_norm.weight) + q_norm.bias */
    for (int64_t r = r0; r < r1; r += 16) {
        const vec_v4 t_2 = 1.0f / sqrt_v4((load_v4(query_3 + r) * 0.015625f) + 1e-05f);
        for (int64_t d = 0; d < 64; d++) {
            store_v4(query_4 + d * 64 + r, ((load_v4(query_2 + d * 64 + r) * t_2) * q_norm_weight[d]) + q_norm_bias[d]);
        }
    }
    /* query_cos = cos(((r % n_q) + (n_k - n_q)) * rope_theta);
       query_sin = sin(((r % n_q) + (n_k - n_q)) * rope_theta) */
    const int64_t t_3 = n_k - n_q;
    for (int64_t r = r0; r < r1; r += 16) {
        const ints_v4 t_4 = ((r + lane_v4) % n_q) + t_3;
        for (int64_t t = 0; t < 32; t++) {
            const wide_v4 angle5 = __builtin_convertvector(t_4, wide_v4) * rope_theta[t];
            store_v4(query_cos + t * 64 + r, cos_v4(&angle5));
            const wide_v4 angle6 = __builtin_convertvector(t_4, wide_v4) * rope_theta[t];
            store_v4(query_sin + t * 64 + r, sin_v4(&angle6));
        }
    }
    /* query_5 = ((query_4 * query_cos) + ((query_4 * query_sin) * select((d % 2) == 0, -1.0f, 1.0f))) * 0.18033688f */
    for (int64_t r = r0; r < r1; r += 16) {
        for (int64_t d = 0; d < 64; d++) {
            store_v4(query_5 + d * 64 + r, ((load_v4(query_4 + d * 64 + r) * load_v4(query_cos + (d / 2) * 64 + r)) +
                ((load_v4(query_4 + (((d % 2) == 0) ? (d + 1) : (d - 1)) * 64 + r) * load_v4(query_sin + (d / 2) * 64 +
                r)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0))) * 0.18033688f);
        }
    }
}

/* States begin with no key. */
TARGET_v4 APART void qk_norm_few_begin_2_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = turn * 16, r1 = min(r0 + 16, rows);
    float *const carried = (float *)(void *)(part->shared + 66048); /* [r: 64] */
    float *const carried_2 = (float *)(void *)(part->shared + 66304); /* [r: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 82944); /* [r: 64] */
    float *const carried_3 = (float *)(void *)(part->shared + 66560); /* [r: 64, e: 64] */
    float *const carried_3_compensation = (float *)(void *)(part->shared + 83200); /* [r: 64, e: 64] */
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
TARGET_v4 APART void qk_norm_few_keys_v4(const struct call *call, int64_t task, const struct part *part, int64_t turn)
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
    const float *const k_norm_weight = call->params->k_norm_weight;
    const float *const k_norm_bias = call->params->k_norm_bias;
    float *const key = (float *)(void *)(part->work + 0); /* [j: 128] */
    float *const key_3 = (float *)(void *)(part->work + 512); /* [j: 128] */
    float *const key_cos = (float *)(void *)(part->work + 0); /* [t: 32, j: 128 of 144] */
    float *const key_sin = (float *)(void *)(part->work + 18432); /* [t: 32, j: 128 of 144] */
    float *const key_5 = (float *)(void *)(part->work + 36864); /* [d: 64, j: 128 of 144] */
    float *const query_5 = (float *)(void *)(part->shared + 49664); /* [d: 64, r: 64] */
    float *const score = (float *)(void *)(part->work + 0); /* [r: 64, j: 128 of 144] */
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(part->work + 36864); /* [r: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state_3 = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 73728); /* [d: 64, j: 128 of 144] */
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
            const vec_v4 t_8 = load_v4(key + j) * 0.015625f;
            vec_v4 key_3_in = (vec_v4){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v4 k_tile_7 = load_v4(k_tile + d * 144 + j);
                const vec_v4 k_tile_new9 = k_tile_7 - t_8;
                store_v4(k_tile + d * 144 + j, k_tile_new9);
                key_3_in += k_tile_new9 * k_tile_new9;
            }
            store_v4(key_3 + j, load_v4(key_3 + j) + key_3_in);
        }
        /* k_tile = ((k_tile * (1.0f / sqrt((key_3 * 0.015625f) + 1e-05f))) * k_norm.weight) + k_norm.bias */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_10 = 1.0f / sqrt_v4((load_v4(key_3 + j) * 0.015625f) + 1e-05f);
            for (int64_t d = 0; d < 64; d++) {
                store_v4(k_tile + d * 144 + j, ((load_v4(k_tile + d * 144 + j) * t_10) * k_norm_weight[d]) +
                    k_norm_bias[d]);
            }
        }
        /* key_cos = cos(j * rope_theta); key_sin = sin(j * rope_theta) */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const ints_v4 t_11 = j0 + j + lane_v4;
            for (int64_t t = 0; t < 32; t++) {
                const wide_v4 angle12 = __builtin_convertvector(t_11, wide_v4) * rope_theta[t];
                store_v4(key_cos + t * 144 + j, cos_v4(&angle12));
                const wide_v4 angle13 = __builtin_convertvector(t_11, wide_v4) * rope_theta[t];
                store_v4(key_sin + t * 144 + j, sin_v4(&angle13));
            }
        }
        /* key_5 = (k_tile * key_cos) + ((k_tile * key_sin) * select((d % 2) == 0, -1.0f, 1.0f)) */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 64) {
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                    store_v4(key_5 + d * 144 + j, (load_v4(k_tile + d * 144 + j) * load_v4(key_cos + (d / 2) * 144 + j))
                        + ((load_v4(k_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * 144 + j) * load_v4(key_sin + (d / 2)
                        * 144 + j)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0)));
                }
            }
        }
        /* score[r][j] = sum over d of query_5 * key_5 */
        dot3_v4(round_up(j1 - j0, 64), rows, query_5, key_5, score);
        /* old_max = state */
        for (int64_t r = 0; r < rows; r += 16) {
            store_v4(old_max + r, load_v4(state + (chunk - chunk0) * 4224 + r));
        }
        if ((n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
            /* score = select(j <= ((r % n_q) + (n_k - n_q)), score, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const ints_v4 t_14 = j0 + j + lane_v4;
                for (int64_t r = 0; r < rows; r++) {
                    store_v4(score + r * 144 + j, pick_v4(__builtin_convertvector(t_14 <= ((r % n_q) + n_k - n_q),
                        mask_v4), load_v4(score + r * 144 + j), splat_v4(-INFINITY)));
                }
            }
        }
        /* state max= score */
        for (int64_t r = 0; r < rows; r++) {
            vec_v4 lanes_max = splat_v4(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4 term = load_v4(score + r * 144 + j);
                lanes_max = max_v4(lanes_max, j + 16 <= j1 - j0 ? term : pick_v4(__builtin_convertvector(j + lane_v4 <
                    j1 - j0, mask_v4), term, splat_v4(-INFINITY)));
            }
            const float largest = lane_max_v4(lanes_max);
            if (largest > state[(chunk - chunk0) * 4224 + r]) state[(chunk - chunk0) * 4224 + r] = largest;
        }
        /* old_max = exp2(old_max - state); state_2 = state_2 * old_max */
        for (int64_t r = 0; r < rows; r += 16) {
            const vec_v4 old_max_15 = load_v4(old_max + r);
            const vec_v4 old_max_new16 = exp2_v4(old_max_15 - load_v4(state + (chunk - chunk0) * 4224 + r));
            store_v4(old_max + r, old_max_new16);
            store_v4(state_2 + (chunk - chunk0) * 4224 + r, load_v4(state_2 + (chunk - chunk0) * 4224 + r) *
                old_max_new16);
        }
        /* score = exp2(score - state) */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            for (int64_t r = 0; r < rows; r++) {
                store_v4(score + r * 144 + j, exp2_v4(load_v4(score + r * 144 + j) - (state[(chunk - chunk0) * 4224 +
                    r])));
            }
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
            dot4_v4(rows, j1 - j0, score, v + j0 * v_row, v_row, state_3 + (chunk - chunk0) * 4224);
            for (int64_t r = 0; r < rows; r++) {
                mask_v4 seen[8];
                const int64_t t_17 = (r % n_q) + n_k - n_q;
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    seen[j / 16] = __builtin_convertvector((j0 + j + lane_v4) <= t_17, mask_v4);
                }
                add_seen_lanes_v4(64, state_3 + (chunk - chunk0) * 4224 + r * 64, score + r * 144, v + j0 * v_row,
                    v_row, j1 - j0, seen);
            }
        } else
            dot5_v4(rows, j1 - j0, score, v + j0 * v_row, v_row, state_3 + (chunk - chunk0) * 4224);
    }
}

/* Some elements of the states take in the chunks at hand, one after the other. */
TARGET_v4 APART void qk_norm_few_fold_v4(const struct call *call, int64_t task, const struct part *part, int64_t turn)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = turn * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state_3 = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const carried = (float *)(void *)(part->shared + 66048); /* [r: 64] */
    float *const keep = (float *)(void *)(part->work + 0); /* [r: 64] */
    float *const take = (float *)(void *)(part->work + 256); /* [r: 64] */
    float *const carried_2 = (float *)(void *)(part->shared + 66304); /* [r: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 82944); /* [r: 64] */
    float *const carried_3 = (float *)(void *)(part->shared + 66560); /* [r: 64, e: 64] */
    float *const carried_3_compensation = (float *)(void *)(part->shared + 83200); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before = carried; carried max= state; keep = exp2(before - carried); take = exp2(state - carried);
           before_2 = carried_2; carried ... */
        for (int64_t r = r0; r < r1; r += 16) {
            const vec_v4 carried_18 = load_v4(carried + r);
            const vec_v4 before_new19 = carried_18;
            const vec_v4 state_20 = load_v4(state + (chunk - chunk0) * 4224 + r);
            const vec_v4 carried_new21 = max_v4(load_v4(carried + r), state_20);
            store_v4(carried + r, carried_new21);
            const vec_v4 keep_new22 = exp2_v4(before_new19 - carried_new21);
            store_v4(keep + r, keep_new22);
            const vec_v4 take_new23 = exp2_v4(state_20 - carried_new21);
            store_v4(take + r, take_new23);
            const vec_v4 carried_2_24 = load_v4(carried_2 + r);
            store_v4(carried_2 + r, carried_2_24 * keep_new22);
            store_v4(carried_2_compensation + r, load_v4(carried_2_compensation + r) * keep_new22);
            add_v4(carried_2 + r, carried_2_compensation + r, load_v4(state_2 + (chunk - chunk0) * 4224 + r) *
                take_new23, splat_v4(1));
        }
        /* before_3 = carried_3; carried_3 = carried_3 * keep; carried_3_compensation = carried_3_compensation * keep;
           carried_3 += state_3 ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                UNROLL for (int64_t u = 0, e = e_first; u < 4; u++, e += 16) {
                    const vec_v4 carried_3_25 = load_v4(carried_3 + r * 64 + e);
                    const float keep_26 = keep[r];
                    store_v4(carried_3 + r * 64 + e, carried_3_25 * keep_26);
                    store_v4(carried_3_compensation + r * 64 + e, load_v4(carried_3_compensation + r * 64 + e) *
                        keep_26);
                    add_v4(carried_3 + r * 64 + e, carried_3_compensation + r * 64 + e,
                        load_v4(state_3 + (chunk - chunk0) * 4224 + r * 64 + e) * take[r], splat_v4(1));
                }
            }
        }
    }
}

/* A tile of queries meets the states. */
TARGET_v4 APART void qk_norm_few_queries_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = turn * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_2 = (float *)(void *)(part->shared + 66304); /* [r: 64] */
    float *const carried_3 = (float *)(void *)(part->shared + 66560); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(part->work + 0); /* [r: 64, e: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    /* result = select(carried_2 == 0.0f, 0.0f, carried_3 / carried_2) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t u = 0, e = e_first; u < 4; u++, e += 16) {
                const float carried_2_27 = carried_2[r];
                store_v4(result + r * 64 + e, (carried_2_27 == 0.0f) ? splat_v4(0.0f) : load_v4(carried_3 + r * 64 + e)
                    / carried_2_27);
            }
        }
    }
    /* out = result */
    for (int64_t e = 0; e < 64; e++)
        for (int64_t r = r0; r < r1; r++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* All of a head: every thread whose part this is calls it. */
TARGET_v4 static void qk_norm_few_v4(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t turn = part->number; turn < ((rows + 63) / 64); turn += part->threads) qk_norm_few_begin_v4(call, task,
        part, turn);
    for (int64_t turn = part->number; turn < ((rows + 15) / 16); turn += part->threads) qk_norm_few_begin_2_v4(call,
        task, part, turn);
    meet(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) qk_norm_few_keys_v4(call, task, part, turn);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            for (int64_t turn = group * ((rows + 15) / 16) / 16; turn < (group + 1) * ((rows + 15) / 16) / 16; turn++)
                qk_norm_few_fold_v4(call, task, part, turn);
            pass_segment(part, group, segment);
        }
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    meet(part);
    for (int64_t turn = part->number; turn < ((rows + 15) / 16); turn += part->threads) qk_norm_few_queries_v4(call,
        task, part, turn);
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
TARGET_v3 APART void dot0_v3(int64_t rows, const float *a, const float *b, float *c)
{
    dot_v3(2, 16, rows, -1, 64, 32, a, 1, 96, b, 16, c, 16, 0, NULL, NULL);
}
TARGET_v3 APART void dot1_v3(int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_finite_v3(2, 16, 64, 4, steps, 192, a, 1, a_step, b, 16, c, 16, 3, factor, compensation);
}
TARGET_v3 APART void dot2_v3(int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_v3(2, 16, 64, 4, steps, 192, a, 1, a_step, b, 16, c, 16, 3, factor, compensation);
}
TARGET_v3 APART void dot3_v3(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_v3(2, lanes, rows, -1, 64, 32, a, 1, 64, b, 144, c, 144, 0, NULL, NULL);
}
TARGET_v3 APART void dot4_v3(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_finite_lanes_v3(1, 2, 64, rows, -1, steps, 192, a, 144, 1, b, b_step, c, 64, 1, NULL, NULL);
}
TARGET_v3 APART void dot5_v3(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_fetched_v3(2, 64, rows, -1, steps, 192, a, 144, 1, b, b_step, c, 64, 1, NULL, NULL);
}

/* Task number `task`: one tile of queries of one head; `work` is the thread's part of the workspace. */
TARGET_v3 static void qk_norm_rows_v3(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const k_norm_weight = call->params->k_norm_weight;
    const float *const k_norm_bias = call->params->k_norm_bias;
    const float *const q_norm_weight = call->params->q_norm_weight;
    const float *const q_norm_bias = call->params->q_norm_bias;
    float *const key = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_3 = (float *)(void *)(work + 384); /* [j: 96] */
    float *const key_cos = (float *)(void *)(work + 0); /* [t: 32, j: 96] */
    float *const key_sin = (float *)(void *)(work + 12288); /* [t: 32, j: 96] */
    float *const key_5 = (float *)(void *)(work + 24576); /* [d: 64, j: 96] */
    float *const query = (float *)(void *)(work + 0); /* [i: 16] */
    float *const query_3 = (float *)(void *)(work + 64); /* [i: 16] */
    float *const query_cos = (float *)(void *)(work + 0); /* [t: 32, i: 16] */
    float *const query_sin = (float *)(void *)(work + 2048); /* [t: 32, i: 16] */
    float *const all_query_5 = (float *)(void *)(work + 49152); /* [d: 64, i: 16, 16 times] */
    float *const score = (float *)(void *)(work + 0); /* [j: 96, i: 16] */
    float *const all_row_max = (float *)(void *)(work + 114688); /* [i: 16, 16 times] */
    float *const old_max = (float *)(void *)(work + 6144); /* [i: 16] */
    float *const all_row_sum = (float *)(void *)(work + 115712); /* [i: 16, 16 times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + 116736); /* [i: 16, 16 times] */
    float *const all_sum = (float *)(void *)(work + 117760); /* [e: 64, i: 16, 16 times] */
    float *const all_sum_compensation = (float *)(void *)(work + 183296); /* [e: 64, i: 16, 16 times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: 16] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const q_tile = (float *)(void *)(work + 4096); /* [d: 64, i: 16] */
    float *const k_tile = (float *)(void *)(work + 248832); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
        const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
        float *const query_5 = all_query_5 + (i0 - i_block) / 16 * 1024;
        float *const row_max = all_row_max + (i0 - i_block) / 16 * 16;
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
        /* q_tile = ((q_tile * (1.0f / sqrt((query_3 * 0.015625f) + 1e-05f))) * q_norm.weight) + q_norm.bias */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            const vec_v3 t_3 = 1.0f / sqrt_v3((load_v3(query_3 + i) * 0.015625f) + 1e-05f);
            for (int64_t d = 0; d < 64; d++) {
                store_v3(q_tile + d * 16 + i, ((load_v3(q_tile + d * 16 + i) * t_3) * q_norm_weight[d]) +
                    q_norm_bias[d]);
            }
        }
        /* query_cos = cos((i + (n_k - n_q)) * rope_theta); query_sin = sin((i + (n_k - n_q)) * rope_theta) */
        const int64_t t_4 = n_k - n_q;
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            const ints_v3 t_5 = (i0 + i + lane_v3) + t_4;
            for (int64_t t = 0; t < 32; t++) {
                const wide_v3 angle6 = __builtin_convertvector(t_5, wide_v3) * rope_theta[t];
                store_v3(query_cos + t * 16 + i, cos_v3(&angle6));
                const wide_v3 angle7 = __builtin_convertvector(t_5, wide_v3) * rope_theta[t];
                store_v3(query_sin + t * 16 + i, sin_v3(&angle7));
            }
        }
        /* query_5 = ((q_tile * query_cos) + ((q_tile * query_sin) * select((d % 2) == 0, -1.0f,
           1.0f))) * 0.18033688f */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    store_v3(query_5 + d * 16 + i, ((load_v3(q_tile + d * 16 + i) * load_v3(query_cos + (d / 2) * 16 +
                        i)) + ((load_v3(q_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * 16 + i) * load_v3(query_sin + (d
                        / 2) * 16 + i)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0))) * 0.18033688f);
                }
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
            const vec_v3 t_9 = load_v3(key + j) * 0.015625f;
            vec_v3 key_3_in = (vec_v3){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v3 k_tile_8 = load_v3(k_tile + d * 96 + j);
                const vec_v3 k_tile_new10 = k_tile_8 - t_9;
                store_v3(k_tile + d * 96 + j, k_tile_new10);
                key_3_in += k_tile_new10 * k_tile_new10;
            }
            store_v3(key_3 + j, load_v3(key_3 + j) + key_3_in);
        }
        /* k_tile = ((k_tile * (1.0f / sqrt((key_3 * 0.015625f) + 1e-05f))) * k_norm.weight) + k_norm.bias */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_11 = 1.0f / sqrt_v3((load_v3(key_3 + j) * 0.015625f) + 1e-05f);
            for (int64_t d = 0; d < 64; d++) {
                store_v3(k_tile + d * 96 + j, ((load_v3(k_tile + d * 96 + j) * t_11) * k_norm_weight[d]) +
                    k_norm_bias[d]);
            }
        }
        /* key_cos = cos(j * rope_theta); key_sin = sin(j * rope_theta) */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const ints_v3 t_12 = j0 + j + lane_v3;
            for (int64_t t = 0; t < 32; t++) {
                const wide_v3 angle13 = __builtin_convertvector(t_12, wide_v3) * rope_theta[t];
                store_v3(key_cos + t * 96 + j, cos_v3(&angle13));
                const wide_v3 angle14 = __builtin_convertvector(t_12, wide_v3) * rope_theta[t];
                store_v3(key_sin + t * 96 + j, sin_v3(&angle14));
            }
        }
        /* key_5 = (k_tile * key_cos) + ((k_tile * key_sin) * select((d % 2) == 0, -1.0f, 1.0f)) */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    store_v3(key_5 + d * 96 + j, (load_v3(k_tile + d * 96 + j) * load_v3(key_cos + (d / 2) * 96 + j)) +
                        ((load_v3(k_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * 96 + j) * load_v3(key_sin + (d / 2) *
                        96 + j)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0)));
                }
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const query_5 = all_query_5 + (i0 - i_block) / 16 * 1024;
            float *const row_max = all_row_max + (i0 - i_block) / 16 * 16;
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 16 * 1024;
            if (!(j0 < (i1 + n_k - n_q))) continue; /* nothing in the tile can be seen */
            /* score[j][i] = sum over d of key_5 * query_5 */
            dot0_v3(j1 - j0, key_5, query_5, score);
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(old_max + i, load_v3(row_max + i));
            }
            if ((i0 + n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
                /* score = select(j <= (i + (n_k - n_q)), score, -INFINITY) */
                const int64_t t_15 = n_k - n_q;
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    const ints_v3 t_16 = (i0 + i + lane_v3) + t_15;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_v3(score + j * 16 + i, pick_v3(__builtin_convertvector((j0 + j) <= t_16, mask_v3),
                            load_v3(score + j * 16 + i), splat_v3(-INFINITY)));
                    }
                }
            }
            /* row_max max= score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                vec_v3 row_max_in[2][2];
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) row_max_in[u][j_chain] = splat_v3(-INFINITY);
                }
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                        const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                        UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                            row_max_in[u][j_chain] = max_v3(row_max_in[u][j_chain], load_v3(score + j * 16 + i));
                        }
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    store_v3(row_max + i, max_v3(load_v3(row_max + i), max_v3(row_max_in[u][0], row_max_in[u][1])));
                }
            }
            /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
               row_sum_compensation = row_sum_compensation * old_max */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 old_max_17 = load_v3(old_max + i);
                const vec_v3 old_max_new18 = exp2_v3(old_max_17 - load_v3(row_max + i));
                store_v3(old_max + i, old_max_new18);
                store_v3(row_sum + i, load_v3(row_sum + i) * old_max_new18);
                store_v3(row_sum_compensation + i, load_v3(row_sum_compensation + i) * old_max_new18);
            }
            /* score = exp2(score - row_max); row_sum += score */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 row_max_20 = load_v3(row_max + i);
                vec_v3 row_sum_in = (vec_v3){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_v3 score_19 = load_v3(score + j * 16 + i);
                    const vec_v3 score_new21 = exp2_v3(score_19 - row_max_20);
                    store_v3(score + j * 16 + i, score_new21);
                    row_sum_in += score_new21;
                }
                add_v3(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v3(1));
            }
            /* sum[e][i] = sum * old_max + sum over j of v * score */
            if (__builtin_expect(((i0 + n_k - n_q + 1) < j1) && !finite_v3(v + j0 * v_row, v_row, j1 - j0, 64),
                0)) { /* infinity and NaN reach only what sees them */
                dot1_v3(j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    mask_v3 seen[2];
                    if (finite_v3(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    const int64_t t_22 = n_k - n_q;
                    for (int64_t i = 0; i < i1 - i0; i += 8) {
                        seen[i / 8] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_v3) + t_22), mask_v3);
                    }
                    add_seen_v3(64, sum, 16, v + j0 * v_row + j * v_row, 1, score + j * 16, seen, i1 - i0);
                }
            } else
                dot2_v3(j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            /* result = select(row_sum == 0.0f, 0.0f, sum / row_sum) */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 row_sum_23 = load_v3(row_sum + i);
                const mask_v3 t_24 = row_sum_23 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    store_v3(result + e * 16 + i, pick_v3(t_24, splat_v3(0.0f),
                        load_v3(sum + e * 16 + i) / row_sum_23));
                }
            }
            /* out = result, transposed back */
            transpose_v3(result, 16, 64, i1 - i0, out + i0 * out_row, out_row);
        }
    }
}

/* States begin with no key. */
TARGET_v3 APART void qk_norm_few_begin_v3(const struct call *call, int64_t task, const struct part *part, int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = turn * 64, r1 = min(r0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + g * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    const float *const q_norm_weight = call->params->q_norm_weight;
    const float *const q_norm_bias = call->params->q_norm_bias;
    float *const query = (float *)(void *)(part->shared + 0); /* [r: 64] */
    float *const query_2 = (float *)(void *)(part->shared + 256); /* [d: 64, r: 64] */
    float *const query_3 = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const query_4 = (float *)(void *)(part->shared + 16896); /* [d: 64, r: 64] */
    float *const query_cos = (float *)(void *)(part->shared + 33280); /* [t: 32, r: 64] */
    float *const query_sin = (float *)(void *)(part->shared + 41472); /* [t: 32, r: 64] */
    float *const query_5 = (float *)(void *)(part->shared + 49664); /* [d: 64, r: 64] */
    float *const q_tile = (float *)(void *)(part->work + 0); /* [d: 64, r: 64] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r = 0; r < round_up(r1 - r0, 8); r++)
        for (int64_t d = 0; d < 64; d++)
            q_tile[d * 64 + r] = r < r1 - r0 ? q[r / n_q * q_head + r % n_q * q_row + d] : 0;
    /* query = 0.0f */
    for (int64_t r = r0; r < r1; r += 8) {
        store_v3(query + r, splat_v3(0.0f));
    }
    /* query += q_tile */
    for (int64_t r = r0; r < r1; r += 8) {
        vec_v3 query_in = (vec_v3){0};
        for (int64_t d = 0; d < 64; d++) {
            query_in += load_v3(q_tile + d * 64 + r);
        }
        store_v3(query + r, load_v3(query + r) + query_in);
    }
    /* query_3 = 0.0f */
    for (int64_t r = r0; r < r1; r += 8) {
        store_v3(query_3 + r, splat_v3(0.0f));
    }
    /* query_2 = q_tile - (query * 0.015625f); query_3 += query_2 * query_2 */
    for (int64_t r = r0; r < r1; r += 8) {
        const vec_v3 t_0 = load_v3(query + r) * 0.015625f;
        vec_v3 query_3_in = (vec_v3){0};
        for (int64_t d = 0; d < 64; d++) {
            const vec_v3 query_2_new1 = load_v3(q_tile + d * 64 + r) - t_0;
            store_v3(query_2 + d * 64 + r, query_2_new1);
            query_3_in += query_2_new1 * query_2_new1;
        }
        store_v3(query_3 + r, load_v3(query_3 + r) + query_3_in);
    }
    /* query_4 = ((query_2 * (1.0f / sqrt((query_3 * 0.015625f) + 1e-05f))) * q_norm.weight) + q_norm.bias */
    for (int64_t r = r0; r < r1; r += 8) {
        const vec_v3 t_2 = 1.0f / sqrt_v3((load_v3(query_3 + r) * 0.015625f) + 1e-05f);
        for (int64_t d = 0; d < 64; d++) {
            store_v3(query_4 + d * 64 + r, ((load_v3(query_2 + d * 64 + r) * t_2) * q_norm_weight[d]) + q_norm_bias[d]);
        }
    }
    /* query_cos = cos(((r % n_q) + (n_k - n_q)) * rope_theta);
       query_sin = sin(((r % n_q) + (n_k - n_q)) * rope_theta) */
    const int64_t t_3 = n_k - n_q;
    for (int64_t r = r0; r < r1; r += 8) {
        const ints_v3 t_4 = ((r + lane_v3) % n_q) + t_3;
        for (int64_t t = 0; t < 32; t++) {
            const wide_v3 angle5 = __builtin_convertvector(t_4, wide_v3) * rope_theta[t];
            store_v3(query_cos + t * 64 + r, cos_v3(&angle5));
            const wide_v3 angle6 = __builtin_convertvector(t_4, wide_v3) * rope_theta[t];
            store_v3(query_sin + t * 64 + r, sin_v3(&angle6));
        }
    }
    /* query_5 = ((query_4 * query_cos) + ((query_4 * query_sin) * select((d % 2) == 0, -1.0f, 1.0f))) * 0.18033688f */
    for (int64_t r = r0; r < r1; r += 8) {
        for (int64_t d = 0; d < 64; d++) {
            store_v3(query_5 + d * 64 + r, ((load_v3(query_4 + d * 64 + r) * load_v3(query_cos + (d / 2) * 64 + r)) +
                ((load_v3(query_4 + (((d % 2) == 0) ? (d + 1) : (d - 1)) * 64 + r) * load_v3(query_sin + (d / 2) * 64 +
                r)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0))) * 0.18033688f);
        }
    }
}

/* States begin with no key. */
TARGET_v3 APART void qk_norm_few_begin_2_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = turn * 16, r1 = min(r0 + 16, rows);
    float *const carried = (float *)(void *)(part->shared + 66048); /* [r: 64] */
    float *const carried_2 = (float *)(void *)(part->shared + 66304); /* [r: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 82944); /* [r: 64] */
    float *const carried_3 = (float *)(void *)(part->shared + 66560); /* [r: 64, e: 64] */
    float *const carried_3_compensation = (float *)(void *)(part->shared + 83200); /* [r: 64, e: 64] */
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
TARGET_v3 APART void qk_norm_few_keys_v3(const struct call *call, int64_t task, const struct part *part, int64_t turn)
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
    const float *const k_norm_weight = call->params->k_norm_weight;
    const float *const k_norm_bias = call->params->k_norm_bias;
    float *const key = (float *)(void *)(part->work + 0); /* [j: 128] */
    float *const key_3 = (float *)(void *)(part->work + 512); /* [j: 128] */
    float *const key_cos = (float *)(void *)(part->work + 0); /* [t: 32, j: 128 of 144] */
    float *const key_sin = (float *)(void *)(part->work + 18432); /* [t: 32, j: 128 of 144] */
    float *const key_5 = (float *)(void *)(part->work + 36864); /* [d: 64, j: 128 of 144] */
    float *const query_5 = (float *)(void *)(part->shared + 49664); /* [d: 64, r: 64] */
    float *const score = (float *)(void *)(part->work + 0); /* [r: 64, j: 128 of 144] */
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(part->work + 36864); /* [r: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state_3 = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 73728); /* [d: 64, j: 128 of 144] */
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
            const vec_v3 t_8 = load_v3(key + j) * 0.015625f;
            vec_v3 key_3_in = (vec_v3){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v3 k_tile_7 = load_v3(k_tile + d * 144 + j);
                const vec_v3 k_tile_new9 = k_tile_7 - t_8;
                store_v3(k_tile + d * 144 + j, k_tile_new9);
                key_3_in += k_tile_new9 * k_tile_new9;
            }
            store_v3(key_3 + j, load_v3(key_3 + j) + key_3_in);
        }
        /* k_tile = ((k_tile * (1.0f / sqrt((key_3 * 0.015625f) + 1e-05f))) * k_norm.weight) + k_norm.bias */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_10 = 1.0f / sqrt_v3((load_v3(key_3 + j) * 0.015625f) + 1e-05f);
            for (int64_t d = 0; d < 64; d++) {
                store_v3(k_tile + d * 144 + j, ((load_v3(k_tile + d * 144 + j) * t_10) * k_norm_weight[d]) +
                    k_norm_bias[d]);
            }
        }
        /* key_cos = cos(j * rope_theta); key_sin = sin(j * rope_theta) */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const ints_v3 t_11 = j0 + j + lane_v3;
            for (int64_t t = 0; t < 32; t++) {
                const wide_v3 angle12 = __builtin_convertvector(t_11, wide_v3) * rope_theta[t];
                store_v3(key_cos + t * 144 + j, cos_v3(&angle12));
                const wide_v3 angle13 = __builtin_convertvector(t_11, wide_v3) * rope_theta[t];
                store_v3(key_sin + t * 144 + j, sin_v3(&angle13));
            }
        }
        /* key_5 = (k_tile * key_cos) + ((k_tile * key_sin) * select((d % 2) == 0, -1.0f, 1.0f)) */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    store_v3(key_5 + d * 144 + j, (load_v3(k_tile + d * 144 + j) * load_v3(key_cos + (d / 2) * 144 + j))
                        + ((load_v3(k_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * 144 + j) * load_v3(key_sin + (d / 2)
                        * 144 + j)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0)));
                }
            }
        }
        /* score[r][j] = sum over d of query_5 * key_5 */
        dot3_v3(round_up(j1 - j0, 16), rows, query_5, key_5, score);
        /* old_max = state */
        for (int64_t r = 0; r < rows; r += 8) {
            store_v3(old_max + r, load_v3(state + (chunk - chunk0) * 4224 + r));
        }
        if ((n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
            /* score = select(j <= ((r % n_q) + (n_k - n_q)), score, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const ints_v3 t_14 = j0 + j + lane_v3;
                for (int64_t r = 0; r < rows; r++) {
                    store_v3(score + r * 144 + j, pick_v3(__builtin_convertvector(t_14 <= ((r % n_q) + n_k - n_q),
                        mask_v3), load_v3(score + r * 144 + j), splat_v3(-INFINITY)));
                }
            }
        }
        /* state max= score */
        for (int64_t r = 0; r < rows; r++) {
            vec_v3 lanes_max = splat_v3(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const vec_v3 term = load_v3(score + r * 144 + j);
                lanes_max = max_v3(lanes_max, j + 8 <= j1 - j0 ? term : pick_v3(__builtin_convertvector(j + lane_v3 < j1
                    - j0, mask_v3), term, splat_v3(-INFINITY)));
            }
            const float largest = lane_max_v3(lanes_max);
            if (largest > state[(chunk - chunk0) * 4224 + r]) state[(chunk - chunk0) * 4224 + r] = largest;
        }
        /* old_max = exp2(old_max - state); state_2 = state_2 * old_max */
        for (int64_t r = 0; r < rows; r += 8) {
            const vec_v3 old_max_15 = load_v3(old_max + r);
            const vec_v3 old_max_new16 = exp2_v3(old_max_15 - load_v3(state + (chunk - chunk0) * 4224 + r));
            store_v3(old_max + r, old_max_new16);
            store_v3(state_2 + (chunk - chunk0) * 4224 + r, load_v3(state_2 + (chunk - chunk0) * 4224 + r) *
                old_max_new16);
        }
        /* score = exp2(score - state) */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            for (int64_t r = 0; r < rows; r++) {
                store_v3(score + r * 144 + j, exp2_v3(load_v3(score + r * 144 + j) - (state[(chunk - chunk0) * 4224 +
                    r])));
            }
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
            dot4_v3(rows, j1 - j0, score, v + j0 * v_row, v_row, state_3 + (chunk - chunk0) * 4224);
            for (int64_t r = 0; r < rows; r++) {
                mask_v3 seen[16];
                const int64_t t_17 = (r % n_q) + n_k - n_q;
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    seen[j / 8] = __builtin_convertvector((j0 + j + lane_v3) <= t_17, mask_v3);
                }
                add_seen_lanes_v3(64, state_3 + (chunk - chunk0) * 4224 + r * 64, score + r * 144, v + j0 * v_row,
                    v_row, j1 - j0, seen);
            }
        } else
            dot5_v3(rows, j1 - j0, score, v + j0 * v_row, v_row, state_3 + (chunk - chunk0) * 4224);
    }
}

/* Some elements of the states take in the chunks at hand, one after the other. */
TARGET_v3 APART void qk_norm_few_fold_v3(const struct call *call, int64_t task, const struct part *part, int64_t turn)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = turn * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state_3 = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const carried = (float *)(void *)(part->shared + 66048); /* [r: 64] */
    float *const keep = (float *)(void *)(part->work + 0); /* [r: 64] */
    float *const take = (float *)(void *)(part->work + 256); /* [r: 64] */
    float *const carried_2 = (float *)(void *)(part->shared + 66304); /* [r: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 82944); /* [r: 64] */
    float *const carried_3 = (float *)(void *)(part->shared + 66560); /* [r: 64, e: 64] */
    float *const carried_3_compensation = (float *)(void *)(part->shared + 83200); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before = carried; carried max= state; keep = exp2(before - carried); take = exp2(state - carried);
           before_2 = carried_2; carried ... */
        for (int64_t r = r0; r < r1; r += 8) {
            const vec_v3 carried_18 = load_v3(carried + r);
            const vec_v3 before_new19 = carried_18;
            const vec_v3 state_20 = load_v3(state + (chunk - chunk0) * 4224 + r);
            const vec_v3 carried_new21 = max_v3(load_v3(carried + r), state_20);
            store_v3(carried + r, carried_new21);
            const vec_v3 keep_new22 = exp2_v3(before_new19 - carried_new21);
            store_v3(keep + r, keep_new22);
            const vec_v3 take_new23 = exp2_v3(state_20 - carried_new21);
            store_v3(take + r, take_new23);
            const vec_v3 carried_2_24 = load_v3(carried_2 + r);
            store_v3(carried_2 + r, carried_2_24 * keep_new22);
            store_v3(carried_2_compensation + r, load_v3(carried_2_compensation + r) * keep_new22);
            add_v3(carried_2 + r, carried_2_compensation + r, load_v3(state_2 + (chunk - chunk0) * 4224 + r) *
                take_new23, splat_v3(1));
        }
        /* before_3 = carried_3; carried_3 = carried_3 * keep; carried_3_compensation = carried_3_compensation * keep;
           carried_3 += state_3 ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 8) {
                    const vec_v3 carried_3_25 = load_v3(carried_3 + r * 64 + e);
                    const float keep_26 = keep[r];
                    store_v3(carried_3 + r * 64 + e, carried_3_25 * keep_26);
                    store_v3(carried_3_compensation + r * 64 + e, load_v3(carried_3_compensation + r * 64 + e) *
                        keep_26);
                    add_v3(carried_3 + r * 64 + e, carried_3_compensation + r * 64 + e,
                        load_v3(state_3 + (chunk - chunk0) * 4224 + r * 64 + e) * take[r], splat_v3(1));
                }
            }
        }
    }
}

/* A tile of queries meets the states. */
TARGET_v3 APART void qk_norm_few_queries_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = turn * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_2 = (float *)(void *)(part->shared + 66304); /* [r: 64] */
    float *const carried_3 = (float *)(void *)(part->shared + 66560); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(part->work + 0); /* [r: 64, e: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    /* result = select(carried_2 == 0.0f, 0.0f, carried_3 / carried_2) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
            UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 8) {
                const float carried_2_27 = carried_2[r];
                store_v3(result + r * 64 + e, (carried_2_27 == 0.0f) ? splat_v3(0.0f) : load_v3(carried_3 + r * 64 + e)
                    / carried_2_27);
            }
        }
    }
    /* out = result */
    for (int64_t e = 0; e < 64; e++)
        for (int64_t r = r0; r < r1; r++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* All of a head: every thread whose part this is calls it. */
TARGET_v3 static void qk_norm_few_v3(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t turn = part->number; turn < ((rows + 63) / 64); turn += part->threads) qk_norm_few_begin_v3(call, task,
        part, turn);
    for (int64_t turn = part->number; turn < ((rows + 15) / 16); turn += part->threads) qk_norm_few_begin_2_v3(call,
        task, part, turn);
    meet(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) qk_norm_few_keys_v3(call, task, part, turn);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            for (int64_t turn = group * ((rows + 15) / 16) / 16; turn < (group + 1) * ((rows + 15) / 16) / 16; turn++)
                qk_norm_few_fold_v3(call, task, part, turn);
            pass_segment(part, group, segment);
        }
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    meet(part);
    for (int64_t turn = part->number; turn < ((rows + 15) / 16); turn += part->threads) qk_norm_few_queries_v3(call,
        task, part, turn);
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
APART void dot0_any(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, rows, -1, 64, 32, a, 1, 96, b, 16, c, 16, 0, NULL, NULL);
}
APART void dot1_any(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_finite_any(2, lanes, 64, 4, steps, 192, a, 1, a_step, b, 16, c, 16, 3, factor, compensation);
}
APART void dot2_any(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_any(2, lanes, 64, 4, steps, 192, a, 1, a_step, b, 16, c, 16, 3, factor, compensation);
}
APART void dot3_any(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, rows, -1, 64, 32, a, 1, 64, b, 144, c, 144, 0, NULL, NULL);
}
APART void dot4_any(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_finite_lanes_any(1, 2, 64, rows, -1, steps, 192, a, 144, 1, b, b_step, c, 64, 1, NULL, NULL);
}
APART void dot5_any(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_fetched_any(2, 64, rows, -1, steps, 192, a, 144, 1, b, b_step, c, 64, 1, NULL, NULL);
}

/* Task number `task`: one tile of queries of one head; `work` is the thread's part of the workspace. */
static void qk_norm_rows_any(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const k_norm_weight = call->params->k_norm_weight;
    const float *const k_norm_bias = call->params->k_norm_bias;
    const float *const q_norm_weight = call->params->q_norm_weight;
    const float *const q_norm_bias = call->params->q_norm_bias;
    float *const key = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_3 = (float *)(void *)(work + 384); /* [j: 96] */
    float *const key_cos = (float *)(void *)(work + 0); /* [t: 32, j: 96] */
    float *const key_sin = (float *)(void *)(work + 12288); /* [t: 32, j: 96] */
    float *const key_5 = (float *)(void *)(work + 24576); /* [d: 64, j: 96] */
    float *const query = (float *)(void *)(work + 0); /* [i: 16] */
    float *const query_3 = (float *)(void *)(work + 64); /* [i: 16] */
    float *const query_cos = (float *)(void *)(work + 0); /* [t: 32, i: 16] */
    float *const query_sin = (float *)(void *)(work + 2048); /* [t: 32, i: 16] */
    float *const all_query_5 = (float *)(void *)(work + 49152); /* [d: 64, i: 16, 8 times] */
    float *const score = (float *)(void *)(work + 0); /* [j: 96, i: 16] */
    float *const all_row_max = (float *)(void *)(work + 81920); /* [i: 16, 8 times] */
    float *const old_max = (float *)(void *)(work + 6144); /* [i: 16] */
    float *const all_row_sum = (float *)(void *)(work + 82432); /* [i: 16, 8 times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + 82944); /* [i: 16, 8 times] */
    float *const all_sum = (float *)(void *)(work + 83456); /* [e: 64, i: 16, 8 times] */
    float *const all_sum_compensation = (float *)(void *)(work + 116224); /* [e: 64, i: 16, 8 times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: 16] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const q_tile = (float *)(void *)(work + 4096); /* [d: 64, i: 16] */
    float *const k_tile = (float *)(void *)(work + 148992); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
        const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
        float *const query_5 = all_query_5 + (i0 - i_block) / 16 * 1024;
        float *const row_max = all_row_max + (i0 - i_block) / 16 * 16;
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
        /* q_tile = ((q_tile * (1.0f / sqrt((query_3 * 0.015625f) + 1e-05f))) * q_norm.weight) + q_norm.bias */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            const vec_any t_3 = 1.0f / sqrt_any((load_any(query_3 + i) * 0.015625f) + 1e-05f);
            for (int64_t d = 0; d < 64; d++) {
                store_any(q_tile + d * 16 + i, ((load_any(q_tile + d * 16 + i) * t_3) * q_norm_weight[d]) +
                    q_norm_bias[d]);
            }
        }
        /* query_cos = cos((i + (n_k - n_q)) * rope_theta); query_sin = sin((i + (n_k - n_q)) * rope_theta) */
        const int64_t t_4 = n_k - n_q;
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            const ints_any t_5 = (i0 + i + lane_any) + t_4;
            for (int64_t t = 0; t < 32; t++) {
                const wide_any angle6 = __builtin_convertvector(t_5, wide_any) * rope_theta[t];
                store_any(query_cos + t * 16 + i, cos_any(&angle6));
                const wide_any angle7 = __builtin_convertvector(t_5, wide_any) * rope_theta[t];
                store_any(query_sin + t * 16 + i, sin_any(&angle7));
            }
        }
        /* query_5 = ((q_tile * query_cos) + ((q_tile * query_sin) * select((d % 2) == 0, -1.0f,
           1.0f))) * 0.18033688f */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    store_any(query_5 + d * 16 + i, ((load_any(q_tile + d * 16 + i) * load_any(query_cos + (d / 2) * 16
                        + i)) + ((load_any(q_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * 16 + i) * load_any(query_sin
                        + (d / 2) * 16 + i)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0))) * 0.18033688f);
                }
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
            const vec_any t_9 = load_any(key + j) * 0.015625f;
            vec_any key_3_in = (vec_any){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_any k_tile_8 = load_any(k_tile + d * 96 + j);
                const vec_any k_tile_new10 = k_tile_8 - t_9;
                store_any(k_tile + d * 96 + j, k_tile_new10);
                key_3_in += k_tile_new10 * k_tile_new10;
            }
            store_any(key_3 + j, load_any(key_3 + j) + key_3_in);
        }
        /* k_tile = ((k_tile * (1.0f / sqrt((key_3 * 0.015625f) + 1e-05f))) * k_norm.weight) + k_norm.bias */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_11 = 1.0f / sqrt_any((load_any(key_3 + j) * 0.015625f) + 1e-05f);
            for (int64_t d = 0; d < 64; d++) {
                store_any(k_tile + d * 96 + j, ((load_any(k_tile + d * 96 + j) * t_11) * k_norm_weight[d]) +
                    k_norm_bias[d]);
            }
        }
        /* key_cos = cos(j * rope_theta); key_sin = sin(j * rope_theta) */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const ints_any t_12 = j0 + j + lane_any;
            for (int64_t t = 0; t < 32; t++) {
                const wide_any angle13 = __builtin_convertvector(t_12, wide_any) * rope_theta[t];
                store_any(key_cos + t * 96 + j, cos_any(&angle13));
                const wide_any angle14 = __builtin_convertvector(t_12, wide_any) * rope_theta[t];
                store_any(key_sin + t * 96 + j, sin_any(&angle14));
            }
        }
        /* key_5 = (k_tile * key_cos) + ((k_tile * key_sin) * select((d % 2) == 0, -1.0f, 1.0f)) */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    store_any(key_5 + d * 96 + j, (load_any(k_tile + d * 96 + j) * load_any(key_cos + (d / 2) * 96 + j))
                        + ((load_any(k_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * 96 + j) * load_any(key_sin + (d /
                        2) * 96 + j)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0)));
                }
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const query_5 = all_query_5 + (i0 - i_block) / 16 * 1024;
            float *const row_max = all_row_max + (i0 - i_block) / 16 * 16;
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 16 * 1024;
            if (!(j0 < (i1 + n_k - n_q))) continue; /* nothing in the tile can be seen */
            /* score[j][i] = sum over d of key_5 * query_5 */
            dot0_any(round_up(i1 - i0, 8), j1 - j0, key_5, query_5, score);
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(old_max + i, load_any(row_max + i));
            }
            if ((i0 + n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
                /* score = select(j <= (i + (n_k - n_q)), score, -INFINITY) */
                const int64_t t_15 = n_k - n_q;
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const ints_any t_16 = (i0 + i + lane_any) + t_15;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_any(score + j * 16 + i, pick_any(__builtin_convertvector((j0 + j) <= t_16, mask_any),
                            load_any(score + j * 16 + i), splat_any(-INFINITY)));
                    }
                }
            }
            /* row_max max= score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                vec_any row_max_in[2][2];
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) row_max_in[u][j_chain] = splat_any(-INFINITY);
                }
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                        const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                        UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                            row_max_in[u][j_chain] = max_any(row_max_in[u][j_chain], load_any(score + j * 16 + i));
                        }
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    store_any(row_max + i, max_any(load_any(row_max + i), max_any(row_max_in[u][0], row_max_in[u][1])));
                }
            }
            /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
               row_sum_compensation = row_sum_compensation * old_max */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any old_max_17 = load_any(old_max + i);
                const vec_any old_max_new18 = exp2_any(old_max_17 - load_any(row_max + i));
                store_any(old_max + i, old_max_new18);
                store_any(row_sum + i, load_any(row_sum + i) * old_max_new18);
                store_any(row_sum_compensation + i, load_any(row_sum_compensation + i) * old_max_new18);
            }
            /* score = exp2(score - row_max); row_sum += score */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any row_max_20 = load_any(row_max + i);
                vec_any row_sum_in = (vec_any){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_any score_19 = load_any(score + j * 16 + i);
                    const vec_any score_new21 = exp2_any(score_19 - row_max_20);
                    store_any(score + j * 16 + i, score_new21);
                    row_sum_in += score_new21;
                }
                add_any(row_sum + i, row_sum_compensation + i, row_sum_in, splat_any(1));
            }
            /* sum[e][i] = sum * old_max + sum over j of v * score */
            if (__builtin_expect(((i0 + n_k - n_q + 1) < j1) && !finite_any(v + j0 * v_row, v_row, j1 - j0, 64),
                0)) { /* infinity and NaN reach only what sees them */
                dot1_any(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    mask_any seen[4];
                    if (finite_any(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    const int64_t t_22 = n_k - n_q;
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        seen[i / 4] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_any) + t_22), mask_any);
                    }
                    add_seen_any(64, sum, 16, v + j0 * v_row + j * v_row, 1, score + j * 16, seen, i1 - i0);
                }
            } else
                dot2_any(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            /* result = select(row_sum == 0.0f, 0.0f, sum / row_sum) */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any row_sum_23 = load_any(row_sum + i);
                const mask_any t_24 = row_sum_23 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    store_any(result + e * 16 + i, pick_any(t_24, splat_any(0.0f),
                        load_any(sum + e * 16 + i) / row_sum_23));
                }
            }
            /* out = result, transposed back */
            transpose_any(result, 16, 64, i1 - i0, out + i0 * out_row, out_row);
        }
    }
}

/* States begin with no key. */
APART void qk_norm_few_begin_any(const struct call *call, int64_t task, const struct part *part, int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = turn * 64, r1 = min(r0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + g * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    const float *const q_norm_weight = call->params->q_norm_weight;
    const float *const q_norm_bias = call->params->q_norm_bias;
    float *const query = (float *)(void *)(part->shared + 0); /* [r: 64] */
    float *const query_2 = (float *)(void *)(part->shared + 256); /* [d: 64, r: 64] */
    float *const query_3 = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const query_4 = (float *)(void *)(part->shared + 16896); /* [d: 64, r: 64] */
    float *const query_cos = (float *)(void *)(part->shared + 33280); /* [t: 32, r: 64] */
    float *const query_sin = (float *)(void *)(part->shared + 41472); /* [t: 32, r: 64] */
    float *const query_5 = (float *)(void *)(part->shared + 49664); /* [d: 64, r: 64] */
    float *const q_tile = (float *)(void *)(part->work + 0); /* [d: 64, r: 64] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r = 0; r < round_up(r1 - r0, 4); r++)
        for (int64_t d = 0; d < 64; d++)
            q_tile[d * 64 + r] = r < r1 - r0 ? q[r / n_q * q_head + r % n_q * q_row + d] : 0;
    /* query = 0.0f */
    for (int64_t r = r0; r < r1; r += 4) {
        store_any(query + r, splat_any(0.0f));
    }
    /* query += q_tile */
    for (int64_t r = r0; r < r1; r += 4) {
        vec_any query_in = (vec_any){0};
        for (int64_t d = 0; d < 64; d++) {
            query_in += load_any(q_tile + d * 64 + r);
        }
        store_any(query + r, load_any(query + r) + query_in);
    }
    /* query_3 = 0.0f */
    for (int64_t r = r0; r < r1; r += 4) {
        store_any(query_3 + r, splat_any(0.0f));
    }
    /* query_2 = q_tile - (query * 0.015625f); query_3 += query_2 * query_2 */
    for (int64_t r = r0; r < r1; r += 4) {
        const vec_any t_0 = load_any(query + r) * 0.015625f;
        vec_any query_3_in = (vec_any){0};
        for (int64_t d = 0; d < 64; d++) {
            const vec_any query_2_new1 = load_any(q_tile + d * 64 + r) - t_0;
            store_any(query_2 + d * 64 + r, query_2_new1);
            query_3_in += query_2_new1 * query_2_new1;
        }
        store_any(query_3 + r, load_any(query_3 + r) + query_3_in);
    }
    /* query_4 = ((query_2 * (1.0f / sqrt((query_3 * 0.015625f) + 1e-05f))) * q_norm.weight) + q_norm.bias */
    for (int64_t r = r0; r < r1; r += 4) {
        const vec_any t_2 = 1.0f / sqrt_any((load_any(query_3 + r) * 0.015625f) + 1e-05f);
        for (int64_t d = 0; d < 64; d++) {
            store_any(query_4 + d * 64 + r, ((load_any(query_2 + d * 64 + r) * t_2) * q_norm_weight[d]) +
                q_norm_bias[d]);
        }
    }
    /* query_cos = cos(((r % n_q) + (n_k - n_q)) * rope_theta);
       query_sin = sin(((r % n_q) + (n_k - n_q)) * rope_theta) */
    const int64_t t_3 = n_k - n_q;
    for (int64_t r = r0; r < r1; r += 4) {
        const ints_any t_4 = ((r + lane_any) % n_q) + t_3;
        for (int64_t t = 0; t < 32; t++) {
            const wide_any angle5 = __builtin_convertvector(t_4, wide_any) * rope_theta[t];
            store_any(query_cos + t * 64 + r, cos_any(&angle5));
            const wide_any angle6 = __builtin_convertvector(t_4, wide_any) * rope_theta[t];
            store_any(query_sin + t * 64 + r, sin_any(&angle6));
        }
    }
    /* query_5 = ((query_4 * query_cos) + ((query_4 * query_sin) * select((d % 2) == 0, -1.0f, 1.0f))) * 0.18033688f */
    for (int64_t r = r0; r < r1; r += 4) {
        for (int64_t d = 0; d < 64; d++) {
            store_any(query_5 + d * 64 + r, ((load_any(query_4 + d * 64 + r) * load_any(query_cos + (d / 2) * 64 + r)) +
                ((load_any(query_4 + (((d % 2) == 0) ? (d + 1) : (d - 1)) * 64 + r) * load_any(query_sin + (d / 2) * 64
                + r)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0))) * 0.18033688f);
        }
    }
}

/* States begin with no key. */
APART void qk_norm_few_begin_2_any(const struct call *call, int64_t task, const struct part *part, int64_t turn)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = turn * 16, r1 = min(r0 + 16, rows);
    float *const carried = (float *)(void *)(part->shared + 66048); /* [r: 64] */
    float *const carried_2 = (float *)(void *)(part->shared + 66304); /* [r: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 82944); /* [r: 64] */
    float *const carried_3 = (float *)(void *)(part->shared + 66560); /* [r: 64, e: 64] */
    float *const carried_3_compensation = (float *)(void *)(part->shared + 83200); /* [r: 64, e: 64] */
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
APART void qk_norm_few_keys_any(const struct call *call, int64_t task, const struct part *part, int64_t turn)
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
    const float *const k_norm_weight = call->params->k_norm_weight;
    const float *const k_norm_bias = call->params->k_norm_bias;
    float *const key = (float *)(void *)(part->work + 0); /* [j: 128] */
    float *const key_3 = (float *)(void *)(part->work + 512); /* [j: 128] */
    float *const key_cos = (float *)(void *)(part->work + 0); /* [t: 32, j: 128 of 144] */
    float *const key_sin = (float *)(void *)(part->work + 18432); /* [t: 32, j: 128 of 144] */
    float *const key_5 = (float *)(void *)(part->work + 36864); /* [d: 64, j: 128 of 144] */
    float *const query_5 = (float *)(void *)(part->shared + 49664); /* [d: 64, r: 64] */
    float *const score = (float *)(void *)(part->work + 0); /* [r: 64, j: 128 of 144] */
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(part->work + 36864); /* [r: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state_3 = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 73728); /* [d: 64, j: 128 of 144] */
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
            const vec_any t_8 = load_any(key + j) * 0.015625f;
            vec_any key_3_in = (vec_any){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_any k_tile_7 = load_any(k_tile + d * 144 + j);
                const vec_any k_tile_new9 = k_tile_7 - t_8;
                store_any(k_tile + d * 144 + j, k_tile_new9);
                key_3_in += k_tile_new9 * k_tile_new9;
            }
            store_any(key_3 + j, load_any(key_3 + j) + key_3_in);
        }
        /* k_tile = ((k_tile * (1.0f / sqrt((key_3 * 0.015625f) + 1e-05f))) * k_norm.weight) + k_norm.bias */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_10 = 1.0f / sqrt_any((load_any(key_3 + j) * 0.015625f) + 1e-05f);
            for (int64_t d = 0; d < 64; d++) {
                store_any(k_tile + d * 144 + j, ((load_any(k_tile + d * 144 + j) * t_10) * k_norm_weight[d]) +
                    k_norm_bias[d]);
            }
        }
        /* key_cos = cos(j * rope_theta); key_sin = sin(j * rope_theta) */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const ints_any t_11 = j0 + j + lane_any;
            for (int64_t t = 0; t < 32; t++) {
                const wide_any angle12 = __builtin_convertvector(t_11, wide_any) * rope_theta[t];
                store_any(key_cos + t * 144 + j, cos_any(&angle12));
                const wide_any angle13 = __builtin_convertvector(t_11, wide_any) * rope_theta[t];
                store_any(key_sin + t * 144 + j, sin_any(&angle13));
            }
        }
        /* key_5 = (k_tile * key_cos) + ((k_tile * key_sin) * select((d % 2) == 0, -1.0f, 1.0f)) */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    store_any(key_5 + d * 144 + j, (load_any(k_tile + d * 144 + j) * load_any(key_cos + (d / 2) * 144 +
                        j)) + ((load_any(k_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * 144 + j) * load_any(key_sin +
                        (d / 2) * 144 + j)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0)));
                }
            }
        }
        /* score[r][j] = sum over d of query_5 * key_5 */
        dot3_any(round_up(j1 - j0, 8), rows, query_5, key_5, score);
        /* old_max = state */
        for (int64_t r = 0; r < rows; r += 4) {
            store_any(old_max + r, load_any(state + (chunk - chunk0) * 4224 + r));
        }
        if ((n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
            /* score = select(j <= ((r % n_q) + (n_k - n_q)), score, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const ints_any t_14 = j0 + j + lane_any;
                for (int64_t r = 0; r < rows; r++) {
                    store_any(score + r * 144 + j, pick_any(__builtin_convertvector(t_14 <= ((r % n_q) + n_k - n_q),
                        mask_any), load_any(score + r * 144 + j), splat_any(-INFINITY)));
                }
            }
        }
        /* state max= score */
        for (int64_t r = 0; r < rows; r++) {
            vec_any lanes_max = splat_any(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const vec_any term = load_any(score + r * 144 + j);
                lanes_max = max_any(lanes_max, j + 4 <= j1 - j0 ? term : pick_any(__builtin_convertvector(j + lane_any <
                    j1 - j0, mask_any), term, splat_any(-INFINITY)));
            }
            const float largest = lane_max_any(lanes_max);
            if (largest > state[(chunk - chunk0) * 4224 + r]) state[(chunk - chunk0) * 4224 + r] = largest;
        }
        /* old_max = exp2(old_max - state); state_2 = state_2 * old_max */
        for (int64_t r = 0; r < rows; r += 4) {
            const vec_any old_max_15 = load_any(old_max + r);
            const vec_any old_max_new16 = exp2_any(old_max_15 - load_any(state + (chunk - chunk0) * 4224 + r));
            store_any(old_max + r, old_max_new16);
            store_any(state_2 + (chunk - chunk0) * 4224 + r, load_any(state_2 + (chunk - chunk0) * 4224 + r) *
                old_max_new16);
        }
        /* score = exp2(score - state) */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            for (int64_t r = 0; r < rows; r++) {
                store_any(score + r * 144 + j, exp2_any(load_any(score + r * 144 + j) - (state[(chunk - chunk0) * 4224 +
                    r])));
            }
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
            dot4_any(rows, j1 - j0, score, v + j0 * v_row, v_row, state_3 + (chunk - chunk0) * 4224);
            for (int64_t r = 0; r < rows; r++) {
                mask_any seen[32];
                const int64_t t_17 = (r % n_q) + n_k - n_q;
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    seen[j / 4] = __builtin_convertvector((j0 + j + lane_any) <= t_17, mask_any);
                }
                add_seen_lanes_any(64, state_3 + (chunk - chunk0) * 4224 + r * 64, score + r * 144, v + j0 * v_row,
                    v_row, j1 - j0, seen);
            }
        } else
            dot5_any(rows, j1 - j0, score, v + j0 * v_row, v_row, state_3 + (chunk - chunk0) * 4224);
    }
}

/* Some elements of the states take in the chunks at hand, one after the other. */
APART void qk_norm_few_fold_any(const struct call *call, int64_t task, const struct part *part, int64_t turn)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = turn * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state_3 = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const carried = (float *)(void *)(part->shared + 66048); /* [r: 64] */
    float *const keep = (float *)(void *)(part->work + 0); /* [r: 64] */
    float *const take = (float *)(void *)(part->work + 256); /* [r: 64] */
    float *const carried_2 = (float *)(void *)(part->shared + 66304); /* [r: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 82944); /* [r: 64] */
    float *const carried_3 = (float *)(void *)(part->shared + 66560); /* [r: 64, e: 64] */
    float *const carried_3_compensation = (float *)(void *)(part->shared + 83200); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before = carried; carried max= state; keep = exp2(before - carried); take = exp2(state - carried);
           before_2 = carried_2; carried ... */
        for (int64_t r = r0; r < r1; r += 4) {
            const vec_any carried_18 = load_any(carried + r);
            const vec_any before_new19 = carried_18;
            const vec_any state_20 = load_any(state + (chunk - chunk0) * 4224 + r);
            const vec_any carried_new21 = max_any(load_any(carried + r), state_20);
            store_any(carried + r, carried_new21);
            const vec_any keep_new22 = exp2_any(before_new19 - carried_new21);
            store_any(keep + r, keep_new22);
            const vec_any take_new23 = exp2_any(state_20 - carried_new21);
            store_any(take + r, take_new23);
            const vec_any carried_2_24 = load_any(carried_2 + r);
            store_any(carried_2 + r, carried_2_24 * keep_new22);
            store_any(carried_2_compensation + r, load_any(carried_2_compensation + r) * keep_new22);
            add_any(carried_2 + r, carried_2_compensation + r, load_any(state_2 + (chunk - chunk0) * 4224 + r) *
                take_new23, splat_any(1));
        }
        /* before_3 = carried_3; carried_3 = carried_3 * keep; carried_3_compensation = carried_3_compensation * keep;
           carried_3 += state_3 ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 4) {
                    const vec_any carried_3_25 = load_any(carried_3 + r * 64 + e);
                    const float keep_26 = keep[r];
                    store_any(carried_3 + r * 64 + e, carried_3_25 * keep_26);
                    store_any(carried_3_compensation + r * 64 + e, load_any(carried_3_compensation + r * 64 + e) *
                        keep_26);
                    add_any(carried_3 + r * 64 + e, carried_3_compensation + r * 64 + e,
                        load_any(state_3 + (chunk - chunk0) * 4224 + r * 64 + e) * take[r], splat_any(1));
                }
            }
        }
    }
}

/* A tile of queries meets the states. */
APART void qk_norm_few_queries_any(const struct call *call, int64_t task, const struct part *part, int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = turn * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_2 = (float *)(void *)(part->shared + 66304); /* [r: 64] */
    float *const carried_3 = (float *)(void *)(part->shared + 66560); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(part->work + 0); /* [r: 64, e: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    /* result = select(carried_2 == 0.0f, 0.0f, carried_3 / carried_2) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
            UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 4) {
                const float carried_2_27 = carried_2[r];
                store_any(result + r * 64 + e, (carried_2_27 == 0.0f) ? splat_any(0.0f) : load_any(carried_3 + r * 64 +
                    e) / carried_2_27);
            }
        }
    }
    /* out = result */
    for (int64_t e = 0; e < 64; e++)
        for (int64_t r = r0; r < r1; r++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* All of a head: every thread whose part this is calls it. */
static void qk_norm_few_any(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t turn = part->number; turn < ((rows + 63) / 64); turn += part->threads) qk_norm_few_begin_any(call,
        task, part, turn);
    for (int64_t turn = part->number; turn < ((rows + 15) / 16); turn += part->threads) qk_norm_few_begin_2_any(call,
        task, part, turn);
    meet(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) qk_norm_few_keys_any(call, task, part, turn);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            for (int64_t turn = group * ((rows + 15) / 16) / 16; turn < (group + 1) * ((rows + 15) / 16) / 16; turn++)
                qk_norm_few_fold_any(call, task, part, turn);
            pass_segment(part, group, segment);
        }
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    meet(part);
    for (int64_t turn = part->number; turn < ((rows + 15) / 16); turn += part->threads) qk_norm_few_queries_any(call,
        task, part, turn);
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

/* For up to some rows, the queries of all heads that share keys, keys are in the lanes. */
static struct version version(int64_t n_k, int64_t rows)
{
    (void)n_k;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
        if (rows <= 64) return (struct version){.head = qk_norm_few_v4, .tile = 0, .own = 110592, .shared = 99584,
            .slot = 16896, .slots = 4, .together = 1};
        return (struct version){.rows = qk_norm_rows_v4, .tile = 256, .own = 273408};
    }
#endif
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        if (rows <= 64) return (struct version){.head = qk_norm_few_v3, .tile = 0, .own = 110592, .shared = 99584,
            .slot = 16896, .slots = 4, .together = 1};
        return (struct version){.rows = qk_norm_rows_v3, .tile = 256, .own = 273408};
    }
#endif
    if (rows <= 64) return (struct version){.head = qk_norm_few_any, .tile = 0, .own = 110592, .shared = 99584,
        .slot = 16896, .slots = 4, .together = 1};
    return (struct version){.rows = qk_norm_rows_any, .tile = 128, .own = 173568};
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

size_t qk_norm_params_size(void)
{
    return 0;
}

int qk_norm_params_init(struct qk_norm_params *params, uint64_t seed, void *storage)
{
    (void)seed;
    (void)storage;
    if (!params) return ATTN_EPOINTER;
    *params = (struct qk_norm_params){0};
    return 0;
}

/* The most of all that runs for n_k keys or fewer, however many queries there are. */
static size_t max_bytes_a_thread(int64_t n_k)
{
    static const int64_t from[] = {0};
    size_t bytes = 0;
    for (size_t k = 0; k < sizeof from / sizeof *from; k++) {
        const struct version few = version(from[k], 0), v = version(from[k], MANY_ROWS);
        if ((k == 0 || from[k] <= n_k) && bytes_a_thread(&few) > bytes) bytes = bytes_a_thread(&few);
        if ((k == 0 || from[k] <= n_k) && bytes_a_thread(&v) > bytes) bytes = bytes_a_thread(&v);
    }
    return bytes;
}

size_t qk_norm_workspace(const struct attn_problem *problem)
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

int qk_norm_forward(const struct attn_problem *problem, const struct qk_norm_params *params, const float *q,
    const float *k, const float *v,
    float *out, void *workspace)
{
    if (!problem) return ATTN_EPOINTER;
    struct call call = {.params = params, .q = q, .k = k, .v = v, .out = out};
    const int error = attn_problem_check(problem, 64, 64, &call.p);
    if (error) return error;
    if (call.p.batch == 0 || call.p.heads == 0 || call.p.n_q == 0) return 0;
    if (!q || !out || !workspace || (call.p.n_k > 0 && (!k || !v))) return ATTN_EPOINTER;
    if (!params || !params->k_norm_weight || !params->k_norm_bias || !params->q_norm_weight || !params->q_norm_bias)
        return ATTN_EPARAM;
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
    {"k_norm.weight", ATTN_F32, 1, {64}, offsetof(struct qk_norm_params, k_norm_weight), 0},
    {"k_norm.bias", ATTN_F32, 1, {64}, offsetof(struct qk_norm_params, k_norm_bias), 0},
    {"q_norm.weight", ATTN_F32, 1, {64}, offsetof(struct qk_norm_params, q_norm_weight), 0},
    {"q_norm.bias", ATTN_F32, 1, {64}, offsetof(struct qk_norm_params, q_norm_bias), 0},
};

static int params_init_any(void *params, uint64_t seed, void *storage)
{
    return qk_norm_params_init((struct qk_norm_params *)params, seed, storage);
}

static int forward_any(const struct attn_problem *problem, const void *params, const void *q, const void *k,
    const void *v, void *out, void *workspace)
{
    return qk_norm_forward(problem, (const struct qk_norm_params *)params, (const float *)q, (const float *)k,
        (const float *)v, (float *)out, workspace);
}


const struct attn_kernel qk_norm_kernel = {
    .name = "qk_norm", .version = "0.1.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 4, .param = param, .params_bytes = sizeof(struct qk_norm_params),
    .params_size = qk_norm_params_size, .params_init = params_init_any, .workspace = qk_norm_workspace,
    .forward = forward_any,
};
