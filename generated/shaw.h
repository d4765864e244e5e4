/* shaw.h, made by attnc 0.2.0: attnc shaw.yaml
   softmax attention with vectors of the clipped distance, which are added to keys and to values
   Shaw, Uszkoreit and Vaswani, Self-Attention with Relative Position Representations (NAACL 2018), section 3, with
   distances from -2 to 2; x is the product of each query and the table of keys, and y is the table of values
   q [B,H,n_q,64]  k [B,G,n_k,64]  v [B,G,n_k,64]  out [B,H,n_q,64], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_shaw_H
#define ATTNC_shaw_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The strides of arrays, for each axis the distance in elements between neighbours. All 0: the array is
   contiguous. An axis with stride 0 repeats the same elements; if all axes do, write ATTN_BROADCAST. */
struct shaw_strides {
    int64_t x[4]; /* [B, H, n_q, 5] */
    int64_t y[2]; /* [5, 64] */
};
struct shaw_params {
    const float *x; /* [B, H, n_q, 5] */
    const float *y; /* [5, 64] */
    const struct shaw_strides *strides; /* NULL: all arrays are contiguous */
};

/* Returns the bytes of `storage` that shaw_params_init needs for the random arrays. */
size_t shaw_params_size(void);
/* Draws the random arrays and stores them in `storage`. Learned arrays become NULL; set them before other calls.
   Returns 0 or a negative ATTN_E… */
int shaw_params_init(struct shaw_params *params, uint64_t seed, void *storage);
/* Returns the bytes of the workspace for a problem. It must be aligned to 64.
   The number depends on problem->threads, not on the lengths. With threads = 0 the workspace serves one thread
   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,
   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that _forward
   can check it. Returns 0 for NULL. */
size_t shaw_workspace(const struct attn_problem *problem);
/* Computes out. Returns 0 or a negative ATTN_E… (see attn_strerror).
   Allocates no memory. The result does not depend on the number of threads. */
int shaw_forward(const struct attn_problem *problem, const struct shaw_params *params, const float *q, const float *k,
    const float *v,
    float *out, void *workspace);
extern const struct attn_kernel shaw_kernel;

#ifdef __cplusplus
}
#endif
#endif
