/* A target's vector types and functions. target.h tells which names a kernel defines first. */
#include "target.h"

/* Each of these types has LANES elements:
   - vec: numbers
   - mask: results of comparisons
   - ints: positions
   - wide: doubles */
typedef REAL T(vec) __attribute__((vector_size(BYTES)));
typedef REAL T(stored) __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias)); /* in memory, unaligned */
typedef BITS T(mask) __attribute__((vector_size(BYTES)));
typedef int64_t T(ints) __attribute__((vector_size(WIDE)));
typedef double T(wide) __attribute__((vector_size(WIDE)));
typedef int8_t T(bytes) __attribute__((vector_size(LANES), aligned(1), may_alias));
typedef uint16_t T(halves) __attribute__((vector_size(2 * LANES), aligned(2), may_alias));
TARGET INLINE T(vec) T(load)(const REAL *p) { return *(const T(stored) *)(const void *)p; }
TARGET INLINE void T(store)(REAL *p, T(vec) x) { *(T(stored) *)(void *)p = x; }
TARGET INLINE T(vec) T(splat)(REAL x) { return x - (T(vec)){0}; }

/* Returns *p, which is going to be multiplied by vectors. On aarch64 it is loaded into one lane: an instruction that
   fills all lanes would also need a vector unit, which the products keep busy. */
TARGET INLINE REAL T(factor)(const REAL *p)
{
    REAL x = *p;
#ifdef __aarch64__
    __asm__("" : "+w"(x));
#endif
    return x;
}

/* Returns a in the lanes of the mask, and b in the other lanes. */
TARGET INLINE T(vec) T(pick)(T(mask) m, T(vec) a, T(vec) b) { return (T(vec))((m & (T(mask))a) | (~m & (T(mask))b)); }

#if F16 || BF16
/* Stores each lane as 16 bits, rounded like narrowed_bf16() or narrowed_f16(). Bits of a NaN may differ. */
TARGET INLINE void T(store_narrowed)(uint16_t *p, T(vec) x)
{
#if F16 && F16C
    __asm__("vcvtps2ph $0, %1, %0" : "=m"(*(T(halves) *)(void *)p) : "v"(x));
#elif F16
    const T(mask) given = (T(mask))x, size = given & 0x7fffffff, tiny = (T(mask))((T(vec))size + 0.5f) - (126 << 23),
                 normal = (size - (112 << 23) + 0xfff + (size >> 13 & 1)) >> 13, large = {0},
                 rounded = (T(mask))T(pick)((T(mask))(size < 113 << 23), (T(vec))tiny, (T(vec))normal),
                 finite = (T(mask))T(pick)((T(mask))(size >= 0x477ff000), (T(vec))(large + 0x7c00), (T(vec))rounded),
                 made = (T(mask))T(pick)((T(mask))(x != x), (T(vec))(large + 0x7e00), (T(vec))finite);
    *(T(halves) *)(void *)p = __builtin_convertvector(made | (given >> 16 & 0x8000), T(halves));
#else
    const T(mask) bits = (T(mask))x, made = (T(mask))T(pick)((T(mask))(x != x), (T(vec))(bits | 0x400000),
        (T(vec))(bits + 0x7fff + (bits >> 16 & 1)));
    *(T(halves) *)(void *)p = __builtin_convertvector(made >> 16, T(halves));
#endif
}
#endif

static __attribute__((unused)) const T(ints) T(lane) = {IOTA()};

TARGET INLINE T(vec) T(max)(T(vec) a, T(vec) b) { return T(pick)((T(mask))(a < b), b, a); }
TARGET INLINE T(vec) T(min)(T(vec) a, T(vec) b) { return T(pick)((T(mask))(b < a), b, a); }

/* Like max and min, but return NaN if b is NaN. */
TARGET INLINE T(vec) T(max_nan)(T(vec) a, T(vec) b) { return T(pick)((T(mask))(b != b), b, T(max)(a, b)); }
TARGET INLINE T(vec) T(min_nan)(T(vec) a, T(vec) b) { return T(pick)((T(mask))(b != b), b, T(min)(a, b)); }

TARGET INLINE T(vec) T(abs)(T(vec) x) { return (T(vec))((T(mask))x & MAGNITUDE); }

/* Returns the sum over the lanes of x. */
TARGET INLINE REAL T(lane_sum)(T(vec) x)
{
#define ADD_SWAPPED(far) x += __builtin_shufflevector(x, x, SWAPPED(far));
    FALLING_DISTANCES(LANES, ADD_SWAPPED)
#undef ADD_SWAPPED
    return x[0];
}

