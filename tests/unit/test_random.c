/* Tests random parameters: the generator Philox, the bits and distribution of normal numbers, and random orthogonal
   matrices. */
#include "runtime/attnrt.h"
#include "suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Compares Philox 4x32 with 10 rounds with known answers from Random123. */
static void test_philox(void)
{
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        uint32_t out[4];
        attn_philox(known[k].counter, known[k].key, out);
        CU_ASSERT_EQUAL(memcmp(out, known[k].out, sizeof out), 0);
    }
}

/* attn_stream is the hash FNV-1a. Test vectors: draft-eastlake-fnv. */
static void test_stream(void)
{
    CU_ASSERT_EQUAL(attn_stream(""), UINT64_C(0xcbf29ce484222325));
    CU_ASSERT_EQUAL(attn_stream("a"), UINT64_C(0xaf63dc4c8601ec8c));
    CU_ASSERT_EQUAL(attn_stream("foobar"), UINT64_C(0x85944171f73967e8));
}

/* The sample moments of n values are within 5 standard deviations. */
static void test_moments(void)
{
    enum { VALUES = 1000000 };
    double *x = malloc(VALUES * sizeof *x), sum = 0, squares = 0, cubes = 0, fourths = 0, pairs = 0, largest = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    attn_normal_f64(42, attn_stream("sketch.0.g1"), 0, VALUES, x);
    int64_t within[3] = {0, 0, 0};
    for (int k = 0; k < VALUES; k++) {
        double square = x[k] * x[k];
        sum += x[k];
        squares += square;
        cubes += square * x[k];
        fourths += square * square;
        if (k) pairs += x[k] * x[k - 1];
        largest = fmax(largest, fabs(x[k]));
        for (int t = 0; t < 3; t++) within[t] += fabs(x[k]) <= t + 1;
    }
    const double n = VALUES, step = 5 / sqrt(n);
    CU_ASSERT(fabs(sum / n) < step);
    CU_ASSERT(fabs(squares / n - 1) < step * sqrt(2));
    CU_ASSERT(fabs(cubes / n) < step * sqrt(15));
    CU_ASSERT(fabs(fourths / n - 3) < step * sqrt(96));
    CU_ASSERT(fabs(pairs / n) < step);
    CU_ASSERT(largest > 4.3 && largest < 6.5);
    for (int t = 0; t < 3; t++) {
        double share = erf((t + 1) / sqrt(2.0));
        CU_ASSERT(fabs((double)within[t] / n - share) < step * sqrt(share * (1 - share)));
    }
    free(x);
}

/* One call or several calls give the same values, in f64 and f32. Another seed or stream gives other values. */
static void test_pieces(void)
{
    enum { VALUES = 101 };
    double whole[VALUES], piece[VALUES];
    float rounded[VALUES];
    attn_normal_f64(5, 9, 0, VALUES, whole);
    attn_normal_f32(5, 9, 0, VALUES, rounded);
    for (int k = 0; k < VALUES; k++) CU_ASSERT(rounded[k] == (float)whole[k]);
    for (int size = 1; size < 12; size++) {
        for (int at = 0; at < VALUES; at += size)
            attn_normal_f64(5, 9, (uint64_t)at, at + size < VALUES ? size : VALUES - at, piece + at);
        CU_ASSERT_EQUAL(memcmp(whole, piece, sizeof whole), 0);
    }
    const uint64_t other[][2] = {{6, 9}, {5, 10}, {5 + (UINT64_C(1) << 32), 9}, {5, 9 + (UINT64_C(1) << 32)}};
    for (size_t t = 0; t < sizeof other / sizeof *other; t++) {
        attn_normal_f64(other[t][0], other[t][1], 0, VALUES, piece);
        for (int k = 0; k < VALUES; k++) CU_ASSERT(piece[k] != whole[k]);
    }
    attn_normal_f64(5, 9, UINT64_C(1) << 33, VALUES, piece);
    CU_ASSERT(memcmp(whole, piece, sizeof whole) != 0);
    attn_normal_f64(5, 9, 0, 0, NULL);
}

