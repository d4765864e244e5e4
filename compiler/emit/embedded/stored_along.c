/* Template of products of rows with rows stored in memory: sums along the elements of a row. It is filled for each type
   after stored.c and stored_bytes.c. */

/* c[k] = sum over t of a[t] * b[k][t] for LANES columns k and `steps` terms t. b has all LANES rows if `whole`.
   Otherwise row `last` is the last row of b. The rows of b are read in memory order, which helps the hardware
   prefetch them. */
TARGET INLINE void columns_T(const int whole, int64_t last, const int64_t steps, const REAL *a, const STORED *b,
    int64_t b_row, REAL *c SCALE_PARAMETER NEXT_PARAMETER AHEAD_PARAMETER)
{
    vec_T t[LANES];
#if BLOCKS && !ROOMY
    /* With few registers, 4 vectors of one row at a time, whose scale is loaded once. The sums of 4 rows do not wait for
       each other. */
    UNROLL for (int k = 0; k < LANES; k += 4) {
        vec_T sum[4] = {{0}, {0}, {0}, {0}};
        UNROLL for (int n = 0; n < 4; n++) {
            if (whole && ahead) fetch_T(1, steps, ahead + (k + n) * b_row, b_row);
            copy_scales_T(1, steps, b + (k + n < later ? LANES + k + n : 0) * b_row, b_row,
                next + (k + n) * scales_T(steps));
        }
        UNROLL for (int64_t first = 0; first < steps; first += 4 * LANES)
            UNROLL for (int n = 0; n < 4; n++) {
                const int64_t row = whole ? k + n : min(k + n, last);
                UNROLL for (int64_t s = first; s < min(first + 4 * LANES, steps); s += LANES)
                    sum[n] += load_T(a + s) *
                        scaled_T(b + row * b_row, s, scale + row * scales_T(steps), block_size_T(steps));
                __asm__ volatile("" : : : "memory"); /* without it, converted rows are stored and loaded again */
            }
        UNROLL for (int n = 0; n < 4; n++) t[k + n] = sum[n];
    }
#else
    UNROLL for (int k = 0; k < LANES; k++) t[k] = (vec_T){0};
    for (int64_t first = 0; first < steps; first += PART_LANES)
        UNROLL for (int k = 0; k < LANES; k++) {
#if IS_EARLY
            if (whole && ahead) fetch_T(1, min(PART_LANES, steps - first), ahead + k * b_row + units_T(first), b_row);
#endif
#if BLOCKS
            if (first == 0) /* without a branch; scales of later rows are not used */
                copy_scales_T(1, steps, b + (k < later ? LANES + k : 0) * b_row, b_row, next + k * scales_T(steps));
#endif
            for (int64_t s = first; s < min(first + PART_LANES, steps); s += LANES)
#if BLOCKS
                t[k] += load_T(a + s) * scaled_T(b + (whole ? k : min(k, last)) * b_row, s,
                    scale + (whole ? k : min(k, last)) * scales_T(steps), block_size_T(steps));
#else
                t[k] += load_T(a + s) * unscaled_T(b + (whole ? k : min(k, last)) * b_row, s);
#endif
            __asm__ volatile("" : : : "memory");
        }
#endif
    store_T(c, lane_sums_T(t));
}

/* Like columns_T, for up to 4 rows of a, which share the loads of b. It has LANES rows. ABREAST columns are computed at
   a time.
   - wide: b converted to floats, in rows of `steps` elements. NULL if `direct`: b is converted here
   - ask: of ABREAST rows from ahead on, those with these numbers are prefetched */
