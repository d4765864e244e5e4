/* The face of probe.c, which travels inside attnc and is compiled on the machine it measures. */
#ifndef ATTNC_HOST_PROBE_H
#define ATTNC_HOST_PROBE_H

#include <stdint.h>

struct machine_probe {
    const char *(*vectors)(void); /* what the peak is measured with */
    int (*threads)(void);         /* OpenMP's default; 1 without OpenMP */
    /* FLOPs a second in f32, or (`wide`) f64; each is the best of what fits into `seconds`. */
    double (*peak)(int wide, int threads, double seconds);
    /* FLOPs a second of products of bf16 on matrix units; 0: this process may not use any. */
    double (*units)(int threads, double seconds);
    /* Bytes a second of a = b + s * c over arrays of n numbers, which are written first if they are fresh. */
    double (*triad)(double *a, double *b, double *c, int64_t n, int threads, int fresh, double seconds);
    /* Bytes a second of reading an array of n numbers, which is written first if it is fresh. */
    double (*reading)(double *a, int64_t n, int threads, int fresh, double seconds);
};
extern const struct machine_probe machine_probe;

#endif
