/* packed_documents.h, made by attnc 0.2.0: attnc packed_documents.yaml
   causal softmax attention over documents packed one after the other into the rows of a batch: a token sees those
   before it in its own document
   the parameter document [B, n_k] numbers the document of every token;
   tiles of queries and keys that share none are left out
   q [B,H,n_q,64]  k [B,G,n_k,64]  v [B,G,n_k,64]  out [B,H,n_q,64], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_packed_documents_H
#define ATTNC_packed_documents_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

struct packed_documents_params {
    const int32_t *document; /* [B, n_k] */
};

/* Returns the bytes of `storage` that packed_documents_params_init needs for the random arrays. */
size_t packed_documents_params_size(void);
/* Draws the random arrays and stores them in `storage`. Learned arrays become NULL; set them before other calls.
   Returns 0 or a negative ATTN_E… */
int packed_documents_params_init(struct packed_documents_params *params, uint64_t seed, void *storage);
/* Returns the bytes of the workspace for a problem. It must be aligned to 64.
   The number depends on problem->threads, not on the lengths. With threads = 0 the workspace serves one thread
   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,
   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that _forward
   can check it. Returns 0 for NULL. */
size_t packed_documents_workspace(const struct attn_problem *problem);
/* Computes out. Returns 0 or a negative ATTN_E… (see attn_strerror).
   Allocates no memory. The result does not depend on the number of threads. */
int packed_documents_forward(const struct attn_problem *problem, const struct packed_documents_params *params,
    const float *q, const float *k, const float *v,
    float *out, void *workspace);
extern const struct attn_kernel packed_documents_kernel;

#ifdef __cplusplus
}
#endif
#endif
