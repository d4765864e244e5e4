/* Gradients of parameters. Every rank has the parameters, and each gets the sums of their gradients over all ranks. */
#include "ranks.h"

#include <string.h>

size_t gradient_bytes(const struct attn_kernel *kernel, const struct attn_param *p, const struct attn_problem *problem)
{
    return bytes_times(param_elements(p, problem), kernel->dtype == ATTN_F64 ? sizeof(double) : sizeof(float));
}

size_t gradients_work(const struct ranks_call *call)
{
    const struct attn_kernel *const kernel = call->kernel;
    size_t bytes = 0;
    for (int k = 0; k < kernel->params; k++)
        if (attn_param_learned(&kernel->param[k]))
            bytes = larger(bytes, gradient_bytes(kernel, &kernel->param[k], &call->problem));
    return whole_lines(bytes);
}

void clear_gradients(const struct ranks_call *call)
{
    void *const *const own = (void *const *)call->gradients;
    for (int k = 0, n = 0; k < call->kernel->params && own; k++) {
        const struct attn_param *const p = &call->kernel->param[k];
        if (!attn_param_learned(p)) continue;
        if (own[n]) memset(own[n], 0, gradient_bytes(call->kernel, p, &call->problem));
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
        const bool rows = param_has_queries(p) || param_has_axis(p, ATTN_N_K);
        if (own[n] && !rows)
            error = worse_error(
                error, sum_ranks(call->transport, own[n], (int64_t)param_elements(p, &call->problem), dtype, work));
        n++;
    }
    return error;
}
