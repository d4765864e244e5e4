/* Computes how noisy repeated measurements are. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const double SPREAD_MAX = 0.1;

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double repeats_spread(const double *seconds, int count)
{
    double *sorted = count > 1 ? malloc((size_t)count * sizeof *sorted) : NULL;
    if (!sorted) return 0;
    memcpy(sorted, seconds, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, ascending);
    const double place = 0.75 * (count - 1);
    const int below = (int)place, above = below + 1 < count ? below + 1 : below;
    const double quartile = sorted[below] + (place - below) * (sorted[above] - sorted[below]),
                 spread = quartile / sorted[0] - 1;
    free(sorted);
    return isfinite(spread) ? spread : 0;
}
