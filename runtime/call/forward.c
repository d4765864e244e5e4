/* Forward of a kernel: NAME_forward, NAME_workspace, and the sums over keys of a call with some keys of a sequence. */
#include "call.h"

#include <math.h>

/* ---- what a call computes first: prefix sums, corrected values, lists of the best keys ---- */

/* Computes rows of corrected values, each followed by its tangent, from `at` on. Returns 0 or an error. */
static int make_corrected(struct call *call, unsigned char *at, int threads, unsigned char *work)
{
    const struct kernel *const kernel = call->kernel;
    int error = 0;
    for (int n = 0; n <= kernel->tangents && !error; n++) {
        const struct program *const program = attn_call_program(kernel, RUN_CORRECT, n, INT64_MAX, MANY_ROWS, 0);
        if (!attn_call_runs(program)) return ATTN_EMACHINE;
        call->array[kernel->corrected + n] = (struct place){
            .at = at + (size_t)(n * kernel->value_dim) * kernel->real,
            .strides = contiguous(call->p.heads, call->p.n_k, kernel->value_dim * (1 + kernel->tangents))};
        error = attn_call_run(call, program, threads, work, attn_call_bytes_a_thread(program));
    }
    return error;
}

/* Returns the largest workspace of a thread in bytes, for forward and what it computes first. */
static size_t max_bytes(const struct kernel *kernel, int64_t n_k)
{
    static const enum program_role first[] = {RUN_TERMS, RUN_CORRECT, RUN_SELECT, RUN_WEIGHTS};
    const int has[] = {kernel->prefix_row > 0, kernel->corrected >= 0, kernel->lists, kernel->weighs};
    size_t bytes = attn_call_max_bytes(kernel, RUN_FORWARD, n_k);
    for (int k = 0; k < 4; k++)
        if (has[k]) bytes = larger(bytes, attn_call_max_bytes(kernel, first[k], INT64_MAX));
    return bytes;
}

/* Returns whether programs other than that of forward may read prefix sums. */
static int others_read_sums(const struct kernel *kernel)
{
    return kernel->weighs || kernel->lists;
}

/* Returns whether all programs for n_k keys compute the prefix sums that they read, so that the workspace has none. */
static int own_sums(const struct kernel *kernel, int64_t n_k)
{
    return !others_read_sums(kernel) && attn_call_program(kernel, RUN_FORWARD, 0, n_k, 0, 0)->own_sums &&
           attn_call_program(kernel, RUN_FORWARD, 0, n_k, MANY_ROWS, 0)->own_sums &&
           attn_call_program(kernel, RUN_FORWARD, 0, n_k, kernel->by_heads ? MANY_HEADS : MANY_ROWS, 0)->own_sums;
}

/* Returns the number of keys that the workspace of forward serves. */
static int64_t keys_served(const struct kernel *kernel, const struct attn_problem *p)
{
    return kernel->key_sums && p->earlier_sums ? INT64_MAX : p->n_k;
}

/* Returns what attn_call_shared_bytes returns for forward. There is room for the prefix sums of each call with fewer
   keys, and at most as many queries as keys. */
static size_t forward_bytes(const struct kernel *kernel, const struct attn_problem *problem)
{
    if (!kernel->prefix_row) return attn_call_shared_bytes(kernel, problem, NULL);
    const int64_t keys = attn_call_after_keys(kernel, problem) ? 0 : keys_served(kernel, problem);
    if (!own_sums(kernel, keys)) return attn_call_shared_bytes(kernel, problem, problem);
    struct attn_problem sums = *problem;
    sums.n_k = -1;
    for (int64_t from = 0, next; from <= problem->n_k && from < INT64_MAX; from = next) {
        next = attn_call_next_length(kernel, from);
        if (!own_sums(kernel, from)) sums.n_k = max(sums.n_k, min(problem->n_k, next - 1));
    }
    sums.n_q = min(sums.n_q, sums.n_k);
    return attn_call_shared_bytes(kernel, problem, sums.n_k < 0 ? NULL : &sums);
}

