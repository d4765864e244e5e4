/* The interface of probe.c, which is embedded in attnc and compiled on the machine that it measures. */
#ifndef ATTNC_HOST_PROBE_H
#define ATTNC_HOST_PROBE_H

#include <stdint.h>

struct machine_probe {
    const char *(*vectors)(void); /* the instructions that the peak is measured with */
    int (*threads)(void);         /* OpenMP's default; 1 without OpenMP */
    /* FLOPs per second in f32, or f64 if `wide`; the maximum of the runs that fit into `seconds`. */
    double (*peak)(int wide, int threads, double seconds);
    /* FLOPs per second of bf16 products on matrix units; 0: this process may not use matrix units. */
    double (*units)(int threads, double seconds);
    /* Bytes per second of a = b + s * c over arrays of n numbers, which are written first if they are fresh. */
    double (*triad)(double *a, double *b, double *c, int64_t n, int threads, int fresh, double seconds);
    /* Bytes per second of reading an array of n numbers, which is written first if it is fresh. */
    double (*reading)(double *a, int64_t n, int threads, int fresh, double seconds);
};
extern const struct machine_probe machine_probe;

#endif
