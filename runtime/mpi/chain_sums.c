/* Gradients of linear forms over ranks, and results of those with sums over keys (kernel->key_sums). The sums over
   earlier tokens go from the first rank to the last, and then the sums over later tokens from the last rank to the
   first. Each rank adds its tokens to them. The problem is cut into slices of heads, so that ranks work on different
   slices at the same time. With problem.foldable, ranks first sum their own tokens, also at the same time, if such sums
   can be added. Then each rank computes the gradients of its tokens from both sums, and the ranks add gradients of
   parameters in the order of the ranks. Gradients of arrays that a decay reads also need the sums of the gradients of
   its logarithm at later tokens, which ranks add last. */
#include "sums.h"

#include <string.h>

enum { BUFFERS = 2 };

bool chain_backward_serves(const struct attn_kernel *kernel)
{
    return kernel->outer_sums && kernel->add_outer_sums && !kernel->sums_whole;
}

bool chain_of_keys_serves(const struct attn_kernel *kernel)
{
    return kernel->key_sums && kernel->add_key_sums && !kernel->sums_whole;
}

/* Whether the rank's rows of a parameter are all that it needs of it. */
static bool has_own_rows(const struct attn_kernel *kernel, const struct attn_param *p)
{
    const bool keys = param_has_axis(p, ATTN_N_K), queries = param_has_axis(p, ATTN_N_Q);
    return (!keys && !param_has_queries(p)) ||
           (keys != queries && (p->rows || (kernel->key_sums && ring_param_has_parts(p))));
}

int chain_backward_check(const struct attn_kernel *kernel, const struct attn_problem *problem)
{
    for (int k = 0; k < kernel->params; k++)
        if (!has_own_rows(kernel, &kernel->param[k])) return ATTN_EFOLD;
    if (kernel->names_sequences && problem->batch > 1) return ATTN_EFOLD; /* a slice has one sequence, number 0 */
    return problem->n_q == problem->n_k && !problem->query_start && !problem->first_key ? 0 : ATTN_EPROBLEM;
}

/* A call on one rank. Slice n is sent from buffer n % BUFFERS. */
struct chain {
    struct sums sums;
    size_t terms_bytes; /* of term_gradients */
    unsigned char *buffer[BUFFERS], *gradients;
    double *terms, *later_terms; /* of this rank, and of all later ranks */
    struct message received[BUFFERS], sent[BUFFERS];
};

/* Makes a call without memory. */
static struct chain chain_of(const struct ranks_call *call, bool backward)
{
    struct chain x = {.sums = sums_of_call(call, backward)};
    if (backward) x.terms_bytes = whole_lines(sums_bytes(&x.sums, &x.sums.slicing.whole, 2));
    return x;
}

static size_t workspace_of(const struct attn_transport *t, const struct attn_kernel *kernel,
                           const struct attn_problem *filled, bool backward)
{
    const struct ranks_call call = {.transport = t, .kernel = kernel, .problem = *filled};
    const struct chain x = chain_of(&call, backward);
    const struct sums *const s = &x.sums;
    const size_t sums = bytes_plus(bytes_plus(s->bytes[KEYS], s->bytes[QUERIES]),
                                   bytes_plus(prefix_bytes(s), documents_bytes(s))),
                 sent = bytes_plus(bytes_times(BUFFERS, s->sent_bytes),
                                   bytes_plus(s->own_bytes, bytes_times(2, x.terms_bytes)));
    if (!s->kernel_bytes) return SIZE_MAX;
    return bytes_plus(bytes_plus(s->params_bytes, bytes_plus(sums, sent)),
                      bytes_plus(s->gradients_bytes, s->kernel_bytes));
}

size_t chain_backward_workspace(const struct attn_transport *t, const struct attn_kernel *kernel,
                                const struct attn_problem *filled)
{
    return workspace_of(t, kernel, filled, true);
}

size_t chain_of_keys_workspace(const struct attn_transport *t, const struct attn_kernel *kernel,
                               const struct attn_problem *filled)
{
    return workspace_of(t, kernel, filled, false);
}

/* Sets the memory of the call, and the positions of the rank's tokens. */
static void place(struct chain *x)
{
    struct sums *const s = &x->sums;
    struct attn_problem *const p = &s->slicing.whole;
    const struct ranks_call *const call = s->call;
    p->all_keys = 0;
    for (int r = 0; r < call->transport->ranks; r++) {
        if (r < call->transport->rank) p->first_key += call->run[r].n_q;
        p->all_keys += call->run[r].n_q;
    }
    sums_set_dout(s);
    s->params = call->workspace;
    s->of[KEYS] = s->params + s->params_bytes;
    s->of[QUERIES] = s->of[KEYS] + s->bytes[KEYS];
    unsigned char *at = s->of[QUERIES] + s->bytes[QUERIES];
    for (int k = 0; k < BUFFERS; k++, at += s->sent_bytes) x->buffer[k] = at;
    x->terms = (double *)(void *)at;
    x->later_terms = x->terms + x->terms_bytes / sizeof(double);
    at += 2 * x->terms_bytes;
    s->own = sums_join(s) ? at : NULL;
    x->gradients = at + s->own_bytes;
    prefix_place(s, x->gradients + s->gradients_bytes);
    documents_place(s, x->gradients + s->gradients_bytes + prefix_bytes(s));
    s->work = x->gradients + s->gradients_bytes + prefix_bytes(s) + documents_bytes(s);
}

/* Passes sums from rank to rank: sums over earlier tokens to the next rank, or sums over later tokens to the rank
   before. After an error, sums are sent all the same, because other ranks wait for them. */
