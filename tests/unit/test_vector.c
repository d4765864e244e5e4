/* Compares the headers of runtime/kernel/ with the C library. The build defines the type and width of vectors. */
#include "runtime/attnrt.h"
#include "suite.h"
#include "vector_names.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/kernel/call.h"
#include "runtime/kernel/vector.h"
#include "runtime/kernel/elementary.h"
#include "runtime/kernel/draw.h"
#include "runtime/kernel/flags.h"
#include "runtime/kernel/random.h"
#include "runtime/kernel/product.h"
#include "runtime/kernel/solve.h"
#include "runtime/kernel/decayed_lanes.h"
#include "runtime/kernel/decayed_rows.h"

/* rows of REAL, or of f16 in a kernel of f16 */
#define S(name) name##_T
#define STORED_F16 F16
#include "stored_options.h"
#include "runtime/kernel/stored.h"
#if F16
typedef uint16_t row_element;
#else
typedef REAL row_element;
#endif

INLINE float widened(uint16_t x)
{
    return (float)(F16 ? attn_f16_value(x) : attn_bf16_value(x));
}
INLINE uint16_t narrowed(float x)
{
    return F16 ? attn_f16((double)x) : attn_bf16((double)x);
}

static uint64_t state = 1;

/* Returns a pseudo-random number between -1 and 1, the same on every machine. */
static double drawn(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(int64_t)state * 0x1p-63;
}

static double ulp(double x)
{
    const REAL y = (REAL)fabs(x);
    return F64 ? nextafter(y, INFINITY) - y : (double)(nextafterf((float)y, INFINITY) - (float)y);
}

typedef vec_T vector_function(vec_T);

/* Returns the largest error in ulps, for numbers up to `size`. */
static double worst(vector_function *ours, double (*theirs)(double), double size, bool positive)
{
    double most = 0;
    for (int n = 0; n < 20000; n++) {
        vec_T x;
        for (int k = 0; k < LANES; k++) x[k] = (REAL)((positive ? fabs(drawn()) : drawn()) * size);
        const vec_T y = ours(x);
        for (int k = 0; k < LANES; k++) {
            const double wanted = theirs((double)x[k]), off = fabs((double)y[k] - wanted) / ulp(wanted);
            if (!(off <= most)) most = off;
        }
    }
    return most;
}

static vec_T ours_exp2(vec_T x)
{
    return exp2_T(x);
}
static vec_T ours_exp(vec_T x)
{
    return exp_T(x);
}
static vec_T ours_tanh(vec_T x)
{
    return tanh_T(x);
}
#if AVX && !F64
static vec_T ours_tanh_capped(vec_T x)
{
    return tanh_capped_T(x);
}
#endif
static vec_T ours_erf(vec_T x)
{
    return erf_T(x);
}
static vec_T ours_expm1(vec_T x)
{
    return expm1_T(x);
}
static vec_T ours_log1p(vec_T x)
{
    return log1p_T(x);
}
static vec_T ours_log(vec_T x)
{
    return log_T(x);
}
static vec_T ours_sqrt(vec_T x)
{
    return sqrt_T(x);
}
static vec_T ours_floor(vec_T x)
{
    return floor_T(x);
}
static vec_T ours_ceil(vec_T x)
{
    return ceil_T(x);
}
static vec_T ours_round(vec_T x)
{
    return round_T(x);
}
static vec_T ours_whole(vec_T x)
{
    return whole_T(x);
}
static vec_T ours_log2(vec_T x)
{
    return log2_T(x);
}
static vec_T ours_sigmoid(vec_T x)
{
    return sigmoid_T(x);
}
static vec_T ours_abs(vec_T x)
{
    return abs_T(x);
}

