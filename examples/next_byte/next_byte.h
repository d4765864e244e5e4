/* Attention as a predictor of the next byte, without any training: what follows the contexts most like this one? */
#ifndef NEXT_BYTE_H
#define NEXT_BYTE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/attnrt.h"

enum { HEAD_DIM = 64, CONTEXT = 6 };

/* ---- the text and its vectors (text.c) ---- */

struct text_vectors {
    int64_t length;
    const unsigned char *byte;
    float *context; /* [length, HEAD_DIM]: the CONTEXT bytes before each position, as a unit vector; queries and keys */
    float *value;   /* [length, HEAD_DIM]: signs that stand for the byte itself */
};
/* Fills in the vectors; false when memory runs out. */
bool text_embed(struct text_vectors *t);
void text_release(struct text_vectors *t);
/* out [length - 1, HEAD_DIM]: row r is the attention of position r + 1. guess[i] = the byte predicted at position i, from 1. */
void text_predict(const struct text_vectors *t, const float *out, unsigned char *guess);
/* The share of correct guesses over the second half. */
double text_accuracy(const struct text_vectors *t, const unsigned char *guess);
/* A few lines of the second half, right guesses marked. */
void text_show(const struct text_vectors *t, const unsigned char *guess, int lines, bool color, FILE *out);

/* ---- what the machine can do (peak.c) ---- */

/* GFLOP/s in float32 of a loop of multiply-adds on independent vector registers, all threads; the best of a few runs. */
double machine_peak(int threads);

/* ---- the interpreter as the judge (oracle.c) ---- */

/* Called now and then; may be NULL. */
typedef void oracle_progress(int done, int rows);
/* The largest error of `rows` rows of `out` spread over the text, against float64 interpretation of the graph, relative to the largest |v| weighed
   as that row weighs its keys. Negative after a failure, which has been reported. */
double oracle_error(const char *graph_text, const struct text_vectors *t, const float *out, int rows, int threads, oracle_progress *progress);

#endif