ATTN_API size_t attn_call_workspace(const struct kernel *kernel, const struct attn_problem *problem)
{
    if (!problem || !fits_library(kernel)) return 0;
    const size_t threads = bytes_times(max_bytes(kernel, keys_served(kernel, problem)),
                                       attn_call_threads_served(kernel, problem)),
                 bytes = bytes_plus(forward_bytes(kernel, problem), threads);
    return bytes_fit(bytes) ? bytes : 0;
}

/* ---- calls without keys ---- */

ATTN_API void attn_call_clear_rows(const struct call *call, const struct place *place, int64_t elements)
{
    const struct attn_problem *const p = &call->p;
    const size_t element = call->kernel->element;
    unsigned char *const rows = (unsigned char *)place->at;
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t h = 0; h < p->heads; h++)
            for (int64_t i = 0; i < p->n_q; i++)
                memset(rows + (size_t)(b * place->strides.batch + h * place->strides.head + i * place->strides.row) *
                                  element,
                       0, (size_t)elements * element);
}

/* Writes an output of the problem for rows that see no key. */
static void clear_output(const struct call *call, const struct array *a, const struct place *place)
{
    const struct attn_problem *const p = &call->p;
    const struct attn_strides *const s = &place->strides;
    const double none = a->statistics == ATTN_LOGARITHMS ? -HUGE_VAL : 0;
    const int64_t elements = (int64_t)attn_call_elements(a, p);
    for (int64_t row = 0; place->at && row < p->batch * p->heads * p->n_q; row++) {
        const int64_t at = row / p->n_q / p->heads * s->batch + row / p->n_q % p->heads * s->head +
                           row % p->n_q * s->row;
        for (int64_t x = at; x < at + elements; x++)
            if (a->dtype == ATTN_F64)
                ((double *)place->at)[x] = none;
            else
                ((float *)place->at)[x] = (float)none;
    }
}

/* Computes the rows of a call without keys, which loops over chunks of keys do not reach. */
static void compute_without_keys(const struct call *call)
{
    const struct kernel *const kernel = call->kernel;
    for (int k = 0; k < kernel->arrays; k++) {
        const struct array *const a = &kernel->array[k];
        if (a->origin == FROM_ARGUMENT && a->access[ENTRY_FORWARD] > ACCESS_READ)
            attn_call_clear_rows(call, &call->array[k], kernel->value_dim);
        if (a->origin == FROM_PROBLEM) clear_output(call, a, &call->array[k]);
    }
}

/* ---- sums over keys ---- */

/* Returns the program that reads and adds to sums over all keys. */
static const struct program *program_of_sums(const struct kernel *kernel)
{
    return attn_call_program(kernel, RUN_FORWARD, 0, INT64_MAX, MANY_ROWS, 0);
}

ATTN_API size_t attn_call_key_sums(const struct kernel *kernel, const struct attn_problem *problem)
{
    struct call call;
    if (attn_call_begin(&call, kernel, problem, NULL, NULL, ENTRY_FORWARD, 1)) return 0;
    const struct program *const program = program_of_sums(kernel);
    const size_t of_head = (size_t)(tasks_of_sums(problem, program) * program->outer_bytes),
                 bytes = bytes_times(bytes_times(of_head, problem->kv_heads), problem->batch);
    return bytes_fit(bytes) ? bytes : 0;
}

/* ---- forward ---- */

/* Computes prefix sums, corrected values, and the output of weights. Each thread has the memory `work`. Returns 0 or an
   error. */
static int compute_first(struct call *call, const struct program *program, unsigned char *memory, int threads,
                         unsigned char *work)
{
    const struct kernel *const kernel = call->kernel;
    int error = 0;
    if (kernel->prefix_row > 0) {
        const struct program *const terms = attn_call_program_of(kernel, RUN_TERMS);
        if (!attn_call_runs(terms)) return ATTN_EMACHINE;
        if (!program->own_sums || others_read_sums(kernel)) {
            memory = attn_call_set_prefix_sums(call, memory);
            error = attn_call_make_prefix_sums(call, terms, threads, work, attn_call_bytes_a_thread(terms));
        }
    }
    if (kernel->corrected >= 0 && !error) error = make_corrected(call, memory, threads, work);
    if (!error) error = attn_call_make_lists(call, threads, work);
    if (kernel->weighs && !error && call->p.n_k > 0 && call->p.weights) {
        const struct program *const weights = attn_call_program_of(kernel, RUN_WEIGHTS);
        if (!attn_call_runs(weights)) return ATTN_EMACHINE;
        error = attn_call_run(call, weights, threads, work, attn_call_bytes_a_thread(weights));
    }
    return error;
}

