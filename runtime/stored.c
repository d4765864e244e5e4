/* Rows of keys and values in types with few bits. Kernels that extend a state store rows with these functions. */
#include "attnrt.h"
#include "kernel/basic.h"

#include <math.h>
#include <string.h>

/* The elements and bytes of a block. With 0 elements, a block is a whole row: a scale and a byte for each element. */
struct stored_block {
    int64_t elements, bytes;
};

static struct stored_block stored_block_of(enum attn_dtype dtype)
{
    switch (dtype) {
    case ATTN_I8: return (struct stored_block){0, 4};
    case ATTN_I8_32: return (struct stored_block){32, 36};
    case ATTN_I8_64: return (struct stored_block){64, 68};
    case ATTN_Q8_0: return (struct stored_block){32, 34};
    case ATTN_Q4_0: return (struct stored_block){32, 18};
    default: return (struct stored_block){1, (int64_t)attn_dtype_size(dtype)};
    }
}

ATTN_API int64_t attn_row_bytes(enum attn_dtype dtype, int64_t elements)
{
    const struct stored_block block = stored_block_of(dtype);
    return block.elements ? elements / block.elements * block.bytes : elements + block.bytes;
}

/* ---- conversions of single numbers; rounding is to nearest, ties to even ---- */

/* e4m3fn has 4 bits of exponent and 3 of fraction, no infinity, and one NaN of each sign. */
static uint8_t stored_fp8(float value)
{
    const union bits given = {.value = value};
    const uint8_t sign = (uint8_t)(given.bits >> 24 & 0x80);
    union bits size = {given.bits & 0x7fffffff};
    if (value != value) return sign | 0x7f;
    if (size.value >= 448) return sign | 0x7e;
    if (size.value < 0x1p-6f) { /* multiples of 2^-9: the sum rounds them to integers in the low bits */
        size.value += 0x1p14f;
        return (uint8_t)(sign | (size.bits & 0xf));
    }
    size.bits += 0x7ffff + (size.bits >> 20 & 1);
    return (uint8_t)(sign | ((size.bits >> 20) - (120u << 3)));
}

static float stored_from_fp8(uint8_t x)
{
    const float size = (x & 0x7f) == 0x7f ? NAN
                       : (x & 0x78) == 0  ? (float)(x & 7) * 0x1p-9f
                                          : (union bits){((x & 0x7fu) << 20) + (120u << 23)}.value;
    return x & 0x80 ? -size : size;
}

/* ---- rows ---- */

/* Returns x rounded to an integer from -127 to 127, ties away from 0. NaN becomes 0. */
static int8_t stored_integer(float x)
{
    const float most = x > 127 ? 127 : x < -127 ? -127 : x == x ? x : 0;
    return (int8_t)(most < 0 ? most - 0.5f : most + 0.5f);
}

/* Stores `n` elements as integers of 8 bits. Returns their scale. It is NaN or infinite if an element is. */
static float stored_integers(const float *from, int64_t n, unsigned char *to)
{
    float most = 0, bad = 0;
    for (int64_t k = 0; k < n; k++) {
        const float size = fabsf(from[k]);
        bad += from[k] - from[k];
        most = size > most ? size : most;
    }
    const float scale = most / 127, times = scale > 0 ? 1 / scale : 0;
    for (int64_t k = 0; k < n; k++) to[k] = (unsigned char)stored_integer(from[k] * times);
    return scale + bad;
}

/* Stores a block of ggml's q4_0. The element that is furthest from 0 is the integer -8. */
static void stored_q4_0(const float *from, unsigned char *to)
{
    float most = 0, furthest = 0, bad = 0;
    for (int k = 0; k < 32; k++) {
        const float size = fabsf(from[k]);
        bad += from[k] - from[k];
        if (size > most) most = size, furthest = from[k];
    }
    const float scale = furthest / -8, times = scale != 0 ? 1 / scale : 0;
    const uint16_t half = narrowed_f16(bad == 0 ? scale : bad); /* a block of zeros has the scale -0, as ggml's has */
    memcpy(to, &half, sizeof half);
    for (int k = 0; k < 16; k++) {
        const float low = from[k] * times + 8.5f, high = from[k + 16] * times + 8.5f;
        to[2 + k] = (unsigned char)((low >= 15 ? 15
                                     : low > 0 ? (int)low
                                               : 0) |
                                    (high >= 15 ? 15
                                     : high > 0 ? (int)high
                                                : 0)
                                        << 4);
    }
}

