/* Tables of the tiles of masks. With a table, a kernel finds the tiles that a mask hides, without reading the mask. */
#include "attnrt.h"
#include "kernel/basic.h"

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
