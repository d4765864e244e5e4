/* Storage types: names, sizes, and types of their sums. */
#include "ir.h"

#include <string.h>

static const char *const names[] = {[DTYPE_F32] = "f32", [DTYPE_BF16] = "bf16", [DTYPE_F16] = "f16",
                                    [DTYPE_F64] = "f64", [DTYPE_I32] = "i32",   [DTYPE_U8] = "u8"};

const char *dtype_name(enum dtype dtype)
{
    return names[dtype];
}

bool dtype_parse(const char *text, enum dtype *dtype)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0) {
            *dtype = (enum dtype)i;
            return true;
        }
    return false;
}

int dtype_bytes(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_U8: return 1;
    case DTYPE_BF16:
    case DTYPE_F16: return 2;
    case DTYPE_F32:
    case DTYPE_I32: return 4;
    case DTYPE_F64: return 8;
    }
    return 0;
}

bool dtype_is_integer(enum dtype dtype)
{
    return dtype == DTYPE_I32 || dtype == DTYPE_U8;
}

enum dtype dtype_of_sums(enum dtype dtype)
{
    return dtype == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32;
}
