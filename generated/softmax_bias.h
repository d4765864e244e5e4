/* softmax_bias.h, made by attnc 0.1.0: attnc softmax_bias.yaml
   softmax attention with an arbitrary bias for each head, query and key
   Raffel et al., Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer (JMLR 2020),
   section 2.1;
   T5 computes the bias from the distance and does not scale the logit
   q [B,H,n_q,64]  k [B,G,n_k,64]  v [B,G,n_k,64]  out [B,H,n_q,64], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_softmax_bias_H
#define ATTNC_softmax_bias_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

struct softmax_bias_params {
    const float *bias; /* [H, n_q, n_k] */
};

/* Returns the bytes of `storage` that softmax_bias_params_init needs for the random arrays. */
size_t softmax_bias_params_size(void);
/* Makes the random arrays in `storage`. Learned arrays become NULL,
   and the caller sets them. Returns 0 or a negative ATTN_E… */
int softmax_bias_params_init(struct softmax_bias_params *params, uint64_t seed, void *storage);
/* Returns the bytes of workspace, aligned to 64, for a problem; they depend on the threads, not on the lengths.
   With threads = 0 they serve one for each processor, or OpenMP's default if that is more, and _forward takes no
   more than they serve, whatever OpenMP is set to by then. Put them into problem->workspace_bytes, and _forward
   checks that they are enough. Returns 0 for NULL. */
size_t softmax_bias_workspace(const struct attn_problem *problem);
/* Returns 0 or a negative ATTN_E…; attn_strerror explains. Allocates nothing;
   the result does not depend on the number of threads. */
int softmax_bias_forward(const struct attn_problem *problem, const struct softmax_bias_params *params, const float *q,
    const float *k, const float *v,
    float *out, void *workspace);
extern const struct attn_kernel softmax_bias_kernel;

#ifdef __cplusplus
}
#endif
#endif
