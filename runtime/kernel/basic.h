/* Small functions that emitted loops and the library around them use. */
#ifndef ATTNRT_BASIC_H
#define ATTNRT_BASIC_H

#include <stddef.h>
#include <stdint.h>

/* Functions of the library. A standalone kernel contains them, so that several such kernels can be in one program. */
#ifndef ATTN_API
#define ATTN_API
#endif

#if defined(__OPTIMIZE__)
#define INLINE static inline __attribute__((always_inline, unused))
#else /* without optimisation, inlining only doubles the compile time */
#define INLINE static inline __attribute__((unused))
#endif

INLINE int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }
INLINE int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
INLINE int64_t floor_mod(int64_t a, int64_t b) { return (a % b + b) % b; }

/* Sizes in bytes. bytes_times and bytes_plus return SIZE_MAX on overflow or for a negative size. */
INLINE size_t bytes_times(size_t bytes, int64_t n)
{
    size_t product;
    return __builtin_mul_overflow(bytes, n, &product) ? SIZE_MAX : product;
}
INLINE size_t bytes_plus(size_t a, size_t b)
{
    size_t sum;
    return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX : sum;
}
INLINE size_t whole_lines(size_t bytes) { return bytes_plus(bytes, 63) / 64 * 64; }
INLINE int bytes_fit(size_t bytes) { return bytes <= SIZE_MAX / 2; }

#endif
