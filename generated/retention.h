/* retention.h, made by attnc 0.1.0: attnc retention.yaml
   retention: the weights of head h fall by 1 - 2^(-5 - h) from key to key
   Sun et al., Retentive Network (arXiv 2023), section 2; without the norm of the result
   q [B,H,n_q,64]  k [B,G,n_k,64]  v [B,G,n_k,64]  out [B,H,n_q,64], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_retention_H
#define ATTNC_retention_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

struct retention_params {
    int none; /* this variant has no parameters: pass NULL */
};

/* Returns the bytes of `storage` that retention_params_init needs for the random arrays. */
size_t retention_params_size(void);
/* Makes the random arrays in `storage`. Learned arrays become NULL,
   and the caller sets them. Returns 0 or a negative ATTN_E… */
int retention_params_init(struct retention_params *params, uint64_t seed, void *storage);
/* Returns the bytes of workspace, aligned to 64, for a problem and every one with fewer keys;
   they depend on the threads.
   With threads = 0 they serve one for each processor, or OpenMP's default if that is more, and _forward takes no
   more than they serve, whatever OpenMP is set to by then. Put them into problem->workspace_bytes, and _forward
   checks that they are enough. Returns 0 for NULL. */
size_t retention_workspace(const struct attn_problem *problem);
/* Returns 0 or a negative ATTN_E…; attn_strerror explains. Allocates nothing;
   the result does not depend on the number of threads. */
int retention_forward(const struct attn_problem *problem, const struct retention_params *params, const float *q,
    const float *k, const float *v,
    float *out, void *workspace);
extern const struct attn_kernel retention_kernel;

#ifdef __cplusplus
}
#endif
#endif
