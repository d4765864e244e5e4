/* A clock for callers that time kernels. */
#include "attnrt.h"

#include <time.h>

double attn_seconds(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return 0;
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
