/* Reads masks of ggml. */
#include "backend.h"

#include <stdatomic.h>
#include <string.h>

/* A compiler makes vector code of this loop, which newer machines run faster. */
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

CLONES static void widen(int64_t n, const uint16_t *restrict bits, float *restrict value)
{
    for (int64_t i = 0; i < n; i++) value[i] = f16_value(bits[i]);
}

/* ---- masks ---- */

enum { MINUS_INFINITY = 0xfc00, SIGN = 0x8000 };

struct scan {
    const struct ggml_tensor *mask;
    int64_t n_q;
    int32_t *first, *end;
    atomic_int other; /* 1 if a key inside a range is hidden, or a number is added */
    float *numbers;
};

/* Row n of [sequences, heads, n_q]; a mask may repeat for all sequences. */
static const uint16_t *mask_row(const struct scan *s, int64_t n)
{
    const struct ggml_tensor *const m = s->mask;
    const int64_t row = n % s->n_q, head = n / s->n_q % m->ne[2], sequence = n / s->n_q / m->ne[2] % m->ne[3];
    return (const void *)((const char *)m->data + (size_t)row * m->nb[1] + (size_t)head * m->nb[2] +
                          (size_t)sequence * m->nb[3]);
}

static void find_range(void *argument, int64_t n)
{
    struct scan *const s = argument;
    const uint16_t *const row = mask_row(s, n);
    int64_t first = 0, end = s->mask->ne[0];
    while (first < end && row[first] == MINUS_INFINITY) first++;
    while (end > first && row[end - 1] == MINUS_INFINITY) end--;
    unsigned bits = 0;
    for (int64_t j = first; j < end; j++) bits |= row[j];
    if (first == end) first = end = 0;
    s->first[n] = (int32_t)first;
    s->end[n] = (int32_t)end;
    if (bits & ~(unsigned)SIGN) atomic_store_explicit(&s->other, 1, memory_order_relaxed);
}

bool mask_ranges(struct context *context, const struct ggml_tensor *mask, int64_t sequences, int64_t n_q,
                 int32_t *first, int32_t *end)
{
    struct scan scan = {.mask = mask, .n_q = n_q, .first = first, .end = end};
    for_each(context, find_range, &scan, sequences * n_q);
    return !scan.other;
}

static void widen_row(void *argument, int64_t n)
{
    const struct scan *const s = argument;
    const int64_t n_k = s->mask->ne[0];
    float *const numbers = s->numbers + n * n_k;
    widen(n_k, mask_row(s, n), numbers);
    for (int64_t j = 0; j < n_k; j++) numbers[j] = numbers[j] < -1e30f ? -1e30f : numbers[j];
}

void mask_numbers(struct context *context, const struct ggml_tensor *mask, int64_t n_q, float *numbers)
{
    struct scan scan = {.mask = mask, .n_q = n_q, .numbers = numbers};
    for_each(context, widen_row, &scan, mask->ne[3] * mask->ne[2] * n_q);
}
