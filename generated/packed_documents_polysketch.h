/* packed_documents_polysketch.h, made by attnc 0.2.0: attnc packed_documents_polysketch.yaml
   linear-time attention over documents packed one after the other: polynomial of degree 4,
   a random sketch of size 32 between blocks and exact inside them
   Kacham, Mirrokni and Zhong, PolySketchFormer (ICML 2024), algorithm 1 and section 3.2; document [B,
   n_k] numbers the document of every token, in ascending order
   q [B,H,n_q,64]  k [B,G,n_k,64]  v [B,G,n_k,64]  out [B,H,n_q,64], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_packed_documents_polysketch_H
#define ATTNC_packed_documents_polysketch_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

struct packed_documents_polysketch_params {
    const float *sketch_g1; /* [64, 32], from a seed: normal */
    const float *sketch_g2; /* [64, 32], from a seed: normal */
    const int32_t *document; /* [B, n_k] */
};

/* Returns the bytes of `storage` that packed_documents_polysketch_params_init needs for the random arrays. It must be
   aligned to 64. */
size_t packed_documents_polysketch_params_size(void);
/* Draws the random arrays and stores them in `storage`. Learned arrays become NULL; set them before other calls.
   Returns 0 or a negative ATTN_E… */
int packed_documents_polysketch_params_init(struct packed_documents_polysketch_params *params, uint64_t seed,
    void *storage);
/* Returns the bytes of the workspace for a problem, and for all problems with fewer keys. It must be aligned to 64.
   The number depends on problem->threads. With threads = 0 the workspace serves one thread
   per processor, or OpenMP's default number if that is larger. _forward uses at most that many threads,
   even if OpenMP's default has changed since. Put the number into problem->workspace_bytes, so that _forward
   can check it. Returns 0 for NULL. */
size_t packed_documents_polysketch_workspace(const struct attn_problem *problem);
/* Computes out. Returns 0 or a negative ATTN_E… (see attn_strerror).
   Allocates no memory. The result does not depend on the number of threads. */
int packed_documents_polysketch_forward(const struct attn_problem *problem,
    const struct packed_documents_polysketch_params *params, const float *q, const float *k, const float *v,
    float *out, void *workspace);
extern const struct attn_kernel packed_documents_polysketch_kernel;

#ifdef __cplusplus
}
#endif
#endif
