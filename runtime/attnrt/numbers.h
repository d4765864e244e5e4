/* ---- 16-bit elements (half.c) ---- */

/* The conversions round to nearest, ties to even. Numbers that are too large become infinity. */
uint16_t attn_bf16(double value);
uint16_t attn_f16(double value);
double attn_bf16_value(uint16_t bits);
double attn_f16_value(uint16_t bits);

/* ---- rows of keys and values in types with few bits (stored.c) ---- */

/* Returns the bytes of a row. `elements` is a multiple of the elements of a block. */
int64_t attn_row_bytes(enum attn_dtype dtype, int64_t elements);
/* Rounds a row to the type and stores it, aligned to a float or half if it has such elements. An element rounds to the
   nearest number. A scale is that of ggml: the largest size / 127, or for Q4_0 the element of the largest size / -8. If
   an element is infinite or NaN, the scale is too. Only FP8 has no scale: numbers from 448 on become 448. */
void attn_store_row(enum attn_dtype dtype, const float *from, int64_t elements, void *to);
/* Writes the numbers of a stored row. */
void attn_load_row(enum attn_dtype dtype, const void *from, int64_t elements, float *to);

/* ---- parameters from a seed (random.c): the bits are the same with every machine, compiler and option ---- */

/* A stream is an infinite sequence of random numbers with a 64-bit name. The stream of a parameter is the FNV-1a
   hash of its name. So parameters do not depend on each other. */
uint64_t attn_stream(const char *name);
/* Writes n standard normal values: numbers first … first + n - 1 of the stream.
   - A value depends only on seed, stream and its number. An f32 value is the rounded f64 value.
   - Philox4x32-10 and the Box-Muller transform make the values. They are between -9.42 and 9.42. */
void attn_normal_f64(uint64_t seed, uint64_t stream, uint64_t first, int64_t n, double *out);
void attn_normal_f32(uint64_t seed, uint64_t stream, uint64_t first, int64_t n, float *out);
/* Writes orthogonal random features, out[rows, columns] (Choromanski et al. 2021, "Rethinking Attention with
   Performers", section 3.2 and appendix B).
   - Each block of `columns` rows is the factor Q of the QR factorisation of normal values. R has a positive diagonal.
   - Row r is scaled to the norm of other normal values, with the numbers from ATTN_NORMS + r * columns on.
   - More rows only extend the result.
   - `columns` is 1 to 2^16. `work` has attn_orthogonal_work(rows, columns) bytes, aligned to 8. */
size_t attn_orthogonal_work(int64_t rows, int64_t columns);
void attn_orthogonal_f64(uint64_t seed, uint64_t stream, int64_t rows, int64_t columns, double *out, void *work);
void attn_orthogonal_f32(uint64_t seed, uint64_t stream, int64_t rows, int64_t columns, float *out, void *work);
/* Computes one block of Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). */
void attn_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
