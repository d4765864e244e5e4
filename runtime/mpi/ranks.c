/* The entry points: they check a call, agree on errors, and choose how ranks work together. */
#include "ranks.h"

static int check_transport(const struct attn_transport *t)
{
    if (!t || !t->send || !t->receive || !t->wait) return ATTN_EPOINTER;
    return t->ranks > 0 && t->rank >= 0 && t->rank < t->ranks ? 0 : ATTN_EPROBLEM;
}

/* Fills in the strides of a problem. Values that are parts of keys have the strides of the keys. */
static int fill(const struct attn_kernel *kernel, const struct attn_problem *problem, struct attn_problem *filled)
{
    struct attn_problem p = *problem;
    if (kernel->values_are_keys) p.v = p.dv = (struct attn_strides){0, 0, 0};
    return attn_stored_problem_check(&p, kernel->head_dim, kernel->value_dim,
                                     row_units(kernel->key_dtype, kernel->head_dim),
                                     row_units(kernel->value_dtype, kernel->value_dim), filled);
}

static size_t bytes_of_runs(const struct attn_transport *t)
{
    return whole_lines((size_t)t->ranks * sizeof(struct run));
}

/* Returns the bytes of what ranks tell each other about their shares. */
static size_t bytes_of_shares(const struct attn_transport *t, const struct attn_kernel *kernel)
{
    return bytes_of_runs(t) + listed_bytes(t, kernel);
}

/* Returns the first algorithm that serves a call, or NULL. */
static const struct algorithm *algorithm_of(const struct ranks_call *call)
{
    static const struct algorithm *const all[] = {&states_travel, &sums_travel, &keys_travel, &keys_travel_backwards};
    if (call->backward && !call->kernel->backward) return NULL;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (all[k]->serves(call)) return all[k];
    return NULL;
}

/* Returns the bytes of the workspace of a call. */
static size_t workspace_of(const struct attn_transport *t, const struct attn_kernel *kernel,
                           const struct attn_problem *mine, bool backward)
{
    struct ranks_call call = {.transport = t, .kernel = kernel, .backward = backward};
    if (check_transport(t) || !kernel || !mine || fill(kernel, mine, &call.problem)) return 0;
    const struct algorithm *const algorithm = algorithm_of(&call);
    if (!algorithm) return 0;
    const size_t bytes = bytes_plus(bytes_of_shares(t, kernel), whole_lines(algorithm->workspace(&call)));
    return bytes < SIZE_MAX ? bytes : 0;
}

size_t attn_ranks_workspace(const struct attn_transport *t, const struct attn_kernel *kernel,
                            const struct attn_problem *mine)
{
    return workspace_of(t, kernel, mine, false);
}

size_t attn_ranks_backward_workspace(const struct attn_transport *t, const struct attn_kernel *kernel,
                                     const struct attn_problem *mine)
{
    return workspace_of(t, kernel, mine, true);
}

/* Checks what one rank can check by itself. Sets call->problem, and *algorithm unless there is an error. */
static int check_call(struct ranks_call *call, const struct attn_problem *mine, const struct algorithm **algorithm)
{
    const struct attn_kernel *const kernel = call->kernel;
    const struct arrays *const a = &call->arrays;
    *algorithm = NULL;
    if (!kernel || !mine || !call->workspace) return ATTN_EPOINTER;
    if ((uintptr_t)call->workspace % 64) return ATTN_EALIGN;
    if (mine->weights || (!call->backward && (mine->cu_seqlens || mine->pages))) return ATTN_EPROBLEM;
    int error = fill(kernel, mine, &call->problem);
    if (error) return error;
    if (mine->batch > 0 && mine->heads > 0 &&
        ((mine->n_q > 0 && (!a->q || !a->out || (call->backward && !a->dout))) ||
         (mine->n_k > 0 && (!a->k || (!a->v && !kernel->values_are_keys)))))
        return ATTN_EPOINTER;
    const struct algorithm *const found = algorithm_of(call);
    if (!found || (call->backward && kernel_stores(kernel))) return ATTN_EFOLD;
    error = found->check(call);
    if (error) return error;
    const size_t bytes = workspace_of(call->transport, kernel, mine, call->backward);
    if (!bytes) return ATTN_ESIZE;
    if (mine->workspace_bytes && mine->workspace_bytes < bytes) return ATTN_EWORKSPACE;
    *algorithm = found;
    return 0;
}