ATTN_API void attn_store_row(enum attn_dtype dtype, const float *from, int64_t elements, void *to)
{
    unsigned char *const bytes = (unsigned char *)to;
    const struct stored_block block = stored_block_of(dtype);
    const int64_t each = block.elements ? block.elements : elements;
    for (int64_t k = 0, at = 0; k < elements; k += each, at += block.bytes) {
        switch (dtype) {
        case ATTN_F32: ((float *)to)[k] = from[k]; break;
        case ATTN_F64: ((double *)to)[k] = (double)from[k]; break;
        case ATTN_BF16: ((uint16_t *)to)[k] = narrowed_bf16(from[k]); break;
        case ATTN_F16: ((uint16_t *)to)[k] = narrowed_f16(from[k]); break;
        case ATTN_FP8: bytes[k] = stored_fp8(from[k]); break;
        case ATTN_Q4_0: stored_q4_0(from + k, bytes + at); break;
        case ATTN_Q8_0: {
            const uint16_t scale = narrowed_f16(stored_integers(from + k, each, bytes + at + sizeof scale));
            memcpy(bytes + at, &scale, sizeof scale);
            break;
        }
        case ATTN_I8:
        case ATTN_I8_32:
        case ATTN_I8_64: {
            const float scale = stored_integers(from + k, each, bytes + at + sizeof scale);
            memcpy(bytes + at, &scale, sizeof scale);
            break;
        }
        case ATTN_I32:
        case ATTN_U8: break; /* not types of keys and values */
        }
    }
}

ATTN_API void attn_load_row(enum attn_dtype dtype, const void *from, int64_t elements, float *to)
{
    const unsigned char *const bytes = (const unsigned char *)from;
    const struct stored_block block = stored_block_of(dtype);
    const int64_t each = block.elements ? block.elements : elements;
    for (int64_t k = 0, at = 0; k < elements; k += each, at += block.bytes) {
        float scale = 0;
        uint16_t half = 0;
        switch (dtype) {
        case ATTN_F32: to[k] = ((const float *)from)[k]; break;
        case ATTN_F64: to[k] = (float)((const double *)from)[k]; break;
        case ATTN_BF16: to[k] = widened_bf16(((const uint16_t *)from)[k]); break;
        case ATTN_F16: to[k] = widened_f16(((const uint16_t *)from)[k]); break;
        case ATTN_FP8: to[k] = stored_from_fp8(bytes[k]); break;
        case ATTN_Q4_0:
            memcpy(&half, bytes + at, sizeof half);
            scale = widened_f16(half);
            for (int n = 0; n < 16; n++) {
                to[k + n] = (float)((bytes[at + 2 + n] & 15) - 8) * scale;
                to[k + n + 16] = (float)((bytes[at + 2 + n] >> 4) - 8) * scale;
            }
            break;
        case ATTN_Q8_0:
            memcpy(&half, bytes + at, sizeof half);
            scale = widened_f16(half);
            for (int64_t n = 0; n < each; n++) to[k + n] = (float)(int8_t)bytes[at + 2 + n] * scale;
            break;
        case ATTN_I8:
        case ATTN_I8_32:
        case ATTN_I8_64:
            memcpy(&scale, bytes + at, sizeof scale);
            for (int64_t n = 0; n < each; n++) to[k + n] = (float)(int8_t)bytes[at + 4 + n] * scale;
            break;
        case ATTN_I32:
        case ATTN_U8: break;
        }
    }
}
