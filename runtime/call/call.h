/* The functions that the files of this folder share. The entry points of a kernel are a line each: NAME_forward calls
   attn_call_forward with the kernel's table, and so on. The functions that callers see say in attnrt.h and in NAME.h
   what they do. */
#ifndef ATTNRT_CALL_CALL_H
#define ATTNRT_CALL_CALL_H

#include "../kernel/call.h"

/* ---- arrays with a row for each sequence, head and position ---- */

/* Returns the bytes of such an array, whose rows have `row` bytes. */
INLINE size_t bytes_of_rows(size_t row, const struct attn_problem *p, int64_t heads, int64_t n)
{
    return whole_lines(bytes_times(bytes_times(bytes_times(row, p->batch), heads), n));
}
/* Returns the strides of such an array if it is contiguous. */
INLINE struct attn_strides contiguous(int64_t heads, int64_t n, int64_t row)
{
    return (struct attn_strides){heads * n * row, n * row, row};
}
/* Returns the strides on the axes of sequences, heads and positions of a parameter, or 0 for an axis that it lacks. */
INLINE struct attn_strides strides_of_axes(const struct place *place, const int axis[3])
{
    return (struct attn_strides){axis[0] < 0 ? 0 : place->stride[axis[0]], axis[1] < 0 ? 0 : place->stride[axis[1]],
                                 axis[2] < 0 ? 0 : place->stride[axis[2]]};
}
INLINE size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}
/* Returns the tasks of a key/value head of a program that carries sums. */
INLINE int64_t tasks_of_sums(const struct attn_problem *p, const struct program *program)
{
    return program->tile == 0 ? 1 : p->heads / max(p->kv_heads, 1);
}

/* ---- programs (program.c) ---- */

/* `rows` for attn_call_program: the number of queries of all heads that share keys, or one of these. */
enum { MANY_HEADS = -1, MANY_ROWS = 1 << 30 };
/* Returns the program of this machine's target for n_k keys. `rows` and n_q choose the form. If there is none, the
   program has no function. */
ATTN_API const struct program *attn_call_program(const struct kernel *kernel, enum program_role role, int part,
                                                 int64_t n_k, int64_t rows, int64_t n_q);
/* Returns the program of a role that has one for each target. */
INLINE const struct program *attn_call_program_of(const struct kernel *kernel, enum program_role role)
{
    return attn_call_program(kernel, role, 0, INT64_MAX, MANY_ROWS, 0);
}
/* Returns whether this machine can run it. */
INLINE int attn_call_runs(const struct program *program)
{
    return program->idle || program->rows || program->head;
}
INLINE size_t attn_call_bytes_a_thread(const struct program *program)
{
    return program->own + program->shared + program->slots * program->slot;
}
/* Returns the largest bytes of a thread over all programs of a role for up to n_k keys. */
ATTN_API size_t attn_call_max_bytes(const struct kernel *kernel, enum program_role role, int64_t n_k);
/* Returns the number of keys from which forward runs other programs than for n_k keys, or INT64_MAX. */
ATTN_API int64_t attn_call_next_length(const struct kernel *kernel, int64_t n_k);
/* Returns `rows` for a call: MANY_ROWS if it saves values or has many queries, because its queries are in the lanes. */
ATTN_API int64_t attn_call_rows_of(const struct kernel *kernel, const struct attn_problem *p);
/* Swaps heads and queries: the query heads that share keys become queries, and each query becomes a head. */
ATTN_API void attn_call_heads_as_queries(struct call *call);

/* ---- the arrays of a call (arrays.c) ---- */

/* Copies the call, with the arrays of its kernel. */
ATTN_API void attn_call_copy(struct call *to, const struct call *from);
/* Begins a call: checks the sizes, strides and positions, fills in `call->p`, and sets the places of arguments. Other
   places become NULL. `given`: keys and values have the kernel's types of storage. Returns 0 or an error. */
ATTN_API int attn_call_begin(struct call *call, const struct kernel *kernel, const struct attn_problem *problem,
                             const void *params, const void *const *argument, enum array_entry entry, int given);
/* Returns ATTN_EPOINTER if an argument that the call needs for its queries, or for its keys, is NULL, or if an output
   begins where another argument begins. `queries` and `keys`: the call has some. */