static void elementary(void)
{
    CU_ASSERT(worst(ours_exp2, exp2, F64 ? 1000 : 120, false) < 2);
    CU_ASSERT(worst(ours_exp, exp, F64 ? 700 : 85, false) < 4);
    CU_ASSERT(worst(ours_tanh, tanh, 5, false) <= 4);
    CU_ASSERT(worst(ours_tanh, tanh, 1e-3, false) < 4);
#if AVX && !F64
    CU_ASSERT(worst(ours_tanh_capped, tanh, 5, false) <= 4);
    CU_ASSERT(worst(ours_tanh_capped, tanh, 0.71, false) < 2);
    const vec_T steep = tanh_capped_T(splat_T(-INFINITY)), undefined = tanh_capped_T(splat_T(NAN));
    CU_ASSERT(steep[0] == -1 && isnan(undefined[LANES - 1]));
#endif
    CU_ASSERT(worst(ours_erf, erf, 7, false) <= 2);
    CU_ASSERT(worst(ours_erf, erf, 1.2, false) <= 2);
    CU_ASSERT(worst(ours_erf, erf, 1e-3, false) <= 2);
    const vec_T far = erf_T(splat_T((REAL)-INFINITY)), unclear = erf_T(splat_T((REAL)NAN));
    CU_ASSERT(far[0] == -1 && isnan(unclear[LANES - 1]));
    CU_ASSERT(worst(ours_expm1, expm1, F64 ? 700 : 88, false) <= 4);
    CU_ASSERT(worst(ours_expm1, expm1, 2, false) <= 4);
    CU_ASSERT(worst(ours_expm1, expm1, 1e-3, false) <= 4);
    const vec_T huge = expm1_T(splat_T((REAL)1e30)), minus_one = expm1_T(splat_T((REAL)-INFINITY)),
                strange = expm1_T(splat_T((REAL)NAN)), just = expm1_T(splat_T((REAL)(F64 ? 709.7 : 88.7)));
    CU_ASSERT(isinf(huge[0]) && minus_one[0] == -1 && isnan(strange[LANES - 1]) && isfinite(just[0]));
    CU_ASSERT(worst(ours_log1p, log1p, 1e3, true) < 2);
    CU_ASSERT(worst(ours_log, log, 1e3, true) < 2);
    CU_ASSERT(worst(ours_sqrt, sqrt, 1e3, true) < 1);
    CU_ASSERT(worst(ours_floor, floor, 1e3, false) == 0);
    CU_ASSERT(worst(ours_abs, fabs, 1e3, false) == 0);
    CU_ASSERT(worst(ours_ceil, ceil, 1e3, false) == 0);
    CU_ASSERT(worst(ours_round, rint, 1e3, false) == 0);
    CU_ASSERT(worst(ours_whole, trunc, 1e3, false) == 0);
    CU_ASSERT(worst(ours_log2, log2, 1e3, true) < 2);
    CU_ASSERT(worst(ours_sigmoid, sigmoid, F64 ? 700 : 85, false) < 5);
    const vec_T halves = round_T(splat_T((REAL)2.5)), shut = sigmoid_T(splat_T((REAL)-1e30)),
                open = sigmoid_T(splat_T((REAL)INFINITY)), neither = sigmoid_T(splat_T((REAL)NAN));
    CU_ASSERT(halves[0] == 2 && shut[0] < (REAL)1e-30 && open[0] == 1 && isnan(neither[LANES - 1]));
    const vec_T low = exp2_T(splat_T((REAL)-1e30)), none = exp2_T(splat_T((REAL)-INFINITY)),
                unknown = exp2_T(splat_T((REAL)NAN));
    CU_ASSERT(low[0] == 0 && none[LANES - 1] == 0 && isnan(unknown[0]));
    const vec_T power = pow_T(splat_T(3), splat_T((REAL)0.5));
    CU_ASSERT_DOUBLE_EQUAL((double)power[0], sqrt(3), 1e-6);
}

/* log2 is exact at powers of two, and exp2 at integers. */
static void powers_of_two(void)
{
    const int most = F64 ? 1022 : 126;
    bool good = true;
    for (int n = -most; n <= most; n++) {
        const vec_T power = exp2_T(splat_T((REAL)n)), exponent = log2_T(splat_T((REAL)ldexp(1, n)));
        for (int k = 0; k < LANES; k++) good &= (double)power[k] == ldexp(1, n) && exponent[k] == (REAL)n;
    }
    CU_ASSERT(good);
}

static void angles(void)
{
    double most = 0;
    for (int n = 0; n < 20000; n++) {
        wide_T x;
        for (int k = 0; k < LANES; k++) x[k] = drawn() * 1e6;
        const vec_T s = sin_T(&x), c = cos_T(&x);
        for (int k = 0; k < LANES; k++) {
            const double of_sine = fabs((double)s[k] - sin(x[k])), of_cosine = fabs((double)c[k] - cos(x[k]));
            if (!(of_sine <= most)) most = of_sine;
            if (!(of_cosine <= most)) most = of_cosine;
        }
    }
    CU_ASSERT(most < (F64 ? 4e-16 : 2e-7));
}

/* Returns whether two sines or cosines are equal up to rounding, or both are NaN. */
static bool close_to(double ours, double theirs)
{
    return (isnan(ours) && isnan(theirs)) || fabs(ours - theirs) < (F64 ? 4e-16 : 2e-7);
}

static void far_angles(void)
{
    static const double special[] = {0, -0.5, 999999, 1e6 + 1, -1e9, 1e15, 1e22, -1e300, INFINITY, -INFINITY, NAN};
    enum { SPECIAL = sizeof special / sizeof *special };
    bool good = true;
    for (int n = 0; n < 5000; n++) {
        wide_T x;
        for (int k = 0; k < LANES; k++)
            x[k] = n < SPECIAL ? special[(n + k) % SPECIAL] : drawn() * pow(10, 3 + 12 * fabs(drawn()));
        const vec_T s = sin_any_T(&x), c = cos_any_T(&x);
        for (int k = 0; k < LANES; k++) good &= close_to((double)s[k], sin(x[k])) && close_to((double)c[k], cos(x[k]));
    }
    CU_ASSERT(good);
}

static void without_fractions(void)
{
    static const double given[] = {0.5, -0.5, 2.999, -2.999, 1e18, -1e300, INFINITY, NAN};
    static const int64_t wanted[] = {0, 0, 2, -2, 1000000000000000000, -(INT64_C(1) << 62), INT64_C(1) << 62, 0};
    for (int n = 0; n < 8; n++) {
        wide_T x;
        for (int k = 0; k < LANES; k++) x[k] = given[(n + k) % 8];
        ints_T y = {0};
        truncate_T(&y, &x);
        for (int k = 0; k < LANES; k++) CU_ASSERT(y[k] == wanted[(n + k) % 8]);
    }
}

