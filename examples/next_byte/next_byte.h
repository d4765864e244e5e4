/* Attention predicts the next byte without training: it finds which bytes followed the contexts most like this one. */
#ifndef NEXT_BYTE_H
#define NEXT_BYTE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../text/text.h"
#include "runtime/attnrt.h"

enum { MOST_FEATURES = 4096 };

/* ---- the machine's peak (peak.c) ---- */

/* GFLOP/s in float32 of multiply-adds on independent vector registers on all threads; the best of several runs. */
double machine_peak(int threads);

/* ---- a kernel and the data of its calls (kernel.c) ---- */

struct prepared {
    const struct attn_kernel *kernel;
    struct attn_problem problem;
    void *params, *storage, *workspace;
};
/* Prepares one head of n queries and keys, with random parameters from the seed. Returns 0 or an attn_error; the caller
   calls kernel_release in either case. */
int kernel_prepare(struct prepared *p, const struct attn_kernel *kernel, int64_t n, int threads, uint64_t seed);
/* Calls the kernel; *seconds becomes the minimum of its value and the time of the call. Returns 0 or an attn_error. */
int kernel_run(const struct prepared *p, const float *q, const float *k, const float *v, float *out, double *seconds);
void kernel_release(struct prepared *p);

/* ---- comparison with the interpreter (oracle.c) ---- */

/* The k-th of `rows` rows of `out` that are compared; they are spread over the text. */
int64_t sampled_row(const struct text_vectors *t, int k, int rows);

/* Called from time to time; may be NULL. */
typedef void oracle_progress(int done, int rows);
/* The largest error of `rows` rows of `out`, spread over the text, compared with the graph in float64. It is relative
   to the largest |v|, weighted with the weights of that row. Returns a negative number after reporting a failure. */
double oracle_error(const char *graph_text, const struct text_vectors *t, const float *out, int rows, int threads,
                    oracle_progress *progress);

/* ---- comparison with random features (features.c) ---- */

enum features { FEATURES_NONE, FEATURES_SKETCH, FEATURES_FAVOR };
/* Returns the largest error of `rows` rows of `out`, compared with the same random features computed in float64 for
   every pair. FEATURES_SKETCH estimates degree 4; FEATURES_FAVOR is positive features after a layernorm. Returns a
   negative number after it has reported a failure. */
double features_error(enum features kind, const struct prepared *p, const struct text_vectors *t, const float *out,
                      int rows, int threads);

#endif
