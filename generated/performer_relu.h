/* performer_relu.h, made by attnc 0.2.0: attnc performer_relu.yaml
   Performer attention with ReLU random features
   Choromanski et al., Rethinking Attention with Performers (ICLR 2021), section 2.2
   q [B,H,n_q,64]  k [B,G,n_k,64]  v [B,G,n_k,64]  out [B,H,n_q,64], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_performer_relu_H
#define ATTNC_performer_relu_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

struct performer_relu_params {
    const float *features_w; /* [256, 64], from a seed: orthogonal */
};

/* Returns the bytes of `storage` that performer_relu_params_init needs for the random arrays. It must be aligned to 64.
   */
size_t performer_relu_params_size(void);
/* Draws the random arrays and stores them in `storage`. Learned arrays become NULL; set them before other calls.
   Returns 0 or a negative ATTN_E… */
int performer_relu_params_init(struct performer_relu_params *params, uint64_t seed, void *storage);
/* Returns the bytes of the workspace for a problem, and for all problems with fewer keys. It must be aligned to 64.
   The number depends on problem->threads. With threads = 0 the workspace serves one thread
   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,
   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that _forward
   can check it. Returns 0 for NULL. */
size_t performer_relu_workspace(const struct attn_problem *problem);
/* Computes out. Returns 0 or a negative ATTN_E… (see attn_strerror).
   Allocates no memory. The result does not depend on the number of threads. */
int performer_relu_forward(const struct attn_problem *problem, const struct performer_relu_params *params,
    const float *q, const float *k, const float *v,
    float *out, void *workspace);
extern const struct attn_kernel performer_relu_kernel;

#ifdef __cplusplus
}
#endif
#endif
