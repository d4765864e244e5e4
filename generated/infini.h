/* infini.h, made by attnc 0.2.0: attnc infini.yaml
   softmax inside a segment, and a linear memory of all earlier segments, mixed by a learned gate
   Munkhdalai, Faruqui and Gopal, Leave No Context Behind: Efficient Infinite Context Transformers with Infini-attention
   (arXiv 2024), section 2.1
   q [B,H,n_q,64]  k [B,G,n_k,64]  v [B,G,n_k,64]  out [B,H,n_q,64], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_infini_H
#define ATTNC_infini_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The strides of arrays, for each axis the distance in elements between neighbours. All 0: the array is
   contiguous. An axis with stride 0 repeats the same elements; if all axes do, write ATTN_BROADCAST. */
struct infini_strides {
    int64_t beta[1]; /* [H] */
};
struct infini_params {
    const float *beta; /* [H] */
    const struct infini_strides *strides; /* NULL: all arrays are contiguous */
};

/* Returns the bytes of `storage` that infini_params_init needs for the random arrays. */
size_t infini_params_size(void);
/* Draws the random arrays and stores them in `storage`. Learned arrays become NULL; set them before other calls.
   Returns 0 or a negative ATTN_E… */
int infini_params_init(struct infini_params *params, uint64_t seed, void *storage);
/* Returns the bytes of the workspace for a problem, and for all problems with fewer keys. It must be aligned to 64.
   The number depends on problem->threads. With threads = 0 the workspace serves one thread
   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,
   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that _forward
   can check it. Returns 0 for NULL. */
size_t infini_workspace(const struct attn_problem *problem);
/* Computes out. Returns 0 or a negative ATTN_E… (see attn_strerror).
   Allocates no memory. The result does not depend on the number of threads. */
int infini_forward(const struct attn_problem *problem, const struct infini_params *params, const float *q,
    const float *k, const float *v,
    float *out, void *workspace);
extern const struct attn_kernel infini_kernel;

#ifdef __cplusplus
}
#endif
#endif