/* Runs what all ranks do together: they agree on errors before it, exchange their runs, and agree on errors after it.
   `wanted` must be equal on all ranks. */
static int run_together(struct ranks_call *call, int error, uint64_t wanted, const struct algorithm *algorithm)
{
    const struct attn_transport *const t = call->transport;
    struct run *const runs = (struct run *)(void *)call->workspace;
    error = agree(t, error);
    if (error) return error;
    call->run = runs;
    if (listed_bytes(t, call->kernel)) call->listed = (struct listed *)(void *)(call->workspace + bytes_of_runs(t));
    call->workspace += bytes_of_shares(t, call->kernel);
    if (algorithm->hash) wanted ^= algorithm->hash(call);
    error = agree(t, gather_runs(t, call->kernel, &call->problem, wanted, runs));
    return error ? error : agree(t, algorithm->run(call));
}

int attn_ranks_forward(const struct attn_transport *t, const struct attn_kernel *kernel,
                       const struct attn_problem *mine, const void *params, const void *q, const void *k, const void *v,
                       void *out, void *workspace)
{
    const struct algorithm *algorithm;
    struct ranks_call call = {.transport = t,
                              .kernel = kernel,
                              .params = params,
                              .arrays = {.q = q, .k = k, .v = v, .out = out},
                              .workspace = (unsigned char *)workspace};
    int error = check_transport(t);
    if (error) return error;
    error = check_call(&call, mine, &algorithm);
    return run_together(&call, error, 1, algorithm);
}

int attn_ranks_extend(const struct attn_transport *t, const struct attn_kernel *kernel, const struct attn_problem *mine,
                      const void *params, const void *q, const void *k, const void *v, void *out, void *state,
                      void *workspace)
{
    const struct algorithm *algorithm;
    struct ranks_call call = {.transport = t,
                              .kernel = kernel,
                              .params = params,
                              .arrays = {.q = q, .k = k, .v = v, .out = out},
                              .workspace = (unsigned char *)workspace,
                              .state = state};
    int error = check_transport(t);
    if (error) return error;
    struct attn_problem tokens = {0};
    if (mine) tokens = *mine;
    tokens.n_k = tokens.n_q;
    error = check_call(&call, mine ? &tokens : NULL, &algorithm);
    if (!error && algorithm != &states_travel) error = ATTN_EFOLD;
    if (!error && !state && (t->rank == 0 || t->rank + 1 == t->ranks)) error = ATTN_EPOINTER;
    return run_together(&call, error, 3, algorithm);
}

/* Returns bits of the gradients of parameters that the rank wants. */
static uint64_t wanted_of(const struct ranks_call *call)
{
    struct learned x = FIRST_LEARNED;
    uint64_t wanted = 2;
    while (call->gradients && learned_next(call, &x)) wanted = wanted << 1 | (x.to != NULL);
    return wanted;
}

int attn_ranks_backward(const struct attn_transport *t, const struct attn_kernel *kernel,
                        const struct attn_problem *mine, const void *params, const void *q, const void *k,
                        const void *v, const void *out, const void *dout, void *dq, void *dk, void *dv, void *gradients,
                        void *workspace)
{
    const struct algorithm *algorithm;
    struct ranks_call call = {.transport = t,
                              .kernel = kernel,
                              .backward = true,
                              .params = params,
                              .arrays = {q, k, v, (void *)(uintptr_t)out, dout, dq, dk, dv},
                              .gradients = gradients,
                              .workspace = (unsigned char *)workspace};
    int error = check_transport(t);
    if (error) return error;
    error = check_call(&call, mine, &algorithm);
    if (!error && kernel->values_are_keys) call.arrays.dv = NULL;
    return run_together(&call, error, error ? 0 : wanted_of(&call), algorithm);
}