TARGET INLINE void some_columns_T(const int rows, const int direct, const int64_t steps, const REAL *a, int64_t a_row,
    const STORED *b, int64_t b_row, const REAL *wide, const STORED *ahead, const int64_t *ask, REAL *c,
    int64_t c_row SCALE_PARAMETER)
{
    vec_T t[4][LANES];
    for (int64_t k = 0; k < LANES; k += ABREAST) {
        vec_T sum[4][ABREAST];
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int n = 0; n < ABREAST; n++) sum[r][n] = (vec_T){0};
#if ROOMY
        /* Without the limit, gcc 12 warns of an endless loop. */
        fetch_T(min(ask[1] - ask[0], ABREAST), steps, ahead + (k + ask[0]) * b_row, b_row);
        UNROLL for (int64_t s = 0; s < steps; s += LANES) {
#else
#if BLOCKS
        if (ask[1]) fetch_T(ABREAST, steps, ahead + k * b_row, b_row);
#endif
        for (int64_t s = 0; s < steps; s += LANES) {
#if !BLOCKS
            if (ask[1]) /* a few at a time, because a core can have few cache misses in flight */
                UNROLL for (int n = 0; n < ABREAST; n++) __builtin_prefetch(ahead + (k + n) * b_row + s, 0, NEAR);
#endif
#endif
            vec_T x[ABREAST];
            UNROLL for (int n = 0; n < ABREAST; n++)
#if BLOCKS
                x[n] = direct
                    ? scaled_T(b + (k + n) * b_row, s, scale + (k + n) * scales_T(steps), block_size_T(steps))
                    : load_T(wide + (k + n) * steps + s);
#else
                x[n] = direct ? unscaled_T(b + (k + n) * b_row, s) : load_T(wide + (k + n) * steps + s);
#endif
            UNROLL for (int r = 0; r < rows; r++) {
                const vec_T y = load_T(a + r * a_row + s);
                UNROLL for (int n = 0; n < ABREAST; n++) sum[r][n] += x[n] * y;
            }
        }
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int n = 0; n < ABREAST; n++) t[r][k + n] = sum[r][n];
    }
    UNROLL for (int r = 0; r < rows; r++) store_T(c + r * c_row, lane_sums_T(t[r]));
}

/* Computes groups of up to 4 rows of c. Each group prefetches `share` of every ABREAST rows from `ahead` on. */
TARGET INLINE void columns_of_4_T(const int direct, int64_t rows, const int64_t steps, const REAL *a, int64_t a_row,
    const STORED *b, int64_t b_row, const REAL *wide, const int64_t share, const STORED *ahead, REAL *c,
    int64_t c_row SCALE_PARAMETER)
{
    int64_t ask[2] = {0, min(share, ABREAST)};
    for (; rows >= 4; rows -= 4, a += 4 * a_row, c += 4 * c_row) {
        some_columns_T(4, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row SCALE_ARGUMENT);
        UNROLL for (int k = 0; k < 2; k++) ask[k] = min(ask[k] + share, ABREAST);
    }
    switch (rows) {
        case 3: some_columns_T(3, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row SCALE_ARGUMENT); break;
        case 2: some_columns_T(2, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row SCALE_ARGUMENT); break;
        case 1: some_columns_T(1, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row SCALE_ARGUMENT); break;
    }
}

/* Like columns_T, for two or more rows of a. If b has fewer than LANES rows, the other columns of c get any numbers.
   `several` rows of a and more prefetch the rows at `ahead`. */
TARGET INLINE void all_columns_T(const int whole, int64_t last, int64_t rows, const int64_t steps, const REAL *a,
    int64_t a_row, const STORED *b, int64_t b_row, REAL *c, int64_t c_row, const int64_t several,
    const STORED *ahead SCALE_PARAMETER)
{
    const int64_t share = !whole || rows < several ? 0 : rows > 4 * ABREAST ? 1 : (ABREAST * 4 + rows - 1) / rows;
    if (whole && (rows <= 4 || !NARROW)) {
        columns_of_4_T(1, rows, steps, a, a_row, b, b_row, NULL, share, ahead, c, c_row SCALE_ARGUMENT);
        return;
    }
#if NARROW
    REAL wide[LANES * MAX_TERMS] __attribute__((aligned(BYTES)));
    widen_rows_T(whole ? LANES : last + 1, steps, b, b_row, wide SCALE_ARGUMENT);
    for (int64_t x = (last + 1) * steps; x < LANES * steps; x += LANES) store_T(wide + x, splat_T(0));
    columns_of_4_T(0, rows, steps, a, a_row, b, b_row, wide, share, ahead, c, c_row SCALE_ARGUMENT);
#else
    for (int64_t r = 0; r < rows; r++) columns_T(0, last, steps, a + r * a_row, b, b_row, c + r * c_row NOT_AHEAD);
#endif
}

/* Puts the rows of up to 2 vectors in lanes. Term s * LANES + l of all rows is at number l * steps / LANES + s. */
TARGET INLINE void turn_rows_T(const int vectors, const int64_t steps, const REAL *a, int64_t a_row, REAL *turned)
{
    const int64_t parts = steps / LANES;
    for (int v = 0; v < vectors; v++)
        for (int64_t s = 0; s < parts; s++) {
            vec_T t[LANES];
            UNROLL for (int r = 0; r < LANES; r++) t[r] = load_T(a + (v * LANES + r) * a_row + s * LANES);
            exchange_T(t);
            UNROLL for (int l = 0; l < LANES; l++) store_T(turned + ((l * parts + s) * vectors + v) * LANES, t[l]);
        }
}

