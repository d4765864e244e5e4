/* Attention predicts the next byte of a text without training. The query is made from the bytes before a position. It
   finds earlier positions with similar bytes before them, and the bytes that followed there. */
#ifndef NEXT_BYTE_H
#define NEXT_BYTE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../text/text.h"
#include "runtime/attnrt.h"

enum { MOST_FEATURES = 4096 };

/* ---- the machine's peak (peak.c) ---- */

/* The peak rate of float32 multiply-adds of `threads` threads in GFLOP/s; the best of several runs. threads <= 0:
   OpenMP's default. */
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
/* Calls the kernel; if the call took less than *seconds, sets *seconds to its time. Returns 0 or an attn_error. */
int kernel_run(const struct prepared *p, const float *q, const float *k, const float *v, float *out, double *seconds);
void kernel_release(struct prepared *p);

/* ---- comparison with the interpreter (oracle.c) ---- */

/* Returns the index of the k-th compared row of `out`. `rows` rows are compared, spread evenly over the text. */
int64_t sampled_row(const struct text_vectors *t, int k, int rows);

/* Called after each compared row; may be NULL. */
typedef void oracle_progress(int done, int rows);
/* Compares `rows` rows of `out`, spread over the text, with the graph, which the interpreter evaluates in float64.
   Returns the largest relative error. The error of row i is relative to the largest element of the same row computed
   with |v| in place of v: sum over j of w[i][j] * |v[j]|. Returns a negative number after a message. */
double oracle_error(const char *graph_text, const struct text_vectors *t, const float *out, int rows, int threads,
                    oracle_progress *progress);

/* ---- comparison with random features (features.c) ---- */

enum features { FEATURES_NONE, FEATURES_SKETCH, FEATURES_FAVOR };
/* Like oracle_error, for kernels that use random features. The expected weight of a pair is computed in float64 from
   the same random features, so the result is the error of the kernel, and not of the estimate.
   - FEATURES_SKETCH: a sketch of the polynomial of degree 4.
   - FEATURES_FAVOR: Performer's positive features, after a layernorm. */
double features_error(enum features kind, const struct prepared *p, const struct text_vectors *t, const float *out,
                      int rows, int threads);

#endif