enum { SHARES_MEMORY = 1 << 8 }; /* call->wrong also has 1 << enum array_rows for arguments that are NULL */
INLINE int check_arguments(const struct call *call, int queries, int keys)
{
    return call->wrong & (SHARES_MEMORY | (queries ? 1 << ROWS_OF_QUERIES : 0) | (keys ? 1 << ROWS_OF_KEYS : 0))
               ? ATTN_EPOINTER
               : 0;
}
/* Returns the elements of an array with `elements` and `sizes`, or of its row if `elements` counts those of a row. */
ATTN_API size_t attn_call_elements(const struct array *a, const struct attn_problem *p);
/* Checks that the caller has given all parameters, and sets their places and strides. Returns 0 or an error. */
ATTN_API int attn_call_take_params(struct call *call);
INLINE int attn_call_too_long(const struct kernel *kernel, const struct attn_problem *p)
{
    return kernel->max_length && (p->n_q > kernel->max_length || p->n_k > kernel->max_length);
}
/* Returns whether a query is after the keys. */
INLINE int attn_call_after_keys(const struct kernel *kernel, const struct attn_problem *p)
{
    int after = 0;
    for (int64_t b = 0; kernel->positions && p->query_start && b < p->batch; b++)
        after |= (int64_t)((uint64_t)p->query_start[b] + (uint64_t)p->n_q) > p->n_k; /* no size is checked yet */
    return after;
}
/* Returns the number of keys that the choice of a program depends on. */
INLINE int64_t attn_call_keys(const struct kernel *kernel, const struct attn_problem *p)
{
    return attn_call_after_keys(kernel, p) ? 0 : p->n_k; /* only the quadratic form computes such queries */
}
ATTN_API int attn_call_has_any(const struct call *call, const uint16_t *wanted); /* one of these arrays is not NULL */
INLINE int64_t attn_call_sharing(const struct kernel *kernel, const struct attn_problem *p)
{
    return kernel->shares && p->key_heads ? max(p->heads / p->key_heads, 1) : 1;
}
/* Returns whether an id is smaller than the id of the previous key. */
ATTN_API int attn_call_ids_fall(const int32_t *id, int64_t batch, int64_t sequence, int64_t n, int64_t row);

/* ---- threads (threads.c) ---- */

/* A call of a program. */
struct job {
    const struct call *call;
    const struct program *program;
    int64_t tasks, alone; /* one thread runs each of the first `alone` tasks; all threads share each later one */
    double effort;        /* the multiply-adds of a task */
};
ATTN_API int64_t attn_call_threads_served(const struct kernel *kernel, const struct attn_problem *p);
/* Checks the workspace of a call, and sets *threads. The first `shared` bytes are for all threads. Returns 0 or an
 * error.*/
ATTN_API int attn_call_take_workspace(const struct kernel *kernel, const struct attn_problem *p, const void *workspace,
                                      size_t shared, size_t bytes_a_thread, int *threads);
/* Runs all tasks of a program. Each thread has `bytes` of workspace. Returns 0 or an error. */
ATTN_API int attn_call_run(const struct call *call, const struct program *program, int threads,
                           unsigned char *workspace, size_t bytes);
/* Runs the calls of a list, so that all threads have about the same work. Each thread has `bytes` of workspace. */
ATTN_API int attn_call_run_jobs(struct job *job, int64_t jobs, int threads, unsigned char *workspace, size_t bytes);
/* How a thread computes with floating-point numbers. attn_call_begin_arithmetic begins arithmetic without traps. */
struct arithmetic {
    uint64_t control, flags; /* registers of the processor */
};
ATTN_API struct arithmetic attn_call_begin_arithmetic(const struct kernel *kernel);
ATTN_API void attn_call_end_arithmetic(const struct arithmetic *before);

/* ---- tables of the tiles of masks (masks.c) ---- */

enum { MAX_MASKS = 16 };
ATTN_API size_t attn_call_tiles_bytes(const struct kernel *kernel, const struct attn_problem *problem);
/* Sets call->mask_tiles to `tables`, whose tiles begin at `at`, and fills them. Returns 0 or an error. */
ATTN_API int attn_call_make_tiles(struct call *call, struct mask_tiles *tables, unsigned char *at, int threads);

/* ---- what forward saves for backward (saved.c) ---- */

/* Returns the bytes of an array with an element per query and head. */
INLINE size_t attn_call_row_bytes(const struct kernel *kernel, const struct attn_problem *p)
{
    return bytes_of_rows(kernel->real, p, p->heads, p->n_q);
}
/* Places the arrays of this origin, which have an element per query and head, at `at` and after it. */
ATTN_API void attn_call_place_rows(struct call *call, enum array_origin origin, unsigned char *at);
ATTN_API size_t attn_call_saved_bytes(const struct kernel *kernel, const struct attn_problem *p);
/* Sets the place of the saved solution, if the kernel has one, in the memory `saved` of a call. */
ATTN_API void attn_call_set_solution(struct call *call, unsigned char *saved);

