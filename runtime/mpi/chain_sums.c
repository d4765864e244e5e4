/* Gradients of linear forms over ranks, and results of those with sums over keys (kernel->key_sums). The sums over
   earlier tokens go from the first rank to the last, and then the sums over later tokens from the last rank to the
   first. Each rank adds its tokens to them. The problem is cut into slices of heads, so that ranks work on different
   slices at the same time. With problem.foldable, ranks first sum their own tokens, also at the same time, if such sums
   can be added. Then each rank computes the gradients of its tokens from both sums, and the ranks add gradients of
   parameters in the order of the ranks. Gradients of arrays that a decay reads also need the sums of the gradients of
   its logarithm at later tokens, which ranks add last. */
#include "ranks.h"

#include <string.h>

enum { SLICES_PER_RANK = 4, BUFFERS = 2, EARLIER = 0, LATER = 1 };

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
    return (!keys && !queries) || (keys != queries && (p->rows || (kernel->key_sums && ring_param_has_parts(p))));
}

int chain_backward_check(const struct attn_kernel *kernel, const struct attn_problem *problem)
{
    for (int k = 0; k < kernel->params; k++)
        if (!has_own_rows(kernel, &kernel->param[k])) return ATTN_EFOLD;
    if (kernel->names_sequences && problem->batch > 1) return ATTN_EFOLD; /* a slice has one sequence, number 0 */
    return problem->n_q == problem->n_k && !problem->query_start && !problem->first_key ? 0 : ATTN_EPROBLEM;
}

/* Returns the problem of a call of the kernel. `sums` are those of earlier and of later tokens. */
static struct attn_problem with_sums(const struct attn_problem *problem, unsigned char *const sums[2], bool backward)
{
    struct attn_problem p = *problem;
    p.saved = NULL;
    if (backward) p.statistics = NULL;
    p.workspace_bytes = 0;
    p.earlier_sums = sums[EARLIER];
    p.later_sums = sums[LATER];
    return p;
}

/* The bytes of each part of the workspace. */
struct backward_sizes {
    size_t params, sums[2], sent, own, terms, gradients, kernel; /* own: of own sums; terms: of term_gradients */
};

static struct slicing slices_of(const struct attn_transport *t, const struct attn_kernel *kernel,
                                const struct attn_problem *filled)
{
    return slicing_of(kernel, filled, (int64_t)t->ranks * SLICES_PER_RANK);
}

/* Returns whether ranks sum their tokens at the same time, and then add their sums. */
static bool joins_sums(const struct slicing *s)
{
    return s->whole.foldable && s->kernel->outer_adds;
}

/* Returns the bytes of the sums over earlier or later tokens, or of term_gradients. Results need those over earlier
   keys only. */
static size_t sums_bytes(const struct attn_kernel *kernel, const struct attn_problem *p, int kind, bool backward)
{
    return backward ? kernel->outer_sums(p, kind) : kind == EARLIER ? kernel->key_sums(p) : 0;
}

static size_t kernel_bytes(const struct attn_kernel *kernel, const struct attn_problem *p, bool backward)
{
    return backward ? kernel->backward_workspace(p) : kernel->workspace(p);
}

static struct backward_sizes sizes_of(const struct slicing *s, bool backward)
{
    const struct attn_kernel *const kernel = s->kernel;
    struct backward_sizes sizes = {.params = slice_params_bytes(kernel)};
    static unsigned char some; /* says that there are sums */
    unsigned char *const sums[2] = {&some, &some};
    for (int later = 0; later < 2; later++)
        sizes.sums[later] = whole_lines(sums_bytes(kernel, &s->whole, later, backward));
    if (joins_sums(s)) sizes.own = larger(sizes.sums[0], sizes.sums[1]);
    sizes.terms = whole_lines(sums_bytes(kernel, &s->whole, 2, backward));
    struct attn_problem p = with_sums(&s->whole, sums, backward);
    sizes.kernel = kernel_bytes(kernel, &p, backward);
    for (int64_t n = 0; n < s->of_sequence && s->count; n++) {
        struct slice slice;
        const struct arrays none = {0};
        slice_make(s, n, &none, NULL, NULL, &slice);
        p = with_sums(&slice.problem, sums, backward);
        sizes.kernel = larger(sizes.kernel, kernel_bytes(kernel, &p, backward));
        for (int later = 0; later < 2; later++)
            sizes.sent = larger(sizes.sent, whole_lines(sums_bytes(kernel, &p, later, backward)));
    }
    const struct ranks_call of_whole = {.kernel = kernel, .problem = s->whole};
    sizes.gradients = gradients_work(&of_whole);
    sizes.kernel = whole_lines(sizes.kernel);
    return sizes;
}

