/* One sequence over several ranks, for any kernel. A rank is a process, or a thread, that holds a run of consecutive
   tokens. Rank 0 has the first tokens, rank 1 the next ones, and so on. A run may have any length, also 0. C11 and C++.
   This header knows no way to send messages: attnrt_mpi.h has MPI, and callers may have others. */
#ifndef ATTNRT_RANKS_H
#define ATTNRT_RANKS_H

#include "attnrt.h"

#ifdef __cplusplus
extern "C" {
#endif
#if defined __GNUC__ && !defined ATTNRT_HIDDEN
#pragma GCC visibility push(default)
#endif

/* The functions that move bytes between ranks. They return 0, or an error, usually ATTN_ERANKS.
   - A message has up to ATTN_MESSAGE_BYTES bytes. It may have none.
   - `send` and `receive` only begin. They set *request, which `wait` ends. The bytes may be read or written until then.
   - Messages from one rank to another with the same tag arrive in the order in which they were sent, and are received
     in the order in which `receive` was called. A receiver knows how many bytes it gets.
   - `wait` must also deliver other messages that have begun. It gets each request once.
   - `sum` replaces `count` elements by the sums over all ranks, added in the order of the ranks: ((x0 + x1) + x2) + …
     All ranks get the same bits. It is ATTN_F32, ATTN_F64 or ATTN_I32. If it is NULL, attn_ranks_… use `send` and
     `receive`.
   - One thread at a time calls these functions for a rank. */
#define ATTN_MESSAGE_BYTES ((size_t)1 << 30)
struct attn_transport { /* zero the struct first, because later versions add members */
    void *user;         /* the first argument of each function */
    int rank, ranks;    /* 0 <= rank < ranks */
    int (*send)(void *user, const void *data, size_t bytes, int to, int tag, int64_t *request);
    int (*receive)(void *user, void *data, size_t bytes, int from, int tag, int64_t *request);
    int (*wait)(void *user, int64_t *request);
    int (*sum)(void *user, void *data, int64_t count, enum attn_dtype dtype);
};

/* Each function below is called on all ranks together, with the same kernel, batch and numbers of heads. n_q and n_k
   are the rank's own numbers of queries and keys, and arrays have the rank's own rows. All ranks return the same
   error: the first one that a rank has, by its number in enum attn_error, the smallest. No rank waits for a rank that
   has an error, except for one whose messages are not delivered. */

/* Returns the bytes of the workspace of attn_ranks_forward on this rank. This function sends nothing. Returns 0 if a
   product of sizes overflows, or if the kernel cannot be used with several ranks. */
size_t attn_ranks_workspace(const struct attn_transport *transport, const struct attn_kernel *kernel,
                            const struct attn_problem *mine);
/* Computes the rows of `out` for the rank's queries, as one call of forward with the keys of all ranks does.
   - A kernel whose states are sums (`emit: [forward, decode]`, a linear form) sends states from rank to rank, in slices
     of heads. The bits of `out` are those of NAME_extend on one rank for all tokens, however they are divided, if
     that is true of NAME_extend: for sums over chunks of up to 96 keys. n_q must equal n_k.
     Rank r waits for all ranks before it. With many ranks, set problem.foldable: ranks then sum their tokens at the
     same time, and join their states with NAME_state_fold. The result equals that of one rank up to rounding. If a
     rank does not begin at a multiple of the tokens that a state sums at a time, `foldable` changes nothing.
   - A kernel with key_sums (`emit: [forward, statistics]`, a linear form whose queries all see the same keys, as
     without a mask or with `lengths`) sends sums over keys to the last rank, and the sums over all keys back, in slices
     of heads. Their bytes do not depend on the number of tokens. If each rank's keys begin at a multiple of 4 tile_k
     keys (`attnc explain`), `out` has the bits of NAME_forward on one rank, else it is equal up to rounding. With
     problem.foldable, ranks sum their keys at the same time, and the bits depend on how keys are divided.
     With `causal` and `lengths` or `prefix` (`all: [causal, lengths]`), and with `causal` and `storage`, sums over
     earlier keys go to the next rank only, n_q must equal n_k, and `out` is equal up to rounding. If all queries also
     see the keys of a prefix (`any: [causal, prefix]`), the sums over these keys go back to the ranks that have some
     of them.
   - Another kernel with `emit: [forward, statistics]` sends keys and values from rank to rank, and merges results. The
     last query of all ranks is at the last key. Keys that no query of a rank sees are neither sent there nor computed,
     as far as distances, a prefix, `lengths`, `document` and `blocks` tell. With 16-bit elements, each merge rounds.
     With a `decay`, sums of its logarithm over earlier tokens go to the next rank first, and travel with keys.
     `document` has the ids of the tokens of all ranks, mine->all_keys is their number, and both are equal on all ranks.
     `blocks` has the lists of the rank's own queries, which count blocks of keys from the first key of all ranks. A
     sink, or another constant of a denominator, is added once for each row. If a row sees no key, its statistic may be
     that of the sink.

   Returns 0, an error of forward or of extend, or
   - ATTN_EPROBLEM: the ranks have different kernels, batches, numbers of heads, seeds, `document` or `lengths`
   - ATTN_EFOLD: the kernel has none of these, or its results for different keys cannot be merged: 'delta' changes the
     values, or an array has no rows of the rank's keys; or, with problem.foldable, states of the kernel cannot be
     joined; or a linear form names the number of a sequence, and there are several
   - ATTN_ELENGTH: positions count by blocks, and a run does not begin with a block. `blocks` has blocks of queries and
     of keys. An array with an element for each block of queries (`shape: [Nq / 16]`) has blocks of queries
   - ATTN_ERANKS: a message was not delivered */
int attn_ranks_forward(const struct attn_transport *transport, const struct attn_kernel *kernel,
                       const struct attn_problem *mine, const void *params, const void *q, const void *k, const void *v,
                       void *out, void *workspace);
/* Appends the tokens of all ranks to a state, as one call of extend does. Then one rank can decode.
   - The kernel passes states from rank to rank (see attn_ranks_forward). Otherwise the error is ATTN_EFOLD.
   - `state` on rank 0 has the tokens before those of rank 0. Afterwards, `state` on the last rank has all tokens, and
     must have been initialised before. Other ranks may pass NULL. After an error, the states are not to be used.
   - n_k is ignored. mine->lengths may give each sequence a number of tokens of this rank.
   - The workspace has attn_ranks_workspace() bytes. */
int attn_ranks_extend(const struct attn_transport *transport, const struct attn_kernel *kernel,
                      const struct attn_problem *mine, const void *params, const void *q, const void *k, const void *v,
                      void *out, void *state, void *workspace);

/* Returns the bytes of the workspace of attn_ranks_backward on this rank, like attn_ranks_workspace. */
size_t attn_ranks_backward_workspace(const struct attn_transport *transport, const struct attn_kernel *kernel,
                                     const struct attn_problem *mine);
/* Computes gradients after attn_ranks_forward, as backward does. Each rank writes the rows of dq, dk and dv that belong
   to its tokens. All ranks must want the same gradients of parameters, and get the same sums over all ranks, added in
   the order of the ranks. mine->saved is not used.
   - A kernel with add_outer_sums (`emit: [forward, backward, decode]`, a linear form) sends sums over earlier tokens to
     the next rank, and sums over later tokens to the rank before, in slices of heads. Their bytes do not depend on the
     number of tokens. With problem.foldable, ranks sum their tokens at the same time, unless sums decay or the spec has
     'delta'. Gradients equal those of one rank up to rounding. n_q must equal n_k, and each rank with tokens must begin
     at a multiple of kernel->outer_chunk, else the error is ATTN_ELENGTH. A gradient with a row for each token has the
     rank's rows. With `all: [causal, document]`, sums are those of the document at the border between ranks.
   - A kernel with key_sums and backward sends the sums over keys and over queries in the same way, or if it is causal,
     those over earlier and over later tokens. Ranks with keys of a prefix that all queries see also get the sums over
     all queries. A gradient with a row for each query or key has the rank's rows. mine->statistics is not used.
   - Another kernel with `emit: [forward, backward, statistics]` whose keys travel (see attn_ranks_forward) sends
     gradients of keys back to their rank. mine->statistics are those that attn_ranks_forward wrote. A gradient with a
     row for each query or key has the rank's rows, and elements for the keys of all ranks if the array has them. With
     16-bit elements, each sum of gradients rounds.
   - Other kernels: ATTN_EFOLD */
int attn_ranks_backward(const struct attn_transport *transport, const struct attn_kernel *kernel,
                        const struct attn_problem *mine, const void *params, const void *q, const void *k,
                        const void *v, const void *out, const void *dout, void *dq, void *dk, void *dv, void *gradients,
                        void *workspace);

#if defined __GNUC__ && !defined ATTNRT_HIDDEN
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
