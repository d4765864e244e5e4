/* The interface of probe.c. The text of probe.c is embedded in attnc, which compiles it on the machine to measure. */
#ifndef ATTNC_HOST_PROBE_H
#define ATTNC_HOST_PROBE_H

#include <stdint.h>

struct machine_probe {
    const char *(*vectors)(void); /* the instructions that the peak is measured with */
    int (*threads)(void);         /* the default number of threads of OpenMP; 1 without OpenMP */

    /* The functions below repeat a loop for `seconds` and return the maximum rate of the runs. */

    /* FLOPs per second of vectors in f32, or in f64 if `wide`. */
    double (*peak)(int wide, int threads, double seconds);
    /* FLOPs per second of bf16 products on matrix units; 0: this process may not use matrix units. */
    double (*units)(int threads, double seconds);
    /* Bytes per second of a = b + s * c over arrays of n numbers. If the arrays are `fresh`, their memory has not been
       touched since it was allocated, and they are written before the first run. */
    double (*triad)(double *a, double *b, double *c, int64_t n, int threads, int fresh, double seconds);
    /* Bytes per second of reading an array of n numbers. `fresh` as for triad. */
    double (*reading)(double *a, int64_t n, int threads, int fresh, double seconds);
};
extern const struct machine_probe machine_probe;

#endif
