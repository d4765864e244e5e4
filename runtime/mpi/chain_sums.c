/* Gradients of linear forms over ranks, and results of those with sums over keys (kernel->key_sums). The problem is cut
   into slices of heads, so that ranks work on different slices at the same time. With problem.foldable, ranks first sum
   their own tokens, also at the same time, if such sums can be added.
   - If queries see earlier keys, the sums over earlier tokens go from the first rank to the last, and the sums over
     later tokens from the last rank to the first. Each rank adds its tokens to them.
   - If all queries see the same keys (kernel->sums_whole), as without a mask, sums over keys go from the first rank to
     the last, and each rank adds its keys. The last rank then has the sums over all keys, which go back to all ranks.
     For gradients, sums over queries do the same.

   Then each rank computes the results or gradients of its tokens from these sums, and the ranks add gradients of
   parameters in the order of the ranks. Gradients of arrays that a decay reads also need the sums of the gradients of
   its logarithm at later tokens, which ranks add last. */
#include "sums.h"

static bool serves(const struct ranks_call *call)
{
    const struct attn_kernel *const kernel = call->kernel;
    return call->backward && !kernel->sums_whole ? kernel->outer_sums && kernel->add_outer_sums
                                                 : kernel->key_sums && kernel->add_key_sums;
}

/* Whether the rank's rows of a parameter are all that it needs of it. */
static bool has_own_rows(const struct attn_kernel *kernel, const struct attn_param *p)
{
    const bool keys = param_has_axis(p, ATTN_N_K), queries = param_has_axis(p, ATTN_N_Q);
    if (kernel->sums_whole) return param_divides(p) && !(keys && queries);
    return (!keys && !param_has_queries(p)) || (keys != queries && (p->rows || (kernel->key_sums && param_divides(p))));
}

static int check(const struct ranks_call *call)
{
    const struct attn_kernel *const kernel = call->kernel;
    const struct attn_problem *const p = &call->problem;
    for (int k = 0; k < kernel->params; k++)
        if (!has_own_rows(kernel, &kernel->param[k])) return ATTN_EFOLD;
    if (kernel->names_sequences && p->batch > 1) return ATTN_EFOLD; /* a slice has one sequence, number 0 */
    const bool other = kernel->sums_whole ? p->saved || p->sink_mode : p->n_q != p->n_k;
    return other || p->query_start || p->first_key ? ATTN_EPROBLEM : 0;
}

static size_t kernel_bytes(const struct sums *x, const struct attn_problem *problem)
{
    static unsigned char some; /* says that there are sums */
    unsigned char *const of[KINDS] = {&some, &some};
    const struct attn_problem p = sums_problem(x, problem, of);
    return x->call->backward ? x->call->kernel->backward_workspace(&p) : x->call->kernel->workspace(&p);
}

static struct sums sums_of(const struct ranks_call *call, struct memory *m)
{
    const struct attn_kernel *const kernel = call->kernel;
    struct sums made = {.call = call, .slicing = slicing_of(kernel, &call->problem, call->transport->ranks)},
                *const x = &made;
    size_t work = kernel_bytes(x, &call->problem);
    for (int kind = 0; kind < KINDS; kind++) x->bytes[kind] = whole_lines(sums_bytes(x, &call->problem, kind));
    for (int64_t n = 0; n < x->slicing.of_sequence && x->slicing.count; n++) {
        const struct attn_problem p = slice_problem(&x->slicing, n);
        work = larger(work, kernel_bytes(x, &p));
        for (int kind = 0; kind < KINDS; kind++) x->sent_bytes = larger(x->sent_bytes, sums_bytes(x, &p, kind));
    }
    x->params = memory_take(m, params_bytes(kernel));
    for (int kind = 0; kind < KINDS; kind++) x->of[kind] = memory_take(m, x->bytes[kind]);
    if (call->problem.foldable && kernel->outer_adds)
        x->own = memory_take(m, larger(x->bytes[KEYS], x->bytes[QUERIES]));
    if (!kernel->sums_whole) {
        for (int k = 0; k < SUMS_BUFFERS; k++) x->buffer[k] = memory_take(m, x->sent_bytes);
        if (call->backward) x->terms_bytes = sums_bytes(x, &call->problem, 2);
        x->terms = memory_cleared(m, x->terms_bytes);
        x->later_terms = memory_cleared(m, x->terms_bytes);
    }
    x->starts = memory_cleared(m, bytes_times((size_t)call->problem.batch, sizeof(int64_t)));
    if (call->backward) x->gradients = memory_take(m, gradients_work(call));
    prefix_place(x, m);
    documents_place(x, m);
    x->work = memory_take(m, workspace_bytes(work));
    return made;
}

