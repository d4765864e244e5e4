/* Returns C types for array elements. */
#include "printer.h"

const char *emit_real(enum dtype dtype)
{
    return dtype_c_type(dtype_of_sums(dtype));
}

const char *emit_type_suffix(const struct module *m, enum dtype dtype)
{
    if (dtype == m->dtype || !dtype_is_narrow(dtype)) return "";
    return arena_printf(m->arena, "_%s", dtype_name(dtype));
}