static void choices(void)
{
    vec_T a, b;
    for (int k = 0; k < LANES; k++) {
        a[k] = (REAL)drawn();
        b[k] = (REAL)drawn();
    }
    const vec_T larger = max_T(a, b), smaller = min_T(a, b), chosen = pick_T((mask_T)(a < 0), a, b);
    double sum = 0;
    for (int k = 0; k < LANES; k++) {
        CU_ASSERT(larger[k] == (a[k] < b[k] ? b[k] : a[k]));
        CU_ASSERT(smaller[k] == (a[k] < b[k] ? a[k] : b[k]));
        CU_ASSERT(chosen[k] == (a[k] < 0 ? a[k] : b[k]));
        CU_ASSERT(lane_T[k] == k);
        sum += (double)a[k];
    }
    CU_ASSERT_DOUBLE_EQUAL((double)lane_sum_T(a), sum, LANES * 1e-6);
    for (int n = 0; n < 1000; n++) {
        const double x = drawn() * 1e4;
        const float high = high_part_T(x);
        CU_ASSERT(fabs(x - (double)high) <= fabs(x) * 0x1p-11 && (double)(high * 4095.0f) == (double)high * 4095);
    }
}

#if !F64
/* Tests the conversion from f32 to 16 bits: numbers near every 16-bit number, halfway points, random bits. */
static void narrowing(void)
{
    const uint32_t half = F16 ? 0x1000 : 0x8000, beside[] = {0, 1, half - 1, half, half + 1, UINT32_MAX};
    for (uint32_t n = 0; n < 7 * 65536; n += LANES) {
        const uint32_t way = n / 65536;
        vec_T given;
        uint16_t made[LANES];
        for (int k = 0; k < LANES; k++) {
            float x = widened((uint16_t)(n + (uint32_t)k));
            uint32_t bits;
            memcpy(&bits, &x, sizeof bits);
            bits = way < 6 ? bits + beside[way] : (uint32_t)((int64_t)(drawn() * 0x1p32));
            memcpy(&x, &bits, sizeof x);
            given[k] = x;
        }
        store_narrowed_T(made, given);
        for (int k = 0; k < LANES; k++) {
            const uint16_t wanted = narrowed(given[k]);
            if (isnan(given[k]) ? !isnan(widened(made[k])) : made[k] != wanted) CU_FAIL("a number made 16 bits");
        }
    }
}
#endif

static void transposition(void)
{
    enum { ROW_COUNT = 2 * LANES + 3, COLUMNS = 3 * LANES + 1 };
    static REAL from[ROW_COUNT + AHEAD][COLUMNS], to[COLUMNS][ROW_COUNT];
    for (int r = 0; r < ROW_COUNT; r++)
        for (int c = 0; c < COLUMNS; c++) from[r][c] = (REAL)(r * 100 + c);
    transpose_T(&from[0][0], COLUMNS, ROW_COUNT, COLUMNS, &to[0][0], ROW_COUNT, AHEAD);
    for (int r = 0; r < ROW_COUNT; r++)
        for (int c = 0; c < COLUMNS; c++)
            if (to[c][r] != (REAL)(r * 100 + c)) CU_FAIL("an element is elsewhere");
    enum { PADDED = 4 * LANES };
    static REAL padded[COLUMNS][PADDED];
    for (int64_t rows = 1; rows <= ROW_COUNT; rows++) {
        const int64_t end = (rows + LANES - 1) / LANES * LANES;
        for (int c = 0; c < COLUMNS; c++)
            for (int r = 0; r < PADDED; r++) padded[c][r] = -1;
        transpose_padded_T(&from[0][0], COLUMNS, rows, COLUMNS, &padded[0][0], PADDED, 0);
        for (int c = 0; c < COLUMNS; c++)
            for (int64_t r = 0; r < PADDED; r++)
                if (padded[c][r] != (r < rows ? from[r][c] : r < end ? 0 : -1)) CU_FAIL("an element is elsewhere");
    }
#if !F64
    static uint16_t narrow[COLUMNS][ROW_COUNT + 1];
    memset(narrow, 0xff, sizeof narrow);
    transpose_narrowed_T(&from[0][0], COLUMNS, ROW_COUNT, COLUMNS, &narrow[0][0], ROW_COUNT + 1, AHEAD);
    for (int c = 0; c < COLUMNS; c++)
        for (int r = 0; r <= ROW_COUNT; r++)
            if (narrow[c][r] != (r < ROW_COUNT ? narrowed(from[r][c]) : 0xffff)) CU_FAIL("an element is elsewhere");
#endif
}