/* Returns the maximum over the lanes of x. If a lane is NaN, the result may be NaN or a number. */
TARGET INLINE REAL T(lane_max)(T(vec) x)
{
#define MAX_SWAPPED(far) x = T(max)(x, __builtin_shufflevector(x, x, SWAPPED(far)));
    FALLING_DISTANCES(LANES, MAX_SWAPPED)
#undef MAX_SWAPPED
    return x[0];
}

/* Returns a vector whose lane r is the sum over the lanes of t[r]. Overwrites t. */
TARGET INLINE T(vec) T(lane_sums)(T(vec) *t)
{
#define ADD_NEIGHBOURS(far) \
    UNROLL for (int r = 0; r < LANES; r += 2 * far) \
        t[r] = __builtin_shufflevector(t[r], t[r + far], EVEN(far)) + \
            __builtin_shufflevector(t[r], t[r + far], ODD(far));
    DISTANCES(LANES, ADD_NEIGHBOURS)
#undef ADD_NEIGHBOURS
    return t[0];
}

/* Transposes LANES vectors in place. Each step swaps one bit of the row and column numbers. */
TARGET INLINE void T(exchange)(T(vec) *t)
{
#define EXCHANGE(far) \
    UNROLL for (int r = 0; r < LANES; r++) \
        if (!(r & far)) { \
            const T(vec) a = t[r], b = t[r + far]; \
            t[r] = __builtin_shufflevector(a, b, UPPER(far)); \
            t[r + far] = __builtin_shufflevector(a, b, LOWER(far)); \
        }
    DISTANCES(LANES, EXCHANGE)
#undef EXCHANGE
}

/* Transposes LANES rows and columns: to[y][x] = from[x][y]. All loops share this function, whose shuffles take long to
   compile. */
TARGET APART void T(square)(const REAL *from, int64_t from_row, REAL *to, int64_t to_row)
{
    T(vec) t[LANES];
    UNROLL for (int r = 0; r < LANES; r++) t[r] = T(load)(from + r * from_row);
    T(exchange)(t);
    UNROLL for (int r = 0; r < LANES; r++) T(store)(to + r * to_row, t[r]);
}

/* Transposes: to[y][x] = from[x][y]. It works in squares of LANES rows and columns, so that cache lines are written at
   once. Rows are prefetched `ahead` rows early: rows of `to` if `out`, otherwise rows of `from`. */
TARGET INLINE void T(transpose_some)(const REAL *from, int64_t from_row, int64_t rows, int64_t columns, REAL *to,
    int64_t to_row, int64_t ahead, const int out)
{
    const int64_t whole = QUICK ? 0 : rows - rows % LANES, deep = columns - columns % LANES;
    for (int64_t k = 0; k < whole / LANES * (deep / LANES); k++) {
        const int64_t row = k / (deep / LANES) * LANES, column = k % (deep / LANES) * LANES;
        if (out)
            UNROLL for (int r = 0; r < LANES; r++) __builtin_prefetch(to + (column + r + ahead) * to_row + row, 1, 2);
        else
            UNROLL for (int r = 0; r < LANES; r++)
                __builtin_prefetch(from + (row + r + ahead) * from_row + column, 0, 2);
        T(square)(from + row * from_row + column, from_row, to + column * to_row + row, to_row);
    }
    for (int64_t column = deep; column < columns; column++)
        for (int64_t row = 0; row < whole; row++) to[column * to_row + row] = from[row * from_row + column];
    for (int64_t row = whole; row < rows; row++)
        for (int64_t column = 0; column < columns; column++)
            to[column * to_row + row] = from[row * from_row + column];
}

TARGET APART void T(transpose)(const REAL *from, int64_t from_row, int64_t rows, int64_t columns, REAL *to,
    int64_t to_row, int64_t ahead)
{
    T(transpose_some)(from, from_row, rows, columns, to, to_row, ahead, 0);
}

/* Like transpose, but to[y][x] is 0 from x = rows on, up to a whole vector. Few rows then need no strided stores. */
TARGET APART void T(transpose_padded)(const REAL *from, int64_t from_row, int64_t rows, int64_t columns, REAL *to,
    int64_t to_row, int64_t ahead)
{
    const int64_t whole = rows - rows % LANES, deep = columns - columns % LANES, left = rows - whole;
    T(transpose_some)(from, from_row, whole, columns, to, to_row, ahead, 0);
    from += whole * from_row;
    to += whole;
    for (int64_t column = 0; !QUICK && column < deep && left > 1; column += LANES) {
        T(vec) t[LANES];
        for (int r = 0; r < LANES; r++) t[r] = r < left ? T(load)(from + r * from_row + column) : (T(vec)){0};
        T(square)((const REAL *)(const void *)t, LANES, to + column * to_row, to_row);
    }
    for (int64_t column = !QUICK && left > 1 ? deep : 0; column < columns && left > 0; column++) {
        T(store)(to + column * to_row, (T(vec)){from[column]});
        for (int64_t row = 1; row < left; row++) to[column * to_row + row] = from[row * from_row + column];
    }
}

