/* Medians of measurements, and how noisy repeated ones are. */
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

void numbers_sort(double *number, int64_t count)
{
    qsort(number, (size_t)count, sizeof *number, ascending);
}

double median_of(const double *sorted, int count)
{
    return count == 0 ? INFINITY : (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

double repeats_spread(const double *seconds, int count)
{
    double *sorted = count > 1 ? malloc((size_t)count * sizeof *sorted) : NULL;
    if (!sorted) return 0;
    memcpy(sorted, seconds, (size_t)count * sizeof *sorted);
    numbers_sort(sorted, count);
    const double place = 0.75 * (count - 1);
    const int below = (int)place, above = below + 1 < count ? below + 1 : below;
    const double quartile = sorted[below] + (place - below) * (sorted[above] - sorted[below]),
                 spread = quartile / sorted[0] - 1;
    free(sorted);
    return isfinite(spread) ? spread : 0;
}
