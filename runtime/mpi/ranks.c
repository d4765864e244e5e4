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

size_t attn_ranks_workspace(const struct attn_transport *t, const struct attn_kernel *kernel,
                            const struct attn_problem *mine)
{
    struct attn_problem filled;
    if (check_transport(t) || !kernel || !mine || fill(kernel, mine, &filled)) return 0;
    const bool chain = chain_serves(kernel, &filled), total = total_serves(kernel), keys = chain_of_keys_serves(kernel);
    if (!chain && !total && !keys && !ring_serves(kernel)) return 0;
    const size_t own = chain   ? chain_workspace(t, kernel, &filled)
                       : keys  ? chain_of_keys_workspace(t, kernel, &filled)
                       : total ? total_workspace(t, kernel, &filled)
                               : ring_workspace(t, kernel, &filled),
                 bytes = bytes_plus(bytes_of_shares(t, kernel), own);
    return bytes < SIZE_MAX ? bytes : 0;
}

/* Checks what one rank can check by itself. */
static int check_call(const struct attn_transport *t, const struct attn_kernel *kernel, const struct attn_problem *mine,
                      const struct ranks_call *call, struct attn_problem *filled)
{
    if (!kernel || !mine || !call->workspace) return ATTN_EPOINTER;
    if ((uintptr_t)call->workspace % 64) return ATTN_EALIGN;
    const struct arrays *const a = &call->arrays;
    int error = mine->cu_seqlens || mine->pages ? ATTN_EPROBLEM : fill(kernel, mine, filled);
    if (!error && mine->batch > 0 && mine->heads > 0 &&
        ((mine->n_q > 0 && (!a->q || !a->out)) || (mine->n_k > 0 && (!a->k || (!a->v && !kernel->values_are_keys)))))
        error = ATTN_EPOINTER;
    if (!error)
        error = chain_serves(kernel, filled)   ? chain_check(kernel, filled)
                : chain_of_keys_serves(kernel) ? chain_backward_check(kernel, filled)
                : total_serves(kernel)         ? total_check(kernel, filled)
                                               : ring_check(kernel, filled);
    if (error) return error;
    const size_t bytes = attn_ranks_workspace(t, kernel, mine);
    if (!bytes) return ATTN_ESIZE;
    return mine->workspace_bytes && mine->workspace_bytes < bytes ? ATTN_EWORKSPACE : 0;
}

/* Runs what all ranks do together: they agree on errors before it, exchange their runs, and agree on errors after it.
 */
static int run_together(struct ranks_call *call, int error, uint64_t wanted, int (*run)(const struct ranks_call *))
{
    const struct attn_transport *const t = call->transport;
    struct run *const runs = (struct run *)(void *)call->workspace;
    error = agree(t, error);
    if (error) return error;
    call->run = runs;
    if (listed_bytes(t, call->kernel)) call->listed = (struct listed *)(void *)(call->workspace + bytes_of_runs(t));
    call->workspace += bytes_of_shares(t, call->kernel);
    error = agree(t, gather_runs(t, call->kernel, &call->problem, wanted, runs));
    return error ? error : agree(t, run(call));
}

int attn_ranks_forward(const struct attn_transport *t, const struct attn_kernel *kernel,
                       const struct attn_problem *mine, const void *params, const void *q, const void *k, const void *v,
                       void *out, void *workspace)
{
    struct ranks_call call = {.transport = t,
                              .kernel = kernel,
                              .params = params,
                              .arrays = {q, k, v, out},
                              .workspace = (unsigned char *)workspace};
    int error = check_transport(t);
    if (error) return error;
    error = check_call(t, kernel, mine, &call, &call.problem);
    const bool chain = !error && chain_serves(kernel, &call.problem);
    return run_together(&call, error, chain || error ? chain : ring_hash(&call),
                        chain                                    ? chain_forward
                        : !error && chain_of_keys_serves(kernel) ? chain_of_keys_forward
                        : !error && total_serves(kernel)         ? total_forward
                                                                 : ring_forward);
}

