/* dsa.h, made by attnc 0.2.0: attnc dsa.yaml
   sparse attention of DeepSeek: an indexer of 64 small heads chooses 2048 keys for a query, the same for all heads
   DeepSeek-AI, DeepSeek-V3.2 (arXiv 2025), section 2.1, equations 1 and 2
   q [B,H,n_q,576]  k [B,G,n_k,576]  out [B,H,n_q,512], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   A value is the first 512 elements of its key, so there is no v. problem->v and problem->dv are ignored.
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_dsa_H
#define ATTNC_dsa_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The strides of arrays, for each axis the distance in elements between neighbours. All 0: the array is
   contiguous. An axis with stride 0 repeats the same elements; if all axes do, write ATTN_BROADCAST. */
struct dsa_strides {
    int64_t qi[4]; /* [B, 64, n_q, 128] */
    int64_t ki[4]; /* [B, 1, n_k, 128] */
    int64_t w[3]; /* [B, n_q, 64] */
};
struct dsa_params {
    const float *qi; /* [B, 64, n_q, 128] */
    const float *ki; /* [B, 1, n_k, 128] */
    const float *w; /* [B, n_q, 64] */
    const struct dsa_strides *strides; /* NULL: all arrays are contiguous */
};

/* Returns the bytes of `storage` that dsa_params_init needs for the random arrays. */
size_t dsa_params_size(void);
/* Draws the random arrays and stores them in `storage`. Learned arrays become NULL; set them before other calls.
   Returns 0 or a negative ATTN_E… */
int dsa_params_init(struct dsa_params *params, uint64_t seed, void *storage);
/* Returns the bytes of the workspace for a problem. It must be aligned to 64.
   The number depends on problem->threads, not on the lengths. With threads = 0 the workspace serves one thread
   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,
   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that _forward
   can check it. Returns 0 for NULL. */
size_t dsa_workspace(const struct attn_problem *problem);
/* Computes out. Returns 0 or a negative ATTN_E… (see attn_strerror).
   Allocates no memory. The result does not depend on the number of threads. */
int dsa_forward(const struct attn_problem *problem, const struct dsa_params *params, const float *q, const float *k,
    float *out, void *workspace);
extern const struct attn_kernel dsa_kernel;

#ifdef __cplusplus
}
#endif
#endif
