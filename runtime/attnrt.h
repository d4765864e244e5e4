/* Types and functions for kernels of attnc and for their callers. C11 and C++. Kernels allocate no memory, do no I/O
   and have no static state.
   - B, H, G, N: batch, heads of q, heads of k and v (kv_heads), rows (n_q or n_k)
   - D, E: the size of a query and of a key (head_dim), the size of a value (value_dim)
   - NAME: the name of a kernel, the prefix of its functions, such as NAME_forward */
#ifndef ATTNRT_H
#define ATTNRT_H

/* ---- types ---- */

/* These types have their own include guard, because the header of a standalone kernel contains them, too. The
   guard's number changes when a type changes. */

#ifndef ATTNRT_TYPES
#define ATTNRT_TYPES 22
#include <stddef.h>
#include <stdint.h>

#include "attnrt/problem.h"
#include "attnrt/description.h"

#elif ATTNRT_TYPES != 22
#error "these kernels were emitted by different versions of attnc: regenerate all of them with one version"
#endif /* ATTNRT_TYPES */

/* How attn_ranks_… work, which `attnc explain --ranks` counts with, too.
   - ATTN_RANKS_SLICES: a sequence is cut into this number of slices for each rank, if there are enough heads
   - ATTN_RANKS_STORED: ranks that join states store the sums of chunks from this number of tokens on. It takes about
     as long to sum a chunk of 64 tokens again as to store and read its sums */
enum { ATTN_RANKS_SLICES = 4, ATTN_RANKS_STORED = 128 };

#ifdef __cplusplus
extern "C" {
#endif
#if defined __GNUC__ && !defined ATTNRT_HIDDEN
#pragma GCC visibility push(default) /* the shared library exports only these functions */
#endif

/* ---- error texts, and descriptions of calls and kernels (error.c, problem.c, kernel.c) ---- */

const char *attn_strerror(int error); /* returns a sentence for any value */
/* Checks a problem for a kernel with these sizes. Writes the problem with all strides to `filled`, which may be
   `problem` or NULL; after an error its content is undefined. Returns 0, ATTN_EPROBLEM or ATTN_ESIZE.
   - If all three strides are 0, the array is contiguous. Strides of an axis with extent 0 or 1 do not matter.
   - A row stride must be at least the size of a row.
   - With a batch or head stride of 0, all batches or heads share memory. Only inputs may have it.
   - batch, n_q and n_k may be 0. A kernel then does nothing. */
int attn_problem_check(const struct attn_problem *problem, int64_t head_dim, int64_t value_dim,
                       struct attn_problem *filled);

/* Like attn_problem_check, for keys and values of other types (`storage`): contiguous rows of k and v are `key_row`
   and `value_row` elements or bytes apart. */
int attn_stored_problem_check(const struct attn_problem *problem, int64_t head_dim, int64_t value_dim, int64_t key_row,
                              int64_t value_row, struct attn_problem *filled);

/* Returns the size of one element in bytes, or 1 if rows are bytes. */
size_t attn_dtype_size(enum attn_dtype dtype);
/* Writes the extents of parameter p to shape[0] … shape[p->rank - 1]. */
void attn_param_shape(const struct attn_param *p, const struct attn_problem *problem, int64_t *shape);
/* Returns true if parameter p is learned, so that it has a gradient. */
int attn_param_learned(const struct attn_param *p);

/* ---- results for two sets of keys (merge.c) ---- */

/* Merges the results of forward for the same queries and two sets of keys without a common key. `left_out` and
   left->statistics become the result for all keys, up to rounding. A row that sees no key on one side is the row of the
   other side.
   - left, right: the problems of both calls, with statistics. The sizes of out must be equal.
   - left->threads, left->team: the threads that merge. Without a team, it is one thread, unless this function was
     compiled with OpenMP.
   - dtype, value_dim, kind: as in struct attn_kernel. With ATTN_UNDIVIDED, rows are added, and statistics may be NULL.
   - Only one call may have a constant or a sink in its denominator (`normalize: {sum_plus: …}` or `sink`).
   - The mask must not use positions, because positions of keys are other ones in a call for a part.
   Returns 0, or one of
   - ATTN_EPROBLEM: a size or stride is negative or too small, or the sizes differ
   - ATTN_ESIZE: a product of sizes overflows
   - ATTN_EPOINTER: a problem or an array is NULL
   - ATTN_EFOLD: `kind` is ATTN_NO_STATISTICS, or `dtype` is no type of results */
int attn_merge(const struct attn_problem *left, void *left_out, const struct attn_problem *right, const void *right_out,
               enum attn_dtype dtype, int64_t value_dim, enum attn_statistics kind);

/* ---- memory and time for callers (memory.c, timer.c) ---- */

void *attn_alloc(size_t bytes); /* returns zeroed memory, aligned to 64 bytes, to free with attn_free; NULL if out of
                                   memory */
void attn_free(void *memory);
double attn_seconds(void); /* returns the time of a monotonic clock in seconds */

/* ---- features that the processor has and that the system lets this process use (processor.c) ---- */

/* Returns the highest x86-64 level, 1 to 4, whose instructions kernels may use. Returns 1 on other processors. */
int attn_x86_64_level(void);
int attn_avx512_bf16(void); /* returns 1 if products of bf16 pairs (AVX512-BF16) may be used */
int attn_avx512_vnni(void); /* returns 1 if products of bytes (AVX512-VNNI) may be used */
int attn_is_intel(void);    /* returns 1 if Intel made the processor, whose bf16 pairs are slower than f32 */
/* Returns true if this process may use AMX. The first call asks Linux for permission. */
int attn_tiles(void);

#include "attnrt/numbers.h"
#include "attnrt/masks.h"
#include "attnrt/npy.h"

#if defined __GNUC__ && !defined ATTNRT_HIDDEN
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
