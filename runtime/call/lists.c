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

/* Returns the program that computes list number `list`. With a state, it may read prepared keys. */
static const struct program *program_of_list(const struct kernel *kernel, int list, int of_state)
{
    const struct program *prepared = NULL;
    if (of_state) prepared = attn_call_program(kernel, RUN_SELECT_NEW, list, INT64_MAX, MANY_ROWS, 0);
    if (prepared && attn_call_runs(prepared)) return prepared;
    return attn_call_program(kernel, RUN_SELECT, list, INT64_MAX, MANY_ROWS, 0);
}

/* Returns the address of a list for kernels, which count sequences from the first one of the batch. */
static void *numbered(const struct call *call, const struct array *a, unsigned char *at)
{
    if (call->first_sequence == 0 || !(a->sizes >> -ATTN_BATCH & 1)) return at;
    const size_t bytes = attn_call_elements(a, &call->p) / (size_t)call->p.batch * sizeof(int32_t);
    return (void *)((uintptr_t)at - (size_t)call->first_sequence * bytes);
}

ATTN_API const struct program *attn_call_place_list(struct call *call, int list, unsigned char *at, int of_state)
{
    const struct kernel *const kernel = call->kernel;
    const int number = list;
    for (int k = 0; k < kernel->arrays; k++) {
        if (kernel->array[k].origin != FROM_LISTS) continue;
        call->array[k].at = numbered(call, &kernel->array[k], at);
        if (list-- == 0) return program_of_list(kernel, number, of_state);
        at += whole_lines(attn_call_elements(&kernel->array[k], &call->p) * sizeof(int32_t));
    }
    return NULL;
}

ATTN_API int attn_call_make_lists(struct call *call, int threads, unsigned char *work)
{
    const struct kernel *const kernel = call->kernel;
    unsigned char *at = work - attn_call_lists_bytes(kernel, &call->p);
    int error = 0;
    if (kernel->masks) at -= attn_call_tiles_bytes(kernel, &call->p);
    const struct program *selects;
    for (int list = 0; kernel->lists && !error && (selects = attn_call_place_list(call, list, at, 0)); list++)
        error = attn_call_runs(selects) ? attn_call_run(call, selects, threads, work, attn_call_bytes_a_thread(selects))
                                        : ATTN_EMACHINE;
    return error;
}
