/* polysketch_r64.h, made by attnc 0.2.0: attnc polysketch_r64.yaml
   polynomial attention of degree 4 through a random sketch of size 64, linear in the length
   Kacham, Mirrokni and Zhong, PolySketchFormer (ICML 2024), algorithm 1
   q [B,H,n_q,64]  k [B,G,n_k,64]  v [B,G,n_k,64]  out [B,H,n_q,64], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_polysketch_r64_H
#define ATTNC_polysketch_r64_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

struct polysketch_r64_params {
    const float *sketch_g1; /* [64, 64], from a seed: normal */
    const float *sketch_g2; /* [64, 64], from a seed: normal */
};

/* Returns the bytes of `storage` that polysketch_r64_params_init needs for the random arrays. It must be aligned to 64.
   */
size_t polysketch_r64_params_size(void);
/* Draws the random arrays and stores them in `storage`. Learned arrays become NULL; set them before other calls.
   Returns 0 or a negative ATTN_E… */
int polysketch_r64_params_init(struct polysketch_r64_params *params, uint64_t seed, void *storage);
/* Returns the bytes of the workspace for a problem, and for all problems with fewer keys. It must be aligned to 64.
   The number depends on problem->threads. With threads = 0 the workspace serves one thread
   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,
   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that _forward
   can check it. Returns 0 for NULL. */
size_t polysketch_r64_workspace(const struct attn_problem *problem);
/* Computes out. Returns 0 or a negative ATTN_E… (see attn_strerror).
   Allocates no memory. The result does not depend on the number of threads. */
int polysketch_r64_forward(const struct attn_problem *problem, const struct polysketch_r64_params *params,
    const float *q, const float *k, const float *v,
    float *out, void *workspace);
extern const struct attn_kernel polysketch_r64_kernel;

#ifdef __cplusplus
}
#endif
#endif
