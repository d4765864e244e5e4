/* Storage types: names, sizes, and types of their sums. */
#include "memory.h"

#include <string.h>

static const struct row {
    const char *name, *c;
    int elements, bytes;
} row[DTYPE_COUNT] = {
#define DTYPE(name, text, elements, bytes, c) {text, c, elements, bytes},
#include "dtype.def"
#undef DTYPE
};

const char *dtype_name(enum dtype dtype)
{
    return row[dtype].name;
}

const char *dtype_c_type(enum dtype dtype)
{
    return row[dtype].c;
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
