/* Linear forms over ranks. A state is passed from rank to rank, and each rank extends it by its tokens. The problem is
   cut into slices of heads, so that ranks work on different slices at the same time. A state's sums are added in the
   order of the tokens, as on one rank, so the bits do not depend on the ranks.

   With problem.foldable, each rank first sums its own tokens from zero. States are then joined in the order of the
   ranks, and each rank computes its rows from the state before its tokens. So a rank waits only while states are
   joined, but the bits depend on how tokens are divided. A rank stores the sums of its chunks for its rows, unless
   chunks are short. */
#include "ranks.h"

#include <string.h>

enum { BUFFERS = 3 };

bool chain_serves(const struct attn_kernel *kernel, const struct attn_problem *problem)
{
    return kernel->extend && kernel->state_chunk && kernel->state_chunk(problem) > 0;
}

int chain_check(const struct attn_kernel *kernel, const struct attn_problem *problem)
{
    if (kernel->names_sequences && problem->batch > 1) return ATTN_EFOLD; /* a slice has one sequence, number 0 */
    return problem->n_q == problem->n_k && !problem->query_start ? 0 : ATTN_EPROBLEM;
}

static struct slicing slices_of_chain(const struct attn_transport *t, const struct attn_kernel *kernel,
                                      const struct attn_problem *filled)
{
    return slicing_of(kernel, filled, (int64_t)t->ranks * ATTN_RANKS_SLICES);
}

/* The bytes of each part of the workspace. */
struct chain_sizes {
    size_t params, state, extend, sums; /* sums: of the chunks of a slice, or 0 if the rank does not store them */
};

/* Returns whether the rank sums its tokens before it computes their rows, and stores the sums of chunks meanwhile. */
static bool stores_chunks(const struct attn_transport *t, const struct slicing *s)
{
    return s->whole.foldable && t->rank + 1 < t->ranks && s->kernel->chunk_sums &&
           s->kernel->state_chunk(&s->whole) >= ATTN_RANKS_STORED;
}

static struct chain_sizes sizes_of_chain(const struct attn_transport *t, const struct slicing *s)
{
    struct chain_sizes sizes = {slice_params_bytes(s->kernel), 0, 0, 0};
    const bool stores = stores_chunks(t, s);
    for (int64_t n = 0; n < s->of_sequence && s->count; n++) {
        struct slice slice;
        const struct arrays none = {0};
        slice_make(s, n, &none, NULL, NULL, &slice);
        const size_t state = whole_lines(s->kernel->state(&slice.problem)),
                     extend = whole_lines(s->kernel->extend_workspace(&slice.problem));
        const size_t sums = stores ? whole_lines(s->kernel->chunk_sums(&slice.problem)) : 0;
        if (!state || !extend) return (struct chain_sizes){SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX};
        sizes.state = state > sizes.state ? state : sizes.state;
        sizes.extend = extend > sizes.extend ? extend : sizes.extend;
        sizes.sums = sums > sizes.sums ? sums : sizes.sums;
    }
    return sizes;
}

size_t chain_workspace(const struct attn_transport *t, const struct attn_kernel *kernel,
                       const struct attn_problem *filled)
{
    const struct slicing s = slices_of_chain(t, kernel, filled);
    const struct chain_sizes sizes = sizes_of_chain(t, &s);
    const size_t states = BUFFERS + (filled->foldable ? bytes_times(2, (size_t)s.count) : 0),
                 of_slices = bytes_plus(bytes_times(states, sizes.state), bytes_times(sizes.sums, (size_t)s.count)),
                 bytes = bytes_plus(bytes_plus(sizes.params, of_slices), sizes.extend),
                 alone = t->ranks == 1 ? whole_lines(kernel->extend_workspace(filled)) : 0; /* chain_extend */
    return bytes > alone ? bytes : alone;
}