/* sum[v * keys + k] = the sum over s of the products of one lane: term s of `turned`, and of row k of b, for `keys` rows
   of b. Terms of `turned` are `vectors` vectors apart, those of b are LANES elements apart. */
TARGET INLINE void turned_lane_T(const int vectors, const int keys, const int64_t parts, const REAL *turned,
    const REAL *b, int64_t b_row, vec_T *sum)
{
    UNROLL for (int k = 0; k < vectors * keys; k++) sum[k] = (vec_T){0};
    UNROLL for (int64_t s = 0; s < parts; s++) {
        vec_T x[2];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_T(turned + (s * vectors + v) * LANES);
        UNROLL for (int n = 0; n < keys; n++) {
            const REAL y = b[n * b_row + s * LANES];
            UNROLL for (int v = 0; v < vectors; v++) sum[v * keys + n] += y * x[v];
        }
        __asm__ volatile("" : : : "memory"); /* keeps the terms in order, so that the sums do not wait for each other */
    }
}

/* Adds the sums of earlier lanes to sums of as many later lanes. */
TARGET INLINE void add_turned_T(const int sums, const vec_T *earlier, vec_T *sum)
{
    UNROLL for (int k = 0; k < sums; k++) sum[k] = earlier[k] + sum[k];
}

/* t[v * keys + k] = the sum over s of the products of turned rows with row k of b. The terms are added in the order of
   columns_T: first those of each lane of a vector, then the lanes as in lane_sums_T. `asks` tells whether `keys` rows at
   `ahead` are prefetched. */
TARGET INLINE void turned_columns_T(const int vectors, const int keys, const int64_t steps, const REAL *turned,
    const REAL *b, int64_t b_row, const int asks, const STORED *ahead, int64_t ahead_row, vec_T *t)
{
    enum { GROUP = LANES < 4 ? 2 : 4 };
    const int64_t parts = steps / LANES, lane = parts * vectors * LANES;
    const int sums = vectors * keys;
    vec_T group[TURNED_LEVELS][TURNED_SUMS]; /* sums of 1, 2, 4, … groups of lanes that wait for as many later ones */
    vec_T sum[TURNED_SUMS];
    for (int l = 0; l < LANES; l += GROUP, turned += GROUP * lane, b += GROUP) {
        vec_T one[TURNED_SUMS], two[TURNED_SUMS];
        for (int k = l; asks && k < l + GROUP; k++)
            if (k % (LANES / keys) == 0) fetch_T(1, steps, ahead + k / (LANES / keys) * ahead_row, ahead_row);
        turned_lane_T(vectors, keys, parts, turned, b, b_row, one);
        turned_lane_T(vectors, keys, parts, turned + lane, b + 1, b_row, sum);
        add_turned_T(sums, one, sum);
        if (GROUP == 4) {
            UNROLL for (int k = 0; k < sums; k++) two[k] = sum[k];
            turned_lane_T(vectors, keys, parts, turned + 2 * lane, b + 2, b_row, one);
            turned_lane_T(vectors, keys, parts, turned + 3 * lane, b + 3, b_row, sum);
            add_turned_T(sums, one, sum);
            add_turned_T(sums, two, sum);
        }
        int level = 0;
        for (int g = l / GROUP; g & 1; g /= 2) add_turned_T(sums, group[level++], sum);
        if (l + GROUP == LANES) break;
        UNROLL for (int k = 0; k < sums; k++) group[level][k] = sum[k];
    }
    UNROLL for (int k = 0; k < sums; k++) t[k] = sum[k];
}

/* Like all_columns_T, for the rows of up to 2 vectors and all columns, whose number is a multiple of LANES. The rows are
   put in lanes, so that sums over lanes need no shuffles. `asks` tells whether later rows of b are prefetched. */
TARGET INLINE void turned_T(const int vectors, int64_t columns, const int64_t steps, const REAL *a, int64_t a_row,
    const STORED *b, int64_t b_row, const int asks, REAL *c, int64_t c_row AFTER_PARAMETER)
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
    copy_scales_T(min(LANES, columns), steps, b, b_row, copy);