/* Compares normal numbers with numbers that are computed with functions of the C library. */
static void test_transform(void)
{
    enum { VALUES = 20000 };
    static double x[VALUES];
    attn_normal_f64(3, 4, 0, VALUES, x);
    for (uint32_t pair = 0; pair < VALUES / 2; pair++) {
        const uint32_t counter[4] = {pair, 0, 4, 0}, key[2] = {3, 0};
        uint32_t bits[4];
        attn_philox(counter, key, bits);
        double u = (double)((uint64_t)bits[1] << 32 | bits[0]) * 0x1p-64,
               angle = 6.283185307179586 * ((double)((uint64_t)bits[3] << 32 | bits[2]) * 0x1p-64);
        double radius = sqrt(-2 * log(u));
        CU_ASSERT(fabs(x[2 * pair] - radius * cos(angle)) < 1e-13 &&
                  fabs(x[2 * pair + 1] - radius * sin(angle)) < 1e-13);
    }
}

/* These bits must not change: kernels give the same results for a seed in every version. */
static void test_golden(void)
{
    static const struct {
        const char *name;
        uint64_t seed, first;
        double value[3];
    } known[] = {
        {"sketch.g1", 0, 0, {0x1.a3edb3229421ep-5, 0x1.700db422bc288p+0, 0x1.2f3c53a922739p-4}},
        {"sketch.0.g1", 1, 1, {-0x1.58ec8a619f0cap-1, 0x1.f2d088f8f35fdp-2, 0x1.c40aab22c29abp-2}},
        {"sketch.0.g2",
         UINT64_C(0xFEDCBA9876543210),
         0,
         {0x1.16c6c09fa2ed7p-4, -0x1.66ac823be59bap-2, 0x1.d60142f0fc8f1p-1}},
        {"features.w", 1, ATTN_NORMS, {-0x1.dfccd5a49cf34p-1, -0x1.2b4c4a013e6f7p+0, -0x1.a30f52e1fc9p-3}},
    };
    for (size_t t = 0; t < sizeof known / sizeof *known; t++) {
        double x[3];
        attn_normal_f64(known[t].seed, attn_stream(known[t].name), known[t].first, 3, x);
        for (int k = 0; k < 3; k++) {
            CU_ASSERT(x[k] == known[t].value[k]);
            if (x[k] != known[t].value[k]) printf("%s %d: %a\n", known[t].name, k, x[k]);
        }
    }
    static const double features[][3] = {{-0x1.799a3907f9016p-1, -0x1.1040a28a75ab8p-1, 0x1.355a41b709613p+0},
                                         {0x1.d22d3f35d729ap+0, 0x1.1c61e279a534cp+1, 0x1.0b65122f0e383p+1},
                                         {0x1.77ebef616cb5cp-2, -0x1.7288621a9c698p-2, 0x1.0986771fee14p-4},
                                         {0x1.d959038b176ep-4, -0x1.39ffc4ccc71dep-1, 0x1.4778bfc5742b5p+0},
                                         {-0x1.cd40f51e4d986p+0, 0x1.a74beaf6d8f54p-2, 0x1.719f37dbe29b8p-2}};
    double out[5][3], work[12];
    CU_ASSERT_FATAL(attn_orthogonal_work(5, 3) <= sizeof work);
    attn_orthogonal_f64(1, attn_stream("features.w"), 5, 3, out[0], work);
    for (int r = 0; r < 5; r++)
        for (int k = 0; k < 3; k++) {
            CU_ASSERT(out[r][k] == features[r][k]);
            if (out[r][k] != features[r][k]) printf("features %d %d: %a\n", r, k, out[r][k]);
        }
}

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += a[k] * b[k];
    return sum;
}

