/* The work of a server: sequences that arrive, share a prompt, grow and end. */
#ifndef LOAD_H
#define LOAD_H

#include <stdint.h>

enum {
    SEQUENCES = 64,
    SHARED = SEQUENCES, /* the number of the prompt that all sequences begin with */
    HEADS = 8,
    KV_HEADS = 2,
    D = 64,
    SHARED_TOKENS = 1024
};

/* A sequence: its own prompt, then one token in each step. */
struct sequence {
    int64_t arrives;        /* the step */
    int64_t prompt, tokens; /* how many */
};
struct sequence load_sequence(int number);

/* Writes q, k and v of a token: [heads, D]. They depend only on the sequence and the position. */
int load_make(void); /* returns 0 if there is no memory */
void load_token(int sequence, int64_t position, float *q, float *k, float *v);
void load_free(void);

#endif
