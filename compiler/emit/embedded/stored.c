/* Template of what a target does with rows of one type of elements in memory, which can differ from REAL. It is filled
   for each type. tests/unit/test_vector.c compiles it.
   - A row is STORED *. Element x of it has the subscript x, or, for PACKED, a place inside a row of bytes.
   - widened: converted to REAL */

#if HALVES
TARGET INLINE vec_T from_halves_T(halves_T half) /* f16 has 5 bits of exponent and 10 of fraction */
{
#if F16C
    vec_T x;
    __asm__("vcvtph2ps %1, %0" : "=v"(x) : "v"(half));
    return x;
#else
    const mask_T bits = __builtin_convertvector(half, mask_T), x = (bits & 0x7fff) << 13;
    /* infinity and NaN keep their exponent */
    const mask_T normal = x + (112 << 23) + ((mask_T)(x >= 0x0f800000) & (112 << 23));
    const vec_T tiny = (vec_T)(x + (113 << 23)) - 0x1p-14f;
    return (vec_T)((mask_T)pick_T((mask_T)(x < 0x00800000), tiny, (vec_T)normal) | (bits & 0x8000) << 16);
#endif
}

#endif
#if BLOCKS
/* Returns the scale of a block, which begins with it. */
TARGET INLINE REAL scale_of_T(const STORED *block)
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
INLINE const STORED *block_of_T(const STORED *row, int64_t x)
{
#if BLOCK_ELEMENTS
    return row + x / BLOCK_ELEMENTS * BLOCK_BYTES;
#else
    (void)x;
    return row;
#endif
}

/* Returns the number of element x in its block. */
INLINE int64_t in_block_T(int64_t x)
{
#if BLOCK_ELEMENTS
    return x % BLOCK_ELEMENTS;
#else
    return x;
#endif
}

#endif
/* Returns the elements x … x + LANES - 1 of a row before they are multiplied by a scale. x is a multiple of LANES. */
TARGET INLINE vec_T unscaled_T(const STORED *row, int64_t x)
{
#if STORED_Q4_0
    /* A block has the elements k and 16 + k in the low and high half of byte k. */
    const int64_t k = in_block_T(x);
    const bytes_T both = *(const bytes_T *)(const void *)(block_of_T(row, x) + BLOCK_BYTES - 16 + k % 16);
    const mask_T wide = __builtin_convertvector(both, mask_T), element = k < 16 ? wide : wide >> 4;
#if LOOKUP
    static const vec_T number = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
    vec_T found;
    __asm__("vpermps %1, %2, %0" : "=v"(found) : "v"(number), "v"(element)); /* uses the low 4 bits of each element */
    return found;
#else
    return __builtin_convertvector((element & 15) - 8, vec_T);
#endif
#elif BLOCKS
    const bytes_T element = *(const bytes_T *)(const void *)(block_of_T(row, x) + SCALE_BYTES + in_block_T(x));
    return __builtin_convertvector(__builtin_convertvector(element, mask_T), vec_T);
#elif STORED_FP8
    /* The bits of e4m3 are those of an f16 that is 256 times smaller. */
    const halves_T bits = __builtin_convertvector(*(const bytes_T *)(const void *)(row + x), halves_T);
    const vec_T number = from_halves_T((bits & 0x7f) << 7 | (bits & 0x80) << 8) * 256;
    const mask_T size = __builtin_convertvector(bits, mask_T) & 0x7f;
    return pick_T((mask_T)(size == 0x7f), splat_T((REAL)NAN), number);
#elif STORED_F16 && F16C
    vec_T wide;
    __asm__("vcvtph2ps %1, %0" : "=v"(wide) : "m"(*(const halves_T *)(const void *)(row + x)));
    return wide;
#elif STORED_F16
    return from_halves_T(*(const halves_T *)(const void *)(row + x));
#elif STORED_BF16
    /* bf16 is the upper half of a float */
    return (vec_T)(__builtin_convertvector(*(const halves_T *)(const void *)(row + x), mask_T) << 16);
#else
    return load_T(row + x);
#endif
}

/* Returns the elements x … x + LANES - 1 of a row. */
TARGET INLINE vec_T widened_T(const STORED *row, int64_t x)
{
#if BLOCKS
    return unscaled_T(row, x) * scale_of_T(block_of_T(row, x));
#else
    return unscaled_T(row, x);
#endif
}

