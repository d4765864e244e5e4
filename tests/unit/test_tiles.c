/* Tests matrix units: their emulation in plain C, the loop that measures their peak, and their part of the roofline. */
#include "compiler/cost/cost.h"
#include "runtime/attnrt_tiles.h"
#include "suite.h"

#include "compiler/host/probe.c"

#include <math.h>

/* Functions of the runtime, declared here because some names of attnrt.h are macros in this file. */
uint16_t attn_bf16(double value);
double attn_bf16_value(uint16_t bits);

static float of_bits(uint32_t bits)
{
    union {
        uint32_t bits;
        float number;
    } x = {bits};
    return x.number;
}

static uint32_t next(uint32_t *state)
{
    return *state = *state * 1664525 + 1013904223;
}

/* The emulated conversion to bf16 rounds like the runtime's, but subnormal numbers become 0. */
static void rounds(void)
{
    static const uint32_t at[] = {0x3f808000, 0x3f818000, 0x3f807fff, 0x3f808001, 0x7f7fffff, 0x7f800000, 0xff800000,
                                  0x7f800001, 0x007fffff, 0x00800000, 0x80000001, 0xff7f8000, 0x00000000, 0x80000000};
    uint32_t state = 1;
    for (int k = 0; k < 20000; k++) {
        const uint32_t bits = k < (int)(sizeof at / sizeof *at) ? at[k] : next(&state);
        const float x = of_bits(bits);
        const __m512 lower = (__m512){0} + 1, upper = (__m512)((emulated_bits){0} + bits);
        const __m512i both = _mm512_cvtne2ps_pbh(upper, lower);
        const uint16_t wanted = isnan(x)              ? (uint16_t)(bits >> 16 | 0x40)
                                : (bits & 0x7f800000) ? attn_bf16((double)x)
                                                      : (uint16_t)(bits >> 16 & 0x8000);
        CU_ASSERT_EQUAL_FATAL(both[17], wanted);
        CU_ASSERT_EQUAL_FATAL(both[3], 0x3f80);
    }
}

static void permutes(void)
{
    uint16_t numbers[40];
    for (int k = 0; k < 40; k++) numbers[k] = (uint16_t)(k + 100);
    const __m512i a = _mm512_maskz_loadu_epi16(0x0000ffffu, numbers),
                  b = _mm512_maskz_loadu_epi16(0xffffffffu, numbers + 8);
    const __m512i order = _mm512_set1_epi16(33), here = _mm512_mask_add_epi16(order, 2, order, _mm512_set1_epi16(-30));
    const __m512i made = _mm512_permutex2var_epi16(a, here, b), own = _mm512_permutexvar_epi16(here, b);
    CU_ASSERT_EQUAL(a[15], 115);
    CU_ASSERT_EQUAL(a[16], 0);
    CU_ASSERT_EQUAL(made[0], 109); /* b[1] */
    CU_ASSERT_EQUAL(made[1], 103); /* a[3] */
    CU_ASSERT_EQUAL(own[0], 109);
    _mm512_storeu_si512(numbers + 1, made);
    CU_ASSERT_EQUAL(numbers[1], 109);
    CU_ASSERT_EQUAL(numbers[2], 103);
    CU_ASSERT_EQUAL(numbers[33], 133);
}

/* Tests the instructions that split 2^x into p * 2^n, with n = round(x) and p = 2^(x - n). */
static void exponentials(void)
{
    static const float at[16] = {0.5f,    -0.5f, 1.5f,  2.25f,    -126.0f,   -126.01f,
                                 127.75f, 1e9f,  -1e9f, INFINITY, -INFINITY, 3.0f};
    __m512 x = {0}, f, y, p = {0};
    for (int k = 0; k < 16; k++) x[k] = at[k];
    x[15] = NAN;
    uint16_t lanes;
    take_not_less(lanes, x, (__m512){0} - 126.0f);
    CU_ASSERT_EQUAL(lanes, 0xffff & ~(1 << 5 | 1 << 8 | 1 << 10));
    take_remainder(f, x);
    for (int k = 0; k < 16; k++) p[k] = exp2f(f[k]);
    take_scaled(y, p, x - f, lanes);
    CU_ASSERT_EQUAL(f[2], -0.5f); /* 1.5 is rounded to the even number 2 */
    CU_ASSERT_EQUAL(f[9], 0);
    for (int k = 0; k < 15; k++) {
        const double wanted = (lanes >> k & 1) ? exp2((double)at[k]) : 0;
        if (wanted > 1e38 || wanted == 0)
            CU_ASSERT_EQUAL_FATAL((double)y[k], wanted > 3.5e38 ? INFINITY : wanted > 0 ? (double)y[k] : 0)
        else
            CU_ASSERT_DOUBLE_EQUAL_FATAL((double)y[k] / wanted, 1, 1e-6);
    }
    CU_ASSERT(isnan(y[15]));
}

