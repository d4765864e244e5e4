/* Calls of a compiled kernel on numbers of the usual size, to measure them: what attnc bench and attnc tune share. */
#ifndef ATTNC_CALLS_H
#define ATTNC_CALLS_H

#include "compiler.h"

#include "../runtime/attnrt.h"

enum { ROLES = 4 };
/* q, k, v, out; kept from call to call and grown where a call needs more. Zero it first. */
struct call_arrays {
    char *data[ROLES];
    double bytes[ROLES];
};
void call_arrays_free(struct call_arrays *a);

/* A kernel with what a call of it needs. */
struct call {
    const struct attn_kernel *kernel;
    struct attn_problem problem;
    struct call_arrays *arrays;
    void *params, *generated, *workspace;
    void **learned;
};
/* Bytes of q, k, v or out. */
double call_array_bytes(const struct attn_kernel *kernel, const struct attn_problem *p, int role);
/* Bytes that call_prepare would take beside those that are there. */
double call_lacks(const struct call *c);
/* Arrays, parameters and workspace for c->kernel, problem and arrays, from a seed; integer parameters number runs of `document` positions. 0, or ATTN_E... */
int call_prepare(struct call *c, uint64_t seed, int64_t document);
/* 0, or ATTN_E... */
int call_forward(const struct call *c);
/* All but the arrays; the struct may be prepared again. */
void call_release(struct call *c);

#endif