static size_t workspace_of(const struct attn_transport *t, const struct attn_kernel *kernel,
                           const struct attn_problem *filled, bool backward)
{
    const struct slicing s = slices_of(t, kernel, filled);
    const struct backward_sizes x = sizes_of(&s, backward);
    const size_t sums = bytes_plus(x.sums[0], x.sums[1]),
                 sent = bytes_plus(bytes_times(BUFFERS, x.sent), bytes_plus(x.own, bytes_times(2, x.terms)));
    if (!x.kernel) return SIZE_MAX;
    return bytes_plus(bytes_plus(x.params, bytes_plus(sums, sent)), bytes_plus(x.gradients, x.kernel));
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

/* The call on one rank. Slice n is sent from buffer n % BUFFERS. */
struct chain {
    const struct ranks_call *call;
    bool backward;
    struct slicing slicing, of_dout; /* of_dout: has `dout` in place of `out` */
    struct backward_sizes sizes;
    unsigned char *params, *sums[2], *own, *buffer[BUFFERS], *gradients, *work; /* own: the sums over own tokens */
    double *terms, *later_terms; /* of this rank, and of all later ranks */
    struct message received[BUFFERS], sent[BUFFERS];
    int error;
};

static void note(struct chain *x, int error)
{
    x->error = worse_error(x->error, error);
}

/* Makes slice n, and *dout, with the sums of the slice. Returns 0 or an error. */
static int slice_of(const struct chain *x, int64_t n, struct slice *slice, const void **dout, unsigned char *sums[2])
{
    const struct ranks_call *const call = x->call;
    const struct attn_kernel *const kernel = call->kernel;
    const struct arrays given = {NULL, NULL, NULL, (void *)(uintptr_t)call->dout};
    const int64_t head = n / x->slicing.of_sequence * x->slicing.whole.kv_heads +
                         n % x->slicing.of_sequence * x->slicing.heads,
                  heads = x->slicing.whole.batch * x->slicing.whole.kv_heads;
    struct slice of_dout;
    int error = slice_make(&x->of_dout, n, &given, NULL, NULL, &of_dout);
    if (!error) error = slice_make(&x->slicing, n, &call->arrays, call->params, x->params, slice);
    *dout = of_dout.arrays.out;
    for (int later = 0; later < 2; later++)
        sums[later] = x->sums[later] +
                      (size_t)head * (sums_bytes(kernel, &x->slicing.whole, later, x->backward) / (size_t)heads);
    return error;
}

/* Adds tokens to the sums. */
static int add(const struct chain *x, const struct attn_problem *problem, const void *params, const struct arrays *a,
               const void *dout, unsigned char *const sums[2], int later)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    const struct attn_problem p = with_sums(problem, sums, x->backward);
    if (p.n_q == 0) return 0;
    return x->backward ? kernel->add_outer_sums(&p, params, a->q, a->k, a->v, a->out, dout, later, x->work)
                       : kernel->add_key_sums(&p, params, a->k, a->v, x->work);
}

/* Makes own sums: those over all tokens of the rank. */
static int sum_own(const struct chain *x, int later)
{
    const struct ranks_call *const call = x->call;
    unsigned char *sums[2] = {x->sums[EARLIER], x->sums[LATER]};
    memset(x->own, 0, x->sizes.own);
    sums[later] = x->own;
    return add(x, &x->slicing.whole, call->params, &call->arrays, call->dout, sums, later);
}

void add_numbers(unsigned char *sum, const unsigned char *more, size_t bytes, enum attn_dtype dtype)
{
    if (dtype == ATTN_F64)
        for (size_t k = 0; k < bytes / sizeof(double); k++)
            ((double *)(void *)sum)[k] += ((const double *)(const void *)more)[k];
    else
        for (size_t k = 0; k < bytes / sizeof(float); k++)
            ((float *)(void *)sum)[k] += ((const float *)(const void *)more)[k];
}

