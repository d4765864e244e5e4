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
    case DTYPE_U8:
    case DTYPE_FP8:
    case DTYPE_I8:
    case DTYPE_I8_32:
    case DTYPE_I8_64:
    case DTYPE_Q8_0:
    case DTYPE_Q4_0: return "uint8_t";
    case DTYPE_COUNT: break;
    }
    return "";
}

const char *emit_type_suffix(const struct module *m, enum dtype dtype)
{
    if (dtype == m->dtype || !dtype_is_narrow(dtype)) return "";
    return arena_printf(m->arena, "_%s", dtype_name(dtype));
}
