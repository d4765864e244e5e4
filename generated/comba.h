/* comba.h, made by attnc 0.2.0: attnc comba.yaml
   Comba: the gated delta rule with feedback by another vector than the key
   after Hu et al., Comba: Improving Bilinear RNNs with Closed-loop Control (arXiv 2025); feedback is p, normalised,
   which reads the decayed state, and q comes less its multiple of k
   q [B,H,n_q,64]  k [B,G,n_k,64]  v [B,G,n_k,64]  out [B,H,n_q,64], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_comba_H
#define ATTNC_comba_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The strides of arrays, for each axis the distance in elements between neighbours. All 0: the array is
   contiguous. An axis with stride 0 repeats the same elements; if all axes do, write ATTN_BROADCAST. */
struct comba_strides {
    int64_t gate[3]; /* [B, H, n_k] */
    int64_t feedback[4]; /* [B, H, n_k, 64] */
    int64_t beta[3]; /* [B, H, n_k] */
};
struct comba_params {
    const float *gate; /* [B, H, n_k] */
    const float *feedback; /* [B, H, n_k, 64] */
    const float *beta; /* [B, H, n_k] */
    const struct comba_strides *strides; /* NULL: all arrays are contiguous */
};

/* Returns the bytes of `storage` that comba_params_init needs for the random arrays. */
size_t comba_params_size(void);
/* Draws the random arrays and stores them in `storage`. Learned arrays become NULL; set them before other calls.
   Returns 0 or a negative ATTN_E… */
int comba_params_init(struct comba_params *params, uint64_t seed, void *storage);
/* Returns the bytes of the workspace for a problem. It must be aligned to 64.
   The number depends on problem->threads. With threads = 0 the workspace serves one thread
   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,
   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that _forward
   can check it. Returns 0 for NULL. */
size_t comba_workspace(const struct attn_problem *problem);
/* Computes out. Returns 0 or a negative ATTN_E… (see attn_strerror).
   Allocates no memory. The result does not depend on the number of threads. */
int comba_forward(const struct attn_problem *problem, const struct comba_params *params, const float *q, const float *k,
    const float *v,
    float *out, void *workspace);
extern const struct attn_kernel comba_kernel;

#ifdef __cplusplus
}
#endif
#endif
