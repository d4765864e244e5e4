/* local_blocks_polysketch.h, made by attnc 0.2.0: attnc local_blocks_polysketch.yaml
   sketched polynomial attention to the tokens before it in its own block and in the 31 blocks before that
   Kacham, Mirrokni and Zhong, PolySketchFormer (ICML 2024), section 3,
   under a sliding window of blocks: the states of the blocks are summed again for
   every block, none is subtracted
   q [B,H,n_q,64]  k [B,G,n_k,64]  v [B,G,n_k,64]  out [B,H,n_q,64], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_local_blocks_polysketch_H
#define ATTNC_local_blocks_polysketch_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

struct local_blocks_polysketch_params {
    const float *sketch_g1; /* [64, 16], from a seed: normal */
    const float *sketch_g2; /* [64, 16], from a seed: normal */
};

/* Returns the bytes of `storage` that local_blocks_polysketch_params_init needs for the random arrays. It must be
   aligned to 64. */
size_t local_blocks_polysketch_params_size(void);
/* Draws the random arrays and stores them in `storage`. Learned arrays become NULL; set them before other calls.
   Returns 0 or a negative ATTN_E… */
int local_blocks_polysketch_params_init(struct local_blocks_polysketch_params *params, uint64_t seed, void *storage);
/* Returns the bytes of the workspace for a problem, and for all problems with fewer keys. It must be aligned to 64.
   The number depends on problem->threads. With threads = 0 the workspace serves one thread
   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,
   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that _forward
   can check it. Returns 0 for NULL. */
size_t local_blocks_polysketch_workspace(const struct attn_problem *problem);
/* Computes out. Returns 0 or a negative ATTN_E… (see attn_strerror).
   Allocates no memory. The result does not depend on the number of threads. */
int local_blocks_polysketch_forward(const struct attn_problem *problem,
    const struct local_blocks_polysketch_params *params, const float *q, const float *k, const float *v,
    float *out, void *workspace);
extern const struct attn_kernel local_blocks_polysketch_kernel;

#ifdef __cplusplus
}
#endif
#endif
