/* Linear forms over ranks. A state is passed from rank to rank, and each rank extends it by its tokens. The problem is
   cut into slices of heads, so that ranks work on different slices at the same time. A state's sums are added in the
   order of the tokens, as on one rank, so the bits do not depend on the ranks.

   With problem.foldable, each rank first sums its own tokens from zero. States are then joined in the order of the
   ranks, and each rank computes its rows from the state before its tokens. So a rank waits only while states are
   joined, but the bits depend on how tokens are divided. A rank stores the sums of its chunks for its rows, unless
   chunks are short. */
#include "ranks.h"

enum { BUFFERS = 3 };

static bool serves(const struct ranks_call *call)
{
    const struct attn_kernel *const kernel = call->kernel;
    return !call->backward && kernel->extend && kernel->state_chunk && kernel->state_chunk(&call->problem) > 0;
}

static int check(const struct ranks_call *call)
{
    const struct attn_problem *const problem = &call->problem;
    if (call->kernel->names_sequences && problem->batch > 1) return ATTN_EFOLD; /* a slice has sequence number 0 */
    return problem->n_q == problem->n_k && !problem->query_start ? 0 : ATTN_EPROBLEM;
}

/* The chain on one rank. Slice n is in buffer n % BUFFERS. */
struct chain {
    const struct ranks_call *call;
    struct slicing slicing;
    size_t state_bytes, extend_bytes, sums_bytes; /* of the largest slice */
    unsigned char *state[BUFFERS], *params, *work;
    /* With problem.foldable, for all slices: the sums of chunks, or NULL; states of the rank's tokens and before them
     */
    unsigned char *sums, *own, *before;
    int error;
};

/* Returns whether the rank sums its tokens before it computes their rows, and stores the sums of chunks meanwhile. */
static bool stores_chunks(const struct chain *x)
{
    const struct attn_transport *const t = x->call->transport;
    const struct attn_kernel *const kernel = x->call->kernel;
    return x->slicing.whole.foldable && t->rank + 1 < t->ranks && kernel->chunk_sums &&
           kernel->state_chunk(&x->slicing.whole) >= ATTN_RANKS_STORED;
}

static struct chain chain_of(const struct ranks_call *call, struct memory *m)
{
    const struct attn_kernel *const kernel = call->kernel;
    struct chain x = {.call = call, .slicing = slicing_of(kernel, &call->problem, call->transport->ranks)};
    const bool stores = stores_chunks(&x), folds = call->problem.foldable;
    for (int64_t n = 0; n < x.slicing.of_sequence && x.slicing.count; n++) {
        const struct attn_problem p = slice_problem(&x.slicing, n);
        x.state_bytes = larger(x.state_bytes, whole_lines(workspace_bytes(kernel->state(&p))));
        x.extend_bytes = larger(x.extend_bytes, whole_lines(workspace_bytes(kernel->extend_workspace(&p))));
        if (stores) x.sums_bytes = larger(x.sums_bytes, whole_lines(kernel->chunk_sums(&p)));
    }
    const size_t count = (size_t)x.slicing.count;
    x.params = memory_take(m, params_bytes(kernel));
    for (int k = 0; k < BUFFERS; k++) x.state[k] = memory_take(m, x.state_bytes);
    x.own = memory_take(m, folds ? bytes_times(count, x.state_bytes) : 0);
    x.before = memory_take(m, folds ? bytes_times(count, x.state_bytes) : 0);
    x.sums = memory_take(m, bytes_times(count, x.sums_bytes));
    x.work = memory_take(m, x.extend_bytes);
    return x;
}

static size_t workspace(const struct ranks_call *call)
{
    struct memory m = {NULL, 0};
    chain_of(call, &m);
    const bool alone = call->transport->ranks == 1; /* extend_alone */
    return larger(m.bytes, alone ? whole_lines(call->kernel->extend_workspace(&call->problem)) : 0);
}

static void note(struct chain *x, int error)
{
    x->error = worse_error(x->error, error);
}

static size_t state_bytes(const struct chain *x, int64_t n)
{
    const struct attn_problem p = slice_problem(&x->slicing, n);
    return x->slicing.kernel->state(&p);
}

/* Appends the rank's tokens of slice n to a state, without rows if `rows` is false. The state is made first, for
   tokens from position `first` on, unless that is negative. */
