/* Measures the peak of this machine: multiply-adds on independent registers, with its widest vectors. The rate of
 * softmax is compared with this peak. */
#include "next_byte.h"

#ifdef _OPENMP
#include <omp.h>
#endif

#define STEPS 2000000

/* Defines the loop of one thread, on CHAINS registers of WIDTH floats. CHAINS is large enough to hide the latency
 * of the instructions. */
#define PEAK_LOOP(NAME, TARGET, WIDTH, CHAINS, CONSTRAINT) \
    TARGET static float NAME(void) \
    { \
        typedef float vector __attribute__((vector_size(WIDTH * 4))); \
        vector a[CHAINS], x = {0}, y = {0}; \
        for (int l = 0; l < WIDTH; l++) { \
            x[l] = 1.0f + 1e-7f * (float)l; \
            y[l] = 1e-9f; \
            for (int c = 0; c < CHAINS; c++) a[c][l] = (float)c + 0.001f * (float)l; \
        } \
        __asm__ volatile("" : "+" CONSTRAINT(x), "+" CONSTRAINT(y)); \
        for (long step = 0; step < STEPS; step++) { \
            _Pragma("GCC unroll 24") for (int c = 0; c < CHAINS; c++) a[c] = a[c] * x + y; \
            __asm__ volatile("" ::CONSTRAINT(x)); \
        } \
        for (int c = 1; c < CHAINS; c++) a[0] += a[c]; \
        return a[0][3]; \
    }

#if defined(__x86_64__)
PEAK_LOOP(peak_avx512, __attribute__((target("avx512f"))), 16, 12, "v")
PEAK_LOOP(peak_avx2, __attribute__((target("avx2,fma"))), 8, 12, "x")
PEAK_LOOP(peak_plain, , 4, 12, "x")
#elif defined(__aarch64__)
PEAK_LOOP(peak_plain, , 4, 24, "w")
#else
PEAK_LOOP(peak_plain, , 4, 12, "m")
#endif

/* Runs `loop` on all threads and returns the best rate in GFLOP/s. The loop is a function, because compilers drop
   the attribute `target` in parallel regions. */
static double timed(float (*loop)(void), int threads, double flops_per_thread)
{
    double best = 0;
    for (int run = 0; run < 5; run++) {
        double begun = attn_seconds();
#ifdef _OPENMP
#pragma omp parallel num_threads(threads)
#endif
        {
            volatile float keep = loop();
            (void)keep;
        }
        double rate = flops_per_thread * threads / (attn_seconds() - begun) / 1e9;
        if (rate > best) best = rate;
    }
    return best;
}

double machine_peak(int threads)
{
#ifndef _OPENMP
    threads = 1;
#else
    if (threads <= 0) threads = omp_get_max_threads();
#endif
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return timed(peak_avx512, threads, 2.0 * STEPS * 12 * 16);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return timed(peak_avx2, threads, 2.0 * STEPS * 12 * 8);
    return timed(peak_plain, threads, 2.0 * STEPS * 12 * 4);
#elif defined(__aarch64__)
    return timed(peak_plain, threads, 2.0 * STEPS * 24 * 4);
#else
    return timed(peak_plain, threads, 2.0 * STEPS * 12 * 4);
#endif
}
