/* Which kernels of a quadratic form send keys to ranks (ring.h), and the parameters of a call for some keys. */
#include "ring.h"

void ring_note(struct ring *x, int error)
{
    x->error = worse_error(x->error, error);
}

size_t ring_statistics_size(const struct attn_kernel *kernel)
{
    return attn_dtype_size(dtype_of_sums(kernel));
}

int64_t ring_heads_of_keys(const struct attn_problem *p)
{
    return p->key_heads ? p->key_heads : p->kv_heads;
}

size_t ring_rows(const struct attn_problem *p)
{
    return bytes_times(bytes_times((size_t)p->batch, (size_t)p->heads), (size_t)p->n_q);
}

bool ring_serves(const struct ranks_call *call)
{
    return call->kernel->merge && call->kernel->period > 0;
}

/* Whether there is a parameter for calls that begin with a block of queries. */
static bool has_blocks(const struct attn_param *p)
{
    bool blocks = p->strides != ATTN_CONTIGUOUS && !p->tiles;
    for (int k = 0; k < p->rank; k++) blocks &= p->shape[k] >= ATTN_N_K || queries_of_element(p->shape[k]);
    return blocks;
}

int ring_check(const struct ranks_call *call)
{
    const struct attn_kernel *const kernel = call->kernel;
    const struct attn_problem *const problem = &call->problem;
    for (int k = 0; k < kernel->params; k++)
        if (!param_is_of_all_keys(kernel, &kernel->param[k]) && !param_divides(&kernel->param[k]) &&
            !has_blocks(&kernel->param[k]))
            return ATTN_EFOLD;
    return problem->query_start || (problem->saved && !call->backward) || problem->first_key || problem->sink_mode
               ? ATTN_EPROBLEM
               : 0;
}

int ring_make_routes(struct ring *x)
{
    const struct ranks_call *const call = x->call;
    int error = routes_make(call, &x->routes);
    for (int k = 0; k < call->kernel->params; k++)
        if (param_is_of_all_keys(call->kernel, &call->kernel->param[k]) &&
            call->problem.all_keys != routes_key(&x->routes, call->transport->ranks))
            error = worse_error(error, ATTN_EPROBLEM);
    error = agree(call->transport, error);
    return error || !call->listed ? error : agree(call->transport, routes_gather(call, &x->routes));
}

void ring_set_params(struct ring *x, int64_t first_query, int64_t first_key)
{
    const struct ranks_call *const call = x->call;
    const struct origin origin = {
        .first_query = first_query, .first_key = first_key, .keys = routes_key(&x->routes, x->routes.ranks)};
    if (call->params && call->kernel->params) params_from(call->kernel, &x->own, &origin, call->params, x->params);
}
