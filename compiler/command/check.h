/* What the files of `attnc check` share. */
#ifndef ATTNC_COMMAND_CHECK_H
#define ATTNC_COMMAND_CHECK_H

#include "../driver/driver.h"
#include "../../runtime/attnrt.h"

enum { MAX_TENSORS = 1024, NUDGES = 4, FEW_ELEMENTS = 16 };

struct sample { /* the arrays of one problem, and what the meaning makes of them */
    struct tensor tensor[MAX_TENSORS];
    int64_t count[MAX_TENSORS];
    bool integers[MAX_TENSORS];
    int tensors;
    double *expected, *allowed; /* allowed: by row, what the kernel may be off by */
    int64_t elements, value_dim;
};

/* Gradients of a sample, by the inputs and the learned parameters: one after the other. */
struct gradients {
    int outputs;
    const char *name[MAX_TENSORS]; /* "dq" */
    int64_t count[MAX_TENSORS], all;
    double *dout, *expected, *allowed; /* what a kernel may be off by, by element */
    double difference; /* of the interpreter's from central differences, as a share of the sum of their sizes */
};
/* What the interpreter makes of a sample's gradients for a random dout. What is wrong, or NULL. (check_gradients.c) */
const char *gradients_of(const struct unit *p, const struct sample *s, const struct problem_size *size, uint64_t *state,
                         struct arena *arena, struct gradients *out);

/* A number from 0 to 1, and one of the standard normal distribution, from the state (check_draw.c). */
double check_uniform(uint64_t *state);
double check_normal(uint64_t *state);
/* The number as the kernel's inputs hold it. */
double check_as_stored(double x, enum dtype dtype);

#endif
