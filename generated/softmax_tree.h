/* softmax_tree.h, made by attnc 0.2.0: attnc softmax_tree.yaml
   softmax attention with a mask that each call gives: a tree of draft tokens, each of which sees the path to the root
   Miao et al., SpecInfer (ASPLOS 2024); tree [B, Nq, Nk] is true where the token of a row sees a key,
   which may be any key of the prompt
   q [B,H,n_q,64]  k [B,G,n_k,64]  v [B,G,n_k,64]  out [B,H,n_q,64], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_softmax_tree_H
#define ATTNC_softmax_tree_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The strides of arrays, for each axis the distance in elements between neighbours. All 0: the array is
   contiguous. An axis with stride 0 repeats the same elements; if all axes do, write ATTN_BROADCAST. */
struct softmax_tree_strides {
    int64_t tree[3]; /* [B, n_q, n_k] */
};
struct softmax_tree_params {
    const uint8_t *tree; /* [B, n_q, n_k] */
    const struct softmax_tree_strides *strides; /* NULL: all arrays are contiguous */
    const struct attn_mask_tiles *tree_tiles; /* from attn_tiles_of_mask. NULL: a call makes the table */
};

/* Returns the bytes of `storage` that softmax_tree_params_init needs for the random arrays. */
size_t softmax_tree_params_size(void);
/* Draws the random arrays and stores them in `storage`. Learned arrays become NULL; set them before other calls.
   Returns 0 or a negative ATTN_E… */
int softmax_tree_params_init(struct softmax_tree_params *params, uint64_t seed, void *storage);
/* Returns the bytes of the workspace for a problem. It must be aligned to 64.
   The number depends on problem->threads, not on the lengths. With threads = 0 the workspace serves one thread
   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,
   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that _forward
   can check it. Returns 0 for NULL. */
size_t softmax_tree_workspace(const struct attn_problem *problem);
/* Computes out. Returns 0 or a negative ATTN_E… (see attn_strerror).
   Allocates no memory. The result does not depend on the number of threads. */
int softmax_tree_forward(const struct attn_problem *problem, const struct softmax_tree_params *params, const float *q,
    const float *k, const float *v,
    float *out, void *workspace);
extern const struct attn_kernel softmax_tree_kernel;

#ifdef __cplusplus
}
#endif
#endif
