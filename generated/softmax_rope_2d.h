/* softmax_rope_2d.h, made by attnc 0.2.0: attnc softmax_rope_2d.yaml
   softmax attention between the patches of an image with 32 patches in a row, rotated by row and column in turn
   Heo et al., Rotary Position Embedding for Vision Transformer (ECCV 2024), section 3.1, axial frequencies
   q [B,H,n_q,64]  k [B,G,n_k,64]  v [B,G,n_k,64]  out [B,H,n_q,64], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_softmax_rope_2d_H
#define ATTNC_softmax_rope_2d_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

struct softmax_rope_2d_params {
    int none; /* this variant has no parameters: pass NULL */
};

/* Returns the bytes of `storage` that softmax_rope_2d_params_init needs for the random arrays. */
size_t softmax_rope_2d_params_size(void);
/* Draws the random arrays and stores them in `storage`. Learned arrays become NULL; set them before other calls.
   Returns 0 or a negative ATTN_E… */
int softmax_rope_2d_params_init(struct softmax_rope_2d_params *params, uint64_t seed, void *storage);
/* Returns the bytes of the workspace for a problem. It must be aligned to 64.
   The number depends on problem->threads, not on the lengths. With threads = 0 the workspace serves one thread
   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,
   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that _forward
   can check it. Returns 0 for NULL. */
size_t softmax_rope_2d_workspace(const struct attn_problem *problem);
/* Computes out. Returns 0 or a negative ATTN_E… (see attn_strerror).
   Allocates no memory. The result does not depend on the number of threads. */
int softmax_rope_2d_forward(const struct attn_problem *problem, const struct softmax_rope_2d_params *params,
    const float *q, const float *k, const float *v,
    float *out, void *workspace);
extern const struct attn_kernel softmax_rope_2d_kernel;

#ifdef __cplusplus
}
#endif
#endif
