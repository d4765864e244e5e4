/* A small language model, trained in plain C: its attention forward and backward is a kernel's. */
#ifndef LEARN_H
#define LEARN_H

#include <stdbool.h>
#include <stdint.h>

#include "../text/text.h"
#include "runtime/attnrt.h"

/* ---- products of matrices, row by row (dense.c) ---- */

/* c [n, m] = or += a [n, k] b [k, m]. */
void dense_product(float *c, const float *a, const float *b, int64_t n, int64_t k, int64_t m, bool adds, int threads);
/* c [k, m] = the transposed a [n, k], times b [n, m]. */
void dense_weight_gradient(float *c, const float *a, const float *b, int64_t n, int64_t k, int64_t m, int threads);
/* to [columns, rows] */
void dense_transpose(float *to, const float *from, int64_t rows, int64_t columns);

/* ---- the model (learn.c) ---- */

/* What training is over after: steps where they are not 0, else seconds. */
struct learn_limit {
    int64_t steps;
    double seconds;
};

struct learned {
    int64_t steps;
    double seconds, bits[2], accuracy[2]; /* before and after: of the last quarter, which is not trained on */
    unsigned char *guess[2];              /* [length]: the bytes foreseen before and after, in the last quarter */
};

/* Called after a step. */
typedef void learn_progress(int64_t step, double seconds, double bits);

/* Trains a model whose heads attend by `kernel` on the first three quarters of a text: an embedding, attention, a layer
   of rectified units, a readout; Adam. 0 or an attn_error; ATTN_EMEMORY when memory runs out. */
int learn(const struct attn_kernel *kernel, const struct text_vectors *t, struct learn_limit limit, int threads,
          uint64_t seed, learn_progress *progress, struct learned *result);

#endif
