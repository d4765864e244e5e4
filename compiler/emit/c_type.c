/* Returns C types for array elements. */
#include "printer.h"

const char *emit_real(enum dtype dtype)
{
    return emit_stored(dtype_of_sums(dtype));
}

const char *emit_stored(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F32: return "float";
    case DTYPE_BF16:
    case DTYPE_F16: return "uint16_t";
    case DTYPE_F64: return "double";
    case DTYPE_I32: return "int32_t";
    case DTYPE_U8: return "uint8_t";
    }
    return "";
}
