/* Lists of blocks of keys (the mask `blocks`). A rank has the lists of its queries, whose numbers count blocks from the
   first key of all ranks. A call for some keys gets lists whose numbers count from its first key. Each rank also tells
   the others which keys its lists name, roughly, so that ranks send no others. */
#include "ring.h"

/* Returns the parameter with lists, or NULL. All such masks of a spec read one parameter. */
static const struct attn_param *lists_of(const struct attn_kernel *kernel)
{
    for (int k = 0; k < kernel->params; k++)
        if (param_is_lists(&kernel->param[k])) return &kernel->param[k];
    return NULL;
}

static int64_t block_of(const struct attn_param *p)
{
    return (ATTN_N_Q - p->shape[p->rank - 2]) / 8; /* the inverse of ATTN_BLOCKS */
}

size_t listed_bytes(const struct attn_transport *t, const struct attn_kernel *kernel)
{
    const struct attn_param *const p = lists_of(kernel);
    return p && p->limits == ATTN_LISTS ? whole_lines((size_t)t->ranks * sizeof(struct listed)) : 0;
}

int listed_gather(const struct ranks_call *call, int64_t keys, int64_t *unit)
{
    const struct attn_param *const p = lists_of(call->kernel);
    if (!call->listed) return 0;
    const int64_t block = block_of(p), blocks = (keys + block - 1) / block;
    struct listed *const own = &call->listed[call->transport->rank];
    const int32_t *const number = all_integers(call, p);
    *unit = block * ((blocks + LISTED_UNITS - 1) / LISTED_UNITS);
    memset(call->listed, 0, (size_t)call->transport->ranks * sizeof *own);
    for (size_t n = 0; number && n < param_elements(p, &call->problem); n++) {
        if (number[n] < 0 || number[n] >= blocks) continue;
        const int64_t at = number[n] * block / *unit;
        own->bits[at / 64] |= UINT64_C(1) << at % 64;
    }
    return gather(call->transport, TAG_LISTED, call->listed, sizeof *own);
}

size_t lists_bytes(const struct attn_kernel *kernel, const struct attn_problem *p)
{
    const struct attn_param *const lists = lists_of(kernel);
    return lists ? whole_lines(bytes_times(param_elements(lists, p), sizeof(int32_t))) : 0;
}

void lists_place(struct ring *x, const struct attn_problem *p, int64_t first, int64_t key)
{
    const struct ranks_call *const call = x->call;
    const struct attn_param *const lists = lists_of(call->kernel);
    if (!lists || !call->params) return;
    const int64_t block = block_of(lists), count = lists->shape[lists->rank - 1], begin = key / block,
                  blocks = (p->n_k + block - 1) / block, of_call = (p->n_q + block - 1) / block * count,
                  of_rank = (x->own.n_q + block - 1) / block * count, heads = p->batch * p->heads;
    const int32_t *from = all_integers(call, lists);
    if (!from) return;
    from += first / block * count;
    for (int64_t h = 0; h < heads; h++)
        for (int64_t n = 0; n < of_call; n++) {
            const int64_t number = from[h * of_rank + n] - begin;
            x->lists[h * of_call + n] = number >= 0 && number < blocks ? (int32_t)number : -1;
        }
    memcpy(x->params + lists->offset, &x->lists, sizeof x->lists);
}
