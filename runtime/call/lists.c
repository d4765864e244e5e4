/* The lists of the best keys of each row, which a call computes before the programs that read them. */
#include "call.h"

ATTN_API size_t attn_call_lists_bytes(const struct kernel *kernel, const struct attn_problem *p)
{
    size_t bytes = 0;
    for (int k = 0; kernel->lists && k < kernel->arrays; k++)
        if (kernel->array[k].origin == FROM_LISTS)
            bytes = bytes_plus(bytes,
                               whole_lines(bytes_times(attn_call_elements(&kernel->array[k], p), sizeof(int32_t))));
    return bytes;
}

ATTN_API int attn_call_make_lists(struct call *call, int threads, unsigned char *work)
{
    const struct kernel *const kernel = call->kernel;
    unsigned char *at = work - attn_call_lists_bytes(kernel, &call->p);
    int error = 0, list = 0;
    if (kernel->masks) at -= attn_call_tiles_bytes(kernel, &call->p);
    for (int k = 0; kernel->lists && k < kernel->arrays && !error; k++) {
        if (kernel->array[k].origin != FROM_LISTS) continue;
        const struct program *const selects = attn_call_program(kernel, RUN_SELECT, list++, INT64_MAX, MANY_ROWS, 0);
        if (!attn_call_runs(selects)) return ATTN_EMACHINE;
        call->array[k].at = at;
        at += whole_lines(attn_call_elements(&kernel->array[k], &call->p) * sizeof(int32_t));
        error = attn_call_run(call, selects, threads, work, attn_call_bytes_a_thread(selects));
    }
    return error;
}
