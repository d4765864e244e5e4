/* mlstm.h, made by attnc 0.2.0: attnc mlstm.yaml
   the matrix memory of xLSTM: gated linear attention divided by a number that is at least 1
   Beck et al., xLSTM: Extended Long Short-Term Memory (NeurIPS 2024), section 2.3; f is the forget gate before sigmoid,
   w the exponential of the input gate, and both memories are without their common stabiliser
   q [B,H,n_q,64]  k [B,G,n_k,64]  v [B,G,n_k,64]  out [B,H,n_q,64], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_mlstm_H
#define ATTNC_mlstm_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The strides of arrays, for each axis the distance in elements between neighbours. All 0: the array is
   contiguous. An axis with stride 0 repeats the same elements; if all axes do, write ATTN_BROADCAST. */
struct mlstm_strides {
    int64_t f[3]; /* [B, H, n_k] */
    int64_t w[3]; /* [B, H, n_k] */
};
struct mlstm_params {
    const float *f; /* [B, H, n_k] */
    const float *w; /* [B, H, n_k] */
    const struct mlstm_strides *strides; /* NULL: all arrays are contiguous */
};

/* Returns the bytes of `storage` that mlstm_params_init needs for the random arrays. */
size_t mlstm_params_size(void);
/* Draws the random arrays and stores them in `storage`. Learned arrays become NULL; set them before other calls.
   Returns 0 or a negative ATTN_E… */
int mlstm_params_init(struct mlstm_params *params, uint64_t seed, void *storage);
/* Returns the bytes of the workspace for a problem, and for all problems with fewer keys and no more queries than keys.
   It must be aligned to 64.
   The number depends on problem->threads. With threads = 0 the workspace serves one thread
   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,
   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that _forward
   can check it. Returns 0 for NULL. */
size_t mlstm_workspace(const struct attn_problem *problem);
/* Computes out. Returns 0 or a negative ATTN_E… (see attn_strerror).
   Allocates no memory. The result does not depend on the number of threads. */
int mlstm_forward(const struct attn_problem *problem, const struct mlstm_params *params, const float *q, const float *k,
    const float *v,
    float *out, void *workspace);
extern const struct attn_kernel mlstm_kernel;

#ifdef __cplusplus
}
#endif
#endif
