/* softmax.c, made by attnc 0.2.0: attnc softmax.yaml --standalone
   C11 with GNU extensions, for a C compiler; C++ includes softmax.h.
   softmax attention on unit vectors, made sharp by its scale

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g m i j] = sum over d of q * k
     x4 [b g m i j] = exp(x3 * 16)
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
     x86-64-v4  quadratic tiles of 64 queries and 288 keys; 154624 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 155072 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 64 queries and 288 keys; 154624 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 155072 bytes of workspace per thread
     generic    quadratic tiles of 64 queries and 288 keys; 154624 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 155072 bytes of workspace per thread

   Contents:
     loops      softmax_rows, softmax_few
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  softmax_workspace, softmax_forward, softmax_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp softmax.c … -lm */
#ifdef SECTION
/* A target's vector types and functions. target.h tells which names a kernel defines first. */
/* The names that the headers of a target read. A kernel defines them for a target, includes vector.h and others,
   and then
   end.h, which forgets the names. Those that are not defined count as 0.
   - T(name): the name with the target's suffix. TARGET: the attribute of its functions
   - LANES: the elements of a vector. REGISTERS: the number of vector registers
   - F64, F16, BF16: the type of the kernel's numbers
   - DQ: there are instructions for x - round(x) and x * 2^n. F16C: for f16. AVX: for square roots
   - BF16_PRODUCTS: for products of bf16. MATRIX_UNITS: AMX
   - ROWS, VECTORS: a register block of a product has ROWS rows of VECTORS vectors
   - COMPENSATED: some sums keep their rounding errors
   - AHEAD: products prefetch rows this far ahead. NEAR: the last argument of __builtin_prefetch
   - MAX_STEPS, MAX_PAIRED_STEPS: the most terms of dot_finite and dot_finite_lanes. MAX_TERMS: of dot_along.
     MAX_LANES: the most lanes of dot_fetched. DECAYED_KEYS: the most keys of decayed_rows. UNIT_DEPTH: the most terms
     of unit_dot with padded rows */
/* Lists of elements for shuffles of two vectors, one for each lane. The second vector has the elements from LANES on.
   The examples are for 4 lanes and half = 1, where `half` is the distance of exchanged elements. */
#ifndef ATTNRT_KERNEL_LANES_H
#define ATTNRT_KERNEL_LANES_H

#define EACH_2(f, n) f(0, n), f(1, n)
#define EACH_4(f, n) EACH_2(f, n), f(2, n), f(3, n)
#define EACH_8(f, n) EACH_4(f, n), f(4, n), f(5, n), f(6, n), f(7, n)
#define EACH_16(f, n) \
    EACH_8(f, n), f(8, n), f(9, n), f(10, n), f(11, n), f(12, n), f(13, n), f(14, n), f(15, n)
#define EACH_OF(lanes, f, n) EACH_##lanes(f, n)
#define EACH_LANE(lanes, f, n) EACH_OF(lanes, f, n)

#define LANE_ITSELF(k, n) k
#define LANE_SWAPPED(k, half) ((k) ^ (half))
#define LANE_UPPER(k, half) ((k) & (half) ? LANES + (k) - (half) : (k))
#define LANE_LOWER(k, half) ((k) & (half) ? LANES + (k) : (k) + (half))
#define LANE_ZIP_LOW(k, n) ((k) / 2 + (k) % 2 * LANES)
#define LANE_ZIP_HIGH(k, n) (LANES / 2 + (k) / 2 + (k) % 2 * LANES)
#define LANE_INTERLEAVED(k, n) ((LANES + (k)) << 16 | (k))

#define IOTA() EACH_LANE(LANES, LANE_ITSELF, 0)
#define SWAPPED(half) EACH_LANE(LANES, LANE_SWAPPED, half)     /* 1, 0, 3, 2 */
#define UPPER(half) EACH_LANE(LANES, LANE_UPPER, half)         /* 0, 4, 2, 6 */
#define LOWER(half) EACH_LANE(LANES, LANE_LOWER, half)         /* 1, 5, 3, 7 */
#define ZIP_LOW() EACH_LANE(LANES, LANE_ZIP_LOW, 0)            /* 0, 4, 1, 5 */
#define ZIP_HIGH() EACH_LANE(LANES, LANE_ZIP_HIGH, 0)          /* 2, 6, 3, 7 */
#define INTERLEAVED() EACH_LANE(LANES, LANE_INTERLEAVED, 0)    /* 16-bit elements of two vectors, in turn */

/* The shuffles of lane_sums: the even or the odd groups of elements of two vectors. Each is one instruction on x86:
   groups are elements of the same 16 bytes, and from `far` = IN_16() on the 16 bytes themselves. */
#define IN_16() (16 / (int)sizeof(REAL))
#define GROUP_OF(far) ((far) < IN_16() ? 1 : IN_16())
#define SHARE_OF(far) ((far) < IN_16() ? IN_16() : LANES)
#define IN_SHARE(k, far) ((k) % SHARE_OF(far) % (SHARE_OF(far) / 2))
#define LANE_OF_SUM(k, far, odd) \
    (((k) % SHARE_OF(far) >= SHARE_OF(far) / 2 ? LANES : 0) + (k) / SHARE_OF(far) * SHARE_OF(far) + \
     (IN_SHARE(k, far) / GROUP_OF(far) * 2 + (odd)) * GROUP_OF(far) + IN_SHARE(k, far) % GROUP_OF(far))
#define LANE_EVEN(k, far) LANE_OF_SUM(k, far, 0)
#define LANE_ODD(k, far) LANE_OF_SUM(k, far, 1)
#define EVEN(far) EACH_LANE(LANES, LANE_EVEN, far)
#define ODD(far) EACH_LANE(LANES, LANE_ODD, far)

/* f(far) for the distances 1, 2, 4 and so on below `lanes`. FALLING_DISTANCES begins with the largest. */
#define DISTANCES_2(f) f(1)
#define DISTANCES_4(f) DISTANCES_2(f) f(2)
#define DISTANCES_8(f) DISTANCES_4(f) f(4)
#define DISTANCES_16(f) DISTANCES_8(f) f(8)
#define FALLING_2(f) f(1)
#define FALLING_4(f) f(2) FALLING_2(f)
#define FALLING_8(f) f(4) FALLING_4(f)
#define FALLING_16(f) f(8) FALLING_8(f)
#define DISTANCES_OF(lanes, f) DISTANCES_##lanes(f)
#define DISTANCES(lanes, f) DISTANCES_OF(lanes, f)
#define FALLING_OF(lanes, f) FALLING_##lanes(f)
#define FALLING_DISTANCES(lanes, f) FALLING_OF(lanes, f)

/* f(r) for each r below `rows`, the largest first */
#define ROWS_BELOW_1(f)
#define ROWS_BELOW_2(f) f(1)
#define ROWS_BELOW_3(f) f(2) ROWS_BELOW_2(f)
#define ROWS_BELOW_4(f) f(3) ROWS_BELOW_3(f)
#define ROWS_BELOW_5(f) f(4) ROWS_BELOW_4(f)
#define ROWS_BELOW_6(f) f(5) ROWS_BELOW_5(f)
#define ROWS_BELOW_7(f) f(6) ROWS_BELOW_6(f)
#define ROWS_BELOW_8(f) f(7) ROWS_BELOW_7(f)
#define ROWS_BELOW_9(f) f(8) ROWS_BELOW_8(f)
#define ROWS_BELOW_10(f) f(9) ROWS_BELOW_9(f)
#define ROWS_BELOW_11(f) f(10) ROWS_BELOW_10(f)
#define ROWS_BELOW_12(f) f(11) ROWS_BELOW_11(f)
#define ROWS_BELOW_13(f) f(12) ROWS_BELOW_12(f)
#define ROWS_BELOW_14(f) f(13) ROWS_BELOW_13(f)
#define ROWS_BELOW_15(f) f(14) ROWS_BELOW_14(f)
#define ROWS_BELOW_16(f) f(15) ROWS_BELOW_15(f)
#define ROWS_BELOW_OF(rows, f) ROWS_BELOW_##rows(f)
#define ROWS_BELOW(rows, f) ROWS_BELOW_OF(rows, f)

#endif

#ifndef F64
#define F64 0
#endif
#ifndef MAX_TERMS
#define MAX_TERMS 0
#endif
#ifndef MAX_LANES
#define MAX_LANES 0
#endif
#if F64
#define REAL double
#define BITS int64_t
#define MAGNITUDE INT64_C(0x7fffffffffffffff)
#define F(name) name /* the C library's function for REAL */
#else
#define REAL float
#define BITS int32_t
#define MAGNITUDE 0x7fffffff
#define F(name) name##f
#endif
#if F16
#define NARROWED narrowed_f16
#else
#define NARROWED narrowed_bf16
#endif
#define BYTES (LANES * (int)sizeof(REAL))
#define WIDE (8 * LANES)

/* A query row and an accumulator for each of its lanes fit into registers. They need 32 registers of 64 bytes. */
#define ROOMY (REGISTERS > 16 && LANES == (F64 ? 8 : 16))
/* Products with dot_early prefetch rows of their second operand. */
#define FETCHED (MAX_LANES && ROOMY)
/* The rows of a block that is one vector wide. With 16 registers, 8 rows were no faster than 6. */
#define TALL (!QUICK && REGISTERS > 16 && ROWS < 16 ? 16 : ROWS)
#define SOME 16 /* a core can have about this number of cache misses in flight */

/* Arguments that functions have only sometimes. */
#if COMPENSATED
#define IF_COMPENSATED(argument) , argument
#else
#define IF_COMPENSATED(argument)
#endif

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
/* A target's elementary functions. A kernel includes this header after vector.h. */

#if F64
#define SIGN_SHIFT 62
#define MAGIC 6755399441055744.0
#define EXP2_MAX 1024.0
#define EXP_MAX 710.0
#define LOG2E 1.4426950408889634074
#define LN2_HIGH 0.693147180369123816490
#define LN2_LOW 1.90821492927058770002e-10
#else
#define SIGN_SHIFT 30
#define MAGIC 12582912.0f
#define EXP2_MAX 128.0f
#define EXP_MAX 89.0f
#define LOG2E 1.44269504f
#define LN2_HIGH 0.693145751953125f
#define LN2_LOW 1.4286068203094172e-06f
#endif
#if DQ
#define EXP2_MIN (F64 ? (REAL)-1022 : (REAL)-126)
#else
#define EXP2_MIN (F64 ? (REAL)-1023 : (REAL)-127)
#endif

/* Instructions of AVX and AVX512-DQ, on vectors of REAL:
   - NOT_LESS: `lanes` gets the lanes in which x is not less than `least`
   - REMAINDER: f = x minus the nearest integer, 0 for infinity
   - SCALED: y = p * 2^n in these lanes, otherwise 0 */
#if MATRIX_UNITS && defined ATTN_EMULATE_TILES
#define NOT_LESS take_not_less
#define REMAINDER take_remainder
#define SCALED take_scaled
#define ROOT take_root
#else
#if F64
#define INSTRUCTION(name) name "pd"
#else
#define INSTRUCTION(name) name "ps"
#endif
#define NOT_LESS(lanes, x, least) __asm__(INSTRUCTION("vcmp") " $0x15, %2, %1, %0" : "=Yk"(lanes) : "v"(x), "v"(least))
#define REMAINDER(f, x) __asm__(INSTRUCTION("vreduce") " $0, %1, %0" : "=v"(f) : "v"(x))
#define SCALED(y, p, n, lanes) \
    __asm__(INSTRUCTION("vscalef") " %2, %1, %0%{%3%}%{z%}" : "=v"(y) : "v"(p), "v"(n), "Yk"(lanes))
#define ROOT(y, x) __asm__(INSTRUCTION("vsqrt") " %1, %0" : "=v"(y) : "v"(x))
#endif

/* Returns a polynomial of x with these coefficients, the highest power first. */
TARGET INLINE T(vec) T(polynomial)(T(vec) x, const int coefficients, const REAL *c)
{
    T(vec) y = x * c[0] + c[1];
    UNROLL for (int k = 2; k < coefficients; k++) y = y * x + c[k];
    return y;
}
#define POLYNOMIAL(x, c) T(polynomial)(x, sizeof(c) / sizeof *(c), c)

/* Returns the leading 12 bits of x. Their product with an integer up to 4096 is exact. */
INLINE float T(high_part)(double x)
{
    union {
        float number;
        uint32_t bits;
    } part = {(float)x};
    part.bits &= 0xfffff000u;
    return part.number;
}

/* Computes 2^x as 2^n * 2^f, where n is the integer nearest to x. A power series in f approximates 2^f. Adding MAGIC
   rounds x to n. AVX512-DQ has instructions for f and 2^n. */

/* Returns 2^x with a relative error below 1e-8, or 2e-19 in f64. It is 0 for x < EXP2_MIN, because subnormal numbers
   are slow. NaN stays NaN. */
TARGET INLINE T(vec) T(exp2)(T(vec) x)
{
#if DQ
    T(vec) f, y;
    uint16_t normal;
    NOT_LESS(normal, x, T(splat)(EXP2_MIN));
    REMAINDER(f, x);
#else
    x = T(pick)((T(mask))(x < EXP2_MIN), T(splat)(EXP2_MIN), x);
    x = T(pick)((T(mask))(x > EXP2_MAX), T(splat)(EXP2_MAX), x);
    const T(vec) t = x + MAGIC; /* the nearest integer is in the low bits of t */
    const T(vec) f = x - (t - MAGIC);
#endif
#if F64
    static const REAL p_terms[] = {2.5729324177362304214e-11, 4.455817908336064493e-10, 7.0548973041554992774e-09,
        1.0178057087733941105e-07, 1.321548680870556279e-06, 1.5252733841556772589e-05, 0.00015403530393370733411,
        0.0013333558146406470697, 0.0096181291076284794928, 0.055504108664821627039, 0.24022650695910071233,
        0.69314718055994530925, 1.0};
#else
    static const REAL p_terms[] = {0.00015453163f, 0.0013390863f, 0.0096180826f, 0.055503571f, 0.24022651f, 0.69314719f,
        1.0f};
#endif
    const T(vec) p = POLYNOMIAL(f, p_terms);
#if DQ
    SCALED(y, p, x - f, normal);
    return y;
#elif F64
    return p * (T(vec))(((T(mask))t + 1023) << 52);
#else
    return p * (T(vec))(((T(mask))t + 127) << 23);
#endif
}

#if BF16_PRODUCTS
/* Returns 2^x with a relative error below 1e-4, for results in bf16. */
TARGET INLINE T(vec) T(exp2_coarse)(T(vec) x)
{
    T(vec) f, y;
    uint16_t normal;
    NOT_LESS(normal, x, T(splat)(EXP2_MIN));
    REMAINDER(f, x);
    static const REAL p_terms[] = {0.0558282f, 0.2426278f, 0.6931214f, 0.9999251f};
    const T(vec) p = POLYNOMIAL(f, p_terms);
    SCALED(y, p, x - f, normal);
    return y;
}
#endif

/* Returns e^x = 2^n * 2^(r * log2(e)), with r = x - n * ln(2). ln(2) is the sum of two constants, so r is accurate.
   NaN stays NaN. */
TARGET INLINE T(vec) T(exp)(T(vec) x)
{
    x = T(pick)((T(mask))(x < -EXP_MAX), T(splat)(-EXP_MAX), x);
    x = T(pick)((T(mask))(x > EXP_MAX), T(splat)(EXP_MAX), x);
    const T(vec) t = x * LOG2E + MAGIC, n = t - MAGIC;
    const T(vec) r = (x - n * LN2_HIGH) - n * LN2_LOW;
    return T(exp2)(r * LOG2E) * T(exp2)(n);
}

/* Returns 1 / (1 + e^-x). NaN stays NaN. */
TARGET INLINE T(vec) T(sigmoid)(T(vec) x) { return (REAL)1 / (T(exp)(-x) + (REAL)1); }

/* Returns (e^x - 1) / 2 within 4 ulp, for -40 <= x <= EXP_MAX. With x = n * ln(2) + r, the result is 2^(n - 1) *
   (e^r - 1) + (2^(n - 1) - 1/2). This does not cancel near 0. */
TARGET INLINE T(vec) T(half_expm1)(T(vec) x)
{
    const T(vec) t = x * LOG2E + MAGIC, n = t - MAGIC;
    const T(vec) r = (x - n * LN2_HIGH) - n * LN2_LOW;
#if F64
    static const REAL p_terms[] = {2.0914686968086877233e-09, 2.5105217004720745164e-08, 2.7557273643110295328e-07,
        2.755725540020642443e-06, 2.4801587325547741216e-05, 0.00019841269874820625271, 0.0013888888888883748305,
        0.0083333333333261351258, 0.041666666666669755, 0.16666666666666670991, 0.5};
    const T(vec) half = (T(vec))(((T(mask))t + 1022) << 52);
#else
    static const REAL p_terms[] = {0.0013926184f, 0.0083631791f, 0.041666555f, 0.16666577f, 0.5f};
    const T(vec) half = (T(vec))(((T(mask))t + 126) << 23);
#endif
    const T(vec) p = POLYNOMIAL(r, p_terms) * (r * r) + r;
    return half * p + (half - (REAL)0.5);
}

/* Returns e^x - 1 within 4 ulp. NaN stays NaN. */
TARGET INLINE T(vec) T(expm1)(T(vec) x)
{
    x = T(pick)((T(mask))(x < (REAL)-40), T(splat)((REAL)-40), x);
    x = T(pick)((T(mask))(x > EXP_MAX), T(splat)(EXP_MAX), x);
    return T(half_expm1)(x) * (REAL)2;
}

/* Returns tanh(x) within 4 ulp: m / (m + 1) with the sign of x, where m = (e^(2|x|) - 1) / 2. */
TARGET INLINE T(vec) T(tanh)(T(vec) x)
{
    T(vec) y = T(abs)(x) * (REAL)2;
    y = T(pick)((T(mask))(y > (REAL)40), T(splat)((REAL)40), y); /* tanh(20) rounds to 1 */
    const T(vec) m = T(half_expm1)(y);
    return (T(vec))((T(mask))(m / (m + (REAL)1)) | ((T(mask))x & ~MAGNITUDE));
}

#if AVX && !F64
/* Like tanh, but faster if t = x^2 is less than 1/2 in all lanes. Then tanh(x) is x + x * t * p(t). */
TARGET INLINE T(vec) T(tanh_capped)(T(vec) x)
{
    const T(vec) t = x * x;
    static const REAL p_terms[] = {-0.00508563729f, 0.0200342186f, -0.0535374284f, 0.133288018f, -0.333331763f};
    const T(vec) p = (t * POLYNOMIAL(t, p_terms)) * x + x;
#if DQ
    uint16_t far; /* the lanes in which t is not less than 1/2 */
    NOT_LESS(far, t, T(splat)(0.5f));
#else
    int far;
    __asm__("vmovmskps %1, %0" : "=r"(far) : "x"(~(T(mask))(t < 0.5f)));
#endif
    if (__builtin_expect(far == 0, 1)) return p;
    return T(pick)((T(mask))(t < 0.5f), p, T(tanh)(x));
}
#endif

/* Returns erf(x) within 2 ulp.
   - For |x| < 1, the result is x + x * p(x^2).
   - For other x, the result is 1 - 2^-q(|x|) with the sign of x. q approximates -log2(1 - erf). */
TARGET INLINE T(vec) T(erf)(T(vec) x)
{
    const T(mask) sign = (T(mask))x & ~MAGNITUDE;
    T(vec) y = (T(vec))((T(mask))x & MAGNITUDE);
#if F64
    static const REAL p_terms[] = {-7.779465729549996e-10, 1.37109789045861e-08, -1.6206313408057644e-07,
        1.6447131524503547e-06, -1.4924712298094114e-05, 0.00012055293576686918, -0.0008548325929306829,
        0.005223977606118296, -0.02686617064311144, 0.11283791670944185, -0.3761263890318352, 0.12837916709551256};
    static const REAL q_terms[] = {7.017932032666212e-12, -1.7213436832314213e-10, 1.9029141065939443e-09,
        -1.2289200360401002e-08, 4.817067838578864e-08, -8.368659830860724e-08, -2.954918639395868e-07,
        3.0757516697930153e-06, -1.3952858271120123e-05, 3.9239829449897026e-05, -3.793758325435241e-05,
        -0.0003423752427016811, 0.002853508275233753, -0.014475749827047581, 0.059959990014682725, 1.2163466576872246,
        3.807225345853586, 2.6684166967815997};
#else
    static const REAL p_terms[] = {7.8538604e-05f, -0.00080101936f, 0.0051883277f, -0.026853812f, 0.112835852f,
        -0.37612626f, 0.12837917f};
    static const REAL q_terms[] = {-0.00026772573f, 0.002634594f, -0.014269538f, 0.059872836f, 1.2163626f, 3.8072243f,
        2.6684167f};
#endif
    const REAL most = F64 ? 6 : 4;
    y = T(pick)((T(mask))(y > most), T(splat)(most), y);
    const T(vec) s = y * y, t = y - (REAL)1, p = POLYNOMIAL(s, p_terms), q = POLYNOMIAL(t, q_terms);
    return (T(vec))((T(mask))T(pick)((T(mask))(y < (REAL)1), y + y * p, (REAL)1 - T(exp2)(-q)) | sign);
}

/* Returns the sine of *x + quarter * pi/2, with an error below 1e-17 for angles up to 10^6. It first subtracts the
   nearest multiple of pi/2. The multiple is a sum of three constants from fdlibm. */
TARGET INLINE T(vec) T(turn)(const T(wide) *x, int64_t quarter)
{
    const T(wide) t = *x * 0.63661977236758134308 + 6755399441055744.0; /* its low bits are *x / (pi/2), rounded */
    const T(wide) n = t - 6755399441055744.0;
    const T(wide) left = ((*x - n * 1.57079632673412561417) - n * 6.07710050630396597660e-11)
        - n * 2.02226624879595063154e-21;
    const T(ints) turns = (T(ints))t + quarter;
    const T(vec) r = __builtin_convertvector(left, T(vec)), z = r * r;
#if F64
    static const REAL s_terms[] = {-7.5866850700912671596e-13, 1.6058531414589010757e-10, -2.5052106231157905487e-08,
        2.7557319219335453429e-06, -0.00019841269841265060174, 0.0083333333333333314899, -0.16666666666666666666};
    static const REAL c_terms[] = {-1.1382614868556324576e-11, 2.0876146024689746601e-09, -2.7557317270560324065e-07,
        2.4801587298763433164e-05, -0.0013888888888887395746, 0.041666666666666665387};
    const T(vec) s = r + r * z * POLYNOMIAL(z, s_terms);
    const T(vec) c = 1.0 - z * 0.5 + z * z * POLYNOMIAL(z, c_terms);
#else
    const T(vec) s = r + r * z * (z * (z * -0.00019587841f + 0.0083327480f) - 0.16666665f);
    const T(vec) c = 1.0f - z * 0.5f + z * z * (z * (z * 2.4547892e-05f - 0.0013888303f) + 0.041666665f);
#endif
    const T(mask) odd = __builtin_convertvector(-(turns & 1), T(mask));
    const T(mask) negative = __builtin_convertvector((turns & 2), T(mask));
    return (T(vec))((T(mask))T(pick)(odd, c, s) ^ (negative << SIGN_SHIFT));
}

TARGET INLINE T(vec) T(sin)(const T(wide) *x) { return T(turn)(x, 0); }
TARGET INLINE T(vec) T(cos)(const T(wide) *x) { return T(turn)(x, 1); }

/* Returns log(1 + x) within 2 ulp. With u = 1 + x = 2^n * (1 + f) and s = f / (2 + f), log(1 + f) is f - s * (f - a
   power series in s^2). The rounding error of u, divided by u, is added. */
TARGET INLINE T(vec) T(log1p)(T(vec) x)
{
#if F64
    enum { FRACTION = 52, BIAS = 1023 };
    const BITS root = 0x3fe6a09e667f3bcd; /* sqrt(1/2) */
    static const REAL p_terms[] = {0.1479819860511658591, 0.1531383769920937332, 0.1818357216161805012,
        0.2222219843214978396, 0.2857142874366239149, 0.3999999999940941908, 0.6666666666666735130};
#else
    enum { FRACTION = 23, BIAS = 127 };
    const BITS root = 0x3f3504f3;
    static const REAL p_terms[] = {0.24279078841f, 0.28498786688f, 0.40000972152f, 0.66666662693f};
#endif
    const T(vec) u = x + (REAL)1;
    const T(mask) bits = (T(mask))u + (((BITS)BIAS << FRACTION) - root);
    const T(mask) exponent = (bits >> FRACTION) - BIAS;
    const T(vec) n = __builtin_convertvector(exponent, T(vec)), scale = (T(vec))((BIAS - exponent) << FRACTION),
                 f = (T(vec))((bits & (((BITS)1 << FRACTION) - 1)) + root) - (REAL)1;
    const T(vec) s = f / (f + (REAL)2), z = s * s, half = f * f * (REAL)0.5;
    const T(vec) lost = T(pick)((T(mask))(x > (REAL)1), (REAL)1 - (u - x), x - (u - (REAL)1)) * scale *
        ((REAL)1 - f + f * f);
    T(vec) y = s * (half + z * POLYNOMIAL(z, p_terms)) + (n * LN2_LOW + lost) - half + f + n * LN2_HIGH;
    y = T(pick)((T(mask))(x == T(splat)(-1)), T(splat)(-INFINITY), y);
    y = T(pick)((T(mask))(x < T(splat)(-1)), T(splat)(NAN), y);
    return T(pick)((T(mask))(x < T(splat)(INFINITY)), y, x);
}

/* Without a vector instruction, the C library is called per lane. */

#define BY_LANE(name, function) \
    TARGET INLINE T(vec) T(name)(T(vec) x) \
    { \
        for (int k = 0; k < LANES; k++) x[k] = F(function)(x[k]); \
        return x; \
    }
BY_LANE(log, log)
BY_LANE(log2, log2)
BY_LANE(floor, floor)
BY_LANE(ceil, ceil)
BY_LANE(round, rint) /* to the nearest integer, and half to even */
BY_LANE(whole, trunc) /* towards 0 */
#undef BY_LANE

/* Truncates *x to *to, clipped to 2^62 in size. NaN becomes 0. */
TARGET INLINE void T(truncate)(T(ints) *to, const T(wide) *x)
{
    for (int k = 0; k < LANES; k++) (*to)[k] = truncated((*x)[k]);
}

TARGET INLINE T(vec) T(sqrt)(T(vec) x)
{
#if AVX
    T(vec) y;
    ROOT(y, x);
#else
    T(vec) y = x;
    for (int k = 0; k < LANES; k++) y[k] = F(sqrt)(x[k]);
#endif
    return y;
}

TARGET INLINE T(vec) T(pow)(T(vec) x, T(vec) y)
{
    T(vec) z = x;
    for (int k = 0; k < LANES; k++) z[k] = F(pow)(x[k], y[k]);
    return z;
}

/* Returns whether an angle is above 10^6, which needs the C library. */
TARGET INLINE int T(far)(const T(wide) *x)
{
    const T(mask) above = (T(mask))(T(abs)(__builtin_convertvector(*x, T(vec))) > (REAL)1e6);
    return T(lane_max)((T(vec))(above & (T(mask))T(splat)(1))) > 0;
}

/* Like sin and cos, for angles of any size. */
TARGET INLINE T(vec) T(sin_any)(const T(wide) *x)
{
    T(vec) y = T(sin)(x);
    if (T(far)(x))
        for (int k = 0; k < LANES; k++) y[k] = (REAL)sin((*x)[k]);
    return y;
}

TARGET INLINE T(vec) T(cos_any)(const T(wide) *x)
{
    T(vec) y = T(cos)(x);
    if (T(far)(x))
        for (int k = 0; k < LANES; k++) y[k] = (REAL)cos((*x)[k]);
    return y;
}

/* A target's register-blocked matrix product. A kernel includes this header after vector.h, and again with PAIRED 1 if
   the target has products of bf16.
   - operands: reals, or pairs of bf16 if PAIRED
   - register block: ROWS rows by VECTORS vectors of the result, in registers
   - paired: elements t and t + 1, t even, are adjacent, in 32 bits
   - widened: 16-bit elements are converted to float
   - update: what a product does with its result c; see block */

#undef P
#undef IN
#undef IN_PER_REAL
#undef WORD
#undef WORD_MAX
#undef WORD_CARRY
#undef ROOM
#undef TIMES_BY
#undef ANY_DOT
#undef IF_PAIRED
#undef IF_FETCHED
#if PAIRED
#define P(name) T(name##_paired)
#define IN uint16_t
#define IN_PER_REAL 2
#define WORD uint16_t
#define WORD_MAX 0x7fff
#define WORD_CARRY 0x0080
#define ROOM MAX_PAIRED_STEPS
#define TIMES_BY *by
#define IF_PAIRED(argument) , argument
#else
#define P(name) T(name)
#define IN REAL
#define IN_PER_REAL 1
#if F64
#define WORD uint64_t
#define WORD_MAX UINT64_C(0x7fffffffffffffff)
#define WORD_CARRY UINT64_C(0x0010000000000000)
#else
#define WORD uint32_t
#define WORD_MAX 0x7fffffff
#define WORD_CARRY 0x00800000
#endif
#define ROOM MAX_STEPS
#define TIMES_BY
#define IF_PAIRED(argument)
#endif
#define WORDS (IN_PER_REAL * LANES)
#if FETCHED && !PAIRED
#define ANY_DOT T(dot_early)
#define IF_FETCHED(argument) , argument
#else
#define ANY_DOT P(dot)
#define IF_FETCHED(argument)
#endif

typedef WORD P(bits) __attribute__((vector_size(BYTES), aligned(sizeof(IN)), may_alias));
typedef WORD P(bit) __attribute__((may_alias));

/* Returns whether all p[r * row + c] are finite, for r < rows and c < columns. Infinity and NaN have all exponent
   bits set. So adding the lowest exponent bit, WORD_CARRY, carries into the sign. */
TARGET APART int P(finite)(const IN *p, int64_t row, int64_t rows, int64_t columns)
{
    P(bits) found = {0};
    WORD one = 0;
    for (int64_t r = 0; r < rows; r++, p += row) {
        int64_t c = 0;
        for (; c + WORDS <= columns; c += WORDS)
            found |= (*(const P(bits) *)(const void *)(p + c) & WORD_MAX) + WORD_CARRY;
        for (; c < columns; c++) one |= (*(const P(bit) *)(const void *)(p + c) & WORD_MAX) + WORD_CARRY;
    }
    for (int k = 0; k < WORDS; k++) one |= found[k];
    return one <= WORD_MAX;
}

#if !PAIRED
/* Like finite, for p[r * row + c * column]. */
TARGET APART int P(finite_apart)(const IN *p, int64_t row, int64_t rows, int64_t columns, int64_t column)
{
    int finite = 1;
    if (column == 1) return P(finite)(p, row, rows, columns);
    for (int64_t r = 0; r < rows; r++) finite &= P(finite)(p + r * row, column, columns, 1);
    return finite;
}
#endif

#if PAIRED
/* Returns the number that an element of an operand stands for. */
INLINE REAL P(number)(IN element) { return widened_bf16(element); }
#else
INLINE REAL P(number)(IN element) { return element; }
#endif

/* sum[r][x] += values[r * step] * weights[x], but only for values that are infinite or NaN, and for lanes x in
   `seen`. If PAIRED, `second` selects the second element of each pair of weights. */
TARGET APART void P(add_seen)(int64_t rows, REAL *sum, int64_t sum_row, const IN *values, int64_t step,
    const IN *weights IF_PAIRED(int64_t second), const T(mask) *seen, int64_t lanes)
{
    for (int64_t r = 0; r < rows; r++, sum += sum_row, values += step)
        for (int64_t x = 0; x < lanes && !P(finite)(values, 0, 1, 1); x += LANES) {
#if PAIRED
            const T(mask) pair = T(load_paired)(weights + 2 * x);
            const T(vec) weight = (T(vec))(second ? pair & -65536 : pair << 16);
#else
            const T(vec) weight = T(load)(weights + x);
#endif
            const T(vec) old = T(load)(sum + x);
            T(store)(sum + x, T(pick)(seen[x / LANES], old + P(number)(*values) * weight, old));
        }
}

/* sum[x] += weights[t] * values[t][x], but only for values that are infinite or NaN, and for steps t in `seen`. */
TARGET APART void P(add_seen_lanes)(int64_t lanes, REAL *sum, const IN *weights, const IN *values, int64_t value_row,
    int64_t steps, const T(mask) *seen)
{
    for (int64_t t = 0; t < steps; t++)
        for (int64_t x = 0; x < lanes && seen[t / LANES][t % LANES]; x++) {
            const IN *const p = values + t / IN_PER_REAL * value_row + IN_PER_REAL * x + t % IN_PER_REAL;
            if (!P(finite)(p, 0, 1, 1)) sum[x] += P(number)(weights[t]) * P(number)(*p);
        }
}

/* sum[r][x] = sum over t of a[r][t] * b[t][x], for up to ROWS rows r and `vectors` vectors of lanes x. The sums stay
   in registers. `update` says how c changes:
   - 0: c = sum, or by * sum if PAIRED
   - 1: c = c + sum, or c + by * sum
   - 2: c = c * factor[x] + sum
   - 3: like 2, with compensated summation. If `factor` is NULL, it is 1.
   If `early` is not 0, step t prefetches row t + early of b. A step prefetches only one row, because a core can have
   few cache misses in flight. */
TARGET INLINE void P(block)(const int rows, const int vectors, int64_t steps, const IN *a, int64_t a_row,
    int64_t a_step,
    const IN *b, int64_t b_step, REAL *c, int64_t c_row, const int update IF_PAIRED(const float by),
    const REAL *factor IF_COMPENSATED(REAL *compensation) IF_FETCHED(const int64_t early))
{
    T(vec) sum[TALL][VECTORS];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (T(vec)){0};
    int64_t t = 0;
#if TALL > ROWS && !PAIRED
    for (; rows > ROWS && t + 2 <= steps; t += 2, a += 2 * a_step, b += 2 * b_step) {
        const REAL *row[TALL];
        UNROLL for (int r = 0; r < rows; r += 4) {
            row[r] = a + r * a_row;
            /* Without this, compilers compute the address of each row from that of the row before. */
            if (a_row != 1) __asm__("" : "+r"(row[r]));
        }
        UNROLL for (int k = 0; k < 2; k++) {
            const T(vec) x = T(load)(b + k * b_step);
            UNROLL for (int r = 0; r < rows; r++) sum[r][0] += row[r & -4][(r & 3) * a_row + k * a_step] * x;
        }
    }
#endif
    for (; t < steps; t++, a += a_step, b += b_step) {
#if PAIRED
        T(mask) x[VECTORS];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = T(load_paired)(b + v * 2 * LANES);
        UNROLL for (int r = 0; r < rows; r++) {
            const int32_t y = T(pair)(a + r * a_row);
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = T(multiply)(sum[r][v], y, x[v]);
        }
#else
        T(vec) x[VECTORS];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = T(load)(b + v * LANES);
#if FETCHED && !PAIRED
        UNROLL for (int v = 0; v < vectors; v++)
            if (early && v * LANES * (int64_t)sizeof *b % 64 == 0)
                __builtin_prefetch(b + early * b_step + v * LANES, 0, NEAR);
#endif
        UNROLL for (int r = 0; r < rows; r++) {
            const REAL y = T(factor)(a + r * a_row);
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
        }
#endif
    }
    UNROLL for (int v = 0; v < vectors; v++) {
        const T(vec) times = update >= 2 && factor ? T(load)(factor + v * LANES) : T(splat)(1);
        UNROLL for (int r = 0; r < rows; r++) {
            REAL *const to = c + r * c_row + v * LANES;
#if COMPENSATED
            if (update == 3) {
                T(add)(to, compensation + r * c_row + v * LANES, sum[r][v], times);
                continue;
            }
#endif
            T(store)(to, update == 0 ? sum[r][v] TIMES_BY
                : update == 1 ? T(load)(to) + sum[r][v] TIMES_BY : T(load)(to) * times + sum[r][v]);
        }
    }
}

/* Like block, but if `update` is 0 and the sum is long, it adds `span` terms at a time. Each span is summed
   separately, which reduces rounding errors. */
TARGET INLINE void P(parts)(const int rows, const int vectors, int64_t steps, const int64_t span, const IN *a,
    int64_t a_row, int64_t a_step, const IN *b, int64_t b_step, REAL *c, int64_t c_row,
    const int update IF_PAIRED(const float by),
    const REAL *factor IF_COMPENSATED(REAL *compensation) IF_FETCHED(const int64_t early))
{
    const int64_t first = update == 0 && steps > 2 * span ? span : steps;
    P(block)(rows, vectors, first, a, a_row, a_step, b, b_step, c, c_row, update IF_PAIRED(by),
        factor IF_COMPENSATED(compensation) IF_FETCHED(early));
    if (update == 0)
        for (int64_t t = first; t < steps; t += span)
            P(block)(rows, vectors, min(span, steps - t), a + t * a_step, a_row, a_step, b + t * b_step, b_step, c,
                c_row, 1 IF_PAIRED(by), NULL IF_COMPENSATED(NULL) IF_FETCHED(early));
}

/* Like parts, for any number of rows. `lanes` is a multiple of LANES * vectors. `tail` is rows % ROWS if this is a
   constant, otherwise -1. */
TARGET INLINE void P(blocks)(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const IN *a, int64_t a_row, int64_t a_step, const IN *b, int64_t b_step, REAL *c, int64_t c_row,
    const int update IF_PAIRED(const float by),
    const REAL *factor IF_COMPENSATED(REAL *compensation) IF_FETCHED(const int64_t early))
{
    for (int64_t x = 0; x < lanes; x += vectors * LANES) {
        const REAL *const f = factor ? factor + x : NULL;
#if COMPENSATED
        REAL *const left = compensation ? compensation + x : NULL;
#endif
        int64_t r = 0;
        for (; r + ROWS <= rows; r += ROWS)
            P(parts)(ROWS, vectors, steps, span, a + r * a_row, a_row, a_step, b + IN_PER_REAL * x, b_step,
                c + r * c_row + x, c_row, update IF_PAIRED(by),
                f IF_COMPENSATED(left ? left + r * c_row : NULL) IF_FETCHED(early));
        for (; QUICK && r < rows; r++)
            P(parts)(1, vectors, steps, span, a + r * a_row, a_row, a_step, b + IN_PER_REAL * x, b_step,
                c + r * c_row + x, c_row, update IF_PAIRED(by),
                f IF_COMPENSATED(left ? left + r * c_row : NULL) IF_FETCHED(early));
        switch (QUICK ? 0 : tail >= 0 ? tail : rows - r) {
#define PARTS(n) \
    case n: \
        P(parts)(n, vectors, steps, span, a + r * a_row, a_row, a_step, b + IN_PER_REAL * x, b_step, \
            c + r * c_row + x, c_row, update IF_PAIRED(by), \
            f IF_COMPENSATED(left ? left + r * c_row : NULL) IF_FETCHED(early)); \
        break;
            ROWS_BELOW(ROWS, PARTS)
#undef PARTS
        }
    }
}

/* Like block, for any number of rows and vectors. It computes one vector at a time. */
TARGET APART void P(narrow)(int64_t lanes, int64_t rows, int64_t steps, int64_t span, const IN *a, int64_t a_row,
    int64_t a_step, const IN *b, int64_t b_step, REAL *c, int64_t c_row, int update IF_PAIRED(const float by),
    const REAL *factor IF_COMPENSATED(REAL *compensation))
{
    const int64_t most = update == 0 && steps > 2 * span ? span : steps;
    for (int64_t t = 0; t < steps; t += most) {
        const int64_t some = min(most, steps - t);
        const IN *const from = a + t * a_step;
        const int now = t > 0 ? 1 : update;
        for (int64_t x = 0; x < lanes; x += LANES) {
            const REAL *const f = factor ? factor + x : NULL;
#if COMPENSATED
            REAL *const left = compensation ? compensation + x : NULL;
#endif
            int64_t r = 0;
#if TALL > ROWS && !PAIRED
            /* ROWS sums of one vector are too few to hide the latency of an addition. */
            for (; r + TALL <= rows && (a_row == 1 || a_step == 1); r += TALL)
                if (a_row == 1)
                    P(block)(TALL, 1, some, from + r, 1, a_step, b + t * b_step + x, b_step, c + r * c_row + x, c_row,
                        now, f IF_COMPENSATED(left ? left + r * c_row : NULL) IF_FETCHED(0));
                else
                    P(block)(TALL, 1, some, from + r * a_row, a_row, 1, b + t * b_step + x, b_step,
                        c + r * c_row + x, c_row, now, f IF_COMPENSATED(left ? left + r * c_row : NULL) IF_FETCHED(0));
#endif
            for (; r < rows; r += QUICK ? 1 : ROWS)
                switch (QUICK ? 1 : min(rows - r, ROWS)) {
        default: P(block)(ROWS, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + IN_PER_REAL * x, b_step,
            c + r * c_row + x, c_row, now IF_PAIRED(by),
            f IF_COMPENSATED(left ? left + r * c_row : NULL) IF_FETCHED(0)); break;
#define BLOCKS_OF_ONE(n) \
    case n: \
        P(block)(n, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + IN_PER_REAL * x, b_step, \
            c + r * c_row + x, c_row, now IF_PAIRED(by), \
            f IF_COMPENSATED(left ? left + r * c_row : NULL) IF_FETCHED(0)); \
        break;
                    ROWS_BELOW(ROWS, BLOCKS_OF_ONE)
#undef BLOCKS_OF_ONE
                }
        }
    }
}

/* Returns the number of lanes that are computed in blocks of `vectors` vectors. If more than half of the last block
   is needed, the whole block is computed. */
TARGET INLINE int64_t P(lanes_in_blocks)(const int vectors, const int64_t lanes)
{
    const int64_t block = vectors * LANES;
    return (lanes + (block - 1) / 2) / block * block;
}

/* Computes any number of rows. `lanes` is a multiple of LANES. Other parameters are as in blocks. */
TARGET INLINE void ANY_DOT(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const IN *a, int64_t a_row, int64_t a_step, const IN *b, int64_t b_step, REAL *c, int64_t c_row,
    const int update IF_PAIRED(const float by),
    const REAL *factor IF_COMPENSATED(REAL *compensation) IF_FETCHED(const int64_t early))
{
    const int64_t x = P(lanes_in_blocks)(vectors, lanes);
    P(blocks)(vectors, x, rows, tail, steps, span, a, a_row, a_step, b, b_step, c, c_row, update IF_PAIRED(by),
        factor IF_COMPENSATED(compensation) IF_FETCHED(early));
    if (x < lanes)
        P(narrow)(lanes - x, rows, steps, span, a, a_row, a_step, b + IN_PER_REAL * x, b_step, c + x, c_row,
            update IF_PAIRED(by), factor ? factor + x : NULL IF_COMPENSATED(compensation ? compensation + x : NULL));
}

#if FETCHED && !PAIRED
/* Computes the product without prefetching, because b is in a cache. */
TARGET INLINE void P(dot)(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const REAL *a, int64_t a_row, int64_t a_step, const REAL *b, int64_t b_step, REAL *c,
    int64_t c_row, const int update, const REAL *factor IF_COMPENSATED(REAL *compensation))
{
    P(dot_early)(vectors, lanes, rows, tail, steps, span, a, a_row, a_step, b, b_step, c, c_row, update,
        factor IF_COMPENSATED(compensation), 0);
}

#endif

#if !PAIRED
/* Like dot, but a is in memory, so its rows are prefetched AHEAD rows early. For each row of a, `width` elements
   of a row of `next` are prefetched too, which a later product reads, and `result_width` elements of a row of `result`,
   which the task writes at its end. `result` has `results` rows. */
TARGET INLINE void P(dot_ahead)(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const REAL *a, int64_t a_row, int64_t a_step, const REAL *b, int64_t b_step, REAL *c,
    int64_t c_row, const int update, const REAL *factor IF_COMPENSATED(REAL *compensation), const REAL *next,
    int64_t next_row,
    const int64_t width, const REAL *result, int64_t result_row, const int64_t result_width, int64_t results)
{
    const int64_t whole = rows - rows % ROWS, line = 64 / (int64_t)sizeof *a,
        in_blocks = P(lanes_in_blocks)(vectors, lanes);
    int64_t x = 0;
    for (; x < in_blocks; x += vectors * LANES) {
        const REAL *const f = factor ? factor + x : NULL;
#if COMPENSATED
        REAL *const left = compensation ? compensation + x : NULL;
#endif
        for (int64_t r = 0; r < whole; r += ROWS) {
            for (int64_t k = r; k < r + ROWS && x == 0; k++) {
                for (int64_t t = 0; t < steps; t += line) __builtin_prefetch(a + (k + AHEAD) * a_row + t, 0, 2);
                for (int64_t t = 0; t < width; t += line) __builtin_prefetch(next + k * next_row + t, 0, 2);
                for (int64_t t = 0; t < result_width && k < results; t += line)
                    __builtin_prefetch(result + k * result_row + t, 1, 2);
            }
            P(parts)(ROWS, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
                update, f IF_COMPENSATED(left ? left + r * c_row : NULL) IF_FETCHED(0));
        }
        P(dot)(vectors, vectors * LANES, rows % ROWS, tail, steps, span, a + whole * a_row, a_row, a_step, b + x,
            b_step, c + whole * c_row + x, c_row, update, f IF_COMPENSATED(left ? left + whole * c_row : NULL));
    }
    if (x < lanes)
        P(narrow)(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row, update,
            factor ? factor + x : NULL IF_COMPENSATED(compensation ? compensation + x : NULL));
}

/* Computes sum[x] = sum over t of a[t][x] * b[t * b_step], for the lanes x of up to 8 vectors. The terms are added in
   the order of dot with `update` 0. The result is a row of c if lane < 0. Otherwise it is this lane of rows of c, whose
   other lanes get 0. */
TARGET INLINE void P(some_rows)(const int vectors, int64_t steps, const int64_t span, const REAL *a, int64_t a_step,
    const REAL *b, int64_t b_step, REAL *c, int64_t c_row, const int64_t lane)
{
    const int64_t part = steps > 2 * span ? span : steps;
    T(vec) sum[8], whole[8];
    UNROLL for (int v = 0; v < 8; v++) whole[v] = (T(vec)){0}; /* gcc 12 warns if only `vectors` of them are set */
    for (int64_t first = 0; first < steps; first += part) {
        const int64_t end = min(first + part, steps);
        UNROLL for (int v = 0; v < 8; v++) sum[v] = (T(vec)){0};
        for (int64_t t = first; t < end; t++) {
            const REAL y = T(factor)(b + t * b_step);
            UNROLL for (int v = 0; v < vectors; v++) sum[v] += y * T(load)(a + t * a_step + v * LANES);
        }
        UNROLL for (int v = 0; v < vectors; v++) whole[v] = first ? whole[v] + sum[v] : sum[v];
    }
    UNROLL for (int v = 0; v < vectors; v++)
        if (lane < 0)
            T(store)(c + v * LANES, whole[v]);
        else
            for (int l = 0; l < LANES; l++, c += c_row) {
                T(store)(c, (T(vec)){lane == 0 ? whole[v][l] : 0});
                if (lane > 0) c[lane] = whole[v][l];
            }
}

/* Like dot with `update` 0, for one row of a. `lanes` is a multiple of LANES. */
TARGET INLINE void P(dot_row)(const int64_t lanes, int64_t steps, const int64_t span, const REAL *a, int64_t a_step,
    const REAL *b, int64_t b_step, REAL *c)
{
    int64_t x = 0;
    for (; x + 8 * LANES <= lanes; x += 8 * LANES)
        P(some_rows)(8, steps, span, b + x, b_step, a, a_step, c + x, 0, -1);
    if (lanes % (8 * LANES))
        P(some_rows)((int)(lanes % (8 * LANES) / LANES), steps, span, b + x, b_step, a, a_step, c + x, 0, -1);
}

/* Computes dot_row of a and b, and dot_lane of b and `lane` in its first lane, in one pass over b. */
TARGET INLINE void P(both_rows)(const int vectors, int64_t steps, const int64_t span, const REAL *a, int64_t a_step,
    const REAL *lane, int64_t lane_step, const REAL *b, int64_t b_step, REAL *c, REAL *d, int64_t d_row)
{
    const int64_t part = steps > 2 * span ? span : steps;
    T(vec) sum[2][8], whole[2][8];
    for (int64_t first = 0; first < steps; first += part) {
        const int64_t end = min(first + part, steps);
        UNROLL for (int v = 0; v < vectors; v++) sum[0][v] = sum[1][v] = (T(vec)){0};
        for (int64_t t = first; t < end; t++) {
            const REAL y = T(factor)(a + t * a_step), z = T(factor)(lane + t * lane_step);
            UNROLL for (int v = 0; v < vectors; v++) {
                const T(vec) x = T(load)(b + t * b_step + v * LANES);
                sum[0][v] += y * x;
                sum[1][v] += z * x;
            }
        }
        UNROLL for (int k = 0; k < 2; k++)
            UNROLL for (int v = 0; v < vectors; v++) whole[k][v] = first ? whole[k][v] + sum[k][v] : sum[k][v];
    }
    UNROLL for (int v = 0; v < vectors; v++) {
        T(store)(c + v * LANES, whole[0][v]);
        for (int l = 0; l < LANES; l++, d += d_row) T(store)(d, (T(vec)){whole[1][v][l]});
    }
}

/* Like both_rows, for any number of lanes that is a multiple of LANES. */
TARGET INLINE void P(dot_both)(const int64_t lanes, int64_t steps, const int64_t span, const REAL *a, int64_t a_step,
    const REAL *lane, int64_t lane_step, const REAL *b, int64_t b_step, REAL *c, REAL *d, int64_t d_row)
{
    const int most = LANES == 16 ? 8 : 4; /* sums of both products fit in the registers */
    int64_t x = 0;
    for (; x + most * LANES <= lanes; x += most * LANES)
        P(both_rows)(most, steps, span, a, a_step, lane, lane_step, b + x, b_step, c + x, d + x * d_row, d_row);
    if (lanes % (most * LANES))
        P(both_rows)((int)(lanes % (most * LANES) / LANES), steps, span, a, a_step, lane, lane_step, b + x, b_step,
            c + x, d + x * d_row, d_row);
}

/* Like dot with `update` 0, for one lane only: c[r][lane] = sum over t of a[t][r] * b[t][lane]. The rows r of a step
   are adjacent, so they are in the lanes of vectors. The number of rows is a multiple of LANES. */
TARGET INLINE void P(dot_lane)(const int64_t rows, const int64_t lane, int64_t steps, const int64_t span, const REAL *a,
    int64_t a_step, const REAL *b, int64_t b_step, REAL *c, int64_t c_row)
{
    int64_t r = 0;
    for (; r + 8 * LANES <= rows; r += 8 * LANES)
        P(some_rows)(8, steps, span, a + r, a_step, b + lane, b_step, c + r * c_row, c_row, lane);
    if (rows % (8 * LANES))
        P(some_rows)((int)(rows % (8 * LANES) / LANES), steps, span, a + r, a_step, b + lane, b_step, c + r * c_row,
            c_row, lane);
}

/* Like dot, but for row r, a is 0 from step `visible` + r on. These steps are left out for whole blocks of rows. */
TARGET INLINE void P(dot_until)(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const REAL *a, int64_t a_row, int64_t a_step, const REAL *b, int64_t b_step, REAL *c,
    int64_t c_row, int64_t visible)
{
    for (int64_t r = 0; r < rows; r += ROWS) {
        const int64_t some = min(rows - r, ROWS), end = min(steps, visible + r + some - 1), last = end > 1 ? end : 1;
        if (some == ROWS)
            P(dot)(vectors, lanes, ROWS, 0, last, span, a + r * a_row, a_row, a_step, b, b_step, c + r * c_row, c_row,
                0, NULL IF_COMPENSATED(NULL));
        else
            P(dot)(vectors, lanes, some, tail, last, span, a + r * a_row, a_row, a_step, b, b_step, c + r * c_row,
                c_row, 0, NULL IF_COMPENSATED(NULL));
    }
}

/* Like dot with `update` 0, but also prefetches the rows of `arrays` arrays, spread over the blocks, because a core can
   have few cache misses in flight. */
TARGET INLINE void P(dot_meanwhile)(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const REAL *a, int64_t a_row, int64_t a_step, const REAL *b, int64_t b_step, REAL *c,
    int64_t c_row, const int update, const REAL *factor IF_COMPENSATED(REAL *compensation), const struct coming *next,
    const int arrays, int64_t nexts)
{
    const int64_t whole = rows - rows % ROWS, some = steps > 2 * span ? span : steps,
                  in_blocks = P(lanes_in_blocks)(vectors, lanes),
                  every = in_blocks / (vectors * LANES) * (whole / ROWS) * ((steps + some - 1) / some) / nexts;
    int64_t fetched = 0, wait = 1, x = 0;
    for (; x < in_blocks; x += vectors * LANES) {
        for (int64_t r = 0; r < whole; r += ROWS)
            for (int64_t t = 0; t < steps; t += some) {
                if (--wait <= 0 && fetched < nexts) {
                    for (int n = 0; n < arrays; n++)
                        for (int64_t byte = 0; byte < next[n].width; byte += 64)
                            __builtin_prefetch((const char *)next[n].at + fetched * next[n].row + byte);
                    fetched++, wait = every;
                }
                P(block)(ROWS, vectors, min(some, steps - t), a + r * a_row + t * a_step, a_row, a_step,
                    b + t * b_step + x, b_step, c + r * c_row + x, c_row, t > 0,
                    NULL IF_COMPENSATED(NULL) IF_FETCHED(0));
            }
        P(dot)(vectors, vectors * LANES, rows - whole, tail, steps, span, a + whole * a_row, a_row, a_step, b + x,
            b_step, c + whole * c_row + x, c_row, update, factor IF_COMPENSATED(compensation));
    }
    if (x < lanes)
        P(narrow)(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row, update,
            factor IF_COMPENSATED(compensation));
}

/* c[r][x] = c[r][x] * kept[r] - c[r][x] * lost[r] + the sum over t of a[r][t] * b[t][x], for up to ROWS rows r and
   `vectors` vectors of lanes x. With compensated summation, `lost` is the share of what is kept. */
TARGET INLINE void P(block_kept)(const int rows, const int vectors, int64_t steps, const REAL *a, int64_t a_row,
    int64_t a_step, const REAL *b, int64_t b_step, REAL *c, int64_t c_row IF_COMPENSATED(REAL *compensation),
    const REAL *kept, const REAL *lost)
{
    T(vec) sum[ROWS][VECTORS];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (T(vec)){0};
    for (int64_t t = 0; t < steps; t++, a += a_step, b += b_step) {
        T(vec) x[VECTORS];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = T(load)(b + v * LANES);
        UNROLL for (int r = 0; r < rows; r++) {
            const REAL y = T(factor)(a + r * a_row);
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) {
            REAL *const to = c + r * c_row + v * LANES;
            const T(vec) old = T(load)(to);
#if COMPENSATED
            if (compensation) {
                REAL *const left = compensation + r * c_row + v * LANES;
                const T(vec) held = old * kept[r], rest = T(load)(left) * kept[r];
                const T(vec) more = rest + (sum[r][v] - (held * lost[r])), new = held + more;
                T(store)(left, more - (new - held));
                T(store)(to, new);
                continue;
            }
#endif
            T(store)(to, old * kept[r] - old * lost[r] + sum[r][v]);
        }
}

/* Like block_kept, for any number of rows. */
TARGET INLINE void P(rows_kept)(const int vectors, int64_t rows, int64_t steps, const REAL *a, int64_t a_row,
    int64_t a_step, const REAL *b, int64_t b_step, REAL *c, int64_t c_row IF_COMPENSATED(REAL *compensation),
    const REAL *kept, const REAL *lost)
{
    int64_t r = 0;
#define KEPT(n) \
    for (; r + (n) <= rows; r += (n)) \
        P(block_kept)(n, vectors, steps, a + r * a_row, a_row, a_step, b, b_step, \
            c + r * c_row, c_row IF_COMPENSATED(compensation ? compensation + r * c_row : NULL), kept + r, lost + r);
    KEPT(ROWS)
    KEPT(ROWS > 2 ? 2 : 1)
    KEPT(1)
#undef KEPT
}

/* Like block_kept, for any number of rows and lanes. `lanes` is a multiple of LANES. */
TARGET INLINE void P(dot_kept)(const int vectors, const int64_t lanes, int64_t rows, int64_t steps, const REAL *a,
    int64_t a_row, int64_t a_step, const REAL *b, int64_t b_step, REAL *c,
    int64_t c_row IF_COMPENSATED(REAL *compensation), const REAL *kept, const REAL *lost)
{
    int64_t x = 0;
    for (; x + vectors * LANES <= lanes; x += vectors * LANES)
        P(rows_kept)(vectors, rows, steps, a, a_row, a_step, b + x, b_step, c + x,
            c_row IF_COMPENSATED(compensation ? compensation + x : NULL), kept, lost);
    for (; x < lanes; x += LANES)
        P(rows_kept)(1, rows, steps, a, a_row, a_step, b + x, b_step, c + x,
            c_row IF_COMPENSATED(compensation ? compensation + x : NULL), kept, lost);
}
#endif

#if ROOM
/* Like dot, but uses 0 for infinity and NaN in a. It copies one row of a at a time. */
TARGET INLINE void P(dot_finite)(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const IN *a, int64_t a_row, int64_t a_step, const IN *b, int64_t b_step, REAL *c, int64_t c_row,
    const int update IF_PAIRED(const float by), const REAL *factor IF_COMPENSATED(REAL *compensation))
{
    IN row[ROOM];
    (void)tail;
    for (int64_t r = 0; r < rows; r++, a += a_row) {
        for (int64_t t = 0; t < steps; t++) {
#if PAIRED
            row[2 * t] = P(finite)(a + t * a_step, 0, 1, 1) ? a[t * a_step] : 0;
            row[2 * t + 1] = P(finite)(a + t * a_step + 1, 0, 1, 1) ? a[t * a_step + 1] : 0;
#else
            row[t] = P(finite)(a + t * a_step, 0, 1, 1) ? a[t * a_step] : 0;
#endif
        }
        P(dot)(vectors, lanes, 1, ROWS > 1, steps, span, row, 0, IN_PER_REAL, b, b_step, c + r * c_row, c_row,
            update IF_PAIRED(by), factor IF_COMPENSATED(compensation ? compensation + r * c_row : NULL));
    }
}

/* Like dot, but uses 0 for infinity and NaN in b. It copies one vector of columns of b at a time. If `fetched`, it
   adds in the order of dot_fetched, so that results round equally. */
TARGET INLINE void P(dot_finite_lanes)(const int fetched, const int vectors, const int64_t lanes, int64_t rows,
    const int tail, int64_t steps, const int64_t span, const IN *a, int64_t a_row, int64_t a_step, const IN *b,
    int64_t b_step, REAL *c, int64_t c_row, const int update IF_PAIRED(const float by),
    const REAL *factor IF_COMPENSATED(REAL *compensation))
{
    IN column[ROOM * LANES];
    (void)vectors;
    (void)tail;
    for (int64_t x = 0; x < lanes; x += LANES) {
        for (int64_t t = 0; t < steps; t++)
            for (int64_t k = 0; k < WORDS; k++) {
                const IN *const p = b + t * b_step + IN_PER_REAL * x + k;
                column[t * WORDS + k] = P(finite)(p, 0, 1, 1) ? *p : 0;
            }
        const int64_t some = fetched ? SOME : steps;
        for (int64_t t = 0; t < steps; t += some) /* values are seldom infinite or NaN */
            P(narrow)(LANES, rows, min(steps - t, some), span, a + t * a_step, a_row, a_step, column + t * WORDS,
                WORDS, c + x, c_row, update IF_PAIRED(by),
                factor ? factor + x : NULL IF_COMPENSATED(compensation ? compensation + x : NULL));
    }
}
#endif

#define S(name) T(name)
#define AT_ONCE 16
#if OF(1, 0, 1)
#define EARLY 1
#endif
#define EARLY_FOR_SEVERAL OF(32, 32, 64)
#define SEVERAL_FROM OF(9, 2, 2)
#if OF(1, 0, 0)
#define SOONER 1
#endif
/* A target's functions for rows of one type of elements in memory, which can differ from REAL. A kernel includes this
   header for each type, after product.h. It defines these names first, which the header forgets:
   - S(name): the name with the suffixes of the type and the target
   - one of STORED_F16, STORED_BF16, STORED_FP8, STORED_I8, STORED_I8_32, STORED_I8_64, STORED_Q8_0 and STORED_Q4_0, or
     none for REAL
   - BLOCK_ELEMENTS: the elements that share a scale, 0 for a row. BLOCK_BYTES: the bytes of such a block
   - BYTE_PRODUCTS: the condition that the machine multiplies bytes, for q4_0
   - AT_ONCE: the rows that dot_fetched reads at a time
   - EARLY: whether products of one row prefetch. EARLY_FOR_SEVERAL: how many rows ahead products of several rows
     prefetch. SEVERAL_FROM: the number of rows that are several. SOONER: on some machines, products of several rows
     prefetch as many rows ahead as products of one row
   - PAGED: the rows after those of a product are at `after`

   A row is STORED *. Element x of it has the subscript x, or a place inside a row of bytes. Widened: converted to
   REAL. */

#define BLOCKS (STORED_I8 || STORED_I8_32 || STORED_I8_64 || STORED_Q8_0 || STORED_Q4_0)
#if STORED_F16 || STORED_BF16
#define STORED uint16_t
#define NARROW 1
#elif STORED_FP8 || BLOCKS
#define STORED uint8_t
#define NARROW 1
#else
#define STORED REAL
#define NARROW 0
#endif
#define HALF_SCALE (STORED_Q8_0 || STORED_Q4_0)
#if HALF_SCALE
#define SCALE uint16_t
#else
#define SCALE REAL
#endif
#define SCALE_BYTES ((int)sizeof(SCALE))
/* The most scales of LANES rows in dot_along, or of AT_ONCE rows in dot_fetched. */
#if BLOCK_ELEMENTS
#define SCALES_OF(n) ((n) / BLOCK_ELEMENTS + 1)
#else
#define SCALES_OF(n) 1
#endif
#if SCALES_OF(MAX_TERMS) * LANES > SCALES_OF(MAX_LANES) * AT_ONCE
#define SCALES (SCALES_OF(MAX_TERMS) * LANES)
#else
#define SCALES (SCALES_OF(MAX_LANES) * AT_ONCE)
#endif
#if BLOCKS
#define IF_BLOCKS(...) , __VA_ARGS__
#else
#define IF_BLOCKS(...)
#endif
#if EARLY
#define IF_EARLY(argument) , argument
#define EARLY_OF_ONE early
#else
#define IF_EARLY(argument)
#define EARLY_OF_ONE 0
#endif
#if PAGED
#define IF_PAGED(argument) , argument
#define AFTER after
/* Products that prefetch without `after` would prefetch the wrong rows of short pages. */
#define IN_PART(distance) (after && steps <= EARLY_FOR_SEVERAL ? 0 : (distance))
#else
#define IF_PAGED(argument)
#define AFTER NULL
#define IN_PART(distance) (distance)
#endif
#if SOONER
#define DISTANCE (early ? early : EARLY_FOR_SEVERAL)
#define SEVERAL (early ? 2 : SEVERAL_FROM)
#else
#define DISTANCE EARLY_FOR_SEVERAL
#define SEVERAL SEVERAL_FROM
#endif

/* Rows of 8 bits or less are short and always prefetched, so parts whose sums stay in registers are faster. With one
   query and other rows, a part of a row is read at a time: half rows of 512 bytes make the hardware prefetch badly,
   which costs more time than sums that are not in registers. */
#if BLOCKS && !ROOMY
#define PART_VECTORS (REGISTERS / 4)
#elif ROOMY
#define PART_VECTORS 8
#else
#define PART_VECTORS 16
#endif
#define PART_LANES (PART_VECTORS * LANES)
#define ABREAST (ROOMY ? 4 : 2) /* with 4 rows, the sums stay in registers */

#if STORED_F16 || STORED_FP8 || HALF_SCALE
TARGET INLINE T(vec) S(from_halves)(T(halves) half) /* f16 has 5 bits of exponent and 10 of fraction */
{
#if F16C
    T(vec) x;
    __asm__("vcvtph2ps %1, %0" : "=v"(x) : "v"(half));
    return x;
#else
    const T(mask) bits = __builtin_convertvector(half, T(mask)), x = (bits & 0x7fff) << 13;
    /* infinity and NaN keep their exponent */
    const T(mask) normal = x + (112 << 23) + ((T(mask))(x >= 0x0f800000) & (112 << 23));
    const T(vec) tiny = (T(vec))(x + (113 << 23)) - 0x1p-14f;
    return (T(vec))((T(mask))T(pick)((T(mask))(x < 0x00800000), tiny, (T(vec))normal) | (bits & 0x8000) << 16);
#endif
}

#endif
#if BLOCKS
/* Returns the scale of a block, which begins with it. */
TARGET INLINE REAL S(scale_of)(const STORED *block)
{
#if HALF_SCALE
    uint16_t half;
    __builtin_memcpy(&half, block, sizeof half);
#if F16C
    const int32_t four __attribute__((vector_size(16))) = {half};
    float made __attribute__((vector_size(16)));
    __asm__("vcvtph2ps %1, %0" : "=v"(made) : "v"(four));
    return made[0];
#else
    return widened_f16(half);
#endif
#else
    REAL scale;
    __builtin_memcpy(&scale, block, sizeof scale);
    return scale;
#endif
}

/* Returns the block of element x. */
INLINE const STORED *S(block_of)(const STORED *row, int64_t x)
{
#if BLOCK_ELEMENTS
    return row + x / BLOCK_ELEMENTS * BLOCK_BYTES;
#else
    (void)x;
    return row;
#endif
}

/* Returns the number of element x in its block. */
INLINE int64_t S(in_block)(int64_t x)
{
#if BLOCK_ELEMENTS
    return x % BLOCK_ELEMENTS;
#else
    return x;
#endif
}

#endif
/* Returns the elements x … x + LANES - 1 of a row before they are multiplied by a scale. x is a multiple of LANES. */
TARGET INLINE T(vec) S(unscaled)(const STORED *row, int64_t x)
{
#if STORED_Q4_0
    /* A block has the elements k and 16 + k in the low and high half of byte k. */
    const int64_t k = S(in_block)(x);
    const T(bytes) both = *(const T(bytes) *)(const void *)(S(block_of)(row, x) + BLOCK_BYTES - 16 + k % 16);
    const T(mask) wide = __builtin_convertvector(both, T(mask)), element = k < 16 ? wide : wide >> 4;
#if DQ && LANES == 16
    static const T(vec) number = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
    T(vec) found;
    __asm__("vpermps %1, %2, %0" : "=v"(found) : "v"(number), "v"(element)); /* uses the low 4 bits of each element */
    return found;
#else
    return __builtin_convertvector((element & 15) - 8, T(vec));
#endif
#elif BLOCKS
    const T(bytes) element = *(const T(bytes) *)(const void *)(S(block_of)(row, x) + SCALE_BYTES + S(in_block)(x));
    return __builtin_convertvector(__builtin_convertvector(element, T(mask)), T(vec));
#elif STORED_FP8
    /* The bits of e4m3 are those of an f16 that is 256 times smaller. */
    const T(halves) bits = __builtin_convertvector(*(const T(bytes) *)(const void *)(row + x), T(halves));
    const T(vec) number = S(from_halves)((bits & 0x7f) << 7 | (bits & 0x80) << 8) * 256;
    const T(mask) size = __builtin_convertvector(bits, T(mask)) & 0x7f;
    return T(pick)((T(mask))(size == 0x7f), T(splat)((REAL)NAN), number);
#elif STORED_F16 && F16C
    T(vec) wide;
    __asm__("vcvtph2ps %1, %0" : "=v"(wide) : "m"(*(const T(halves) *)(const void *)(row + x)));
    return wide;
#elif STORED_F16
    return S(from_halves)(*(const T(halves) *)(const void *)(row + x));
#elif STORED_BF16
    /* bf16 is the upper half of a float */
    return (T(vec))(__builtin_convertvector(*(const T(halves) *)(const void *)(row + x), T(mask)) << 16);
#else
    return T(load)(row + x);
#endif
}

/* Returns the elements x … x + LANES - 1 of a row. */
TARGET INLINE T(vec) S(widened)(const STORED *row, int64_t x)
{
#if BLOCKS
    return S(unscaled)(row, x) * S(scale_of)(S(block_of)(row, x));
#else
    return S(unscaled)(row, x);
#endif
}

/* Like widened, but `scale` has the scales of the row, one for `block` elements each. */
TARGET INLINE T(vec) S(scaled)(const STORED *row, int64_t x, const REAL *scale, const int64_t block)
{
#if BLOCKS
    return S(unscaled)(row, x) * scale[x / block];
#else
    (void)scale;
    (void)block;
    return S(unscaled)(row, x);
#endif
}

#if BLOCKS
/* Returns the number of scales of a row. */
INLINE int64_t S(scales)(int64_t elements)
{
#if BLOCK_ELEMENTS
    return (elements + BLOCK_ELEMENTS - 1) / BLOCK_ELEMENTS;
#else
    return elements > 0;
#endif
}

/* Returns the number of elements that share a scale. */
INLINE int64_t S(block_size)(int64_t elements)
{
#if BLOCK_ELEMENTS
    (void)elements;
    return BLOCK_ELEMENTS;
#else
    return elements;
#endif
}

/* Copies the scales of rows as they are stored, scales(elements) for each. */
TARGET INLINE void S(copy_scales)(int64_t rows, const int64_t elements, const STORED *b, int64_t b_row, SCALE *copy)
{
    const int64_t count = S(scales)(elements);
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t k = 0; k < count; k++)
            __builtin_memcpy(copy + r * count + k, b + r * b_row + k * BLOCK_BYTES, sizeof *copy);
}

/* Converts `count` copied scales, whole vectors of them. These loads would wait for recent stores of single scales, so
   a loop copies the scales of its next rows before it uses those of these rows. */
TARGET INLINE void S(convert_scales)(int64_t count, const SCALE *copy, REAL *scale)
{
    for (int64_t k = 0; k < count; k += LANES)
#if HALF_SCALE
        T(store)(scale + k, S(from_halves)(*(const T(halves) *)(const void *)(copy + k)));
#else
        T(store)(scale + k, T(load)(copy + k));
#endif
}

#endif
#if NARROW
/* Returns element x of a row. */
TARGET INLINE REAL S(element)(const STORED *row, int64_t x)
{
#if STORED_Q4_0
    const STORED *const block = S(block_of)(row, x);
    const int64_t k = S(in_block)(x);
    return (REAL)((block[BLOCK_BYTES - 16 + k % 16] >> (k < 16 ? 0 : 4) & 15) - 8) * S(scale_of)(block);
#elif BLOCKS
    const STORED *const block = S(block_of)(row, x);
    return (REAL)(int8_t)block[SCALE_BYTES + S(in_block)(x)] * S(scale_of)(block);
#elif STORED_FP8
    const uint16_t bits = row[x], half = (uint16_t)((bits & 0x7f) << 7 | (bits & 0x80) << 8);
    return (bits & 0x7f) == 0x7f ? (REAL)NAN : widened_f16(half) * 256;
#elif STORED_F16
    return widened_f16(row[x]);
#else
    return widened_bf16(row[x]);
#endif
}

#endif
/* Returns the size of a row of `elements` elements, in units of STORED. */
INLINE int64_t S(units)(int64_t elements)
{
#if BLOCKS && BLOCK_ELEMENTS
    return (elements + BLOCK_ELEMENTS - 1) / BLOCK_ELEMENTS * BLOCK_BYTES;
#elif BLOCKS
    return elements + SCALE_BYTES;
#else
    return elements;
#endif
}

#if NARROW
/* Like transpose, but widens the elements. */
TARGET APART void S(transpose_widened)(const STORED *from, int64_t from_row, int64_t rows, int64_t columns, REAL *to,
    int64_t to_row, int64_t ahead)
{
    const int64_t whole = rows - rows % LANES, deep = columns - columns % LANES;
    for (int64_t k = 0; k < whole / LANES * (deep / LANES); k++) {
        const int64_t row = k / (deep / LANES) * LANES, column = k % (deep / LANES) * LANES;
        T(vec) t[LANES];
        UNROLL for (int r = 0; r < LANES; r++) __builtin_prefetch(from + (row + r + ahead) * from_row + column, 0, 2);
        UNROLL for (int r = 0; r < LANES; r++) t[r] = S(widened)(from + (row + r) * from_row, column);
        T(exchange)(t);
        UNROLL for (int r = 0; r < LANES; r++) T(store)(to + (column + r) * to_row + row, t[r]);
    }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = row < whole ? deep : 0; column < columns; column++)
            to[column * to_row + row] = S(element)(from + row * from_row, column);
}

/* Like finite, but the elements are widened first. `columns` is a multiple of LANES. */
TARGET APART int S(finite_stored)(const STORED *p, int64_t row, int64_t rows, int64_t columns)
{
    REAL wide[LANES];
    for (int64_t r = 0; r < rows; r++, p += row)
        for (int64_t c = 0; c < columns; c += LANES) {
            T(store)(wide, S(widened)(p, c));
            if (!T(finite)(wide, 0, 1, LANES)) return 0;
        }
    return 1;
}

#endif
#if NARROW
/* Widens rows of `elements` elements, which is a multiple of LANES. There are at most LANES or AT_ONCE rows. */
TARGET INLINE void S(widen_rows)(int64_t rows, const int64_t elements, const STORED *b, int64_t b_row,
    REAL *wide IF_BLOCKS(const REAL *scale))
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < elements; x += LANES)
#if BLOCKS
            T(store)(wide + r * elements + x,
                S(scaled)(b + r * b_row, x, scale + r * S(scales)(elements), S(block_size)(elements)));
#else
            T(store)(wide + r * elements + x, S(unscaled)(b + r * b_row, x));
#endif
}

#endif
/* Returns the row that comes `distance` rows after the first of the `rest` rows at b. The rows at `next` come after
   these. NULL: the rows that follow in memory. */
INLINE const STORED *S(ahead)(const STORED *b, int64_t b_row, int64_t distance, int64_t rest, const STORED *next)
{
    return next && distance >= rest ? next + (distance - rest) * b_row : b + distance * b_row;
}

/* Prefetches `rows` rows of b, `width` elements of each. */
TARGET INLINE void S(fetch)(int64_t rows, const int64_t width, const STORED *b, int64_t b_row)
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < S(units)(width); x += 64 / (int64_t)sizeof *b)
            __builtin_prefetch(b + r * b_row + x, 0, NEAR);
}

#if MAX_TERMS
#ifdef BYTE_PRODUCTS
/* Products with keys of q4_0, by instructions that multiply bytes (AVX512-VNNI). stored.h includes this header.
   - A row of numbers is written as integers of 24 bits, three digits of a signed byte each, times the row's size. Its
     largest number becomes 127 * 65536, so rounding moves a number by at most 2^-24 of the largest one.
   - Elements of keys have 8 added, as they are stored, because one operand of the instructions is unsigned. The sums
     start with -8 times the sum of the row's digits.
   - The sums of a block are exact. So the bits of a result do not depend on the number of rows. */

#define STARTS ((MAX_TERMS / 32 / 5 + 1) * LANES) /* 3 numbers for each of 5 blocks */

/* Writes a row as digits, a third of 3 * MAX_TERMS bytes each. `start` gets where the sums begin: those of the digits
   of
   block n from n / 5 * LANES + n % 5 * 3 on. Returns false if a number is infinite or NaN. */
TARGET INLINE int S(write_digits)(const int64_t steps, const REAL *a, int8_t *digit, int32_t *start, REAL *size)
{
    const REAL TOP = 127 * 65536;
    T(mask) largest = {0}, up = {0};
    up += 0x7f800000;
    for (int64_t s = 0; s < steps; s += LANES) {
        const T(mask) bits = (T(mask))T(load)(a + s) & 0x7fffffff;
        largest = (T(mask))T(pick)((T(mask))(largest < bits), (T(vec))bits, (T(vec))largest);
    }
    const REAL found = T(lane_max)((T(vec))(T(mask))T(pick)((T(mask))(largest > up), (T(vec))up, (T(vec))largest)),
        top = found > 1e-30f ? found : 1e-30f, by = found < INFINITY ? TOP / top : 0;
    *size = top / TOP;
    for (int64_t first = 0; first < steps; first += 5 * BLOCK_ELEMENTS) {
        T(vec) t[LANES];
        UNROLL for (int k = 0; k < LANES; k++) t[k] = (T(vec)){0};
        UNROLL for (int n = 0; n < 5; n++) {
            T(mask) sum[3] = {{0}, {0}, {0}};
            for (int64_t s = first + n * BLOCK_ELEMENTS; s < min(first + (n + 1) * BLOCK_ELEMENTS, steps); s += LANES) {
                const T(vec) scaled = T(load)(a + s) * by;
                T(mask) x, part[3];
                __asm__("vcvtps2dq %1, %0" : "=v"(x) : "v"(scaled));
                UNROLL for (int d = 2; d > 0; d--) {
                    part[d] = x << 24 >> 24;
                    x = (x - part[d]) >> 8;
                }
                part[0] = x;
                UNROLL for (int d = 0; d < 3; d++) {
                    sum[d] += part[d];
                    *(T(bytes) *)(void *)(digit + d * MAX_TERMS + s) = __builtin_convertvector(part[d], T(bytes));
                }
            }
            UNROLL for (int d = 0; d < 3; d++) t[3 * n + d] = __builtin_convertvector(sum[d], T(vec)) * -8.0f;
        }
        const T(mask) made = __builtin_convertvector(T(lane_sums)(t), T(mask));
        __builtin_memcpy(start + first / (5 * BLOCK_ELEMENTS) * LANES, &made, sizeof made);
    }
    return found < INFINITY;
}

/* Reads 16 bytes of each of LANES rows of b and puts the words of all rows into a vector. Row k is at lane k. */
TARGET INLINE void S(turn_words)(const int whole, int64_t last, const STORED *b, int64_t b_row, T(mask) *t)
{
    T(mask) x[4];
    int64_t three = 3 * b_row;
    __asm__("" : "+r"(three)); /* so that few registers hold the addresses of all rows */
    UNROLL for (int k = 0; k < 4; k++, b += b_row) {
        __asm__("" : "+r"(b));
        const STORED *at[4] = {b, b + 4 * b_row, b + 8 * b_row, b + 4 * three};
        if (!whole)
            UNROLL for (int n = 0; n < 4; n++) at[n] = b + (min(4 * n + k, last) - k) * b_row;
        __asm__("vbroadcasti32x4 %1, %0" : "=v"(x[k]) : "m"(*(const T(bytes) *)(const void *)at[0]));
        __asm__("vinserti32x4 $1, %1, %0, %0" : "+v"(x[k]) : "m"(*(const T(bytes) *)(const void *)at[1]));
        __asm__("vinserti32x4 $2, %1, %0, %0" : "+v"(x[k]) : "m"(*(const T(bytes) *)(const void *)at[2]));
        __asm__("vinserti32x4 $3, %1, %0, %0" : "+v"(x[k]) : "m"(*(const T(bytes) *)(const void *)at[3]));
    }
    UNROLL for (int k = 0; k < 4; k += 2) {
        const T(mask) a = x[k], c = x[k + 1];
        x[k] = __builtin_shufflevector(a, c, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
        x[k + 1] = __builtin_shufflevector(a, c, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
    }
    UNROLL for (int k = 0; k < 2; k++) {
        t[2 * k] = __builtin_shufflevector(x[k], x[k + 2], 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
        t[2 * k + 1] =
            __builtin_shufflevector(x[k], x[k + 2], 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
    }
}

/* Copies the scales of the rows first … end - 1 of b, of up to 2 * LANES rows. Those of a block are side by side. */
TARGET INLINE void S(copy_turned_scales)(int64_t first, int64_t end, const int64_t steps, const STORED *b,
    int64_t b_row,
    SCALE *copy)
{
    for (int64_t r = first; r < end; r++)
        UNROLL for (int64_t k = 0; k < S(scales)(steps); k++)
            __builtin_memcpy(copy + k * 2 * LANES + r, b + r * b_row + k * BLOCK_BYTES, sizeof *copy);
}

/* Writes the elements of a block of 2 * LANES rows, 8 added, in words of 4. Word w of row k is at byte
   8 * LANES * w + 4 * k. b is the block of the first row. */
TARGET INLINE void S(turn_block)(const int whole, int64_t last, const STORED *b, int64_t b_row, T(mask) *to)
{
    UNROLL for (int half = 0; half < 2; half++) {
        T(mask) t[4];
        S(turn_words)(whole, last - half * LANES, b + half * LANES * b_row + SCALE_BYTES, b_row, t);
        UNROLL for (int k = 0; k < 4; k++) {
            to[2 * k + half] = t[k] & 0x0f0f0f0f;
            to[2 * (4 + k) + half] = t[k] >> 4 & 0x0f0f0f0f;
        }
    }
}

/* Adds the products of block n of up to 4 rows, from write_digits, with 2 * LANES keys, from turn_block, to c, or
   stores them if n is 0.
   - times: the scales of the keys
   - wide: whether both vectors of c are stored, not only the first
   - asks: the number of rows at `ahead` that are prefetched */
TARGET INLINE void S(byte_columns)(const int rows, const int64_t n, const int wide, const int8_t *digit,
    const int32_t *start, const REAL *size, const T(mask) *keys, const T(vec) *times, const int64_t steps,
    const int64_t asks, const STORED *ahead, int64_t b_row, REAL *c, int64_t c_row)
{
    enum { WORDS_OF_BLOCK = BLOCK_ELEMENTS / 4 };
    T(mask) t[4][3][2];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int d = 0; d < 3; d++)
            UNROLL for (int k = 0; k < 2; k++)
                t[r][d][k] = start[r * STARTS + n / 5 * LANES + n % 5 * 3 + d] - (T(mask)){0};
    UNROLL for (int w = 0; w < WORDS_OF_BLOCK; w++) {
        for (int64_t k = w * asks / WORDS_OF_BLOCK; k < (w + 1) * asks / WORDS_OF_BLOCK; k++)
            S(fetch)(1, steps, ahead + k * b_row, b_row);
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int d = 0; d < 3; d++) {
                int32_t word;
                __builtin_memcpy(&word, digit + (3 * r + d) * MAX_TERMS + n * BLOCK_ELEMENTS + 4 * w, sizeof word);
                const T(mask) all = word - (T(mask)){0};
                UNROLL for (int k = 0; k < 2; k++)
                    __asm__("vpdpbusd %2, %1, %0" : "+v"(t[r][d][k]) : "v"(keys[2 * w + k]), "v"(all));
            }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int k = 0; k < 1 + wide; k++) {
            const T(vec) low = __builtin_convertvector((t[r][1][k] << 8) + t[r][2][k], T(vec)),
                high = __builtin_convertvector(t[r][0][k], T(vec));
            REAL *const to = c + r * c_row + k * LANES;
            T(store)(to, (n ? T(load)(to) : (T(vec)){0}) + (high * 65536.0f + low) * size[r] * times[k]);
        }
}

/* Like byte_columns, for any number of rows. */
TARGET INLINE void S(all_byte_columns)(int64_t rows, const int64_t n, const int wide, const int8_t *digit,
    const int32_t *start, const REAL *size, const T(mask) *keys, const T(vec) *times, const int64_t steps,
    const int64_t asks, const STORED *ahead, int64_t b_row, REAL *c, int64_t c_row)
{
    for (int64_t ask = asks; rows >= 4; rows -= 4, ask = 0) {
        S(byte_columns)(4, n, wide, digit, start, size, keys, times, steps, ask, ahead, b_row, c, c_row);
        digit += 12 * MAX_TERMS;
        start += 4 * STARTS;
        size += 4;
        c += 4 * c_row;
    }
    switch (rows) {
        case 3: S(byte_columns)(3, n, wide, digit, start, size, keys, times, steps, 0, ahead, b_row, c, c_row); break;
        case 2: S(byte_columns)(2, n, wide, digit, start, size, keys, times, steps, 0, ahead, b_row, c, c_row); break;
        case 1: S(byte_columns)(1, n, wide, digit, start, size, keys, times, steps, 0, ahead, b_row, c, c_row); break;
    }
}

/* The products of up to 16 rows with up to 2 * LANES keys.
   - copy: the scales of these keys
   - next: gets the scales of the 2 * LANES keys that follow, of which `later` exist
   - asks: whether later keys are prefetched */
TARGET INLINE void S(byte_tile)(const int whole, int64_t last, int64_t rows, const int64_t steps, const int8_t *digit,
    const int32_t *start, const REAL *size, const STORED *b, int64_t b_row, const SCALE *copy, SCALE *next,
    int64_t later, const int asks, REAL *c, int64_t c_row)
{
    const int64_t blocks = S(scales)(steps), share = (2 * LANES + blocks - 1) / blocks;
    for (int64_t n = 0; n < blocks; n++) {
        T(mask) keys[2 * BLOCK_ELEMENTS / 4];
        T(vec) times[2];
        const int64_t end = min((n + 1) * share, 2 * LANES);
        const STORED *const ahead = b + (n * share + EARLY_FOR_SEVERAL) * b_row;
        if (asks && rows < 4) S(fetch)(end - n * share, steps, ahead, b_row);
        S(copy_turned_scales)(n * share, min(end, later), steps, b + 2 * LANES * b_row, b_row, next);
        S(turn_block)(whole, last, b + n * BLOCK_BYTES, b_row, keys);
        UNROLL for (int k = 0; k < 2; k++)
            times[k] = S(from_halves)(*(const T(halves) *)(const void *)(copy + (2 * n + k) * LANES));
        S(all_byte_columns)(rows, n, whole || last >= LANES, digit, start, size, keys, times, steps, asks ? share : 0,
            ahead, b_row, c, c_row);
    }
}

/* c[x] = sum over t of a[t] * b[x][t], for a row that has infinity or NaN. */
TARGET APART void S(dot_infinite)(int64_t columns, int64_t steps, const REAL *a, const STORED *b, int64_t b_row,
    REAL *c)
{
    for (int64_t x = 0; x < columns; x++) {
        c[x] = 0;
        for (int64_t s = 0; s < steps; s++) c[x] += a[s] * S(element)(b + x * b_row, s);
    }
}

/* Like dot_along. Up to 16 rows use the same bytes of keys. */
TARGET INLINE void S(dot_bytes)(int64_t rows, int64_t columns, const int64_t steps, const REAL *a, int64_t a_row,
    const STORED *b, int64_t b_row, REAL *c, int64_t c_row)
{
    int8_t digit[16 * 3 * MAX_TERMS] __attribute__((aligned(16)));
    int32_t start[16 * STARTS];
    REAL size[16];
    SCALE copy[2][2 * SCALES];
    for (int64_t first = 0; first < rows; first += 16, a += 16 * a_row, c += 16 * c_row) {
        const int64_t some = min(rows - first, 16);
        int infinite = 0; /* bits of rows with infinity or NaN */
        S(copy_turned_scales)(0, min(2 * LANES, columns), steps, b, b_row, copy[0]);
        for (int64_t r = 0; r < some; r++)
            if (!S(write_digits)(steps, a + r * a_row, digit + 3 * r * MAX_TERMS, start + r * STARTS, size + r))
                infinite |= 1 << r;
        for (int64_t x = 0; x < columns; x += 2 * LANES) {
            const int64_t odd = x / (2 * LANES) % 2;
            const int64_t last = min(2 * LANES, columns - x) - 1, later = min(columns - x - 2 * LANES, 2 * LANES);
            if (last == 2 * LANES - 1)
                S(byte_tile)(1, last, some, steps, digit, start, size, b + x * b_row, b_row, copy[odd], copy[!odd],
                    later, first == 0, c + x, c_row);
            else
                S(byte_tile)(0, last, some, steps, digit, start, size, b + x * b_row, b_row, copy[odd], copy[!odd], 0,
                    0, c + x, c_row);
        }
        for (int64_t r = 0; infinite >> r; r++)
            if (infinite >> r & 1) S(dot_infinite)(columns, steps, a + r * a_row, b, b_row, c + r * c_row);
    }
}
#undef STARTS
#endif
/* Products of rows with rows stored in memory: sums along the elements of a row. stored.h includes this header. */

#define TURNED_SUMS (LANES < 4 ? 2 * LANES : 8) /* registers with sums of turned rows */
#define TURNED_LEVELS (LANES == 16 ? 4 : LANES == 8 ? 3 : LANES == 4 ? 2 : 1)
/* Elements s … s + LANES - 1 of a row of b. `scale` has the scales of all rows. */
#if BLOCKS
#define ELEMENTS(row, s) S(scaled)(b + (row) * b_row, s, scale + (row) * S(scales)(steps), S(block_size)(steps))
#else
#define ELEMENTS(row, s) S(unscaled)(b + (row) * b_row, s)
#endif

/* c[k] = sum over t of a[t] * b[k][t] for LANES columns k and `steps` terms t. b has all LANES rows if `whole`.
   Otherwise row `last` is the last row of b. The rows of b are read in memory order, which helps the hardware
   prefetch them. */
TARGET INLINE void S(columns)(const int whole, int64_t last, const int64_t steps, const REAL *a, const STORED *b,
    int64_t b_row, REAL *c IF_BLOCKS(const REAL *scale) IF_BLOCKS(SCALE *next,
    int64_t later) IF_EARLY(const STORED *ahead))
{
    T(vec) t[LANES];
#if BLOCKS && !ROOMY
    /* With few registers, 4 vectors of one row at a time, whose scale is loaded once. The sums of 4 rows do not wait
       for
       each other. */
    UNROLL for (int k = 0; k < LANES; k += 4) {
        T(vec) sum[4] = {{0}, {0}, {0}, {0}};
        UNROLL for (int n = 0; n < 4; n++) {
            if (whole && ahead) S(fetch)(1, steps, ahead + (k + n) * b_row, b_row);
            S(copy_scales)(1, steps, b + (k + n < later ? LANES + k + n : 0) * b_row, b_row,
                next + (k + n) * S(scales)(steps));
        }
        UNROLL for (int64_t first = 0; first < steps; first += 4 * LANES)
            UNROLL for (int n = 0; n < 4; n++) {
                const int64_t row = whole ? k + n : min(k + n, last);
                UNROLL for (int64_t s = first; s < min(first + 4 * LANES, steps); s += LANES)
                    sum[n] += T(load)(a + s) * ELEMENTS(row, s);
                __asm__ volatile("" : : : "memory"); /* without it, converted rows are stored and loaded again */
            }
        UNROLL for (int n = 0; n < 4; n++) t[k + n] = sum[n];
    }
#else
    UNROLL for (int k = 0; k < LANES; k++) t[k] = (T(vec)){0};
    for (int64_t first = 0; first < steps; first += PART_LANES)
        UNROLL for (int k = 0; k < LANES; k++) {
#if EARLY
            if (whole && ahead) S(fetch)(1, min(PART_LANES, steps - first), ahead + k * b_row + S(units)(first), b_row);
#endif
#if BLOCKS
            if (first == 0) /* without a branch; scales of later rows are not used */
                S(copy_scales)(1, steps, b + (k < later ? LANES + k : 0) * b_row, b_row, next + k * S(scales)(steps));
#endif
            for (int64_t s = first; s < min(first + PART_LANES, steps); s += LANES)
                t[k] += T(load)(a + s) * ELEMENTS(whole ? k : min(k, last), s);
            __asm__ volatile("" : : : "memory");
        }
#endif
    T(store)(c, T(lane_sums)(t));
}

/* Like columns, for up to 4 rows of a, which share the loads of b. It has LANES rows. ABREAST columns are computed at
   a time.
   - wide: b converted to floats, in rows of `steps` elements. NULL if `direct`: b is converted here
   - ask: of ABREAST rows from ahead on, those with these numbers are prefetched */
TARGET INLINE void S(some_columns)(const int rows, const int direct, const int64_t steps, const REAL *a, int64_t a_row,
    const STORED *b, int64_t b_row, const REAL *wide, const STORED *ahead, const int64_t *ask, REAL *c,
    int64_t c_row IF_BLOCKS(const REAL *scale))
{
    T(vec) t[4][LANES];
    for (int64_t k = 0; k < LANES; k += ABREAST) {
        T(vec) sum[4][ABREAST];
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int n = 0; n < ABREAST; n++) sum[r][n] = (T(vec)){0};
#if ROOMY
        /* Without the limit, gcc 12 warns of an endless loop. */
        S(fetch)(min(ask[1] - ask[0], ABREAST), steps, ahead + (k + ask[0]) * b_row, b_row);
        UNROLL for (int64_t s = 0; s < steps; s += LANES) {
#else
#if BLOCKS
        if (ask[1]) S(fetch)(ABREAST, steps, ahead + k * b_row, b_row);
#endif
        for (int64_t s = 0; s < steps; s += LANES) {
#if !BLOCKS
            if (ask[1]) /* a few at a time, because a core can have few cache misses in flight */
                UNROLL for (int n = 0; n < ABREAST; n++) __builtin_prefetch(ahead + (k + n) * b_row + s, 0, NEAR);
#endif
#endif
            T(vec) x[ABREAST];
            UNROLL for (int n = 0; n < ABREAST; n++)
                x[n] = direct ? ELEMENTS(k + n, s) : T(load)(wide + (k + n) * steps + s);
            UNROLL for (int r = 0; r < rows; r++) {
                const T(vec) y = T(load)(a + r * a_row + s);
                UNROLL for (int n = 0; n < ABREAST; n++) sum[r][n] += x[n] * y;
            }
        }
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int n = 0; n < ABREAST; n++) t[r][k + n] = sum[r][n];
    }
    UNROLL for (int r = 0; r < rows; r++) T(store)(c + r * c_row, T(lane_sums)(t[r]));
}

/* Computes groups of up to 4 rows of c. Each group prefetches `share` of every ABREAST rows from `ahead` on. */
TARGET INLINE void S(columns_of_4)(const int direct, int64_t rows, const int64_t steps, const REAL *a, int64_t a_row,
    const STORED *b, int64_t b_row, const REAL *wide, const int64_t share, const STORED *ahead, REAL *c,
    int64_t c_row IF_BLOCKS(const REAL *scale))
{
    int64_t ask[2] = {0, min(share, ABREAST)};
    for (; QUICK && rows > 0; rows--, a += a_row, c += c_row)
        S(some_columns)(1, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row IF_BLOCKS(scale));
    for (; !QUICK && rows >= 4; rows -= 4, a += 4 * a_row, c += 4 * c_row) {
        S(some_columns)(4, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row IF_BLOCKS(scale));
        UNROLL for (int k = 0; k < 2; k++) ask[k] = min(ask[k] + share, ABREAST);
    }
    switch (QUICK ? 0 : rows) {
#define COLUMNS(n) \
    case n: S(some_columns)(n, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row IF_BLOCKS(scale)); break;
        ROWS_BELOW(4, COLUMNS)
#undef COLUMNS
    }
}

/* Like columns, for two or more rows of a. If b has fewer than LANES rows, the other columns of c get any numbers.
   `several` rows of a and more prefetch the rows at `ahead`. */
TARGET INLINE void S(all_columns)(const int whole, int64_t last, int64_t rows, const int64_t steps, const REAL *a,
    int64_t a_row, const STORED *b, int64_t b_row, REAL *c, int64_t c_row, const int64_t several,
    const STORED *ahead IF_BLOCKS(const REAL *scale))
{
    const int64_t share = !whole || rows < several ? 0 : rows > 4 * ABREAST ? 1 : (ABREAST * 4 + rows - 1) / rows;
    if (whole && (rows <= 4 || !NARROW)) {
        S(columns_of_4)(1, rows, steps, a, a_row, b, b_row, NULL, share, ahead, c, c_row IF_BLOCKS(scale));
        return;
    }
#if NARROW
    REAL wide[LANES * MAX_TERMS] __attribute__((aligned(BYTES)));
    S(widen_rows)(whole ? LANES : last + 1, steps, b, b_row, wide IF_BLOCKS(scale));
    for (int64_t x = (last + 1) * steps; x < LANES * steps; x += LANES) T(store)(wide + x, T(splat)(0));
    S(columns_of_4)(0, rows, steps, a, a_row, b, b_row, wide, share, ahead, c, c_row IF_BLOCKS(scale));
#else
    for (int64_t r = 0; r < rows; r++) S(columns)(0, last, steps, a + r * a_row, b, b_row,
        c + r * c_row IF_EARLY(NULL));
#endif
}

/* Puts the rows of up to 2 vectors in lanes. Term s * LANES + l of all rows is at number l * steps / LANES + s. */
TARGET INLINE void S(turn_rows)(const int vectors, const int64_t steps, const REAL *a, int64_t a_row, REAL *turned)
{
    const int64_t parts = steps / LANES;
    for (int v = 0; v < vectors; v++)
        for (int64_t s = 0; s < parts; s++)
            T(square)(a + v * LANES * a_row + s * LANES, a_row, turned + (s * vectors + v) * LANES,
                parts * vectors * LANES);
}

/* sum[v * keys + k] = the sum over s of the products of one lane: term s of `turned`, and of row k of b, for `keys`
   rows
   of b. Terms of `turned` are `vectors` vectors apart, those of b are LANES elements apart. */
TARGET INLINE void S(turned_lane)(const int vectors, const int keys, const int64_t parts, const REAL *turned,
    const REAL *b, int64_t b_row, T(vec) *sum)
{
    UNROLL for (int k = 0; k < vectors * keys; k++) sum[k] = (T(vec)){0};
    UNROLL for (int64_t s = 0; s < parts; s++) {
        T(vec) x[2];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = T(load)(turned + (s * vectors + v) * LANES);
        UNROLL for (int n = 0; n < keys; n++) {
            const REAL y = b[n * b_row + s * LANES];
            UNROLL for (int v = 0; v < vectors; v++) sum[v * keys + n] += y * x[v];
        }
        __asm__ volatile("" : : : "memory"); /* keeps the terms in order, so that the sums do not wait for each other */
    }
}

/* Adds the sums of earlier lanes to sums of as many later lanes. */
TARGET INLINE void S(add_turned)(const int sums, const T(vec) *earlier, T(vec) *sum)
{
    UNROLL for (int k = 0; k < sums; k++) sum[k] = earlier[k] + sum[k];
}

/* t[v * keys + k] = the sum over s of the products of turned rows with row k of b. The terms are added in the order of
   columns: first those of each lane of a vector, then the lanes as in lane_sums. `asks` tells whether `keys` rows at
   `ahead` are prefetched. */
TARGET INLINE void S(turned_columns)(const int vectors, const int keys, const int64_t steps, const REAL *turned,
    const REAL *b, int64_t b_row, const int asks, const STORED *ahead, int64_t ahead_row, T(vec) *t)
{
    enum { GROUP = LANES < 4 ? 2 : 4 };
    const int64_t parts = steps / LANES, lane = parts * vectors * LANES;
    const int sums = vectors * keys;
    T(vec) group[TURNED_LEVELS][TURNED_SUMS]; /* sums of 1, 2, 4,
        … groups of lanes that wait for as many later ones */
    T(vec) sum[TURNED_SUMS];
    for (int l = 0; l < LANES; l += GROUP, turned += GROUP * lane, b += GROUP) {
        T(vec) one[TURNED_SUMS], two[TURNED_SUMS];
        for (int k = l; asks && k < l + GROUP; k++)
            if (k % (LANES / keys) == 0) S(fetch)(1, steps, ahead + k / (LANES / keys) * ahead_row, ahead_row);
        S(turned_lane)(vectors, keys, parts, turned, b, b_row, one);
        S(turned_lane)(vectors, keys, parts, turned + lane, b + 1, b_row, sum);
        S(add_turned)(sums, one, sum);
        if (GROUP == 4) {
            UNROLL for (int k = 0; k < sums; k++) two[k] = sum[k];
            S(turned_lane)(vectors, keys, parts, turned + 2 * lane, b + 2, b_row, one);
            S(turned_lane)(vectors, keys, parts, turned + 3 * lane, b + 3, b_row, sum);
            S(add_turned)(sums, one, sum);
            S(add_turned)(sums, two, sum);
        }
        int level = 0;
        for (int g = l / GROUP; g & 1; g /= 2) S(add_turned)(sums, group[level++], sum);
        if (l + GROUP == LANES) break;
        UNROLL for (int k = 0; k < sums; k++) group[level][k] = sum[k];
    }
    UNROLL for (int k = 0; k < sums; k++) t[k] = sum[k];
}

/* Like all_columns, for the rows of up to 2 vectors and all columns, whose number is a multiple of LANES. The rows are
   put in lanes, so that sums over lanes need no shuffles. `asks` tells whether later rows of b are prefetched. */
TARGET INLINE void S(turned)(const int vectors, int64_t columns, const int64_t steps, const REAL *a, int64_t a_row,
    const STORED *b, int64_t b_row, const int asks, REAL *c, int64_t c_row IF_PAGED(const STORED *after))
{
#if NARROW
    /* Fewer rows are multiplied by more keys at a time, so that as many sums are independent. */
    const int keys = vectors > 1 ? TURNED_SUMS / 2 : TURNED_SUMS < LANES ? TURNED_SUMS : LANES;
#else
    const int keys = TURNED_SUMS / 2; /* more rows, whose distance varies, need more registers for their addresses */
#endif
    REAL turned[2 * LANES * MAX_TERMS] __attribute__((aligned(BYTES)));
#if NARROW
    REAL wide[LANES * MAX_TERMS] __attribute__((aligned(BYTES)));
#endif
#if BLOCKS
    SCALE copy[SCALES + LANES];
    REAL scale[SCALES + LANES] __attribute__((aligned(BYTES)));
    S(copy_scales)(min(LANES, columns), steps, b, b_row, copy);
#endif
    S(turn_rows)(vectors, steps, a, a_row, turned);
    for (int64_t x = 0; x < columns; x += LANES, b += LANES * b_row) {
        T(vec) t[2][LANES];
#if BLOCKS
        S(convert_scales)(LANES * S(scales)(steps), copy, scale);
        S(copy_scales)(min(LANES, columns - x - LANES), steps, b + LANES * b_row, b_row, copy);
#endif
#if NARROW
        S(widen_rows)(LANES, steps, b, b_row, wide IF_BLOCKS(scale));
        const REAL *const from = wide;
        const int64_t from_row = steps;
#else
        const REAL *const from = b;
        const int64_t from_row = b_row;
#endif
        for (int64_t k = 0; k < LANES; k += keys) {
            T(vec) some[TURNED_SUMS];
            S(turned_columns)(vectors, keys, steps, turned, from + k * from_row, from_row, asks,
                S(ahead)(b, b_row, EARLY_FOR_SEVERAL + k, columns - x, AFTER), b_row, some);
            UNROLL for (int v = 0; v < vectors; v++)
                UNROLL for (int n = 0; n < keys; n++) t[v][k + n] = some[v * keys + n];
        }
        for (int v = 0; v < vectors; v++)
            T(square)((const REAL *)(const void *)t[v], LANES, c + v * LANES * c_row + x, c_row);
    }
}

/* Like turned, for the rows of all whole vectors. Returns their number. */
TARGET INLINE int64_t S(all_turned)(int64_t rows, int64_t columns, const int64_t steps, const REAL *a, int64_t a_row,
    const STORED *b, int64_t b_row, REAL *c, int64_t c_row IF_PAGED(const STORED *after))
{
    int64_t r = 0;
    for (; r + 2 * LANES <= rows; r += 2 * LANES)
        S(turned)(2, columns, steps, a + r * a_row, a_row, b, b_row, r == 0, c + r * c_row, c_row IF_PAGED(after));
    if (r + LANES <= rows) {
        S(turned)(1, columns, steps, a + r * a_row, a_row, b, b_row, r == 0, c + r * c_row, c_row IF_PAGED(after));
        r += LANES;
    }
    return r;
}

/* c[r][x] = sum over t of a[r][t] * b[x][t].
   - Both operands are contiguous along t. `steps` is a multiple of LANES.
   - b is in memory. It is prefetched `early` rows ahead for one row of a, otherwise DISTANCE rows ahead. The rows at
     `after` come after its rows; NULL: those in memory. */
TARGET INLINE void S(dot_along)(int64_t rows, int64_t columns, const int64_t steps, const REAL *a, int64_t a_row,
    const STORED *b, int64_t b_row, REAL *c, int64_t c_row IF_EARLY(const int64_t early) IF_PAGED(const STORED *after))
{
#ifdef BYTE_PRODUCTS
    if (BYTE_PRODUCTS) {
        S(dot_bytes)(rows, columns, steps, a, a_row, b, b_row, c, c_row);
        return;
    }
#endif
    const int64_t whole = columns - columns % LANES,
        turned = QUICK || rows < LANES ? 0 : S(all_turned)(rows, whole, steps, a, a_row, b, b_row, c,
            c_row IF_PAGED(after)),
        first = turned == rows ? whole : 0;
    b += first * b_row;
#if BLOCKS
    SCALE copy[SCALES + LANES];
    REAL scale[SCALES + LANES] __attribute__((aligned(BYTES)));
    S(copy_scales)(min(LANES, columns - first), steps, b, b_row, copy);
#endif
    for (int64_t x = first; x < columns; x += LANES, b += LANES * b_row) {
        const int64_t last = min(LANES, columns - x) - 1;
        const STORED *const ahead = S(ahead)(b, b_row, rows == 1 ? EARLY_OF_ONE : DISTANCE, columns - x, AFTER);
#if BLOCKS
        const int64_t later = min(LANES, columns - x - LANES);
        S(convert_scales)((last + 1) * S(scales)(steps), copy, scale);
        if (rows > 1) S(copy_scales)(later, steps, b + LANES * b_row, b_row, copy);
#endif
        if (!QUICK && rows == 1 && last == LANES - 1)
            S(columns)(1, last, steps, a, b, b_row, c + x IF_BLOCKS(scale) IF_BLOCKS(copy,
                later) IF_EARLY(early ? ahead : NULL));
        else if (NARROW && rows == 1)
            S(columns)(0, last, steps, a, b, b_row, c + x IF_BLOCKS(scale) IF_BLOCKS(copy, later) IF_EARLY(NULL));
        else if (!QUICK && last == LANES - 1)
            S(all_columns)(1, last, rows - turned, steps, a + turned * a_row, a_row, b, b_row, c + turned * c_row + x,
                c_row, SEVERAL, ahead IF_BLOCKS(scale));
        else
            S(all_columns)(0, last, rows, steps, a, a_row, b, b_row, c + x, c_row, SEVERAL, ahead IF_BLOCKS(scale));
    }
}
#undef TURNED_SUMS
#undef TURNED_LEVELS
#undef ELEMENTS
#endif
#if MAX_LANES
/* Sums of rows stored in memory, times a weight for each row. stored.h includes this header. */

#define MANY 16 /* rows of a product whose results exceed the first cache */

#if BLOCKS
/* Writes the products of weights a[r][t] with the scales of row t, which are scale[t][0 … count - 1], to
   w[r][t][0 … count - 1]. There are up to AT_ONCE rows t. Row r begins at r * AT_ONCE * count. */
TARGET INLINE void S(scaled_weights)(int64_t rows, int64_t steps, const int64_t count, const REAL *a, int64_t a_row,
    int64_t a_step, const REAL *scale, REAL *w)
{
    for (int64_t r = 0; r < rows; r++, a += a_row, w += AT_ONCE * count) {
#if AT_ONCE % LANES == 0
        if (a_step == 1 && steps == AT_ONCE && (count == 1 || count == 2 || count == 4)) {
            UNROLL for (int64_t first = 0; first < AT_ONCE; first += LANES) {
                const T(vec) x = T(load)(a + first);
                T(vec) t[4] = {x, x, x, x};
                if (count > 1) {
                    t[0] = __builtin_shufflevector(x, x, ZIP_LOW());
                    t[1] = __builtin_shufflevector(x, x, ZIP_HIGH());
                }
                if (count > 2) {
                    t[3] = __builtin_shufflevector(t[1], t[1], ZIP_HIGH());
                    t[2] = __builtin_shufflevector(t[1], t[1], ZIP_LOW());
                    t[1] = __builtin_shufflevector(t[0], t[0], ZIP_HIGH());
                    t[0] = __builtin_shufflevector(t[0], t[0], ZIP_LOW());
                }
                UNROLL for (int64_t k = 0; k < count; k++)
                    T(store)(w + first * count + k * LANES, t[k & 3] * T(load)(scale + first * count + k * LANES));
            }
            continue;
        }
#endif
        for (int64_t t = 0; t < steps; t++)
            for (int64_t k = 0; k < count; k++) w[t * count + k] = a[t * a_step] * scale[t * count + k];
    }
}

#endif
/* Products of one row copy scales and prefetch while they read rows, except for blocks with few registers. */
#define IN_PASSING (!BLOCKS || ROOMY)
#if BLOCKS && ROOMY
#define IF_COPIED(...) , __VA_ARGS__
#else
#define IF_COPIED(...)
#endif
#if EARLY && IN_PASSING
#define IF_FETCHING(argument) , argument
#else
#define IF_FETCHING(argument)
#endif

/* c[x] += sum over t of a[t] * b[t][x] for up to PART_VECTORS vectors of lanes, from x = first on. Terms are rounded
   and added as for several rows. For b with scales, one for `block` elements:
   - a has been multiplied by them: a[t][x / block] * unscaled b[t][x]
   - the scales of the rows AT_ONCE later are copied to `next`, for `later` rows */
TARGET INLINE void S(row)(const int vectors, int64_t first, int64_t steps, const REAL *a, int64_t a_step,
    const STORED *b, int64_t b_step, const int64_t lanes, const int64_t block,
    REAL *c IF_COPIED(SCALE *next, int64_t later) IF_FETCHING(const STORED *ahead))
{
    T(vec) sum[PART_VECTORS];
    (void)lanes;
    (void)block;
    UNROLL for (int v = 0; v < vectors; v++) sum[v] = (T(vec)){0};
    for (int64_t t = 0; t < steps; t++, b += b_step) {
#if EARLY && IN_PASSING
        if (ahead && first == 0) S(fetch)(1, lanes, ahead + t * b_step, b_step);
#endif
#if BLOCKS && ROOMY
        if (first == 0) /* without a branch, the sums stay in their registers. Scales of later rows are not used */
            S(copy_scales)(1, lanes, b + (t < later ? AT_ONCE * b_step : 0), b_step, next + t * S(scales)(lanes));
#endif
#if BLOCKS
        UNROLL for (int v = 0; v < vectors; v++)
            sum[v] += a[t * a_step + (first + v * LANES) / block] * S(unscaled)(b, first + v * LANES);
#else
        UNROLL for (int v = 0; v < vectors; v++) sum[v] += a[t * a_step] * S(unscaled)(b, first + v * LANES);
#endif
    }
    UNROLL for (int v = 0; v < vectors; v++) T(store)(c + first + v * LANES, T(load)(c + first + v * LANES) + sum[v]);
}

#if NARROW
/* c[r][x] += sum over t of a[r][t] * b[t][x] for up to 6 rows r and up to ABREAST vectors of lanes, from x = first
   on. Rows of b have `lanes` elements. The first `ahead_rows` rows at `ahead` are prefetched.
   - from 0: b is widened for these rows. 1: it is also stored to `wide`. 2: it is read from there
   - weight: if b has scales, the products of a with `count` scales of each row of b, from scaled_weights */
TARGET INLINE void S(some_lanes)(const int rows, const int vectors, const int from, int64_t first, const int64_t lanes,
    int64_t steps, const REAL *a, int64_t a_row, int64_t a_step, const STORED *b, int64_t b_step, REAL *wide,
    const STORED *ahead, int64_t ahead_rows, REAL *c, int64_t c_row IF_BLOCKS(const REAL *weight, const int64_t count))
{
    T(vec) sum[6][ABREAST];
#if BLOCKS
    (void)a;
    (void)a_row;
    (void)a_step;
#endif
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (T(vec)){0};
    for (int64_t t = 0; t < steps; t++) {
        T(vec) x[ABREAST];
        if (t < ahead_rows) S(fetch)(1, lanes, ahead + t * b_step, b_step);
        UNROLL for (int v = 0; v < vectors; v++) {
            REAL *const kept = wide + t * lanes + first + v * LANES;
            x[v] = from == 2 ? T(load)(kept) : S(unscaled)(b + t * b_step, first + v * LANES);
            if (from == 1) T(store)(kept, x[v]);
        }
        UNROLL for (int r = 0; r < rows; r++) {
#if BLOCKS
            UNROLL for (int v = 0; v < vectors; v++)
                sum[r][v] += weight[(r * AT_ONCE + t) * count + (first + v * LANES) / S(block_size)(lanes)] * x[v];
#else
            const REAL y = T(factor)(a + r * a_row + t * a_step);
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
#endif
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) {
            REAL *const to = c + r * c_row + first + v * LANES;
            T(store)(to, T(load)(to) + sum[r][v]);
        }
}

/* Like some_lanes, for all lanes. */
TARGET INLINE void S(all_lanes)(const int rows, const int from, const int64_t lanes, int64_t steps, const REAL *a,
    int64_t a_row, int64_t a_step, const STORED *b, int64_t b_step, REAL *wide, const STORED *ahead,
    int64_t ahead_rows, REAL *c, int64_t c_row IF_BLOCKS(const REAL *weight, const int64_t count))
{
    const int64_t share = ABREAST * LANES < lanes ? (ahead_rows * ABREAST * LANES + lanes - 1) / lanes : ahead_rows;
    int64_t x = 0;
    for (; x + ABREAST * LANES <= lanes; x += ABREAST * LANES) {
        S(some_lanes)(rows, ABREAST, from, x, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead,
            min(share, ahead_rows), c, c_row IF_BLOCKS(weight, count));
        ahead += share * b_step;
        ahead_rows = max(ahead_rows - share, 0);
    }
    for (; x < lanes; x += LANES) {
        S(some_lanes)(rows, 1, from, x, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row IF_BLOCKS(weight, count));
        ahead_rows = 0;
    }
}

/* Like some_lanes, for 1 to 6 rows and all lanes. `scale` has the scales of b. */
TARGET INLINE void S(group)(int64_t rows, const int from, const int64_t lanes, int64_t steps, const REAL *a,
    int64_t a_row, int64_t a_step, const STORED *b, int64_t b_step, REAL *wide, const STORED *ahead,
    int64_t ahead_rows, REAL *c, int64_t c_row IF_BLOCKS(const REAL *scale))
{
#if BLOCKS
    REAL weight[6 * SCALES] __attribute__((aligned(BYTES)));
    const int64_t count = S(scales)(lanes);
    S(scaled_weights)(rows, steps, count, a, a_row, a_step, scale, weight);
#endif
    switch (QUICK ? 1 : rows) {
#define GROUP(n) \
    case n: \
        S(all_lanes)(n, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c, \
            c_row IF_BLOCKS(weight, count)); \
        break;
        ROWS_BELOW(7, GROUP)
#undef GROUP
    }
}

/* Like group, for any number of rows. Each group of rows prefetches a share of later rows. */
TARGET INLINE void S(groups)(int64_t rows, const int64_t lanes, int64_t steps, const REAL *a, int64_t a_row,
    int64_t a_step, const STORED *b, int64_t b_step, REAL *wide, const STORED *ahead, REAL *c,
    int64_t c_row IF_BLOCKS(const REAL *scale))
{
    for (; QUICK && rows > 0; rows--, a += a_row, c += c_row)
        S(group)(1, 0, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, 0, c, c_row IF_BLOCKS(scale));
    if (QUICK) return;
    if (rows <= 6) {
        S(group)(rows, 0, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, steps, c, c_row IF_BLOCKS(scale));
        return;
    }
    int64_t asked = (6 * steps + rows - 1) / rows;
    S(group)(6, 1, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, asked, c, c_row IF_BLOCKS(scale));
    for (int64_t r = 6; r < rows; r += 6) {
        const int64_t ask = min((min(r + 6, rows) * steps + rows - 1) / rows, steps);
        S(group)(min(rows - r, 6), 2, lanes, steps, a + r * a_row, a_row, a_step, b, b_step, wide,
            ahead + asked * b_step, ask - asked, c + r * c_row, c_row IF_BLOCKS(scale));
        asked = ask;
    }
}

/* Like groups, for all rows of b, but only ABREAST vectors of lanes, from x = first on. Many rows of c do not fit in
   the
   first cache, but these lanes of them do. */
TARGET INLINE void S(strip)(int64_t rows, int64_t first, const int64_t lanes, int64_t steps, const REAL *a,
    int64_t a_row,
    int64_t a_step, const STORED *b, int64_t b_step, REAL *wide, REAL *c, int64_t c_row IF_PAGED(const STORED *after))
{
#if BLOCKS
    SCALE copy[SCALES + LANES];
    const int64_t count = S(scales)(ABREAST * LANES);
    const STORED *scales = S(block_of)(b, first);
    REAL scale[SCALES + LANES] __attribute__((aligned(BYTES))), weights[6 * SCALES] __attribute__((aligned(BYTES)));
    const REAL *const weight = weights - first / S(block_size)(lanes);
    S(copy_scales)(min(AT_ONCE, steps), ABREAST * LANES, scales, b_step, copy);
#endif
    for (int64_t t = 0; t < steps; t += AT_ONCE, a += AT_ONCE * a_step, b += AT_ONCE * b_step) {
        const int64_t some = min(steps - t, AT_ONCE);
        const STORED *const ahead = S(ahead)(b, b_step, EARLY_FOR_SEVERAL, steps - t, AFTER);
#if BLOCKS
        S(convert_scales)(some * count, copy, scale);
        scales += AT_ONCE * b_step;
        S(copy_scales)(min(AT_ONCE, steps - t - AT_ONCE), ABREAST * LANES, scales, b_step, copy);
#endif
        int64_t r = 0, asked = 0;
        for (; r + 6 <= rows; r += 6) { /* each group of rows prefetches a share of the rows that follow later */
#if BLOCKS
            S(scaled_weights)(6, some, count, a + r * a_row, a_row, a_step, scale, weights);
#endif
            const int64_t ask = first ? 0 : (r + 6) * some / rows;
            if (r == 0)
                S(some_lanes)(6, ABREAST, 1, first, lanes, some, a, a_row, a_step, b, b_step, wide, ahead, ask, c,
                    c_row IF_BLOCKS(weight, count));
            else
                S(some_lanes)(6, ABREAST, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide,
                    ahead + asked * b_step, ask - asked, c + r * c_row, c_row IF_BLOCKS(weight, count));
            asked = ask;
        }
        for (; r + 2 <= rows; r += 2) {
#if BLOCKS
            S(scaled_weights)(2, some, count, a + r * a_row, a_row, a_step, scale, weights);
#endif
            S(some_lanes)(2, ABREAST, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide, ahead, 0,
                c + r * c_row, c_row IF_BLOCKS(weight, count));
        }
        if (r < rows) {
#if BLOCKS
            S(scaled_weights)(1, some, count, a + r * a_row, a_row, a_step, scale, weights);
#endif
            S(some_lanes)(1, ABREAST, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide, ahead, 0,
                c + r * c_row, c_row IF_BLOCKS(weight, count));
        }
    }
}

#endif
/* Like dot, but b is in memory and is prefetched as in dot_along. It is read AT_ONCE rows at a time. Narrow
   elements are widened once for all rows. If a has one row, b is read PART_LANES lanes at a time. */
TARGET INLINE void S(dot_fetched)(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const REAL *a, int64_t a_row, int64_t a_step, const STORED *b, int64_t b_step, REAL *c,
    int64_t c_row, const int update,
    const REAL *factor IF_COMPENSATED(REAL *compensation) IF_EARLY(const int64_t early) IF_PAGED(const STORED *after))
{
#if NARROW
    REAL wide[AT_ONCE * MAX_LANES] __attribute__((aligned(BYTES)));
    if (!QUICK && ROOMY && update == 1 && rows >= MANY && lanes % (ABREAST * LANES) == 0) {
        for (int64_t x = 0; x < lanes; x += ABREAST * LANES)
            S(strip)(rows, x, lanes, steps, a, a_row, a_step, b, b_step, wide, c, c_row IF_PAGED(after));
        return;
    }
#endif
#if BLOCKS
    SCALE copy[SCALES + LANES];
    REAL scale[SCALES + LANES] __attribute__((aligned(BYTES)));
    S(copy_scales)(min(AT_ONCE, steps), lanes, b, b_step, copy);
#endif
#if FETCHED && !NARROW
    /* Many rows of c do not fit in the first cache, so a few lanes of them are computed at a time. */
    if (!QUICK && rows >= MANY && lanes > vectors * LANES && lanes % (vectors * LANES) == 0) {
        for (int64_t x = 0; x < lanes; x += vectors * LANES)
            for (int64_t t = 0; t < steps; t += AT_ONCE)
                T(dot_early)(vectors, vectors * LANES, rows, tail, min(steps - t, AT_ONCE), span, a + t * a_step, a_row,
                    a_step, b + t * b_step + x, b_step, c + x, c_row, update,
                    factor ? factor + x : NULL IF_COMPENSATED(compensation ? compensation + x : NULL),
                    IN_PART(EARLY_FOR_SEVERAL));
        return;
    }
#endif
    for (int64_t t = 0; t < steps; t += AT_ONCE, a += AT_ONCE * a_step, b += AT_ONCE * b_step) {
        const int64_t some = min(steps - t, AT_ONCE);
        const STORED *const ahead = S(ahead)(b, b_step, rows == 1 ? EARLY_OF_ONE : EARLY_FOR_SEVERAL, steps - t, AFTER);
        (void)ahead;
#if BLOCKS
        const int64_t block = S(block_size)(lanes), later = min(AT_ONCE, steps - t - AT_ONCE);
        S(convert_scales)(some * S(scales)(lanes), copy, scale);
        if (rows > 1 || update != 1) S(copy_scales)(later, lanes, b + AT_ONCE * b_step, b_step, copy);
#else
        const int64_t block = lanes;
#endif
        if (rows == 1 && update == 1) {
#if BLOCKS
            REAL weight[SCALES] __attribute__((aligned(BYTES)));
            S(scaled_weights)(1, some, S(scales)(lanes), a, 0, a_step, scale, weight);
            const REAL *const factor_of_row = weight;
            const int64_t step = S(scales)(lanes);
#else
            const REAL *const factor_of_row = a;
            const int64_t step = a_step;
#endif
            int64_t x = 0;
#if BLOCKS && !ROOMY
            for (int64_t asked = 0; x < lanes; x += PART_LANES) { /* each part prefetches a share of later rows */
                const int64_t ask = min(some * (x + PART_LANES) / lanes, some);
#if EARLY
                if (early) S(fetch)(ask - asked, lanes, ahead + asked * b_step, b_step);
#endif
                S(copy_scales)(min(ask, later) - asked, lanes, b + (AT_ONCE + asked) * b_step, b_step,
                    copy + asked * S(scales)(lanes));
                asked = ask;
                if (x + PART_LANES <= lanes)
                    S(row)(PART_VECTORS, x, some, factor_of_row, step, b, b_step, lanes, block, c);
                else
                    S(row)((int)(lanes % PART_LANES / LANES), x, some, factor_of_row, step, b, b_step, lanes, block, c);
            }
#else
            for (; x + PART_LANES <= lanes; x += PART_LANES)
                S(row)(PART_VECTORS, x, some, factor_of_row, step, b, b_step, lanes, block,
                    c IF_COPIED(copy, later) IF_FETCHING(early ? ahead : NULL));
            if (lanes % PART_LANES)
                S(row)((int)(lanes % PART_LANES / LANES), x, some, factor_of_row, step, b, b_step, lanes, block,
                    c IF_COPIED(copy, later) IF_FETCHING(early ? ahead : NULL));
#endif
            continue;
        }
#if NARROW
#if BLOCKS
        if (update == 1) {
#else
        if (update == 1 && (ROOMY || rows <= 6)) {
#endif
            S(groups)(rows, lanes, some, a, a_row, a_step, b, b_step, wide, ahead, c, c_row IF_BLOCKS(scale));
            continue;
        }
        S(widen_rows)(some, lanes, b, b_step, wide IF_BLOCKS(scale));
        const REAL *const from = wide;
        const int64_t from_step = lanes;
#else
        const REAL *const from = b;
        const int64_t from_step = b_step;
#endif
#if FETCHED && NARROW
        for (int64_t r = 0, asked = 0; r < rows; r += ROWS) { /* each group of rows prefetches a share */
            const int64_t ask = rows - r <= ROWS ? some : min(asked + (some * ROWS + rows - 1) / rows, some);
            S(fetch)(ask - asked, lanes, ahead + asked * b_step, b_step);
            asked = ask;
            T(dot_early)(vectors, lanes, min(ROWS, rows - r), -1, some, span, a + r * a_row, a_row, a_step, from,
                from_step, c + r * c_row, c_row, update,
                factor IF_COMPENSATED(compensation ? compensation + r * c_row : NULL), 0);
        }
        (void)tail;
#elif FETCHED
        T(dot_early)(vectors, lanes, rows, tail, some, span, a, a_row, a_step, from, from_step, c, c_row, update,
            factor IF_COMPENSATED(compensation), rows < SEVERAL ? 0 : IN_PART(rows < MANY ? DISTANCE :
                EARLY_FOR_SEVERAL));
#else
        for (int64_t x = 0, asked = 0; x < lanes; x += vectors * LANES) {
            /* A core can have few cache misses in flight, so few rows are prefetched at a time. */
            const int64_t ask = AT_ONCE * (x + vectors * LANES) / lanes;
            S(fetch)(ask - asked, lanes, ahead + asked * b_step, b_step);
            asked = ask;
            T(dot)(vectors, vectors * LANES, rows, tail, some, span, a, a_row, a_step, from + x, from_step, c + x,
                c_row, update, factor ? factor + x : NULL IF_COMPENSATED(compensation ? compensation + x : NULL));
        }
#endif
    }
}
#undef MANY
#undef IF_COPIED
#undef IF_FETCHING
#endif

#undef S
#undef STORED_F16
#undef STORED_BF16
#undef STORED_FP8
#undef STORED_I8
#undef STORED_I8_32
#undef STORED_I8_64
#undef STORED_Q8_0
#undef STORED_Q4_0
#undef BLOCK_ELEMENTS
#undef BLOCK_BYTES
#undef BYTE_PRODUCTS
#undef AT_ONCE
#undef EARLY
#undef EARLY_FOR_SEVERAL
#undef SEVERAL_FROM
#undef SOONER
#undef PAGED
#undef STORED
#undef NARROW
#undef SCALE
#undef SCALES_OF
#undef SCALES
#undef IF_BLOCKS
#undef IF_EARLY
#undef EARLY_OF_ONE
#undef IF_PAGED
#undef AFTER
#undef IN_PART
#undef DISTANCE
#undef SEVERAL
#undef PART_VECTORS

/* The functions for the products below. Each calls dot or a similar function with constants. */
TARGET APART void T(dot0)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *next, int64_t next_row, const float *result, int64_t result_row, int64_t results)
{
    T(dot_ahead)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next, next_row,
        /*width=*/64, result, result_row, /*result_width=*/64, results);
}
TARGET APART void T(dot1)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
TARGET APART void T(dot2)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
#if OF(1, 0, 0)
TARGET APART void T(dot3)(int64_t rows, int64_t columns, const float *a, const float *b, int64_t b_row, float *c,
    int64_t early)
#else
TARGET APART void T(dot3)(int64_t rows, int64_t columns, const float *a, const float *b, int64_t b_row, float *c)
#endif
{
#if OF(1, 0, 0)
    T(dot_along)(rows, columns, /*steps=*/64, a, /*a_row=*/64, b, b_row, c, /*c_row=*/144, early);
#endif
#if OF(0, 1, 0)
    T(dot_along)(rows, columns, /*steps=*/64, a, /*a_row=*/64, b, b_row, c, /*c_row=*/144);
#endif
#if OF(0, 0, 1)
    T(dot_along)(rows, columns, /*steps=*/64, a, /*a_row=*/64, b, b_row, c, /*c_row=*/144, /*early=*/64);
#endif
}
TARGET APART void T(dot4)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot_finite_lanes)(/*fetched=*/1, /*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/144, /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot5)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c,
    int64_t early)
#else
TARGET APART void T(dot5)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
#endif
{
#if OF(1, 0, 0)
    T(dot_fetched)(/*vectors=*/4, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, early);
#endif
#if OF(0, 1, 0)
    T(dot_fetched)(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
#endif
#if OF(0, 0, 1)
    T(dot_fetched)(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, /*early=*/64);
#endif
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(softmax_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + (g /
        call->sharing * members + m) * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const row_max = (float *)(void *)(work + 92160); /* [i: 64] */
    float *const old_max = (float *)(void *)(work + 92416); /* [i: 64] */
    float *const row_sum = (float *)(void *)(work + 92672); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 92928); /* [i: 64] */
    float *const sum = (float *)(void *)(work + 93184); /* [e: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 113664); /* [e: 64, i: 64 of 80] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + 134144); /* [d: 64, i: 64 of 80] */
    int64_t results = i1 - i0; /* rows of out to prefetch during the first product */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, LANES);
    /* q_tile = q_tile * 23.08312f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(q_tile + d * 80 + i, T(load)(q_tile + d * 80 + i) * 23.08312f);
        }
    }
    /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(row_max + i, T(splat)(-FLT_MAX));
        T(store)(row_sum + i, T(splat)(0.0f));
        T(store)(row_sum_compensation + i, T(splat)(0.0f));
    }
    /* sum = 0.0f; sum_compensation = 0.0f */
    for (int64_t e = 0; e < 64; e++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(sum + e * 80 + i, T(splat)(0.0f));
            T(store)(sum_compensation + e * 80 + i, T(splat)(0.0f));
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        T(dot0)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score, v + j0 * v_row, v_row,
            out + i0 * out_row, out_row, results);
        results = 0;
        /* old_max = row_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(old_max + i, T(load)(row_max + i));
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= (i + query_start), score, -INFINITY) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_0 = (i0 + i + T(lane)) + query_start;
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(store)(score + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_0, T(mask)),
                        T(load)(score + j * 80 + i), T(splat)(-INFINITY)));
                }
            }
        }
        /* row_max max= score */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
#if OF(1, 0, 0)
            T(vec) row_max_in[4];
#else
            T(vec) row_max_in[2][2];
#endif
            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
#if OF(1, 0, 0)
                row_max_in[vector] = T(load)(row_max + i);
#else
                UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) row_max_in[vector][j_chain] = T(splat)(-INFINITY);
#endif
            }
#if OF(1, 0, 0)
            for (int64_t j = 0; j < j1 - j0; j++) {
                UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
                    row_max_in[vector] = T(max)(row_max_in[vector], T(load)(score + j * 80 + i));
#else
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                    const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        row_max_in[vector][j_chain] = T(max)(row_max_in[vector][j_chain], T(load)(score + j * 80 + i));
                    }
#endif
                }
            }
            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
#if OF(1, 0, 0)
                T(store)(row_max + i, row_max_in[vector]);
#else
                T(store)(row_max + i, T(max)(T(load)(row_max + i), T(max)(row_max_in[vector][0],
                    row_max_in[vector][1])));
#endif
            }
        }
        /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
           row_sum_compensation = row_sum_compensation * old_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) old_max_1 = T(load)(old_max + i);
            const T(vec) old_max_new2 = T(exp2)(old_max_1 - T(load)(row_max + i));
            T(store)(old_max + i, old_max_new2);
            T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new2);
            T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new2);
        }
        /* score = exp2(score - row_max); row_sum += score */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_max_4 = T(load)(row_max + i);
            T(vec) row_sum_in = (T(vec)){0};
            for (int64_t j = 0; j < j1 - j0; j++) {
                const T(vec) score_3 = T(load)(score + j * 80 + i);
                const T(vec) score_new5 = T(exp2)(score_3 - row_max_4);
                T(store)(score + j * 80 + i, score_new5);
                row_sum_in += score_new5;
            }
            T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
        }
        /* sum[e][i] = sum * old_max + sum over j of v * score */
        if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
            for (int64_t j = 0; j < j1 - j0; j++) {
                T(mask) in_region[OF(4, 8, 16)] = {0};
                if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) + query_start),
                        T(mask));
                }
                T(add_seen)(64, sum, 80, v + j0 * v_row + j * v_row, 1, score + j * 80, in_region, i1 - i0);
            }
        } else
            T(dot2)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
    }
    /* sum = select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum)) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) row_sum_6 = T(load)(row_sum + i);
        const T(mask) t_7 = row_sum_6 == 0.0f;
        const T(vec) t_8 = 1.0f / row_sum_6;
        for (int64_t e = 0; e < 64; e++) {
            T(store)(sum + e * 80 + i, T(pick)(t_7, T(splat)(0.0f), T(load)(sum + e * 80 + i) * t_8));
        }
    }
    /* out = sum, transposed back */
    T(transpose_out)(sum, 80, 64, i1 - i0, out + i0 * out_row, out_row, LANES);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(softmax_few_begin)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 64, r1 = min(r0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + g /
        call->sharing * members * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const int64_t q_head = call->array[ARRAY_q].strides.head;
    float *const query_turned = (float *)(void *)(share->shared + 0); /* [r: 64, d: 64] */
    /* query_turned = q * 23.08312f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                T(store)(query_turned + r * 64 + d, T(load)(q + r / n_q * q_head + r % n_q * q_row + d) * 23.08312f);
            }
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(softmax_few_begin_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_max = (float *)(void *)(share->shared + 16448); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 16704); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 33408); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 16960); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 33664); /* [r: 64, e: 64] */
    /* carried_max = -FLT_MAX; carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += LANES) {
        T(store)(carried_max + r, T(splat)(-FLT_MAX));
        T(store)(carried_sum + r, T(splat)(0.0f));
        T(store)(carried_sum_compensation + r, T(splat)(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(carried + r * 64 + e, T(splat)(0.0f));
                T(store)(carried_compensation + r * 64 + e, T(splat)(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(softmax_few_keys)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    float *const score = (float *)(void *)(share->work + 0); /* [r: 64, j: 128 of 144] */
    float *const query_turned = (float *)(void *)(share->shared + 0); /* [r: 64, d: 64] */
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(share->work + 36864); /* [r: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 512); /* [chunk, r: 64, e: 64] */
    /* state_max = -FLT_MAX; state_sum = 0.0f */
    for (int64_t r = 0; r < rows; r += LANES) {
        T(store)(state_max + (chunk - chunk0) * 4240 + r, T(splat)(-FLT_MAX));
        T(store)(state_sum + (chunk - chunk0) * 4240 + r, T(splat)(0.0f));
    }
    /* state = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(state + (chunk - chunk0) * 4240 + r * 64 + e, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + query_start); j0 < j_end;
        j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* score[r][j] = sum over d of query_turned * k */
#if OF(1, 0, 0)
        T(dot3)(rows, j1 - j0, query_turned, k + j0 * k_row, k_row, score, attn_is_intel() ? 16 : 0);
#else
        T(dot3)(rows, j1 - j0, query_turned, k + j0 * k_row, k_row, score);
#endif
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            T(store)(old_max + r, T(load)(state_max + (chunk - chunk0) * 4240 + r));
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= ((r % n_q) + query_start), score, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_0 = j0 + j + T(lane);
                for (int64_t r = 0; r < rows; r++) {
                    T(store)(score + r * 144 + j, T(pick)(__builtin_convertvector(t_0 <= ((r % n_q) + query_start),
                        T(mask)), T(load)(score + r * 144 + j), T(splat)(-INFINITY)));
                }
            }
        }
        /* state_max max= score */
        for (int64_t r = 0; r < rows; r++) {
            T(vec) lanes_max = T(splat)(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(score + r * 144 + j);
                lanes_max = T(max)(lanes_max, j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane)
                    < j1 - j0, T(mask)), term, T(splat)(-INFINITY)));
            }
            const float largest = T(lane_max)(lanes_max);
            if (largest > state_max[(chunk - chunk0) * 4240 + r]) state_max[(chunk - chunk0) * 4240 + r] = largest;
        }
        /* old_max = exp2(old_max - state_max); state_sum = state_sum * old_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            const T(vec) old_max_1 = T(load)(old_max + r);
            const T(vec) old_max_new2 = T(exp2)(old_max_1 - T(load)(state_max + (chunk - chunk0) * 4240 + r));
            T(store)(old_max + r, old_max_new2);
            T(store)(state_sum + (chunk - chunk0) * 4240 + r, T(load)(state_sum + (chunk - chunk0) * 4240 + r) *
                old_max_new2);
        }
        /* score = exp2(score - state_max) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            for (int64_t r = 0; r < rows; r++) {
                T(store)(score + r * 144 + j, T(exp2)(T(load)(score + r * 144 + j) - (state_max[(chunk - chunk0) * 4240
                    + r])));
            }
        }
        /* state_sum += score */
        for (int64_t r = 0; r < rows; r++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(score + r * 144 + j);
                lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                    T(mask)), term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 4240 + r] += total;
        }
        /* state = state * old_max */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    T(store)(state + (chunk - chunk0) * 4240 + r * 64 + e,
                        T(load)(state + (chunk - chunk0) * 4240 + r * 64 + e) * old_max[r]);
                }
            }
        }
        /* state[r][e] += sum over j of score * v */
        if (__builtin_expect(((query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            T(dot4)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240);
            for (int64_t r = 0; r < rows; r++) {
                T(mask) in_region[OF(8, 16, 32)] = {0};
                const int64_t t_3 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_3, T(mask));
                }
                T(add_seen_lanes)(64, state + (chunk - chunk0) * 4240 + r * 64, score + r * 144, v + j0 * v_row, v_row,
                    j1 - j0, in_region);
            }
        } else
#if OF(1, 0, 0)
            T(dot5)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240,
                attn_is_intel() ? 16 : 0);
#else
            T(dot5)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240);
#endif
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(softmax_few_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const carried_max = (float *)(void *)(share->shared + 16448); /* [r: 64] */
    float *const carried_factor = (float *)(void *)(share->work + 0); /* [r: 64] */
    float *const slot_factor = (float *)(void *)(share->work + 256); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 16704); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 33408); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 16960); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 33664); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t r = r0; r < r1; r += LANES) {
            const T(vec) carried_max_4 = T(load)(carried_max + r);
            const T(vec) before_max_new5 = carried_max_4;
            const T(vec) state_max_6 = T(load)(state_max + (chunk - chunk0) * 4240 + r);
            const T(vec) carried_max_new7 = T(max)(T(load)(carried_max + r), state_max_6);
            T(store)(carried_max + r, carried_max_new7);
            const T(vec) carried_factor_new8 = T(exp2)(before_max_new5 - carried_max_new7);
            T(store)(carried_factor + r, carried_factor_new8);
            const T(vec) slot_factor_new9 = T(exp2)(state_max_6 - carried_max_new7);
            T(store)(slot_factor + r, slot_factor_new9);
            const T(vec) carried_sum_10 = T(load)(carried_sum + r);
            T(store)(carried_sum + r, carried_sum_10 * carried_factor_new8);
            T(store)(carried_sum_compensation + r, T(load)(carried_sum_compensation + r) * carried_factor_new8);
            T(add)(carried_sum + r, carried_sum_compensation + r, T(load)(state_sum + (chunk - chunk0) * 4240 + r) *
                slot_factor_new9, T(splat)(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_11 = T(load)(carried + r * 64 + e);
                    const float carried_factor_12 = carried_factor[r];
                    T(store)(carried + r * 64 + e, carried_11 * carried_factor_12);
                    T(store)(carried_compensation + r * 64 + e, T(load)(carried_compensation + r * 64 + e) *
                        carried_factor_12);
                    T(add)(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        T(load)(state + (chunk - chunk0) * 4240 + r * 64 + e) * slot_factor[r], T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(softmax_few_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_sum = (float *)(void *)(share->shared + 16704); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 16960); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(share->work + 0); /* [r: 64, e: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    /* result = select(carried_sum == 0.0f, 0.0f, carried * (1.0f / carried_sum)) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                const float carried_sum_13 = carried_sum[r];
                T(store)(result + r * 64 + e, (carried_sum_13 == 0.0f) ? T(splat)(0.0f) : T(load)(carried + r * 64 + e)
                    * (1.0f / carried_sum_13));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(softmax_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(softmax_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(softmax_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(softmax_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(softmax_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(softmax_few_queries)(call, task, share, iteration);
    synchronise(share);
}
/* Forgets the names of a target, so that those of the next can be defined (target.h). Other long names of the headers
   mean the same for all targets of a kernel. */
#undef T
#undef OF
#undef TARGET
#undef LANES
#undef REGISTERS
#undef F64
#undef F16
#undef BF16
#undef DQ
#undef F16C
#undef AVX
#undef BF16_PRODUCTS
#undef MATRIX_UNITS
#undef ROWS
#undef VECTORS
#undef COMPENSATED
#undef AHEAD
#undef NEAR
#undef MAX_STEPS
#undef MAX_PAIRED_STEPS
#undef MAX_TERMS
#undef MAX_LANES
#undef DECAYED_KEYS
#undef UNIT_DEPTH
#undef PAIRED
#undef IF_COMPENSATED
#undef EXP2_MIN
#undef COMPRESSES
#undef COMPARE
#undef COMPRESS
#undef NOT_LESS
#undef REMAINDER
#undef SCALED
#undef ROOT
#undef F
#undef P
#undef IN
#else
#ifdef __cplusplus
#error "softmax.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "softmax.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int softmax_is_c11;
#elif !defined __GNUC__
#error "softmax.c uses GNU C vector extensions: compile it with gcc or clang"
extern int softmax_is_gnu_c;
#else
/* softmax.h, made by attnc 0.2.0: attnc softmax.yaml --standalone
   softmax attention on unit vectors, made sharp by its scale
   q [B,H,n_q,64]  k [B,G,n_k,64]  v [B,G,n_k,64]  out [B,H,n_q,64], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_softmax_H
#define ATTNC_softmax_H

#ifndef ATTNRT_TYPES
#define ATTNRT_TYPES 22
#include <stddef.h>
#include <stdint.h>

/* ---- a call of a kernel: its errors, threads, pages, and its problem ---- */

/* Return values of kernels; 0 is success. */
enum attn_error {
    ATTN_EPROBLEM = -1,   /* a size or stride is negative, a stride is too small, heads is no multiple of kv_heads or
                             key_heads, query_start is out of range, or `weights` is not NULL for a call that computes
                             none. With 'delta' or key_heads, heads must equal
                             kv_heads */
    ATTN_EPOINTER = -2,   /* an array, the workspace or the storage of parameters is NULL, or an output is also
                             another array of the call, or a page is also in other memory of the call */
    ATTN_EPARAM = -3,     /* a parameter that the kernel needs is NULL */
    ATTN_EWORKSPACE = -4, /* workspace_bytes is smaller than NAME_workspace() says */
    ATTN_ESIZE = -5,      /* a product of sizes overflows */
    ATTN_EALIGN = -6,     /* the workspace or the storage of parameters is not aligned to 64 bytes, or an array of
                             'arrays' is not aligned to its elements */
    ATTN_EMEMORY = -7,    /* out of memory (never from a kernel) */
    ATTN_EIO = -8,        /* a file could not be read or written (see errno) */
    ATTN_EFORMAT = -9,    /* a file has the wrong format */
    ATTN_EMACHINE = -10,  /* this machine has none of the kernel's instruction sets */
    ATTN_EORDER = -11,    /* an id is smaller than the previous key's id; the linear form needs ascending ids */
    ATTN_ESTATE = -12,    /* a state belongs to another kernel or other sizes, or is truncated or damaged */
    ATTN_ECAPACITY = -13, /* a sequence would exceed the problem's capacity or the spec's maximum */
    ATTN_ELENGTH = -14,   /* one of these:
                             - n_q, n_k or the capacity exceeds the spec's maximum
                             - query_start puts a query after the last key, and the spec has no quadratic form
                             - NAME_state_truncate: the sequence is shorter than `length`, or cannot be truncated to it
                             - NAME_state_keep: the path is not ascending, has no tokens of the last call, or moves rows
                               that belong to their positions
                             - NAME_state_init: `start` is not a valid position
                             - NAME_state_fold: the states do not fit, for example because the second begins at
                               another position */
    ATTN_EFOLD = -15,     /* this kernel's states cannot be joined by NAME_state_fold, or its results by attn_merge,
        or a
                             state is no array (NAME_state_set) */
    ATTN_ETILES = -16,    /* a table of tiles is for a mask of another shape or for other tiles, or is no table */
    ATTN_ERANKS = -17,    /* a message between ranks was not delivered (attnrt_ranks.h) */
    ATTN_EPAGES = -18,    /* one of these:
                             - a page of a sequence has a number out of range, is twice in its table, or gets tokens of
                               the call, or rows of NAME_state_keep, although another sequence has it
                             - pages are too small, or have no 16 to 256 tokens
                             - this kernel's states cannot be in pages */
    ATTN_EVERSION = -19   /* the kernel was compiled with the headers of another version of libattnrt */
};

/* Threads of the caller, which a kernel uses instead of OpenMP's. Two libraries that both start threads compete for
   processors. The members may be GOMP_parallel and GOMP_barrier of any OpenMP library on Linux. */
struct attn_team {
    /* Calls work(context) in up to `threads` threads, and returns when all calls have returned. `flags` is 0. */
    void (*run)(void (*work)(void *context), void *context, unsigned threads, unsigned flags);
    void (*barrier)(void); /* called inside `work`; waits for every thread of the team */
};

/* The rows of a state in pages. A page has the rows of `tokens` tokens of a sequence for all heads.
   A call cannot know these errors, and does not find them:
   - the memory at `base` or `table` is shorter than this struct says, or is written during the call
   - another state has a page that gets tokens
   - a page was freed and has tokens of others by now, and its number is in the table again */
struct attn_pages {
    void *base;           /* page p begins at base + p * bytes. Aligned to 64 */
    size_t bytes;         /* at least NAME_page(), and a multiple of 64 */
    int64_t count;        /* the number of pages at `base` */
    int64_t tokens;       /* 16 to 256; the same in all calls with a state */
    const int32_t *table; /* [batch, row]: page number x of a sequence has its tokens from x * tokens on */
    int64_t row;          /* the numbers in a row of the table. Those after the last token are not read */
};

/* One call of a kernel. */
struct attn_strides {
    int64_t batch, head, row; /* in elements. If all three are 0, the array is contiguous, [B,H,N,D]. The elements of
                                 a row are always contiguous */
};
struct attn_problem { /* zero the struct first, because later versions add members */
    int64_t batch, heads, kv_heads, n_q, n_k;
    struct attn_strides q, k, v, out;
    int threads; /* the number of threads. 0 means OpenMP's default, or fewer threads for little work. The number is
                    limited to the number of processors, unless workspace_bytes has room for more or `team` is given */
    size_t workspace_bytes; /* the size of the workspace, or 0 if it should not be checked */
    /* Used for gradients. NAME_saved() bytes, aligned to 64, which forward writes and backward reads. Both calls
       must get the same arrays. If this is NULL, backward computes the values again. */
    void *saved;
    size_t saved_bytes;                   /* the size of `saved`, or 0 if it should not be checked */
    struct attn_strides dout, dq, dk, dv; /* strides of gradients */
    /* For a state (NAME_extend and related functions): */
    int64_t capacity;       /* the maximum number of tokens of a sequence, if the state stores keys. It is also the
                               length of a row of ids */
    const int64_t *lengths; /* [batch]: the number of new tokens of each sequence, at most n_q. NULL means n_q for
                               each sequence */
    size_t state_bytes;     /* the size of the state, or 0 if it should not be checked */
    int64_t start; /* used by NAME_state_init: the position of the first token. It is not 0 if NAME_state_fold will
                      append this state to another state. It must be a multiple of the number of tokens that the
                      kernel sums at a time */
    const struct attn_team *team; /* the caller's threads, at most `threads`. NULL means OpenMP's threads */
    uint64_t seed; /* the seed of dropout. 0 means the seed in the spec. Backward needs the seed of forward.
                      NAME_extend drops nothing */
    /* Used for statistics. An array [B,H,n_q] that forward and extend write, or NULL. It has floats, or doubles for
       a kernel of f64. Its strides are `statistics_at`. Each row has one element. */
    void *statistics;
    struct attn_strides statistics_at;
    int64_t rewind;    /* used by a state: NAME_state_truncate can always go back by this number of tokens, for example
                          by the tokens of a draft. The state then also stores earlier sums, or more keys and values */
    int64_t key_heads; /* the number of heads of q and k, if they have fewer heads than v. 0 means H and G heads.
                          Otherwise H must equal G and be a multiple of it: head h of v and out uses head
                          h / (H / key_heads) of q and k. dq and dk are sums over these heads */
    const int64_t *query_start; /* [batch]: the position of each sequence's first query, from -2^31 to 2^31, or NULL
                                   for n_k - n_q. Backward needs the positions of forward. It must be NULL for
                                   NAME_extend, because a state knows its positions */
    int foldable; /* used by a state of a kernel with 'delta': 1 if NAME_state_fold will join it with another state.
                     Each head then also stores a matrix [features, features], which NAME_extend updates. It must be
                     the same in all calls with a state. States of other kernels ignore it.
                     For attn_ranks_forward, 1: ranks compute states at the same time and join them */
    const int64_t *cu_seqlens; /* used by NAME_extend: NULL, or [batch + 1] if the new tokens of all sequences are in
                                  one row of memory. Sequence b has rows cu_seqlens[b] to cu_seqlens[b + 1] - 1 of q,
                                  k, v, out, statistics and of arrays with a row for each token. n_q is the number of
                                  all rows, `lengths` must be NULL, and batch strides of these arrays are ignored */
    const struct attn_pages *pages; /* used by a state: NULL, or where its rows are. NAME_state() bytes then have only
                                       the lengths. `capacity` is not used. Sequences may share pages. The caller gives
                                       a sequence other pages for new tokens, copies a shared page before it gets
                                       tokens, and frees pages. A window does not read pages before it */
    /* Used by NAME_extend for a state of sums. chunk_sums() bytes of the kernel, aligned to 64, or NULL. A call without
       q and out writes the sums of the new tokens' chunks there. A later call with the same tokens, for a state with
       equally many tokens, reads them and does not sum these tokens again. */
    void *chunk_sums;
    size_t chunk_sums_bytes; /* the size of `chunk_sums`, or 0 if it should not be checked */
    /* Used for gradients, if other calls have the tokens before and after those of this call. Both NULL, or the sums
       over these other tokens that gradients need: outer_sums() bytes of the kernel each, aligned to 64. Zeros are the
       sums over no tokens. Then backward computes the gradients for a part of a sequence:
       - n_q equals n_k, and query_start is NULL. `saved` is not used. If kernel->in_parts, first_key is the position of
         the first token
       - out and dout have the rows of this call's tokens. `out` was computed from all earlier tokens, too
       - dq, dk and dv are the gradients of this call's tokens. The gradient of a parameter is the sum over all parts
       - term_gradients: outer_sums(…, 2) bytes, or NULL without gradients of arrays that a decay reads. Backward
       writes
         what this call's tokens add to the gradients of the decay's logarithm at each earlier token. Then the caller
         replaces it by the sum over all later calls, and calls finish_gradients of the kernel
       - NAME_backward_workspace() needs these pointers, too
       Kernels with kernel->sums_whole have other sums: those over all tokens of the sequence. See struct attn_kernel */
    void *earlier_sums, *later_sums;
    double *term_gradients;
    /* Used by forward and backward of a kernel with kernel->in_parts, if k and v are a part of the keys of a sequence,
       and the caller merges results, or gives sums over the other tokens:
       - first_key: the position of the first key of this call. `query_start` counts from this key
       - all_keys: the number of keys of the whole sequence, or 0 for n_k. `document` has all of them
       Used by kernels with statistics and a constant or a sink in the denominator:
       - sink_mode: 0; or 1 for a denominator without them; or 2 for a denominator that has them also in the statistic
       of a row that sees no key */
    int64_t first_key, all_keys;
    int sink_mode;
    /* Used by a kernel with kernel->decay_terms, if k and v are a part of the keys of a sequence:
       - query_decay: NULL, or [B,H,n_q,decay_terms]: the sums of a decay's logarithm over the tokens from the first key
         of this call up to each query. NULL: each query is at a key of this call
       - query_decay_gradients, key_decay_gradients: NULL, or [B,H,n_q,decay_terms] and [B,H,n_k,decay_terms]. Backward
         writes the gradients with respect to such sums at queries and at keys, and no gradients of arrays that the
         decay reads. finish_gradients reads key_decay_gradients: those of the logarithm at each token */
    const double *query_decay;
    double *query_decay_gradients, *key_decay_gradients;
    /* Used for weights. An array [B,H,n_q,n_k] of the kernel's dtype that forward writes, or NULL. Its strides are
       `weights_at`. It must be NULL for NAME_extend and attn_ranks_…, which compute no weights. */
    void *weights;
    struct attn_strides weights_at;
};
/* ---- the description of a kernel: its types, parameters and functions ---- */

/* The first bytes of a table of the tiles of a mask, which attn_tiles_of_mask makes. One byte for each tile follows:
   [masks, strips, tiles of a strip]. A strip has ATTN_TILE_ROWS rows of a mask, or its last rows. A tile has
   ATTN_TILE_COLUMNS columns of a strip, or its last columns. */
enum { ATTN_TILE_ROWS = 16, ATTN_TILE_COLUMNS = 64, ATTN_MASK_AXES = 4 };
struct attn_mask_tiles {
    uint64_t kind;
    int64_t size[ATTN_MASK_AXES]; /* the sizes of the mask's axes. If the mask has fewer axes, the first sizes are 1 */
};
/* The bits of the byte of a tile: some of the tile's truth values are true; some are false. */
enum { ATTN_TILE_SOME = 1, ATTN_TILE_SOME_NOT = 2 };

/* A kernel's statistics: a number for each row of `out`. A row that sees no key, or only keys of weight 0, has 0, or
   -inf for a logarithm. */
enum attn_statistics {
    ATTN_NO_STATISTICS,
    ATTN_LOGARITHMS,   /* softmax: the logarithm of the row's denominator */
    ATTN_DENOMINATORS, /* the denominator of the row */
    ATTN_UNDIVIDED     /* rows are not divided (`normalize: none`); a row of other weights has 1 */
};

/* The types of elements. BF16 (the upper half of a float) and F16 (IEEE half) are stored in a uint16_t. Kernels for
   them compute in float, and their parameters are float, but an array may have one of these types in any kernel of
   float. I32 and U8 are only for parameters.
   The types from FP8 on are only for keys and values (`storage` of a spec). Their rows are bytes, and strides count
   bytes:
   - FP8: an element is one byte, e4m3fn: sign, 4 bits of exponent, 3 of fraction
   - I8: a float, the scale, and an int8_t for each element
   - I8_32, I8_64: the same for each 32 or 64 elements
   - Q8_0: ggml's blocks: for 32 elements, the scale in f16 and 32 int8_t
   - Q4_0: ggml's blocks: for 32 elements, the scale in f16 and 16 bytes. Byte k has element k in its low half and
     element 16 + k in its high half, each plus 8 */
enum attn_dtype {
    ATTN_F32,
    ATTN_BF16,
    ATTN_F16,
    ATTN_F64,
    ATTN_I32,
    ATTN_U8,
    ATTN_FP8,
    ATTN_I8,
    ATTN_I8_32,
    ATTN_I8_64,
    ATTN_Q8_0,
    ATTN_Q4_0
};
/* An extent of a parameter that depends on the problem. */
enum attn_axis { ATTN_BATCH = -1, ATTN_HEADS = -2, ATTN_KV_HEADS = -3, ATTN_N_Q = -4, ATTN_N_K = -5 };
/* The number of blocks of an axis, size / block rounded up, in attn_param.shape. */
#define ATTN_BLOCKS(axis, block) ((axis) - 8 * (int64_t)(block))
/* The knowledge that a parameter gives of the keys that a query sees. */
enum attn_limits {
    ATTN_NO_LIMITS, /* nothing that is known */
    ATTN_IDS,       /* a query sees only keys with its own integer */
    ATTN_LENGTHS,   /* no query of a sequence sees a key from the sequence's integer on */
    ATTN_LISTS,     /* a block of queries sees only the blocks of keys in its list */
    ATTN_MORE_LISTS /* such lists, but queries may also see other keys */
};
/* The description of a parameter of a kernel. */
struct attn_param {
    const char *name; /* the name in the spec, such as "q_norm.weight"; its file is q_norm.weight.npy */
    enum attn_dtype dtype;
    int rank;
    int64_t shape[4]; /* each extent is a number, an enum attn_axis, or ATTN_BLOCKS of an enum attn_axis */
    size_t offset;    /* offset of the pointer in struct NAME_params */
    int random;       /* 1 if params_init makes this parameter from a seed, 0 if the caller provides it */
    size_t strides;   /* offset of its strides in struct NAME_strides, or ATTN_CONTIGUOUS if it must be contiguous */
    size_t tiles;     /* offset in struct NAME_params of the pointer to the table of this mask's tiles, or 0 */
    int rows;         /* 1 if extend takes only the rows of new tokens, 0 if it takes the whole parameter */
    enum attn_limits limits;
};
#define ATTN_CONTIGUOUS SIZE_MAX
/* Strides of an array of `arrays` in struct NAME_strides. For each axis, the stride is the distance in elements
   between neighbours. It is not negative. A stride of 0 repeats elements along the axis. If the strides of all axes
   are 0, the array is contiguous. ATTN_BROADCAST also repeats elements, but does not count as 0 in this rule. */
#define ATTN_BROADCAST INT64_MIN
enum { ATTN_MAX_ARRAYS = 1024 }; /* the most arrays of a kernel, with those that it computes */
/* The description of a kernel, NAME_kernel. */
struct attn_kernel {
    const char *name, *version;
    enum attn_dtype dtype;
    int64_t head_dim, value_dim;
    int params;
    const struct attn_param *param;
    size_t params_bytes; /* size of struct NAME_params */
    size_t (*params_size)(void);
    int (*params_init)(void *params, uint64_t seed, void *storage); /* `storage` has params_size() bytes, aligned to
                                                                       64 */
    size_t (*workspace)(const struct attn_problem *problem);
    int (*forward)(const struct attn_problem *problem, const void *params, const void *q, const void *k, const void *v,
                   void *out, void *workspace);
    /* The functions for gradients, or NULL. `gradients` is a struct NAME_gradients, which has a pointer for each
       learned parameter, in their order. */
    size_t (*saved)(const struct attn_problem *problem);
    size_t (*backward_workspace)(const struct attn_problem *problem);
    int (*backward)(const struct attn_problem *problem, const void *params, const void *q, const void *k, const void *v,
                    const void *out, const void *dout, void *dq, void *dk, void *dv, void *gradients, void *workspace);
    /* The functions for a state, or NULL. */
    size_t (*state)(const struct attn_problem *problem);
    int (*state_init)(const struct attn_problem *problem, void *state);
    size_t (*extend_workspace)(const struct attn_problem *problem);
    int (*extend)(const struct attn_problem *problem, const void *params, const void *q, const void *k, const void *v,
                  void *out, void *state, void *workspace);
    int64_t (*state_length)(const struct attn_problem *problem, const void *state, int64_t sequence);
    int64_t (*state_min_length)(const struct attn_problem *problem, const void *state, int64_t sequence);
    int (*state_truncate)(const struct attn_problem *problem, void *state, int64_t sequence, int64_t length);
    int (*state_copy)(const struct attn_problem *problem, void *to, int64_t to_sequence, const void *from,
                      int64_t from_sequence);
    int (*state_fold)(const struct attn_problem *problem, void *left, const void *right);
    int values_are_keys; /* 1 if a value is the first value_dim elements of its key. Then v, dv and their strides are
                            ignored, and dk includes dv */
    /* The kind of statistics, and the function that merges results (attn_merge) or NULL. */
    enum attn_statistics statistics;
    int (*merge)(const struct attn_problem *left, void *left_out, const struct attn_problem *right,
                 const void *right_out);
    size_t strides, strides_bytes; /* `strides` is the offset in struct NAME_params of the pointer to struct
                                      NAME_strides, or 0 if there is none. `strides_bytes` is the size of struct
                                      NAME_strides */
    /* attn_tiles_bytes and attn_tiles_of_mask. NULL if no parameter has a table of tiles. */
    size_t (*tiles_bytes)(int rank, const int64_t *shape);
    int (*tiles_of_mask)(const uint8_t *mask, int rank, const int64_t *shape, const int64_t *strides,
                         struct attn_mask_tiles *table, size_t bytes);
    /* Used by attn_ranks_forward and related functions (attnrt_ranks.h).
       - before, after: the farthest keys that a query sees before and after its position. INT64_MAX: any key
       - period: results stay equal if all positions move by this number. 0: no such number is known
       - names_heads, names_sequences: 1 if results depend on the number of a head, or of a sequence
       - in_parts: 1 if a result, or finite features, depend on positions in more than their differences, so that a call
         with a part of the keys needs problem->first_key and all_keys
       - state_chunk: returns the number of keys that a state sums at a time, or 0 if a state stores keys. NULL without
         a state */
    int64_t before, after, period;
    int names_heads, names_sequences, in_parts;
    int64_t (*state_chunk)(const struct attn_problem *problem);
    /* The types of keys and values that forward takes and that a state stores. They are `dtype` without `storage` in
       the spec. NAME_extend takes keys and values of `dtype`. */
    enum attn_dtype key_dtype, value_dtype;
    size_t (*page)(const struct attn_problem *problem); /* returns the bytes of a page for problem->pages. NULL without
                                                           a state */
    /* Used by attn_ranks_backward and attn_ranks_extend.
       - saved_power: if it is not 0, saved values are an array [B,H,n_q] of f32, or of f64 for f64. A row with the
         statistic s has log2(e) s if the statistics are logarithms, otherwise 1 / pow(s, 1 / saved_power). A row that
         sees no key has 0.
       - state_part: copies some heads of one sequence between `state` and `part`, the state of a problem of batch 1
         with part_problem->kv_heads key/value heads. They are heads first_kv_head, first_kv_head + 1, … of the
         sequence. Heads that share a head of q and k are in one part. If `back` is not 0, `state` becomes what `part`
         is. NULL without a state */
    int64_t saved_power;
    int (*state_part)(const struct attn_problem *problem, void *state, int64_t sequence, int64_t first_kv_head,
                      const struct attn_problem *part_problem, void *part, int back);
    int (*state_keep)(const struct attn_problem *problem, void *state, int64_t sequence, const int64_t *path,
                      int64_t count); /* NULL without a state */
    /* Returns the bytes of problem->chunk_sums for n_q new tokens. NULL if the state stores no sums, or extend cannot
       store the sums of chunks. */
    size_t (*chunk_sums)(const struct attn_problem *problem);
    /* For problem->earlier_sums and later_sums, or NULL. Kernels of linear forms with `emit: [forward, backward,
       decode]` have these functions, unless positions count in another way than by their difference, or other ids
       than `document` reset a state. With `document`, sums are those over earlier tokens of the first token's document,
       and over later tokens of the last token's document.
       - outer_sums: returns the bytes of the sums of earlier tokens if `later` is 0, of later tokens if it is 1, and of
         term_gradients if it is 2. The sums of a key/value head are contiguous, and follow those of the previous
         key/value head and sequence
       - add_outer_sums: adds the tokens of this call to problem->later_sums if `later` is not 0, which needs the
         earlier sums, too. Otherwise adds them to problem->earlier_sums. Other arguments are those of backward. With
         'delta', the sums are the state before a token, and the gradient with respect to the state after it
       - outer_chunk: the first token of each call is at a multiple of this number
       - outer_adds: 1 if the sums of two sets of tokens are arrays that can be added: floats, or doubles for f64
       - finish_gradients: computes the gradients of arrays that a decay reads, after backward with the same arguments
         and workspace, which must have the bytes that backward left. NULL without such arrays */
    size_t (*outer_sums)(const struct attn_problem *problem, int later);
    int (*add_outer_sums)(const struct attn_problem *problem, const void *params, const void *q, const void *k,
                          const void *v, const void *out, const void *dout, int later, void *workspace);
    int64_t outer_chunk;
    int outer_adds;
    int (*finish_gradients)(const struct attn_problem *problem, const void *params, const void *q, const void *k,
                            const void *v, const void *out, const void *dout, void *dq, void *dk, void *dv,
                            void *gradients, void *workspace);
    int has_sink; /* 1 if a call can leave out the constant or sink of the denominator (problem->sink_mode) */
    int64_t open_keys, end_of_keys; /* `before` and `after` do not limit keys before position open_keys. No query sees a
                                       key from position end_of_keys on, which is INT64_MAX if there is no such limit */
    /* For calls with some keys of a sequence, or NULL. Kernels of linear forms with `emit: [forward, statistics]` have
       these functions if all queries see the same keys, as without a mask or with `lengths` (sums_whole is 1), or with
       `causal` and `lengths` (sums_whole is 0). If sums_whole is 0, `any: [causal, prefix]` counts as `causal`.
       - key_sums: returns the bytes of the sums over keys, for each sequence and key/value head in turn. Zeros are the
         sums over no keys
       - add_key_sums: adds the keys of this call to problem->earlier_sums, which is aligned to 64. The workspace has
         workspace() bytes, for a problem with earlier_sums
       - forward with problem->earlier_sums takes the sums over all keys from there, and reads no keys. If sums_whole is
         0, they are the sums over the keys before those of this call, and n_q equals n_k. If open_keys is not 0, calls
         have tokens after these keys, or queries at these keys with n_k = 0 and the sums over all of them. Backward and
         add_outer_sums also take these keys with n_q = 0 and the sums over all queries. query_start is then 0
       - if sums_whole is 1, outer_sums, add_outer_sums and backward do the same with other sums: earlier_sums over all
         keys, and later_sums over all queries. Adding queries needs earlier_sums over all keys. n_q and query_start may
         be any */
    size_t (*key_sums)(const struct attn_problem *problem);
    int (*add_key_sums)(const struct attn_problem *problem, const void *params, const void *k, const void *v,
                        void *workspace);
    int sums_whole;
    /* For calls with some keys of a sequence, if weights have a decay and results merge.
       - decay_terms: the number of sums of the decay's logarithm for each query head and position, 1 or head_dim. It is
         0 without such calls, or if the decay depends on the distance alone
       - decay_params: bit k is set if parameter k is read by the decay, and by nothing else
       - decay_sums: writes the sums from the first key of a call up to each key, [B,H,n_k,decay_terms]. n_q equals n_k.
         The workspace has workspace() bytes
       - finish_gradients computes the gradients of parameters that the decay reads from problem->key_decay_gradients.
         Other arguments are those of backward */
    int64_t decay_terms;
    uint64_t decay_params;
    int (*decay_sums)(const struct attn_problem *problem, const void *params, double *sums, void *workspace);
    int weights; /* 1 if forward writes problem->weights */
    /* For a state as an array [B, H or G, numbers] of floats, or of doubles for f64. NULL without a state.
       - state_sums: returns its bytes, or 0 if the sums of a state are no matrices
       - state_set, state_get: NAME_state_set and NAME_state_get
       - state_arrays: how many matrices the numbers of a head are, one after another
       - state_shapes: the features and columns of each. Sums of weights have 1 column */
    size_t (*state_sums)(const struct attn_problem *problem);
    int (*state_set)(const struct attn_problem *problem, void *state, const void *sums);
    int (*state_get)(const struct attn_problem *problem, const void *params, void *state, void *sums, void *workspace);
    int state_arrays;
    const int64_t *state_shapes;
};

#elif ATTNRT_TYPES != 22
#error "these kernels were emitted by different versions of attnc: regenerate all of them with one version"
#endif /* ATTNRT_TYPES */

#ifdef __cplusplus
extern "C" {
#endif

struct softmax_params {
    int none; /* this variant has no parameters: pass NULL */
};

/* Returns the bytes of `storage` that softmax_params_init needs for the random arrays. */
size_t softmax_params_size(void);
/* Draws the random arrays and stores them in `storage`. Learned arrays become NULL; set them before other calls.
   Returns 0 or a negative ATTN_E… */
int softmax_params_init(struct softmax_params *params, uint64_t seed, void *storage);
/* Returns the bytes of the workspace for a problem. It must be aligned to 64.
   The number depends on problem->threads, not on the lengths. With threads = 0 the workspace serves one thread
   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,
   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that _forward
   can check it. Returns 0 for NULL. */
size_t softmax_workspace(const struct attn_problem *problem);
/* Computes out. Returns 0 or a negative ATTN_E… (see enum attn_error).
   Allocates no memory. The result does not depend on the number of threads. */
int softmax_forward(const struct attn_problem *problem, const struct softmax_params *params, const float *q,
    const float *k, const float *v,
    float *out, void *workspace);
extern const struct attn_kernel softmax_kernel;

#ifdef __cplusplus
}
#endif
#endif

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* ==== attnc's runtime library, as far as the kernel calls it ==== */
#define ATTN_API static __attribute__((unused))
#ifndef ATTNRT_ARGUMENTS
#define ATTNRT_ARGUMENTS
struct attn_range {
    int64_t from, to; /* from <= x < to */
};
/* A random draw of `count` different numbers for each a from `first` to `last`.
   - The numbers are from 0 … n - 1. n is `among`, or a + 1 with `upto`. If n <= count, all are drawn.
   - Candidates are splitmix64(splitmix64(splitmix64(seed) ^ a) ^ t) modulo n for t = 0, 1, …, without repetitions. */
struct attn_draw {
    uint64_t seed;
    int64_t count, among, first, last;
    int upto;
    int64_t *list; /* [last - first + 1, count + 1]: for each a, the number of drawn numbers, then the drawn numbers
                      in ascending order */
};
/* where the norms of attn_orthogonal_f64 begin in its stream */
#define ATTN_NORMS (UINT64_C(1) << 63)
#endif /* ATTNRT_ARGUMENTS */
/* Reads the description of a kernel: sizes of types, shapes of parameters. */
/* Small functions that emitted loops and the library around them use. */
#ifndef ATTNRT_BASIC_H
#define ATTNRT_BASIC_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* Functions of the library. A standalone kernel contains them, so that several such kernels can be in one program. */
#ifndef ATTN_API
#define ATTN_API
#endif

#if defined(__OPTIMIZE__)
#define INLINE static inline __attribute__((always_inline, unused))
#else /* without optimisation, inlining only doubles the compile time */
#define INLINE static inline __attribute__((unused))
#endif
#define APART static __attribute__((noinline, unused))
/* QUICK: the kernel is compiled in little time, with fewer copies of loops, for a first call (attnc build --quick). The
   bits of results are the same. LATER: functions that this call does not need, which are not optimised. */
#ifndef QUICK
#define QUICK 0
#endif
#ifdef __clang__
#define LATER static __attribute__((noinline, unused, optnone))
#else /* gcc would not round a * b + c as in optimised functions */
#define LATER APART
#endif
#define UNROLL _Pragma("GCC unroll 16")

INLINE int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }
INLINE int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
/* `size`: member batch of struct attn_problem. The sizes come first in it, in the order of enum attn_axis */
INLINE int64_t size_of_axis(const int64_t *size, int64_t axis) { return size[-axis - 1]; }
INLINE int64_t floor_mod(int64_t a, int64_t b) { return (a % b + b) % b; }
INLINE int64_t shifted_left(int64_t x, int64_t by) { return by < 0 || by > 63 ? 0 : (int64_t)((uint64_t)x << by); }
INLINE int64_t shifted_right(int64_t x, int64_t by) { return x >> (by < 0 || by > 63 ? 63 : by); }
INLINE double sigmoid(double x) { return 1 / (1 + exp(-x)); }
INLINE float sigmoidf(float x) { return 1 / (1 + expf(-x)); }

/* min_real and max_real keep NaN, unlike fmin and fmax. */
INLINE double min_real(double a, double b) { return a < b || a != a ? a : b; }
INLINE double max_real(double a, double b) { return a > b || a != a ? a : b; }

/* Truncates x. The absolute value is at most 2^62. NaN becomes 0. */
INLINE int64_t truncated(double x) { return x != x ? 0 : (int64_t)fmin(fmax(x, -0x1p62), 0x1p62); }

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

/* ---- 16-bit numbers ---- */

union bits { uint32_t bits; float value; };
INLINE float widened_bf16(uint16_t x) { return (union bits){(uint32_t)x << 16}.value; } /* the upper half of a float */
INLINE float widened_f16(uint16_t half) /* f16 has 5 bits of exponent and 10 of fraction */
{
    const uint32_t x = (half & 0x7fffu) << 13, sign = (half & 0x8000u) << 16;
    union bits made = {x + (113u << 23)}; /* for subnormal numbers, adds and subtracts a leading one */
    made.value -= 0x1p-14f;
    /* the second 112 << 23 is for infinity and NaN */
    if (x >= 0x00800000) made.bits = x + (112u << 23) + (x >= 0x0f800000 ? 112u << 23 : 0);
    made.bits |= sign;
    return made.value;
}

/* Round to nearest, ties to even. NaN stays NaN. */
INLINE uint16_t narrowed_bf16(float value)
{
    const uint32_t x = (union bits){.value = value}.bits;
    return (uint16_t)((value != value ? x | 0x400000 : x + 0x7fff + (x >> 16 & 1)) >> 16);
}
INLINE uint16_t narrowed_f16(float value)
{
    const union bits given = {.value = value}, size = {given.bits & 0x7fffffff}, tiny = {.value = size.value + 0.5f};
    uint32_t x = (size.bits - (112u << 23) + 0xfff + (size.bits >> 13 & 1)) >> 13;
    if (size.bits < 113u << 23) x = tiny.bits - (126u << 23); /* for subnormal numbers, adding 0.5f has rounded x */
    if (size.bits >= 0x477ff000) x = 0x7c00; /* numbers from 65520 on become infinity */
    if (value != value) x = 0x7e00;
    return (uint16_t)(x | (given.bits >> 16 & 0x8000));
}

#endif

ATTN_API size_t attn_dtype_size(enum attn_dtype dtype)
{
    switch (dtype) {
    case ATTN_F32: return 4;
    case ATTN_BF16: return 2;
    case ATTN_F16: return 2;
    case ATTN_F64: return 8;
    case ATTN_I32: return 4;
    case ATTN_U8:
    case ATTN_FP8:
    case ATTN_I8:
    case ATTN_I8_32:
    case ATTN_I8_64:
    case ATTN_Q8_0:
    case ATTN_Q4_0: return 1;
    }
    return 0;
}

_Static_assert(offsetof(struct attn_problem, n_k) == (-ATTN_N_K - 1) * sizeof(int64_t), "sizes are in order");

ATTN_API void attn_param_shape(const struct attn_param *p, const struct attn_problem *problem, int64_t *shape)
{
    for (int k = 0; k < p->rank; k++) {
        const int64_t axis = -p->shape[k];
        shape[k] = axis > 0 ? size_of_axis(&problem->batch, -(axis & 7)) : p->shape[k];
        if (axis > 7 && shape[k] > 0) shape[k] = (shape[k] - 1) / (axis / 8) + 1;
    }
}

ATTN_API int attn_param_learned(const struct attn_param *p)
{
    return !p->random && p->dtype != ATTN_I32 && p->dtype != ATTN_U8;
}
/* Checks a problem. Every kernel calls one of these functions before it accesses an array. */

#include <stdbool.h>

/* The limit for the number of elements. Elements have at most 8 bytes, so sizes in bytes do not overflow. */
static const int64_t most_elements = INT64_MAX / 8;

/* Returns whether a * b is at most `most`. Division would take most of the time of a short call. */
static bool is_at_most(int64_t a, int64_t b, int64_t most, int64_t *product)
{
    return !__builtin_mul_overflow(a, b, product) && *product <= most;
}

static bool product_fits(int64_t a, int64_t b, int64_t c, int64_t d)
{
    const int64_t factor[4] = {a, b, c, d};
    int64_t product = 1;
    /* Extents of 0 are skipped, because strides are products of the other extents and must not overflow. */
    for (int k = 0; k < 4; k++)
        if (factor[k] != 0 && !is_at_most(product, factor[k], most_elements, &product)) return false;
    return true;
}

/* Returns whether the offset of every element of an array with these strides fits. */
static bool extent_fits(const struct attn_strides *s, int64_t batch, int64_t heads, int64_t rows, int64_t dim)
{
    const int64_t count[3] = {batch, heads, rows}, stride[3] = {s->batch, s->head, s->row};
    int64_t left = most_elements - dim, extent;
    for (int k = 0; k < 3; k++) {
        if (count[k] < 2) continue;
        if (!is_at_most(stride[k], count[k] - 1, left, &extent)) return false;
        left -= extent;
    }
    return true;
}

/* Checks strides that are not all 0, and replaces those that are not used. */
static int given_check(struct attn_strides *s, int64_t batch, int64_t heads, int64_t rows, int64_t dim, bool written)
{
    if ((s->batch | s->head | s->row) < 0) return ATTN_EPROBLEM;
    if (!product_fits(batch, heads, rows, dim)) return ATTN_ESIZE;
    if (rows > 1 && s->row < dim) return ATTN_EPROBLEM;
    /* With a batch or head stride of 0, heads share memory. Outputs must not. */
    const bool any = batch > 0 && heads > 0 && rows > 0;
    if (written && any && ((batch > 1 && s->batch == 0) || (heads > 1 && s->head == 0))) return ATTN_EPROBLEM;
    if (!extent_fits(s, batch, heads, rows, dim)) return ATTN_ESIZE;
    /* The stride of an axis with one element is not used. Kernels may compute an address with it, so replace it. */
    if (rows < 2) s->row = dim;
    if (heads < 2) s->head = rows * dim;
    if (batch < 2) s->batch = heads * rows * dim;
    return 0;
}

/* Fills in the strides of an array. `all_fit`: arrays of the problem have few enough elements. This is inline, because
   short calls take much of their time here. */
INLINE int strides_check(struct attn_strides *s, int64_t batch, int64_t heads, int64_t rows, int64_t dim, bool written,
                         bool all_fit)
{
    if (s->batch | s->head | s->row) return given_check(s, batch, heads, rows, dim, written);
    if (!all_fit && !product_fits(batch, heads, rows, dim)) return ATTN_ESIZE;
    *s = (struct attn_strides){heads * rows * dim, rows * dim, dim};
    return 0;
}

ATTN_API int attn_stored_problem_check(const struct attn_problem *problem, int64_t head_dim, int64_t value_dim,
                                       int64_t key_row, int64_t value_row, struct attn_problem *filled)
{
    if (!problem || head_dim < 1 || value_dim < 1) return ATTN_EPROBLEM;
    struct attn_problem own, *const p = filled && filled != problem ? filled : &own;
    *p = *problem;
    if (p->batch < 0 || p->heads < 0 || p->kv_heads < 0 || p->n_q < 0 || p->n_k < 0 || p->threads < 0)
        return ATTN_EPROBLEM;
    if (p->heads > 0 && (p->kv_heads == 0 || p->heads % p->kv_heads != 0)) return ATTN_EPROBLEM;
    if (p->key_heads < 0 || (p->key_heads > 0 && (p->heads != p->kv_heads || p->heads % p->key_heads != 0)))
        return ATTN_EPROBLEM;
    const int64_t of_q = p->key_heads ? p->key_heads : p->heads, of_k = p->key_heads ? p->key_heads : p->kv_heads;
    /* one check for all arrays, because most problems are small */
    const bool all_fit = product_fits(p->batch, max(max(p->heads, p->kv_heads), p->key_heads), max(p->n_q, p->n_k),
                                      max(max(head_dim, value_dim), max(key_row, value_row)));
    const int64_t b = p->batch, h = p->heads, g = p->kv_heads, n_q = p->n_q, n_k = p->n_k;
    int error = strides_check(&p->statistics_at, b, h, n_q, 1, p->statistics != NULL, all_fit);
    if (!error) error = strides_check(&p->q, b, of_q, n_q, head_dim, false, all_fit);
    if (!error) error = strides_check(&p->k, b, of_k, n_k, key_row, false, all_fit);
    if (!error) error = strides_check(&p->v, b, g, n_k, value_row, false, all_fit);
    if (!error) error = strides_check(&p->out, b, h, n_q, value_dim, true, all_fit);
    if (!error) error = strides_check(&p->dout, b, h, n_q, value_dim, false, all_fit);
    if (!error) error = strides_check(&p->dq, b, of_q, n_q, head_dim, true, all_fit);
    if (!error) error = strides_check(&p->dk, b, of_k, n_k, head_dim, true, all_fit);
    if (!error) error = strides_check(&p->dv, b, g, n_k, value_dim, true, all_fit);
    if (!error && p->weights) error = strides_check(&p->weights_at, b, h, n_q, n_k, true, false);
    if (!error && filled == problem) *filled = own;
    return error;
}

ATTN_API int attn_problem_check(const struct attn_problem *problem, int64_t head_dim, int64_t value_dim,
                                struct attn_problem *filled)
{
    return attn_stored_problem_check(problem, head_dim, value_dim, head_dim, value_dim, filled);
}
/* Random parameters from a seed: normal values and orthogonal features, from Philox4x32-10 (Salmon et al., SC 2011).
   All arithmetic is in integers until the last conversion. So the bits are the same everywhere. */

#include <stdbool.h>

/* ---- fixed point ---- */

struct wide {
    uint64_t high, low;
};

static inline struct wide multiply(uint64_t a, uint64_t b)
{
    const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    const uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), rest = a0 * b1 + (uint32_t)middle;
    return (struct wide){a1 * b1 + (middle >> 32) + (rest >> 32), rest << 32 | (uint32_t)low};
}

/* Returns a * b / 2^shift, for shift from 1 to 63. The result must fit in 64 bits. */
static inline uint64_t scaled(uint64_t a, uint64_t b, int shift)
{
    const struct wide product = multiply(a, b);
    return product.high << (64 - shift) | product.low >> shift;
}

static inline uint64_t magnitude(int64_t x)
{
    return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

static inline int64_t with_sign(uint64_t x, bool negative)
{
    return negative ? -(int64_t)x : (int64_t)x;
}

/* Returns the square root of n, rounded down. */
static uint64_t root(struct wide n)
{
    uint64_t made = 0;
    for (uint64_t bit = UINT64_C(1) << 63; bit; bit >>= 1) {
        const struct wide square = multiply(made | bit, made | bit);
        if (square.high < n.high || (square.high == n.high && square.low <= n.low)) made |= bit;
    }
    return made;
}

/* ---- Philox4x32-10 ---- */

ATTN_API void attn_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        const uint64_t a = UINT64_C(0xD2511F53) * c0, b = UINT64_C(0xCD9E8D57) * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += UINT32_C(0x9E3779B9);
        k1 += UINT32_C(0xBB67AE85);
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* Returns the 64-bit FNV-1a hash of the name. */
ATTN_API uint64_t attn_stream(const char *name)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001B3);
    return hash;
}

/* ---- standard normal values, by the Box-Muller transform ---- */

/* Returns -log2(u / 2^64) in units of 2^-57, for u > 0. Squaring doubles a logarithm, so each squaring gives a
   binary digit. */
static uint64_t minus_log2(uint64_t u)
{
    uint64_t whole = 1, fraction = 0;
    for (; !(u >> 63); u <<= 1) whole++;
    for (int k = 0; k < 57; k++) {
        const struct wide square = multiply(u, u);
        const uint64_t digit = square.high >> 63;
        u = digit ? square.high : square.high << 1 | square.low >> 63;
        fraction = fraction << 1 | digit;
    }
    return (whole << 57) - fraction;
}

/* Computes the sine and cosine of an angle from 0 to pi/4, by Taylor series, in units of 2^-62. The first omitted
   term is below 2^-66. */
static void sine_cosine(uint64_t angle, uint64_t *sine, uint64_t *cosine)
{
    const uint64_t one = UINT64_C(1) << 62, square = scaled(angle, angle, 62);
    uint64_t s = one, c = one;
    for (uint64_t k = 18; k > 0; k -= 2) {
        s = one - scaled(square, s, 62) / (k * (k + 1));
        c = one - scaled(square, c, 62) / (k * (k - 1));
    }
    *sine = scaled(angle, s, 62);
    *cosine = c;
}

/* Computes values 2 * pair and 2 * pair + 1 of a stream, in units of 2^-56 (Box-Muller). Values are at most sqrt(2 *
   log(2^64)) = 9.42. */
static void normal_pair(uint64_t seed, uint64_t stream, uint64_t pair, int64_t value[2])
{
    const uint64_t twice_log_2 = UINT64_C(0xB17217F7D1CF79AC),
                   quarter_pi = UINT64_C(0xC90FDAA22168C235); /* 2 log 2 in units of 2^-63, pi/4 in units of 2^-64 */
    const uint32_t counter[4] = {(uint32_t)pair, (uint32_t)(pair >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t bits[4];
    attn_philox(counter, key, bits);
    /* sqrt(-2 log u) in units of 2^-60; `| 1` keeps u above 0 */
    const uint64_t radius = root(multiply(minus_log2(((uint64_t)bits[1] << 32 | bits[0]) | 1), twice_log_2));
    /* the angle: its octant, and the distance `rest` from the octant's start; odd octants are mirrored */
    const uint64_t turn = (uint64_t)bits[3] << 32 | bits[2], octant = turn >> 61, most = UINT64_C(1) << 61,
                   rest = turn & (most - 1);
    uint64_t sine, cosine;
    sine_cosine(multiply((octant & 1 ? most - rest : rest) << 1, quarter_pi).high, &sine, &cosine);
    const bool swap = (octant + 1) & 2;
    value[0] = with_sign(multiply(radius, swap ? sine : cosine).high >> 2, (octant + 2) & 4);
    value[1] = with_sign(multiply(radius, swap ? cosine : sine).high >> 2, octant & 4);
}

/* Consecutive values of a stream. Stores the last pair, so that it is computed once. */
struct normals {
    uint64_t seed, stream, next;
    int64_t value[2];
};

static struct normals normals_from(uint64_t seed, uint64_t stream, uint64_t first)
{
    struct normals n = {.seed = seed, .stream = stream, .next = first};
    if (first & 1) normal_pair(seed, stream, first / 2, n.value);
    return n;
}

static int64_t next_normal(struct normals *n)
{
    if (!(n->next & 1)) normal_pair(n->seed, n->stream, n->next / 2, n->value);
    return n->value[n->next++ & 1];
}

ATTN_API void attn_normal_f64(uint64_t seed, uint64_t stream, uint64_t first, int64_t n, double *out)
{
    struct normals from = normals_from(seed, stream, first);
    for (int64_t k = 0; k < n; k++) out[k] = (double)next_normal(&from) * 0x1p-56;
}

ATTN_API void attn_normal_f32(uint64_t seed, uint64_t stream, uint64_t first, int64_t n, float *out)
{
    struct normals from = normals_from(seed, stream, first);
    for (int64_t k = 0; k < n; k++) out[k] = (float)((double)next_normal(&from) * 0x1p-56);
}

/* ---- orthogonal random features ---- */

static uint64_t norm(const int64_t *v, int64_t n)
{
    struct wide sum = {0, 0};
    for (int64_t k = 0; k < n; k++) {
        const struct wide square = multiply(magnitude(v[k]), magnitude(v[k]));
        sum.low += square.low;
        sum.high += square.high + (sum.low < square.low);
    }
    return root(sum);
}

/* Reads the next n values in units of 2^-52. A sum of 2^16 squares of them fits in 128 bits. */
static void normal_row(struct normals *from, int64_t n, int64_t *row)
{
    for (int64_t k = 0; k < n; k++) row[k] = next_normal(from) / 16;
}

/* Scales v to length 1, in units of 2^-60. Returns false if v is 0. */
static bool make_unit(int64_t *v, int64_t n)
{
    uint64_t length = norm(v, n), inverse = 0, rest = 0;
    int shift = 0;
    if (length == 0) return false;
    for (; !(length >> 62); length <<= 1) shift++;
    for (int k = 0; k < 126; k++) { /* computes (2^126 - 1) / length */
        rest = rest << 1 | 1;
        const bool digit = rest >= length;
        if (digit) rest -= length;
        inverse = inverse << 1 | digit;
    }
    for (int64_t k = 0; k < n; k++) v[k] = with_sign(multiply(magnitude(v[k]) << shift, inverse).high >> 2, v[k] < 0);
    return true;
}

/* Subtracts from v its projection on `unit`, which has length 1. */
static void remove_part(int64_t *v, const int64_t *unit, int64_t n)
{
    int64_t along = 0;
    for (int64_t k = 0; k < n; k++)
        along += with_sign(scaled(magnitude(v[k]), magnitude(unit[k]), 60), (v[k] < 0) != (unit[k] < 0));
    const uint64_t size = magnitude(along);
    for (int64_t k = 0; k < n; k++)
        v[k] -= with_sign(scaled(size, magnitude(unit[k]), 60), (along < 0) != (unit[k] < 0));
}

/* Makes row `row` orthogonal to earlier rows, and scales it to length 1. Gram-Schmidt runs twice because of
   rounding. Returns false if the row depends on earlier rows. */
static bool orthonormal_row(int64_t *block, int64_t row, int64_t columns)
{
    int64_t *v = block + row * columns;
    bool good = make_unit(v, columns);
    for (int pass = 0; pass < 2 && good; pass++) {
        for (int64_t r = 0; r < row; r++) remove_part(v, block + r * columns, columns);
        good = make_unit(v, columns);
    }
    return good;
}

ATTN_API size_t attn_orthogonal_work(int64_t rows, int64_t columns)
{
    return (size_t)((rows < columns ? rows : columns) + 1) * (size_t)columns * sizeof(int64_t);
}

/* Computes row `row` of the features, in units of 2^-52, and stores it after the block. Earlier rows of the block
   must exist. */
static const int64_t *feature_row(uint64_t seed, uint64_t stream, int64_t rows, int64_t row, int64_t columns,
                                  int64_t *block)
{
    const int64_t in_block = row % columns;
    int64_t *q = block + in_block * columns, *made = block + (rows < columns ? rows : columns) * columns;
    const uint64_t first = (uint64_t)row * (uint64_t)columns;
    struct normals from = normals_from(seed, stream, first);
    normal_row(&from, columns, q);
    /* replace a dependent row by the first unit vector that is independent */
    for (int64_t axis = 0; !orthonormal_row(block, in_block, columns); axis++)
        for (int64_t k = 0; k < columns; k++) q[k] = k == axis;
    from = normals_from(seed, stream, ATTN_NORMS + first);
    normal_row(&from, columns, made);
    const uint64_t length = norm(made, columns);
    for (int64_t k = 0; k < columns; k++) made[k] = with_sign(scaled(length, magnitude(q[k]), 60), q[k] < 0);
    return made;
}

ATTN_API void attn_orthogonal_f64(uint64_t seed, uint64_t stream, int64_t rows, int64_t columns, double *out,
                                  void *work)
{
    for (int64_t row = 0; row < rows; row++) {
        const int64_t *made = feature_row(seed, stream, rows, row, columns, work);
        for (int64_t k = 0; k < columns; k++) out[row * columns + k] = (double)made[k] * 0x1p-52;
    }
}

ATTN_API void attn_orthogonal_f32(uint64_t seed, uint64_t stream, int64_t rows, int64_t columns, float *out, void *work)
{
    for (int64_t row = 0; row < rows; row++) {
        const int64_t *made = feature_row(seed, stream, rows, row, columns, work);
        for (int64_t k = 0; k < columns; k++) out[row * columns + k] = (float)((double)made[k] * 0x1p-52);
    }
}
/* Finds the features of the processor that the system lets a process use. Uses cpuid, because __builtin_cpu_supports
   always returns 0 with some compilers, such as zig cc. */

#include <stdbool.h>

struct cpuid_words {
    unsigned a, b, c, d;
};

static inline struct cpuid_words cpuid_of(unsigned leaf, unsigned part)
{
    struct cpuid_words w = {0, 0, 0, 0};
#if defined(__x86_64__)
    __asm__("cpuid" : "=a"(w.a), "=b"(w.b), "=c"(w.c), "=d"(w.d) : "0"(0), "2"(0));
    if (w.a < leaf) return (struct cpuid_words){0, 0, 0, 0};
    __asm__("cpuid" : "=a"(w.a), "=b"(w.b), "=c"(w.c), "=d"(w.d) : "0"(leaf), "2"(part));
#else
    (void)leaf;
    (void)part;
#endif
    return w;
}

/* Returns true if all `bits` are set in the word. */
static inline bool has_bits(unsigned word, unsigned bits)
{
    return (word & bits) == bits;
}

/* Returns the registers that the system saves, as bits of XCR0. A process may use only these. */
static inline unsigned kept_registers(void)
{
    unsigned low = 0;
#if defined(__x86_64__)
    const unsigned OSXSAVE = 1U << 27;
    unsigned high;
    if (has_bits(cpuid_of(1, 0).c, OSXSAVE)) __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
#endif
    return low;
}

static inline int find_x86_64_level(void)
{
    const unsigned SSE3 = 1U << 0, SSSE3 = 1U << 9, FMA = 1U << 12, SSE41 = 1U << 19, SSE42 = 1U << 20,
                   POPCNT = 1U << 23, AVX = 1U << 28, F16C = 1U << 29; /* bits of ecx in cpuid leaf 1 */
    const unsigned BMI = 1U << 3, AVX2 = 1U << 5, BMI2 = 1U << 8, AVX512F = 1U << 16, AVX512DQ = 1U << 17,
                   AVX512CD = 1U << 28, AVX512BW = 1U << 30, AVX512VL = 1U << 31; /* bits of ebx in cpuid leaf 7 */
    /* bits of XCR0 for the registers of AVX and AVX-512 */
    const unsigned YMM = 0x6, ZMM = 0xe6;
    const unsigned one = cpuid_of(1, 0).c, seven = cpuid_of(7, 0).b, kept = kept_registers();
    if (!has_bits(one, SSE3 | SSSE3 | SSE41 | SSE42 | POPCNT)) return 1;
    if (!has_bits(one, AVX | FMA | F16C) || !has_bits(seven, AVX2 | BMI | BMI2) || !has_bits(kept, YMM)) return 2;
    if (!has_bits(seven, AVX512F | AVX512DQ | AVX512CD | AVX512BW | AVX512VL) || !has_bits(kept, ZMM)) return 3;
    return 4;
}

/* Returns whether Linux lets this process use tile registers, which it does only after this request. */
static inline bool may_use_tiles(void)
{
#if defined(__x86_64__) && defined(__linux__)
    enum { ARCH_PRCTL = 158, REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    long result = ARCH_PRCTL;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"((long)REQUEST_PERMISSION), "S"((long)TILE_DATA)
                     : "rcx", "r11", "memory");
    return result == 0;
#else
    return false;
#endif
}

enum processor_feature {
    PROCESSOR_LEVEL,
    PROCESSOR_BF16_PAIRS,
    PROCESSOR_BYTE_PRODUCTS,
    PROCESSOR_OF_INTEL,
    PROCESSOR_TILES,
    PROCESSOR_FEATURES
};

static inline int find_feature(enum processor_feature feature)
{
    const unsigned BF16_PAIRS = 1U << 5, VNNI = 1U << 11, TILES_OF_BF16 = 1U << 24 | 1U << 22; /* eax, ecx and edx */
    const struct cpuid_words vendor = cpuid_of(0, 0);
    switch (feature) {
    case PROCESSOR_LEVEL: return find_x86_64_level();
    case PROCESSOR_BF16_PAIRS:
        return find_x86_64_level() >= 4 && cpuid_of(7, 0).a >= 1 && has_bits(cpuid_of(7, 1).a, BF16_PAIRS);
    case PROCESSOR_BYTE_PRODUCTS: return find_x86_64_level() >= 4 && has_bits(cpuid_of(7, 0).c, VNNI);
    case PROCESSOR_OF_INTEL: /* "GenuineIntel" */
        return vendor.b == 0x756e6547 && vendor.d == 0x49656e69 && vendor.c == 0x6c65746e;
    default: return has_bits(cpuid_of(7, 0).d, TILES_OF_BF16) && may_use_tiles();
    }
}

/* Returns what the first call has found, because cpuid takes microseconds in a virtual machine. */
static inline int processor_has(enum processor_feature feature)
{
    static int known[PROCESSOR_FEATURES]; /* 0 before the first call, then 1 + the answer */
    int answer = __atomic_load_n(&known[feature], __ATOMIC_RELAXED) - 1;
    if (answer < 0) {
        answer = find_feature(feature);
        __atomic_store_n(&known[feature], answer + 1, __ATOMIC_RELAXED);
    }
    return answer;
}

ATTN_API int attn_x86_64_level(void)
{
    return processor_has(PROCESSOR_LEVEL);
}

ATTN_API int attn_avx512_bf16(void)
{
    return processor_has(PROCESSOR_BF16_PAIRS);
}

ATTN_API int attn_avx512_vnni(void)
{
    return processor_has(PROCESSOR_BYTE_PRODUCTS);
}

ATTN_API int attn_is_intel(void)
{
    return processor_has(PROCESSOR_OF_INTEL);
}

ATTN_API int attn_tiles(void)
{
    return processor_has(PROCESSOR_TILES);
}
/* Tables of the tiles of masks. With a table, a kernel finds the tiles that a mask hides, without reading the mask. */

#include <string.h>

/* The first bytes of a table: a word, and the size of a tile. So a kernel refuses tables with tiles of another size. */
static const uint64_t kind_of_table = UINT64_C(0x6174746e00000000) | ATTN_TILE_ROWS << 16 | ATTN_TILE_COLUMNS;

typedef uint8_t flags_of_tile __attribute__((vector_size(16))); /* every processor has vectors of this size */

static int any_bit(flags_of_tile x)
{
    uint64_t words[2];
    memcpy(words, &x, sizeof words);
    return (words[0] | words[1]) != 0;
}

/* Returns the byte of some rows of a tile whose columns are contiguous. */
static inline uint8_t tile_of_contiguous_rows(const uint8_t *flag, const int64_t rows, const int64_t columns,
                                              int64_t row)
{
    enum { WIDTH = sizeof(flags_of_tile) };
    flags_of_tile some = {0}, some_not = {0};
    const int64_t whole = columns - columns % WIDTH;
    for (int64_t r = 0; r < rows; r++) {
#pragma GCC unroll 4
        for (int64_t x = 0; x < whole; x += WIDTH) {
            flags_of_tile part;
            memcpy(&part, flag + r * row + x, sizeof part);
            some |= part;
            some_not |= (flags_of_tile)(part == 0);
        }
        for (int64_t x = whole; x < columns; x++) {
            some[0] |= flag[r * row + x];
            some_not[0] |= !flag[r * row + x];
        }
    }
    return (uint8_t)((any_bit(some) ? ATTN_TILE_SOME : 0) | (any_bit(some_not) ? ATTN_TILE_SOME_NOT : 0));
}

static uint8_t tile_of_rows(const uint8_t *flag, int64_t rows, int64_t columns, int64_t row, int64_t column)
{
    uint8_t tile = 0;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t x = 0; x < columns; x++) tile |= flag[r * row + x * column] ? ATTN_TILE_SOME : ATTN_TILE_SOME_NOT;
    return tile;
}

/* Reads a few rows of all tiles, and then the next few. It skips the other rows of a tile that has both kinds of flags.
   Processors also prefetch a few rows of consecutive bytes better than the many rows of a tile. */
ATTN_API void attn_tiles_of_strip(const uint8_t *mask, int64_t rows, int64_t columns, int64_t row, int64_t column,
                                  uint8_t *tile)
{
    enum { ROWS = 8, COLUMNS = ATTN_TILE_COLUMNS, EARLY = 4, BOTH = ATTN_TILE_SOME | ATTN_TILE_SOME_NOT };
    if (row == 0) rows = rows > 0; /* all rows are the same */
    const int64_t tiles = columns / COLUMNS + (columns % COLUMNS > 0);
    memset(tile, 0, (size_t)tiles);
    for (int64_t first = 0; first < rows; first += ROWS) {
        const int64_t some = rows - first < ROWS ? rows - first : ROWS;
        for (int64_t t = 0; t < tiles; t++) {
            const int64_t width = columns - t * COLUMNS < COLUMNS ? columns - t * COLUMNS : COLUMNS;
            const uint8_t *const flag = mask + first * row + t * COLUMNS * column;
            for (int64_t r = 0; r < some && t + EARLY < tiles && tile[t + EARLY] != BOTH; r++)
                __builtin_prefetch(flag + r * row + EARLY * COLUMNS * column);
            if (tile[t] == BOTH) continue;
            if (column != 1)
                tile[t] |= tile_of_rows(flag, some, width, row, column);
            else if (width == COLUMNS && some == ROWS)
                tile[t] |= tile_of_contiguous_rows(flag, ROWS, COLUMNS, row);
            else
                tile[t] |= tile_of_contiguous_rows(flag, some, width, row);
        }
    }
}

/* Returns the byte of a row of a tile, of numbers given by their bits. `hidden` has the bits of -inf. */
#define ROW_OF_BITS(name, bits) \
    static uint8_t name(const bits *x, bits hidden, int64_t columns, int64_t column) \
    { \
        bits some = 0, some_not = 0; \
        for (int64_t k = 0; k < columns; k++) { \
            const bits hides = x[k * column] == hidden; \
            some |= hides ^ 1; \
            some_not |= hides; \
        } \
        return (uint8_t)((some ? ATTN_TILE_SOME : 0) | (some_not ? ATTN_TILE_SOME_NOT : 0)); \
    }
ROW_OF_BITS(row_of_16_bits, uint16_t)
ROW_OF_BITS(row_of_32_bits, uint32_t)
ROW_OF_BITS(row_of_64_bits, uint64_t)

ATTN_API void attn_tiles_of_reals(enum attn_dtype dtype, const void *reals, int64_t at, int64_t rows, int64_t columns,
                                  int64_t row, int64_t column, uint8_t *tile)
{
    enum { COLUMNS = ATTN_TILE_COLUMNS, BOTH = ATTN_TILE_SOME | ATTN_TILE_SOME_NOT };
    if (row == 0) rows = rows > 0; /* all rows are the same */
    for (int64_t first = 0; first < columns; first += COLUMNS, tile++) {
        const int64_t width = columns - first < COLUMNS ? columns - first : COLUMNS;
        *tile = 0;
        for (int64_t r = 0; r < rows && *tile != BOTH; r++) {
            const int64_t x = at + r * row + first * column;
            if (dtype == ATTN_F32)
                *tile |= row_of_32_bits((const uint32_t *)reals + x, 0xff800000, width, column);
            else if (dtype == ATTN_F64)
                *tile |= row_of_64_bits((const uint64_t *)reals + x, UINT64_C(0xfff0000000000000), width, column);
            else
                *tile |= row_of_16_bits((const uint16_t *)reals + x, dtype == ATTN_F16 ? 0xfc00 : 0xff80, width,
                                        column);
        }
    }
}

/* Writes the sizes of a mask's axes, with axes of size 1 first, to size[0] … size[3]. Returns 0 or an error. */
static int sizes_of_mask(int rank, const int64_t *shape, int64_t *size)
{
    if (!shape) return ATTN_EPOINTER;
    if (rank < 2 || rank > ATTN_MASK_AXES) return ATTN_EPROBLEM;
    for (int k = 0; k < ATTN_MASK_AXES; k++)
        size[k] = k < ATTN_MASK_AXES - rank ? 1 : shape[k - (ATTN_MASK_AXES - rank)];
    for (int k = 0; k < ATTN_MASK_AXES; k++)
        if (size[k] < 0) return ATTN_EPROBLEM;
    return 0;
}

static int64_t tiles_along(int64_t size, int64_t of)
{
    return size / of + (size % of > 0);
}

/* Returns the bytes of the tiles of all masks, or SIZE_MAX on overflow. */
static size_t bytes_of_tiles(const int64_t *size)
{
    const int64_t factor[ATTN_MASK_AXES] = {size[0], size[1], tiles_along(size[2], ATTN_TILE_ROWS),
                                            tiles_along(size[3], ATTN_TILE_COLUMNS)};
    size_t bytes = 1;
    for (int k = 0; k < ATTN_MASK_AXES; k++)
        if (__builtin_mul_overflow(bytes, factor[k], &bytes)) return SIZE_MAX;
    return bytes;
}

ATTN_API size_t attn_tiles_bytes(int rank, const int64_t *shape)
{
    int64_t size[ATTN_MASK_AXES];
    if (sizes_of_mask(rank, shape, size)) return 0;
    const size_t bytes = bytes_of_tiles(size);
    return bytes > SIZE_MAX / (2 * ATTN_TILE_ROWS * ATTN_TILE_COLUMNS) ? 0 : sizeof(struct attn_mask_tiles) + bytes;
}

/* Writes the strides of all axes to stride[0] … stride[3]. No size is 0. Returns 0 or ATTN_EPROBLEM. */
static int strides_of_mask(int rank, const int64_t *size, const int64_t *strides, int64_t *stride)
{
    int any = 0;
    for (int k = 0; strides && k < rank; k++) any |= strides[k] != 0;
    for (int k = ATTN_MASK_AXES - 1, own = rank - 1; k >= 0; k--, own--) {
        stride[k] = k == ATTN_MASK_AXES - 1 ? 1 : stride[k + 1] * size[k + 1];
        if (any) stride[k] = own < 0 || size[k] == 1 || strides[own] == ATTN_BROADCAST ? 0 : strides[own];
        if (stride[k] < 0) return ATTN_EPROBLEM;
    }
    return 0;
}

ATTN_API int attn_tiles_of_mask(const uint8_t *mask, int rank, const int64_t *shape, const int64_t *strides,
                                struct attn_mask_tiles *table, size_t bytes)
{
    int64_t size[ATTN_MASK_AXES], stride[ATTN_MASK_AXES] = {0};
    int error = sizes_of_mask(rank, shape, size);
    if (error) return error;
    const size_t needed = attn_tiles_bytes(rank, shape);
    if (needed == 0) return ATTN_ESIZE;
    if (!table || (!mask && needed > sizeof *table)) return ATTN_EPOINTER;
    if ((uintptr_t)table % sizeof(uint64_t)) return ATTN_EALIGN;
    if (bytes < needed) return ATTN_EWORKSPACE;
    table->kind = kind_of_table;
    memcpy(table->size, size, sizeof size);
    if (needed == sizeof *table) return 0;
    error = strides_of_mask(rank, size, strides, stride);
    if (error) return error;
    const int64_t strips = tiles_along(size[2], ATTN_TILE_ROWS), of_strip = tiles_along(size[3], ATTN_TILE_COLUMNS);
    uint8_t *const tiles = (uint8_t *)(table + 1);
    for (int64_t m = 0; m < size[0] * size[1]; m++) {
        uint8_t *const tiles_of_mask = tiles + m * strips * of_strip;
        const int64_t a = m / size[1], b = m % size[1],
                      same = b > 0 && stride[1] == 0   ? m - 1
                             : a > 0 && stride[0] == 0 ? m - size[1]
                                                       : -1;
        if (same >= 0) { /* an axis repeats an earlier mask */
            memcpy(tiles_of_mask, tiles + same * strips * of_strip, (size_t)(strips * of_strip));
            continue;
        }
        for (int64_t strip = 0; strip < strips; strip++) {
            const int64_t first = strip * ATTN_TILE_ROWS, left = size[2] - first;
            attn_tiles_of_strip(mask + a * stride[0] + b * stride[1] + first * stride[2],
                                left < ATTN_TILE_ROWS ? left : ATTN_TILE_ROWS, size[3], stride[2], stride[3],
                                tiles_of_mask + strip * of_strip);
        }
    }
    return 0;
}

ATTN_API int attn_tiles_check(const struct attn_mask_tiles *table, int rank, const int64_t *shape)
{
    int64_t size[ATTN_MASK_AXES];
    if (!table) return ATTN_EPOINTER;
    const int error = sizes_of_mask(rank, shape, size);
    if (error) return error;
    if ((uintptr_t)table % sizeof(uint64_t)) return ATTN_EALIGN;
    return table->kind == kind_of_table && memcmp(table->size, size, sizeof size) == 0 ? 0 : ATTN_ETILES;
}

ATTN_API int attn_ancestors(int64_t tokens, const int32_t *parents, uint8_t *ancestors, int64_t row, int32_t *depths)
{
    if (tokens < 0 || row < tokens) return ATTN_EPROBLEM;
    if (tokens > 0 && (!parents || !ancestors)) return ATTN_EPOINTER;
    for (int64_t t = 0; t < tokens; t++)
        if (parents[t] < -1 || parents[t] >= t) return ATTN_EPROBLEM;
    for (int64_t t = 0; t < tokens; t++) {
        const int32_t parent = parents[t];
        uint8_t *const own = ancestors + t * row;
        if (parent < 0)
            memset(own, 0, (size_t)row);
        else
            memcpy(own, ancestors + parent * row, (size_t)row);
        own[t] = 1;
        if (depths) depths[t] = parent < 0 ? 0 : depths[parent] + 1;
    }
    return 0;
}
/* Checks the arguments of a call, and finds the places of its arrays. */
/* The functions that the files of this folder share. The entry points of a kernel are a line each: NAME_forward calls
   attn_call_forward with the kernel's table, and so on. The functions that callers see say in attnrt.h and in NAME.h
   what they do. */
#ifndef ATTNRT_CALL_CALL_H
#define ATTNRT_CALL_CALL_H

/* Emitted loops and the library that calls them (runtime/call/) share these: a call, a thread's share of a head,
   and the
   tables at the end of every kernel. Words:
   - program: one loop nest of a kernel for one target, such as forward or a part of backward
   - task: the work that a thread takes at a time
   - chunk: a fixed number of keys whose sums are made at a time
   - slot: memory for the sums of one chunk
   - carried state: the sums over all chunks so far
   - fold: add a slot to the carried state. If queries read earlier states, the slot then holds the state for them.
   - segment: chunks that one thread takes at a time
   - outer sums: the sums over the tokens before and after those of a call (attn_problem.earlier_sums) */
#ifndef ATTNRT_CALL_H
#define ATTNRT_CALL_H



#include <string.h>
#ifdef __unix__
#include <sched.h>
#endif

enum { MAX_REMEMBERED = 8, MASK_AXES = 2, NO_ARRAY = 65535, SHARED_GRADIENTS = 2 };

/* ---- a call ---- */

/* Where an array is. All strides count elements, or bytes if rows are bytes. */
/* Rows of an array that a product prefetches: the bytes between two rows, and of one. */
struct coming {
    const void *at;
    int64_t row, width;
};

struct place {
    void *at; /* the caller's array, or memory in the workspace; NULL if the call does not have the array */
    struct attn_strides strides; /* of an array with a row for each token */
    int64_t group;               /* where heads are queries: the stride of the heads that share a key/value head */
    int64_t stride[4];           /* of an array of `arrays`, for each axis */
};

/* The table of the tiles of masks. */
struct mask_tiles {
    /* Flags, or reals that are -inf where they hide: [masks, rows, columns]. The axes of masks have the sizes `size`
       and the strides `stride`. */
    const void *flag;
    enum attn_dtype dtype;
    const uint8_t *tile;                 /* [strips, tiles of a strip], as in struct attn_mask_tiles */
    uint8_t *made;                       /* `tile`, if the call makes the table. Its memory is part of the workspace. */
    const struct attn_mask_tiles *given; /* the caller's table, or NULL */
    /* `strips` is the number of strips that the call fills */
    int64_t rows, columns, strips_of_mask, tiles_of_strip, strips;
    /* `row` and `column` are the strides of rows and columns */
    int64_t size[MASK_AXES], stride[MASK_AXES], row, column;
};

enum { OUTER_NONE, OUTER_EARLIER, OUTER_LATER, OUTER_TERMS };

struct call { /* the arguments of a call; all threads read the same struct */
    struct attn_problem p;
    const struct kernel *kernel;
    const struct program *program; /* in calls with a state: the program that computes the next tokens */
    const void *params;            /* the caller's struct NAME_params */
    int64_t sharing;               /* the number of heads of v and out that share a head of q and of k */
    int asked;                     /* with a state: the caller wants the rows of out */
    int wrong;                     /* the faults of arguments, for check_arguments */
    struct mask_tiles *mask_tiles; /* the tables of the kernel's masks */
    unsigned char *kept;           /* the sums of all heads in the caller's state, or NULL */
    /* start: the position of the sequence's first token, or `length` if the call begins the sums; summed: the sums
       contain the keys before this position; length: the position of the first new token; solved: the state has the
       solution of 'delta' for the keys from `summed` to this position */
    int64_t start, summed, length, solved;
    /* chunk_sums: the caller's sums of chunks, from chunk number first_chunk on, or NULL; head_chunks: the chunks of a
       head in it */
    unsigned char *chunk_sums;
    int64_t first_chunk, head_chunks;
    const unsigned char *folded; /* the sums of a second state over p.n_k keys, which are added to `kept` */
    /* - outer: the caller's outer sums that forward or the current part of backward reads, or NULL. A key/value head
       has `outer_head` bytes of them, for `outer_tasks` tasks
       - adds: the call only adds its tokens to these sums: to those of earlier or of later tokens. OUTER_NONE: it
         computes gradients. OUTER_TERMS: it computes those of arrays that a decay reads, after the others
       - gives: the current part adds to its sums
       - only_sums: it computes nothing else */
    unsigned char *outer;
    int64_t outer_head, outer_tasks;
    int adds, gives, only_sums;
    /* - pages: the caller's pages, or NULL
       - page: for each sequence, the numbers of its pages
       Pointers to arrays of keys are addresses of the first head's rows in page 0. */
    const struct attn_pages *pages;
    const int32_t *page;
    /* Keys that several sequences have in the same pages are summed in a call for all rows of these sequences.
       - common: memory for a sequence's rows: prepared queries, and the sums over chunks of such keys. [kv_heads, rows]
       - common_begun: whether `common` has sums. If so, they are over the chunks before number common_chunks
       - common_end: all rows see the keys before common_end in chunk common_chunks and later ones
       - sharer, sharers: in a call for several sequences, the calls of these sequences
       - place: in such a call, the sequence's position of query 0, the number of the query, and that of its member of
       the key/value head, for each row */
    unsigned char *common;
    int common_begun;
    int64_t common_chunks, common_end, sharers;
    struct call *const *sharer;
    const struct place_of_row {
        int64_t start;
        int32_t number, member;
    } *place;
    /* extend computes some sequences of the batch at a time. first_sequence is the first of them. other_sequences is
       the number of sequences that are not computed. */
    int64_t first_sequence, other_sequences;
    int64_t dropped; /* the number of keys between the first and the last keys that the state stores */
    /* progress[head][1 + tile] is n if the tile has added to positions 0 to n - 1. `progress` is NULL if one thread
       computes all tiles of a head. tiles: the tiles of a head */
    int64_t *progress, tiles;
    const struct place *shared; /* in backward, if heads share heads: the caller's places of kernel->shared_gradient */
    struct place array[ATTN_MAX_ARRAYS]; /* those of the kernel's table; copy_call copies no others */
};

/* ---- a thread's share of a head ---- */

/* - Threads fold the slots of their segments into the carried state, one segment after the other.
   - The state's elements are in groups. Two threads can fold different groups at the same time.
   - Each group counts its segments in its own cache line of NUMBERS_OF_LINE numbers. */
enum { NUMBERS_OF_LINE = 8, FOLD_GROUPS = 16 };

struct share {
    int64_t number, threads; /* number: the thread's number; threads: the number of threads on the head */
    /* chunk0, chunk1: the thread's segment is chunks chunk0 to chunk1 - 1; window: slots of a thread */
    int64_t chunk0, chunk1, window;
    /* folded: for each group, the segments added to it; segments: the segments of earlier heads */
    int64_t *folded, segments;
    /* work: the thread's memory; shared: memory of all threads; slots: the thread's slots */
    unsigned char *work, *shared, *slots;
    void (*barrier)(void); /* waits for all threads on the head */
};

/* ---- the tables of a kernel ---- */

/* The use of a program. A kernel has at most one program of a kind for each target, part, form and number of keys. In a
   target's table, those of a role are one after another. */
enum program_role {
    RUN_FORWARD,
    RUN_BACKWARD, /* one of the parts */
    RUN_TERMS,    /* computes the terms of prefix sums */
    RUN_CORRECT,  /* computes the corrected values of 'delta', or their tangents */
    RUN_APPEND,   /* the same for new tokens of a state */
    RUN_EXTEND,   /* forward for new tokens, with a state of sums */
    RUN_FOLDABLE, /* the same for a state that also has transitions (attn_problem.foldable) */
    RUN_ATTEND,   /* forward for new tokens, with a state of keys, if it differs from RUN_FORWARD */
    RUN_PREPARE,  /* prepares keys, or other rows, for a state */
    RUN_WEIGHTS,  /* computes weights of pairs, if the call wants them */
    RUN_SELECT,   /* computes one of the lists of the best keys */
    RUN_SELECT_NEW /* the same for new tokens of a state that stores prepared keys or rows */
};

/* FORM_FEW: for few queries; FORM_HEADS: for few queries of many heads that share keys; FORM_MANY: for all others */
enum program_form { FORM_MANY, FORM_FEW, FORM_HEADS };

/* A matrix among the sums of a head: element (f, e) is `row` * f + `column` * e numbers after `at`. */
struct matrix_of_sums {
    int64_t features, columns, row, column;
    size_t at;
};

struct program {
    enum program_role role;
    enum program_form form;
    int part;         /* the number of the part of backward */
    int64_t from;     /* the number of keys from which this program runs. The programs for more keys come first */
    int64_t few_rows; /* FORM_FEW: the most queries of all heads that share keys */
    int64_t lanes;    /* FORM_FEW: if it is not 0, the lanes of a vector, with which few_pay counts */
    void (*rows)(const struct call *, int64_t, unsigned char *); /* computes a task on one thread */
    void (*head)(const struct call *, int64_t, struct share *); /* computes a head on one or more threads;
        may be NULL */
    int64_t tile; /* queries of a task; 0: all queries of a key/value head; -1: all queries of a query head */
    size_t own;   /* bytes of workspace for each thread */
    int in_keys;  /* no query may be after the last key */
    int own_sums; /* computes the prefix sums that it reads */
    int64_t of_pair, of_token; /* multiply-adds per query-key pair, and per token; one of them is 0 */
    /* a task is a tile of queries, or a tile of the keys of a key/value head or of a query head */
    enum { OF_QUERIES, OF_KEY_HEAD, OF_QUERY_HEAD } of_keys;
    int outer;           /* enum: the program carries sums of earlier or of later tokens, or none */
    int64_t outer_bytes; /* the bytes of these sums for a task, a multiple of 64 */
    /* adds: bit k is set if the part runs in a call that only adds to sums of kind k; outer_results: it then computes
       an array for another part, too */
    int adds, outer_results;
    int saves;             /* forward stores values for backward */
    const uint16_t *wanted; /* the part runs if the call has one of these arrays, up to NO_ARRAY. NULL: always */
    int idle;              /* the part has nothing to compute */
    int of_terms;          /* the part computes gradients from those of the terms of prefix sums */
    /* The part computes again what forward may have saved: saved rows, or the solution of 'delta'. sums_slices: it adds
       the sums of slices, and skips a gradient that is in the caller's array already (struct array, whole) */
    int saved_again, solution_again, sums_slices;
    int units;      /* the number of slices of the rows, or 0 */
    int unit_batch; /* the rows of a slice are of one batch entry */
    int unit_heads; /* heads in a slice: 0: all, 1: one key/value head, 2: one query head */
    /* the number of strips and tiles that a thread remembers, which are at these places in its workspace */
    int remembered;
    size_t remembers[MAX_REMEMBERED];
    int in_order;               /* tiles of a head add to shared sums in order */
    int by_heads;               /* query heads that share keys take the place of queries */
    int64_t apart;              /* positions between neighbouring queries of a task, or 0 for 1 */
    size_t shared, slot, slots; /* shared: bytes for all threads of a head; slot: bytes of a slot; slots: per thread */
    int together;  /* heads that all threads compute together: 0: none, 1: the last (heads % threads), 2: all */
    int any_order; /* the ids of the keys may be in any order */
    /* common: sums keys that several sequences share, for a key/value head and at most common_rows rows of these
       sequences; may be NULL. common_chunk: the keys of a chunk. common_row: bytes of a row in `call.common`.
       common_range: gives the keys that all rows of a sequence see; NULL if these are all keys before the rows */
    void (*common)(const struct call *, int64_t, struct share *);
    void (*common_range)(const struct call *, int64_t, int64_t *);
    int64_t common_rows, common_chunk, common_row;
    /* The sums of a head, if they are matrices or vectors, which have 1 column: their number, or 0. solution: that of
       'delta' for the rows of a chunk. It has 0 features without 'delta' */
    int matrices;
    const struct matrix_of_sums *matrix;
    struct matrix_of_sums solution;
    int64_t chunk;                                               /* keys that are added to a state at a time */
    size_t kept;                                                 /* bytes of the sums of one head */
    void (*join)(const struct call *, int64_t, unsigned char *); /* adds the sums of a second state, for one task */
    size_t join_work;                                            /* bytes of workspace for `join` */
};

struct target {
    int (*runs)(void); /* returns whether this machine runs the target; NULL: every machine does */
    const struct program *program;
    int programs;
};

/* How a call gets an array. */
enum array_origin {
    FROM_ARGUMENT,  /* an argument of entry points */
    FROM_PROBLEM,   /* a member of struct attn_problem */
    FROM_ARRAY,     /* a part of another array. The strides of these first three are in struct attn_problem, and they
                       are the first arrays of a table */
    FROM_PARAMS,    /* a member of struct NAME_params */
    FROM_GRADIENTS, /* a member of struct NAME_gradients */
    FROM_SAVED,     /* numbers for each row that forward saves and backward reads: [B,H,n_q] */
    FROM_ROW_SUMS,  /* numbers or vectors of rows that a part of backward makes for later parts: [B,H,n_q,elements] */
    FROM_SUMS,      /* sums that tiles add up in order: [B,H,n_q,elements], or n_k with sums_of_keys */
    FROM_LEFT,      /* an array that a part of backward leaves for later parts */
    FROM_LISTS,     /* lists of the best keys, which forward and backward compute first */
    FROM_LIBRARY    /* memory that forward.c, sums.c or backward.c places */
};
enum array_entry { ENTRY_FORWARD, ENTRY_BACKWARD };
enum array_access { ACCESS_NONE, ACCESS_READ, ACCESS_WRITTEN, ACCESS_WANTED };
/* The rows of an array: one for each query or key, or others. */
enum array_rows { ROWS_OTHER, ROWS_OF_QUERIES, ROWS_OF_KEYS };
enum array_random { RANDOM_NONE, RANDOM_NORMAL, RANDOM_ORTHOGONAL };

struct array {
    const char *name;
    enum array_origin origin;
    enum array_access access[2];     /* in forward and extend; in backward */
    enum attn_dtype dtype, appended; /* appended: the type of the rows that extend takes */
    enum array_rows rows;
    int argument[2];  /* FROM_ARGUMENT: its number among the arguments of the entry */
    size_t member;    /* the offset of the pointer in struct attn_problem, NAME_params or NAME_gradients */
    size_t strides;   /* the offset of its struct attn_strides in struct attn_problem. FROM_ARGUMENT, FROM_PROBLEM */
    int of;           /* FROM_ARRAY: the number of the array that contains this one */
    int param;        /* FROM_PARAMS: its number in the table of parameters */
    int random;       /* enum array_random */
    int has_rows;     /* FROM_PARAMS: it has rows of reals, so that place.strides are set */
    int axis[3];      /* FROM_PARAMS, or rows in a state: the axes of sequences, heads, and queries or keys, or -1 */
    int integer_rows; /* calls with a state take the integers of new tokens */
    int of_sequences; /* integers of each sequence, which are not an array of `arrays`: the elements of a sequence are
                         those of the axes after the first one */
    int mask;         /* 1 + the number of the table of its tiles, or 0 */
    /* FROM_LEFT. It has elements of size kernel->real. It has a place if the call has one of the arrays `wanted`. NULL:
       it has no memory
       - linear: the linear form leaves it. Arrays of the two forms share memory
       - whole: the number of the gradient that sums it over query heads, or 0. If all heads are apart, it is that array
       - sums: it has a row for each key and key/value head, or query head with `whole` */
    const uint16_t *wanted;
    int linear, whole, sums;
    int64_t elements; /* FROM_PROBLEM, FROM_LEFT, FROM_SUMS, FROM_LISTS, FROM_LIBRARY: the elements of a row, or of all
                         constant axes. FROM_ROW_SUMS: the same, or 0 for numbers */
    int sizes;        /* FROM_PROBLEM, FROM_LEFT, FROM_LISTS: the sizes that are multiplied with `elements`, as bits
                         1 << -axis of enum attn_axis */
    enum attn_statistics statistics; /* FROM_PROBLEM: what the array has, if it is the statistics */
};

/* An array whose rows a state stores. */
struct kept_array {
    int array;         /* its number in the kernel's table */
    int64_t row_bytes; /* bytes of a row in the state */
    /* enum attn_axis: ATTN_HEADS or ATTN_KV_HEADS; 0: all heads share the rows; 1: heads of k; more: that many heads */
    int heads;
    int64_t element;   /* if not 0, the bytes of an element: the elements of a row of the caller may be apart */
    int64_t rounded;   /* if not 0, the elements of a row that is rounded to `dtype` of the array */
    int prepared;      /* if not 0, its rows are stored prepared, by the programs of this part and 1 */
};

/* The threads of a kernel's OpenMP (openmp.h). */
struct openmp {
    struct attn_team team;
    int (*max_threads)(void), (*processors)(void);
};

/* A kernel, in the form that runtime/call/ reads. */
struct kernel {
    uint64_t layout; /* KERNEL_LAYOUT. This member is always the first one */
    const char *name;
    const struct openmp *openmp; /* NULL: calls without a team have one thread */
    const struct target *target;
    const struct array *array;
    const struct attn_param *param;
    const struct kept_array *kept_array; /* the arrays of a state, then those that only the terms of prefix sums need */
    int targets, arrays, params;
    enum attn_dtype dtype, key_dtype, value_dtype;
    size_t real, element; /* the bytes of a number in computations, and of an element of out */
    int64_t head_dim, value_dim, key_row, value_row, max_length; /* key_row, value_row: units of a row in memory */
    size_t params_bytes;                                         /* the size of struct NAME_params */
    size_t strides;         /* the offset in it of the pointer to struct NAME_strides, if `strided` */
    size_t gradients_bytes; /* the size of struct NAME_gradients */
    int strided, storage, values_are_keys, delta, positions, shares, masks;
    uint64_t seed; /* the seed of dropout in the spec */
    int ids; /* the number of the array whose integers the linear form needs in order, or -1 */
    /* Prefix sums: prefix_row is the number of them for each head and position, or 0. `prefix` has the numbers of their
       arrays, in the order of enum prefix_array; subnormals are taken for zeros */
    int64_t prefix_row, sum_tokens;
    uint16_t prefix[9];
    const uint16_t *prefix_wanted; /* the gradients that need those of the terms,
        up to NO_ARRAY. NULL: there are none */
    int decay_parts;              /* calls may have some keys of a sequence with a decay (attn_problem.query_decay) */
    int weighs, lists;            /* it has programs of RUN_WEIGHTS, and of RUN_SELECT */
    int corrected, tangents;      /* the number of the array of corrected values, or -1; their tangents follow it */
    int outer, whole, key_sums;   /* outer: calls may give outer sums; whole: these are sums over all tokens */
    int64_t outer_chunk, open_keys;
    /* Backward: the number of parts, of arrays FROM_SAVED, of FROM_ROW_SUMS' numbers for a query,
       the number of the saved
       solution or -1 */
    int parts, saved, row_sums, solution;
    int by_heads, gathers; /* by_heads: it has programs of FORM_HEADS; gathers: they serve any call */
    int64_t row_of_sums;                            /* the elements of all arrays FROM_SUMS for a row */
    int sums_of_keys;                               /* these rows are keys, and tiles of queries add to them */
    const uint16_t *sums_wanted;
    /* `shares`: the numbers of the gradients of queries and of keys. They have head_dim elements, and several heads may
       share a head of them */
    uint16_t shared_gradient[SHARED_GRADIENTS];
    /* A state:
       - carried: it has sums over chunks; solves: and the solution for the keys after them
       - by_capacity: it stores all keys; read_back, read_first: the numbers of last and first keys that it stores
       - rows_kept: the tokens of a sequence for which it has room
       - folds, moves, any_order, transitions: see struct emission; joins: two states can be joined
       - prepared: it stores prepared keys or other rows; attends: other programs than forward read its keys
       - appends: it stores corrected values
       - uncopied: a call may read its own keys in place; rounds_prepared: prepared keys are rounded
       - numbered: an expression reads the number of a sequence
       - kept_arrays: the arrays of the state; given: these and those that only the terms of prefix sums need; sums: the
         number among them of the first array of prefix sums
       - common_row: the largest common_row of a program */
    int decodes, carried, solves, by_capacity, folds, transitions, joins, moves, terms_move, any_order, prepared,
        attends, appends, paged, rows_move, uncopied, rounds_prepared, ids_in_order, numbered, chunk_sums, own_integers;
    int64_t read_back, read_first, rows_kept, common_row;
    uint64_t fingerprint;
    int kept_arrays, given, sums;
};

/* The layout, which must be that of the library that a kernel calls: the sizes of the structs above, and a number that
   changes when their meaning changes but not their sizes. */
#define KERNEL_VERSION UINT64_C(2)
#define KERNEL_LAYOUT \
    ((((KERNEL_VERSION * 8191 + sizeof(struct call)) * 8191 + sizeof(struct program)) * 8191 + sizeof(struct array)) * \
         8191 + \
     sizeof(struct kernel))
INLINE int fits_library(const struct kernel *kernel) { return kernel->layout == KERNEL_LAYOUT; }

/* ---- what the entry points of a kernel call (runtime/call/) ---- */

/* A standalone kernel contains these functions, which are then static. */
#ifndef ATTN_API
#define ATTN_API
#endif
#if defined __GNUC__ && !defined ATTNRT_HIDDEN
#pragma GCC visibility push(default) /* the shared library exports these functions too */
#endif

/* `argument` has the arrays in the order of the entry point's arguments. */
ATTN_API size_t attn_call_workspace(const struct kernel *kernel, const struct attn_problem *problem);
ATTN_API int attn_call_forward(const struct kernel *kernel, const struct attn_problem *problem, const void *params,
                               const void *const *argument, void *workspace);
/* add_key_sums of struct attn_kernel. The arguments for queries are NULL */
ATTN_API int attn_call_add_key_sums(const struct kernel *kernel, const struct attn_problem *problem, const void *params,
                                    const void *const *argument, void *workspace);
ATTN_API size_t attn_call_key_sums(const struct kernel *kernel, const struct attn_problem *problem);
ATTN_API int attn_call_decay_sums(const struct kernel *kernel, const struct attn_problem *problem, const void *params,
                                  double *sums, void *workspace);
ATTN_API size_t attn_call_params_size(const struct kernel *kernel);
ATTN_API int attn_call_params_init(const struct kernel *kernel, void *params, uint64_t seed, void *storage);

ATTN_API size_t attn_call_saved(const struct kernel *kernel, const struct attn_problem *problem);
/* Computes gradients, or what `adds` (OUTER_…) says. `gradients` is a struct NAME_gradients or NULL */
/* add_outer_sums of struct attn_kernel. The arguments for gradients are NULL. */

#if defined __GNUC__ && !defined ATTNRT_HIDDEN
#pragma GCC visibility pop
#endif

/* ---- what loops call ---- */

/* Waits until another thread has raised `*number` to `to`. */
INLINE void await_number(const int64_t *number, int64_t to)
{
    for (int tries = 0; __atomic_load_n(number, __ATOMIC_ACQUIRE) < to; tries++) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
#if defined(__unix__)
        if (tries >= 1000) sched_yield(); /* the other thread may need this processor */
#else
        (void)tries;
#endif
    }
}

/* Waits until the previous tile has added to all positions before `position`. Tiles of a head add to the sums in
   order, so results do not depend on threads. */
INLINE void await_turn(const struct call *call, int64_t task, int64_t position)
{
    if (call->progress) await_number(call->progress + task + task / call->tiles, position);
}

/* Lets the next tile add to all positions before `position`. */
INLINE void pass_turn(const struct call *call, int64_t task, int64_t position)
{
    if (call->progress) __atomic_store_n(call->progress + task + task / call->tiles + 1, position, __ATOMIC_RELEASE);
}

/* Returns the number of chunks in a segment, at most `window`. All threads get equally many chunks, in as few
   segments as possible. */
INLINE int64_t segment_length(const struct share *share, int64_t chunks)
{
    const int64_t each = (max(chunks, 1) + share->threads - 1) / share->threads,
                  rounds = (each + share->window - 1) / share->window;
    return (each + rounds - 1) / rounds;
}

/* Returns the part of from <= x < to that the thread computes. Parts are in the order of threads,
   and begin at multiples
   of `unit`. */
INLINE struct attn_range range_of_share(const struct share *share, int64_t from, int64_t to, int64_t unit)
{
    const int64_t first = from / unit, units = to > from ? (to - 1) / unit + 1 - first : 0,
        begin = first + units * share->number / share->threads,
        end = first + units * (share->number + 1) / share->threads;
    return (struct attn_range){max(from, begin * unit), min(to, end * unit)};
}

/* Segments are added to a group in order. await_segment waits until all earlier segments are added. pass_segment
   announces that `segment` is added. */
INLINE void await_segment(const struct share *share, int64_t group, int64_t segment)
{
    if (share->threads > 1) await_number(share->folded + group * NUMBERS_OF_LINE, share->segments + segment);
}
INLINE void pass_segment(const struct share *share, int64_t group, int64_t segment)
{
    if (share->threads > 1)
        __atomic_store_n(share->folded + group * NUMBERS_OF_LINE, share->segments + segment + 1, __ATOMIC_RELEASE);
}

/* Waits for all threads on the head. */
INLINE void synchronise(const struct share *share)
{
    if (share->threads > 1) share->barrier();
}

/* Returns where the caller has the outer sums of a task, or NULL. */
INLINE unsigned char *outer_sums(const struct call *call, int64_t task, int64_t bytes)
{
    const int64_t at = call->outer ? task / call->outer_tasks * call->outer_head + task % call->outer_tasks * bytes : 0;
    return call->outer ? call->outer + at : NULL;
}

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

/* Copies a row of a tile to memory, or back. */
INLINE void move_bytes(unsigned char *memory, unsigned char *tile, size_t bytes, int back)
{
    if (back)
        memcpy(tile, memory, bytes);
    else
        memcpy(memory, tile, bytes);
}

#endif

/* ---- arrays with a row for each sequence, head and position ---- */

/* Returns the bytes of such an array, whose rows have `row` bytes. */
INLINE size_t bytes_of_rows(size_t row, const struct attn_problem *p, int64_t heads, int64_t n)
{
    return whole_lines(bytes_times(bytes_times(bytes_times(row, p->batch), heads), n));
}
/* Returns the strides of such an array if it is contiguous. */
INLINE struct attn_strides contiguous(int64_t heads, int64_t n, int64_t row)
{
    return (struct attn_strides){heads * n * row, n * row, row};
}
/* Returns the strides on the axes of sequences, heads and positions of a parameter, or 0 for an axis that it lacks. */
INLINE struct attn_strides strides_of_axes(const struct place *place, const int axis[3])
{
    return (struct attn_strides){axis[0] < 0 ? 0 : place->stride[axis[0]], axis[1] < 0 ? 0 : place->stride[axis[1]],
                                 axis[2] < 0 ? 0 : place->stride[axis[2]]};
}
INLINE size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}
/* Returns the tasks of a key/value head of a program that carries sums. */
INLINE int64_t tasks_of_sums(const struct attn_problem *p, const struct program *program)
{
    return program->tile == 0 ? 1 : p->heads / max(p->kv_heads, 1);
}

/* ---- programs (program.c) ---- */

/* `rows` for attn_call_program: the number of queries of all heads that share keys, or one of these. */
enum { MANY_HEADS = -1, MANY_ROWS = 1 << 30 };
/* Returns the program of this machine's target for n_k keys. `rows` and n_q choose the form. If there is none, the
   program has no function. */
ATTN_API const struct program *attn_call_program(const struct kernel *kernel, enum program_role role, int part,
                                                 int64_t n_k, int64_t rows, int64_t n_q);
/* Returns the program of a role that has one for each target. */
INLINE const struct program *attn_call_program_of(const struct kernel *kernel, enum program_role role)
{
    return attn_call_program(kernel, role, 0, INT64_MAX, MANY_ROWS, 0);
}
/* Returns whether this machine can run it. */
INLINE int attn_call_runs(const struct program *program)
{
    return program->idle || program->rows || program->head;
}
INLINE size_t attn_call_bytes_a_thread(const struct program *program)
{
    return program->own + program->shared + program->slots * program->slot;
}
/* Returns the largest bytes of a thread over all programs of a role for up to n_k keys. */
ATTN_API size_t attn_call_max_bytes(const struct kernel *kernel, enum program_role role, int64_t n_k);
/* Returns the number of keys from which forward runs other programs than for n_k keys, or INT64_MAX. */
ATTN_API int64_t attn_call_next_length(const struct kernel *kernel, int64_t n_k);
/* Returns `rows` for a call: MANY_ROWS if it saves values or has many queries, because its queries are in the lanes. */
ATTN_API int64_t attn_call_rows_of(const struct kernel *kernel, const struct attn_problem *p);
/* Swaps heads and queries: the query heads that share keys become queries, and each query becomes a head. */
ATTN_API void attn_call_heads_as_queries(struct call *call);

/* ---- the arrays of a call (arrays.c) ---- */

/* Copies the call, with the arrays of its kernel. */
ATTN_API void attn_call_copy(struct call *to, const struct call *from);
/* Begins a call: checks the sizes, strides and positions, fills in `call->p`, and sets the places of arguments. Other
   places become NULL. `given`: keys and values have the kernel's types of storage. Returns 0 or an error. */
ATTN_API int attn_call_begin(struct call *call, const struct kernel *kernel, const struct attn_problem *problem,
                             const void *params, const void *const *argument, enum array_entry entry, int given);
/* Returns ATTN_EPOINTER if an argument that the call needs for its queries, or for its keys, is NULL, or if an output
   begins where another argument begins. `queries` and `keys`: the call has some. */
enum { SHARES_MEMORY = 1 << 8 }; /* call->wrong also has 1 << enum array_rows for arguments that are NULL */
INLINE int check_arguments(const struct call *call, int queries, int keys)
{
    return call->wrong & (SHARES_MEMORY | (queries ? 1 << ROWS_OF_QUERIES : 0) | (keys ? 1 << ROWS_OF_KEYS : 0))
               ? ATTN_EPOINTER
               : 0;
}
/* Returns the elements of an array with `elements` and `sizes`, or of its row if `elements` counts those of a row. */
ATTN_API size_t attn_call_elements(const struct array *a, const struct attn_problem *p);
/* Checks that the caller has given all parameters, and sets their places and strides. Returns 0 or an error. */
ATTN_API int attn_call_take_params(struct call *call);
INLINE int attn_call_too_long(const struct kernel *kernel, const struct attn_problem *p)
{
    return kernel->max_length && (p->n_q > kernel->max_length || p->n_k > kernel->max_length);
}
/* Returns whether a query is after the keys. */
INLINE int attn_call_after_keys(const struct kernel *kernel, const struct attn_problem *p)
{
    int after = 0;
    for (int64_t b = 0; kernel->positions && p->query_start && b < p->batch; b++)
        after |= (int64_t)((uint64_t)p->query_start[b] + (uint64_t)p->n_q) > p->n_k; /* no size is checked yet */
    return after;
}
/* Returns the number of keys that the choice of a program depends on. */
INLINE int64_t attn_call_keys(const struct kernel *kernel, const struct attn_problem *p)
{
    return attn_call_after_keys(kernel, p) ? 0 : p->n_k; /* only the quadratic form computes such queries */
}
ATTN_API int attn_call_has_any(const struct call *call, const uint16_t *wanted); /* one of these arrays is not NULL */
INLINE int64_t attn_call_sharing(const struct kernel *kernel, const struct attn_problem *p)
{
    return kernel->shares && p->key_heads ? max(p->heads / p->key_heads, 1) : 1;
}
/* Returns whether an id is smaller than the id of the previous key. */
ATTN_API int attn_call_ids_fall(const int32_t *id, int64_t batch, int64_t sequence, int64_t n, int64_t row);

/* ---- threads (threads.c) ---- */

/* A call of a program. */
struct job {
    const struct call *call;
    const struct program *program;
    int64_t tasks, alone; /* one thread runs each of the first `alone` tasks; all threads share each later one */
    double effort;        /* the multiply-adds of a task */
};
ATTN_API int64_t attn_call_threads_served(const struct kernel *kernel, const struct attn_problem *p);
/* Checks the workspace of a call, and sets *threads. The first `shared` bytes are for all threads. Returns 0 or an
 * error.*/
ATTN_API int attn_call_take_workspace(const struct kernel *kernel, const struct attn_problem *p, const void *workspace,
                                      size_t shared, size_t bytes_a_thread, int *threads);
/* Runs all tasks of a program. Each thread has `bytes` of workspace. Returns 0 or an error. */
ATTN_API int attn_call_run(const struct call *call, const struct program *program, int threads,
                           unsigned char *workspace, size_t bytes);
/* Runs the calls of a list, so that all threads have about the same work. Each thread has `bytes` of workspace. */
ATTN_API int attn_call_run_jobs(struct job *job, int64_t jobs, int threads, unsigned char *workspace, size_t bytes);
/* How a thread computes with floating-point numbers. attn_call_begin_arithmetic begins arithmetic without traps. */
struct arithmetic {
    uint64_t control, flags; /* registers of the processor */
};
ATTN_API struct arithmetic attn_call_begin_arithmetic(const struct kernel *kernel);
ATTN_API void attn_call_end_arithmetic(const struct arithmetic *before);

/* ---- tables of the tiles of masks (masks.c) ---- */

enum { MAX_MASKS = 16 };
ATTN_API size_t attn_call_tiles_bytes(const struct kernel *kernel, const struct attn_problem *problem);
/* Sets call->mask_tiles to `tables`, whose tiles begin at `at`, and fills them. Returns 0 or an error. */
ATTN_API int attn_call_make_tiles(struct call *call, struct mask_tiles *tables, unsigned char *at, int threads);

/* ---- what forward saves for backward (saved.c) ---- */

/* Returns the bytes of an array with an element per query and head. */
INLINE size_t attn_call_row_bytes(const struct kernel *kernel, const struct attn_problem *p)
{
    return bytes_of_rows(kernel->real, p, p->heads, p->n_q);
}
/* Places the arrays of this origin, which have an element per query and head, at `at` and after it. */
ATTN_API void attn_call_place_rows(struct call *call, enum array_origin origin, unsigned char *at);
ATTN_API size_t attn_call_saved_bytes(const struct kernel *kernel, const struct attn_problem *p);
/* Sets the place of the saved solution, if the kernel has one, in the memory `saved` of a call. */
ATTN_API void attn_call_set_solution(struct call *call, unsigned char *saved);

/* ---- what forward computes first: prefix sums and corrected values (forward.c, sums.c) ---- */

/* The arrays of prefix sums and of their gradients, numbers in kernel->prefix. */
enum prefix_array {
    PREFIX_OF_QUERY,
    PREFIX_OF_QUERY_LOW,
    PREFIX_OF_KEY,
    PREFIX_OF_KEY_LOW,
    PREFIX_OF_CHUNK,
    PREFIX_OF_CHUNK_LOW,
    PREFIX_GRADIENT_OF_QUERY,
    PREFIX_GRADIENT_OF_KEY,
    PREFIX_GRADIENT
};
/* Returns the place of an array of prefix sums. */
INLINE struct place *prefix_place(struct call *call, enum prefix_array array)
{
    return &call->array[call->kernel->prefix[array]];
}
ATTN_API size_t attn_call_prefix_rows(const struct kernel *kernel, const struct attn_problem *p, int64_t n);
ATTN_API int64_t attn_call_rows_of_sums(const struct kernel *kernel, const struct attn_problem *p);
ATTN_API size_t attn_call_prefix_bytes(const struct kernel *kernel, const struct attn_problem *p);
/* Sets the places of the prefix sums, which begin at `at`. Returns the end of these. */
ATTN_API unsigned char *attn_call_set_prefix_sums(struct call *call, unsigned char *at);
ATTN_API int attn_call_make_prefix_sums(struct call *call, const struct program *terms, int threads,
                                        unsigned char *work, size_t bytes);
/* Returns the bytes of the workspace that all threads of a call share: prefix sums of the problem `sums` or NULL,
   tables of tiles, corrected values, lists of the best keys. */
ATTN_API size_t attn_call_shared_bytes(const struct kernel *kernel, const struct attn_problem *p,
                                       const struct attn_problem *sums);
/* The lists of the best keys, which are before the tables of tiles (lists.c). attn_call_make_lists computes them; each
   thread has `work`, after the shared memory. */
ATTN_API size_t attn_call_lists_bytes(const struct kernel *kernel, const struct attn_problem *p);
ATTN_API int attn_call_make_lists(struct call *call, int threads, unsigned char *work);
/* Places the lists up to number `list` at `at`, and returns the program that computes this one, or NULL after the last
   list. */
ATTN_API const struct program *attn_call_place_list(struct call *call, int list, unsigned char *at, int of_state);
/* Sets n elements from `to` on to 0 in each row of an array of queries. */
ATTN_API void attn_call_clear_rows(const struct call *call, const struct place *place, int64_t elements);

/* Loops over numbers of one type (sums.c). Each has a form for floats and one for doubles. `program` is for
   attn_call_run. */
enum sums_task {
    SUMS_ADD_TERMS,       /* replaces a head's terms by prefix sums */
    SUMS_CONTINUE,        /* replaces the terms of new tokens by sums that continue from the previous row */
    SUMS_ADD_GRADIENTS,   /* replaces the gradients of prefix sums by those of the terms */
    SUMS_TOTAL_GRADIENTS, /* sums these gradients to problem->term_gradients */
    SUMS_WRITE_GRADIENTS, /* writes problem->query_decay_gradients and key_decay_gradients */
    SUMS_TAKE_GRADIENTS   /* reads problem->key_decay_gradients */
};
ATTN_API const struct program *attn_call_sums(const struct kernel *kernel, enum sums_task task);
/* An array of prefix sums and their low parts, in rows of bytes. */
struct sum_rows {
    unsigned char *sum, *low;
    const struct attn_strides *strides; /* in bytes */
};
/* Subtracts the prefix sums of the last of n rows from all rows, for each sequence and head. If `folds`, row -2 gets
   the total. */
ATTN_API void attn_call_begin_sums_again(const struct kernel *kernel, struct sum_rows rows, int64_t sequences,
                                         int64_t n);
/* Adds the prefix sums in row `row` of `from` to n rows of `to`, beginning with `first`, for each head of a sequence.
 */
ATTN_API void attn_call_add_sums(const struct kernel *kernel, struct sum_rows to, int64_t first, int64_t n,
                                 struct sum_rows from, int64_t row);

#endif

ATTN_API void attn_call_copy(struct call *to, const struct call *from)
{
    memcpy(to, from, offsetof(struct call, array) + (size_t)from->kernel->arrays * sizeof *from->array);
}

/* Returns the address of a member of a struct. */
static void *member_of(const void *whole, size_t offset)
{
    return (unsigned char *)(uintptr_t)whole + offset;
}

static void *pointer_in(const void *whole, size_t offset)
{
    return *(void *const *)member_of(whole, offset);
}

/* Checks a problem like attn_problem_check. If values are the first elements of keys, they get the strides of keys. */
static int check(const struct kernel *kernel, const struct attn_problem *problem, int given,
                 struct attn_problem *filled)
{
    struct attn_problem p;
    if (kernel->values_are_keys) {
        if (problem->key_heads) return ATTN_EPROBLEM; /* values have as many heads as keys */
        p = *problem;
        p.v = p.dv = (struct attn_strides){0, 0, 0};
        problem = &p;
    }
    const int error = given && kernel->storage
                          ? attn_stored_problem_check(problem, kernel->head_dim, kernel->value_dim, kernel->key_row,
                                                      kernel->value_row, filled)
                          : attn_problem_check(problem, kernel->head_dim, kernel->value_dim, filled);
    if (!error && kernel->values_are_keys) filled->v = filled->k;
    return error;
}

static int positions_fit(const struct attn_problem *p)
{
    const int64_t most = INT64_C(1) << 31;
    int fit = 1;
    for (int64_t b = 0; p->query_start && b < p->batch; b++)
        fit &= p->query_start[b] >= -most && p->query_start[b] <= most;
    return fit;
}

ATTN_API size_t attn_call_elements(const struct array *a, const struct attn_problem *p)
{
    size_t elements = (size_t)a->elements;
    for (int axis = 0; a->sizes >> axis; axis++)
        if (a->sizes >> axis & 1) elements = bytes_times(elements, size_of_axis(&p->batch, -axis));
    return elements;
}

/* Returns what is wrong with an argument, bits of call->wrong. The earlier arguments have their places. */
static int fault_of(const struct call *call, int number, enum array_entry entry)
{
    const struct array *const array = call->kernel->array, *const a = &array[number];
    const void *const at = call->array[number].at;
    if (!at) return a->access[entry] == ACCESS_WANTED ? 0 : 1 << a->rows;
    for (int k = 0; k < number; k++)
        if (call->array[k].at == at && array[k].origin == FROM_ARGUMENT &&
            (a->access[entry] > ACCESS_READ || array[k].access[entry] > ACCESS_READ))
            return SHARES_MEMORY;
    return 0;
}

/* Sets the places of the arrays that are arguments or in the problem. */
static void place_arguments(struct call *call, const void *const *argument, enum array_entry entry)
{
    const int arrays = call->kernel->arrays;
    const struct array *a = call->kernel->array;
    for (int k = 0; k < arrays; k++) call->array[k].at = NULL;
    for (int k = 0; k < arrays && a->origin <= FROM_ARRAY; k++, a++) {
        const enum array_access access = a->access[entry];
        struct place *const to = &call->array[k];
        if (access == ACCESS_NONE) continue;
        if (a->origin == FROM_PROBLEM)
            to->at = pointer_in(&call->p, a->member);
        else if (a->origin == FROM_ARRAY)
            to->at = access == ACCESS_READ ? call->array[a->of].at : NULL;
        else if (argument) {
            to->at = (void *)(uintptr_t)argument[a->argument[entry]];
            call->wrong |= fault_of(call, k, entry);
        }
        to->strides = *(const struct attn_strides *)member_of(&call->p, a->strides);
    }
}

ATTN_API int attn_call_begin(struct call *call, const struct kernel *kernel, const struct attn_problem *problem,
                             const void *params, const void *const *argument, enum array_entry entry, int given)
{
    if (!fits_library(kernel)) return ATTN_EVERSION;
    if (!problem) return ATTN_EPOINTER;
    /* `check` fills in the problem */
    memset(&call->kernel, 0, offsetof(struct call, array) - offsetof(struct call, kernel));
    call->kernel = kernel;
    call->params = params;
    const int error = check(kernel, problem, given, &call->p);
    if (error) return error;
    if (kernel->delta && call->p.heads != call->p.kv_heads) return ATTN_EPROBLEM;
    if (kernel->positions && !positions_fit(&call->p)) return ATTN_EPROBLEM;
    call->sharing = attn_call_sharing(kernel, &call->p);
    if (call->p.seed == 0) call->p.seed = kernel->seed;
    place_arguments(call, argument, entry);
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
    if ((uintptr_t)array & (element - 1)) return ATTN_EALIGN;
    for (int k = 0; given && k < axes; k++) any |= given[k] != 0;
    for (int k = axes - 1; k >= 0; k--) {
        int64_t extent;
        to[k] = contiguous;
        if (size[k] < 2) continue;
        if (any) {
            to[k] = given[k] == ATTN_BROADCAST ? 0 : given[k];
            if (to[k] < 0) return ATTN_EPROBLEM;
            if (__builtin_mul_overflow(to[k], size[k] - 1, &extent) || extent > most - last) return ATTN_ESIZE;
            last += extent;
        }
        if (__builtin_mul_overflow(contiguous, size[k], &contiguous) || contiguous > most) return ATTN_ESIZE;
    }
    return 0;
}

ATTN_API int attn_call_take_params(struct call *call)
{
    const struct kernel *const kernel = call->kernel;
    if (kernel->params == 0) return 0;
    if (!call->params) return ATTN_EPARAM;
    for (int k = 0; k < kernel->params; k++)
        if (!pointer_in(call->params, kernel->param[k].offset) && !(call->only_sums && kernel->param[k].rows))
            return ATTN_EPARAM;
    const void *const given = kernel->strided ? pointer_in(call->params, kernel->strides) : NULL;
    int left = kernel->params;
    for (const struct array *a = kernel->array; left > 0; a++) {
        if (a->origin != FROM_PARAMS) continue;
        left--;
        const struct attn_param *const param = &kernel->param[a->param];
        struct place *const place = &call->array[a - kernel->array];
        place->at = pointer_in(call->params, param->offset);
        if (param->strides == ATTN_CONTIGUOUS) continue;
        int64_t size[4];
        attn_param_shape(param, &call->p, size);
        const int error = fill_strides(place->stride, given ? member_of(given, param->strides) : NULL, size,
                                       param->rank, place->at, attn_dtype_size(param->dtype));
        if (error) return error;
        if (a->has_rows) place->strides = strides_of_axes(place, a->axis);
    }
    return 0;
}

ATTN_API int attn_call_has_any(const struct call *call, const uint16_t *wanted)
{
    int any = 0;
    for (; *wanted != NO_ARRAY; wanted++) any |= call->array[*wanted].at != NULL;
    return any;
}

ATTN_API int attn_call_ids_fall(const int32_t *id, int64_t batch, int64_t sequence, int64_t n, int64_t row)
{
    for (int64_t b = 0; b < batch; b++, id += sequence)
        for (int64_t x = 1; x < n; x++)
            if (id[x * row] < id[(x - 1) * row]) return 1;
    return 0;
}

/* ---- random parameters ---- */

static size_t bytes_of_param(const struct attn_param *p, int64_t *rows, int64_t *columns)
{
    *rows = p->rank > 1 ? p->shape[0] : 1;
    *columns = 1;
    for (int k = p->rank > 1 ? 1 : 0; k < p->rank; k++) *columns *= p->shape[k];
    return whole_lines(attn_dtype_size(p->dtype) * (size_t)(*rows * *columns));
}

/* Returns the bytes of the random arrays of constant shape. The working memory of orthogonal ones follows them. */
static size_t bytes_of_random(const struct kernel *kernel, size_t *work)
{
    size_t bytes = 0;
    *work = 0;
    for (int k = 0; k < kernel->arrays; k++) {
        int64_t rows, columns;
        const struct array *const a = &kernel->array[k];
        if (a->random == RANDOM_NONE) continue;
        bytes += bytes_of_param(&kernel->param[a->param], &rows, &columns);
        if (a->random == RANDOM_ORTHOGONAL) *work = larger(*work, attn_orthogonal_work(rows, columns));
    }
    return bytes;
}

ATTN_API size_t attn_call_params_size(const struct kernel *kernel)
{
    size_t work = 0;
    const size_t bytes = fits_library(kernel) ? bytes_of_random(kernel, &work) : 0;
    return bytes + work;
}

ATTN_API int attn_call_params_init(const struct kernel *kernel, void *params, uint64_t seed, void *storage)
{
    size_t work, at = 0;
    if (!fits_library(kernel)) return ATTN_EVERSION;
    const size_t bytes = bytes_of_random(kernel, &work);
    if (!params || (bytes && !storage)) return ATTN_EPOINTER;
    if (bytes && (uintptr_t)storage % 64) return ATTN_EALIGN;
    memset(params, 0, kernel->params_bytes);
    for (int k = 0; k < kernel->arrays; k++) {
        const struct array *const a = &kernel->array[k];
        if (a->random == RANDOM_NONE) continue;
        const struct attn_param *const p = &kernel->param[a->param];
        void *const made = member_of(storage, at), *const memory = member_of(storage, bytes);
        const uint64_t stream = attn_stream(p->name);
        int64_t rows, columns;
        at += bytes_of_param(p, &rows, &columns);
        if (a->random == RANDOM_NORMAL && p->dtype == ATTN_F64)
            attn_normal_f64(seed, stream, 0, rows * columns, (double *)made);
        else if (a->random == RANDOM_NORMAL)
            attn_normal_f32(seed, stream, 0, rows * columns, (float *)made);
        else if (p->dtype == ATTN_F64)
            attn_orthogonal_f64(seed, stream, rows, columns, (double *)made, memory);
        else
            attn_orthogonal_f32(seed, stream, rows, columns, (float *)made, memory);
        *(void **)member_of(params, p->offset) = made;
    }
    return 0;
}
/* Forward of a kernel: NAME_forward, NAME_workspace, and the sums over keys of a call with some keys of a sequence. */

#include <math.h>

/* ---- what a call computes first: prefix sums, corrected values, lists of the best keys ---- */

/* Computes rows of corrected values, each followed by its tangent, from `at` on. Returns 0 or an error. */
static int make_corrected(struct call *call, unsigned char *at, int threads, unsigned char *work)
{
    const struct kernel *const kernel = call->kernel;
    int error = 0;
    for (int n = 0; n <= kernel->tangents && !error; n++) {
        const struct program *const program = attn_call_program(kernel, RUN_CORRECT, n, INT64_MAX, MANY_ROWS, 0);
        if (!attn_call_runs(program)) return ATTN_EMACHINE;
        call->array[kernel->corrected + n] = (struct place){
            .at = at + (size_t)(n * kernel->value_dim) * kernel->real,
            .strides = contiguous(call->p.heads, call->p.n_k, kernel->value_dim * (1 + kernel->tangents))};
        error = attn_call_run(call, program, threads, work, attn_call_bytes_a_thread(program));
    }
    return error;
}

/* Returns the largest workspace of a thread in bytes, for forward and what it computes first. */
static size_t max_bytes(const struct kernel *kernel, int64_t n_k)
{
    static const enum program_role first[] = {RUN_TERMS, RUN_CORRECT, RUN_SELECT, RUN_WEIGHTS};
    const int has[] = {kernel->prefix_row > 0, kernel->corrected >= 0, kernel->lists, kernel->weighs};
    size_t bytes = attn_call_max_bytes(kernel, RUN_FORWARD, n_k);
    for (int k = 0; k < 4; k++)
        if (has[k]) bytes = larger(bytes, attn_call_max_bytes(kernel, first[k], INT64_MAX));
    return bytes;
}

/* Returns whether programs other than that of forward may read prefix sums. */
static int others_read_sums(const struct kernel *kernel)
{
    return kernel->weighs || kernel->lists;
}

/* Returns whether all programs for n_k keys compute the prefix sums that they read, so that the workspace has none. */
static int own_sums(const struct kernel *kernel, int64_t n_k)
{
    return !others_read_sums(kernel) && attn_call_program(kernel, RUN_FORWARD, 0, n_k, 0, 0)->own_sums &&
           attn_call_program(kernel, RUN_FORWARD, 0, n_k, MANY_ROWS, 0)->own_sums &&
           attn_call_program(kernel, RUN_FORWARD, 0, n_k, kernel->by_heads ? MANY_HEADS : MANY_ROWS, 0)->own_sums;
}

/* Returns the number of keys that the workspace of forward serves. */
static int64_t keys_served(const struct kernel *kernel, const struct attn_problem *p)
{
    return kernel->key_sums && p->earlier_sums ? INT64_MAX : p->n_k;
}

/* Returns what attn_call_shared_bytes returns for forward. There is room for the prefix sums of each call with fewer
   keys, and at most as many queries as keys. */
static size_t forward_bytes(const struct kernel *kernel, const struct attn_problem *problem)
{
    if (!kernel->prefix_row) return attn_call_shared_bytes(kernel, problem, NULL);
    const int64_t keys = attn_call_after_keys(kernel, problem) ? 0 : keys_served(kernel, problem);
    if (!own_sums(kernel, keys)) return attn_call_shared_bytes(kernel, problem, problem);
    struct attn_problem sums = *problem;
    sums.n_k = -1;
    for (int64_t from = 0, next; from <= problem->n_k && from < INT64_MAX; from = next) {
        next = attn_call_next_length(kernel, from);
        if (!own_sums(kernel, from)) sums.n_k = max(sums.n_k, min(problem->n_k, next - 1));
    }
    sums.n_q = min(sums.n_q, sums.n_k);
    return attn_call_shared_bytes(kernel, problem, sums.n_k < 0 ? NULL : &sums);
}

ATTN_API size_t attn_call_workspace(const struct kernel *kernel, const struct attn_problem *problem)
{
    if (!problem || !fits_library(kernel)) return 0;
    const size_t threads = bytes_times(max_bytes(kernel, keys_served(kernel, problem)),
                                       attn_call_threads_served(kernel, problem)),
                 bytes = bytes_plus(forward_bytes(kernel, problem), threads);
    return bytes_fit(bytes) ? bytes : 0;
}

/* ---- calls without keys ---- */

ATTN_API void attn_call_clear_rows(const struct call *call, const struct place *place, int64_t elements)
{
    const struct attn_problem *const p = &call->p;
    const size_t element = call->kernel->element;
    unsigned char *const rows = (unsigned char *)place->at;
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t h = 0; h < p->heads; h++)
            for (int64_t i = 0; i < p->n_q; i++)
                memset(rows + (size_t)(b * place->strides.batch + h * place->strides.head + i * place->strides.row) *
                                  element,
                       0, (size_t)elements * element);
}

/* Writes an output of the problem for rows that see no key. */
static void clear_output(const struct call *call, const struct array *a, const struct place *place)
{
    const struct attn_problem *const p = &call->p;
    const struct attn_strides *const s = &place->strides;
    const double none = a->statistics == ATTN_LOGARITHMS ? -HUGE_VAL : 0;
    const int64_t elements = (int64_t)attn_call_elements(a, p);
    for (int64_t row = 0; place->at && row < p->batch * p->heads * p->n_q; row++) {
        const int64_t at = row / p->n_q / p->heads * s->batch + row / p->n_q % p->heads * s->head +
                           row % p->n_q * s->row;
        for (int64_t x = at; x < at + elements; x++)
            if (a->dtype == ATTN_F64)
                ((double *)place->at)[x] = none;
            else
                ((float *)place->at)[x] = (float)none;
    }
}

/* Computes the rows of a call without keys, which loops over chunks of keys do not reach. */
static void compute_without_keys(const struct call *call)
{
    const struct kernel *const kernel = call->kernel;
    for (int k = 0; k < kernel->arrays; k++) {
        const struct array *const a = &kernel->array[k];
        if (a->origin == FROM_ARGUMENT && a->access[ENTRY_FORWARD] > ACCESS_READ)
            attn_call_clear_rows(call, &call->array[k], kernel->value_dim);
        if (a->origin == FROM_PROBLEM) clear_output(call, a, &call->array[k]);
    }
}

/* ---- sums over keys ---- */

/* Returns the program that reads and adds to sums over all keys. */
static const struct program *program_of_sums(const struct kernel *kernel)
{
    return attn_call_program(kernel, RUN_FORWARD, 0, INT64_MAX, MANY_ROWS, 0);
}

ATTN_API size_t attn_call_key_sums(const struct kernel *kernel, const struct attn_problem *problem)
{
    struct call call;
    if (attn_call_begin(&call, kernel, problem, NULL, NULL, ENTRY_FORWARD, 1)) return 0;
    const struct program *const program = program_of_sums(kernel);
    const size_t of_head = (size_t)(tasks_of_sums(problem, program) * program->outer_bytes),
                 bytes = bytes_times(bytes_times(of_head, problem->kv_heads), problem->batch);
    return bytes_fit(bytes) ? bytes : 0;
}

/* ---- forward ---- */

/* Computes prefix sums, corrected values, and the output of weights. Each thread has the memory `work`. Returns 0 or an
   error. */
static int compute_first(struct call *call, const struct program *program, unsigned char *memory, int threads,
                         unsigned char *work)
{
    const struct kernel *const kernel = call->kernel;
    int error = 0;
    if (kernel->prefix_row > 0) {
        const struct program *const terms = attn_call_program_of(kernel, RUN_TERMS);
        if (!attn_call_runs(terms)) return ATTN_EMACHINE;
        if (!program->own_sums || others_read_sums(kernel)) {
            memory = attn_call_set_prefix_sums(call, memory);
            error = attn_call_make_prefix_sums(call, terms, threads, work, attn_call_bytes_a_thread(terms));
        }
    }
    if (kernel->corrected >= 0 && !error) error = make_corrected(call, memory, threads, work);
    if (!error) error = attn_call_make_lists(call, threads, work);
    if (kernel->weighs && !error && call->p.n_k > 0 && call->p.weights) {
        const struct program *const weights = attn_call_program_of(kernel, RUN_WEIGHTS);
        if (!attn_call_runs(weights)) return ATTN_EMACHINE;
        error = attn_call_run(call, weights, threads, work, attn_call_bytes_a_thread(weights));
    }
    return error;
}

/* Gives the call the memory where it saves values for backward. Returns 0 or an error. */
static int take_saved(struct call *call, const struct attn_problem *problem, const struct program *program)
{
    const struct kernel *const kernel = call->kernel;
    if (!kernel->parts || !problem->saved) return 0;
    const size_t saved = attn_call_saved_bytes(kernel, problem);
    if (!bytes_fit(saved)) return ATTN_ESIZE;
    if (problem->saved_bytes && problem->saved_bytes < saved) return ATTN_EWORKSPACE;
    if ((uintptr_t)problem->saved % 64) return ATTN_EALIGN;
    if (program->saves) attn_call_place_rows(call, FROM_SAVED, (unsigned char *)problem->saved);
    attn_call_set_solution(call, (unsigned char *)problem->saved);
    return 0;
}

/* Computes the result, or adds the keys to problem->earlier_sums if `adds`. */
static int attend(const struct kernel *kernel, const struct attn_problem *problem, const void *params,
                  const void *const *argument, void *workspace, int adds)
{
    struct call call;
    int error = attn_call_begin(&call, kernel, problem, params, argument, ENTRY_FORWARD, 1), threads = 1;
    if (error) return error;
    if (attn_call_too_long(kernel, &call.p)) return ATTN_ELENGTH;
    if (call.p.batch == 0 || call.p.heads == 0 || (adds ? call.p.n_k == 0 : call.p.n_q == 0)) return 0;
    error = check_arguments(&call, !adds, call.p.n_k > 0);
    if (!error) error = attn_call_take_params(&call);
    if (error) return error;
    unsigned char *const sums = kernel->key_sums ? (unsigned char *)problem->earlier_sums : NULL;
    const struct program *const program = sums ? program_of_sums(kernel)
                                               : attn_call_program(kernel, RUN_FORWARD, 0,
                                                                   attn_call_keys(kernel, &call.p),
                                                                   attn_call_rows_of(kernel, &call.p), call.p.n_q);
    if (!attn_call_runs(program)) return ATTN_EMACHINE;
    if (program->in_keys && !sums && attn_call_after_keys(kernel, &call.p)) return ATTN_ELENGTH;
    if ((uintptr_t)sums % 64) return ATTN_EALIGN;
    if (sums) {
        call.outer = sums;
        call.outer_tasks = tasks_of_sums(&call.p, program);
        call.outer_head = call.outer_tasks * program->outer_bytes;
        call.gives = call.only_sums = adds;
    }
    const size_t shared = attn_call_shared_bytes(kernel, &call.p,
                                                 program->own_sums && !others_read_sums(kernel) ? NULL : &call.p);
    error = attn_call_take_workspace(kernel, problem, workspace, shared,
                                     max_bytes(kernel, keys_served(kernel, problem)), &threads);
    if (error) return error;
    error = take_saved(&call, problem, program);
    if (error) return error;
    unsigned char *const work = (unsigned char *)workspace + shared;
    if (kernel->delta && call.p.n_k == 0) compute_without_keys(&call);
    struct mask_tiles tables[MAX_MASKS];
    if (kernel->masks)
        error = attn_call_make_tiles(&call, tables, work - attn_call_tiles_bytes(kernel, &call.p), threads);
    if (error) return error;
    error = compute_first(&call, program, (unsigned char *)workspace, threads, work);
    if (program->by_heads) attn_call_heads_as_queries(&call);
    return error ? error : attn_call_run(&call, program, threads, work, attn_call_bytes_a_thread(program));
}

ATTN_API int attn_call_forward(const struct kernel *kernel, const struct attn_problem *problem, const void *params,
                               const void *const *argument, void *workspace)
{
    return attend(kernel, problem, params, argument, workspace, 0);
}

ATTN_API int attn_call_add_key_sums(const struct kernel *kernel, const struct attn_problem *problem, const void *params,
                                    const void *const *argument, void *workspace)
{
    if (!problem || !problem->earlier_sums) return ATTN_EPOINTER;
    return attend(kernel, problem, params, argument, workspace, 1);
}
/* The lists of the best keys of each row, which a call computes before the programs that read them. */

ATTN_API size_t attn_call_lists_bytes(const struct kernel *kernel, const struct attn_problem *p)
{
    size_t bytes = 0;
    for (int k = 0; kernel->lists && k < kernel->arrays; k++)
        if (kernel->array[k].origin == FROM_LISTS)
            bytes = bytes_plus(bytes,
                               whole_lines(bytes_times(attn_call_elements(&kernel->array[k], p), sizeof(int32_t))));
    return bytes;
}

/* Returns the program that computes list number `list`. With a state, it may read prepared keys. */
static const struct program *program_of_list(const struct kernel *kernel, int list, int of_state)
{
    const struct program *prepared = NULL;
    if (of_state) prepared = attn_call_program(kernel, RUN_SELECT_NEW, list, INT64_MAX, MANY_ROWS, 0);
    if (prepared && attn_call_runs(prepared)) return prepared;
    return attn_call_program(kernel, RUN_SELECT, list, INT64_MAX, MANY_ROWS, 0);
}

/* Returns the address of a list for kernels, which count sequences from the first one of the batch. */
static void *numbered(const struct call *call, const struct array *a, unsigned char *at)
{
    if (call->first_sequence == 0 || !(a->sizes >> -ATTN_BATCH & 1)) return at;
    const size_t bytes = attn_call_elements(a, &call->p) / (size_t)call->p.batch * sizeof(int32_t);
    return (void *)((uintptr_t)at - (size_t)call->first_sequence * bytes);
}

ATTN_API const struct program *attn_call_place_list(struct call *call, int list, unsigned char *at, int of_state)
{
    const struct kernel *const kernel = call->kernel;
    const int number = list;
    for (int k = 0; k < kernel->arrays; k++) {
        if (kernel->array[k].origin != FROM_LISTS) continue;
        call->array[k].at = numbered(call, &kernel->array[k], at);
        if (list-- == 0) return program_of_list(kernel, number, of_state);
        at += whole_lines(attn_call_elements(&kernel->array[k], &call->p) * sizeof(int32_t));
    }
    return NULL;
}

ATTN_API int attn_call_make_lists(struct call *call, int threads, unsigned char *work)
{
    const struct kernel *const kernel = call->kernel;
    unsigned char *at = work - attn_call_lists_bytes(kernel, &call->p);
    int error = 0;
    if (kernel->masks) at -= attn_call_tiles_bytes(kernel, &call->p);
    const struct program *selects;
    for (int list = 0; kernel->lists && !error && (selects = attn_call_place_list(call, list, at, 0)); list++)
        error = attn_call_runs(selects) ? attn_call_run(call, selects, threads, work, attn_call_bytes_a_thread(selects))
                                        : ATTN_EMACHINE;
    return error;
}
/* Chooses the program that a call runs: by the machine's target, the number of keys, and the number of queries. */

/* Calls with at most this number of queries may be few queries. With MIN_HEADS query heads or more that share keys,
   each vector lane has a query head. */
enum { MAX_FEW_QUERIES = 16, MIN_HEADS = 32 };

/* Returns whether a few queries take less time one by one than as one tile. A single query has an overhead of 10
   vectors, and a tile has an overhead of 40 vectors. Both were measured with AVX2 and SSE2. */
static int few_pay(int64_t n_q, int64_t n_k, int64_t lanes)
{
    enum { MANY_KEYS = 1024 };
    return n_k >= MANY_KEYS || n_q * (n_k + 10 * lanes) <= round_up(n_q, lanes) * n_k + 40 * lanes;
}

/* Returns whether the program's form serves a call. */
static int serves(const struct program *p, int64_t n_k, int64_t rows, int64_t n_q)
{
    if (p->form == FORM_MANY) return 1;
    if (p->form == FORM_HEADS) return rows == MANY_HEADS;
    return rows != MANY_HEADS && rows <= p->few_rows && (p->lanes == 0 || few_pay(n_q, n_k, p->lanes));
}

/* Returns the first program for the role, of the first target that this machine runs and that has such a program. The
   others for the role follow it. Sets *end to the end of the target's programs. Returns `*end` if there is none. */
static const struct program *programs_here(const struct kernel *kernel, enum program_role role,
                                           const struct program **end)
{
    if (!fits_library(kernel)) return *end; /* NULL: the table of targets is another one */
    for (const struct target *t = kernel->target; t < kernel->target + kernel->targets; t++) {
        if (t->runs && !t->runs()) continue;
        const struct program *p = t->program;
        *end = p + t->programs;
        while (p < *end && p->role != role) p++;
        if (p < *end) return p;
    }
    return *end;
}

ATTN_API const struct program *attn_call_program(const struct kernel *kernel, enum program_role role, int part,
                                                 int64_t n_k, int64_t rows, int64_t n_q)
{
    static const struct program none = {.tile = 1};
    const struct program *end = NULL;
    for (const struct program *p = programs_here(kernel, role, &end); p < end && p->role == role; p++)
        if (p->part == part && p->from <= max(n_k, 0) && serves(p, n_k, rows, n_q)) return p;
    return &none;
}

ATTN_API size_t attn_call_max_bytes(const struct kernel *kernel, enum program_role role, int64_t n_k)
{
    const struct program *end = NULL;
    size_t bytes = 0;
    for (const struct program *p = programs_here(kernel, role, &end); p < end && p->role == role; p++)
        if (p->from <= max(n_k, 0)) bytes = larger(bytes, attn_call_bytes_a_thread(p));
    return bytes;
}

ATTN_API int64_t attn_call_rows_of(const struct kernel *kernel, const struct attn_problem *p)
{
    if (kernel->gathers && !p->saved && p->kv_heads > 0) return MANY_HEADS;
    if (p->n_q > MAX_FEW_QUERIES || p->saved || p->kv_heads <= 0) return MANY_ROWS;
    if (kernel->by_heads && p->heads / p->kv_heads >= MIN_HEADS) return MANY_HEADS;
    return min(p->heads / p->kv_heads * p->n_q, MANY_ROWS);
}

ATTN_API void attn_call_heads_as_queries(struct call *call)
{
    struct attn_problem *const p = &call->p;
    const int64_t members = p->heads / p->kv_heads;
    for (int k = 0; k < call->kernel->arrays; k++) {
        const struct array *const a = &call->kernel->array[k];
        if (a->origin != FROM_ARGUMENT || a->rows != ROWS_OF_QUERIES || a->access[ENTRY_FORWARD] == ACCESS_NONE)
            continue;
        struct attn_strides *const s = &call->array[k].strides;
        const int64_t head = s->head;
        call->array[k].group = members * head;
        s->head = s->row;
        s->row = head;
    }
    p->heads = p->kv_heads * p->n_q;
    p->n_q = members;
}

ATTN_API int64_t attn_call_next_length(const struct kernel *kernel, int64_t n_k)
{
    const struct program *end = NULL;
    int64_t next = INT64_MAX;
    for (const struct program *p = programs_here(kernel, RUN_FORWARD, &end); p < end && p->role == RUN_FORWARD; p++)
        if (p->from > n_k) next = min(next, p->from);
    return next;
}
/* Values that forward saves for backward. */

ATTN_API size_t attn_call_saved_bytes(const struct kernel *kernel, const struct attn_problem *p)
{
    const size_t bytes = bytes_times(attn_call_row_bytes(kernel, p), kernel->saved),
                 row = kernel->solution < 0 ? 0 : (size_t)kernel->value_dim * kernel->real;
    return bytes_plus(bytes, bytes_of_rows(row, p, p->kv_heads, p->n_k));
}

ATTN_API size_t attn_call_saved(const struct kernel *kernel, const struct attn_problem *problem)
{
    const size_t bytes = problem && fits_library(kernel) ? attn_call_saved_bytes(kernel, problem) : 0;
    return bytes_fit(bytes) ? bytes : 0;
}

ATTN_API void attn_call_place_rows(struct call *call, enum array_origin origin, unsigned char *at)
{
    const size_t bytes = attn_call_row_bytes(call->kernel, &call->p);
    for (int k = 0; k < call->kernel->arrays; k++) {
        const int64_t given = call->kernel->array[k].elements, elements = given ? given : 1;
        if (call->kernel->array[k].origin != origin) continue;
        call->array[k].at = at;
        call->array[k].strides = contiguous(call->p.heads, call->p.n_q, elements);
        at += bytes * (size_t)elements;
    }
}

ATTN_API void attn_call_set_solution(struct call *call, unsigned char *saved)
{
    const struct kernel *const kernel = call->kernel;
    if (kernel->solution < 0) return;
    struct place *const solution = &call->array[kernel->solution];
    solution->at = saved + (size_t)kernel->saved * attn_call_row_bytes(kernel, &call->p);
    solution->strides = contiguous(call->p.kv_heads, call->p.n_k, kernel->value_dim);
}
/* Prefix sums: sums of terms up to the position of a query or key, such as the logarithms of a decay. */

/* Neighbouring sums that are added row by row, because a line of memory has several. */
enum { SUMS_ABREAST = 32 };

/* Adds x to high + low. `low` is the rounding error of `high`. */
INLINE void add_to_sum(double *high, double *low, double x)
{
    const double sum = *high + x, added = sum - *high;
    *low += (*high - (sum - added)) + (x - added);
    *high = sum;
}

INLINE void *at_of(const struct call *call, enum prefix_array array)
{
    return call->array[call->kernel->prefix[array]].at;
}

/* Returns whether each query is at the position of a key, so that queries need no arrays. */
static int queries_at_keys(const struct kernel *kernel, const struct attn_problem *p)
{
    return !p->query_start && !(kernel->decay_parts && p->query_decay) && p->n_q <= p->n_k;
}

#define REAL float
#define R(name) name##_f32
/* Loops over prefix sums of type REAL. sums.c includes this file for float and for double; R(name) is a function's
   name. Each sum has a low part, which has its rounding error. */

/* Replaces the first n terms of `width` sums by prefix sums. Rows of terms are `row` numbers apart. */
APART void R(add_rows)(REAL *restrict sum, REAL *restrict sum_low, int64_t n, int64_t row, const int64_t width)
{
    double high[SUMS_ABREAST] = {0}, low[SUMS_ABREAST] = {0};
    for (int64_t t = 0; t < n; t++, sum += row, sum_low += row)
        for (int64_t x = 0; x < width; x++)
            if (sizeof(REAL) == 8) {
                add_to_sum(&high[x], &low[x], (double)sum[x]);
                sum[x] = (REAL)high[x];
                sum_low[x] = (REAL)low[x];
            } else { /* `high` has more digits than the two numbers that are stored */
                high[x] += (double)sum[x];
                sum[x] = (REAL)high[x];
                sum_low[x] = (REAL)(high[x] - (double)sum[x]);
            }
}

/* Replaces a head's terms by prefix sums. Copies the sums at the positions of queries into the arrays for queries, if
   there are such arrays. */
static void R(add_terms)(const struct call *call, int64_t task, unsigned char *work)
{
    const struct kernel *const kernel = call->kernel;
    const int64_t n_q = call->p.n_q, n_k = call->p.n_k, row = kernel->prefix_row,
                  rows = attn_call_rows_of_sums(kernel, &call->p);
    REAL *const sum = (REAL *)at_of(call, PREFIX_OF_KEY) + task * rows * row, *const sum_low = (REAL *)at_of(
                                                                                                   call,
                                                                                                   PREFIX_OF_KEY_LOW) +
                                                                                               task * rows * row;
    (void)work;
    for (int64_t x = -row; x < 0 && kernel->outer; x++) sum[x] = sum_low[x] = 0;
    for (int64_t x = 0; x < row; x += SUMS_ABREAST)
        R(add_rows)(sum + x, sum_low + x, n_k, row, min(row - x, SUMS_ABREAST));
    if (queries_at_keys(kernel, &call->p)) return;
    REAL *const of_query = (REAL *)at_of(call, PREFIX_OF_QUERY) + task * n_q * row,
                *const of_query_low = (REAL *)at_of(call, PREFIX_OF_QUERY_LOW) + task * n_q * row;
    if (kernel->decay_parts && call->p.query_decay) {
        const double *const given = call->p.query_decay + task * n_q * row;
        for (int64_t x = 0; x < n_q * row; x++) {
            of_query[x] = (REAL)given[x];
            of_query_low[x] = (REAL)(given[x] - (double)of_query[x]);
        }
        return;
    }
    const int64_t first = call->p.query_start ? call->p.query_start[task / call->p.heads] : n_k - n_q;
    for (int64_t i = 0; i < n_q; i++) {
        const int64_t at = i * row, from = min(first + i, n_k - 1) * row;
        for (int64_t x = 0; x < row && from < 0; x++) of_query[at + x] = of_query_low[at + x] = 0;
        for (int64_t x = 0; x < row && from >= 0; x++) {
            of_query[at + x] = sum[from + x];
            of_query_low[at + x] = sum_low[from + x];
        }
    }
}

/* Replaces the terms of new tokens by prefix sums, in one head. Each prefix sum continues from the previous one. So
   the sums do not depend on how tokens are divided into calls. */
static void R(continue_sums)(const struct call *call, int64_t task, unsigned char *work)
{
    const struct attn_strides *const s = &call->array[call->kernel->prefix[PREFIX_OF_KEY]].strides;
    const int64_t first = task / call->p.heads * s->batch + task % call->p.heads * s->head,
                  row = call->kernel->prefix_row;
    REAL *const sum = (REAL *)at_of(call, PREFIX_OF_KEY) + first, *const low = (REAL *)at_of(call, PREFIX_OF_KEY_LOW) +
                                                                               first;
    (void)work;
    for (int64_t at = 0; at < call->p.n_q * row; at++) {
        double high = (double)sum[at - row], rest = (double)low[at - row];
        add_to_sum(&high, &rest, (double)sum[at]);
        sum[at] = (REAL)(high + rest);
        low[at] = (REAL)(high - (double)sum[at] + rest);
    }
}

/* Adds x to a sum and its low part. */
INLINE void R(add)(REAL *sum, REAL *low, double x, double low_x)
{
    double high = (double)*sum, rest = (double)*low + low_x;
    add_to_sum(&high, &rest, x);
    *sum = (REAL)(high + rest);
    *low = (REAL)(high - (double)*sum + rest);
}

static void R(begin_sums_again)(const struct kernel *kernel, const struct sum_rows *rows, int64_t sequences, int64_t n)
{
    const struct attn_strides *const s = rows->strides;
    const int64_t row = kernel->prefix_row;
    for (int64_t x = 0; x < sequences; x++)
        for (int64_t g = 0; g < s->batch; g += s->head) {
            REAL *const sum = (REAL *)(void *)(rows->sum + x * s->batch + g),
                        *const low = (REAL *)(void *)(rows->low + x * s->batch + g);
            for (int64_t e = 0; e < row; e++) {
                const int64_t last = (n - 1) * row + e;
                const double sum_of_last = (double)sum[last], low_of_last = (double)low[last];
                if (kernel->folds) R(add)(&sum[e - 2 * row], &low[e - 2 * row], sum_of_last, low_of_last);
                for (int64_t at = e - row; at <= last; at += row)
                    R(add)(&sum[at], &low[at], -sum_of_last, -low_of_last);
            }
        }
}

static void R(add_sums)(const struct kernel *kernel, const struct sum_rows *to, int64_t first, int64_t n,
                        const struct sum_rows *from, int64_t row)
{
    const struct attn_strides *const s = to->strides;
    const int64_t width = kernel->prefix_row;
    for (int64_t g = 0; g < s->batch; g += s->head) {
        REAL *const sum = (REAL *)(void *)(to->sum + g), *const low = (REAL *)(void *)(to->low + g);
        const REAL *const added = (const REAL *)(const void *)(from->sum + g + row * s->row),
                          *const low_added = (const REAL *)(const void *)(from->low + g + row * s->row);
        for (int64_t at = first * width, x = 0; at < (first + n) * width; at++, x++)
            R(add)(&sum[at], &low[at], (double)added[x % width], (double)low_added[x % width]);
    }
}

/* Adds `width` gradients of a row to their sums. */
APART void R(add_row)(double *high, double *low, const REAL *from, int64_t width)
{
    for (int64_t x = 0; x < width; x++)
        if (sizeof(REAL) == 8)
            add_to_sum(&high[x], &low[x], (double)from[x]);
        else /* `high` has more digits than the gradients */
            high[x] += (double)from[x];
}

/* Replaces the gradients of a head's prefix sums by the gradients of the terms. The gradient of a term is the sum of
   the gradients from its position to the last. */
static void R(add_gradients)(const struct call *call, int64_t task, unsigned char *work)
{
    const struct kernel *const kernel = call->kernel;
    const int64_t n_q = call->p.n_q, n_k = call->p.n_k, row = kernel->prefix_row;
    REAL *const sum = (REAL *)at_of(call, PREFIX_GRADIENT) + task * attn_call_rows_of_sums(kernel, &call->p) * row;
    const REAL *const of_query = (const REAL *)at_of(call, PREFIX_GRADIENT_OF_QUERY) + task * n_q * row;
    const int64_t first = call->p.query_start ? call->p.query_start[task / call->p.heads] : n_k - n_q;
    (void)work;
    for (int64_t begun = 0; begun < row; begun += SUMS_ABREAST) {
        double high[SUMS_ABREAST] = {0}, low[SUMS_ABREAST] = {0};
        const int64_t width = min(row - begun, SUMS_ABREAST);
        for (int64_t x = 0; x < width && kernel->outer && call->p.earlier_sums; x++)
            high[x] = call->p.term_gradients[task * row + begun + x];
        int64_t i = n_q - 1; /* the last query whose gradient is not added yet */
        for (int64_t t = n_k - 1; t >= 0; t--) {
            REAL *const to = sum + t * row + begun;
            for (; i >= 0 && first + i >= t; i--) R(add_row)(high, low, of_query + i * row + begun, width);
            R(add_row)(high, low, to, width);
            for (int64_t x = 0; x < width; x++) to[x] = (REAL)(high[x] + low[x]);
        }
    }
}

/* Sums the gradients of a head's prefix sums. They belong to the terms of the tokens before this call. */
static void R(total_gradients)(const struct call *call, int64_t task, unsigned char *work)
{
    const struct kernel *const kernel = call->kernel;
    const int64_t n = call->p.n_k, row = kernel->prefix_row;
    const REAL *const of_key = (const REAL *)at_of(call, PREFIX_GRADIENT) +
                               task * attn_call_rows_of_sums(kernel, &call->p) * row,
                      *const of_query = (const REAL *)at_of(call, PREFIX_GRADIENT_OF_QUERY) + task * n * row;
    (void)work;
    for (int64_t begun = 0; begun < row; begun += SUMS_ABREAST) {
        double high[SUMS_ABREAST] = {0}, low[SUMS_ABREAST] = {0};
        const int64_t width = min(row - begun, SUMS_ABREAST);
        for (int64_t t = n - 1; t >= 0; t--) {
            R(add_row)(high, low, of_query + t * row + begun, width);
            R(add_row)(high, low, of_key + t * row + begun, width);
        }
        for (int64_t x = 0; x < width; x++) call->p.term_gradients[task * row + begun + x] = high[x] + low[x];
    }
}

/* Writes the gradients of a head's prefix sums at queries and at keys. */
static void R(write_gradients)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t row = call->kernel->prefix_row, of_queries = call->p.n_q * row, of_keys = call->p.n_k * row;
    double *const query = call->p.query_decay_gradients + task * of_queries, *const key = call->p.key_decay_gradients +
                                                                                          task * of_keys;
    const REAL *const from_query = (const REAL *)at_of(call, PREFIX_GRADIENT_OF_QUERY) + task * of_queries,
                      *const from_key = (const REAL *)at_of(call, PREFIX_GRADIENT) + task * of_keys;
    (void)work;
    for (int64_t x = 0; x < of_queries; x++) query[x] = (double)from_query[x];
    for (int64_t x = 0; x < of_keys; x++) key[x] = (double)from_key[x];
}

/* Takes the gradients of a head's terms from the caller. */
static void R(take_gradients)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t of_keys = call->p.n_k * call->kernel->prefix_row;
    REAL *const to = (REAL *)at_of(call, PREFIX_GRADIENT);
    (void)work;
    for (int64_t x = task * of_keys; x < (task + 1) * of_keys; x++) to[x] = (REAL)call->p.key_decay_gradients[x];
}

/* Writes the prefix sums of all heads as doubles. */
static void R(write_sums)(const struct call *call, double *to)
{
    const REAL *const sum = (const REAL *)at_of(call, PREFIX_OF_KEY), *const low = (const REAL *)at_of(
                                                                          call, PREFIX_OF_KEY_LOW);
    const int64_t n = call->p.batch * call->p.heads * call->p.n_k * call->kernel->prefix_row;
    for (int64_t x = 0; x < n; x++) to[x] = (double)sum[x] + (double)low[x];
}
#undef REAL
#undef R
#define REAL double
#define R(name) name##_f64
/* Loops over prefix sums of type REAL. sums.c includes this file for float and for double; R(name) is a function's
   name. Each sum has a low part, which has its rounding error. */

/* Replaces the first n terms of `width` sums by prefix sums. Rows of terms are `row` numbers apart. */
APART void R(add_rows)(REAL *restrict sum, REAL *restrict sum_low, int64_t n, int64_t row, const int64_t width)
{
    double high[SUMS_ABREAST] = {0}, low[SUMS_ABREAST] = {0};
    for (int64_t t = 0; t < n; t++, sum += row, sum_low += row)
        for (int64_t x = 0; x < width; x++)
            if (sizeof(REAL) == 8) {
                add_to_sum(&high[x], &low[x], (double)sum[x]);
                sum[x] = (REAL)high[x];
                sum_low[x] = (REAL)low[x];
            } else { /* `high` has more digits than the two numbers that are stored */
                high[x] += (double)sum[x];
                sum[x] = (REAL)high[x];
                sum_low[x] = (REAL)(high[x] - (double)sum[x]);
            }
}

/* Replaces a head's terms by prefix sums. Copies the sums at the positions of queries into the arrays for queries, if
   there are such arrays. */
static void R(add_terms)(const struct call *call, int64_t task, unsigned char *work)
{
    const struct kernel *const kernel = call->kernel;
    const int64_t n_q = call->p.n_q, n_k = call->p.n_k, row = kernel->prefix_row,
                  rows = attn_call_rows_of_sums(kernel, &call->p);
    REAL *const sum = (REAL *)at_of(call, PREFIX_OF_KEY) + task * rows * row, *const sum_low = (REAL *)at_of(
                                                                                                   call,
                                                                                                   PREFIX_OF_KEY_LOW) +
                                                                                               task * rows * row;
    (void)work;
    for (int64_t x = -row; x < 0 && kernel->outer; x++) sum[x] = sum_low[x] = 0;
    for (int64_t x = 0; x < row; x += SUMS_ABREAST)
        R(add_rows)(sum + x, sum_low + x, n_k, row, min(row - x, SUMS_ABREAST));
    if (queries_at_keys(kernel, &call->p)) return;
    REAL *const of_query = (REAL *)at_of(call, PREFIX_OF_QUERY) + task * n_q * row,
                *const of_query_low = (REAL *)at_of(call, PREFIX_OF_QUERY_LOW) + task * n_q * row;
    if (kernel->decay_parts && call->p.query_decay) {
        const double *const given = call->p.query_decay + task * n_q * row;
        for (int64_t x = 0; x < n_q * row; x++) {
            of_query[x] = (REAL)given[x];
            of_query_low[x] = (REAL)(given[x] - (double)of_query[x]);
        }
        return;
    }
    const int64_t first = call->p.query_start ? call->p.query_start[task / call->p.heads] : n_k - n_q;
    for (int64_t i = 0; i < n_q; i++) {
        const int64_t at = i * row, from = min(first + i, n_k - 1) * row;
        for (int64_t x = 0; x < row && from < 0; x++) of_query[at + x] = of_query_low[at + x] = 0;
        for (int64_t x = 0; x < row && from >= 0; x++) {
            of_query[at + x] = sum[from + x];
            of_query_low[at + x] = sum_low[from + x];
        }
    }
}

/* Replaces the terms of new tokens by prefix sums, in one head. Each prefix sum continues from the previous one. So
   the sums do not depend on how tokens are divided into calls. */
static void R(continue_sums)(const struct call *call, int64_t task, unsigned char *work)
{
    const struct attn_strides *const s = &call->array[call->kernel->prefix[PREFIX_OF_KEY]].strides;
    const int64_t first = task / call->p.heads * s->batch + task % call->p.heads * s->head,
                  row = call->kernel->prefix_row;
    REAL *const sum = (REAL *)at_of(call, PREFIX_OF_KEY) + first, *const low = (REAL *)at_of(call, PREFIX_OF_KEY_LOW) +
                                                                               first;
    (void)work;
    for (int64_t at = 0; at < call->p.n_q * row; at++) {
        double high = (double)sum[at - row], rest = (double)low[at - row];
        add_to_sum(&high, &rest, (double)sum[at]);
        sum[at] = (REAL)(high + rest);
        low[at] = (REAL)(high - (double)sum[at] + rest);
    }
}

/* Adds x to a sum and its low part. */
INLINE void R(add)(REAL *sum, REAL *low, double x, double low_x)
{
    double high = (double)*sum, rest = (double)*low + low_x;
    add_to_sum(&high, &rest, x);
    *sum = (REAL)(high + rest);
    *low = (REAL)(high - (double)*sum + rest);
}

static void R(begin_sums_again)(const struct kernel *kernel, const struct sum_rows *rows, int64_t sequences, int64_t n)
{
    const struct attn_strides *const s = rows->strides;
    const int64_t row = kernel->prefix_row;
    for (int64_t x = 0; x < sequences; x++)
        for (int64_t g = 0; g < s->batch; g += s->head) {
            REAL *const sum = (REAL *)(void *)(rows->sum + x * s->batch + g),
                        *const low = (REAL *)(void *)(rows->low + x * s->batch + g);
            for (int64_t e = 0; e < row; e++) {
                const int64_t last = (n - 1) * row + e;
                const double sum_of_last = (double)sum[last], low_of_last = (double)low[last];
                if (kernel->folds) R(add)(&sum[e - 2 * row], &low[e - 2 * row], sum_of_last, low_of_last);
                for (int64_t at = e - row; at <= last; at += row)
                    R(add)(&sum[at], &low[at], -sum_of_last, -low_of_last);
            }
        }
}

static void R(add_sums)(const struct kernel *kernel, const struct sum_rows *to, int64_t first, int64_t n,
                        const struct sum_rows *from, int64_t row)
{
    const struct attn_strides *const s = to->strides;
    const int64_t width = kernel->prefix_row;
    for (int64_t g = 0; g < s->batch; g += s->head) {
        REAL *const sum = (REAL *)(void *)(to->sum + g), *const low = (REAL *)(void *)(to->low + g);
        const REAL *const added = (const REAL *)(const void *)(from->sum + g + row * s->row),
                          *const low_added = (const REAL *)(const void *)(from->low + g + row * s->row);
        for (int64_t at = first * width, x = 0; at < (first + n) * width; at++, x++)
            R(add)(&sum[at], &low[at], (double)added[x % width], (double)low_added[x % width]);
    }
}

/* Adds `width` gradients of a row to their sums. */
APART void R(add_row)(double *high, double *low, const REAL *from, int64_t width)
{
    for (int64_t x = 0; x < width; x++)
        if (sizeof(REAL) == 8)
            add_to_sum(&high[x], &low[x], (double)from[x]);
        else /* `high` has more digits than the gradients */
            high[x] += (double)from[x];
}

/* Replaces the gradients of a head's prefix sums by the gradients of the terms. The gradient of a term is the sum of
   the gradients from its position to the last. */
static void R(add_gradients)(const struct call *call, int64_t task, unsigned char *work)
{
    const struct kernel *const kernel = call->kernel;
    const int64_t n_q = call->p.n_q, n_k = call->p.n_k, row = kernel->prefix_row;
    REAL *const sum = (REAL *)at_of(call, PREFIX_GRADIENT) + task * attn_call_rows_of_sums(kernel, &call->p) * row;
    const REAL *const of_query = (const REAL *)at_of(call, PREFIX_GRADIENT_OF_QUERY) + task * n_q * row;
    const int64_t first = call->p.query_start ? call->p.query_start[task / call->p.heads] : n_k - n_q;
    (void)work;
    for (int64_t begun = 0; begun < row; begun += SUMS_ABREAST) {
        double high[SUMS_ABREAST] = {0}, low[SUMS_ABREAST] = {0};
        const int64_t width = min(row - begun, SUMS_ABREAST);
        for (int64_t x = 0; x < width && kernel->outer && call->p.earlier_sums; x++)
            high[x] = call->p.term_gradients[task * row + begun + x];
        int64_t i = n_q - 1; /* the last query whose gradient is not added yet */
        for (int64_t t = n_k - 1; t >= 0; t--) {
            REAL *const to = sum + t * row + begun;
            for (; i >= 0 && first + i >= t; i--) R(add_row)(high, low, of_query + i * row + begun, width);
            R(add_row)(high, low, to, width);
            for (int64_t x = 0; x < width; x++) to[x] = (REAL)(high[x] + low[x]);
        }
    }
}

/* Sums the gradients of a head's prefix sums. They belong to the terms of the tokens before this call. */
static void R(total_gradients)(const struct call *call, int64_t task, unsigned char *work)
{
    const struct kernel *const kernel = call->kernel;
    const int64_t n = call->p.n_k, row = kernel->prefix_row;
    const REAL *const of_key = (const REAL *)at_of(call, PREFIX_GRADIENT) +
                               task * attn_call_rows_of_sums(kernel, &call->p) * row,
                      *const of_query = (const REAL *)at_of(call, PREFIX_GRADIENT_OF_QUERY) + task * n * row;
    (void)work;
    for (int64_t begun = 0; begun < row; begun += SUMS_ABREAST) {
        double high[SUMS_ABREAST] = {0}, low[SUMS_ABREAST] = {0};
        const int64_t width = min(row - begun, SUMS_ABREAST);
        for (int64_t t = n - 1; t >= 0; t--) {
            R(add_row)(high, low, of_query + t * row + begun, width);
            R(add_row)(high, low, of_key + t * row + begun, width);
        }
        for (int64_t x = 0; x < width; x++) call->p.term_gradients[task * row + begun + x] = high[x] + low[x];
    }
}

/* Writes the gradients of a head's prefix sums at queries and at keys. */
static void R(write_gradients)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t row = call->kernel->prefix_row, of_queries = call->p.n_q * row, of_keys = call->p.n_k * row;
    double *const query = call->p.query_decay_gradients + task * of_queries, *const key = call->p.key_decay_gradients +
                                                                                          task * of_keys;
    const REAL *const from_query = (const REAL *)at_of(call, PREFIX_GRADIENT_OF_QUERY) + task * of_queries,
                      *const from_key = (const REAL *)at_of(call, PREFIX_GRADIENT) + task * of_keys;
    (void)work;
    for (int64_t x = 0; x < of_queries; x++) query[x] = (double)from_query[x];
    for (int64_t x = 0; x < of_keys; x++) key[x] = (double)from_key[x];
}

/* Takes the gradients of a head's terms from the caller. */
static void R(take_gradients)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t of_keys = call->p.n_k * call->kernel->prefix_row;
    REAL *const to = (REAL *)at_of(call, PREFIX_GRADIENT);
    (void)work;
    for (int64_t x = task * of_keys; x < (task + 1) * of_keys; x++) to[x] = (REAL)call->p.key_decay_gradients[x];
}

/* Writes the prefix sums of all heads as doubles. */
static void R(write_sums)(const struct call *call, double *to)
{
    const REAL *const sum = (const REAL *)at_of(call, PREFIX_OF_KEY), *const low = (const REAL *)at_of(
                                                                          call, PREFIX_OF_KEY_LOW);
    const int64_t n = call->p.batch * call->p.heads * call->p.n_k * call->kernel->prefix_row;
    for (int64_t x = 0; x < n; x++) to[x] = (double)sum[x] + (double)low[x];
}
#undef REAL
#undef R

ATTN_API const struct program *attn_call_sums(const struct kernel *kernel, enum sums_task task)
{
#define SUMS(name, effort) \
    { \
        {.rows = name##_f32, .tile = -1, .of_token = effort}, \
        { \
            .rows = name##_f64, .tile = -1, .of_token = effort \
        } \
    }
    static const struct program program[][2] = {[SUMS_ADD_TERMS] = SUMS(add_terms, 8),
                                                [SUMS_CONTINUE] = SUMS(continue_sums, 0),
                                                [SUMS_ADD_GRADIENTS] = SUMS(add_gradients, 8),
                                                [SUMS_TOTAL_GRADIENTS] = SUMS(total_gradients, 8),
                                                [SUMS_WRITE_GRADIENTS] = SUMS(write_gradients, 8),
                                                [SUMS_TAKE_GRADIENTS] = SUMS(take_gradients, 8)};
#undef SUMS
    return &program[task][kernel->real == 8];
}

ATTN_API void attn_call_begin_sums_again(const struct kernel *kernel, struct sum_rows rows, int64_t sequences,
                                         int64_t n)
{
    (kernel->real == 8 ? begin_sums_again_f64 : begin_sums_again_f32)(kernel, &rows, sequences, n);
}

ATTN_API void attn_call_add_sums(const struct kernel *kernel, struct sum_rows to, int64_t first, int64_t n,
                                 struct sum_rows from, int64_t row)
{
    (kernel->real == 8 ? add_sums_f64 : add_sums_f32)(kernel, &to, first, n, &from, row);
}

/* Returns the bytes of an array with a row per position and head. */
ATTN_API size_t attn_call_prefix_rows(const struct kernel *kernel, const struct attn_problem *p, int64_t n)
{
    return bytes_of_rows((size_t)kernel->prefix_row * kernel->real, p, p->heads, n);
}

/* Returns the number of rows of a head's sums. With outer sums, row -1 is the one before the first token. */
ATTN_API int64_t attn_call_rows_of_sums(const struct kernel *kernel, const struct attn_problem *p)
{
    return kernel->outer ? min(p->n_k, INT64_MAX - 1) + 1 : p->n_k;
}

/* Returns the bytes of the prefix sums and of their low parts. */
ATTN_API size_t attn_call_prefix_bytes(const struct kernel *kernel, const struct attn_problem *p)
{
    return bytes_times(bytes_plus(attn_call_prefix_rows(kernel, p, p->n_q),
                                  attn_call_prefix_rows(kernel, p, attn_call_rows_of_sums(kernel, p))),
                       2);
}

static void set_place(struct call *call, enum prefix_array array, void *at, struct attn_strides strides)
{
    struct place *const place = prefix_place(call, array);
    place->at = at;
    place->strides = strides;
}

ATTN_API unsigned char *attn_call_set_prefix_sums(struct call *call, unsigned char *at)
{
    const struct kernel *const kernel = call->kernel;
    const struct attn_problem *const p = &call->p;
    const int64_t rows = attn_call_rows_of_sums(kernel, p), row = kernel->prefix_row,
                  bytes = row * (int64_t)kernel->real;
    const struct attn_strides queries = contiguous(p->heads, p->n_q, row), keys = contiguous(p->heads, rows, row);
    const size_t of_queries = whole_lines((size_t)(p->batch * queries.batch) * kernel->real),
                 of_keys = whole_lines((size_t)(p->batch * keys.batch) * kernel->real);
    unsigned char *const key = at + 2 * of_queries + (kernel->outer ? bytes : 0), *const key_low = key + of_keys;
    set_place(call, PREFIX_OF_KEY, key, keys);
    set_place(call, PREFIX_OF_KEY_LOW, key_low, keys);
    set_place(call, PREFIX_OF_CHUNK, key, keys);
    set_place(call, PREFIX_OF_CHUNK_LOW, key_low, keys);
    if (queries_at_keys(kernel, p)) {
        set_place(call, PREFIX_OF_QUERY, key + (p->n_k - p->n_q) * bytes, keys);
        set_place(call, PREFIX_OF_QUERY_LOW, key_low + (p->n_k - p->n_q) * bytes, keys);
    } else {
        set_place(call, PREFIX_OF_QUERY, at, queries);
        set_place(call, PREFIX_OF_QUERY_LOW, at + of_queries, queries);
    }
    return at + 2 * (of_queries + of_keys);
}

/* Computes the prefix sums of a call. Each thread has `bytes` bytes of the workspace `work`. */
ATTN_API int attn_call_make_prefix_sums(struct call *call, const struct program *terms, int threads,
                                        unsigned char *work, size_t bytes)
{
    const int64_t n_q = call->p.n_q;
    call->p.n_q = call->p.n_k; /* one term for each key */
    const int error = attn_call_run(call, terms, threads, work, bytes);
    call->p.n_q = n_q;
    return error ? error : attn_call_run(call, attn_call_sums(call->kernel, SUMS_ADD_TERMS), threads, work, bytes);
}

ATTN_API size_t attn_call_shared_bytes(const struct kernel *kernel, const struct attn_problem *p,
                                       const struct attn_problem *sums)
{
    size_t bytes = kernel->prefix_row && sums ? attn_call_prefix_bytes(kernel, sums) : 0;
    if (kernel->masks) bytes = bytes_plus(bytes, attn_call_tiles_bytes(kernel, p));
    if (kernel->lists) bytes = bytes_plus(bytes, attn_call_lists_bytes(kernel, p));
    if (kernel->corrected < 0) return bytes;
    const size_t row = (size_t)(kernel->value_dim * (1 + kernel->tangents)) * kernel->real;
    return bytes_plus(bytes, bytes_of_rows(row, p, p->heads, p->n_k));
}

/* Member decay_sums of struct attn_kernel. */
ATTN_API int attn_call_decay_sums(const struct kernel *kernel, const struct attn_problem *problem, const void *params,
                                  double *sums, void *workspace)
{
    if (!problem || !sums) return ATTN_EPOINTER;
    struct attn_problem keys = *problem;
    struct call call;
    keys.query_start = NULL;
    keys.query_decay = NULL;
    int error = attn_call_begin(&call, kernel, &keys, params, NULL, ENTRY_FORWARD, 1), threads = 1;
    if (error || call.p.batch == 0 || call.p.heads == 0 || call.p.n_k == 0) return error;
    error = attn_call_take_params(&call);
    if (error) return error;
    const size_t shared = attn_call_shared_bytes(kernel, &call.p, &call.p);
    const struct program *const terms = attn_call_program_of(kernel, RUN_TERMS);
    if (!attn_call_runs(terms)) return ATTN_EMACHINE;
    const size_t bytes = larger(attn_call_max_bytes(kernel, RUN_CORRECT, INT64_MAX), attn_call_bytes_a_thread(terms));
    error = attn_call_take_workspace(kernel, problem, workspace, shared, bytes, &threads);
    if (error) return error;
    attn_call_set_prefix_sums(&call, (unsigned char *)workspace);
    error = attn_call_make_prefix_sums(&call, terms, threads, (unsigned char *)workspace + shared, bytes);
    if (!error) (kernel->real == 8 ? write_sums_f64 : write_sums_f32)(&call, sums);
    return error;
}
/* Divides the tasks of programs among threads. */

#include <stdlib.h>
#if !defined __SSE__ && !defined __aarch64__
#include <fenv.h>
#endif

/* Running jobs, shared by the threads. */
struct work {
    const struct job *job;
    int64_t jobs;
    int threads;  /* requested threads; OpenMP may start fewer */
    int there;    /* the number of threads that have started */
    int64_t next; /* the first task that no thread has taken. Tasks that one thread runs are numbered over all jobs. */
    unsigned char *workspace;
    size_t bytes;           /* bytes of workspace per thread */
    void (*on)(void *work); /* what every thread calls */
    _Alignas(64) int64_t folded[FOLD_GROUPS * NUMBERS_OF_LINE];
};

ATTN_API int64_t attn_call_threads_served(const struct kernel *kernel, const struct attn_problem *p)
{
    const struct openmp *const openmp = kernel->openmp;
    if (p->threads > 0 || !openmp) return max(p->threads, 1);
    return max(openmp->max_threads(), openmp->processors()); /* OpenMP's default may change later */
}

ATTN_API int attn_call_take_workspace(const struct kernel *kernel, const struct attn_problem *p, const void *workspace,
                                      size_t shared, size_t bytes_a_thread, int *threads)
{
    const struct openmp *const openmp = kernel->openmp;
    const size_t all = p->workspace_bytes, left = all > shared ? all - shared : 0,
                 room = bytes_a_thread ? left / bytes_a_thread : left;
    const int64_t by_default = p->threads == 0 && openmp ? openmp->max_threads() : 1;
    int64_t most = (int64_t)(room < INT32_MAX ? room : INT32_MAX), wanted = p->threads > 0 ? p->threads : by_default;
    /* OpenMP is asked only if its answer matters, because it takes a tenth of the time of a short call. */
    if (wanted > most) most = max(most, openmp ? openmp->processors() : 1);
    if (p->threads == 0) wanted = min(wanted, most);
    if (!workspace) return ATTN_EPOINTER;
    if ((uintptr_t)workspace % 64) return ATTN_EALIGN;
    if (!bytes_fit(shared)) return ATTN_ESIZE;
    if (all && all < bytes_plus(shared, bytes_times(bytes_a_thread, wanted))) return ATTN_EWORKSPACE;
    *threads = (int)(p->team ? wanted : min(wanted, most));
    return 0;
}

/* ---- how a thread computes with floating-point numbers ---- */

/* Traps are off, because lanes after the last row may divide by 0. With prefix sums, subnormal numbers are taken for 0:
   products of decays are often subnormal, and x86 processors compute with such numbers up to 100 times slower. */
ATTN_API struct arithmetic attn_call_begin_arithmetic(const struct kernel *kernel)
{
    struct arithmetic before = {0, 0};
    const int subnormals_are_zero = kernel->prefix_row > 0;
#if defined __SSE__
    enum { MASKS = 0x1f80, SUBNORMALS = 1 << 15 | 1 << 6 }; /* of results and of operands */
    before.control = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr((unsigned)before.control | MASKS | (subnormals_are_zero ? SUBNORMALS : 0));
#elif defined __aarch64__
    enum { TRAPS = 0x9f00 };
    __asm__ volatile("mrs %0, fpcr" : "=r"(before.control));
    __asm__ volatile("mrs %0, fpsr" : "=r"(before.flags));
    __asm__ volatile("msr fpcr, %0"
                     :
                     : "r"((before.control & ~(uint64_t)TRAPS) | (uint64_t)subnormals_are_zero << 24)
                     : "memory");
#else
    _Static_assert(sizeof(fenv_t) <= sizeof before, "struct arithmetic has room for fenv_t");
    (void)subnormals_are_zero;
    feholdexcept((fenv_t *)(void *)&before);
#endif
    return before;
}

/* Ends it, and leaves the flags of exceptions as they were before. */
ATTN_API void attn_call_end_arithmetic(const struct arithmetic *before)
{
#if defined __SSE__
    __builtin_ia32_ldmxcsr((unsigned)before->control);
#elif defined __aarch64__
    __asm__ volatile("msr fpcr, %0" : : "r"(before->control) : "memory");
    __asm__ volatile("msr fpsr, %0" : : "r"(before->flags) : "memory");
#else
    fesetenv((const fenv_t *)(const void *)before);
#endif
}

static void without_traps(void *work)
{
    struct work *const w = (struct work *)work;
    const struct arithmetic before = attn_call_begin_arithmetic(w->job->call->kernel);
    w->on(w);
    attn_call_end_arithmetic(&before);
}

/* Returns the caller's team or OpenMP's threads. NULL: there is only the calling thread. */
static const struct attn_team *team_of(const struct call *call)
{
    const struct openmp *const openmp = call->kernel->openmp;
    return call->p.team || !openmp ? call->p.team : &openmp->team;
}

/* Calls on(w) in all threads of the jobs. */
static void in_threads(struct work *w, void (*on)(void *work))
{
    const struct attn_team *const team = team_of(w->job->call);
    w->on = on;
    if (w->threads == 1 || !team)
        without_traps(w);
    else
        team->run(without_traps, w, (unsigned)w->threads, 0);
}

/* ---- tasks ---- */

/* Makes a thread's strips and tiles empty, because its workspace has the numbers of an earlier call. The first number
   of each is that of a head. */
static void forget(const struct program *p, unsigned char *own)
{
    for (int k = 0; k < p->remembered; k++) *(int64_t *)(void *)(own + p->remembers[k]) = -1;
}

/* Returns a number for the calling thread. It does not use omp_get_thread_num, which may belong to another OpenMP
   library. */
static int take_number(struct work *w)
{
    return __atomic_fetch_add(&w->there, 1, __ATOMIC_RELAXED);
}

static int64_t take_task(struct work *w)
{
    return __atomic_fetch_add(&w->next, 1, __ATOMIC_RELAXED);
}

/* Runs the tasks of a program whose tiles add to shared sums in order.
   - Each thread first computes equally many whole heads, without waiting.
   - The threads share the tiles of the other heads. A tile adds to a position only after the previous tile has added
     to it. */
static void work_in_order(void *work)
{
    struct work *const w = (struct work *)work;
    const struct program *const program = w->job->program;
    const struct call *const call = w->job->call;
    const int64_t alone = w->job->alone, tiles = call->tiles;
    unsigned char *const own = w->workspace + (size_t)take_number(w) * w->bytes;
    struct call by_itself;
    attn_call_copy(&by_itself, call);
    by_itself.progress = NULL;
    forget(program, own);
    for (int64_t unit; (unit = take_task(w)) < w->job->tasks;) {
        if (unit < alone) {
            for (int64_t tile = 0; tile < tiles; tile++) program->rows(&by_itself, unit * tiles + tile, own);
            continue;
        }
        const int64_t task = alone * tiles + unit - alone;
        program->rows(call, task, own);
        await_turn(call, task, INT64_MAX);
        pass_turn(call, task, INT64_MAX);
    }
}

static void run_in_order(struct work *w, struct job *job)
{
    const struct call *const call = job->call;
    const int64_t heads = call->p.batch * (call->kernel->sums_of_keys ? call->p.heads : call->p.kv_heads),
                  alone = heads / w->threads * w->threads, tiles = call->tiles;
    for (int64_t h = alone; h < heads; h++)
        for (int64_t t = 0; t <= tiles; t++) call->progress[h * (tiles + 1) + t] = t > 0 ? 0 : INT64_MAX;
    job->alone = alone;
    job->tasks = alone + (heads - alone) * tiles;
    in_threads(w, work_in_order);
}

/* Sets `share` to the share of thread `number`, where `there` threads compute a head. The workspace has room for
   `threads` threads. OpenMP may have started fewer. */
static void take_share(const struct program *p, int threads, int number, int there, unsigned char *workspace,
                       struct share *share)
{
    const size_t all = (size_t)threads;
    share->number = number;
    share->threads = there;
    share->work = workspace + (size_t)number * p->own;
    share->shared = workspace + all * p->own;
    share->window = p->slot ? (int64_t)(((all - 1) * p->shared + all * p->slots * p->slot) / p->slot) / there : 0;
    share->slots = share->shared + p->shared + (size_t)(number * share->window) * p->slot;
}

/* Runs all tasks of a job on the calling thread. */
static void run_alone(const struct job *job, unsigned char *own)
{
    const struct program *const program = job->program;
    unsigned char *const shared = own + program->own;
    forget(program, own);
    for (int64_t task = 0; task < job->tasks && !program->head; task++) program->rows(job->call, task, own);
    if (!program->head) return;
    const int64_t window = job->alone < job->tasks ? (int64_t)program->slots : 1;
    struct share share = {
        .threads = 1, .window = window, .work = own, .shared = shared, .slots = shared + program->shared};
    for (int64_t task = 0; task < job->tasks; task++) program->head(job->call, task, &share);
}

/* Runs the tasks of all jobs, on one of several threads. */
static void work_on(void *work)
{
    struct work *const w = (struct work *)work;
    const int number = take_number(w);
    unsigned char *const own = w->workspace + (size_t)number * w->bytes;
    int64_t task = take_task(w), first = 0; /* first: the number of the job's first task */
    struct share share = {.threads = 1, .window = 1, .work = own, .folded = w->folded};
    for (const struct job *job = w->job; job < w->job + w->jobs; first += job->alone, job++) {
        const struct program *const program = job->program;
        forget(program, own);
        share.shared = own + program->own;
        share.slots = share.shared + program->shared;
        for (; task - first < job->alone; task = take_task(w)) {
            if (program->head)
                program->head(job->call, task - first, &share);
            else
                program->rows(job->call, task - first, own);
        }
    }
    share.barrier = team_of(w->job->call)->barrier;
    share.segments = 0;
    share.threads = w->threads;
    for (const struct job *job = w->job; job < w->job + w->jobs; job++) {
        if (!job->program->head || job->alone == job->tasks) continue;
        synchronise(&share); /* now w->there is final, and take_share may divide the workspace */
        take_share(job->program, w->threads, number, w->there, w->workspace, &share);
        for (task = job->alone; task < job->tasks; task++) job->program->head(job->call, task, &share);
    }
}

/* Returns the multiply-adds of a job. A head takes the time of about 2^15 more. */
static double effort(const struct attn_problem *p, const struct program *v)
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

/* Returns whether the ids of the keys are in an order that the program cannot compute. Carried sums need ascending ids,
   so that keys with one id are adjacent. Calls with a state have checked them. */
static int out_of_order(const struct call *call, const struct program *program)
{
    const int ids = call->kernel->ids;
    if (ids < 0 || !program->head || program->any_order || call->program) return 0;
    const struct attn_param *const param = &call->kernel->param[call->kernel->array[ids].param];
    const struct place *const place = &call->array[ids];
    const int strided = param->strides != ATTN_CONTIGUOUS;
    return attn_call_ids_fall((const int32_t *)place->at, call->p.batch, strided ? place->stride[0] : call->p.n_k,
                              call->p.n_k, strided ? place->stride[1] : 1);
}

/* Sets the number of the tasks of a job. Returns 0 or an error. */
static int count_tasks(struct job *job, int threads)
{
    const struct program *const program = job->program;
    const struct attn_problem *const p = &job->call->p;
    const int64_t heads = program->tile == 0 || program->of_keys == OF_KEY_HEAD ? p->kv_heads : p->heads,
                  positions = program->of_keys ? p->n_k : p->n_q,
                  /* `apart` tasks cover `far` positions. A task has every `apart`-th query of these positions. */
        apart = max(program->apart, 1), far = program->tile * apart,
                  tiles = far > 0 ? (positions + far - 1) / far * apart : 1;
    int64_t tasks = p->batch * heads * tiles;
    if (program->units)
        tasks = program->units * (program->unit_batch ? p->batch : 1) *
                (program->unit_heads == 0   ? 1
                 : program->unit_heads == 1 ? p->kv_heads
                                            : p->heads) *
                tiles;
    job->tasks = job->alone = tasks;
    if (out_of_order(job->call, program)) return ATTN_EORDER;
    if (program->head && program->together) job->alone = program->together > 1 ? 0 : tasks / threads * threads;
    return 0;
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

ATTN_API int attn_call_run_jobs(struct job *job, int64_t jobs, int threads, unsigned char *workspace, size_t bytes)
{
    const struct call *const call = job->call;
    double all = 0;
    if (!team_of(call)) threads = 1;
    if (threads > 1) {
        for (int64_t k = 0; k < jobs; k++) all += job[k].effort = effort(&job[k].call->p, job[k].program);
        if (call->p.threads == 0 || call->p.team) threads = useful_threads(all, threads);
    }
    for (int64_t k = 0; k < jobs; k++) {
        const int error = count_tasks(&job[k], threads);
        if (error) return error;
        if (threads > 1) job[k].effort /= (double)max(job[k].tasks, 1);
    }
    if (threads == 1) {
        const struct arithmetic before = attn_call_begin_arithmetic(call->kernel);
        for (int64_t k = 0; k < jobs; k++) run_alone(&job[k], workspace);
        attn_call_end_arithmetic(&before);
        return 0;
    }
    /* Threads share a task only if it takes long, because they have to wait for each other. */
    for (int64_t k = 0; k < jobs && jobs > 1; k++)
        if (job[k].program->together == 1 && job[k].effort * 16 * threads < all) job[k].alone = job[k].tasks;
    sort_jobs(job, jobs);
    struct work work = {.job = job, .jobs = jobs, .threads = threads, .workspace = workspace, .bytes = bytes};
    in_threads(&work, work_on);
    return 0;
}

ATTN_API int attn_call_run(const struct call *call, const struct program *program, int threads,
                           unsigned char *workspace, size_t bytes)
{
    struct job job = {.call = call, .program = program};
    if (!program->in_order || !call->progress) return attn_call_run_jobs(&job, 1, threads, workspace, bytes);
    if (threads > 1 && (call->p.threads == 0 || call->p.team))
        threads = useful_threads(effort(&call->p, program), threads);
    struct work work = {.job = &job, .jobs = 1, .threads = threads, .workspace = workspace, .bytes = bytes};
    run_in_order(&work, &job);
    return 0;
}

/* ---- tables of the tiles of masks ---- */

/* Returns the bytes of the tiles of a mask. Sets *t to its table, without the tiles. */
static size_t describe_mask(const struct kernel *kernel, int array, const struct attn_problem *p, struct mask_tiles *t)
{
    const struct attn_param *const param = &kernel->param[kernel->array[array].param];
    const int axes = param->rank - 2;
    int64_t size[4];
    size_t masks = 1;
    attn_param_shape(param, p, size);
    const int64_t rows = size[axes], columns = size[axes + 1];
    *t = (struct mask_tiles){.dtype = param->dtype,
                             .rows = rows,
                             .columns = columns,
                             .strips_of_mask = rows / ATTN_TILE_ROWS + (rows % ATTN_TILE_ROWS > 0),
                             .tiles_of_strip = columns / ATTN_TILE_COLUMNS + (columns % ATTN_TILE_COLUMNS > 0),
                             .size = {1, 1}};
    for (int k = 0; k < axes; k++) {
        masks = bytes_times(masks, size[k]);
        t->size[k + MASK_AXES - axes] = size[k];
    }
    const size_t strips = bytes_times(masks, t->strips_of_mask);
    t->strips = bytes_fit(strips) ? (int64_t)strips : 0;
    return whole_lines(bytes_times(strips, t->tiles_of_strip));
}

ATTN_API size_t attn_call_tiles_bytes(const struct kernel *kernel, const struct attn_problem *problem)
{
    size_t bytes = 0;
    struct mask_tiles none;
    for (int k = 0; k < kernel->arrays; k++)
        if (kernel->array[k].mask) bytes = bytes_plus(bytes, describe_mask(kernel, k, problem, &none));
    return bytes;
}

/* Fills strips of the tables of tiles until all strips are filled. */
static void work_on_tiles(void *work)
{
    struct work *const w = (struct work *)work;
    for (int64_t task; (task = take_task(w)) < w->job->tasks;) {
        const struct mask_tiles *t = w->job->call->mask_tiles;
        int64_t strip = task;
        for (; strip >= t->strips; t++) strip -= t->strips;
        const int64_t mask = strip / t->strips_of_mask, first = strip % t->strips_of_mask * ATTN_TILE_ROWS,
                      rows = min(t->rows - first, ATTN_TILE_ROWS),
                      at = mask / t->size[1] * t->stride[0] + mask % t->size[1] * t->stride[1] + first * t->row;
        uint8_t *const made = t->made + strip * t->tiles_of_strip;
        if (t->dtype == ATTN_U8)
            attn_tiles_of_strip((const uint8_t *)t->flag + at, rows, t->columns, t->row, t->column, made);
        else
            attn_tiles_of_reals(t->dtype, t->flag, at, rows, t->columns, t->row, t->column, made);
    }
}

/* Sets the tables of masks of the call. Their tiles begin at `at`. */
static void set_tiles(struct call *call, unsigned char *at)
{
    const struct kernel *const kernel = call->kernel;
    for (int k = 0; k < kernel->arrays; k++) {
        if (!kernel->array[k].mask) continue;
        struct mask_tiles *const t = &call->mask_tiles[kernel->array[k].mask - 1];
        const struct attn_param *const param = &kernel->param[kernel->array[k].param];
        const struct place *const place = &call->array[k];
        const size_t bytes = describe_mask(kernel, k, &call->p, t);
        const int axes = param->rank - 2;
        t->flag = place->at;
        t->tile = t->made = at;
        at += bytes;
        if (param->tiles)
            t->given = *(const struct attn_mask_tiles *const *)(const void *)((const char *)call->params +
                                                                              param->tiles);
        for (int n = 0; n < axes; n++) t->stride[n + MASK_AXES - axes] = place->stride[n];
        t->row = place->stride[axes];
        t->column = place->stride[axes + 1];
    }
}

ATTN_API int attn_call_make_tiles(struct call *call, struct mask_tiles *tables, unsigned char *at, int threads)
{
    struct job job = {.call = call};
    struct work work = {.job = &job, .jobs = 1};
    double bytes = 0;
    call->mask_tiles = tables;
    set_tiles(call, at);
    for (int k = 0; k < call->kernel->masks; k++) {
        struct mask_tiles *const t = &call->mask_tiles[k];
        if (t->given) {
            const int64_t size[4] = {t->size[0], t->size[1], t->rows, t->columns};
            const int error = attn_tiles_check(t->given, 4, size);
            if (error) return error;
            t->tile = (const uint8_t *)(t->given + 1);
            t->strips = 0;
        }
        job.tasks += t->strips;
        bytes += (double)(t->strips * ATTN_TILE_ROWS) * (double)t->columns;
    }
    work.threads = useful_threads(bytes, threads); /* a byte takes about the time of a multiply-add */
    if (job.tasks > 0) in_threads(&work, work_on_tiles);
    return 0;
}

/* How GCC compiles the functions after this header. */
#ifndef ATTNRT_KERNEL_OPTIMIZE_H
#define ATTNRT_KERNEL_OPTIMIZE_H

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=fast") /* a * b + c is one instruction (FMA), even with -std=c11 */
#pragma GCC optimize("no-schedule-insns") /* scheduling before register allocation would spill registers */
#endif

#endif

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "softmax.c"
#endif

/* ==== x86-64-v4 ==== */
#if defined(__x86_64__)
#define T(name) name##_v4
#define TARGET __attribute__((target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi,bmi2,fma,f16c")))
#define LANES 16
#define REGISTERS 32
#define DQ 1
#define F16C 1
#define AVX 1
#define ROWS 6
#define VECTORS 4
#define COMPENSATED 1
#define AHEAD 64
#define NEAR 3
#define MAX_STEPS 288
#define MAX_TERMS 64
#define MAX_LANES 64
#define OF(v4, v3, any) v4 /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION
#endif

/* ==== x86-64-v3 ==== */
#if defined(__x86_64__)
#define T(name) name##_v3
#define TARGET __attribute__((target("avx2,bmi,bmi2,fma,f16c")))
#define LANES 8
#define REGISTERS 16
#define F16C 1
#define AVX 1
#define ROWS 6
#define VECTORS 2
#define COMPENSATED 1
#define AHEAD 64
#define NEAR 3
#define MAX_STEPS 288
#define MAX_TERMS 64
#define MAX_LANES 64
#define OF(v4, v3, any) v3 /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION
#endif

/* ==== generic ==== */
#define T(name) name##_any
#define TARGET
#define LANES 4
#define REGISTERS 16
#define ROWS 6
#define VECTORS 2
#define COMPENSATED 1
#define AHEAD 64
#define NEAR 2
#define MAX_STEPS 288
#define MAX_TERMS 64
#define MAX_LANES 64
#define OF(v4, v3, any) any /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION

/* ==== tables for the library that calls these functions (attnrt/kernel/call.h) ==== */
static const struct array array[] = {
    {.name = "q", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES, .argument = {0, 0},
        .strides = offsetof(struct attn_problem, q)},
    {.name = "k", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .argument = {1, 1},
        .strides = offsetof(struct attn_problem, k)},
    {.name = "v", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .argument = {2, 2},
        .strides = offsetof(struct attn_problem, v)},
    {.name = "out", .access = {ACCESS_WRITTEN, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES, .argument = {3,
        3}, .strides = offsetof(struct attn_problem, out)},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softmax_few_v4, .tile = 0, .own = 37120, .few_rows = 64, .lanes = 16, .of_pair = 128, .shared = 50112,
         .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softmax_rows_v4, .tile = 64, .own = 154624, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softmax_few_v3, .tile = 0, .own = 37120, .few_rows = 64, .lanes = 8, .of_pair = 128, .shared = 50112,
         .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softmax_rows_v3, .tile = 64, .own = 154624, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softmax_few_any, .tile = 0, .own = 37120, .few_rows = 64, .lanes = 4, .of_pair = 128, .shared = 50112,
         .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softmax_rows_any, .tile = 64, .own = 154624, .of_pair = 128},
};
static const struct target target[] = {
#if defined(__x86_64__)
    {runs_v4, programs_v4, sizeof programs_v4 / sizeof *programs_v4},
#endif
#if defined(__x86_64__)
    {runs_v3, programs_v3, sizeof programs_v3 / sizeof *programs_v3},
#endif
    {NULL, programs_any, sizeof programs_any / sizeof *programs_any},
    {NULL, NULL, 0},
};

/* OpenMP of the compiler of this file, for the library: threads of OpenMP compute,
   and the library needs none itself. */
#ifndef ATTNRT_OPENMP_H
#define ATTNRT_OPENMP_H


#ifdef _OPENMP
#include <omp.h>

static void run_in_parallel(void (*work)(void *context), void *context, unsigned threads, unsigned flags)
{
    (void)flags;
#pragma omp parallel num_threads((int)threads)
    work(context);
}

static void wait_for_all(void)
{
#pragma omp barrier
}

static const struct openmp openmp = {{run_in_parallel, wait_for_all}, omp_get_max_threads, omp_get_num_procs};
#define OPENMP (&openmp)
#else
#define OPENMP NULL
#endif

#endif
static const struct kernel kernel = {
    .layout = KERNEL_LAYOUT, .name = "softmax", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .params_bytes = sizeof(struct softmax_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t softmax_params_size(void) { return attn_call_params_size(&kernel); }
int softmax_params_init(struct softmax_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t softmax_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int softmax_forward(const struct attn_problem *problem, const struct softmax_params *params, const float *q,
    const float *k, const float *v,
    float *out, void *workspace)
{
    return attn_call_forward(&kernel, problem, params, (const void *const[]){q, k, v, out}, workspace);
}
static int forward_any(const struct attn_problem *problem, const void *params, const void *q, const void *k,
    const void *v, void *out, void *workspace)
{
    return attn_call_forward(&kernel, problem, params, (const void *const[]){q, k, v, out}, workspace);
}
static int params_init_any(void *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
const struct attn_kernel softmax_kernel = {
    .name = "softmax", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 0, .param = NULL, .params_bytes = sizeof(struct softmax_params),
    .params_size = softmax_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = softmax_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .before = INT64_MAX, .after = 0, .period = 1, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
