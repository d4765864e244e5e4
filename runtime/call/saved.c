/* Values that forward saves for backward. */
#include "call.h"

ATTN_API size_t attn_call_saved_bytes(const struct kernel *kernel, const struct attn_problem *p)
{
    const size_t bytes = bytes_times(attn_call_row_bytes(kernel, p), kernel->saved),
                 row = kernel->solution < 0 ? 0 : (size_t)kernel->value_dim * kernel->real;
    return bytes_plus(bytes, bytes_of_rows(row, p, p->kv_heads, p->n_k));
}

ATTN_API size_t attn_call_saved(const struct kernel *kernel, const struct attn_problem *problem)
{
    const size_t bytes = problem && fits_library(kernel) ? attn_call_saved_bytes(kernel, problem) : 0;
    return bytes_fit(bytes) ? bytes : 0;
}

ATTN_API void attn_call_place_rows(struct call *call, enum array_origin origin, unsigned char *at)
{
    const size_t bytes = attn_call_row_bytes(call->kernel, &call->p);
    for (int k = 0; k < call->kernel->arrays; k++) {
        const int64_t given = call->kernel->array[k].elements, elements = given ? given : 1;
        if (call->kernel->array[k].origin != origin) continue;
        call->array[k].at = at;
        call->array[k].strides = contiguous(call->p.heads, call->p.n_q, elements);
        at += bytes * (size_t)elements;
    }
}

ATTN_API void attn_call_set_solution(struct call *call, unsigned char *saved)
{
    const struct kernel *const kernel = call->kernel;
    if (kernel->solution < 0) return;
    struct place *const solution = &call->array[kernel->solution];
    solution->at = saved + (size_t)kernel->saved * attn_call_row_bytes(kernel, &call->p);
    solution->strides = contiguous(call->p.kv_heads, call->p.n_k, kernel->value_dim);
}
