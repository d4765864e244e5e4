/* nsa_selected.h, made by attnc 0.2.0: attnc nsa_selected.yaml
   natively sparse attention that chooses its blocks: compressed blocks, the best blocks by their weights, and a window
   Yuan et al., Native Sparse Attention (ACL 2025), equations 5 to 12 with blocks of 64 that do not overlap
   q [B,H,n_q,64]  k [B,G,n_k,64]  v [B,G,n_k,64]  out [B,H,n_q,64], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_nsa_selected_H
#define ATTNC_nsa_selected_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The strides of arrays, for each axis the distance in elements between neighbours. All 0: the array is
   contiguous. An axis with stride 0 repeats the same elements; if all axes do, write ATTN_BROADCAST. */
struct nsa_selected_strides {
    int64_t qg[4]; /* [B, 16, n_q, 64] */
    int64_t kc[4]; /* [B, 1, n_k, 64] */
    int64_t lse[3]; /* [B, n_q, 16] */
    int64_t ks[4]; /* [B, G, n_k, 64] */
    int64_t vc[4]; /* [B, 1, n_k, 64] */
    int64_t vs[4]; /* [B, G, n_k, 64] */
    int64_t gate[4]; /* [B, H, n_q, 3] */
};
struct nsa_selected_params {
    const float *qg; /* [B, 16, n_q, 64] */
    const float *kc; /* [B, 1, n_k, 64] */
    const float *lse; /* [B, n_q, 16] */
    const float *ks; /* [B, G, n_k, 64] */
    const float *vc; /* [B, 1, n_k, 64] */
    const float *vs; /* [B, G, n_k, 64] */
    const float *gate; /* [B, H, n_q, 3] */
    const struct nsa_selected_strides *strides; /* NULL: all arrays are contiguous */
};

/* Returns the bytes of `storage` that nsa_selected_params_init needs for the random arrays. */
size_t nsa_selected_params_size(void);
/* Draws the random arrays and stores them in `storage`. Learned arrays become NULL; set them before other calls.
   Returns 0 or a negative ATTN_E… */
int nsa_selected_params_init(struct nsa_selected_params *params, uint64_t seed, void *storage);
/* Returns the bytes of the workspace for a problem. It must be aligned to 64.
   The number depends on problem->threads, not on the lengths. With threads = 0 the workspace serves one thread
   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,
   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that _forward
   can check it. Returns 0 for NULL. */
size_t nsa_selected_workspace(const struct attn_problem *problem);
/* Computes out. Returns 0 or a negative ATTN_E… (see attn_strerror).
   Allocates no memory. The result does not depend on the number of threads. */
int nsa_selected_forward(const struct attn_problem *problem, const struct nsa_selected_params *params, const float *q,
    const float *k, const float *v,
    float *out, void *workspace);
extern const struct attn_kernel nsa_selected_kernel;

#ifdef __cplusplus
}
#endif
#endif
