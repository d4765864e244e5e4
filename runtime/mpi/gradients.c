/* Gradients of parameters. Every rank has the parameters, and each gets the sums of their gradients over all ranks. */
#include "ranks.h"

bool learned_next(const struct ranks_call *call, struct learned *x)
{
    while (++x->param < call->kernel->params) {
        x->of = &call->kernel->param[x->param];
        if (!attn_param_learned(x->of)) continue;
        x->number++;
        x->to = call->gradients ? ((void *const *)call->gradients)[x->number] : NULL;
        return true;
    }
    return false;
}

size_t gradient_bytes(const struct attn_kernel *kernel, const struct attn_param *p, const struct attn_problem *problem)
{
    return bytes_times(param_elements(p, problem), attn_dtype_size(dtype_of_sums(kernel)));
}

size_t gradients_work(const struct ranks_call *call)
{
    struct learned x = FIRST_LEARNED;
    size_t bytes = 0;
    while (learned_next(call, &x)) bytes = larger(bytes, gradient_bytes(call->kernel, x.of, &call->problem));
    return bytes;
}

void clear_gradients(const struct ranks_call *call)
{
    struct learned x = FIRST_LEARNED;
    while (learned_next(call, &x))
        if (x.to) memset(x.to, 0, gradient_bytes(call->kernel, x.of, &call->problem));
}

int sum_gradients(const struct ranks_call *call, void *work)
{
    struct learned x = FIRST_LEARNED;
    int error = 0;
    while (learned_next(call, &x)) {
        if (!x.to || param_has_queries(x.of) || param_has_axis(x.of, ATTN_N_K)) continue;
        const int64_t count = (int64_t)param_elements(x.of, &call->problem);
        error = worse_error(error, sum_ranks(call->transport, x.to, count, dtype_of_sums(call->kernel), work));
    }
    return error;
}
