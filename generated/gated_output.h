/* gated_output.h, made by attnc 0.2.0: attnc gated_output.yaml
   causal softmax attention whose output is multiplied by a gate of each element
   Qiu et al., Gated Attention for Large Language Models (NeurIPS 2025), section 2.2; gate is before its sigmoid
   q [B,H,n_q,64]  k [B,G,n_k,64]  v [B,G,n_k,64]  out [B,H,n_q,64], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_gated_output_H
#define ATTNC_gated_output_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The strides of arrays, for each axis the distance in elements between neighbours. All 0: the array is
   contiguous. An axis with stride 0 repeats the same elements; if all axes do, write ATTN_BROADCAST. */
struct gated_output_strides {
    int64_t gate[4]; /* [B, H, n_q, 64] */
};
struct gated_output_params {
    const float *gate; /* [B, H, n_q, 64] */
    const struct gated_output_strides *strides; /* NULL: all arrays are contiguous */
};

/* Returns the bytes of `storage` that gated_output_params_init needs for the random arrays. */
size_t gated_output_params_size(void);
/* Draws the random arrays and stores them in `storage`. Learned arrays become NULL; set them before other calls.
   Returns 0 or a negative ATTN_E… */
int gated_output_params_init(struct gated_output_params *params, uint64_t seed, void *storage);
/* Returns the bytes of the workspace for a problem. It must be aligned to 64.
   The number depends on problem->threads, not on the lengths. With threads = 0 the workspace serves one thread
   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,
   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that _forward
   can check it. Returns 0 for NULL. */
size_t gated_output_workspace(const struct attn_problem *problem);
/* Computes out. Returns 0 or a negative ATTN_E… (see attn_strerror).
   Allocates no memory. The result does not depend on the number of threads. */
int gated_output_forward(const struct attn_problem *problem, const struct gated_output_params *params, const float *q,
    const float *k, const float *v,
    float *out, void *workspace);
extern const struct attn_kernel gated_output_kernel;

#ifdef __cplusplus
}
#endif
#endif
