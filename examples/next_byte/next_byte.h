/* Attention as a predictor of the next byte, without any training: what follows the contexts most like this one? */
#ifndef NEXT_BYTE_H
#define NEXT_BYTE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../text/text.h"
#include "runtime/attnrt.h"

enum { MOST_FEATURES = 4096 };

/* ---- what the machine can do (peak.c) ---- */

/* GFLOP/s in float32 of a loop of multiply-adds on independent vector registers, all threads; the best of a few
   runs. */
double machine_peak(int threads);

/* ---- a kernel and what its calls need (kernel.c) ---- */

struct prepared {
    const struct attn_kernel *kernel;
    struct attn_problem problem;
    void *params, *storage, *workspace;
};
/* One head of n queries and keys; random parameters come from the seed. 0 or an attn_error; kernel_release gives back
   what there is in either case. */
int kernel_prepare(struct prepared *p, const struct attn_kernel *kernel, int64_t n, int threads, uint64_t seed);
/* One call; *seconds becomes the least of what it was and what the call took. 0 or an attn_error. */
int kernel_run(const struct prepared *p, const float *q, const float *k, const float *v, float *out, double *seconds);
void kernel_release(struct prepared *p);

/* ---- the interpreter as the judge (oracle.c) ---- */

/* Which row of `out` is the k-th of `rows` that are judged: they are spread over the text. */
int64_t sampled_row(const struct text_vectors *t, int k, int rows);

/* Called now and then; may be NULL. */
typedef void oracle_progress(int done, int rows);
/* The largest error of `rows` rows of `out` spread over the text, against float64 interpretation of the graph, relative
   to the largest |v| weighed as that row weighs its keys. Negative after a failure, which has been reported. */
double oracle_error(const char *graph_text, const struct text_vectors *t, const float *out, int rows, int threads,
                    oracle_progress *progress);

/* ---- and the judge of random features (features.c) ---- */

enum features { FEATURES_NONE, FEATURES_SKETCH, FEATURES_FAVOR };
/* The same error against the same features (of degree 4, or positive ones after a layernorm) in float64, met pair by
   pair. Negative after a failure. */
double features_error(enum features kind, const struct prepared *p, const struct text_vectors *t, const float *out,
                      int rows, int threads);

#endif
