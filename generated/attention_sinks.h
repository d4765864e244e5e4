/* attention_sinks.h, made by attnc 0.1.0: attnc attention_sinks.yaml
   causal softmax attention to the first 4 tokens and to the 1020 positions up to a query
   Xiao et al., Efficient Streaming Language Models with Attention Sinks (ICLR 2024), section 3.2
   q [B,H,n_q,128]  k [B,G,n_k,128]  v [B,G,n_k,128]  out [B,H,n_q,128], f32. H is a multiple of G;
   query head h reads key/value head h / (H/G).
   The last query is at the position of the last key. The result of a query that sees no key is 0. */
#ifndef ATTNC_attention_sinks_H
#define ATTNC_attention_sinks_H

#include <attnrt.h>

#ifdef __cplusplus
extern "C" {
#endif

struct attention_sinks_params {
    int none; /* this variant has no parameters: pass NULL */
};

/* Returns the bytes of `storage` that attention_sinks_params_init needs for the random arrays. */
size_t attention_sinks_params_size(void);
/* Makes the random arrays in `storage`. Learned arrays become NULL,
   and the caller sets them. Returns 0 or a negative ATTN_E… */
int attention_sinks_params_init(struct attention_sinks_params *params, uint64_t seed, void *storage);
/* Returns the bytes of workspace, aligned to 64, for a problem; they depend on the threads, not on the lengths.
   With threads = 0 they serve one for each processor, or OpenMP's default if that is more, and _forward takes no
   more than they serve, whatever OpenMP is set to by then. Put them into problem->workspace_bytes, and _forward
   checks that they are enough. Returns 0 for NULL. */
size_t attention_sinks_workspace(const struct attn_problem *problem);
/* Returns 0 or a negative ATTN_E…; attn_strerror explains. Allocates nothing;
   the result does not depend on the number of threads. */
int attention_sinks_forward(const struct attn_problem *problem, const struct attention_sinks_params *params,
    const float *q, const float *k, const float *v,
    float *out, void *workspace);
extern const struct attn_kernel attention_sinks_kernel;

#ifdef __cplusplus
}
#endif
#endif