/* ---- what forward computes first: prefix sums and corrected values (forward.c, sums.c) ---- */

/* The arrays of prefix sums and of their gradients, numbers in kernel->prefix. */
enum prefix_array {
    PREFIX_OF_QUERY,
    PREFIX_OF_QUERY_LOW,
    PREFIX_OF_KEY,
    PREFIX_OF_KEY_LOW,
    PREFIX_OF_CHUNK,
    PREFIX_OF_CHUNK_LOW,
    PREFIX_GRADIENT_OF_QUERY,
    PREFIX_GRADIENT_OF_KEY,
    PREFIX_GRADIENT
};
/* Returns the place of an array of prefix sums. */
INLINE struct place *prefix_place(struct call *call, enum prefix_array array)
{
    return &call->array[call->kernel->prefix[array]];
}
ATTN_API size_t attn_call_prefix_rows(const struct kernel *kernel, const struct attn_problem *p, int64_t n);
ATTN_API int64_t attn_call_rows_of_sums(const struct kernel *kernel, const struct attn_problem *p);
ATTN_API size_t attn_call_prefix_bytes(const struct kernel *kernel, const struct attn_problem *p);
/* Sets the places of the prefix sums, which begin at `at`. Returns the end of these. */
ATTN_API unsigned char *attn_call_set_prefix_sums(struct call *call, unsigned char *at);
ATTN_API int attn_call_make_prefix_sums(struct call *call, const struct program *terms, int threads,
                                        unsigned char *work, size_t bytes);
/* Returns the bytes of the workspace that all threads of a call share: prefix sums of the problem `sums` or NULL,
   tables of tiles, corrected values, lists of the best keys. */
ATTN_API size_t attn_call_shared_bytes(const struct kernel *kernel, const struct attn_problem *p,
                                       const struct attn_problem *sums);
/* The lists of the best keys, which are before the tables of tiles (lists.c). attn_call_make_lists computes them; each
   thread has `work`, after the shared memory. */
ATTN_API size_t attn_call_lists_bytes(const struct kernel *kernel, const struct attn_problem *p);
ATTN_API int attn_call_make_lists(struct call *call, int threads, unsigned char *work);
/* Places the lists up to number `list` at `at`, and returns the program that computes this one, or NULL after the last
   list. */
ATTN_API const struct program *attn_call_place_list(struct call *call, int list, unsigned char *at, int of_state);
/* Sets n elements from `to` on to 0 in each row of an array of queries. */
ATTN_API void attn_call_clear_rows(const struct call *call, const struct place *place, int64_t elements);

/* Loops over numbers of one type (sums.c). Each has a form for floats and one for doubles. `program` is for
   attn_call_run. */
enum sums_task {
    SUMS_ADD_TERMS,       /* replaces a head's terms by prefix sums */
    SUMS_CONTINUE,        /* replaces the terms of new tokens by sums that continue from the previous row */
    SUMS_ADD_GRADIENTS,   /* replaces the gradients of prefix sums by those of the terms */
    SUMS_TOTAL_GRADIENTS, /* sums these gradients to problem->term_gradients */
    SUMS_WRITE_GRADIENTS, /* writes problem->query_decay_gradients and key_decay_gradients */
    SUMS_TAKE_GRADIENTS   /* reads problem->key_decay_gradients */
};
ATTN_API const struct program *attn_call_sums(const struct kernel *kernel, enum sums_task task);
/* An array of prefix sums and their low parts, in rows of bytes. */
struct sum_rows {
    unsigned char *sum, *low;
    const struct attn_strides *strides; /* in bytes */
};
/* Subtracts the prefix sums of the last of n rows from all rows, for each sequence and head. If `folds`, row -2 gets
   the total. */
ATTN_API void attn_call_begin_sums_again(const struct kernel *kernel, struct sum_rows rows, int64_t sequences,
                                         int64_t n);
/* Adds the prefix sums in row `row` of `from` to n rows of `to`, beginning with `first`, for each head of a sequence.
 */
ATTN_API void attn_call_add_sums(const struct kernel *kernel, struct sum_rows to, int64_t first, int64_t n,
                                 struct sum_rows from, int64_t row);

#endif
