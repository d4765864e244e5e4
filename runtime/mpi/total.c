/* Linear forms over ranks whose queries see the same keys, as without a mask. The sums over keys go from the first rank
   to the last, and each rank adds its keys. The last rank then has the sums over all keys, which go back to all ranks.
   Each rank computes its rows from them. For gradients, sums over queries do the same. The problem is cut into slices
   of heads, so that ranks work on different slices at the same time. With problem.foldable, ranks first sum their own
   tokens, also at the same time, if such sums can be added. */
#include "sums.h"

#include <string.h>

enum { PENDING = 2 };

bool total_serves(const struct attn_kernel *kernel)
{
    return kernel->key_sums && kernel->add_key_sums && kernel->sums_whole;
}

int total_check(const struct attn_kernel *kernel, const struct attn_problem *problem)
{
    for (int k = 0; k < kernel->params; k++) {
        const struct attn_param *const p = &kernel->param[k];
        if (!ring_param_has_parts(p) || (param_has_axis(p, ATTN_N_K) && param_has_axis(p, ATTN_N_Q))) return ATTN_EFOLD;
    }
    if (kernel->names_sequences && problem->batch > 1) return ATTN_EFOLD; /* a slice has one sequence, number 0 */
    return problem->query_start || problem->saved || problem->first_key || problem->sink_mode ? ATTN_EPROBLEM : 0;
}

/* A call on one rank. */
struct total {
    struct sums sums;
    size_t starts_bytes;
    unsigned char *gradients;
    struct message received[PENDING], sent[PENDING];
};

/* Makes a call without memory. */
static struct total total_of(const struct ranks_call *call, bool backward)
{
    return (struct total){.sums = sums_of_call(call, backward),
                          .starts_bytes = whole_lines(bytes_times((size_t)call->problem.batch, sizeof(int64_t)))};
}

static size_t workspace_of(const struct attn_transport *t, const struct attn_kernel *kernel,
                           const struct attn_problem *filled, bool backward)
{
    const struct ranks_call call = {.transport = t, .kernel = kernel, .problem = *filled};
    const struct total x = total_of(&call, backward);
    const struct sums *const s = &x.sums;
    if (!s->kernel_bytes) return SIZE_MAX;
    const size_t sums = bytes_plus(bytes_plus(s->bytes[KEYS], s->bytes[QUERIES]), s->own_bytes);
    return bytes_plus(bytes_plus(bytes_plus(s->params_bytes, x.starts_bytes), sums),
                      bytes_plus(s->gradients_bytes, s->kernel_bytes));
}

size_t total_workspace(const struct attn_transport *t, const struct attn_kernel *kernel,
                       const struct attn_problem *filled)
{
    return workspace_of(t, kernel, filled, false);
}

size_t total_backward_workspace(const struct attn_transport *t, const struct attn_kernel *kernel,
                                const struct attn_problem *filled)
{
    return workspace_of(t, kernel, filled, true);
}

/* Sets the memory of the call, and the positions of the rank's tokens. Returns 0 or an error. */
static int place(struct total *x)
{
    struct sums *const s = &x->sums;
    const struct ranks_call *const call = s->call;
    struct attn_problem *const p = &s->slicing.whole;
    const int rank = call->transport->rank;
    int64_t *const starts = (int64_t *)(void *)(call->workspace + s->params_bytes);
    s->params = call->workspace;
    s->of[KEYS] = s->params + s->params_bytes + x->starts_bytes;
    s->of[QUERIES] = s->of[KEYS] + s->bytes[KEYS];
    unsigned char *const own = s->of[QUERIES] + s->bytes[QUERIES];
    s->own = sums_join(s) ? own : NULL;
    x->gradients = own + s->own_bytes;
    s->work = x->gradients + s->gradients_bytes;
    p->all_keys = 0;
    int64_t start = 0; /* the position of the first query, counted from the rank's first key */
    for (int r = 0; r < call->transport->ranks; r++) {
        if (r < rank) p->first_key += call->run[r].n_k;
        p->all_keys += call->run[r].n_k;
        start += call->run[r].n_k - (r < rank ? 0 : call->run[r].n_q);
    }
    start -= p->first_key;
    if (call->kernel->in_parts && start != p->n_k - p->n_q) {
        if (start < -(INT64_C(1) << 31) || start > INT64_C(1) << 31) return ATTN_ESIZE;
        for (int64_t b = 0; b < p->batch; b++) starts[b] = start;
        p->query_start = starts;
    }
    sums_set_dout(s);
    return 0;
}