static void pass_sums(struct chain *x, int kind)
{
    struct sums *const s = &x->sums;
    const struct attn_transport *const t = s->call->transport;
    const bool later = kind == QUERIES;
    const int from = later ? t->rank + 1 : t->rank - 1, to = later ? t->rank - 1 : t->rank + 1,
              last = later ? 0 : t->ranks - 1, first = later ? t->ranks - 1 : 0, tag = later ? TAG_SUMS_DOWN : TAG_SUMS;
    const int64_t count = s->slicing.count;
    memset(s->of[kind], 0, s->bytes[kind]);
    if (s->own && t->rank != last && !s->error) sums_note(s, sums_make_own(s, kind));
    for (int64_t n = -1; n < count; n++) {
        size_t bytes;
        const int64_t next = n + 1;
        if (next < count && t->rank != first) {
            unsigned char *const at = sums_place(s, next, kind, &bytes);
            struct message *const m = &x->received[next % BUFFERS];
            *m = message_from(from, tag, at, bytes);
            sums_note(s, message_begin(t, m));
        }
        if (n < 0) continue;
        sums_note(s, message_end(t, &x->received[n % BUFFERS]));
        unsigned char *const before = sums_place(s, n, kind, &bytes);
        if (!documents_go_on(s, n, kind)) memset(before, 0, bytes);
        if (t->rank == last) continue;
        struct message *const m = &x->sent[n % BUFFERS];
        sums_note(s, message_end(t, m));
        memcpy(x->buffer[n % BUFFERS], before, bytes);
        if (!s->error) sums_note(s, sums_add_slice(s, n, kind, x->buffer[n % BUFFERS]));
        *m = message_to(to, tag, x->buffer[n % BUFFERS], bytes);
        sums_note(s, message_begin(t, m));
    }
    for (int k = 0; k < BUFFERS; k++) sums_note(s, message_end(t, &x->sent[k]));
}

/* Computes the gradients of the rank's tokens, and its part of those of parameters. Then finishes those of arrays that
   a decay reads, if `finishes`. */
static int differentiate(const struct chain *x, bool finishes)
{
    const struct sums *const s = &x->sums;
    const struct ranks_call *const call = s->call;
    const struct arrays *const a = &call->arrays;
    struct attn_problem p = sums_problem(s, &s->slicing.whole, s->of);
    p.term_gradients = x->terms_bytes == 0 ? NULL : finishes ? x->later_terms : x->terms;
    if (p.n_q == 0) {
        clear_gradients(call);
        return 0;
    }
    return (finishes ? call->kernel->finish_gradients : call->kernel->backward)(
        &p, call->params, a->q, a->k, a->v, a->out, call->dout, call->dq, call->dk, call->dv, call->gradients, s->work);
}

/* Sets later_terms to the sums of the terms of all later ranks, added from the last rank on. */
static void pass_terms(struct chain *x)
{
    struct sums *const s = &x->sums;
    const struct attn_transport *const t = s->call->transport;
    const size_t bytes = s->call->kernel->outer_sums(&s->call->problem, 2);
    memset(x->later_terms, 0, bytes);
    if (t->rank + 1 < t->ranks)
        sums_note(s, message_now(t, message_from(t->rank + 1, TAG_SUMS_DOWN, x->later_terms, bytes)));
    for (size_t k = 0; k < bytes / sizeof(double); k++) x->terms[k] += x->later_terms[k];
    if (t->rank > 0) sums_note(s, message_now(t, message_to(t->rank - 1, TAG_SUMS_DOWN, x->terms, bytes)));
}

/* Returns ATTN_ELENGTH if a rank with tokens begins within a chunk of the kernel. */
static int misplaced(const struct ranks_call *call)
{
    int64_t first = 0;
    for (int r = 0; r < call->transport->ranks; r++) {
        if (call->run[r].n_q > 0 && first % call->kernel->outer_chunk) return ATTN_ELENGTH;
        first += call->run[r].n_q;
    }
    return 0;
}

int chain_backward(const struct ranks_call *call)
{
    struct chain chain = chain_of(call, true), *const x = &chain;
    struct sums *const s = &x->sums;
    const int error = misplaced(call); /* the same on all ranks */
    if (error) return error;
    place(x);
    documents_exchange(s);
    pass_sums(x, KEYS);
    prefix_share(s, KEYS);
    pass_sums(x, QUERIES);
    prefix_share(s, QUERIES);
    memset(x->terms, 0, x->terms_bytes);
    if (!s->error) sums_note(s, s->prefix.keys ? prefix_differentiate(s) : differentiate(x, false));
    if (x->terms_bytes) pass_terms(x);
    if (!s->error && x->terms_bytes) sums_note(s, differentiate(x, true));
    sums_note(s, sum_gradients(call, x->gradients));
    return s->error;
}

int chain_of_keys_forward(const struct ranks_call *call)
{
    struct chain chain = chain_of(call, false), *const x = &chain;
    struct sums *const s = &x->sums;
    const struct arrays *const a = &call->arrays;
    place(x);
    pass_sums(x, KEYS);
    prefix_share(s, KEYS);
    const struct attn_problem p = sums_problem(s, &s->slicing.whole, s->of);
    if (!s->error && s->prefix.keys > 0)
        sums_note(s, prefix_attend(s));
    else if (!s->error && p.n_q > 0)
        sums_note(s, call->kernel->forward(&p, call->params, a->q, a->k, a->v, a->out, s->work));
    return s->error;
}
