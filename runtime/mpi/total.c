/* Linear forms over ranks whose queries see the same keys, as without a mask. The sums over keys go from the first rank
   to the last, and each rank adds its keys. The last rank then has the sums over all keys, which go back to all ranks.
   Each rank computes its rows from them. For gradients, sums over queries do the same. The problem is cut into slices
   of heads, so that ranks work on different slices at the same time. With problem.foldable, ranks first sum their own
   tokens, also at the same time, if such sums can be added. */
#include "ranks.h"

#include <string.h>

enum { SLICES_PER_RANK = 4, PENDING = 2, KEYS = 0, QUERIES = 1 };

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

/* The bytes of each part of the workspace. */
struct total_sizes {
    size_t params, starts, sums[2], own, gradients, kernel; /* own: of the sums over own tokens */
};

/* A call on one rank. */
struct total {
    const struct ranks_call *call;
    bool backward;
    struct slicing slicing, of_dout; /* of_dout: has `dout` in place of `out` */
    struct total_sizes sizes;
    unsigned char *params, *sums[2], *own, *gradients, *work; /* own: the sums over own tokens, or NULL */
    struct message received[PENDING], sent[PENDING];
    int error;
};

static void note(struct total *x, int error)
{
    x->error = worse_error(x->error, error);
}

/* Returns the bytes of the sums over keys or queries. */
static size_t sums_bytes(const struct total *x, const struct attn_problem *problem, int kind)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    return x->backward ? kernel->outer_sums(problem, kind) : kind == KEYS ? kernel->key_sums(problem) : 0;
}

/* Returns the problem of a call of the kernel with these sums. */
static struct attn_problem with_sums(const struct total *x, const struct attn_problem *problem,
                                     unsigned char *const sums[2])
{
    struct attn_problem p = *problem;
    p.saved = NULL;
    if (x->backward) p.statistics = NULL;
    p.workspace_bytes = 0;
    p.earlier_sums = sums[KEYS];
    p.later_sums = x->backward ? sums[QUERIES] : NULL;
    return p;
}

static size_t kernel_bytes(const struct total *x, const struct attn_problem *problem)
{
    static unsigned char some; /* says that there are sums */
    unsigned char *const sums[2] = {&some, &some};
    const struct attn_problem p = with_sums(x, problem, sums);
    return x->backward ? x->call->kernel->backward_workspace(&p) : x->call->kernel->workspace(&p);
}

static bool joins_sums(const struct total *x)
{
    return x->slicing.whole.foldable && x->call->kernel->outer_adds;
}

static struct total total_of(const struct ranks_call *call, bool backward)
{
    const struct attn_kernel *const kernel = call->kernel;
    struct total x = {.call = call, .backward = backward};
    struct total_sizes *const s = &x.sizes;
    x.slicing = slicing_of(kernel, &call->problem, (int64_t)call->transport->ranks * SLICES_PER_RANK);
    const struct attn_problem *const p = &x.slicing.whole;
    s->params = slice_params_bytes(kernel);
    s->starts = whole_lines(bytes_times((size_t)p->batch, sizeof(int64_t)));
    for (int kind = 0; kind < 2; kind++) s->sums[kind] = whole_lines(sums_bytes(&x, p, kind));
    if (joins_sums(&x)) s->own = larger(s->sums[0], s->sums[1]);
    s->kernel = kernel_bytes(&x, p);
    for (int64_t n = 0; n < x.slicing.of_sequence && x.slicing.count; n++) {
        struct slice slice;
        const struct arrays none = {0};
        slice_make(&x.slicing, n, &none, NULL, NULL, &slice);
        s->kernel = larger(s->kernel, kernel_bytes(&x, &slice.problem));
    }
    s->kernel = whole_lines(s->kernel);
    if (backward) s->gradients = gradients_work(call);
    return x;
}

static size_t workspace_of(const struct attn_transport *t, const struct attn_kernel *kernel,
                           const struct attn_problem *filled, bool backward)
{
    const struct ranks_call call = {.transport = t, .kernel = kernel, .problem = *filled};
    const struct total x = total_of(&call, backward);
    const struct total_sizes *const s = &x.sizes;
    if (!s->kernel) return SIZE_MAX;
    const size_t sums = bytes_plus(bytes_plus(s->sums[0], s->sums[1]), s->own);
    return bytes_plus(bytes_plus(bytes_plus(s->params, s->starts), sums), bytes_plus(s->gradients, s->kernel));
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
    const struct ranks_call *const call = x->call;
    struct attn_problem *const p = &x->slicing.whole;
    const int rank = call->transport->rank;
    int64_t *const starts = (int64_t *)(void *)(call->workspace + x->sizes.params);
    x->params = call->workspace;
    x->sums[KEYS] = x->params + x->sizes.params + x->sizes.starts;
    x->sums[QUERIES] = x->sums[KEYS] + x->sizes.sums[KEYS];
    unsigned char *const own = x->sums[QUERIES] + x->sizes.sums[QUERIES];
    x->own = joins_sums(x) ? own : NULL;
    x->gradients = own + x->sizes.own;
    x->work = x->gradients + x->sizes.gradients;
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
    x->of_dout = x->slicing;
    x->of_dout.whole.out = call->problem.dout;
    return 0;
}

