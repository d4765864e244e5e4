/* Reads masks of ggml. */
#include "backend.h"

#include <stdatomic.h>

enum { MINUS_INFINITY = 0xfc00, SIGN = 0x8000 };

struct scan {
    const struct ggml_tensor *mask;
    int64_t n_q, n_k;
    int32_t *first, *end;
    atomic_int other; /* 1 if a key inside a range is hidden, or a number is added */
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
    int64_t first = 0, end = s->n_k;
    while (first < end && row[first] == MINUS_INFINITY) first++;
    while (end > first && row[end - 1] == MINUS_INFINITY) end--;
    unsigned bits = 0;
    for (int64_t j = first; j < end; j++) bits |= row[j];
    if (first == end) first = end = 0;
    s->first[n] = (int32_t)first;
    s->end[n] = (int32_t)end;
    if (bits & ~(unsigned)SIGN) atomic_store_explicit(&s->other, 1, memory_order_relaxed);
}

bool mask_ranges(struct context *context, const struct ggml_tensor *mask, int64_t sequences, int64_t n_q, int64_t n_k,
                 int32_t *first, int32_t *end)
{
    struct scan scan = {.mask = mask, .n_q = n_q, .n_k = n_k, .first = first, .end = end};
    for_each(context, find_range, &scan, sequences * n_q);
    return !scan.other;
}