/* The chain on one rank. Slice n is in buffer n % BUFFERS. */
struct chain {
    const struct ranks_call *call;
    struct slicing slicing;
    struct chain_sizes sizes;
    unsigned char *state[BUFFERS], *params, *work;
    unsigned char *sums; /* of the chunks of all slices, or NULL */
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

/* Appends the rank's tokens of slice n to a state, without rows if `rows` is false. The state is made first, for
   tokens from position `first` on, unless that is negative. */
static int append(const struct chain *x, int64_t n, unsigned char *state, int64_t first, bool rows)
{
    const struct ranks_call *const call = x->call;
    const struct attn_kernel *const kernel = call->kernel;
    const struct attn_transport *const t = call->transport;
    struct slice slice;
    int error = slice_make(&x->slicing, n, &call->arrays, call->params, x->params, &slice);
    const struct arrays *const a = &slice.arrays;
    const int64_t sequence = n / x->slicing.of_sequence, head = n % x->slicing.of_sequence * x->slicing.heads;
    if (!error && first >= 0) {
        slice.problem.start = first;
        error = kernel->state_init(&slice.problem, state);
        if (error == ATTN_ELENGTH) error = ATTN_EFOLD; /* states of this kernel begin at token 0 only */
        if (!error && call->state)
            error = kernel->state_part(&call->problem, call->state, sequence, head, &slice.problem, state, 0);
    }
    slice.problem.workspace_bytes = x->sizes.extend;
    if (x->sums) {
        slice.problem.chunk_sums = x->sums + (size_t)n * x->sizes.sums;
        slice.problem.chunk_sums_bytes = x->sizes.sums;
    }
    if (!rows) slice.problem.statistics = NULL;
    if (!error && call->problem.n_q > 0)
        error = kernel->extend(&slice.problem, slice.params, rows ? a->q : NULL, a->k, a->v, rows ? a->out : NULL,
                               state, x->work);
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

/* Sends the buffer of slice n to the next rank. After an error, states are sent all the same, because the next rank
   waits for them. */
static void send_on(struct chain *x, int64_t n)
{
    const struct attn_transport *const t = x->call->transport;
    const int64_t at = n % BUFFERS;
    if (t->rank + 1 == t->ranks) return;
    x->sent[at] = message_to(t->rank + 1, TAG_STATE, x->state[at], state_bytes(x, n));
    note(x, message_begin(t, &x->sent[at]));
}

/* Passes the states of all slices on, which each rank extends. */
static void pass_states(struct chain *x)
{
    expect(x, 0);
    for (int64_t n = 0; n < x->slicing.count; n++) {
        note(x, message_end(x->call->transport, &x->received[n % BUFFERS]));
        expect(x, n + 1);
        if (!x->error) note(x, append(x, n, x->state[n % BUFFERS], x->call->transport->rank == 0 ? 0 : -1, true));
        send_on(x, n);
    }
}

/* ---- with problem.foldable ---- */

/* Returns whether states that the ranks compute apart can be joined: each begins after whole chunks. */
static bool joins_states(const struct ranks_call *call)
{
    const struct attn_problem *const p = &call->problem;
    const int64_t chunk = call->kernel->state_chunk(p);
    bool joins = p->foldable && !call->state && !p->lengths && call->kernel->state_fold;
    int64_t first = 0;
    for (int r = 0; r < call->transport->ranks; r++) {
        joins &= first % chunk == 0;
        first += call->run[r].n_q;
    }
    return joins;
}

/* Makes the buffer of slice n the state after the rank's tokens: the state `before` them, joined with the rank's
   `own`. The first rank has none before. */
static int join(const struct chain *x, int64_t n, const unsigned char *before, const unsigned char *own)
{
    struct slice slice;
    const struct arrays none = {0};
    unsigned char *const state = x->state[n % BUFFERS];
    const int error = slice_make(&x->slicing, n, &none, NULL, NULL, &slice);
    if (error) return error;
    memcpy(state, before ? before : own, state_bytes(x, n));
    return before ? x->call->kernel->state_fold(&slice.problem, state, own) : 0;
}

static void join_states(struct chain *x)
{
    const struct attn_transport *const t = x->call->transport;
    const int64_t count = x->slicing.count;
    unsigned char *const own = x->work + x->sizes.extend, *const before = own + (size_t)count * x->sizes.state;
    int64_t first = 0;
    if (x->sizes.sums) x->sums = before + (size_t)count * x->sizes.state;
    for (int r = 0; r < t->rank; r++) first += x->call->run[r].n_q;
    for (int64_t n = 0; n < count && !x->error; n++) {
        const size_t at = (size_t)n * x->sizes.state;
        if (t->rank + 1 < t->ranks) note(x, append(x, n, own + at, first, false));
    }
    for (int64_t n = 0; n < count; n++) {
        const size_t at = (size_t)n * x->sizes.state;
        if (t->rank > 0) note(x, message_now(t, message_from(t->rank - 1, TAG_STATE, before + at, state_bytes(x, n))));
        note(x, message_end(t, &x->sent[n % BUFFERS]));
        if (!x->error && t->rank + 1 < t->ranks) note(x, join(x, n, t->rank ? before + at : NULL, own + at));
        send_on(x, n);
    }
    for (int64_t n = 0; n < count && !x->error; n++)
        note(x, append(x, n, before + (size_t)n * x->sizes.state, t->rank == 0 ? 0 : -1, true));
}

int chain_forward(const struct ranks_call *call)
{
    const struct attn_transport *const t = call->transport;
    struct chain chain = {.call = call, .slicing = slices_of_chain(t, call->kernel, &call->problem)}, *const x = &chain;
    x->sizes = sizes_of_chain(t, &x->slicing);
    x->params = call->workspace;
    for (int k = 0; k < BUFFERS; k++) x->state[k] = x->params + x->sizes.params + (size_t)k * x->sizes.state;
    x->work = x->params + x->sizes.params + BUFFERS * x->sizes.state;
    (joins_states(call) ? join_states : pass_states)(x);
    for (int k = 0; k < BUFFERS; k++) note(x, message_end(t, &x->sent[k]));
    return x->error;
}
