/* softmax_causal_gradients.h, made by attnc 0.1.0: attnc softmax_causal_gradients.yaml
   causal softmax attention with gradients, which recompute the weights from one number that forward saves for each
   query
   Dao et al., FlashAttention (NeurIPS 2022), section 3.1
   q [B,H,n_q,16]  k [B,G,n_k,16]  v [B,G,n_k,16]  out [B,H,n_q,16], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_softmax_causal_gradients_H
#define ATTNC_softmax_causal_gradients_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

struct softmax_causal_gradients_params {
    int none; /* this variant has no parameters: pass NULL */
};

/* Returns the bytes of `storage` that softmax_causal_gradients_params_init needs for the random arrays. */
size_t softmax_causal_gradients_params_size(void);
/* Makes the random arrays in `storage`. Learned arrays become NULL,
   and the caller sets them. Returns 0 or a negative ATTN_E… */
int softmax_causal_gradients_params_init(struct softmax_causal_gradients_params *params, uint64_t seed, void *storage);
/* Returns the bytes of workspace, aligned to 64, for a problem; they depend on the threads, not on the lengths.
   With threads = 0 they serve one for each processor, or OpenMP's default if that is more, and _forward takes no
   more than they serve, whatever OpenMP is set to by then. Put them into problem->workspace_bytes, and _forward
   checks that they are enough. Returns 0 for NULL. */
size_t softmax_causal_gradients_workspace(const struct attn_problem *problem);
/* Returns 0 or a negative ATTN_E…; attn_strerror explains. Allocates nothing;
   the result does not depend on the number of threads. */
int softmax_causal_gradients_forward(const struct attn_problem *problem,
    const struct softmax_causal_gradients_params *params, const float *q, const float *k, const float *v,
    float *out, void *workspace);

/* The arrays for gradients with respect to learned parameters. A gradient that is NULL is not computed. */
struct softmax_causal_gradients_gradients {
    int none; /* this variant has no learned parameters: pass NULL */
};
/* The bytes of problem->saved. Unless that is NULL, softmax_causal_gradients_forward fills it for
   softmax_causal_gradients_backward with the same arrays. Returns 0 if the sizes overflow. */
size_t softmax_causal_gradients_saved(const struct attn_problem *problem);
/* Returns the bytes of workspace for softmax_causal_gradients_backward,
   aligned to 64. Put them into problem->workspace_bytes. Returns 0 for NULL, or if the sizes overflow. */
size_t softmax_causal_gradients_backward_workspace(const struct attn_problem *problem);
/* Computes the gradients with respect to q, k and v from dout,
   the gradient with respect to out. A gradient that is NULL is not computed. With grouped heads dk and dv are sums over
   the group. Returns as forward does; the bits depend neither on the threads nor on which gradients are wanted. */
int softmax_causal_gradients_backward(const struct attn_problem *problem,
    const struct softmax_causal_gradients_params *params, const float *q, const float *k, const float *v,
    const float *out, const float *dout,
    float *dq, float *dk, float *dv, struct softmax_causal_gradients_gradients *gradients, void *workspace);
extern const struct attn_kernel softmax_causal_gradients_kernel;

#ifdef __cplusplus
}
#endif
#endif