/* Makes the buffer of slice n the sums before it, with the rank's tokens. */
static int add_tokens(const struct chain *x, int64_t n, int later)
{
    const struct ranks_call *const call = x->call;
    struct slice slice;
    const void *dout;
    unsigned char *sums[2], *const to = x->buffer[n % BUFFERS];
    const int error = slice_of(x, n, &slice, &dout, sums);
    if (error) return error;
    const size_t bytes = sums_bytes(call->kernel, &slice.problem, later, x->backward);
    memcpy(to, sums[later], bytes);
    if (x->own) {
        add_numbers(to, x->own + (sums[later] - x->sums[later]), bytes, call->kernel->dtype);
        return 0;
    }
    sums[later] = to;
    return add(x, &slice.problem, slice.params, &slice.arrays, dout, sums, later);
}

/* Passes sums from rank to rank: sums over earlier tokens to the next rank, or sums over later tokens to the rank
   before. After an error, sums are sent all the same, because other ranks wait for them. */
static void pass_sums(struct chain *x, int later)
{
    const struct attn_transport *const t = x->call->transport;
    const int from = later ? t->rank + 1 : t->rank - 1, to = later ? t->rank - 1 : t->rank + 1,
              last = later ? 0 : t->ranks - 1, first = later ? t->ranks - 1 : 0, tag = later ? TAG_SUMS_DOWN : TAG_SUMS;
    const int64_t count = x->slicing.count;
    memset(x->sums[later], 0, x->sizes.sums[later]);
    if (x->own && t->rank != last && !x->error) note(x, sum_own(x, later));
    for (int64_t n = -1; n < count; n++) {
        struct slice slice;
        const void *dout;
        unsigned char *sums[2];
        const int64_t next = n + 1;
        if (next < count && t->rank != first) {
            note(x, slice_of(x, next, &slice, &dout, sums));
            struct message *const m = &x->received[next % BUFFERS];
            *m = message_from(from, tag, sums[later], sums_bytes(x->call->kernel, &slice.problem, later, x->backward));
            note(x, message_begin(t, m));
        }
        if (n < 0) continue;
        note(x, message_end(t, &x->received[n % BUFFERS]));
        if (t->rank == last) continue;
        struct message *const m = &x->sent[n % BUFFERS];
        note(x, message_end(t, m));
        if (!x->error) note(x, add_tokens(x, n, later));
        note(x, slice_of(x, n, &slice, &dout, sums));
        *m = message_to(to, tag, x->buffer[n % BUFFERS],
                        sums_bytes(x->call->kernel, &slice.problem, later, x->backward));
        note(x, message_begin(t, m));
    }
    for (int k = 0; k < BUFFERS; k++) note(x, message_end(t, &x->sent[k]));
}

/* Computes the gradients of the rank's tokens, and its part of those of parameters. Then finishes those of arrays that
   a decay reads, if `finishes`. */
static int differentiate(const struct chain *x, bool finishes)
{
    const struct ranks_call *const call = x->call;
    const struct arrays *const a = &call->arrays;
    struct attn_problem p = with_sums(&x->slicing.whole, x->sums, true);
    p.term_gradients = x->sizes.terms == 0 ? NULL : finishes ? x->later_terms : x->terms;
    if (p.n_q == 0) {
        clear_gradients(call);
        return 0;
    }
    return (finishes ? call->kernel->finish_gradients : call->kernel->backward)(
        &p, call->params, a->q, a->k, a->v, a->out, call->dout, call->dq, call->dk, call->dv, call->gradients, x->work);
}

/* Sets later_terms to the sums of the terms of all later ranks, added from the last rank on. */
static void pass_terms(struct chain *x)
{
    const struct attn_transport *const t = x->call->transport;
    const size_t bytes = x->call->kernel->outer_sums(&x->call->problem, 2);
    memset(x->later_terms, 0, bytes);
    if (t->rank + 1 < t->ranks)
        note(x, message_now(t, message_from(t->rank + 1, TAG_SUMS_DOWN, x->later_terms, bytes)));
    for (size_t k = 0; k < bytes / sizeof(double); k++) x->terms[k] += x->later_terms[k];
    if (t->rank > 0) note(x, message_now(t, message_to(t->rank - 1, TAG_SUMS_DOWN, x->terms, bytes)));
}

/* ---- gradients of parameters ---- */