/* Passes the sums of all slices on: to the next rank with the rank's tokens, or back to the rank before if `back`.
   After an error, sums are sent all the same, because other ranks wait for them. */
static void pass(struct total *x, int kind, bool back)
{
    struct sums *const s = &x->sums;
    const struct attn_transport *const t = s->call->transport;
    const int from = back ? t->rank + 1 : t->rank - 1, to = back ? t->rank - 1 : t->rank + 1,
              tag = back ? TAG_TOTALS : TAG_SUMS;
    const bool receives = from >= 0 && from < t->ranks, sends = to >= 0 && to < t->ranks;
    for (int64_t n = -1; n < s->slicing.count; n++) {
        size_t bytes;
        const int64_t next = n + 1;
        if (next < s->slicing.count && receives) {
            unsigned char *const at = sums_place(s, next, kind, &bytes);
            struct message *const m = &x->received[next % PENDING];
            *m = message_from(from, tag, at, bytes);
            sums_note(s, message_begin(t, m));
        }
        if (n < 0) continue;
        sums_note(s, message_end(t, &x->received[n % PENDING]));
        unsigned char *const at = sums_place(s, n, kind, &bytes);
        if (!back && !s->error) sums_note(s, sums_add_slice(s, n, kind, at));
        if (!sends) continue;
        struct message *const m = &x->sent[n % PENDING];
        sums_note(s, message_end(t, m));
        *m = message_to(to, tag, at, bytes);
        sums_note(s, message_begin(t, m));
    }
    for (int k = 0; k < PENDING; k++) sums_note(s, message_end(t, &x->sent[k]));
}

/* Makes the sums over all tokens. */
static void make_sums(struct total *x, int kind)
{
    struct sums *const s = &x->sums;
    if (s->call->transport->rank == 0) memset(s->of[kind], 0, s->bytes[kind]);
    if (s->own && !s->error) sums_note(s, sums_make_own(s, kind));
    pass(x, kind, false);
    pass(x, kind, true);
}

int total_forward(const struct ranks_call *call)
{
    struct total total = total_of(call, false), *const x = &total;
    struct sums *const s = &x->sums;
    const struct arrays *const a = &call->arrays;
    sums_note(s, place(x));
    make_sums(x, KEYS);
    const struct attn_problem p = sums_problem(s, &s->slicing.whole, s->of);
    if (!s->error && p.n_q > 0)
        sums_note(s, call->kernel->forward(&p, call->params, a->q, a->k, a->v, a->out, s->work));
    return s->error;
}

int total_backward(const struct ranks_call *call)
{
    struct total total = total_of(call, true), *const x = &total;
    struct sums *const s = &x->sums;
    const struct arrays *const a = &call->arrays;
    sums_note(s, place(x));
    make_sums(x, KEYS);
    make_sums(x, QUERIES);
    const struct attn_problem p = sums_problem(s, &s->slicing.whole, s->of);
    if (p.n_q == 0 && p.n_k == 0)
        clear_gradients(call);
    else if (!s->error)
        sums_note(s, call->kernel->backward(&p, call->params, a->q, a->k, a->v, a->out, call->dout, call->dq, call->dk,
                                            call->dv, call->gradients, s->work));
    sums_note(s, sum_gradients(call, x->gradients));
    return s->error;
}
