/* Random numbers for the arrays of `attnc check`. */
#include "check.h"

#include <math.h>

double check_uniform(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t x = *state;
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return ((double)((x ^ (x >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

double check_normal(uint64_t *state)
{
    double radius = sqrt(-2 * log(check_uniform(state))), angle = 6.283185307179586 * check_uniform(state);
    return radius * cos(angle);
}

double check_as_stored(double x, enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_BF16: return attn_bf16_value(attn_bf16(x));
    case DTYPE_F16: return attn_f16_value(attn_f16(x));
    case DTYPE_F32:
    case DTYPE_F64:
    case DTYPE_I32:
    case DTYPE_U8: break;
    }
    return (double)(float)x;
}
