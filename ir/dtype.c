/* Storage types: names, sizes, and types of their sums. */
#include "memory.h"

#include <string.h>

/* A block has `elements` elements in `bytes` bytes. With 0 elements, the block is a whole row: a byte for each element,
   and `bytes` more bytes. */
static const struct row {
    const char *name;
    int elements, bytes;
} row[DTYPE_COUNT] = {
    [DTYPE_F32] = {"f32", 1, 4},       [DTYPE_BF16] = {"bf16", 1, 2},   [DTYPE_F16] = {"f16", 1, 2},
    [DTYPE_F64] = {"f64", 1, 8},       [DTYPE_I32] = {"i32", 1, 4},     [DTYPE_U8] = {"u8", 1, 1},
    [DTYPE_FP8] = {"fp8", 1, 1},       [DTYPE_I8] = {"i8", 0, 4},       [DTYPE_I8_32] = {"i8_32", 32, 36},
    [DTYPE_I8_64] = {"i8_64", 64, 68}, [DTYPE_Q8_0] = {"q8_0", 32, 34}, [DTYPE_Q4_0] = {"q4_0", 32, 18}};

const char *dtype_name(enum dtype dtype)
{
    return row[dtype].name;
}

bool dtype_parse(const char *text, enum dtype *dtype)
{
    for (int k = 0; k < DTYPE_COUNT; k++)
        if (strcmp(text, row[k].name) == 0) {
            *dtype = (enum dtype)k;
            return true;
        }
    return false;
}

int dtype_bytes(enum dtype dtype)
{
    return dtype_is_packed(dtype) ? 1 : row[dtype].bytes;
}

bool dtype_is_integer(enum dtype dtype)
{
    return dtype == DTYPE_I32 || dtype == DTYPE_U8;
}

bool dtype_is_packed(enum dtype dtype)
{
    return dtype >= DTYPE_FP8;
}

bool dtype_is_narrow(enum dtype dtype)
{
    return dtype == DTYPE_BF16 || dtype == DTYPE_F16 || dtype_is_packed(dtype);
}

int dtype_block(enum dtype dtype)
{
    return row[dtype].elements;
}

int64_t dtype_row_bytes(enum dtype dtype, int64_t elements)
{
    const struct row *const r = &row[dtype];
    return r->elements ? elements / r->elements * r->bytes : elements + r->bytes;
}

int64_t dtype_row_units(enum dtype dtype, int64_t elements)
{
    return dtype_is_packed(dtype) ? dtype_row_bytes(dtype, elements) : elements;
}

enum dtype dtype_of_sums(enum dtype dtype)
{
    return dtype == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32;
}
