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
    return attn_problem_check(&p, kernel->head_dim, kernel->value_dim, filled);
}

static size_t bytes_of_runs(const struct attn_transport *t)
{
    return whole_lines((size_t)t->ranks * sizeof(struct run));
}

size_t attn_ranks_workspace(const struct attn_transport *t, const struct attn_kernel *kernel,
                            const struct attn_problem *mine)
{
    struct attn_problem filled;
    if (check_transport(t) || !kernel || !mine || fill(kernel, mine, &filled)) return 0;
    const bool chain = chain_serves(kernel, &filled);
    if (!chain && !ring_serves(kernel)) return 0;
    const size_t own = chain ? chain_workspace(t, kernel, &filled) : ring_workspace(t, kernel, &filled),
                 bytes = bytes_plus(bytes_of_runs(t), own);
    return bytes < SIZE_MAX ? bytes : 0;
}

/* Checks what one rank can check by itself. */
static int check_call(const struct attn_transport *t, const struct attn_kernel *kernel, const struct attn_problem *mine,
                      const struct ranks_call *call, struct attn_problem *filled)
{
    if (!kernel || !mine || !call->workspace) return ATTN_EPOINTER;
    if ((uintptr_t)call->workspace % 64) return ATTN_EALIGN;
    const struct arrays *const a = &call->arrays;
    int error = fill(kernel, mine, filled);
    if (!error && mine->batch > 0 && mine->heads > 0 &&
        ((mine->n_q > 0 && (!a->q || !a->out)) || (mine->n_k > 0 && (!a->k || (!a->v && !kernel->values_are_keys)))))
        error = ATTN_EPOINTER;
    if (!error) error = chain_serves(kernel, filled) ? chain_check(kernel, filled) : ring_check(kernel, filled);
    if (error) return error;
    const size_t bytes = attn_ranks_workspace(t, kernel, mine);
    if (!bytes) return ATTN_ESIZE;
    return mine->workspace_bytes && mine->workspace_bytes < bytes ? ATTN_EWORKSPACE : 0;
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
    error = agree(t, check_call(t, kernel, mine, &call, &call.problem));
    if (error) return error;
    struct run *const run = (struct run *)workspace;
    call.run = run;
    call.workspace += bytes_of_runs(t);
    error = agree(t, gather_runs(t, kernel, &call.problem, run));
    if (error) return error;
    return agree(t, chain_serves(kernel, &call.problem) ? chain_forward(&call) : ring_forward(&call));
}
