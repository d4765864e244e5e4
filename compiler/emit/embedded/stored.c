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

/* Writes the scales of rows, scales_T(elements) for each. Many scales are converted at once. */
TARGET INLINE void read_scales_T(int64_t rows, const int64_t elements, const STORED *b, int64_t b_row, REAL *scale)
{
    const int64_t count = scales_T(elements);
#if HALF_SCALE
    uint16_t half[SCALES + LANES];
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t k = 0; k < count; k++)
            __builtin_memcpy(half + r * count + k, b + r * b_row + k * BLOCK_BYTES, sizeof *half);
    for (int64_t k = 0; k < rows * count; k += LANES)
        store_T(scale + k, from_halves_T(*(const halves_T *)(const void *)(half + k)));
#else
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t k = 0; k < count; k++) scale[r * count + k] = scale_of_T(b + r * b_row + k * BLOCK_BYTES);
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
/* Widens rows of `elements` elements, which is a multiple of LANES. There are at most LANES or SOME rows. */
TARGET INLINE void widen_rows_T(int64_t rows, const int64_t elements, const STORED *b, int64_t b_row, REAL *wide)
{
#if BLOCKS
    const int64_t scales = scales_T(elements), block = block_size_T(elements);
    REAL scale[SCALES + LANES];
    read_scales_T(rows, elements, b, b_row, scale);
#endif
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < elements; x += LANES)
#if BLOCKS
            store_T(wide + r * elements + x, unscaled_T(b + r * b_row, x) * scale[r * scales + x / block]);
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

/* c[k] = sum over t of a[t] * b[k][t] for LANES columns k and `steps` terms t.
   - whole: b has all LANES rows. Otherwise row `last` is the last row of b.
   - ordered: b is read in memory order, which helps the hardware prefetch it
   - wide: b converted to floats, in rows of `steps` elements, or NULL
   - ahead: the first of LANES rows to prefetch, or NULL */
TARGET INLINE void columns_T(const int whole, int64_t last, const int64_t steps, const REAL *a, const STORED *b,
    int64_t b_row, const int ordered, const REAL *wide, REAL *c, const STORED *ahead)
{
    vec_T t[LANES];
    UNROLL for (int k = 0; k < LANES; k++) t[k] = (vec_T){0};
#if BLOCKS
    const int64_t scales = scales_T(steps), block = block_size_T(steps);
    REAL scale[SCALES + LANES];
    if (!wide) read_scales_T(whole ? LANES : last + 1, steps, b, b_row, scale);
#endif
    for (int64_t first = 0; first < steps; first += WIDE)
        UNROLL for (int k = 0; k < LANES; k++) {
            if (ahead) fetch_T(1, min(WIDE, steps - first), ahead + k * b_row + first, b_row);
            for (int64_t s = first; s < min(first + WIDE, steps); s += LANES)
#if BLOCKS
                t[k] += load_T(a + s) * (wide ? load_T(wide + k * steps + s)
                    : unscaled_T(b + (whole ? k : min(k, last)) * b_row, s) *
                        scale[(whole ? k : min(k, last)) * scales + s / block]);
#else
                t[k] += load_T(a + s) *
                    (wide ? load_T(wide + k * steps + s) : widened_T(b + (whole ? k : min(k, last)) * b_row, s));
#endif
            if (ordered) __asm__ volatile("" : : : "memory");
        }
    store_T(c, lane_sums_T(t));
}

#if !ROOMY
/* Like columns_T, for up to 4 rows of a. The rows share the loads of b. */
TARGET INLINE void some_columns_T(const int rows, const int whole, int64_t last, const int64_t steps, const REAL *a,
    int64_t a_row, const STORED *b, int64_t b_row, const REAL *wide, REAL *c, int64_t c_row)
{
    vec_T t[4][LANES];
    UNROLL for (int k = 0; k < LANES; k += 2) {
        const REAL *const wide_k = wide ? wide + k * steps : NULL;
        const STORED *const first = b + (whole ? k : min(k, last)) * b_row,
            *const second = b + (whole ? k + 1 : min(k + 1, last)) * b_row;
        vec_T sum[4][2];
        UNROLL for (int r = 0; r < rows; r++) sum[r][0] = sum[r][1] = (vec_T){0};
        fetch_T(2, steps, b + (k + EARLY_FOR_SEVERAL) * b_row, b_row);
        for (int64_t s = 0; s < steps; s += LANES) {
            const vec_T x0 = wide ? load_T(wide_k + s) : widened_T(first, s),
                x1 = wide ? load_T(wide_k + steps + s) : widened_T(second, s);
            UNROLL for (int r = 0; r < rows; r++) {
                const vec_T y = load_T(a + r * a_row + s);
                sum[r][0] += x0 * y;
                sum[r][1] += x1 * y;
            }
        }
        UNROLL for (int r = 0; r < rows; r++) t[r][k] = sum[r][0], t[r][k + 1] = sum[r][1];
    }
    UNROLL for (int r = 0; r < rows; r++) store_T(c + r * c_row, lane_sums_T(t[r]));
}