static void sums(void)
{
    REAL sum[LANES] = {0}, compensation[LANES] = {0};
    for (int n = 0; n < 100000; n++) add_T(sum, compensation, splat_T((REAL)0.1), splat_T(1));
    CU_ASSERT_DOUBLE_EQUAL((double)sum[0], 100000 * (double)(REAL)0.1, 1e-3);
    CU_ASSERT(fabs((double)sum[LANES - 1] - 100000 * (double)(REAL)0.1) <= 2 * ulp(1e4));
}

/* Tests c[r][x] = sum over t of a[r][t] * b[t][x], for every remainder of rows, for long sums, with and without
 * prefetching. */
static void products(void)
{
    enum { MAX_ROWS = 2 * ROWS + 2, LONGEST = 1000, WIDTH = VECTORS * LANES };
    static REAL a[MAX_ROWS][LONGEST], b[LONGEST][WIDTH], c[MAX_ROWS][WIDTH], left[MAX_ROWS][WIDTH], factor[WIDTH];
    for (int t = 0; t < LONGEST; t++) {
        for (int r = 0; r < MAX_ROWS; r++) a[r][t] = (REAL)drawn();
        for (int x = 0; x < WIDTH; x++) b[t][x] = (REAL)drawn();
    }
    for (int x = 0; x < WIDTH; x++) factor[x] = (REAL)drawn();
    static const int64_t steps[] = {1, 7, 384, 385, 1000};
    for (int rows = 1; rows <= MAX_ROWS; rows++)
        for (size_t n = 0; n < sizeof steps / sizeof *steps; n++)
            for (int then = 0; then <= 3; then++) {
                static double wanted[MAX_ROWS][WIDTH];
                for (int r = 0; r < rows; r++)
                    for (int x = 0; x < WIDTH; x++) {
                        c[r][x] = (REAL)drawn();
                        left[r][x] = 0;
                        wanted[r][x] = then == 0 ? 0 : (double)c[r][x] * (then >= 2 ? (double)factor[x] : 1);
                        for (int64_t t = 0; t < steps[n]; t++) wanted[r][x] += (double)a[r][t] * (double)b[t][x];
                    }
                const int64_t part = then % 2 ? 192 : 32;
                if (n % 2)
                    dot_T(VECTORS, WIDTH, rows, -1, steps[n], part, &a[0][0], LONGEST, 1, &b[0][0], WIDTH, &c[0][0],
                          WIDTH, then, factor, &left[0][0]);
                else
                    dot_ahead_T(VECTORS, WIDTH, rows, -1, steps[n], part, &a[0][0], LONGEST, 1, &b[0][0], WIDTH,
                                &c[0][0], WIDTH, then, factor, &left[0][0], &b[0][0], WIDTH, WIDTH, &c[0][0], WIDTH,
                                WIDTH, rows);
                for (int r = 0; r < rows; r++)
                    for (int x = 0; x < WIDTH; x++)
                        if (!(fabs((double)c[r][x] - wanted[r][x]) < (F64 ? 1e-13 : 5e-5))) CU_FAIL("a product");
            }
}

/* Tests that dot_lane_T gives the bits of dot_T in one lane, and 0 in the others, and that dot_row_T gives those of a
   row. */
static void single_lanes(void)
{
    enum { ROWS_IN_LANES = 11 * LANES, LONGEST = 130 };
    static REAL a[LONGEST][ROWS_IN_LANES], b[LONGEST][LANES], c[ROWS_IN_LANES][LANES], d[ROWS_IN_LANES][LANES];
    static const int64_t steps[] = {1, 31, 64, 65, 96, LONGEST};
    for (int64_t rows = LANES; rows <= ROWS_IN_LANES; rows += LANES)
        for (size_t n = 0; n < sizeof steps / sizeof *steps; n++) {
            for (int64_t t = 0; t < steps[n]; t++) {
                for (int64_t r = 0; r < rows; r++) a[t][r] = (REAL)drawn();
                for (int x = 0; x < LANES; x++) b[t][x] = (REAL)drawn();
            }
            dot_T(1, LANES, rows, -1, steps[n], 32, &a[0][0], 1, ROWS_IN_LANES, &b[0][0], LANES, &c[0][0], LANES, 0,
                  NULL, NULL);
            for (int lane = 0; lane < LANES; lane++) {
                memset(d, 1, sizeof d);
                dot_lane_T(rows, lane, steps[n], 32, &a[0][0], ROWS_IN_LANES, &b[0][0], LANES, &d[0][0], LANES);
                for (int64_t r = 0; r < rows; r++)
                    for (int x = 0; x < LANES; x++)
                        if (memcmp(&d[r][x], &(REAL){x == lane ? c[r][lane] : 0}, sizeof(REAL)) != 0)
                            CU_FAIL("a product in one lane");
            }
            static REAL across[ROWS_IN_LANES], row[ROWS_IN_LANES];
            dot_T(1, rows, 1, -1, steps[n], 32, &b[0][0], 1, LANES, &a[0][0], ROWS_IN_LANES, across, 0, 0, NULL, NULL);
            dot_row_T(rows, steps[n], 32, &b[0][0], LANES, &a[0][0], ROWS_IN_LANES, row);
            CU_ASSERT(memcmp(row, across, (size_t)rows * sizeof *row) == 0);
            static REAL first[ROWS_IN_LANES][LANES];
            memset(row, 1, sizeof row);
            memset(first, 1, sizeof first);
            dot_lane_T(rows, 0, steps[n], 32, &a[0][0], ROWS_IN_LANES, &b[0][1], LANES, &d[0][0], LANES);
            dot_both_T(rows, steps[n], 32, &b[0][0], LANES, &b[0][1], LANES, &a[0][0], ROWS_IN_LANES, row, &first[0][0],
                       LANES);
            CU_ASSERT(memcmp(row, across, (size_t)rows * sizeof *row) == 0);
            CU_ASSERT(memcmp(first, d, (size_t)rows * sizeof *first) == 0);
        }
}

