/* Linear forms over ranks. A state is passed from rank to rank, and each rank extends it by its tokens. The problem is
   cut into slices of heads, so that ranks work on different slices at the same time. A state's sums are added in the
   order of the tokens, as on one rank, so the bits do not depend on the ranks. */
#include "ranks.h"

enum { SLICES_PER_RANK = 4, BUFFERS = 3 };

bool chain_serves(const struct attn_kernel *kernel, const struct attn_problem *problem)
{
    return kernel->extend && kernel->state_chunk && kernel->state_chunk(problem) > 0;
}

int chain_check(const struct attn_kernel *kernel, const struct attn_problem *problem)
{
    (void)kernel;
    return problem->n_q == problem->n_k && !problem->query_start ? 0 : ATTN_EPROBLEM;
}

static struct slicing slices_of_chain(const struct attn_transport *t, const struct attn_kernel *kernel,
                                      const struct attn_problem *filled)
{
    return slicing_of(kernel, filled, (int64_t)t->ranks * SLICES_PER_RANK);
}

/* The bytes of each part of the workspace. */
struct chain_sizes {
    size_t params, state, extend;
};

static struct chain_sizes sizes_of_chain(const struct slicing *s)
{
    struct chain_sizes sizes = {slice_params_bytes(s->kernel), 0, 0};
    for (int64_t n = 0; n < s->of_sequence && s->count; n++) {
        struct slice slice;
        const struct arrays none = {0};
        slice_make(s, n, &none, NULL, NULL, &slice);
        const size_t state = whole_lines(s->kernel->state(&slice.problem)),
                     extend = whole_lines(s->kernel->extend_workspace(&slice.problem));
        if (!state || !extend) return (struct chain_sizes){SIZE_MAX, SIZE_MAX, SIZE_MAX};
        sizes.state = state > sizes.state ? state : sizes.state;
        sizes.extend = extend > sizes.extend ? extend : sizes.extend;
    }
    return sizes;
}

size_t chain_workspace(const struct attn_transport *t, const struct attn_kernel *kernel,
                       const struct attn_problem *filled)
{
    const struct slicing s = slices_of_chain(t, kernel, filled);
    const struct chain_sizes sizes = sizes_of_chain(&s);
    const size_t bytes = bytes_plus(bytes_plus(sizes.params, bytes_times(BUFFERS, sizes.state)), sizes.extend),
                 alone = t->ranks == 1 ? whole_lines(kernel->extend_workspace(filled)) : 0; /* chain_extend */
    return bytes > alone ? bytes : alone;
}

/* The chain on one rank. Slice n is in buffer n % BUFFERS. */
struct chain {
    const struct ranks_call *call;
    struct slicing slicing;
    struct chain_sizes sizes;
    unsigned char *state[BUFFERS], *params, *work;
    struct message received[BUFFERS], sent[BUFFERS];
    int error;
};

static void note(struct chain *x, int error)
{
    x->error = worse_error(x->error, error);
}

static size_t state_bytes(const struct chain *x, int64_t n)
{
    struct slice slice;
    const struct arrays none = {0};
    slice_make(&x->slicing, n, &none, NULL, NULL, &slice);
    return x->slicing.kernel->state(&slice.problem);
}

/* Begins to receive the state of slice n, as soon as its buffer has been sent. */
static void expect(struct chain *x, int64_t n)
{
    const struct attn_transport *const t = x->call->transport;
    const int64_t at = n % BUFFERS;
    if (n >= x->slicing.count) return;
    note(x, message_end(t, &x->sent[at]));
    if (t->rank == 0) return;
    x->received[at] = message_from(t->rank - 1, TAG_STATE, x->state[at], state_bytes(x, n));
    note(x, message_begin(t, &x->received[at]));
}

/* Extends the state of slice n by the rank's tokens. */
static int extend(const struct chain *x, int64_t n)
{
    const struct ranks_call *const call = x->call;
    const struct attn_kernel *const kernel = call->kernel;
    struct slice slice;
    const struct attn_transport *const t = call->transport;
    int error = slice_make(&x->slicing, n, &call->arrays, call->params, x->params, &slice);
    unsigned char *const state = x->state[n % BUFFERS];
    const int64_t sequence = n / x->slicing.of_sequence, head = n % x->slicing.of_sequence * x->slicing.heads;
    if (!error && t->rank == 0) {
        slice.problem.start = 0;
        error = kernel->state_init(&slice.problem, state);
        if (!error && call->state)
            error = kernel->state_part(&call->problem, call->state, sequence, head, &slice.problem, state, 0);
    }
    slice.problem.workspace_bytes = x->sizes.extend;
    const struct arrays *const a = &slice.arrays;
    if (!error && call->problem.n_q > 0)
        error = kernel->extend(&slice.problem, slice.params, a->q, a->k, a->v, a->out, state, x->work);
    if (!error && call->state && t->rank + 1 == t->ranks)
        error = kernel->state_part(&call->problem, call->state, sequence, head, &slice.problem, state, 1);
    return error;
}

/* On one rank, slices would read lengths that earlier slices have changed. */
static int extend_alone(const struct ranks_call *call)
{
    const struct arrays *const a = &call->arrays;
    struct attn_problem p = call->problem;
    p.workspace_bytes = 0;
    return call->kernel->extend(&p, call->params, a->q, a->k, a->v, a->out, call->state, call->workspace);
}

int chain_extend(const struct ranks_call *call)
{
    return call->transport->ranks == 1 ? extend_alone(call) : chain_forward(call);
}

int chain_forward(const struct ranks_call *call)
{
    const struct attn_transport *const t = call->transport;
    struct chain chain = {.call = call, .slicing = slices_of_chain(t, call->kernel, &call->problem)}, *const x = &chain;
    x->sizes = sizes_of_chain(&x->slicing);
    x->params = call->workspace;
    for (int k = 0; k < BUFFERS; k++) x->state[k] = x->params + x->sizes.params + (size_t)k * x->sizes.state;
    x->work = x->params + x->sizes.params + BUFFERS * x->sizes.state;
    expect(x, 0);
    for (int64_t n = 0; n < x->slicing.count; n++) {
        const int64_t at = n % BUFFERS;
        note(x, message_end(t, &x->received[at]));
        expect(x, n + 1);
        /* After an error, states are sent all the same, because the next rank waits for them. */
        if (!x->error) note(x, extend(x, n));
        if (t->rank + 1 == t->ranks) continue;
        x->sent[at] = message_to(t->rank + 1, TAG_STATE, x->state[at], state_bytes(x, n));
        note(x, message_begin(t, &x->sent[at]));
    }
    for (int k = 0; k < BUFFERS; k++) note(x, message_end(t, &x->sent[k]));
    return x->error;
}
