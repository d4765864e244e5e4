/* A text as queries, keys and values of attention, and the bytes that attention predicts. Only standard C. */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HEAD_DIM = 64, CONTEXT = 6 };

struct text_vectors {
    int64_t length;
    const unsigned char *byte;
    float *context; /* [length, HEAD_DIM]: the CONTEXT bytes before each position as a vector of length 1; for queries
                       and keys */
    float *value;   /* [length, HEAD_DIM]: random signs that represent the byte */
};
/* Fills the vectors; false if out of memory. */
bool text_embed(struct text_vectors *t);
void text_release(struct text_vectors *t);
/* out [length - 1, HEAD_DIM]: row r is the attention output of position r + 1. guess[i]: the byte predicted at position
   i, from 1 on. */
void text_predict(const struct text_vectors *t, const float *out, unsigned char *guess);
/* The share of correct predictions in the second half. */
double text_accuracy(const struct text_vectors *t, const unsigned char *guess);
/* The share of the most frequent byte in the second half. */
double text_commonest(const struct text_vectors *t);
/* Prints a few lines of the second half with correct predictions marked. */
void text_show(const struct text_vectors *t, const unsigned char *guess, int lines, bool color, FILE *out);

/* ---- the program of the examples (predict.c) ---- */

/* A function that attends: one head of `rows` queries, keys and values of HEAD_DIM numbers each, causal. Returns 0 or
   an error number. */
struct predictor {
    const char *name;
    int (*attend)(const void *kernel, int64_t rows, const float *q, const float *k, const float *v, float *out);
    const void *kernel; /* passed to `attend` */
};
/* main of the examples: reads the text that argv names, prints the share of bytes that each predictor predicts, and
   shows the predictions of the first one. */
int predict(int argc, char **argv, const struct predictor *predictor, int count);

#ifdef __cplusplus
}
#endif
#endif
