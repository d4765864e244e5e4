/* Prepares and calls a kernel: the sizes of the problem, a workspace, and random parameters. */
#include "next_byte.h"

int kernel_prepare(struct prepared *p, const struct attn_kernel *kernel, int64_t n, int threads, uint64_t seed)
{
    *p = (struct prepared){.kernel = kernel,
                           .problem = {.batch = 1, .heads = 1, .kv_heads = 1, .n_q = n, .n_k = n, .threads = threads}};
    p->problem.workspace_bytes = kernel->workspace(&p->problem);
    p->workspace = attn_alloc(p->problem.workspace_bytes);
    if (!p->workspace) return ATTN_EMEMORY;
    if (!kernel->params) return 0;
    p->params = attn_alloc(kernel->params_bytes);
    p->storage = attn_alloc(kernel->params_size());
    if (!p->params || !p->storage) return ATTN_EMEMORY;
    return kernel->params_init(p->params, seed, p->storage);
}

int kernel_run(const struct prepared *p, const float *q, const float *k, const float *v, float *out, double *seconds)
{
    double begun = attn_seconds();
    int error = p->kernel->forward(&p->problem, p->params, q, k, v, out, p->workspace);
    double took = attn_seconds() - begun;
    if (took < *seconds) *seconds = took;
    return error;
}

void kernel_release(struct prepared *p)
{
    attn_free(p->workspace);
    attn_free(p->params);
    attn_free(p->storage);
}