/* Returns the place of the sums of slice n, and sets *bytes. */
static unsigned char *sums_of(const struct total *x, int64_t n, int kind, size_t *bytes)
{
    const struct attn_problem *const p = &x->slicing.whole;
    const int64_t head = n / x->slicing.of_sequence * p->kv_heads + n % x->slicing.of_sequence * x->slicing.heads;
    struct slice slice;
    const struct arrays none = {0};
    slice_make(&x->slicing, n, &none, NULL, NULL, &slice);
    *bytes = sums_bytes(x, &slice.problem, kind);
    return x->sums[kind] + (size_t)head * (sums_bytes(x, p, kind) / (size_t)(p->batch * p->kv_heads));
}

/* Adds tokens to the sums. */
static int add(const struct total *x, const struct attn_problem *problem, const void *params, const struct arrays *a,
               const void *dout, unsigned char *const sums[2], int kind)
{
    const struct attn_kernel *const kernel = x->call->kernel;
    const struct attn_problem p = with_sums(x, problem, sums);
    if (kind == KEYS ? p.n_k == 0 : p.n_q == 0) return 0;
    return x->backward ? kernel->add_outer_sums(&p, params, a->q, a->k, a->v, a->out, dout, kind, x->work)
                       : kernel->add_key_sums(&p, params, a->k, a->v, x->work);
}

/* Makes own sums: those over the tokens of the rank. */
static int sum_own(const struct total *x, int kind)
{
    unsigned char *sums[2] = {x->sums[KEYS], x->sums[QUERIES]};
    sums[kind] = x->own;
    memset(x->own, 0, x->sizes.own);
    return add(x, &x->slicing.whole, x->call->params, &x->call->arrays, x->call->dout, sums, kind);
}

/* Adds the rank's tokens to the sums of slice n. */
static int add_slice(const struct total *x, int64_t n, int kind)
{
    const struct ranks_call *const call = x->call;
    const struct arrays given = {NULL, NULL, NULL, (void *)(uintptr_t)call->dout};
    unsigned char *sums[2] = {NULL, NULL};
    size_t bytes;
    struct slice slice, of_dout;
    for (int k = 0; k < 2; k++) sums[k] = sums_of(x, n, k, &bytes);
    unsigned char *const to = sums_of(x, n, kind, &bytes);
    if (x->own) {
        add_numbers(to, x->own + (to - x->sums[kind]), bytes, call->kernel->dtype);
        return 0;
    }
    int error = slice_make(&x->of_dout, n, &given, NULL, NULL, &of_dout);
    if (!error) error = slice_make(&x->slicing, n, &call->arrays, call->params, x->params, &slice);
    return error ? error : add(x, &slice.problem, slice.params, &slice.arrays, of_dout.arrays.out, sums, kind);
}

/* Passes the sums of all slices on: to the next rank with the rank's tokens, or back to the rank before if `back`.
   After an error, sums are sent all the same, because other ranks wait for them. */
static void pass(struct total *x, int kind, bool back)
{
    const struct attn_transport *const t = x->call->transport;
    const int from = back ? t->rank + 1 : t->rank - 1, to = back ? t->rank - 1 : t->rank + 1,
              tag = back ? TAG_TOTALS : TAG_SUMS;
    const bool receives = from >= 0 && from < t->ranks, sends = to >= 0 && to < t->ranks;
    size_t bytes;
    for (int64_t n = -1; n < x->slicing.count; n++) {
        const int64_t next = n + 1;
        if (next < x->slicing.count && receives) {
            unsigned char *const at = sums_of(x, next, kind, &bytes);
            struct message *const m = &x->received[next % PENDING];
            *m = message_from(from, tag, at, bytes);
            note(x, message_begin(t, m));
        }
        if (n < 0) continue;
        note(x, message_end(t, &x->received[n % PENDING]));
        if (!back && !x->error) note(x, add_slice(x, n, kind));
        if (!sends) continue;
        struct message *const m = &x->sent[n % PENDING];
        note(x, message_end(t, m));
        unsigned char *const at = sums_of(x, n, kind, &bytes);
        *m = message_to(to, tag, at, bytes);
        note(x, message_begin(t, m));
    }
    for (int k = 0; k < PENDING; k++) note(x, message_end(t, &x->sent[k]));
}

/* Makes the sums over all tokens. */
static void make_sums(struct total *x, int kind)
{
    if (x->call->transport->rank == 0) memset(x->sums[kind], 0, x->sizes.sums[kind]);
    if (x->own && !x->error) note(x, sum_own(x, kind));
    pass(x, kind, false);
    pass(x, kind, true);
}

int total_forward(const struct ranks_call *call)
{
    struct total total = total_of(call, false), *const x = &total;
    const struct arrays *const a = &call->arrays;
    note(x, place(x));
    make_sums(x, KEYS);
    const struct attn_problem p = with_sums(x, &x->slicing.whole, x->sums);
    if (!x->error && p.n_q > 0) note(x, call->kernel->forward(&p, call->params, a->q, a->k, a->v, a->out, x->work));
    return x->error;
}

int total_backward(const struct ranks_call *call)
{
    struct total total = total_of(call, true), *const x = &total;
    const struct arrays *const a = &call->arrays;
    note(x, place(x));
    make_sums(x, KEYS);
    make_sums(x, QUERIES);
    const struct attn_problem p = with_sums(x, &x->slicing.whole, x->sums);
    if (p.n_q == 0 && p.n_k == 0)
        clear_gradients(call);
    else if (!x->error)
        note(x, call->kernel->backward(&p, call->params, a->q, a->k, a->v, a->out, call->dout, call->dq, call->dk,
                                       call->dv, call->gradients, x->work));
    note(x, sum_gradients(call, x->gradients));
    return x->error;
}