/* Tests solve_T against the recurrence, for every length up to a few register blocks. */
static void solutions(void)
{
    enum { MOST = 13, WIDE_LANES = 6 * LANES };
    static REAL w[MOST * MOST], rate[MOST], x[MOST * WIDE_LANES], u[MOST * WIDE_LANES];
    for (int64_t rows = 1; rows <= MOST; rows++)
        for (int64_t lanes = LANES; lanes <= WIDE_LANES; lanes += LANES) {
            for (int n = 0; n < MOST * MOST; n++) w[n] = (REAL)drawn();
            for (int n = 0; n < MOST; n++) rate[n] = (REAL)drawn();
            for (int n = 0; n < MOST * WIDE_LANES; n++) x[n] = (REAL)drawn(), u[n] = 7;
            solve_T(lanes, 0, rows, w, 1, MOST, rate, 1, x, WIDE_LANES, u, WIDE_LANES);
            double most = 0;
            for (int64_t l = 0; l < lanes; l++) {
                double exact[MOST];
                for (int64_t t = 0; t < rows; t++) {
                    double sum = (double)x[t * WIDE_LANES + l];
                    for (int64_t j = 0; j < t; j++) sum -= (double)w[t + j * MOST] * exact[j];
                    exact[t] = (double)rate[t] * sum;
                    most = fmax(most, fabs((double)u[t * WIDE_LANES + l] - exact[t]) / (1 + fabs(exact[t])));
                }
            }
            CU_ASSERT(most < (F64 ? 1e-12 : 1e-4));
            for (int64_t n = rows * WIDE_LANES; n < MOST * WIDE_LANES; n++) CU_ASSERT(u[n] == 7);
            for (int64_t first = 0; first <= rows; first++) { /* resuming gives the same bits */
                static REAL resumed[MOST * WIDE_LANES];
                for (int n = 0; n < MOST * WIDE_LANES; n++) resumed[n] = n < first * WIDE_LANES ? u[n] : 7;
                solve_T(lanes, first, rows, w, 1, MOST, rate, 1, x, WIDE_LANES, resumed, WIDE_LANES);
                for (int64_t t = 0; t < MOST; t++)
                    CU_ASSERT(memcmp(resumed + t * WIDE_LANES, u + t * WIDE_LANES, (size_t)lanes * sizeof *u) == 0);
            }
            /* With negative steps, solve_T solves from the last row to the first. w[t][j] is then used for j > t. */
            const int64_t last = rows - 1;
            solve_T(lanes, 0, rows, w + last * (1 + MOST), -1, -MOST, rate + last, -1, x + last * WIDE_LANES,
                    -WIDE_LANES, u + last * WIDE_LANES, -WIDE_LANES);
            for (int64_t l = 0; l < lanes; l++) {
                double exact[MOST];
                for (int64_t t = last; t >= 0; t--) {
                    double sum = (double)x[t * WIDE_LANES + l];
                    for (int64_t j = t + 1; j < rows; j++) sum -= (double)w[t + j * MOST] * exact[j];
                    exact[t] = (double)rate[t] * sum;
                    most = fmax(most, fabs((double)u[t * WIDE_LANES + l] - exact[t]) / (1 + fabs(exact[t])));
                }
            }
            CU_ASSERT(most < (F64 ? 1e-12 : 1e-4));
        }
}

