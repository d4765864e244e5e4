/* Small functions that emitted loops and the library around them use. */
#ifndef ATTNRT_BASIC_H
#define ATTNRT_BASIC_H

#include <math.h>
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
#define APART static __attribute__((noinline, unused))
/* QUICK: the kernel is compiled in little time, with fewer copies of loops, for a first call (attnc build --quick). The
   bits of results are the same. LATER: functions that this call does not need, which are not optimised. */
#ifndef QUICK
#define QUICK 0
#endif
#ifdef __clang__
#define LATER static __attribute__((noinline, unused, optnone))
#else /* gcc would not round a * b + c as in optimised functions */
#define LATER APART
#endif
#define UNROLL _Pragma("GCC unroll 16")

INLINE int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }
INLINE int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
/* `size`: member batch of struct attn_problem. The sizes come first in it, in the order of enum attn_axis */
INLINE int64_t size_of_axis(const int64_t *size, int64_t axis) { return size[-axis - 1]; }
INLINE int64_t floor_mod(int64_t a, int64_t b) { return (a % b + b) % b; }
INLINE int64_t shifted_left(int64_t x, int64_t by) { return by < 0 || by > 63 ? 0 : (int64_t)((uint64_t)x << by); }
INLINE int64_t shifted_right(int64_t x, int64_t by) { return x >> (by < 0 || by > 63 ? 63 : by); }
INLINE double sigmoid(double x) { return 1 / (1 + exp(-x)); }
INLINE float sigmoidf(float x) { return 1 / (1 + expf(-x)); }

/* min_real and max_real keep NaN, unlike fmin and fmax. */
INLINE double min_real(double a, double b) { return a < b || a != a ? a : b; }
INLINE double max_real(double a, double b) { return a > b || a != a ? a : b; }

/* Truncates x. The absolute value is at most 2^62. NaN becomes 0. */
INLINE int64_t truncated(double x) { return x != x ? 0 : (int64_t)fmin(fmax(x, -0x1p62), 0x1p62); }

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

/* ---- 16-bit numbers ---- */

union bits { uint32_t bits; float value; };
INLINE float widened_bf16(uint16_t x) { return (union bits){(uint32_t)x << 16}.value; } /* the upper half of a float */
INLINE float widened_f16(uint16_t half) /* f16 has 5 bits of exponent and 10 of fraction */
{
    const uint32_t x = (half & 0x7fffu) << 13, sign = (half & 0x8000u) << 16;
    union bits made = {x + (113u << 23)}; /* for subnormal numbers, adds and subtracts a leading one */
    made.value -= 0x1p-14f;
    /* the second 112 << 23 is for infinity and NaN */
    if (x >= 0x00800000) made.bits = x + (112u << 23) + (x >= 0x0f800000 ? 112u << 23 : 0);
    made.bits |= sign;
    return made.value;
}

/* Round to nearest, ties to even. NaN stays NaN. */
INLINE uint16_t narrowed_bf16(float value)
{
    const uint32_t x = (union bits){.value = value}.bits;
    return (uint16_t)((value != value ? x | 0x400000 : x + 0x7fff + (x >> 16 & 1)) >> 16);
}
INLINE uint16_t narrowed_f16(float value)
{
    const union bits given = {.value = value}, size = {given.bits & 0x7fffffff}, tiny = {.value = size.value + 0.5f};
    uint32_t x = (size.bits - (112u << 23) + 0xfff + (size.bits >> 13 & 1)) >> 13;
    if (size.bits < 113u << 23) x = tiny.bits - (126u << 23); /* for subnormal numbers, adding 0.5f has rounded x */
    if (size.bits >= 0x477ff000) x = 0x7c00; /* numbers from 65520 on become infinity */
    if (value != value) x = 0x7e00;
    return (uint16_t)(x | (given.bits >> 16 & 0x8000));
}

#endif
