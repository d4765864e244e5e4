/* Attention predicts the next byte of a text without training. The query is made from the bytes before a position.
   Similar earlier positions show which byte may follow. */
#ifndef NEXT_BYTE_H
#define NEXT_BYTE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../text/text.h"
#include "runtime/attnrt.h"

enum { MOST_FEATURES = 4096 };

/* ---- the machine's peak (peak.c) ---- */

/* Returns the peak rate of f32 multiply-adds of `threads` threads in GFLOP/s. If threads <= 0, the number is
 * OpenMP's default. */
double machine_peak(int threads);

/* ---- a kernel and the data of its calls (kernel.c) ---- */

struct prepared {
    const struct attn_kernel *kernel;
    struct attn_problem problem;
    void *params, *storage, *workspace;
};
/* Prepares a head of n queries and keys, with random parameters. Returns 0 or an attn_error. Call kernel_release in
   either case. */
int kernel_prepare(struct prepared *p, const struct attn_kernel *kernel, int64_t n, int threads, uint64_t seed);
/* Calls the kernel. If it took less than *seconds, sets *seconds to its time. Returns 0 or an attn_error. */
int kernel_run(const struct prepared *p, const float *q, const float *k, const float *v, float *out, double *seconds);
void kernel_release(struct prepared *p);

/* ---- comparison with the interpreter (oracle.c) ---- */

/* Returns the index of the k-th compared row of `out`. `rows` rows are compared, spread evenly. */
int64_t sampled_row(const struct text_vectors *t, int k, int rows);

/* This function is called after each compared row. It may be NULL. */
typedef void oracle_progress(int done, int rows);
/* Compares `rows` rows of `out` with the graph in the float64 interpreter. Returns the largest relative error, or a
   negative number after a message. The error of row i is relative to sum over j of w[i][j] * |v[j]|. */
double oracle_error(const char *graph_text, const struct text_vectors *t, const float *out, int rows, int threads,
                    oracle_progress *progress);

/* ---- comparison with random features (features.c) ---- */

enum features { FEATURES_NONE, FEATURES_SKETCH, FEATURES_FAVOR };
/* Does what oracle_error does, for kernels with random features. Expected weights are computed from the same
 * features in float64. So the result is the error of the kernel, not of the estimate.
 * - FEATURES_SKETCH is a sketch of the polynomial of degree 4.
 * - FEATURES_FAVOR is Performer's positive features, after layernorm. */
double features_error(enum features kind, const struct prepared *p, const struct text_vectors *t, const float *out,
                      int rows, int threads);

#endif
