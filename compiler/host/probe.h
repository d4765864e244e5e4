/* The interface of probe.c, which attnc compiles on the machine to measure. */
#ifndef ATTNC_HOST_PROBE_H
#define ATTNC_HOST_PROBE_H

#include <stdint.h>

struct machine_probe {
    const char *(*vectors)(void); /* the instructions that the peak is measured with */
    int (*threads)(void);         /* OpenMP's default number of threads; 1 without OpenMP */

    /* The functions below repeat a loop for `seconds` and return the maximum rate. */

    /* FLOPs per second of vectors in f32, or in f64 if `wide`. */
    double (*peak)(int wide, int threads, double seconds);
    /* FLOPs per second of bf16 products on matrix units; 0: not usable. */
    double (*units)(int threads, double seconds);
    /* Bytes per second of a = b + s * c over arrays of n numbers. `fresh`: the memory was never touched, so the
       arrays are written first. */
    double (*triad)(double *a, double *b, double *c, int64_t n, int threads, int fresh, double seconds);
    /* Bytes per second of reading n numbers. `fresh`: as for triad. */
    double (*reading)(double *a, int64_t n, int threads, int fresh, double seconds);
};
extern const struct machine_probe machine_probe;

#endif
