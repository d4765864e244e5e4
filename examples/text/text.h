/* A text as queries, keys and values of attention, and what attention foresees of it. Standard C alone. */
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
    float *context; /* [length, HEAD_DIM]: the CONTEXT bytes before each position, as a unit vector; queries and keys */
    float *value;   /* [length, HEAD_DIM]: signs that stand for the byte itself */
};
/* Fills in the vectors; false when memory runs out. */
bool text_embed(struct text_vectors *t);
void text_release(struct text_vectors *t);
/* out [length - 1, HEAD_DIM]: row r is the attention of position r + 1. guess[i] = the byte predicted at position i,
   from 1. */
void text_predict(const struct text_vectors *t, const float *out, unsigned char *guess);
/* The share of correct guesses over the second half. */
double text_accuracy(const struct text_vectors *t, const unsigned char *guess);
/* What guessing the most frequent byte of the second half, each time, would be right about. */
double text_commonest(const struct text_vectors *t);
/* A few lines of the second half, right guesses marked. */
void text_show(const struct text_vectors *t, const unsigned char *guess, int lines, bool color, FILE *out);

/* ---- the program of the examples (predict.c) ---- */

/* Something that attends: one head of `rows` queries, keys and values of HEAD_DIM numbers each, causal. Returns 0 or an
   error's number. */
struct predictor {
    const char *name;
    int (*attend)(const void *kernel, int64_t rows, const float *q, const float *k, const float *v, float *out);
    const void *kernel; /* is handed to `attend` */
};
/* main: reads the text that argv names, says of each predictor how many bytes it foresees, and shows what the first one
   does. */
int predict(int argc, char **argv, const struct predictor *predictor, int count);

#ifdef __cplusplus
}
#endif
#endif
