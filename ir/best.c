/* Keeps the best of numbered values, for SELECT in both interpreters. */
#include "expr.h"

#include <stdlib.h>
#include <string.h>

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

int64_t keep_best(double *value, double *number, int64_t held, int64_t count)
{
    double *const sorted = held > count ? malloc((size_t)held * sizeof *sorted) : NULL;
    int64_t above = 0, kept = 0;
    if (!sorted) return held > count ? -1 : held;
    memcpy(sorted, value, (size_t)held * sizeof *sorted);
    qsort(sorted, (size_t)held, sizeof *sorted, descending);
    const double least = sorted[count - 1];
    free(sorted);
    for (int64_t k = 0; k < held; k++) above += value[k] > least;
    for (int64_t k = 0, equal = count - above; k < held; k++) {
        if (value[k] < least || (value[k] == least && equal-- <= 0)) continue;
        value[kept] = value[k];
        number[kept++] = number[k];
    }
    return kept;
}
