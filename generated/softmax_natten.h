/* softmax_natten.h, made by attnc 0.2.0: attnc softmax_natten.yaml
   neighbourhood attention on an image 32 wide: a pixel sees the 7 x 7 pixels around it
   Hassani, Walton, Li, Li and Shi, Neighborhood Attention Transformer (CVPR 2023);
   at the border of the image a neighbourhood has fewer pixels
   q [B,H,n_q,32]  k [B,G,n_k,32]  v [B,G,n_k,32]  out [B,H,n_q,32], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_softmax_natten_H
#define ATTNC_softmax_natten_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

struct softmax_natten_params {
    int none; /* this variant has no parameters: pass NULL */
};

/* Returns the bytes of `storage` that softmax_natten_params_init needs for the random arrays. */
size_t softmax_natten_params_size(void);
/* Draws the random arrays and stores them in `storage`. Learned arrays become NULL; set them before other calls.
   Returns 0 or a negative ATTN_E… */
int softmax_natten_params_init(struct softmax_natten_params *params, uint64_t seed, void *storage);
/* Returns the bytes of the workspace for a problem. It must be aligned to 64.
   The number depends on problem->threads, not on the lengths. With threads = 0 the workspace serves one thread
   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,
   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that _forward
   can check it. Returns 0 for NULL. */
size_t softmax_natten_workspace(const struct attn_problem *problem);
/* Computes out. Returns 0 or a negative ATTN_E… (see attn_strerror).
   Allocates no memory. The result does not depend on the number of threads. */
int softmax_natten_forward(const struct attn_problem *problem, const struct softmax_natten_params *params,
    const float *q, const float *k, const float *v,
    float *out, void *workspace);

/* The arrays for gradients with respect to learned parameters. NULL: the gradient is not computed. */
struct softmax_natten_gradients {
    int none; /* this variant has no learned parameters: pass NULL */
};
/* Returns the bytes of problem->saved, where softmax_natten_forward stores values for softmax_natten_backward.
   Both calls must get the same arrays. If problem->saved is NULL, backward computes the values itself.
   Returns 0 if the sizes overflow. */
size_t softmax_natten_saved(const struct attn_problem *problem);
/* Returns the bytes of the workspace of softmax_natten_backward, which must be aligned to 64.
   Put the number into problem->workspace_bytes. Returns 0 for NULL, or if the sizes overflow. */
size_t softmax_natten_backward_workspace(const struct attn_problem *problem);
/* Computes the gradients with respect to q, k and v from dout, the gradient with respect to out.
   Pass NULL for gradients that are not needed. With grouped heads, dk and dv are sums over the query heads of a group.
   The bits of a gradient depend neither on the number of threads nor on the choice of the other gradients.
   Returns 0 or an error, like forward. */
int softmax_natten_backward(const struct attn_problem *problem, const struct softmax_natten_params *params,
    const float *q, const float *k, const float *v, const float *out, const float *dout,
    float *dq, float *dk, float *dv, struct softmax_natten_gradients *gradients, void *workspace);
extern const struct attn_kernel softmax_natten_kernel;

#ifdef __cplusplus
}
#endif
#endif