TARGET APART void T(transpose_out)(const REAL *from, int64_t from_row, int64_t rows, int64_t columns, REAL *to,
    int64_t to_row, int64_t ahead)
{
    T(transpose_some)(from, from_row, rows, columns, to, to_row, ahead, 1);
}

#if F16 || BF16
/* Like transpose, but rounds to 16-bit elements like store_narrowed(). */
TARGET APART void T(transpose_narrowed)(const REAL *from, int64_t from_row, int64_t rows, int64_t columns, uint16_t *to,
    int64_t to_row, int64_t ahead)
{
    const int64_t whole = QUICK ? 0 : rows - rows % LANES, deep = columns - columns % LANES;
    for (int64_t k = 0; k < whole / LANES * (deep / LANES); k++) {
        const int64_t row = k % (whole / LANES) * LANES, column = k / (whole / LANES) * LANES;
        T(vec) t[LANES];
        UNROLL for (int r = 0; r < LANES; r++) __builtin_prefetch(to + (column + r + ahead) * to_row + row, 1, 2);
        UNROLL for (int r = 0; r < LANES; r++) t[r] = T(load)(from + (row + r) * from_row + column);
        T(exchange)(t);
        UNROLL for (int r = 0; r < LANES; r++) T(store_narrowed)(to + (column + r) * to_row + row, t[r]);
    }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = row < whole ? deep : 0; column < columns; column++)
            to[column * to_row + row] = NARROWED(from[row * from_row + column]);
}
#endif
/* *sum = *sum * factor + x per lane, with compensated summation (Kahan). *compensation is the rounding error, which
   the next call adds. */
TARGET INLINE void T(add)(REAL *sum, REAL *compensation, T(vec) x, T(vec) factor)
{
    const T(vec) old = T(load)(sum) * factor, more = T(load)(compensation) * factor + x, new = old + more;
    T(store)(compensation, more - (new - old));
    T(store)(sum, new);
}

#if BF16_PRODUCTS
/* A pair of bf16 in 32 bits, the first element in the lower half. AVX512-BF16 multiplies pairs, and rounds floats to
   pairs. */
typedef int32_t T(near) __attribute__((aligned(2), may_alias)); /* a pair in memory, aligned to 2 bytes */
typedef T(mask) T(pairs) __attribute__((aligned(2), may_alias));
TARGET INLINE int32_t T(pair)(const uint16_t *p) { return *(const T(near) *)(const void *)p; }
TARGET INLINE void T(set_pair)(uint16_t *p, int32_t pair) { *(T(near) *)(void *)p = pair; }
TARGET INLINE T(mask) T(load_paired)(const uint16_t *p) { return *(const T(pairs) *)(const void *)p; }
/* Returns sum + a.first * b.first + a.second * b.second per lane. a is one pair. */
TARGET INLINE T(vec) T(multiply)(T(vec) sum, int32_t a, T(mask) b)
{
    return (T(vec))_mm512_dpbf16_ps((__m512)sum, (__m512bh)_mm512_set1_epi32(a), (__m512bh)b);
}

/* In lane k, puts element k of the lower half next to element k of the upper half. */
TARGET INLINE T(mask) T(interleaved)(__m512i both)
{
    const T(mask) turns = {INTERLEAVED()};
    return (T(mask))_mm512_permutexvar_epi16((__m512i)turns, both);
}

/* Stores the pairs (first[k], second[k]) of LANES elements. If `second` is NULL, the second elements are 0. */
TARGET INLINE void T(join)(uint16_t *p, const uint16_t *first, const uint16_t *second)
{
    const T(halves) two[2] = {*(const T(halves) *)(const void *)first,
        second ? *(const T(halves) *)(const void *)second : (T(halves)){0}};
    __m512i both;
    __builtin_memcpy(&both, two, sizeof both);
    *(T(pairs) *)(void *)p = T(interleaved)(both);
}

TARGET INLINE T(mask) T(paired)(T(vec) first, T(vec) second) /* rounds to nearest, ties to even */
{
    return T(interleaved)((__m512i)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first));
}

TARGET INLINE void T(store_paired)(uint16_t *p, T(vec) first, T(vec) second)
{
    *(T(pairs) *)(void *)p = T(paired)(first, second);
}

TARGET INLINE void T(store_rounded)(uint16_t *p, T(vec) x) /* rounds x to bf16 */
{
    const __m512i both = (__m512i)_mm512_cvtne2ps_pbh((__m512)x, (__m512)x);
    __builtin_memcpy(p, &both, sizeof(T(halves)));
}
#endif
