/* polynomial_p2.h, made by attnc 0.2.0: attnc polynomial_p2.yaml
   causal polynomial attention of degree 2 on layer-normed queries and keys
   Kacham, Mirrokni and Zhong, PolySketchFormer: Fast Transformers via Sketching Polynomial Kernels (ICML 2024),
   section 2.1
   q [B,H,n_q,64]  k [B,G,n_k,64]  v [B,G,n_k,64]  out [B,H,n_q,64], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_polynomial_p2_H
#define ATTNC_polynomial_p2_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

struct polynomial_p2_params {
    const float *k_norm_weight; /* [64] */
    const float *k_norm_bias; /* [64] */
    const float *q_norm_weight; /* [64] */
    const float *q_norm_bias; /* [64] */
};

/* Returns the bytes of `storage` that polynomial_p2_params_init needs for the random arrays. */
size_t polynomial_p2_params_size(void);
/* Draws the random arrays and stores them in `storage`. Learned arrays become NULL; set them before other calls.
   Returns 0 or a negative ATTN_E… */
int polynomial_p2_params_init(struct polynomial_p2_params *params, uint64_t seed, void *storage);
/* Returns the bytes of the workspace for a problem, and for all problems with fewer keys. It must be aligned to 64.
   The number depends on problem->threads. With threads = 0 the workspace serves one thread
   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,
   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that _forward
   can check it. Returns 0 for NULL. */
size_t polynomial_p2_workspace(const struct attn_problem *problem);
/* Computes out. Returns 0 or a negative ATTN_E… (see attn_strerror).
   Allocates no memory. The result does not depend on the number of threads. */
int polynomial_p2_forward(const struct attn_problem *problem, const struct polynomial_p2_params *params, const float *q,
    const float *k, const float *v,
    float *out, void *workspace);
extern const struct attn_kernel polynomial_p2_kernel;

#ifdef __cplusplus
}
#endif
#endif