#endif
/* Like columns_T, for any number of rows of a. */
TARGET INLINE void all_columns_T(const int whole, int64_t last, int64_t rows, const int64_t steps, const REAL *a,
    int64_t a_row, const STORED *b, int64_t b_row, const REAL *wide, REAL *c, int64_t c_row)
{
    if (rows == 1) {
        columns_T(whole, last, steps, a, b, b_row, 1, NULL, c, NULL);
        return;
    }
#if ROOMY
    /* Who prefetches b depends on the number of rows of a.
       - For fewer than SEVERAL rows, the hardware prefetches b.
       - From SEVERAL rows on, each row prefetches a share of b.
       - If SEVERAL is at most 3, the first of two or three rows prefetches all of b. */
    const STORED *const ahead = b + EARLY_FOR_SEVERAL * b_row;
    const int asks = rows >= SEVERAL;
    int64_t r = 0;
    if (r < rows && (!asks || rows < 4))
        columns_T(whole, last, steps, a, b, b_row, !asks, wide, c, asks ? ahead : NULL), r = 1;
    for (; r < rows; r++) {
        const int64_t from = LANES * r / rows, to = LANES * (r + 1) / rows;
        if (asks && rows >= 4) fetch_T(to - from, steps, ahead + from * b_row, b_row);
        columns_T(whole, last, steps, a + r * a_row, b, b_row, 0, wide, c + r * c_row, NULL);
    }
#else
    for (; rows >= 4; rows -= 4, a += 4 * a_row, c += 4 * c_row)
        some_columns_T(4, whole, last, steps, a, a_row, b, b_row, wide, c, c_row);
    switch (rows) {
        case 3: some_columns_T(3, whole, last, steps, a, a_row, b, b_row, wide, c, c_row); break;
        case 2: some_columns_T(2, whole, last, steps, a, a_row, b, b_row, wide, c, c_row); break;
        case 1: some_columns_T(1, whole, last, steps, a, a_row, b, b_row, wide, c, c_row); break;
    }
#endif
}

/* c[r][x] = sum over t of a[r][t] * b[x][t].
   - Both operands are contiguous along t. `steps` is a multiple of LANES.
   - b is in memory. It is prefetched EARLY rows ahead for one row of a, otherwise EARLY_FOR_SEVERAL rows ahead. */
TARGET INLINE void dot_along_T(int64_t rows, int64_t columns, const int64_t steps, const REAL *a, int64_t a_row,
    const STORED *b, int64_t b_row, REAL *c, int64_t c_row)
{
    const REAL *wide = NULL;
    int64_t x = 0;
#if NARROW
    REAL widened[LANES * MAX_TERMS];
#endif
    /* With one row of a, each row of b is used once. So b is not widened in advance. */
    for (; rows == 1 && x + LANES <= columns; x += LANES, b += LANES * b_row) {
#if EARLY
        fetch_T(LANES, steps, b + EARLY * b_row, b_row);
#endif
        columns_T(1, 0, steps, a, b, b_row, 1, NULL, c + x, NULL);
    }
    for (; x + LANES <= columns; x += LANES, b += LANES * b_row) {
#if NARROW
        widen_rows_T(LANES, steps, b, b_row, widened);
        wide = widened;
#endif
        all_columns_T(1, 0, rows, steps, a, a_row, b, b_row, wide, c + x, c_row);
    }
    if (x < columns) all_columns_T(0, columns - x - 1, rows, steps, a, a_row, b, b_row, NULL, c + x, c_row);
}

