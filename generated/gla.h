/* gla.h, made by attnc 0.2.0: attnc gla.yaml
   gated linear attention: each element of the state has its own decay at each position
   Yang et al., Gated Linear Attention Transformers with Hardware-Efficient Training (ICML 2024), section 4.2;
   gate is the logarithm of alpha
   q [B,H,n_q,64]  k [B,G,n_k,64]  v [B,G,n_k,64]  out [B,H,n_q,64], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_gla_H
#define ATTNC_gla_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The strides of arrays, for each axis the distance in elements between neighbours. All 0: the array is
   contiguous. An axis with stride 0 repeats the same elements; if all axes do, write ATTN_BROADCAST. */
struct gla_strides {
    int64_t gate[4]; /* [B, H, n_k, 64] */
};
struct gla_params {
    const float *gate; /* [B, H, n_k, 64] */
    const struct gla_strides *strides; /* NULL: all arrays are contiguous */
};

/* Returns the bytes of `storage` that gla_params_init needs for the random arrays. */
size_t gla_params_size(void);
/* Draws the random arrays and stores them in `storage`. Learned arrays become NULL; set them before other calls.
   Returns 0 or a negative ATTN_E… */
int gla_params_init(struct gla_params *params, uint64_t seed, void *storage);
/* Returns the bytes of the workspace for a problem, and for all problems with fewer keys and no more queries than keys.
   It must be aligned to 64.
   The number depends on problem->threads. With threads = 0 the workspace serves one thread
   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,
   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that _forward
   can check it. Returns 0 for NULL. */
size_t gla_workspace(const struct attn_problem *problem);
/* Computes out. Returns 0 or a negative ATTN_E… (see attn_strerror).
   Allocates no memory. The result does not depend on the number of threads. */
int gla_forward(const struct attn_problem *problem, const struct gla_params *params, const float *q, const float *k,
    const float *v,
    float *out, void *workspace);

/* The arrays for gradients with respect to learned parameters. NULL: the gradient is not computed. */
struct gla_gradients {
    float *gate; /* [B, H, n_k, 64] */
};
/* Returns the bytes of problem->saved, where gla_forward stores values for gla_backward.
   Both calls must get the same arrays. If problem->saved is NULL, backward computes the values itself.
   Returns 0 if the sizes overflow. */
size_t gla_saved(const struct attn_problem *problem);
/* Returns the bytes of the workspace of gla_backward, which must be aligned to 64.
   Put the number into problem->workspace_bytes. Returns 0 for NULL, or if the sizes overflow. */
size_t gla_backward_workspace(const struct attn_problem *problem);
/* Computes the gradients with respect to q, k and v from dout, the gradient with respect to out.
   Pass NULL for gradients that are not needed. With grouped heads, dk and dv are sums over the query heads of a group.
   The bits of a gradient depend neither on the number of threads nor on the choice of the other gradients.
   Returns 0 or an error, like forward. */
int gla_backward(const struct attn_problem *problem, const struct gla_params *params, const float *q, const float *k,
    const float *v, const float *out, const float *dout,
    float *dq, float *dk, float *dv, struct gla_gradients *gradients, void *workspace);
extern const struct attn_kernel gla_kernel;

#ifdef __cplusplus
}
#endif
#endif
