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
TARGET INLINE void widen_rows_T(int64_t rows, const int64_t elements, const STORED *b, int64_t b_row,
    REAL *wide SCALE_PARAMETER)
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
/* Returns the row that comes `distance` rows after the first of the `rest` rows at b. The rows at `next` come after
   these. NULL: the rows that follow in memory. */
INLINE const STORED *ahead_T(const STORED *b, int64_t b_row, int64_t distance, int64_t rest, const STORED *next)
{
    return next && distance >= rest ? next + (distance - rest) * b_row : b + distance * b_row;
}

/* Prefetches `rows` rows of b, `width` elements of each. */
TARGET INLINE void fetch_T(int64_t rows, const int64_t width, const STORED *b, int64_t b_row)
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < units_T(width); x += 64 / (int64_t)sizeof *b)
            __builtin_prefetch(b + r * b_row + x, 0, NEAR);
}
