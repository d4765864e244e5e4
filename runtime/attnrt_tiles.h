/* Emulates the instructions of kernels for matrix units in plain C, with the same bits: the tile registers of AMX,
   and some of AVX-512. Kernels compiled with -DATTN_EMULATE_TILES include this header. They run slowly, on every
   machine with GNU vectors. */
#ifndef ATTNRT_TILES_H
#define ATTNRT_TILES_H

#include <math.h>
#include <stdint.h>

/* NOLINTBEGIN(bugprone-reserved-identifier): the names of the compiler's intrinsics */
#pragma GCC diagnostic ignored "-Wpsabi" /* these vectors are not passed to other code */
#define attn_tiles() 1
#define attn_x86_64_level() 4
#define attn_avx512_bf16() 1
#define EMULATED static __attribute__((unused))

/* ---- vectors of 64 bytes ---- */

typedef float emulated_row __attribute__((vector_size(64)));
typedef uint32_t emulated_bits __attribute__((vector_size(64)));
typedef int32_t emulated_mask __attribute__((vector_size(64)));
typedef emulated_row __m512;
typedef uint16_t __m512i __attribute__((vector_size(64), may_alias));
typedef uint16_t __m512bh __attribute__((vector_size(64)));
typedef uint16_t emulated_stored __attribute__((vector_size(64), aligned(2), may_alias));

/* Returns x with subnormal numbers replaced by 0 of equal sign, as in bf16 products. */
EMULATED emulated_row emulated_normal(emulated_bits x)
{
    return (emulated_row)(x & ((emulated_bits)((x & 0x7f800000) != 0) | 0x80000000));
}
EMULATED emulated_row emulated_first(emulated_bits pairs)
{
    return emulated_normal(pairs << 16);
}
EMULATED emulated_row emulated_second(emulated_bits pairs)
{
    return emulated_normal(pairs & 0xffff0000);
}

/* Rounds to bf16, to nearest even. NaN stays NaN. */
EMULATED emulated_bits emulated_rounded(emulated_row value)
{
    const emulated_bits x = (emulated_bits)value, y = (emulated_bits)emulated_normal(x),
                        nan = (emulated_bits)((x & 0x7fffffff) > 0x7f800000);
    return (((x | 0x400000) & nan) | ((y + 0x7fff + (y >> 16 & 1)) & ~nan)) >> 16;
}

EMULATED __m512i emulated_two(__m512 upper, __m512 lower)
{
    const emulated_bits first = emulated_rounded(lower), second = emulated_rounded(upper);
    __m512i both = {0};
    for (int k = 0; k < 16; k++) both[k] = (uint16_t)first[k];
    for (int k = 0; k < 16; k++) both[k + 16] = (uint16_t)second[k];
    return both;
}

EMULATED __m512i emulated_permuted(__m512i a, __m512i order, __m512i b)
{
    __m512i made = {0};
    for (int k = 0; k < 32; k++) made[k] = order[k] & 32 ? b[order[k] & 31] : a[order[k] & 31];
    return made;
}

EMULATED __m512i emulated_loaded(uint32_t lanes, const uint16_t *p)
{
    __m512i made = {0};
    for (int k = 0; k < 32; k++)
        if (lanes >> k & 1) made[k] = p[k];
    return made;
}

EMULATED uint16_t emulated_lanes(emulated_mask m)
{
    unsigned lanes = 0;
    for (int k = 0; k < 16; k++) lanes |= (unsigned)(m[k] & 1) << k;
    return (uint16_t)lanes;
}

#define _CMP_NEQ_UQ
#define _mm512_cmp_ps_mask(a, b, differ) emulated_lanes((a) != (b))
#define _mm512_set1_epi16(x) ((__m512i){0} + (uint16_t)(x))
#define _mm512_set1_epi32(x) ((__m512bh)((emulated_mask){0} + (x)))
#define _mm512_add_epi16(a, b) ((a) + (b))
#define _mm512_mask_add_epi16(from, lanes, a, b) emulated_added(from, lanes, a, b)
#define _mm512_maskz_loadu_epi16(lanes, p) emulated_loaded(lanes, p)
#define _mm512_storeu_si512(p, x) ((void)(*(emulated_stored *)(void *)(p) = (emulated_stored)(x)))
#define _mm512_permutexvar_epi16(order, a) emulated_permuted(a, order, a)
#define _mm512_permutex2var_epi16(a, order, b) emulated_permuted(a, order, b)
#define _mm512_cvtne2ps_pbh(upper, lower) emulated_two(upper, lower)
#define _mm512_dpbf16_ps(sum, a, b) emulated_dot(sum, a, b)

