/* linear_elu_decode.h, made by attnc 0.1.0: attnc linear_elu_decode.yaml
   linear attention with the feature map ELU + 1 that decodes tokens from a state of constant size
   Katharopoulos et al., Transformers are RNNs (ICML 2020), section 3.4
   q [B,H,n_q,16]  k [B,G,n_k,16]  v [B,G,n_k,16]  out [B,H,n_q,16], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_linear_elu_decode_H
#define ATTNC_linear_elu_decode_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linear_elu_decode_params {
    int none; /* this variant has no parameters: pass NULL */
};

/* Returns the bytes of `storage` that linear_elu_decode_params_init needs for the random arrays. */
size_t linear_elu_decode_params_size(void);
/* Makes the random arrays in `storage`. Learned arrays become NULL,
   and the caller sets them. Returns 0 or a negative ATTN_E… */
int linear_elu_decode_params_init(struct linear_elu_decode_params *params, uint64_t seed, void *storage);
/* Returns the bytes of workspace, aligned to 64, for a problem; they depend on the threads, not on the lengths.
   With threads = 0 they serve one for each processor, or OpenMP's default if that is more, and _forward takes no
   more than they serve, whatever OpenMP is set to by then. Put them into problem->workspace_bytes, and _forward
   checks that they are enough. Returns 0 for NULL. */
size_t linear_elu_decode_workspace(const struct attn_problem *problem);
/* Returns 0 or a negative ATTN_E…; attn_strerror explains. Allocates nothing;
   the result does not depend on the number of threads. */
int linear_elu_decode_forward(const struct attn_problem *problem, const struct linear_elu_decode_params *params,
    const float *q, const float *k, const float *v,
    float *out, void *workspace);

/* A state is one block of memory, aligned to 64, that remembers the tokens so far of problem->batch sequences:
   sums over the keys so far, and the last keys and values, of 32 tokens at most. It may be moved and saved as its bytes
   are. problem->state_bytes, if not 0, is how many of them there are. All functions return a negative ATTN_E… for a
   state that is not this kernel's, not of this problem (batch, heads, kv_heads) or damaged. */
/* Returns the bytes of a state. Returns 0 if the problem is NULL or not valid. */
size_t linear_elu_decode_state(const struct attn_problem *problem);
/* Initialises a state: every sequence is empty, and its first token will be at position problem->start,
   a multiple of the tokens that sums take in at a time; else ATTN_ELENGTH. */
int linear_elu_decode_state_init(const struct attn_problem *problem, void *state);
/* Returns the bytes of workspace for linear_elu_decode_extend, like linear_elu_decode_workspace. */
size_t linear_elu_decode_extend_workspace(const struct attn_problem *problem);
/* Adds problem->n_q tokens to each sequence b, or problem->lengths[b] tokens (maybe 0;
   rows after these are neither read nor written): q and out have n_q rows, k and v as well,
   and n_k is not looked at. Their rows of out are causal attention over all tokens so far,
   which the state remembers then; what linear_elu_decode_forward gives for a whole sequence,
   whatever the calls it is cut into. Returns 0; ATTN_ESTATE; ATTN_ECAPACITY before anything has changed;
   or as forward does. */
int linear_elu_decode_extend(const struct attn_problem *problem, const struct linear_elu_decode_params *params,
    const float *q, const float *k, const float *v,
    float *out, void *state, void *workspace);
/* Returns the number of tokens of a sequence so far. */
int64_t linear_elu_decode_state_length(const struct attn_problem *problem, const void *state, int64_t sequence);
/* Returns the minimum length, other than 0, to which the sequence can be truncated. */
int64_t linear_elu_decode_state_min_length(const struct attn_problem *problem, const void *state, int64_t sequence);
/* Removes tokens from `length` on. Returns ATTN_ELENGTH if there are fewer, or if the state cannot go back so far. */
int linear_elu_decode_state_truncate(const struct attn_problem *problem, void *state, int64_t sequence, int64_t length);
/* Copies a sequence of the state `from` to a sequence of `to`. These are states of the same problem, or one state. */
int linear_elu_decode_state_copy(const struct attn_problem *problem, void *to, int64_t to_sequence, const void *from,
    int64_t from_sequence);
/* Each sequence of `left` becomes its tokens followed by those of the same sequence of `right`,
   which begins at position 0 or, by problem->start of its linear_elu_decode_state_init, where that of `left` ends;
   else ATTN_ELENGTH. With 32 tokens or more that are not summed yet,
   ATTN_ECAPACITY. After an error nothing has changed. */
int linear_elu_decode_state_fold(const struct attn_problem *problem, void *left, const void *right);
extern const struct attn_kernel linear_elu_decode_kernel;

#ifdef __cplusplus
}
#endif
#endif
