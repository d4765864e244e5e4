/* Rows in the types of `storage`, for the Python package: arrays of rows in one call. */
#include "tensors.h"

EXPORTED void attnc_store_rows(enum attn_dtype dtype, const float *from, int64_t rows, int64_t elements, void *to)
{
    const int64_t bytes = attn_row_bytes(dtype, elements);
    for (int64_t r = 0; r < rows; r++) attn_store_row(dtype, from + r * elements, elements, (char *)to + r * bytes);
}

EXPORTED void attnc_load_rows(enum attn_dtype dtype, const void *from, int64_t rows, int64_t elements, float *to)
{
    const int64_t bytes = attn_row_bytes(dtype, elements);
    for (int64_t r = 0; r < rows; r++)
        attn_load_row(dtype, (const char *)from + r * bytes, elements, to + r * elements);
}