static size_t workspace(const struct ranks_call *call)
{
    struct memory m = {NULL, 0};
    sums_of(call, &m);
    return m.bytes;
}

/* Sets the positions of the rank's tokens. Returns 0 or an error. */
static int set_positions(struct sums *x)
{
    const struct ranks_call *const call = x->call;
    struct attn_problem *const p = &x->slicing.whole;
    const int rank = call->transport->rank;
    int64_t start = 0; /* the position of the first query, counted from the rank's first key */
    p->all_keys = 0;
    for (int r = 0; r < call->transport->ranks; r++) {
        const struct run *const run = &call->run[r];
        if (!call->kernel->sums_whole && run->n_q > 0 && call->backward && p->all_keys % call->kernel->outer_chunk)
            return ATTN_ELENGTH; /* the rank begins within a chunk of the kernel */
        if (r < rank) p->first_key += run->n_k;
        p->all_keys += run->n_k;
        start += run->n_k - (r < rank ? 0 : run->n_q);
    }
    start -= p->first_key;
    if (!call->kernel->in_parts || start == p->n_k - p->n_q) return 0;
    if (start < -(INT64_C(1) << 31) || start > INT64_C(1) << 31) return ATTN_ESIZE;
    for (int64_t b = 0; b < p->batch; b++) x->starts[b] = start;
    p->query_start = x->starts;
    return 0;
}

/* ---- sums on their way ---- */

struct passing {
    struct sums *sums;
    int kind;
    bool back, ends; /* sums over all tokens come back; no rank follows */
};

static unsigned char *place_of(void *user, int64_t n, size_t *bytes)
{
    const struct passing *const p = user;
    return sums_place(p->sums, n, p->kind, bytes);
}

/* Adds the rank's tokens to what is sent on. The sums over tokens of other ranks stay where they are, unless they
   become the sums over all tokens. */
static const unsigned char *add_tokens(void *user, int64_t n)
{
    const struct passing *const p = user;
    struct sums *const x = p->sums;
    size_t bytes;
    unsigned char *const before = sums_place(x, n, p->kind, &bytes), *sent = before;
    if (p->back) return before;
    if (!x->call->kernel->sums_whole) {
        if (!documents_go_on(x, n, p->kind)) memset(before, 0, bytes);
        if (p->ends) return before;
        sent = memcpy(x->buffer[n % SUMS_BUFFERS], before, bytes);
    }
    if (!x->error) sums_note(x, sums_add_slice(x, n, p->kind, sent));
    return sent;
}

/* Passes the sums of all slices to the next rank, or to the rank before if `down`. */
static void pass(struct sums *x, int kind, bool down, bool back)
{
    const struct attn_transport *const t = x->call->transport;
    const int from = down ? t->rank + 1 : t->rank - 1, to = down ? t->rank - 1 : t->rank + 1;
    struct passing passing = {x, kind, back, to < 0 || to == t->ranks};
    const struct sweep s = {.transport = t,
                            .from = from,
                            .to = to,
                            .tag = back   ? TAG_TOTALS
                                   : down ? TAG_SUMS_DOWN
                                          : TAG_SUMS,
                            .count = x->slicing.count,
                            .error = &x->error,
                            .user = &passing,
                            .place = place_of,
                            .work = add_tokens};
    if (!back && x->own && (x->call->kernel->sums_whole || !passing.ends) && !x->error)
        sums_note(x, sums_make_own(x, kind));
    sweep_slices(&s);
}