#endif
    turn_rows_T(vectors, steps, a, a_row, turned);
    for (int64_t x = 0; x < columns; x += LANES, b += LANES * b_row) {
        vec_T t[2][LANES];
#if BLOCKS
        convert_scales_T(LANES * scales_T(steps), copy, scale);
        copy_scales_T(min(LANES, columns - x - LANES), steps, b + LANES * b_row, b_row, copy);
#endif
#if NARROW
        widen_rows_T(LANES, steps, b, b_row, wide SCALE_ARGUMENT);
        const REAL *const from = wide;
        const int64_t from_row = steps;
#else
        const REAL *const from = b;
        const int64_t from_row = b_row;
#endif
        for (int64_t k = 0; k < LANES; k += keys) {
            vec_T some[TURNED_SUMS];
            turned_columns_T(vectors, keys, steps, turned, from + k * from_row, from_row, asks,
                ahead_T(b, b_row, EARLY_FOR_SEVERAL + k, columns - x, AFTER), b_row, some);
            UNROLL for (int v = 0; v < vectors; v++)
                UNROLL for (int n = 0; n < keys; n++) t[v][k + n] = some[v * keys + n];
        }
        UNROLL for (int v = 0; v < vectors; v++) {
            exchange_T(t[v]);
            UNROLL for (int r = 0; r < LANES; r++) store_T(c + (v * LANES + r) * c_row + x, t[v][r]);
        }
    }
}

/* Like turned_T, for the rows of all whole vectors. Returns their number. */
TARGET INLINE int64_t all_turned_T(int64_t rows, int64_t columns, const int64_t steps, const REAL *a, int64_t a_row,
    const STORED *b, int64_t b_row, REAL *c, int64_t c_row AFTER_PARAMETER)
{
    int64_t r = 0;
    for (; r + 2 * LANES <= rows; r += 2 * LANES)
        turned_T(2, columns, steps, a + r * a_row, a_row, b, b_row, r == 0, c + r * c_row, c_row AFTER_ARGUMENT);
    if (r + LANES <= rows) {
        turned_T(1, columns, steps, a + r * a_row, a_row, b, b_row, r == 0, c + r * c_row, c_row AFTER_ARGUMENT);
        r += LANES;
    }
    return r;
}

/* c[r][x] = sum over t of a[r][t] * b[x][t].
   - Both operands are contiguous along t. `steps` is a multiple of LANES.
   - b is in memory. It is prefetched EARLY rows ahead for one row of a, otherwise DISTANCE rows ahead. AFTER_TEXT */
TARGET INLINE void dot_along_T(int64_t rows, int64_t columns, const int64_t steps, const REAL *a, int64_t a_row,
    const STORED *b, int64_t b_row, REAL *c, int64_t c_row FETCH_PARAMETER AFTER_PARAMETER)
{
#if BYTE_PRODUCTS
    if (BYTE_PRODUCTS_ON) {
        dot_bytes_T(rows, columns, steps, a, a_row, b, b_row, c, c_row);
        return;
    }
#endif
    const int64_t whole = columns - columns % LANES,
        turned = rows < LANES ? 0 : all_turned_T(rows, whole, steps, a, a_row, b, b_row, c, c_row AFTER_ARGUMENT),
        first = turned == rows ? whole : 0;
    b += first * b_row;
#if BLOCKS
    SCALE copy[SCALES + LANES];
    REAL scale[SCALES + LANES] __attribute__((aligned(BYTES)));
    copy_scales_T(min(LANES, columns - first), steps, b, b_row, copy);
#endif
    for (int64_t x = first; x < columns; x += LANES, b += LANES * b_row) {
        const int64_t last = min(LANES, columns - x) - 1;
        const STORED *const ahead = ahead_T(b, b_row, rows == 1 ? EARLY_OF_ONE : DISTANCE, columns - x, AFTER);
#if BLOCKS
        const int64_t later = min(LANES, columns - x - LANES);
        convert_scales_T((last + 1) * scales_T(steps), copy, scale);
        if (rows > 1) copy_scales_T(later, steps, b + LANES * b_row, b_row, copy);
#endif
        if (rows == 1 && last == LANES - 1)
            columns_T(1, last, steps, a, b, b_row, c + x SCALE_ARGUMENT NEXT_ARGUMENT AHEAD_OF_ONE);
        else if (rows == 1)
            columns_T(0, last, steps, a, b, b_row, c + x SCALE_ARGUMENT NEXT_ARGUMENT NOT_AHEAD);
        else if (last == LANES - 1)
            all_columns_T(1, last, rows - turned, steps, a + turned * a_row, a_row, b, b_row, c + turned * c_row + x,
                c_row, SEVERAL, ahead SCALE_ARGUMENT);
        else
            all_columns_T(0, last, rows, steps, a, a_row, b, b_row, c + x, c_row, SEVERAL, ahead SCALE_ARGUMENT);
    }
}
