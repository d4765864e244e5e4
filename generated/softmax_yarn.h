/* softmax_yarn.h, made by attnc 0.2.0: attnc softmax_yarn.yaml
   causal softmax attention of a model trained on 4,096 positions, extended to 65,536 by YaRN
   Peng et al., YaRN: Efficient Context Window Extension of Large Language Models (ICLR 2024), sections 3.2 and 3.3
   q [B,H,n_q,128]  k [B,G,n_k,128]  v [B,G,n_k,128]  out [B,H,n_q,128], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_softmax_yarn_H
#define ATTNC_softmax_yarn_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

struct softmax_yarn_params {
    int none; /* this variant has no parameters: pass NULL */
};

/* Returns the bytes of `storage` that softmax_yarn_params_init needs for the random arrays. */
size_t softmax_yarn_params_size(void);
/* Draws the random arrays and stores them in `storage`. Learned arrays become NULL; set them before other calls.
   Returns 0 or a negative ATTN_E… */
int softmax_yarn_params_init(struct softmax_yarn_params *params, uint64_t seed, void *storage);
/* Returns the bytes of the workspace for a problem. It must be aligned to 64.
   The number depends on problem->threads, not on the lengths. With threads = 0 the workspace serves one thread
   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,
   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that _forward
   can check it. Returns 0 for NULL. */
size_t softmax_yarn_workspace(const struct attn_problem *problem);
/* Computes out. Returns 0 or a negative ATTN_E… (see attn_strerror).
   Allocates no memory. The result does not depend on the number of threads. */
int softmax_yarn_forward(const struct attn_problem *problem, const struct softmax_yarn_params *params, const float *q,
    const float *k, const float *v,
    float *out, void *workspace);

/* A state is one block of memory, aligned to 64, for the tokens so far of problem->batch sequences.
   For each sequence it stores
   the keys and values of up to problem->capacity tokens.
   A state contains no addresses, so its bytes can be copied and saved.
   If problem->state_bytes is not 0, it must be at least softmax_yarn_state(problem).
   All functions return a negative ATTN_E… if the state is damaged, of another kernel,
   or of another problem (batch, heads, kv_heads, capacity). */
/* Returns the bytes of a state. Returns 0 if the problem is NULL or not valid. */
size_t softmax_yarn_state(const struct attn_problem *problem);
/* Initialises a state whose sequences are all empty. */
int softmax_yarn_state_init(const struct attn_problem *problem, void *state);
/* Returns the bytes of a page for problem->pages, or 0 for an error. */
size_t softmax_yarn_page(const struct attn_problem *problem);
/* Returns the bytes of the workspace of softmax_yarn_extend, like softmax_yarn_workspace. */
size_t softmax_yarn_extend_workspace(const struct attn_problem *problem);
/* Appends problem->n_q tokens to each sequence, or problem->lengths[b] tokens to sequence b, which may be 0.
   q, k, v and out have n_q rows. Rows after the first lengths[b] are neither read nor written. n_k is ignored.
   A row of out is causal attention over all tokens of its sequence so far: the row that softmax_yarn_forward
   computes for the whole sequence, however the sequence is divided into calls. The state then contains the
   new tokens.
   If q and out are NULL, the call only adds the tokens to the state. Keys are stored after normalisation, rotation or
   the like, computed with the parameters of this call.
   Returns 0, ATTN_ESTATE, ATTN_ECAPACITY (the state is unchanged), or an error of forward. */
int softmax_yarn_extend(const struct attn_problem *problem, const struct softmax_yarn_params *params, const float *q,
    const float *k, const float *v,
    float *out, void *state, void *workspace);
/* Returns the length of a sequence so far: the position of its next token. */
int64_t softmax_yarn_state_length(const struct attn_problem *problem, const void *state, int64_t sequence);
/* Returns the minimum length to which the sequence can be truncated. It can always be emptied, too. */
int64_t softmax_yarn_state_min_length(const struct attn_problem *problem, const void *state, int64_t sequence);
/* Truncates a sequence to `length`. Returns ATTN_ELENGTH if the sequence is shorter, or if `length` is below
   softmax_yarn_state_min_length and the result is not empty. It can always go back by problem->rewind tokens from the
   longest that it has been; problem->rewind must be the same in all calls with a state. */
int softmax_yarn_state_truncate(const struct attn_problem *problem, void *state, int64_t sequence, int64_t length);
/* Copies a sequence of the state `from` over a sequence of the state `to`, which may be the same state.
   Both states must be of this problem. */
int softmax_yarn_state_copy(const struct attn_problem *problem, void *to, int64_t to_sequence, const void *from,
    int64_t from_sequence);
/* Keeps `count` of the last call's tokens of a sequence: the tokens path[0] < path[1] < … of these, counted
   from 0, at the positions after the earlier tokens. The others are removed.
   Returns ATTN_ELENGTH if the path is not ascending or has other tokens, if the sequence cannot be truncated to
   this length, or if the path is not 0, 1, 2, …: rows of this kernel's states belong to a position. */
int softmax_yarn_state_keep(const struct attn_problem *problem, void *state, int64_t sequence, const int64_t *path,
    int64_t count);
/* Returns the bytes of a state as an array [B, heads, numbers] of the type of sums. The numbers of a head are a
   matrix [features, value_dim] for each weighted sum: the sum of each key's features times its value. A sum of
   weights has a vector [features]. Heads are those of k, or of q if their sums differ. Returns 0 for a state
   that is no such array. */
size_t softmax_yarn_state_sums(const struct attn_problem *problem);
/* Sets all sequences of an initialised state to this array. They then have the length of the tokens that the
   kernel sums at a time. Returns ATTN_EFOLD if softmax_yarn_state_sums() is 0. */
int softmax_yarn_state_set(const struct attn_problem *problem, void *state, const void *sums);
/* Writes this array. It may move rows in the state, which does not change results. `params` is a struct
   softmax_yarn_params;
   arrays with a row for each token may be NULL. The workspace is that of softmax_yarn_extend. Returns ATTN_EFOLD if
   softmax_yarn_state_sums() is 0. */
int softmax_yarn_state_get(const struct attn_problem *problem, const void *params, void *state, void *sums,
    void *workspace);
/* Returns ATTN_EFOLD: states of this kernel cannot be joined. */
int softmax_yarn_state_fold(const struct attn_problem *problem, void *left, const void *right);
extern const struct attn_kernel softmax_yarn_kernel;

#ifdef __cplusplus
}
#endif
#endif
