/* Converts rows between f32 and 16 bits. */
#include "backend.h"

#include <string.h>

/* A compiler makes vector code of these loops, which newer machines run faster. */
#if defined __x86_64__
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

static inline float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* A multiplication makes normal numbers of subnormal ones. */
static inline float f16_value(uint16_t half)
{
    const uint32_t magnitude = (half & 0x7fffu) << 13, sign = (half & 0x8000u) << 16;
    const uint32_t finite = bits_of(float_of(magnitude) * 0x1p112f);
    return float_of((magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : finite) | sign);
}

/* Rounds to nearest, ties to even. An addition of 1/2 rounds numbers that become subnormal. */
static inline uint16_t f16_bits(float value)
{
    const uint32_t magnitude = bits_of(value) & 0x7fffffffu, sign = bits_of(value) >> 16 & 0x8000u;
    const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13,
                   subnormal = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u,
                   huge = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
    return (uint16_t)((magnitude >= 0x477ff000u ? huge : magnitude < 0x38800000u ? subnormal : normal) | sign);
}

static inline uint16_t bf16_bits(float value)
{
    const uint32_t bits = bits_of(value);
    const uint32_t near = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16, quiet_nan = bits >> 16 | 64u;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? quiet_nan : near);
}

CLONES static void narrow_f16(int64_t n, const float *restrict value, uint16_t *restrict bits)
{
    for (int64_t i = 0; i < n; i++) bits[i] = f16_bits(value[i]);
}

CLONES static void narrow_bf16(int64_t n, const float *restrict value, uint16_t *restrict bits)
{
    for (int64_t i = 0; i < n; i++) bits[i] = bf16_bits(value[i]);
}

CLONES static void widen_f16(int64_t n, const uint16_t *restrict bits, float *restrict value)
{
    for (int64_t i = 0; i < n; i++) value[i] = f16_value(bits[i]);
}

void widen(enum attn_dtype dtype, int64_t n, const uint16_t *bits, float *value)
{
    if (dtype == ATTN_F16)
        widen_f16(n, bits, value);
    else
        for (int64_t i = 0; i < n; i++) value[i] = float_of((uint32_t)bits[i] << 16);
}

static float *row_of(const struct rows *r, int64_t n)
{
    const struct ggml_tensor *const t = r->tensor;
    const int64_t rows = t->ne[r->row], heads = t->ne[r->head];
    return (void *)((char *)t->data + (size_t)(n % rows) * t->nb[r->row] + (size_t)(n / rows % heads) * t->nb[r->head] +
                    (size_t)(n / rows / heads) * t->nb[3]);
}

static void narrow_row(void *argument, int64_t n)
{
    const struct rows *const r = argument;
    const int64_t size = r->tensor->ne[0];
    (r->dtype == ATTN_F16 ? narrow_f16 : narrow_bf16)(size, row_of(r, n), r->bits + n * size);
}

static void widen_row(void *argument, int64_t n)
{
    const struct rows *const r = argument;
    const int64_t size = r->tensor->ne[0];
    widen(r->dtype, size, r->bits + n * size, row_of(r, n));
}

void narrow_rows(struct context *context, struct rows *rows)
{
    for_each(context, narrow_row, rows, ggml_nrows(rows->tensor));
}

void widen_rows(struct context *context, struct rows *rows)
{
    for_each(context, widen_row, rows, ggml_nrows(rows->tensor));
}
