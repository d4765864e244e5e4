/* Messages of any length, errors on which all ranks agree, sums over all ranks, and slices that pass along ranks. */
#include "ranks.h"

static size_t next_bytes(const struct message *m)
{
    const size_t left = m->bytes - m->begun;
    return left < ATTN_MESSAGE_BYTES ? left : ATTN_MESSAGE_BYTES;
}

static int begin_next(const struct attn_transport *t, struct message *m)
{
    const size_t bytes = next_bytes(m);
    unsigned char *const at = m->data + m->begun;
    const int error = m->sends ? t->send(t->user, at, bytes, m->peer, m->tag, &m->request)
                               : t->receive(t->user, at, bytes, m->peer, m->tag, &m->request);
    m->begun += bytes;
    return error;
}

struct message message_to(int rank, int tag, const void *data, size_t bytes)
{
    return (struct message){
        .data = (unsigned char *)(uintptr_t)data, .bytes = bytes, .peer = rank, .tag = tag, .sends = true};
}

struct message message_from(int rank, int tag, void *data, size_t bytes)
{
    return (struct message){.data = (unsigned char *)data, .bytes = bytes, .peer = rank, .tag = tag};
}

int message_begin(const struct attn_transport *t, struct message *m)
{
    const int error = m->bytes ? begin_next(t, m) : 0;
    if (error) m->bytes = 0;
    return error;
}

int message_end(const struct attn_transport *t, struct message *m)
{
    int error = 0;
    while (m->ended < m->bytes && !error) {
        error = t->wait(t->user, &m->request);
        m->ended = m->begun;
        if (!error && m->begun < m->bytes) error = begin_next(t, m);
    }
    m->bytes = m->begun = m->ended = 0;
    return error;
}

int message_now(const struct attn_transport *t, struct message message)
{
    const int error = message_begin(t, &message);
    return error ? error : message_end(t, &message);
}

int worse_error(int a, int b)
{
    return a < b ? a : b;
}

/* The ranks are a binary tree: rank r has the children r + 1, r + 2, r + 4, … below the lowest bit of r. */
int agree(const struct attn_transport *t, int error)
{
    int32_t own = error, other = 0;
    int step = 1;
    for (; step < t->ranks && t->rank % (2 * step) == 0; step *= 2) {
        if (t->rank + step >= t->ranks) continue;
        other = 0;
        const int failed = message_now(t, message_from(t->rank + step, TAG_ERROR, &other, sizeof other));
        own = worse_error(own, worse_error(other, failed));
    }
    if (t->rank > 0) {
        const int parent = t->rank - step;
        int failed = message_now(t, message_to(parent, TAG_ERROR, &own, sizeof own));
        failed = worse_error(failed, message_now(t, message_from(parent, TAG_ERROR, &other, sizeof other)));
        own = worse_error(own, worse_error(other, failed));
    }
    for (step /= 2; step > 0; step /= 2) {
        if (t->rank + step >= t->ranks) continue;
        own = worse_error(own, message_now(t, message_to(t->rank + step, TAG_ERROR, &own, sizeof own)));
    }
    return own;
}

void add_elements(void *to, const void *from, int64_t n, enum attn_dtype dtype)
{
    for (int64_t k = 0; k < n; k++) {
        const uint16_t *const half = (const uint16_t *)from;
        uint16_t *const sum = (uint16_t *)to;
        if (dtype == ATTN_F64)
            ((double *)to)[k] += ((const double *)from)[k];
        else if (dtype == ATTN_F32)
            ((float *)to)[k] += ((const float *)from)[k];
        else if (dtype == ATTN_BF16)
            sum[k] = attn_bf16(attn_bf16_value(sum[k]) + attn_bf16_value(half[k]));
        else
            sum[k] = attn_f16(attn_f16_value(sum[k]) + attn_f16_value(half[k]));
    }
}

/* The sum so far goes from rank to rank, and the whole sum comes back. */
int sum_ranks(const struct attn_transport *t, void *data, int64_t count, enum attn_dtype dtype, void *work)
{
    const size_t bytes = (size_t)count * attn_dtype_size(dtype);
    int error = 0;
    if (t->sum) return t->sum(t->user, data, count, dtype);
    if (t->rank > 0) {
        error = message_now(t, message_from(t->rank - 1, TAG_SUM, work, bytes));
        add_elements(work, data, count, dtype);
        memcpy(data, work, bytes);
    }
    if (t->rank + 1 < t->ranks) {
        error = worse_error(error, message_now(t, message_to(t->rank + 1, TAG_SUM, data, bytes)));
        error = worse_error(error, message_now(t, message_from(t->rank + 1, TAG_SUM, data, bytes)));
    }
    if (t->rank > 0) error = worse_error(error, message_now(t, message_to(t->rank - 1, TAG_SUM, data, bytes)));
    return error;
}

void sweep_slices(const struct sweep *s)
{
    enum { PENDING = 2 };
    const struct attn_transport *const t = s->transport;
    struct message received[PENDING] = {{0}}, sent[PENDING] = {{0}};
    size_t bytes[PENDING] = {0};
    const bool receives = s->from >= 0 && s->from < t->ranks, sends = s->to >= 0 && s->to < t->ranks;
    int *const error = s->error;
    for (int64_t n = -1; n < s->count; n++) {
        const int64_t next = n + 1, at = next % PENDING;
        if (n >= 0) *error = worse_error(*error, message_end(t, &sent[n % PENDING]));
        if (next < s->count) {
            unsigned char *const place = s->place(s->user, next, &bytes[at]);
            if (receives) received[at] = message_from(s->from, s->tag, place, bytes[at]);
            if (receives) *error = worse_error(*error, message_begin(t, &received[at]));
        }
        if (n < 0) continue;
        *error = worse_error(*error, message_end(t, &received[n % PENDING]));
        const unsigned char *const made = s->work(s->user, n);
        if (!sends) continue;
        sent[n % PENDING] = message_to(s->to, s->tag, made, bytes[n % PENDING]);
        *error = worse_error(*error, message_begin(t, &sent[n % PENDING]));
    }
    for (int k = 0; k < PENDING; k++) *error = worse_error(*error, message_end(t, &sent[k]));
}
