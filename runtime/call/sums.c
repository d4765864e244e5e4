/* Prefix sums: sums of terms up to the position of a query or key, such as the logarithms of a decay. */
#include "call.h"

/* Neighbouring sums that are added row by row, because a line of memory has several. */
enum { SUMS_ABREAST = 32 };

/* Adds x to high + low. `low` is the rounding error of `high`. */
INLINE void add_to_sum(double *high, double *low, double x)
{
    const double sum = *high + x, added = sum - *high;
    *low += (*high - (sum - added)) + (x - added);
    *high = sum;
}

INLINE void *at_of(const struct call *call, enum prefix_array array)
{
    return call->array[call->kernel->prefix[array]].at;
}

/* Returns whether each query is at the position of a key, so that queries need no arrays. */
static int queries_at_keys(const struct kernel *kernel, const struct attn_problem *p)
{
    return !p->query_start && !(kernel->decay_parts && p->query_decay) && p->n_q <= p->n_k;
}

#define REAL float
#define R(name) name##_f32
#include "sums_of_real.h"
#undef REAL
#undef R
#define REAL double
#define R(name) name##_f64
#include "sums_of_real.h"
#undef REAL
#undef R

ATTN_API const struct program *attn_call_sums(const struct kernel *kernel, enum sums_task task)
{
#define SUMS(name, effort) \
    { \
        {.rows = name##_f32, .tile = -1, .of_token = effort}, \
        { \
            .rows = name##_f64, .tile = -1, .of_token = effort \
        } \
    }
    static const struct program program[][2] = {[SUMS_ADD_TERMS] = SUMS(add_terms, 8),
                                                [SUMS_CONTINUE] = SUMS(continue_sums, 0),
                                                [SUMS_ADD_GRADIENTS] = SUMS(add_gradients, 8),
                                                [SUMS_TOTAL_GRADIENTS] = SUMS(total_gradients, 8),
                                                [SUMS_WRITE_GRADIENTS] = SUMS(write_gradients, 8),
                                                [SUMS_TAKE_GRADIENTS] = SUMS(take_gradients, 8)};
#undef SUMS
    return &program[task][kernel->real == 8];
}

ATTN_API void attn_call_begin_sums_again(const struct kernel *kernel, struct sum_rows rows, int64_t sequences,
                                         int64_t n)
{
    (kernel->real == 8 ? begin_sums_again_f64 : begin_sums_again_f32)(kernel, &rows, sequences, n);
}

ATTN_API void attn_call_add_sums(const struct kernel *kernel, struct sum_rows to, int64_t first, int64_t n,
                                 struct sum_rows from, int64_t row)
{
    (kernel->real == 8 ? add_sums_f64 : add_sums_f32)(kernel, &to, first, n, &from, row);
}

/* Returns the bytes of an array with a row per position and head. */
ATTN_API size_t attn_call_prefix_rows(const struct kernel *kernel, const struct attn_problem *p, int64_t n)
{
    return bytes_of_rows((size_t)kernel->prefix_row * kernel->real, p, p->heads, n);
}

/* Returns the number of rows of a head's sums. With outer sums, row -1 is the one before the first token. */
ATTN_API int64_t attn_call_rows_of_sums(const struct kernel *kernel, const struct attn_problem *p)
{
    return kernel->outer ? min(p->n_k, INT64_MAX - 1) + 1 : p->n_k;
}

/* Returns the bytes of the prefix sums and of their low parts. */
ATTN_API size_t attn_call_prefix_bytes(const struct kernel *kernel, const struct attn_problem *p)
{
    return bytes_times(bytes_plus(attn_call_prefix_rows(kernel, p, p->n_q),
                                  attn_call_prefix_rows(kernel, p, attn_call_rows_of_sums(kernel, p))),
                       2);
}

static void set_place(struct call *call, enum prefix_array array, void *at, struct attn_strides strides)
{
    struct place *const place = prefix_place(call, array);
    place->at = at;
    place->strides = strides;
}

ATTN_API unsigned char *attn_call_set_prefix_sums(struct call *call, unsigned char *at)
{
    const struct kernel *const kernel = call->kernel;
    const struct attn_problem *const p = &call->p;
    const int64_t rows = attn_call_rows_of_sums(kernel, p), row = kernel->prefix_row,
                  bytes = row * (int64_t)kernel->real;
    const struct attn_strides queries = contiguous(p->heads, p->n_q, row), keys = contiguous(p->heads, rows, row);
    const size_t of_queries = whole_lines((size_t)(p->batch * queries.batch) * kernel->real),
                 of_keys = whole_lines((size_t)(p->batch * keys.batch) * kernel->real);
    unsigned char *const key = at + 2 * of_queries + (kernel->outer ? bytes : 0), *const key_low = key + of_keys;
    set_place(call, PREFIX_OF_KEY, key, keys);
    set_place(call, PREFIX_OF_KEY_LOW, key_low, keys);
    set_place(call, PREFIX_OF_CHUNK, key, keys);
    set_place(call, PREFIX_OF_CHUNK_LOW, key_low, keys);
    if (queries_at_keys(kernel, p)) {
        set_place(call, PREFIX_OF_QUERY, key + (p->n_k - p->n_q) * bytes, keys);
        set_place(call, PREFIX_OF_QUERY_LOW, key_low + (p->n_k - p->n_q) * bytes, keys);
    } else {
        set_place(call, PREFIX_OF_QUERY, at, queries);
        set_place(call, PREFIX_OF_QUERY_LOW, at + of_queries, queries);
    }
    return at + 2 * (of_queries + of_keys);
}

/* Computes the prefix sums of a call. Each thread has `bytes` bytes of the workspace `work`. */
ATTN_API int attn_call_make_prefix_sums(struct call *call, const struct program *terms, int threads,
                                        unsigned char *work, size_t bytes)
{
    const int64_t n_q = call->p.n_q;
    call->p.n_q = call->p.n_k; /* one term for each key */
    const int error = attn_call_run(call, terms, threads, work, bytes);
    call->p.n_q = n_q;
    return error ? error : attn_call_run(call, attn_call_sums(call->kernel, SUMS_ADD_TERMS), threads, work, bytes);
}

ATTN_API size_t attn_call_shared_bytes(const struct kernel *kernel, const struct attn_problem *p,
                                       const struct attn_problem *sums)
{
    size_t bytes = kernel->prefix_row && sums ? attn_call_prefix_bytes(kernel, sums) : 0;
    if (kernel->masks) bytes = bytes_plus(bytes, attn_call_tiles_bytes(kernel, p));
    if (kernel->lists) bytes = bytes_plus(bytes, attn_call_lists_bytes(kernel, p));
    if (kernel->corrected < 0) return bytes;
    const size_t row = (size_t)(kernel->value_dim * (1 + kernel->tangents)) * kernel->real;
    return bytes_plus(bytes, bytes_of_rows(row, p, p->heads, p->n_k));
}

/* Member decay_sums of struct attn_kernel. */
ATTN_API int attn_call_decay_sums(const struct kernel *kernel, const struct attn_problem *problem, const void *params,
                                  double *sums, void *workspace)
{
    if (!problem || !sums) return ATTN_EPOINTER;
    struct attn_problem keys = *problem;
    struct call call;
    keys.query_start = NULL;
    keys.query_decay = NULL;
    int error = attn_call_begin(&call, kernel, &keys, params, NULL, ENTRY_FORWARD, 1), threads = 1;
    if (error || call.p.batch == 0 || call.p.heads == 0 || call.p.n_k == 0) return error;
    error = attn_call_take_params(&call);
    if (error) return error;
    const size_t shared = attn_call_shared_bytes(kernel, &call.p, &call.p);
    const struct program *const terms = attn_call_program_of(kernel, RUN_TERMS);
    if (!attn_call_runs(terms)) return ATTN_EMACHINE;
    const size_t bytes = larger(attn_call_max_bytes(kernel, RUN_CORRECT, INT64_MAX), attn_call_bytes_a_thread(terms));
    error = attn_call_take_workspace(kernel, problem, workspace, shared, bytes, &threads);
    if (error) return error;
    attn_call_set_prefix_sums(&call, (unsigned char *)workspace);
    error = attn_call_make_prefix_sums(&call, terms, threads, (unsigned char *)workspace + shared, bytes);
    if (!error) (kernel->real == 8 ? write_sums_f64 : write_sums_f32)(&call, sums);
    return error;
}