static void check_orthogonal(int64_t rows, int64_t columns)
{
    const uint64_t seed = 17, stream = attn_stream("features.w");
    size_t bytes = attn_orthogonal_work(rows, columns), elements = (size_t)(rows * columns);
    unsigned char *work = malloc(bytes + 64);
    double *out = malloc(elements * sizeof *out), *row = malloc((size_t)columns * sizeof *row);
    float *rounded = malloc(elements * sizeof *rounded);
    CU_ASSERT_FATAL(work && out && row && rounded);
    memset(work + bytes, 0xa5, 64);
    attn_orthogonal_f64(seed, stream, rows, columns, out, work);
    attn_orthogonal_f32(seed, stream, rows, columns, rounded, work);
    for (size_t k = bytes; k < bytes + 64; k++) CU_ASSERT_EQUAL(work[k], 0xa5);
    for (size_t k = 0; k < elements; k++) CU_ASSERT(rounded[k] == (float)out[k]);
    double worst = 0, norms = 0;
    for (int64_t r = 0; r < rows; r++) {
        const double *a = out + r * columns, length = sqrt(dot(a, a, columns));
        attn_normal_f64(seed, stream, ATTN_NORMS + (uint64_t)(r * columns), columns, row);
        norms = fmax(norms, fabs(length - sqrt(dot(row, row, columns))));
        for (int64_t s = r - r % columns; s < r; s++) {
            const double *b = out + s * columns;
            worst = fmax(worst, fabs(dot(a, b, columns)) / length / sqrt(dot(b, b, columns)));
        }
        /* R has a positive diagonal. So a row of Q has a positive inner product with its row of the normal matrix. */
        attn_normal_f64(seed, stream, (uint64_t)(r * columns), columns, row);
        CU_ASSERT(dot(a, row, columns) > 0);
    }
    CU_ASSERT(worst < 1e-12 && norms < 1e-12);
    /* A matrix with fewer rows has the first rows of a larger matrix. */
    if (rows > 1) {
        double *fewer = malloc(elements * sizeof *fewer);
        CU_ASSERT_PTR_NOT_NULL_FATAL(fewer);
        attn_orthogonal_f64(seed, stream, rows - 1, columns, fewer, work);
        CU_ASSERT_EQUAL(memcmp(fewer, out, (size_t)((rows - 1) * columns) * sizeof *out), 0);
        free(fewer);
    }
    free(work);
    free(out);
    free(row);
    free(rounded);
}

static void test_orthogonal(void)
{
    static const int64_t shape[][2] = {{1, 1},   {3, 1},    {1, 7},    {7, 7},    {20, 7},
                                       {64, 64}, {150, 64}, {30, 128}, {128, 128}};
    for (size_t k = 0; k < sizeof shape / sizeof *shape; k++) check_orthogonal(shape[k][0], shape[k][1]);
}

/* Checks moments over many seeds: rows of the orthogonal matrix are uniform on the sphere. */
static void test_directions(void)
{
    enum { SEEDS = 4000, SIZE = 4 };
    double out[SIZE * SIZE], work[(SIZE + 1) * SIZE], mean[SIZE * SIZE] = {0}, square[SIZE * SIZE] = {0};
    const double n = SEEDS;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        attn_orthogonal_f64(seed, 1, SIZE, SIZE, out, work);
        for (int k = 0; k < SIZE * SIZE; k++) {
            mean[k] += out[k] / n;
            square[k] += out[k] * out[k] / n;
        }
    }
    for (int k = 0; k < SIZE * SIZE; k++)
        CU_ASSERT(fabs(mean[k]) < 5 / sqrt(n) && fabs(square[k] - 1) < 5 * sqrt(2 / n));
}

int main(void)
{
    static const struct unit_test tests[] = {
        {"random_philox", test_philox},         {"random_stream", test_stream},        {"random_moments", test_moments},
        {"random_pieces", test_pieces},         {"random_transform", test_transform},  {"random_golden", test_golden},
        {"random_orthogonal", test_orthogonal}, {"random_directions", test_directions}};
    return unit_tests_run("random", tests, sizeof tests / sizeof *tests);
}
