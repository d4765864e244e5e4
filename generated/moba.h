/* moba.h, made by attnc 0.2.0: attnc moba.yaml
   mixture of block attention: a query sees its own block and the 2 earlier blocks whose mean key fits it best
   Lu et al., MoBA (arXiv 2025), section 2.2, equations 2 to 6 with blocks of 512 and k = 3
   q [B,H,n_q,64]  k [B,G,n_k,64]  v [B,G,n_k,64]  out [B,H,n_q,64], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_moba_H
#define ATTNC_moba_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The strides of arrays, for each axis the distance in elements between neighbours. All 0: the array is
   contiguous. An axis with stride 0 repeats the same elements; if all axes do, write ATTN_BROADCAST. */
struct moba_strides {
    int64_t mean[4]; /* [B, G, n_k, 64] */
};
struct moba_params {
    const float *mean; /* [B, G, n_k, 64] */
    const struct moba_strides *strides; /* NULL: all arrays are contiguous */
};

/* Returns the bytes of `storage` that moba_params_init needs for the random arrays. */
size_t moba_params_size(void);
/* Draws the random arrays and stores them in `storage`. Learned arrays become NULL; set them before other calls.
   Returns 0 or a negative ATTN_E… */
int moba_params_init(struct moba_params *params, uint64_t seed, void *storage);
/* Returns the bytes of the workspace for a problem. It must be aligned to 64.
   The number depends on problem->threads, not on the lengths. With threads = 0 the workspace serves one thread
   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,
   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that _forward
   can check it. Returns 0 for NULL. */
size_t moba_workspace(const struct attn_problem *problem);
/* Computes out. Returns 0 or a negative ATTN_E… (see attn_strerror).
   Allocates no memory. The result does not depend on the number of threads. */
int moba_forward(const struct attn_problem *problem, const struct moba_params *params, const float *q, const float *k,
    const float *v,
    float *out, void *workspace);
extern const struct attn_kernel moba_kernel;

#ifdef __cplusplus
}
#endif
#endif