/* Products of few vectors have the bits of wide ones, for rows and for columns of a. */
static void narrow_products(void)
{
    enum { MAX_ROWS = 2 * TALL + ROWS, LONGEST = 501, WIDTH = 2 * VECTORS * LANES };
    static REAL a[MAX_ROWS][LONGEST], turned[LONGEST][MAX_ROWS], b[LONGEST][WIDTH], before[MAX_ROWS][WIDTH],
        c[MAX_ROWS][WIDTH], d[MAX_ROWS][WIDTH], left[MAX_ROWS][WIDTH], factor[WIDTH];
    for (int t = 0; t < LONGEST; t++) {
        for (int r = 0; r < MAX_ROWS; r++) a[r][t] = turned[t][r] = (REAL)drawn();
        for (int x = 0; x < WIDTH; x++) b[t][x] = (REAL)drawn();
    }
    for (int x = 0; x < WIDTH; x++) factor[x] = (REAL)drawn();
    for (int lanes = LANES; lanes <= WIDTH; lanes += LANES)
        for (int rows = 1; rows <= MAX_ROWS; rows += 3)
            for (int then = 0; then <= 3; then++) {
                for (int r = 0; r < MAX_ROWS; r++)
                    for (int x = 0; x < WIDTH; x++) before[r][x] = (REAL)drawn();
                memcpy(c, before, sizeof c);
                memcpy(d, before, sizeof d);
                memset(left, 0, sizeof left);
                dot_T(VECTORS, WIDTH, rows, -1, LONGEST, 192, &a[0][0], LONGEST, 1, &b[0][0], WIDTH, &c[0][0], WIDTH,
                      then, factor, &left[0][0]);
                memset(left, 0, sizeof left);
                if (rows % 2)
                    dot_T(VECTORS, lanes, rows, -1, LONGEST, 192, &a[0][0], LONGEST, 1, &b[0][0], WIDTH, &d[0][0],
                          WIDTH, then, factor, &left[0][0]);
                else
                    dot_ahead_T(VECTORS, lanes, rows, -1, LONGEST, 192, &a[0][0], LONGEST, 1, &b[0][0], WIDTH, &d[0][0],
                                WIDTH, then, factor, &left[0][0], &b[0][0], WIDTH, WIDTH, &c[0][0], WIDTH, WIDTH, rows);
                for (int r = 0; r < rows; r++) CU_ASSERT(memcmp(c[r], d[r], (size_t)lanes * sizeof(REAL)) == 0);
                memcpy(d, before, sizeof d);
                memset(left, 0, sizeof left);
                dot_T(VECTORS, lanes, rows, -1, LONGEST, 192, &turned[0][0], 1, MAX_ROWS, &b[0][0], WIDTH, &d[0][0],
                      WIDTH, then, factor, &left[0][0]);
                for (int r = 0; r < rows; r++) CU_ASSERT(memcmp(c[r], d[r], (size_t)lanes * sizeof(REAL)) == 0);
            }
}

/* Tests inner products and sums of rows, with any number of columns. */
static void along(void)
{
    enum { TERMS = 3 * LANES, COLUMNS = 2 * LANES + 3, MAX_ROWS = LANES > 2 ? 3 * LANES : 7, WIDTH = 5 * LANES };
    static REAL a[MAX_ROWS][TERMS], b[COLUMNS][TERMS], c[MAX_ROWS][COLUMNS + LANES], sum[MAX_ROWS][WIDTH];
    static row_element stored[COLUMNS][TERMS];
    for (int r = 0; r < MAX_ROWS; r++)
        for (int t = 0; t < TERMS; t++) a[r][t] = (REAL)drawn();
    for (int x = 0; x < COLUMNS; x++)
        for (int t = 0; t < TERMS; t++) {
#if F16
            stored[x][t] = attn_f16((float)drawn());
            b[x][t] = (REAL)attn_f16_value(stored[x][t]);
#else
            stored[x][t] = b[x][t] = (REAL)drawn();
#endif
        }
    for (int k = 2; k < 2 * COLUMNS + 2; k++) {
        const int columns = k / 2, rows = k % 2 ? columns % 7 + 1 : 3 * LANES / 4 + columns % (2 * LANES);
        dot_along_T(rows, columns, TERMS, &a[0][0], TERMS, &stored[0][0], TERMS, &c[0][0], COLUMNS + LANES, 64, NULL);
        for (int r = 0; r < rows; r++)
            for (int x = 0; x < columns; x++) {
                double wanted = 0;
                for (int t = 0; t < TERMS; t++) wanted += (double)a[r][t] * (double)b[x][t];
                if (!(fabs((double)c[r][x] - wanted) < (F64 ? 1e-13 : 5e-5))) CU_FAIL("an inner product");
            }
        for (int r = 0; r < rows; r++) {
            REAL alone[COLUMNS + LANES];
            dot_along_T(1, columns, TERMS, a[r], TERMS, &stored[0][0], TERMS, alone, COLUMNS + LANES, 64, NULL);
            CU_ASSERT(memcmp(alone, c[r], (size_t)columns * sizeof(REAL)) == 0);
        }
    }
    for (int r = 0; r < MAX_ROWS; r++)
        for (int t = 0; t < COLUMNS; t++) c[r][t] = (REAL)drawn();
    for (int rows = 2; rows <= 20 && rows <= MAX_ROWS; rows++) {
        memset(sum, 0, sizeof sum);
        dot_fetched_T(VECTORS, VECTORS * LANES, rows, -1, COLUMNS, 192, &c[0][0], COLUMNS + LANES, 1, &stored[0][0],
                      TERMS, &sum[0][0], WIDTH, 1, NULL, NULL, 64, NULL);
        for (int r = 0; r < rows; r++)
            for (int x = 0; x < VECTORS * LANES; x++) {
                double wanted = 0, scale = 1;
                for (int t = 0; t < COLUMNS; t++) {
                    wanted += (double)c[r][t] * (double)b[t][x];
                    scale += fabs((double)c[r][t] * (double)b[t][x]);
                }
                if (!(fabs((double)sum[r][x] - wanted) < (F64 ? 1e-14 : 1e-6) * scale)) CU_FAIL("a sum fetched early");
            }
        for (int x = VECTORS * LANES; x < WIDTH; x++) CU_ASSERT(sum[0][x] == 0 && sum[rows - 1][x] == 0);
    }
    static REAL values[COLUMNS][WIDE + 3 * LANES], row[WIDE + 3 * LANES];
    static row_element narrow[COLUMNS][WIDE + 3 * LANES];
    for (int t = 0; t < COLUMNS; t++)
        for (int x = 0; x < WIDE + 3 * LANES; x++) {
#if F16
            narrow[t][x] = attn_f16((float)drawn());
            values[t][x] = (REAL)attn_f16_value(narrow[t][x]);
#else
            narrow[t][x] = values[t][x] = (REAL)drawn();
#endif
        }
    dot_fetched_T(1, WIDE + 3 * LANES, 1, -1, COLUMNS, 192, &c[0][0], COLUMNS + LANES, 1, &narrow[0][0],
                  WIDE + 3 * LANES, row, WIDE + 3 * LANES, 1, NULL, NULL, 64, NULL);
    for (int x = 0; x < WIDE + 3 * LANES; x++) {
        double wanted = 0, scale = 1;
        for (int t = 0; t < COLUMNS; t++) {
            wanted += (double)c[0][t] * (double)values[t][x];
            scale += fabs((double)c[0][t] * (double)values[t][x]);
        }
        if (!(fabs((double)row[x] - wanted) < (F64 ? 1e-14 : 1e-6) * scale)) CU_FAIL("a sum for a single row");
    }
    const vec_T x = load_T(&a[0][0]);
    REAL largest = x[0];
    for (int k = 1; k < LANES; k++) largest = x[k] > largest ? x[k] : largest;
    CU_ASSERT(lane_max_T(x) == largest);
}