/* Like widened_T, but `scale` has the scales of the row, one for `block` elements each. */
TARGET INLINE vec_T scaled_T(const STORED *row, int64_t x, const REAL *scale, const int64_t block)
{
#if BLOCKS
    return unscaled_T(row, x) * scale[x / block];
#else
    (void)scale;
    (void)block;
    return unscaled_T(row, x);
#endif
}

#if BLOCKS
/* Returns the number of scales of a row. */
INLINE int64_t scales_T(int64_t elements)
{
#if BLOCK_ELEMENTS
    return (elements + BLOCK_ELEMENTS - 1) / BLOCK_ELEMENTS;
#else
    return elements > 0;
#endif
}

/* Returns the number of elements that share a scale. */
INLINE int64_t block_size_T(int64_t elements)
{
#if BLOCK_ELEMENTS
    (void)elements;
    return BLOCK_ELEMENTS;
#else
    return elements;
#endif
}

/* Copies the scales of rows as they are stored, scales_T(elements) for each. */
TARGET INLINE void copy_scales_T(int64_t rows, const int64_t elements, const STORED *b, int64_t b_row, SCALE *copy)
{
    const int64_t count = scales_T(elements);
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t k = 0; k < count; k++)
            __builtin_memcpy(copy + r * count + k, b + r * b_row + k * BLOCK_BYTES, sizeof *copy);
}

/* Converts `count` copied scales, whole vectors of them. These loads would wait for recent stores of single scales, so
   a loop copies the scales of its next rows before it uses those of these rows. */
TARGET INLINE void convert_scales_T(int64_t count, const SCALE *copy, REAL *scale)
{
    for (int64_t k = 0; k < count; k += LANES)
#if HALF_SCALE
        store_T(scale + k, from_halves_T(*(const halves_T *)(const void *)(copy + k)));
#else
        store_T(scale + k, load_T(copy + k));
#endif
}

#endif
#if NARROW
/* Returns element x of a row. */
TARGET INLINE REAL element_T(const STORED *row, int64_t x)
{
#if STORED_Q4_0
    const STORED *const block = block_of_T(row, x);
    const int64_t k = in_block_T(x);
    return (REAL)((block[BLOCK_BYTES - 16 + k % 16] >> (k < 16 ? 0 : 4) & 15) - 8) * scale_of_T(block);
#elif BLOCKS
    const STORED *const block = block_of_T(row, x);
    return (REAL)(int8_t)block[SCALE_BYTES + in_block_T(x)] * scale_of_T(block);
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
INLINE int64_t units_T(int64_t elements)
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
/* Like transpose_T, but widens the elements. */
TARGET APART void transpose_widened_T(const STORED *from, int64_t from_row, int64_t rows, int64_t columns, REAL *to,
    int64_t to_row, int64_t ahead)
{
    const int64_t whole = rows - rows % LANES, deep = columns - columns % LANES;
    for (int64_t k = 0; k < whole / LANES * (deep / LANES); k++) {
        const int64_t row = k / (deep / LANES) * LANES, column = k % (deep / LANES) * LANES;
        vec_T t[LANES];
        UNROLL for (int r = 0; r < LANES; r++) __builtin_prefetch(from + (row + r + ahead) * from_row + column, 0, 2);
        UNROLL for (int r = 0; r < LANES; r++) t[r] = widened_T(from + (row + r) * from_row, column);
        exchange_T(t);
        UNROLL for (int r = 0; r < LANES; r++) store_T(to + (column + r) * to_row + row, t[r]);
    }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = row < whole ? deep : 0; column < columns; column++)
            to[column * to_row + row] = element_T(from + row * from_row, column);
}

/* Like finite_T, but the elements are widened first. `columns` is a multiple of LANES. */
TARGET APART int finite_stored_T(const STORED *p, int64_t row, int64_t rows, int64_t columns)
{
    REAL wide[LANES];
    for (int64_t r = 0; r < rows; r++, p += row)
        for (int64_t c = 0; c < columns; c += LANES) {
            store_T(wide, widened_T(p, c));
            if (!finite_T(wide, 0, 1, LANES)) return 0;
        }
    return 1;
}

#endif
#if NARROW
/* Widens rows of `elements` elements, which is a multiple of LANES. There are at most LANES or AT_ONCE rows. */
TARGET INLINE void widen_rows_T(int64_t rows, const int64_t elements, const STORED *b, int64_t b_row, REAL *wide
    SCALE_PARAMETER)
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < elements; x += LANES)
#if BLOCKS
            store_T(wide + r * elements + x,
                scaled_T(b + r * b_row, x, scale + r * scales_T(elements), block_size_T(elements)));
#else
            store_T(wide + r * elements + x, unscaled_T(b + r * b_row, x));