EMULATED __m512i emulated_added(__m512i from, uint32_t lanes, __m512i a, __m512i b)
{
    for (int k = 0; k < 32; k++)
        if (lanes >> k & 1) from[k] = (uint16_t)(a[k] + b[k]);
    return from;
}

/* Emulates vdpbf16ps. Adds the products of second elements first, and then the products of first elements. */
EMULATED __m512 emulated_dot(__m512 sum, __m512bh a, __m512bh b)
{
    sum += emulated_second((emulated_bits)a) * emulated_second((emulated_bits)b);
    return sum + emulated_first((emulated_bits)a) * emulated_first((emulated_bits)b);
}

/* ---- instructions of the exponential function, and the square root ---- */

#define take_not_less(lanes, x, least) ((lanes) = (uint16_t)~emulated_lanes((x) < (least)))
#define take_remainder(f, x) ((f) = emulated_remainder(x))
#define take_scaled(y, p, n, lanes) ((y) = emulated_scaled(p, n, lanes))
#define take_root(y, x) ((y) = emulated_root(x))
EMULATED __m512 emulated_remainder(__m512 x)
{
    for (int k = 0; k < 16; k++) x[k] = isinf(x[k]) ? 0 : x[k] - rintf(x[k]);
    return x;
}
EMULATED __m512 emulated_scaled(__m512 p, __m512 n, uint16_t lanes)
{
    for (int k = 0; k < 16; k++)
        p[k] = !(lanes >> k & 1) ? 0
               : n[k] != n[k]    ? n[k]
                                 : ldexpf(p[k], n[k] > 512    ? 512
                                                : n[k] < -512 ? -512
                                                              : (int)floorf(n[k]));
    return p;
}
EMULATED __m512 emulated_root(__m512 x)
{
    for (int k = 0; k < 16; k++) x[k] = sqrtf(x[k]);
    return x;
}

/* ---- tile registers: 16 rows of 64 bytes ---- */

static _Thread_local union {
    emulated_bits pairs[16];
    emulated_row row[16];
} emulated_tile[8];
#define configure_tiles() ((void)0)
#define release_tiles() ((void)0)
#define tile_zero(t) emulated_zero(t)
#define tile_load(t, from, stride) emulated_load(t, from, stride)
#define tile_store(t, to, stride) emulated_store(t, to, stride)
#define tile_multiply(c, a, b) emulated_multiply(c, a, b)

EMULATED void emulated_zero(int t)
{
    for (int m = 0; m < 16; m++) emulated_tile[t].row[m] = (emulated_row){0};
}
EMULATED void emulated_load(int t, const void *from, int64_t stride)
{
    for (int m = 0; m < 16; m++)
        emulated_tile[t].pairs[m] = (emulated_bits)(*(const emulated_stored *)(const void *)((const char *)from +
                                                                                             m * stride));
}
EMULATED void emulated_store(int t, void *to, int64_t stride)
{
    for (int m = 0; m < 16; m++)
        *(emulated_stored *)(void *)((char *)to + m * stride) = (emulated_stored)emulated_tile[t].row[m];
}
/* Computes c += a * b. The sums of first and of second elements are separate, as in tdpbf16ps. The products are
   exact. */
EMULATED void emulated_multiply(int c, int a, int b)
{
    emulated_row first_of_b[16], second_of_b[16];
    for (int k = 0; k < 16; k++) {
        first_of_b[k] = emulated_first(emulated_tile[b].pairs[k]);
        second_of_b[k] = emulated_second(emulated_tile[b].pairs[k]);
    }
    for (int m = 0; m < 16; m++) {
        const emulated_row first_of_a = emulated_first(emulated_tile[a].pairs[m]),
                           second_of_a = emulated_second(emulated_tile[a].pairs[m]);
        emulated_row first = {0}, second = {0};
        for (int k = 0; k < 16; k++) {
            first += first_of_a[k] * first_of_b[k];
            second += second_of_a[k] * second_of_b[k];
        }
        emulated_tile[c].row[m] += first + second;
    }
}
/* NOLINTEND(bugprone-reserved-identifier) */
#endif
