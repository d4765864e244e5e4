/* Conversions of 16-bit floating-point numbers. */
#include "attnrt.h"
#include "kernel/basic.h"

#include <string.h>

/* Rounds a double to nearest even. Rounding to float first would round twice. */
static uint16_t to_16_bits(double x, int exponent_bits)
{
    int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint64_t sign = bits >> 63 << 15, infinity = ((UINT64_C(1) << exponent_bits) - 1) << fraction_bits;
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    int exponent = (int)(bits >> 52 & 2047);
    if (exponent == 2047) /* infinity or NaN; a NaN keeps its highest fraction bit */
        return (uint16_t)(sign | infinity |
                          (fraction ? UINT64_C(1) << (fraction_bits - 1) | fraction >> (52 - fraction_bits) : 0));
    if (exponent == 0) return (uint16_t)sign;
    int field = exponent - 1023 + bias, shift = 52 - fraction_bits;
    if (field < 1) { /* the result is subnormal */
        shift += 1 - field;
        field = 1;
    }
    if (shift > 53) return (uint16_t)sign;
    uint64_t whole = fraction | UINT64_C(1) << 52, kept = whole >> shift, rest = whole & ((UINT64_C(1) << shift) - 1),
             half = UINT64_C(1) << (shift - 1);
    if (rest > half || (rest == half && (kept & 1))) kept++;
    /* A normal result has the leading bit of `kept`, which adds 1 to field - 1. A carry of the rounding adds 1 more. */
    uint64_t result = kept + ((uint64_t)(field - 1) << fraction_bits);
    return (uint16_t)(sign | (result < infinity ? result : infinity));
}

ATTN_API uint16_t attn_f16(double value)
{
    return to_16_bits(value, 5);
}

ATTN_API uint16_t attn_bf16(double value)
{
    return to_16_bits(value, 8);
}

ATTN_API double attn_f16_value(uint16_t half)
{
    return (double)widened_f16(half);
}

ATTN_API double attn_bf16_value(uint16_t bits)
{
    return (double)widened_bf16(bits);
}
