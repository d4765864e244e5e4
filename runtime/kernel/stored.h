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
#include "stored_bytes.h"
#endif
#include "stored_along.h"
#endif
#if MAX_LANES
#include "stored_sums.h"
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
