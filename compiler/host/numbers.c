/* Numbers of arrays in the types of kernels, and differences of arrays. */
#include "host.h"
#include "../../runtime/attnrt.h"

#include <math.h>

double number_at(const void *data, int64_t k, enum attn_dtype dtype)
{
    switch (dtype) {
    case ATTN_F32: return (double)((const float *)data)[k];
    case ATTN_F64: return ((const double *)data)[k];
    case ATTN_BF16: return attn_bf16_value(((const uint16_t *)data)[k]);
    case ATTN_F16: return attn_f16_value(((const uint16_t *)data)[k]);
    case ATTN_I32: return ((const int32_t *)data)[k];
    default: return ((const unsigned char *)data)[k];
    }
}

void number_set(void *data, int64_t k, enum attn_dtype dtype, double x)
{
    switch (dtype) {
    case ATTN_F32: ((float *)data)[k] = (float)x; break;
    case ATTN_F64: ((double *)data)[k] = x; break;
    case ATTN_BF16: ((uint16_t *)data)[k] = attn_bf16(x); break;
    case ATTN_F16: ((uint16_t *)data)[k] = attn_f16(x); break;
    case ATTN_I32: ((int32_t *)data)[k] = (int32_t)x; break;
    default: ((unsigned char *)data)[k] = x > 0; break;
    }
}

double numbers_largest(const void *data, enum attn_dtype dtype, int64_t count)
{
    double most = 0;
    for (int64_t k = 0; k < count; k++) {
        const double size = fabs(number_at(data, k, dtype));
        if (isfinite(size) && size > most) most = size;
    }
    return most;
}

double rows_differ(const void *a, const void *b, enum attn_dtype dtype, int64_t rows, int64_t row, double least,
                   bool alike)
{
    double most = 0;
    for (int64_t first = 0; first < rows * row; first += row) {
        double scale = least, off = 0;
        for (int64_t k = first; k < first + row; k++) {
            const double x = number_at(a, k, dtype), y = number_at(b, k, dtype);
            if (isfinite(x) && isfinite(y)) {
                off = fmax(off, fabs(x - y));
                scale = fmax(scale, fabs(y));
            } else if (alike ? x != y && !(isnan(x) && isnan(y)) : isfinite(x) || isfinite(y))
                return INFINITY;
        }
        if (off > 0) most = fmax(most, scale > 0 ? off / scale : INFINITY);
    }
    return most;
}