#endif
}

#endif
/* Prefetches `rows` rows of b, `width` elements of each. */
TARGET INLINE void fetch_T(int64_t rows, const int64_t width, const STORED *b, int64_t b_row)
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < units_T(width); x += 64 / (int64_t)sizeof *b)
            __builtin_prefetch(b + r * b_row + x, 0, NEAR);
}

/* c[k] = sum over t of a[t] * b[k][t] for LANES columns k and `steps` terms t. b has all LANES rows if `whole`.
   Otherwise row `last` is the last row of b. The rows of b are read in memory order, which helps the hardware
   prefetch them. */
TARGET INLINE void columns_T(const int whole, int64_t last, const int64_t steps, const REAL *a, const STORED *b,
    int64_t b_row, REAL *c SCALE_PARAMETER FETCH_PARAMETER)
{
    vec_T t[LANES];
    UNROLL for (int k = 0; k < LANES; k++) t[k] = (vec_T){0};
#if BLOCKS
    const int64_t scales = scales_T(steps), block = block_size_T(steps);
    UNROLL for (int k = 0; k < LANES; k++) {
#if IS_EARLY
        if (whole && early) fetch_T(1, steps, b + (k + early) * b_row, b_row);
#endif
        for (int64_t n = 0; n < scales; n++) {
            vec_T sum = {0};
            for (int64_t s = n * block; s < (n + 1) * block; s += LANES)
                sum += load_T(a + s) * unscaled_T(b + (whole ? k : min(k, last)) * b_row, s);
            t[k] += sum * scale[(whole ? k : min(k, last)) * scales + n];
        }
        __asm__ volatile("" : : : "memory");
    }
#else
    for (int64_t first = 0; first < steps; first += WIDE)
        UNROLL for (int k = 0; k < LANES; k++) {
#if IS_EARLY
            if (whole && early) fetch_T(1, min(WIDE, steps - first), b + (k + early) * b_row + first, b_row);
#endif
            for (int64_t s = first; s < min(first + WIDE, steps); s += LANES)
                t[k] += load_T(a + s) * unscaled_T(b + (whole ? k : min(k, last)) * b_row, s);
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
    const STORED *b, int64_t b_row, const REAL *wide, const STORED *ahead, const int64_t *ask, REAL *c, int64_t c_row
    SCALE_PARAMETER)
{
    vec_T t[4][LANES];
#if ROOMY
    for (int64_t k = 0; k < LANES; k += ABREAST) {
#else
    UNROLL for (int64_t k = 0; k < LANES; k += ABREAST) {
#endif
        vec_T sum[4][ABREAST];
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int n = 0; n < ABREAST; n++) sum[r][n] = (vec_T){0};
#if ROOMY
        fetch_T(ask[1] - ask[0], steps, ahead + (k + ask[0]) * b_row, b_row);
        UNROLL for (int64_t s = 0; s < steps; s += LANES) {
#else
        if (ask[1]) fetch_T(ABREAST, steps, ahead + k * b_row, b_row);
        for (int64_t s = 0; s < steps; s += LANES) {
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

/* Computes groups of up to 4 rows of c. Each group prefetches `share` of the rows of b that follow later. */
TARGET INLINE void columns_of_4_T(const int direct, int64_t rows, const int64_t steps, const REAL *a, int64_t a_row,
    const STORED *b, int64_t b_row, const REAL *wide, const int64_t share, REAL *c, int64_t c_row SCALE_PARAMETER)
{
    const STORED *const ahead = b + EARLY_FOR_SEVERAL * b_row;
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

/* Like columns_T, for two or more rows of a. If b has fewer than LANES rows, the other columns of c get any numbers. */
TARGET INLINE void all_columns_T(const int whole, int64_t last, int64_t rows, const int64_t steps, const REAL *a,
    int64_t a_row, const STORED *b, int64_t b_row, REAL *c, int64_t c_row SCALE_PARAMETER)
{
    const int64_t share = !whole || rows < SEVERAL ? 0 : rows > 4 * ABREAST ? 1 : (ABREAST * 4 + rows - 1) / rows;
    if (whole && ((ROOMY && rows <= 4) || !NARROW)) {
        columns_of_4_T(1, rows, steps, a, a_row, b, b_row, NULL, share, c, c_row SCALE_ARGUMENT);
        return;
    }
#if NARROW
    REAL wide[LANES * MAX_TERMS] __attribute__((aligned(BYTES)));
    widen_rows_T(whole ? LANES : last + 1, steps, b, b_row, wide SCALE_ARGUMENT);
    for (int64_t x = (last + 1) * steps; x < LANES * steps; x += LANES) store_T(wide + x, splat_T(0));
    columns_of_4_T(0, rows, steps, a, a_row, b, b_row, wide, share, c, c_row SCALE_ARGUMENT);
#else
    for (int64_t r = 0; r < rows; r++) columns_T(0, last, steps, a + r * a_row, b, b_row, c + r * c_row NOT_FETCH);
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

/* sum[v][k] = the sum over s of the products of one lane: term s of `turned`, and of row k of b, for KEYS_ABREAST rows of
   b. Terms of `turned` are `vectors` vectors apart, those of b are LANES elements apart. */
TARGET INLINE void turned_lane_T(const int vectors, const int64_t parts, const REAL *turned, const REAL *b, int64_t b_row,
    vec_T (*sum)[KEYS_ABREAST])
{
    UNROLL for (int v = 0; v < vectors; v++)
        UNROLL for (int n = 0; n < KEYS_ABREAST; n++) sum[v][n] = (vec_T){0};
    for (int64_t s = 0; s < parts; s++) {
        vec_T x[2];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_T(turned + (s * vectors + v) * LANES);
        UNROLL for (int n = 0; n < KEYS_ABREAST; n++) {
            const REAL y = b[n * b_row + s * LANES];
            UNROLL for (int v = 0; v < vectors; v++) sum[v][n] += y * x[v];
        }
        __asm__ volatile("" : : : "memory"); /* keeps the terms in order, so that the sums do not wait for each other */
    }
}

/* Adds the sums of earlier lanes to sums of as many later lanes. */
TARGET INLINE void add_turned_T(const int vectors, vec_T (*earlier)[KEYS_ABREAST], vec_T (*sum)[KEYS_ABREAST])
{
    UNROLL for (int v = 0; v < vectors; v++)
        UNROLL for (int n = 0; n < KEYS_ABREAST; n++) sum[v][n] = earlier[v][n] + sum[v][n];
}

/* t[v][k] = the sum over s of the products of turned rows with row k of b. The terms are added in the order of columns_T:
   first those of each lane of a vector, then the lanes as in lane_sums_T. `asks` tells whether KEYS_ABREAST rows at
   `ahead` are prefetched. */
TARGET INLINE void turned_columns_T(const int vectors, const int64_t steps, const REAL *turned, const REAL *b,
    int64_t b_row, const int asks, const STORED *ahead, int64_t ahead_row, vec_T (*t)[KEYS_ABREAST])
{
    enum { GROUP = LANES < 4 ? 2 : 4 };
    const int64_t parts = steps / LANES, lane = parts * vectors * LANES;
    vec_T group[TURNED_LEVELS][2][KEYS_ABREAST]; /* sums of 1, 2, 4, … groups of lanes that wait for as many later groups */
    vec_T sum[2][KEYS_ABREAST];
    for (int l = 0; l < LANES; l += GROUP, turned += GROUP * lane, b += GROUP) {
        vec_T one[2][KEYS_ABREAST], two[2][KEYS_ABREAST];
        if (asks && l % (LANES / KEYS_ABREAST) == 0)
            fetch_T(1, steps, ahead + l / (LANES / KEYS_ABREAST) * ahead_row, ahead_row);
        turned_lane_T(vectors, parts, turned, b, b_row, one);
        turned_lane_T(vectors, parts, turned + lane, b + 1, b_row, sum);
        add_turned_T(vectors, one, sum);
        if (GROUP == 4) {
            UNROLL for (int v = 0; v < vectors; v++)
                UNROLL for (int n = 0; n < KEYS_ABREAST; n++) two[v][n] = sum[v][n];
            turned_lane_T(vectors, parts, turned + 2 * lane, b + 2, b_row, one);
            turned_lane_T(vectors, parts, turned + 3 * lane, b + 3, b_row, sum);
            add_turned_T(vectors, one, sum);
            add_turned_T(vectors, two, sum);
        }
        int level = 0;
        for (int g = l / GROUP; g & 1; g /= 2) add_turned_T(vectors, group[level++], sum);
        if (l + GROUP == LANES) break;
        UNROLL for (int v = 0; v < vectors; v++)
            UNROLL for (int n = 0; n < KEYS_ABREAST; n++) group[level][v][n] = sum[v][n];
    }
    UNROLL for (int v = 0; v < vectors; v++)
        UNROLL for (int n = 0; n < KEYS_ABREAST; n++) t[v][n] = sum[v][n];
}

/* Like all_columns_T, for the rows of up to 2 vectors and all columns, whose number is a multiple of LANES. The rows are
   put in lanes, so that sums over lanes need no shuffles. `asks` tells whether later rows of b are prefetched. */
TARGET INLINE void turned_T(const int vectors, int64_t columns, const int64_t steps, const REAL *a, int64_t a_row,
    const STORED *b, int64_t b_row, const int asks, REAL *c, int64_t c_row)
{
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
        for (int64_t k = 0; k < LANES; k += KEYS_ABREAST) {
            vec_T some[2][KEYS_ABREAST];
            turned_columns_T(vectors, steps, turned, from + k * from_row, from_row, asks,
                b + (EARLY_FOR_SEVERAL + k) * b_row, b_row, some);
            UNROLL for (int v = 0; v < vectors; v++)
                UNROLL for (int n = 0; n < KEYS_ABREAST; n++) t[v][k + n] = some[v][n];
        }
        UNROLL for (int v = 0; v < vectors; v++) {
            exchange_T(t[v]);
            UNROLL for (int r = 0; r < LANES; r++) store_T(c + (v * LANES + r) * c_row + x, t[v][r]);
        }
    }
}

/* Like turned_T, for the rows of all whole vectors. Returns their number. */
TARGET INLINE int64_t all_turned_T(int64_t rows, int64_t columns, const int64_t steps, const REAL *a, int64_t a_row,
    const STORED *b, int64_t b_row, REAL *c, int64_t c_row)
{
    int64_t r = 0;
    for (; r + 2 * LANES <= rows; r += 2 * LANES)
        turned_T(2, columns, steps, a + r * a_row, a_row, b, b_row, r == 0, c + r * c_row, c_row);
    if (r + LANES <= rows) {
        turned_T(1, columns, steps, a + r * a_row, a_row, b, b_row, r == 0, c + r * c_row, c_row);
        r += LANES;
    }
    return r;
}

/* c[r][x] = sum over t of a[r][t] * b[x][t].
   - Both operands are contiguous along t. `steps` is a multiple of LANES.
   - b is in memory. It is prefetched EARLY rows ahead for one row of a, otherwise EARLY_FOR_SEVERAL rows ahead. */
TARGET INLINE void dot_along_T(int64_t rows, int64_t columns, const int64_t steps, const REAL *a, int64_t a_row,
    const STORED *b, int64_t b_row, REAL *c, int64_t c_row FETCH_PARAMETER)
{
    const int64_t whole = columns - columns % LANES,
        turned = rows < LANES ? 0 : all_turned_T(rows, whole, steps, a, a_row, b, b_row, c, c_row),
        first = turned == rows ? whole : 0;
    b += first * b_row;
#if BLOCKS
    SCALE copy[SCALES + LANES];
    REAL scale[SCALES + LANES] __attribute__((aligned(BYTES)));
    copy_scales_T(min(LANES, columns - first), steps, b, b_row, copy);
#endif
    for (int64_t x = first; x < columns; x += LANES, b += LANES * b_row) {
        const int64_t last = min(LANES, columns - x) - 1;
#if BLOCKS
        convert_scales_T((last + 1) * scales_T(steps), copy, scale);
        copy_scales_T(min(LANES, columns - x - LANES), steps, b + LANES * b_row, b_row, copy);
#endif
        if (rows == 1 && last == LANES - 1)
            columns_T(1, last, steps, a, b, b_row, c + x SCALE_ARGUMENT FETCH_ARGUMENT);
        else if (rows == 1)
            columns_T(0, last, steps, a, b, b_row, c + x SCALE_ARGUMENT NOT_FETCH);
        else if (last == LANES - 1)
            all_columns_T(1, last, rows - turned, steps, a + turned * a_row, a_row, b, b_row, c + turned * c_row + x,
                c_row SCALE_ARGUMENT);
        else
            all_columns_T(0, last, rows, steps, a, a_row, b, b_row, c + x, c_row SCALE_ARGUMENT);
    }
}

/* c[x] += sum over t of a[t] * b[t][x] for up to 8 vectors of lanes, from x = first on. With scales, a has been
   multiplied by the scale of each block of `block` elements: a[t][x / block] * unscaled b[t][x]. */
TARGET INLINE void row_T(const int vectors, int64_t first, int64_t steps, const REAL *a, int64_t a_step,
    const STORED *b, int64_t b_step, const int64_t lanes, const int64_t block, REAL *c FETCH_PARAMETER)
{
    vec_T sum[8];
    (void)lanes;
    UNROLL for (int v = 0; v < vectors; v++) sum[v] = (vec_T){0};
#if BLOCKS
    for (int64_t t = 0; t < steps; t++, b += b_step) {
#if IS_EARLY
        if (early && first == 0) fetch_T(1, lanes, b + early * b_step, b_step);
#endif
        UNROLL for (int v = 0; v < vectors; v++)
            sum[v] += a[t * a_step + (first + v * LANES) / block] * unscaled_T(b, first + v * LANES);
    }
#else
    (void)block;
    for (int64_t t = 0; t < steps; t++, b += b_step) {
#if IS_EARLY
        if (early && first == 0) fetch_T(1, lanes, b + early * b_step, b_step);
#endif
        UNROLL for (int v = 0; v < vectors; v++) sum[v] += a[t * a_step] * widened_T(b, first + v * LANES);
    }
#endif
    UNROLL for (int v = 0; v < vectors; v++) store_T(c + first + v * LANES, load_T(c + first + v * LANES) + sum[v]);
}

#if NARROW
/* c[r][x] += sum over t of a[r][t] * b[t][x] for up to 6 rows r and up to ABREAST vectors of lanes, from x = first
   on. Rows of b have `lanes` elements. The first `ahead_rows` rows at `ahead` are prefetched.
   - from 0: b is widened for these rows. 1: it is also stored to `wide`. 2: it is read from there */
TARGET INLINE void some_lanes_T(const int rows, const int vectors, const int from, int64_t first, const int64_t lanes,
    int64_t steps, const REAL *a, int64_t a_row, int64_t a_step, const STORED *b, int64_t b_step, REAL *wide,
    const STORED *ahead, int64_t ahead_rows, REAL *c, int64_t c_row SCALE_PARAMETER)
{
    vec_T sum[6][ABREAST];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (vec_T){0};
    for (int64_t t = 0; t < steps; t++) {
        vec_T x[ABREAST];
        if (t < ahead_rows) fetch_T(1, lanes, ahead + t * b_step, b_step);
        UNROLL for (int v = 0; v < vectors; v++) {
            REAL *const kept = wide + t * lanes + first + v * LANES;
#if BLOCKS
            x[v] = from == 2
                ? load_T(kept)
                : scaled_T(b + t * b_step, first + v * LANES, scale + t * scales_T(lanes), block_size_T(lanes));
#else
            x[v] = from == 2 ? load_T(kept) : unscaled_T(b + t * b_step, first + v * LANES);
#endif
            if (from == 1) store_T(kept, x[v]);
        }
        UNROLL for (int r = 0; r < rows; r++) {
            const REAL y = a[r * a_row + t * a_step];
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) {
            REAL *const to = c + r * c_row + first + v * LANES;
            store_T(to, load_T(to) + sum[r][v]);
        }
}

/* Like some_lanes_T, for all lanes. */
TARGET INLINE void all_lanes_T(const int rows, const int from, const int64_t lanes, int64_t steps, const REAL *a,
    int64_t a_row, int64_t a_step, const STORED *b, int64_t b_step, REAL *wide, const STORED *ahead,
    int64_t ahead_rows, REAL *c, int64_t c_row SCALE_PARAMETER)
{
    const int64_t share = ABREAST * LANES < lanes ? (ahead_rows * ABREAST * LANES + lanes - 1) / lanes : ahead_rows;
    int64_t x = 0;
    for (; x + ABREAST * LANES <= lanes; x += ABREAST * LANES) {
        some_lanes_T(rows, ABREAST, from, x, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead,
            min(share, ahead_rows), c, c_row SCALE_ARGUMENT);
        ahead += share * b_step;
        ahead_rows = max(ahead_rows - share, 0);
    }
    for (; x < lanes; x += LANES) {
        some_lanes_T(rows, 1, from, x, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row SCALE_ARGUMENT);
        ahead_rows = 0;
    }
}

/* Like some_lanes_T, for 1 to 6 rows and all lanes. */
TARGET INLINE void group_T(int64_t rows, const int from, const int64_t lanes, int64_t steps, const REAL *a,
    int64_t a_row, int64_t a_step, const STORED *b, int64_t b_step, REAL *wide, const STORED *ahead,
    int64_t ahead_rows, REAL *c, int64_t c_row SCALE_PARAMETER)
{
    switch (rows) {
        case 6: all_lanes_T(6, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row SCALE_ARGUMENT); break;
        case 5: all_lanes_T(5, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row SCALE_ARGUMENT); break;
        case 4: all_lanes_T(4, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row SCALE_ARGUMENT); break;
        case 3: all_lanes_T(3, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row SCALE_ARGUMENT); break;
        case 2: all_lanes_T(2, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row SCALE_ARGUMENT); break;
        default: all_lanes_T(1, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row SCALE_ARGUMENT); break;
    }
}

/* Like group_T, for any number of rows. Each group of rows prefetches a share of later rows. */
TARGET INLINE void groups_T(int64_t rows, const int64_t lanes, int64_t steps, const REAL *a, int64_t a_row,
    int64_t a_step, const STORED *b, int64_t b_step, REAL *wide, REAL *c, int64_t c_row SCALE_PARAMETER)
{
    const STORED *const ahead = b + EARLY_FOR_SEVERAL * b_step;
    if (rows <= 6) {
        group_T(rows, 0, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, steps, c, c_row SCALE_ARGUMENT);
        return;
    }
    int64_t asked = (6 * steps + rows - 1) / rows;
    all_lanes_T(6, 1, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, asked, c, c_row SCALE_ARGUMENT);
    for (int64_t r = 6; r < rows; r += 6) {
        const int64_t ask = min((min(r + 6, rows) * steps + rows - 1) / rows, steps);
        group_T(min(rows - r, 6), 2, lanes, steps, a + r * a_row, a_row, a_step, b, b_step, wide,
            ahead + asked * b_step, ask - asked, c + r * c_row, c_row SCALE_ARGUMENT);
        asked = ask;
    }
}

#endif
#if NARROW
/* Like groups_T, for all rows of b, but only ABREAST vectors of lanes, from x = first on. Many rows of c do not fit in the
   first cache, but these lanes of them do. */
TARGET INLINE void strip_T(int64_t rows, int64_t first, const int64_t lanes, int64_t steps, const REAL *a, int64_t a_row,
    int64_t a_step, const STORED *b, int64_t b_step, REAL *wide, REAL *c, int64_t c_row)
{
#if BLOCKS
    SCALE copy[SCALES + LANES];
    REAL scale[SCALES + LANES] __attribute__((aligned(BYTES)));
    copy_scales_T(min(AT_ONCE, steps), lanes, b, b_step, copy);
#endif
    for (int64_t t = 0; t < steps; t += AT_ONCE, a += AT_ONCE * a_step, b += AT_ONCE * b_step) {
        const int64_t some = min(steps - t, AT_ONCE);
        const STORED *const ahead = b + EARLY_FOR_SEVERAL * b_step;
#if BLOCKS
        convert_scales_T(some * scales_T(lanes), copy, scale);
        copy_scales_T(min(AT_ONCE, steps - t - AT_ONCE), lanes, b + AT_ONCE * b_step, b_step, copy);
#endif
        int64_t r = 0, asked = 0;
        for (; r + 6 <= rows; r += 6) { /* each group of rows prefetches a share of the rows that follow later */
            const int64_t ask = first ? 0 : (r + 6) * some / rows;
            if (r == 0)
                some_lanes_T(6, ABREAST, 1, first, lanes, some, a, a_row, a_step, b, b_step, wide, ahead, ask, c,
                    c_row SCALE_ARGUMENT);
            else
                some_lanes_T(6, ABREAST, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide,
                    ahead + asked * b_step, ask - asked, c + r * c_row, c_row SCALE_ARGUMENT);
            asked = ask;
        }
        for (; r + 2 <= rows; r += 2)
            some_lanes_T(2, ABREAST, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide, ahead, 0,
                c + r * c_row, c_row SCALE_ARGUMENT);
        if (r < rows)
            some_lanes_T(1, ABREAST, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide, ahead, 0,
                c + r * c_row, c_row SCALE_ARGUMENT);
    }
}

#endif
/* Like dot_T, but b is in memory and is prefetched as in dot_along_T. It is read AT_ONCE rows at a time. Narrow
   elements are widened once for all rows. If a has one row, b is read WIDE lanes at a time. */
TARGET INLINE void dot_fetched_T(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const REAL *a, int64_t a_row, int64_t a_step, const STORED *b, int64_t b_step, REAL *c,
    int64_t c_row, const int update, const REAL *factor COMPENSATION_PARAMETER FETCH_PARAMETER)
{
#if NARROW
    REAL wide[AT_ONCE * MAX_LANES] __attribute__((aligned(BYTES)));
    if (ROOMY && update == 1 && rows >= MANY && lanes % (ABREAST * LANES) == 0) {
        for (int64_t x = 0; x < lanes; x += ABREAST * LANES)
            strip_T(rows, x, lanes, steps, a, a_row, a_step, b, b_step, wide, c, c_row);
        return;
    }
#endif
#if BLOCKS
    SCALE copy[SCALES + LANES];
    REAL scale[SCALES + LANES] __attribute__((aligned(BYTES)));
    copy_scales_T(min(AT_ONCE, steps), lanes, b, b_step, copy);
#endif
#if FETCHED && !NARROW
    /* Many rows of c do not fit in the first cache, so a few lanes of them are computed at a time. */
    if (rows >= MANY && lanes % (vectors * LANES) == 0) {
        for (int64_t x = 0; x < lanes; x += vectors * LANES)
            for (int64_t t = 0; t < steps; t += AT_ONCE)
                dot_early_T(vectors, vectors * LANES, rows, tail, min(steps - t, AT_ONCE), span, a + t * a_step, a_row,
                    a_step, b + t * b_step + x, b_step, c + x, c_row, update,
                    factor ? factor + x : NULL COMPENSATION_OF_COLUMN, EARLY_FOR_SEVERAL);
        return;
    }
#endif
    for (int64_t t = 0; t < steps; t += AT_ONCE, a += AT_ONCE * a_step, b += AT_ONCE * b_step) {
        const int64_t some = min(steps - t, AT_ONCE);
#if BLOCKS
        const int64_t step = scales_T(lanes), block = block_size_T(lanes);
        convert_scales_T(some * step, copy, scale);
        copy_scales_T(min(AT_ONCE, steps - t - AT_ONCE), lanes, b + AT_ONCE * b_step, b_step, copy);
#endif
        if (rows == 1 && update == 1) {
#if BLOCKS
            for (int64_t k = 0; k < some; k++)
                UNROLL for (int64_t n = 0; n < step; n++) scale[k * step + n] *= a[k * a_step];
            const REAL *const factor_of_row = scale;
#else
            const int64_t step = a_step, block = lanes;
            const REAL *const factor_of_row = a;
#endif
            int64_t x = 0;
            for (; x + WIDE <= lanes; x += WIDE)
                row_T(8, x, some, factor_of_row, step, b, b_step, lanes, block, c FETCH_ARGUMENT);
            if (lanes % WIDE)
                row_T((int)(lanes % WIDE / LANES), x, some, factor_of_row, step, b, b_step, lanes, block,
                    c FETCH_ARGUMENT);
            continue;
        }
#if NARROW
        if (ROOMY && update == 1) {
            groups_T(rows, lanes, some, a, a_row, a_step, b, b_step, wide, c, c_row SCALE_ARGUMENT);
            continue;
        }
        widen_rows_T(some, lanes, b, b_step, wide SCALE_ARGUMENT);
        const REAL *const from = wide;
        const int64_t from_step = lanes;
#else
        const REAL *const from = b;
        const int64_t from_step = b_step;
#endif
#if FETCHED && NARROW
        for (int64_t r = 0, asked = 0; r < rows; r += ROWS) { /* each group of rows prefetches a share */
            const int64_t ask = rows - r <= ROWS ? some : min(asked + (some * ROWS + rows - 1) / rows, some);
            fetch_T(ask - asked, lanes, b + (EARLY_FOR_SEVERAL + asked) * b_step, b_step);
            asked = ask;
            dot_early_T(vectors, lanes, min(ROWS, rows - r), -1, some, span, a + r * a_row, a_row, a_step, from,
                from_step, c + r * c_row, c_row, update, factor COMPENSATION_OF_GROUP, 0);
        }
        (void)tail;
#elif FETCHED
        dot_early_T(vectors, lanes, rows, tail, some, span, a, a_row, a_step, from, from_step, c, c_row, update,
            factor COMPENSATION_ARGUMENT, rows < SEVERAL ? 0 : EARLY_FOR_SEVERAL);
#else
        for (int64_t x = 0, asked = 0; x < lanes; x += vectors * LANES) {
            /* A core can have few cache misses in flight, so few rows are prefetched at a time. */
            const int64_t ask = AT_ONCE * (x + vectors * LANES) / lanes;
            fetch_T(ask - asked, lanes, b + (EARLY_FOR_SEVERAL + asked) * b_step, b_step);
            asked = ask;
            dot_T(vectors, vectors * LANES, rows, tail, some, span, a, a_row, a_step, from + x, from_step, c + x,
                c_row, update, factor ? factor + x : NULL COMPENSATION_OF_COLUMN);
        }
#endif
    }
}
