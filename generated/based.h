/* based.h, made by attnc 0.2.0: attnc based.yaml
   exact weights inside a window of 64 keys, and Taylor features of second order outside, with one denominator
   Arora et al., Simple Linear Attention Language Models Balance the Recall-Throughput Tradeoff (Based, ICML 2024),
   for the
   features; Zhang et al., LoLCATs: On Low-Rank Linearizing of Large Language Models (ICLR 2025), section 3.3.1,
   for one sum
   q [B,H,n_q,16]  k [B,G,n_k,16]  v [B,G,n_k,64]  out [B,H,n_q,64], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_based_H
#define ATTNC_based_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

struct based_params {
    int none; /* this variant has no parameters: pass NULL */
};

/* Returns the bytes of `storage` that based_params_init needs for the random arrays. */
size_t based_params_size(void);
/* Draws the random arrays and stores them in `storage`. Learned arrays become NULL; set them before other calls.
   Returns 0 or a negative ATTN_E… */
int based_params_init(struct based_params *params, uint64_t seed, void *storage);
/* Returns the bytes of the workspace for a problem, and for all problems with fewer keys. It must be aligned to 64.
   The number depends on problem->threads. With threads = 0 the workspace serves one thread
   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,
   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that _forward
   can check it. Returns 0 for NULL. */
size_t based_workspace(const struct attn_problem *problem);
/* Computes out. Returns 0 or a negative ATTN_E… (see attn_strerror).
   Allocates no memory. The result does not depend on the number of threads. */
int based_forward(const struct attn_problem *problem, const struct based_params *params, const float *q, const float *k,
    const float *v,
    float *out, void *workspace);
extern const struct attn_kernel based_kernel;

#ifdef __cplusplus
}
#endif
#endif