size_t gradients_work(const struct ranks_call *call)
{
    const struct attn_kernel *const kernel = call->kernel;
    size_t bytes = 0;
    for (int k = 0; k < kernel->params; k++)
        if (attn_param_learned(&kernel->param[k]))
            bytes = larger(bytes, bytes_times(param_elements(&kernel->param[k], &call->problem),
                                              kernel->dtype == ATTN_F64 ? 8 : 4));
    return whole_lines(bytes);
}

void clear_gradients(const struct ranks_call *call)
{
    void *const *const own = (void *const *)call->gradients;
    for (int k = 0, n = 0; k < call->kernel->params && own; k++) {
        const struct attn_param *const p = &call->kernel->param[k];
        if (!attn_param_learned(p)) continue;
        if (own[n]) memset(own[n], 0, param_elements(p, &call->problem) * (call->kernel->dtype == ATTN_F64 ? 8 : 4));
        n++;
    }
}

int sum_gradients(const struct ranks_call *call, void *work)
{
    const struct attn_kernel *const kernel = call->kernel;
    void *const *const own = (void *const *)call->gradients;
    int error = 0;
    for (int k = 0, n = 0; k < kernel->params && own; k++) {
        const struct attn_param *const p = &kernel->param[k];
        if (!attn_param_learned(p)) continue;
        const enum attn_dtype dtype = kernel->dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
        const bool rows = param_has_axis(p, ATTN_N_Q) || param_has_axis(p, ATTN_N_K);
        if (own[n] && !rows)
            error = worse_error(
                error, sum_ranks(call->transport, own[n], (int64_t)param_elements(p, &call->problem), dtype, work));
        n++;
    }
    return error;
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

/* Makes the call, with its memory. */
static struct chain chain_of(const struct ranks_call *call, bool backward)
{
    const struct attn_transport *const t = call->transport;
    struct chain chain = {.call = call, .backward = backward, .slicing = slices_of(t, call->kernel, &call->problem)},
                 *const x = &chain;
    for (int r = 0; r < t->rank; r++) x->slicing.whole.first_key += call->run[r].n_q;
    x->slicing.whole.all_keys = 0;
    for (int r = 0; r < t->ranks; r++) x->slicing.whole.all_keys += call->run[r].n_q;
    x->of_dout = x->slicing;
    x->of_dout.whole.out = call->problem.dout;
    x->sizes = sizes_of(&x->slicing, backward);
    x->params = call->workspace;
    x->sums[0] = x->params + x->sizes.params;
    x->sums[1] = x->sums[0] + x->sizes.sums[0];
    for (int k = 0; k < BUFFERS; k++) x->buffer[k] = x->sums[1] + x->sizes.sums[1] + (size_t)k * x->sizes.sent;
    x->terms = (double *)(void *)(x->sums[1] + x->sizes.sums[1] + BUFFERS * x->sizes.sent);
    x->later_terms = x->terms + x->sizes.terms / sizeof(double);
    x->own = joins_sums(&x->slicing) ? (unsigned char *)x->terms + 2 * x->sizes.terms : NULL;
    x->gradients = (unsigned char *)x->terms + 2 * x->sizes.terms + x->sizes.own;
    x->work = x->gradients + x->sizes.gradients;
    return chain;
}

int chain_backward(const struct ranks_call *call)
{
    struct chain chain = chain_of(call, true), *const x = &chain;
    const int error = misplaced(call); /* the same on all ranks */
    if (error) return error;
    pass_sums(x, EARLIER);
    pass_sums(x, LATER);
    memset(x->terms, 0, x->sizes.terms);
    if (!x->error) note(x, differentiate(x, false));
    if (x->sizes.terms) pass_terms(x);
    if (!x->error && x->sizes.terms) note(x, differentiate(x, true));
    note(x, sum_gradients(call, x->gradients));
    return x->error;
}

int chain_of_keys_forward(const struct ranks_call *call)
{
    struct chain chain = chain_of(call, false), *const x = &chain;
    const struct arrays *const a = &call->arrays;
    pass_sums(x, EARLIER);
    const struct attn_problem p = with_sums(&x->slicing.whole, x->sums, false);
    if (!x->error && p.n_q > 0) note(x, call->kernel->forward(&p, call->params, a->q, a->k, a->v, a->out, x->work));
    return x->error;
}
