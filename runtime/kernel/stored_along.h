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
    T(vec) group[TURNED_LEVELS][TURNED_SUMS]; /* sums of 1, 2, 4, … groups of lanes that wait for as many later ones */
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