static int append(const struct chain *x, int64_t n, unsigned char *state, int64_t first, bool rows)
{
    const struct ranks_call *const call = x->call;
    const struct attn_kernel *const kernel = call->kernel;
    const struct attn_transport *const t = call->transport;
    struct slice slice = slice_of(&x->slicing, n, &call->arrays, call->params, x->params);
    const struct arrays *const a = &slice.arrays;
    const int64_t sequence = n / x->slicing.of_sequence, head = n % x->slicing.of_sequence * x->slicing.heads;
    int error = 0;
    if (first >= 0) {
        slice.problem.start = first;
        error = kernel->state_init(&slice.problem, state);
        if (error == ATTN_ELENGTH) error = ATTN_EFOLD; /* states of this kernel begin at token 0 only */
        if (!error && call->state)
            error = kernel->state_part(&call->problem, call->state, sequence, head, &slice.problem, state, 0);
    }
    slice.problem.workspace_bytes = x->extend_bytes;
    if (x->sums_bytes) {
        slice.problem.chunk_sums = x->sums + (size_t)n * x->sums_bytes;
        slice.problem.chunk_sums_bytes = x->sums_bytes;
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

static void sweep(struct chain *x, unsigned char *(*place)(void *, int64_t, size_t *),
                  const unsigned char *(*work)(void *, int64_t))
{
    const struct attn_transport *const t = x->call->transport;
    const struct sweep s = {.transport = t,
                            .from = t->rank - 1,
                            .to = t->rank + 1,
                            .tag = TAG_STATE,
                            .count = x->slicing.count,
                            .error = &x->error,
                            .user = x,
                            .place = place,
                            .work = work};
    sweep_slices(&s);
}

/* Without problem.foldable: the states of all slices pass, and each rank extends them. */
static unsigned char *buffer_of(void *user, int64_t n, size_t *bytes)
{
    struct chain *const x = user;
    *bytes = state_bytes(x, n);
    return x->state[n % BUFFERS];
}

static const unsigned char *extend_slice(void *user, int64_t n)
{
    struct chain *const x = user;
    unsigned char *const state = x->state[n % BUFFERS];
    if (!x->error) note(x, append(x, n, state, x->call->transport->rank == 0 ? 0 : -1, true));
    return state;
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

static unsigned char *before_of(void *user, int64_t n, size_t *bytes)
{
    struct chain *const x = user;
    *bytes = state_bytes(x, n);
    return x->before + (size_t)n * x->state_bytes;
}

/* Makes the buffer of slice n the state after the rank's tokens: the state before them, joined with the rank's own one.
   The first rank has none before. */
static const unsigned char *join_slice(void *user, int64_t n)
{
    struct chain *const x = user;
    const struct attn_transport *const t = x->call->transport;
    const struct attn_problem p = slice_problem(&x->slicing, n);
    const size_t at = (size_t)n * x->state_bytes;
    unsigned char *const state = x->state[n % BUFFERS];
    if (x->error || t->rank + 1 == t->ranks) return state;
    memcpy(state, t->rank ? x->before + at : x->own + at, x->call->kernel->state(&p));
    if (t->rank) note(x, x->call->kernel->state_fold(&p, state, x->own + at));
    return state;
}

static void join_states(struct chain *x)
{
    const struct attn_transport *const t = x->call->transport;
    const int64_t count = x->slicing.count;
    int64_t first = 0;
    for (int r = 0; r < t->rank; r++) first += x->call->run[r].n_q;
    for (int64_t n = 0; n < count && !x->error && t->rank + 1 < t->ranks; n++)
        note(x, append(x, n, x->own + (size_t)n * x->state_bytes, first, false));
    sweep(x, before_of, join_slice);
    for (int64_t n = 0; n < count && !x->error; n++)
        note(x, append(x, n, x->before + (size_t)n * x->state_bytes, t->rank == 0 ? 0 : -1, true));
}

static int run(const struct ranks_call *call)
{
    struct memory m = {call->workspace, 0};
    struct chain x = chain_of(call, &m);
    if (call->state && call->transport->ranks == 1) return extend_alone(call);
    if (joins_states(call)) {
        join_states(&x);
        return x.error;
    }
    x.sums_bytes = 0;
    sweep(&x, buffer_of, extend_slice);
    return x.error;
}

const struct algorithm states_travel = {serves, check, workspace, NULL, run};