/* Infinity and NaN are found in every position, and change only lanes that see them. */
static void unseen(void)
{
    enum { TERMS = 5, WIDTH = VECTORS * LANES };
    static REAL a[2][TERMS], b[TERMS][WIDTH], c[2][WIDTH], plain[2][WIDTH];
    const REAL bad[] = {(REAL)INFINITY, -(REAL)INFINITY, (REAL)NAN};
    for (int t = 0; t < TERMS; t++) {
        a[0][t] = (REAL)drawn();
        a[1][t] = (REAL)drawn();
        for (int x = 0; x < WIDTH; x++) b[t][x] = (REAL)drawn();
    }
    for (int t = 0; t < TERMS; t++)
        for (int k = 0; k < 3; k++) {
            const REAL kept = a[1][t];
            CU_ASSERT(finite_T(&a[0][0], TERMS, 2, TERMS));
            a[1][t] = 0;
            dot_T(VECTORS, WIDTH, 2, -1, TERMS, 32, &a[0][0], TERMS, 1, &b[0][0], WIDTH, &plain[0][0], WIDTH, 0, NULL,
                  NULL);
            a[1][t] = bad[k];
            CU_ASSERT(!finite_T(&a[0][0], TERMS, 2, TERMS));
            dot_finite_T(VECTORS, WIDTH, 2, -1, TERMS, 32, &a[0][0], TERMS, 1, &b[0][0], WIDTH, &c[0][0], WIDTH, 0,
                         NULL, NULL);
            CU_ASSERT(memcmp(c, plain, sizeof c) == 0);
            mask_T seen[VECTORS];
            memset(seen, 0, sizeof seen);
            seen[1][LANES - 1] = -1;
            add_seen_T(2, &c[0][0], WIDTH, &a[0][t], TERMS, b[t], seen, WIDTH);
            CU_ASSERT(!isfinite(c[1][WIDTH - 1]));
            c[1][WIDTH - 1] = plain[1][WIDTH - 1];
            CU_ASSERT(memcmp(c, plain, sizeof c) == 0);
            a[1][t] = kept;
        }
    const vec_T of_first = max_nan_T(splat_T((REAL)NAN), splat_T(1)),
                of_second = min_nan_T(splat_T(1), splat_T((REAL)NAN));
    CU_ASSERT(isnan(of_first[0]) && isnan(of_second[0]));
}

#if !F64
#define TYPE f16_rows
#define ATTN_TYPE ATTN_F16
#define STORED_F16 1
#include "stored_type.h"
#define TYPE bf16_rows
#define ATTN_TYPE ATTN_BF16
#define STORED_BF16 1
#include "stored_type.h"
#define TYPE fp8_rows
#define ATTN_TYPE ATTN_FP8
#define STORED_FP8 1
#include "stored_type.h"
#define TYPE i8_rows
#define ATTN_TYPE ATTN_I8
#define STORED_I8 1
#define BLOCK_ELEMENTS 0
#define BLOCK_BYTES 0
#include "stored_type.h"
#define TYPE i8_32_rows
#define ATTN_TYPE ATTN_I8_32
#define STORED_I8_32 1
#define BLOCK_ELEMENTS 32
#define BLOCK_BYTES 36
#include "stored_type.h"
#define TYPE q8_0_rows
#define ATTN_TYPE ATTN_Q8_0
#define STORED_Q8_0 1
#define BLOCK_ELEMENTS 32
#define BLOCK_BYTES 34
#include "stored_type.h"
#define TYPE q4_0_rows
#define ATTN_TYPE ATTN_Q4_0
#define STORED_Q4_0 1
#define BLOCK_ELEMENTS 32
#define BLOCK_BYTES 18
#if LANES == 16
#define BYTE_PRODUCTS attn_avx512_vnni()
#endif
#include "stored_type.h"

