/* Makes queries, keys and values from a text, and predicts bytes from the output of attention. Standard C only. */
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
    float *context; /* [length, HEAD_DIM], queries and keys: for each position, a vector of length 1 for the CONTEXT
                       bytes before it */
    float *value;   /* [length, HEAD_DIM]: for each position, random signs for its byte */
};
/* Allocates and fills `context` and `value`. Returns false if out of memory. */
bool text_embed(struct text_vectors *t);
void text_release(struct text_vectors *t);
/* Sets guess[i], for i from 1 to length - 1, to the predicted byte at position i. Row r of out [length - 1,
 * HEAD_DIM] is for position r + 1. */
void text_predict(const struct text_vectors *t, const float *out, unsigned char *guess);
/* Returns the fraction of correctly predicted bytes in the second half of the text. */
double text_accuracy(const struct text_vectors *t, const unsigned char *guess);
/* Returns the fraction of the most frequent byte in the second half. */
double text_commonest(const struct text_vectors *t);
/* Prints up to `lines` lines of the second half, with correctly predicted bytes marked. */
void text_show(const struct text_vectors *t, const unsigned char *guess, int lines, bool color, FILE *out);

/* ---- the program of the examples (predict.c) ---- */

/* A kernel with a name. */
struct predictor {
    const char *name;
    /* Computes causal attention of one head. q, k, v and out are [rows, HEAD_DIM]. Returns 0 or an error number. */
    int (*attend)(const void *kernel, int64_t rows, const float *q, const float *k, const float *v, float *out);
    const void *kernel; /* passed to `attend` */
};
/* The main function of several examples. It reads the file argv[1] and prints the percentage of bytes that each
 * predictor finds. For the first predictor, it also prints text with the correct bytes marked. */
int predict(int argc, char **argv, const struct predictor *predictor, int count);

#ifdef __cplusplus
}
#endif
#endif
