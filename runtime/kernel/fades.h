/* Bounds of weights, by which a kernel skips tiles whose weights a decay makes too small. A kernel defines REAL first. */
#ifndef ATTNRT_KERNEL_FADES_H
#define ATTNRT_KERNEL_FADES_H

#include "basic.h"

enum { NORM_LANES = 16 }; /* sums that are computed side by side, because a compiler may not reorder a single sum */
INLINE double larger_square(double max, REAL square) /* NaN if a square is not finite */
{
    return square - square != 0 || max != max ? NAN : (double)square > max ? (double)square : max;
}
/* Returns a bound of the norms of n rows, which are `step` apart. */
INLINE double max_norm_of_rows(const REAL *x, int64_t n, int64_t step, int64_t elements)
{
    double max = 0;
    for (int64_t k = 0; k < n; k++, x += step) {
        REAL part[NORM_LANES] = {0}, square = 0;
        int64_t e = 0;
        for (; e + NORM_LANES <= elements; e += NORM_LANES)
            for (int t = 0; t < NORM_LANES; t++) part[t] += x[e + t] * x[e + t];
        for (; e < elements; e++) square += x[e] * x[e];
        for (int t = 0; t < NORM_LANES; t++) square += part[t];
        max = larger_square(max, square);
    }
    return sqrt(max) * (1 + 0x1p-16);
}
/* Returns a bound of the norms of n columns. Rows are `stride` apart. */
INLINE double max_norm_of_columns(const REAL *x, int64_t n, int64_t stride, int64_t elements)
{
    double max = 0;
    for (int64_t k = 0; k < n; k += NORM_LANES) {
        const int64_t columns = min(n - k, NORM_LANES);
        REAL square[NORM_LANES] = {0};
        for (int64_t e = 0; e < elements; e++)
            if (columns == NORM_LANES)
                for (int t = 0; t < NORM_LANES; t++) square[t] += x[e * stride + k + t] * x[e * stride + k + t];
            else
                for (int64_t t = 0; t < columns; t++) square[t] += x[e * stride + k + t] * x[e * stride + k + t];
        for (int64_t t = 0; t < columns; t++) max = larger_square(max, square[t]);
    }
    return sqrt(max) * (1 + 0x1p-16);
}
/* Returns the minimum of n numbers, or NaN if one is not finite. */
INLINE double min_of(const REAL *x, int64_t n, int64_t step)
{
    REAL min = x[0], bad = 0;
    for (int64_t k = 0; k < n; k++) {
        bad += x[k * step] - x[k * step];
        min = x[k * step] < min ? x[k * step] : min;
    }
    return (double)(min + bad);
}
/* Returns a bound of (a - b) * unit for all prefix sums a of n queries and b of m keys. The bound is infinite if the
   difference of one pair is too large to matter, NaN if a number is not finite. */
INLINE double max_gap(const REAL *a, int64_t n, int64_t a_step, const REAL *b, int64_t m, int64_t b_step, double unit)
{
    if (!((double)(a[0] - b[(m - 1) * b_step]) * unit < -24)) return INFINITY;
    REAL max = a[0], bad = 0;
    for (int64_t k = 0; k < n; k++) {
        bad += a[k * a_step] - a[k * a_step];
        max = a[k * a_step] > max ? a[k * a_step] : max;
    }
    const double high = (double)(max + bad), low = min_of(b, m, b_step);
    return (high - low + (sizeof(REAL) == 4 ? 0x1p-22 : 0x1p-51) * (fabs(high) + fabs(low))) * unit; /* rounding */
}
/* Returns whether n shares of at most 2^exponent add up to less than the last bit of their whole. */
INLINE int fades(double exponent, int64_t n)
{
    return exponent < (sizeof(REAL) == 4 ? -24 : -53) && exponent + log2((double)n) < (sizeof(REAL) == 4 ? -24 : -53);
}

#endif
