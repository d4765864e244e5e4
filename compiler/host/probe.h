/* The interface of probe.c. attnc compiles probe.c on the machine that it measures. */
#ifndef ATTNC_HOST_PROBE_H
#define ATTNC_HOST_PROBE_H

#include <stdint.h>

struct machine_probe {
    const char *(*vectors)(void); /* returns the instructions that the peak is measured with */
    int (*threads)(void);         /* returns OpenMP's default number of threads, or 1 without OpenMP */

    /* The functions below repeat a loop for `seconds` and return the maximum rate. */

    /* FLOPs per second of vectors in f32, or in f64 if `wide`. */
    double (*peak)(int wide, int threads, double seconds);
    /* FLOPs per second of bf16 products on matrix units, or 0 if there are no usable matrix units. */
    double (*units)(int threads, double seconds);
    /* Bytes per second of a = b + s * c over arrays of n numbers. If `fresh` is true, the memory was never touched,
       so the arrays are written first. */
    double (*triad)(double *a, double *b, double *c, int64_t n, int threads, int fresh, double seconds);
    /* Bytes per second of reading n numbers. If `fresh` is true, the array is written first. */
    double (*reading)(double *a, int64_t n, int threads, int fresh, double seconds);
};
extern const struct machine_probe machine_probe;

#endif