static void make_sums(struct sums *x, int kind)
{
    const bool whole = x->call->kernel->sums_whole;
    memset(x->of[kind], 0, x->bytes[kind]);
    pass(x, kind, !whole && kind == QUERIES, false);
    if (whole)
        pass(x, kind, true, true);
    else
        prefix_share(x, kind);
}

/* Sets later_terms to the sums of the terms of all later ranks, added from the last rank on. */
static void pass_terms(struct sums *x)
{
    const struct attn_transport *const t = x->call->transport;
    const size_t bytes = x->terms_bytes;
    if (t->rank + 1 < t->ranks)
        sums_note(x, message_now(t, message_from(t->rank + 1, TAG_SUMS_DOWN, x->later_terms, bytes)));
    for (size_t k = 0; k < bytes / sizeof(double); k++) x->terms[k] += x->later_terms[k];
    if (t->rank > 0) sums_note(x, message_now(t, message_to(t->rank - 1, TAG_SUMS_DOWN, x->terms, bytes)));
}

/* ---- results and gradients ---- */

/* Computes the gradients of the rank's tokens, and its part of those of parameters. Then finishes those of arrays that
   a decay reads, if `finishes`. */
static int differentiate(const struct sums *x, bool finishes)
{
    const struct ranks_call *const call = x->call;
    const struct arrays *const a = &call->arrays;
    struct attn_problem p = sums_problem(x, &x->slicing.whole, x->of);
    if (x->prefix.keys && !finishes) return prefix_differentiate(x);
    p.term_gradients = x->terms_bytes == 0 ? NULL : finishes ? x->later_terms : x->terms;
    if (p.n_q == 0 && p.n_k == 0) {
        clear_gradients(call);
        return 0;
    }
    return (finishes ? call->kernel->finish_gradients : call->kernel->backward)(
        &p, call->params, a->q, a->k, a->v, a->out, a->dout, a->dq, a->dk, a->dv, call->gradients, x->work);
}

static int attend(const struct sums *x)
{
    const struct ranks_call *const call = x->call;
    const struct arrays *const a = &call->arrays;
    const struct attn_problem p = sums_problem(x, &x->slicing.whole, x->of);
    if (x->prefix.keys) return prefix_attend(x);
    return p.n_q ? call->kernel->forward(&p, call->params, a->q, a->k, a->v, a->out, x->work) : 0;
}

static int run(const struct ranks_call *call)
{
    struct memory m = {call->workspace, 0};
    struct sums sums = sums_of(call, &m), *const x = &sums;
    const int error = set_positions(x);
    if (error == ATTN_ELENGTH) return error; /* the same on all ranks */
    sums_note(x, error);
    if (call->backward) documents_exchange(x);
    make_sums(x, KEYS);
    if (call->backward) make_sums(x, QUERIES);
    if (!x->error) sums_note(x, call->backward ? differentiate(x, false) : attend(x));
    if (!call->backward) return x->error;
    if (x->terms_bytes) pass_terms(x);
    if (!x->error && x->terms_bytes) sums_note(x, differentiate(x, true));
    sums_note(x, sum_gradients(call, x->gradients));
    return x->error;
}

/* Integers for all keys are equal on all ranks. Sums over earlier tokens read only the rank's own ones. */
static uint64_t hash(const struct ranks_call *call)
{
    return call->kernel->key_sums ? integers_hash(call) : 0;
}

const struct algorithm sums_travel = {serves, check, workspace, hash, run};