/* Gives the call the memory where it saves values for backward. Returns 0 or an error. */
static int take_saved(struct call *call, const struct attn_problem *problem, const struct program *program)
{
    const struct kernel *const kernel = call->kernel;
    if (!kernel->parts || !problem->saved) return 0;
    const size_t saved = attn_call_saved_bytes(kernel, problem);
    if (!bytes_fit(saved)) return ATTN_ESIZE;
    if (problem->saved_bytes && problem->saved_bytes < saved) return ATTN_EWORKSPACE;
    if ((uintptr_t)problem->saved % 64) return ATTN_EALIGN;
    if (program->saves) attn_call_place_rows(call, FROM_SAVED, (unsigned char *)problem->saved);
    attn_call_set_solution(call, (unsigned char *)problem->saved);
    return 0;
}

/* Computes the result, or adds the keys to problem->earlier_sums if `adds`. */
static int attend(const struct kernel *kernel, const struct attn_problem *problem, const void *params,
                  const void *const *argument, void *workspace, int adds)
{
    struct call call;
    int error = attn_call_begin(&call, kernel, problem, params, argument, ENTRY_FORWARD, 1), threads = 1;
    if (error) return error;
    if (attn_call_too_long(kernel, &call.p)) return ATTN_ELENGTH;
    if (call.p.batch == 0 || call.p.heads == 0 || (adds ? call.p.n_k == 0 : call.p.n_q == 0)) return 0;
    error = check_arguments(&call, !adds, call.p.n_k > 0);
    if (!error) error = attn_call_take_params(&call);
    if (error) return error;
    unsigned char *const sums = kernel->key_sums ? (unsigned char *)problem->earlier_sums : NULL;
    const struct program *const program = sums ? program_of_sums(kernel)
                                               : attn_call_program(kernel, RUN_FORWARD, 0,
                                                                   attn_call_keys(kernel, &call.p),
                                                                   attn_call_rows_of(kernel, &call.p), call.p.n_q);
    if (!attn_call_runs(program)) return ATTN_EMACHINE;
    if (program->in_keys && !sums && attn_call_after_keys(kernel, &call.p)) return ATTN_ELENGTH;
    if ((uintptr_t)sums % 64) return ATTN_EALIGN;
    if (sums) {
        call.outer = sums;
        call.outer_tasks = tasks_of_sums(&call.p, program);
        call.outer_head = call.outer_tasks * program->outer_bytes;
        call.gives = call.only_sums = adds;
    }
    const size_t shared = attn_call_shared_bytes(kernel, &call.p,
                                                 program->own_sums && !others_read_sums(kernel) ? NULL : &call.p);
    error = attn_call_take_workspace(kernel, problem, workspace, shared,
                                     max_bytes(kernel, keys_served(kernel, problem)), &threads);
    if (error) return error;
    error = take_saved(&call, problem, program);
    if (error) return error;
    unsigned char *const work = (unsigned char *)workspace + shared;
    if (kernel->delta && call.p.n_k == 0) compute_without_keys(&call);
    struct mask_tiles tables[MAX_MASKS];
    if (kernel->masks)
        error = attn_call_make_tiles(&call, tables, work - attn_call_tiles_bytes(kernel, &call.p), threads);
    if (error) return error;
    error = compute_first(&call, program, (unsigned char *)workspace, threads, work);
    if (program->by_heads) attn_call_heads_as_queries(&call);
    return error ? error : attn_call_run(&call, program, threads, work, attn_call_bytes_a_thread(program));
}

ATTN_API int attn_call_forward(const struct kernel *kernel, const struct attn_problem *problem, const void *params,
                               const void *const *argument, void *workspace)
{
    return attend(kernel, problem, params, argument, workspace, 0);
}

ATTN_API int attn_call_add_key_sums(const struct kernel *kernel, const struct attn_problem *problem, const void *params,
                                    const void *const *argument, void *workspace)
{
    if (!problem || !problem->earlier_sums) return ATTN_EPOINTER;
    return attend(kernel, problem, params, argument, workspace, 1);
}
