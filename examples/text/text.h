/* Makes queries, keys and values from a text, and predicts its bytes from the output of attention. Standard C only. */
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
    float *context; /* [length, HEAD_DIM], used as queries and as keys: for each position, a vector of length 1 that
                       represents the CONTEXT bytes before it */
    float *value;   /* [length, HEAD_DIM]: for each position, random signs that represent its byte */
};
/* Allocates and fills `context` and `value` from `byte`; false if out of memory. */
bool text_embed(struct text_vectors *t);
void text_release(struct text_vectors *t);
/* Sets guess[i], for i from 1 to length - 1, to the byte that attention predicts at position i. out [length - 1,
   HEAD_DIM]: row r is the attention output of position r + 1. */
void text_predict(const struct text_vectors *t, const float *out, unsigned char *guess);
/* The fraction of bytes in the second half of the text that are predicted correctly. */
double text_accuracy(const struct text_vectors *t, const unsigned char *guess);
/* The fraction of the second half that is its most frequent byte. */
double text_commonest(const struct text_vectors *t);
/* Prints up to `lines` lines from the second half of the text and marks the bytes that were predicted correctly. */
void text_show(const struct text_vectors *t, const unsigned char *guess, int lines, bool color, FILE *out);

/* ---- the program of the examples (predict.c) ---- */

/* A kernel with a name. */
struct predictor {
    const char *name;
    /* Computes causal attention of one head; q, k, v and out are [rows, HEAD_DIM]. Returns 0 or an error number. */
    int (*attend)(const void *kernel, int64_t rows, const float *q, const float *k, const float *v, float *out);
    const void *kernel; /* passed to `attend` */
};
/* The main function of several examples. Reads the text file argv[1]. Prints the percentage of bytes that each
   predictor predicts correctly, and shows the predictions of the first predictor. */
int predict(int argc, char **argv, const struct predictor *predictor, int count);

#ifdef __cplusplus
}
#endif
#endif
