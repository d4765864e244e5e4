/* rwkv7.h, made by attnc 0.2.0: attnc rwkv7.yaml
   RWKV-7: two keys for each token, k with the value v, and `written` with what the row `erased` reads
   Peng et al., RWKV-7 "Goose" with Expressive Dynamic State Evolution (arXiv 2025), section 4;
   erased has the direction of -kappa / exp(gate) and written that of a times kappa,
   and beta is the product of their lengths
   q [B,H,n_q,64]  k [B,G,n_k,64]  v [B,G,n_k,64]  out [B,H,n_q,64], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_rwkv7_H
#define ATTNC_rwkv7_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The strides of arrays, for each axis the distance in elements between neighbours. All 0: the array is
   contiguous. An axis with stride 0 repeats the same elements; if all axes do, write ATTN_BROADCAST. */
struct rwkv7_strides {
    int64_t gate[4]; /* [B, H, n_k, 64] */
    int64_t erased[4]; /* [B, H, n_k, 64] */
    int64_t written[4]; /* [B, H, n_k, 64] */
    int64_t beta[3]; /* [B, H, n_k] */
};
struct rwkv7_params {
    const float *gate; /* [B, H, n_k, 64] */
    const float *erased; /* [B, H, n_k, 64] */
    const float *written; /* [B, H, n_k, 64] */
    const float *beta; /* [B, H, n_k] */
    const struct rwkv7_strides *strides; /* NULL: all arrays are contiguous */
};

/* Returns the bytes of `storage` that rwkv7_params_init needs for the random arrays. */
size_t rwkv7_params_size(void);
/* Draws the random arrays and stores them in `storage`. Learned arrays become NULL; set them before other calls.
   Returns 0 or a negative ATTN_E… */
int rwkv7_params_init(struct rwkv7_params *params, uint64_t seed, void *storage);
/* Returns the bytes of the workspace for a problem. It must be aligned to 64.
   The number depends on problem->threads. With threads = 0 the workspace serves one thread
   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,
   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that _forward
   can check it. Returns 0 for NULL. */
size_t rwkv7_workspace(const struct attn_problem *problem);
/* Computes out. Returns 0 or a negative ATTN_E… (see attn_strerror).
   Allocates no memory. The result does not depend on the number of threads. */
int rwkv7_forward(const struct attn_problem *problem, const struct rwkv7_params *params, const float *q, const float *k,
    const float *v,
    float *out, void *workspace);
extern const struct attn_kernel rwkv7_kernel;

#ifdef __cplusplus
}
#endif
#endif