static void widening(void)
{
    for (uint32_t x = 0; x < 65536; x += LANES) {
        uint16_t half[LANES];
        for (int k = 0; k < LANES; k++) half[k] = (uint16_t)(x + (uint32_t)k);
        const vec_T f16 = widened_f16_rows(half, 0), bf16 = widened_bf16_rows(half, 0);
        for (int k = 0; k < LANES; k++) {
            const double of_f16 = attn_f16_value(half[k]), of_bf16 = attn_bf16_value(half[k]);
            if (isnan(of_f16) ? !isnan(f16[k]) : (double)f16[k] != of_f16) CU_FAIL("a number of f16");
            if (isnan(of_bf16) ? !isnan(bf16[k]) : (double)bf16[k] != of_bf16) CU_FAIL("a number of bf16");
        }
    }
}
#endif

/* True if this processor can run the compiled code. */
static bool runs_here(void)
{
#if defined(__x86_64__)
    if (DQ) return __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (AVX) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return true;
}

/* Compares random numbers with attn_philox. They are read in every order: four y, four x, and any y. */
static void random_numbers(void)
{
    static const uint64_t seeds[] = {0, 1, UINT64_C(0xfedcba9876543210)};
    static const int64_t first[] = {-3, 0, INT64_C(0x7ffffffffe)}, of[] = {0, INT64_C(0x5f0f0f0f1e1e1e1e)};
    for (int s = 0; s < 3; s++)
        for (int f = 0; f < 3; f++)
            for (int z = 0; z < 2; z++) {
                const struct random_keys_T keys = random_keys_of_T(seeds[s]);
                const ints_T x = lane_T * 3 + first[f], high = (ints_T){0} + of[z];
                struct random_T last = {.first = INT64_MIN}, rows = {.first = INT64_MIN};
                for (int64_t y = 2; y < 11; y++) {
                    const words_T made = random_at_y_T(&last, &keys, &x, y, of[z]);
                    const ints_T at = lane_T + y;
                    const words_T apart = random_of_lanes_T(&keys, &x, &at, &high);
                    const mask_T below = words_below_T(made, 0x80000001);
                    for (int k = 0; k < LANES; k++) {
                        const int64_t wanted = random_word_T(seeds[s], x[k], y, of[z]);
                        CU_ASSERT_EQUAL((int64_t)made[k], wanted);
                        CU_ASSERT_EQUAL((int64_t)apart[k], random_word_T(seeds[s], x[k], at[k], of[z]));
                        CU_ASSERT_EQUAL(below[k] != 0, wanted < 0x80000001);
                    }
                }
                for (int64_t y = 0; y < 8; y += 3) /* The offset y is a multiple of 4 only if it is 0. */
                    for (int64_t row = first[f]; row < first[f] + 7; row++) {
                        if (row == first[f]) rows.first = INT64_MIN;
                        const words_T made = random_at_x_T(&rows, &keys, row, y, of[z]);
                        for (int k = 0; k < LANES; k++)
                            CU_ASSERT_EQUAL((int64_t)made[k], random_word_T(seeds[s], row, y + k, of[z]));
                    }
            }
}

int main(void)
{
    static const struct unit_test tests[] = {{"vector/elementary", elementary},
                                             {"vector/powers_of_two", powers_of_two},
                                             {"vector/angles", angles},
                                             {"vector/far_angles", far_angles},
                                             {"vector/without_fractions", without_fractions},
                                             {"vector/choices", choices},
                                             {"vector/random_numbers", random_numbers},
#if !F64
                                             {"vector/widening", widening},
                                             {"vector/f16", rows_of_f16_rows},
                                             {"vector/bf16", rows_of_bf16_rows},
                                             {"vector/fp8", rows_of_fp8_rows},
                                             {"vector/i8", rows_of_i8_rows},
                                             {"vector/i8_32", rows_of_i8_32_rows},
                                             {"vector/q8_0", rows_of_q8_0_rows},
                                             {"vector/q4_0", rows_of_q4_0_rows},
                                             {"vector/narrowing", narrowing},
#endif
                                             {"vector/transposition", transposition},
                                             {"vector/sums", sums},
                                             {"vector/products", products},
                                             {"vector/solutions", solutions},
                                             {"vector/single_lanes", single_lanes},
                                             {"vector/narrow_products", narrow_products},
                                             {"vector/along", along},
                                             {"vector/unseen", unseen}};
    if (!runs_here()) {
        const int count = (int)(sizeof tests / sizeof *tests);
        for (int k = 0; k < count; k++) printf("skip %s this processor lacks the instructions\n", tests[k].name);
        printf("0 passed, 0 failed, %d skipped\n", count);
        return 0;
    }
    return unit_tests_run("vector", tests, sizeof tests / sizeof *tests);
}