static void products(void)
{
    static uint16_t a[16][40], b[16][32];
    static float c[16][20], before[16][20];
    uint32_t state = 7;
    for (int m = 0; m < 16; m++) {
        for (int k = 0; k < 40; k++) a[m][k] = attn_bf16((double)(next(&state) >> 24) / 64 - 2);
        for (int k = 0; k < 32; k++) b[m][k] = attn_bf16((double)(next(&state) >> 24) / 64 - 2);
        for (int n = 0; n < 20; n++) c[m][n] = before[m][n] = (float)(m + n);
    }
    a[0][0] = 0x0001; /* this subnormal number counts as 0 */
    tile_load(0, c, sizeof *c);
    tile_load(4, a, sizeof *a);
    tile_load(6, b, sizeof *b);
    tile_multiply(0, 4, 6);
    tile_store(0, c, sizeof *c);
    a[0][0] = 0;
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 20; n++) {
            double sum = (double)before[m][n];
            for (int k = 0; k < 32 && n < 16; k++)
                sum += attn_bf16_value(a[m][k]) * attn_bf16_value(b[k / 2][2 * n + k % 2]);
            CU_ASSERT_DOUBLE_EQUAL_FATAL((double)c[m][n], sum, n < 16 ? 1e-4 : 0);
        }
    tile_zero(0);
    tile_store(0, c, sizeof *c);
    CU_ASSERT_EQUAL(c[15][15], 0);
    CU_ASSERT_EQUAL(c[15][16], before[15][16]);
    __m512 pair = {0};
    pair = _mm512_dpbf16_ps(pair + 1, _mm512_set1_epi32(0x40404000), _mm512_set1_epi32(0x40803f80)); /* pairs (2,
                                                                                                      * 3), (1, 4) */
    CU_ASSERT_EQUAL(pair[9], 15);
}

static void peak_is_measured(void)
{
    const double rate = machine_probe.units(1, 0);
    CU_ASSERT(rate > 0 && rate < 1e15);
}

static void roofline(void)
{
    const struct rates rates = {10, 100, 2}, vectors = {10, 0, 2};
    const struct roofline both = {20, 300, 8}, work = {20, 0, 8}, bytes = {20, 300, 12};
    bool memory;
    CU_ASSERT_DOUBLE_EQUAL(roofline_seconds(&both, &rates, &memory), 5, 1e-12);
    CU_ASSERT(!memory);
    CU_ASSERT_DOUBLE_EQUAL(roofline_seconds(&bytes, &rates, &memory), 6, 1e-12);
    CU_ASSERT(memory);
    CU_ASSERT_DOUBLE_EQUAL(roofline_seconds(&work, &vectors, NULL), 4, 1e-12);
}

/* Rates of the table are FLOPs per cycle, two for each multiply-add. */
static void table(void)
{
    const struct target *const best = target_find("x86-64-v4"), *const other = target_find("x86-64-v3");
    CU_ASSERT_EQUAL(nominal_rates(best, DTYPE_BF16).units, 1024);
    CU_ASSERT_EQUAL(nominal_rates(best, DTYPE_BF16).peak, 64);
    CU_ASSERT_EQUAL(nominal_rates(other, DTYPE_BF16).units, 0);
    CU_ASSERT_STRING_EQUAL(target_unit(best, TARGET_MATRIX_UNITS), "AMX");
    CU_ASSERT_STRING_EQUAL(other->vectors, "AVX2");
}

int main(void)
{
    static const struct unit_test tests[] = {
        {"tiles/rounds", rounds},     {"tiles/permutes", permutes},     {"tiles/exponentials", exponentials},
        {"tiles/products", products}, {"tiles/peak", peak_is_measured}, {"tiles/roofline", roofline},
        {"tiles/table", table}};
    return unit_tests_run("tiles", tests, sizeof tests / sizeof *tests);
}