/* c[x] += sum over t of a[t] * b[t][x] for up to 8 vectors of lanes, from x = first on. With scales, a has been
   multiplied by the scale of each block of `block` elements: a[t][x / block] * unscaled b[t][x]. */
TARGET INLINE void row_T(const int vectors, int64_t first, int64_t steps, const REAL *a, int64_t a_step,
    const STORED *b, int64_t b_step, const int64_t block, REAL *c)
{
    vec_T sum[8];
    UNROLL for (int v = 0; v < vectors; v++) sum[v] = (vec_T){0};
#if BLOCKS
    for (int64_t t = 0; t < steps; t++, b += b_step)
        UNROLL for (int v = 0; v < vectors; v++)
            sum[v] += a[t * a_step + (first + v * LANES) / block] * unscaled_T(b, first + v * LANES);
#else
    (void)block;
    for (int64_t t = 0; t < steps; t++, b += b_step)
        UNROLL for (int v = 0; v < vectors; v++) sum[v] += a[t * a_step] * widened_T(b, first + v * LANES);
#endif
    UNROLL for (int v = 0; v < vectors; v++) store_T(c + first + v * LANES, load_T(c + first + v * LANES) + sum[v]);
}

/* Like dot_T, but b is in memory and is prefetched as in dot_along_T. Narrow elements are widened SOME rows at a
   time. If a has one row, b is read WIDE lanes at a time. */
TARGET INLINE void dot_fetched_T(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const REAL *a, int64_t a_row, int64_t a_step, const STORED *b, int64_t b_step, REAL *c,
    int64_t c_row, const int update, const REAL *factor COMPENSATION_PARAMETER)
{
#if NARROW
    REAL wide[SOME * MAX_LANES];
#endif
    for (int64_t t = 0; t < steps; t += SOME, a += SOME * a_step, b += SOME * b_step) {
        const int64_t some = min(steps - t, SOME);
        if (rows == 1 && update == 1) {
#if EARLY
            fetch_T(SOME, lanes, b + EARLY * b_step, b_step);
#endif
#if BLOCKS
            const int64_t step = scales_T(lanes), block = block_size_T(lanes);
            REAL scaled[SCALES + LANES];
            read_scales_T(some, lanes, b, b_step, scaled);
            for (int64_t k = 0; k < some; k++)
                UNROLL for (int64_t n = 0; n < step; n++) scaled[k * step + n] *= a[k * a_step];
            const REAL *const factor_of_row = scaled;
#else
            const int64_t step = a_step, block = lanes;
            const REAL *const factor_of_row = a;
#endif
            int64_t x = 0;
            for (; x + WIDE <= lanes; x += WIDE) row_T(8, x, some, factor_of_row, step, b, b_step, block, c);
            if (lanes % WIDE) row_T((int)(lanes % WIDE / LANES), x, some, factor_of_row, step, b, b_step, block, c);
            continue;
        }
#if NARROW
#if ROOMY
        fetch_T(some, lanes, b + EARLY_FOR_SEVERAL * b_step, b_step);
#endif
        widen_rows_T(some, lanes, b, b_step, wide);
        const REAL *const from = wide;
        const int64_t from_step = lanes;
#else
        const REAL *const from = b;
        const int64_t from_step = b_step;
#endif
#if FETCHED
        dot_early_T(vectors, lanes, rows, tail, some, span, a, a_row, a_step, from, from_step, c, c_row, update,
            factor COMPENSATION_ARGUMENT, NARROW || rows < SEVERAL ? 0 : EARLY_FOR_SEVERAL);
#else
        for (int64_t x = 0, asked = 0; x < lanes; x += vectors * LANES) {
            /* A core can have few cache misses in flight, so few rows are prefetched at a time. */
            const int64_t ask = SOME * (x + vectors * LANES) / lanes;
            fetch_T(ask - asked, lanes, b + (EARLY_FOR_SEVERAL + asked) * b_step, b_step);
            asked = ask;
            dot_T(vectors, vectors * LANES, rows, tail, some, span, a, a_row, a_step, from + x, from_step, c + x,
                c_row, update, factor ? factor + x : NULL COMPENSATION_OF_COLUMN);
        }
#endif
    }
}