int attn_ranks_extend(const struct attn_transport *t, const struct attn_kernel *kernel, const struct attn_problem *mine,
                      const void *params, const void *q, const void *k, const void *v, void *out, void *state,
                      void *workspace)
{
    struct ranks_call call = {.transport = t,
                              .kernel = kernel,
                              .params = params,
                              .arrays = {q, k, v, out},
                              .workspace = (unsigned char *)workspace,
                              .state = state};
    int error = check_transport(t);
    if (error) return error;
    struct attn_problem tokens = {0};
    if (mine) tokens = *mine;
    tokens.n_k = tokens.n_q;
    error = check_call(t, kernel, mine ? &tokens : NULL, &call, &call.problem);
    if (!error && !chain_serves(kernel, &call.problem)) error = ATTN_EFOLD;
    if (!error && !state && (t->rank == 0 || t->rank + 1 == t->ranks)) error = ATTN_EPOINTER;
    return run_together(&call, error, 3, chain_extend);
}

size_t attn_ranks_backward_workspace(const struct attn_transport *t, const struct attn_kernel *kernel,
                                     const struct attn_problem *mine)
{
    struct attn_problem filled;
    if (check_transport(t) || !kernel || !mine || fill(kernel, mine, &filled)) return 0;
    const bool total = total_serves(kernel), chain = !total && chain_backward_serves(kernel);
    if ((!chain && !total && !ring_serves(kernel)) || !kernel->backward) return 0;
    const size_t own = total   ? total_backward_workspace(t, kernel, &filled)
                       : chain ? chain_backward_workspace(t, kernel, &filled)
                               : ring_backward_workspace(kernel, &filled),
                 bytes = bytes_plus(bytes_of_shares(t, kernel), own);
    return bytes < SIZE_MAX ? bytes : 0;
}

static int check_backward(const struct ranks_call *call, const struct attn_problem *mine, struct attn_problem *filled)
{
    const struct attn_kernel *const kernel = call->kernel;
    const struct arrays *const a = &call->arrays;
    if (!kernel || !mine || !call->workspace) return ATTN_EPOINTER;
    if ((uintptr_t)call->workspace % 64) return ATTN_EALIGN;
    int error = fill(kernel, mine, filled);
    if (!error && kernel_stores(kernel)) error = ATTN_EFOLD;
    if (!error)
        error = total_serves(kernel)            ? (kernel->backward ? total_check(kernel, filled) : ATTN_EFOLD)
                : chain_backward_serves(kernel) ? chain_backward_check(kernel, filled)
                                                : ring_backward_check(kernel, filled);
    if (error) return error;
    if (mine->batch > 0 && mine->heads > 0 &&
        ((mine->n_q > 0 && (!a->q || !a->out || !call->dout)) ||
         (mine->n_k > 0 && (!a->k || (!a->v && !kernel->values_are_keys)))))
        return ATTN_EPOINTER;
    const size_t bytes = attn_ranks_backward_workspace(call->transport, kernel, mine);
    if (!bytes) return ATTN_ESIZE;
    return mine->workspace_bytes && mine->workspace_bytes < bytes ? ATTN_EWORKSPACE : 0;
}

/* Returns bits of the gradients of parameters that the rank wants. */
static uint64_t wanted_of(const struct attn_kernel *kernel, const void *gradients)
{
    uint64_t wanted = 2;
    int learned = 0;
    for (int k = 0; k < kernel->params && gradients; k++)
        if (attn_param_learned(&kernel->param[k]))
            wanted = wanted << 1 | (((void *const *)gradients)[learned++] != NULL);
    return wanted;
}

int attn_ranks_backward(const struct attn_transport *t, const struct attn_kernel *kernel,
                        const struct attn_problem *mine, const void *params, const void *q, const void *k,
                        const void *v, const void *out, const void *dout, void *dq, void *dk, void *dv, void *gradients,
                        void *workspace)
{
    struct ranks_call call = {.transport = t,
                              .kernel = kernel,
                              .params = params,
                              .arrays = {q, k, v, (void *)(uintptr_t)out},
                              .workspace = (unsigned char *)workspace,
                              .dout = dout,
                              .dq = dq,
                              .dk = dk,
                              .dv = kernel && kernel->values_are_keys ? NULL : dv,
                              .gradients = gradients};
    int error = check_transport(t);
    if (error) return error;
    error = check_backward(&call, mine, &call.problem);
    const bool total = !error && total_serves(kernel), chain = !error && !total && chain_backward_serves(kernel);
    uint64_t wanted = error ? 0 : wanted_of(kernel, gradients);
    if (!error && (!chain || kernel->key_sums)) wanted ^= ring_hash(&call);
    return run_together(&call, error, wanted, total ? total_backward : chain ? chain_backward : ring_backward);
}
