/* Sums over tokens of documents (`all: [causal, document]`). A call reads the sums over earlier tokens of its first
   token's document, and over later tokens of its last token's document. So each rank needs the ids of the tokens next
   to its own ones, and does not read sums over other documents. */
#include "sums.h"

/* Returns the parameter with the ids of the rank's tokens, or NULL. */
static const struct attn_param *ids_of(const struct attn_kernel *kernel)
{
    for (int k = 0; k < kernel->params; k++)
        if (kernel->param[k].limits == ATTN_IDS && kernel->param[k].rows && kernel->param[k].rank == 2)
            return &kernel->param[k];
    return NULL;
}

/* An array of ids has one for each sequence, and then 1, or 0 if there are none. */
static size_t bytes_of_ids(const struct sums *x)
{
    return bytes_times(bytes_plus((size_t)x->call->problem.batch, 1), sizeof(int32_t));
}

void documents_place(struct sums *x, struct memory *m)
{
    if (!ids_of(x->call->kernel)) return;
    for (int kind = 0; kind < KINDS; kind++) {
        x->own_ids[kind] = memory_cleared(m, bytes_of_ids(x));
        x->other_ids[kind] = memory_cleared(m, bytes_of_ids(x));
    }
}

/* Sets own_ids[KEYS] to the ids of the rank's first tokens, and own_ids[QUERIES] to those of its last tokens. */
static void set_own(struct sums *x, const struct attn_param *p)
{
    const struct ranks_call *const call = x->call;
    const struct origin none = {0};
    const int64_t batch = call->problem.batch, n = call->problem.n_k;
    int64_t stride[2] = {n, 1};
    const int32_t *data;
    if (!call->params || n == 0) return;
    params_from(call->kernel, &call->problem, &none, call->params, x->params);
    memcpy(&data, x->params + p->offset, sizeof data);
    if (p->strides != ATTN_CONTIGUOUS)
        memcpy(stride, x->params + whole_lines(call->kernel->params_bytes) + p->strides, sizeof stride);
    for (int kind = 0; kind < KINDS && data; kind++) {
        for (int64_t b = 0; b < batch; b++) {
            const int64_t sequence = stride[0] == ATTN_BROADCAST ? 0 : b * stride[0],
                          token = stride[1] == ATTN_BROADCAST || kind == KEYS ? 0 : (n - 1) * stride[1];
            x->own_ids[kind][b] = data[sequence + token];
        }
        x->own_ids[kind][batch] = 1;
    }
}

void documents_exchange(struct sums *x)
{
    const struct attn_transport *const t = x->call->transport;
    const struct attn_param *const p = ids_of(x->call->kernel);
    if (!p) return;
    set_own(x, p);
    for (int kind = 0; kind < KINDS; kind++) {
        const int step = kind == KEYS ? 1 : -1, from = t->rank - step, to = t->rank + step;
        const int32_t *const passed = x->call->problem.n_k > 0 ? x->own_ids[1 - kind] : x->other_ids[kind];
        if (from >= 0 && from < t->ranks)
            sums_note(x, message_now(t, message_from(from, TAG_IDS, x->other_ids[kind], bytes_of_ids(x))));
        if (to >= 0 && to < t->ranks) sums_note(x, message_now(t, message_to(to, TAG_IDS, passed, bytes_of_ids(x))));
    }
}

bool documents_go_on(const struct sums *x, int64_t n, int kind)
{
    const int64_t b = n / x->slicing.of_sequence, batch = x->call->problem.batch;
    const int32_t *const own = x->own_ids[kind], *const other = x->other_ids[kind];
    return !own || !own[batch] || !other[batch] || own[b] == other[b];
}
