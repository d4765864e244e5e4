/* OpenMP of the compiler of this file, for the library: threads of OpenMP compute, and the library needs none itself. */
#ifndef ATTNRT_OPENMP_H
#define ATTNRT_OPENMP_H

#include "call.h"

#ifdef _OPENMP
#include <omp.h>

static void run_in_parallel(void (*work)(void *context), void *context, unsigned threads, unsigned flags)
{
    (void)flags;
#pragma omp parallel num_threads((int)threads)
    work(context);
}

static void wait_for_all(void)
{
#pragma omp barrier
}

static const struct openmp openmp = {{run_in_parallel, wait_for_all}, omp_get_max_threads, omp_get_num_procs};
#define OPENMP (&openmp)
#else
#define OPENMP NULL
#endif

#endif
