/* Tests the statistics of tuning results (compiler/tune/result.c). */
#include "compiler/tune/run.h"
#include "tests/unit/suite.h"

#include <math.h>
#include <stdlib.h>

static struct tune_experiment experiment_of(int64_t length)
{
    return (struct tune_experiment){
        .spec_name = "softmax",
        .spec_hash = "00ff",
        .spec_text = "similarity: softmax\n",
        .machine = "a processor, 2 threads",
        .compiler = "clang 19.1.7",
        .attnc = "0.1.0",
        .target = "x86-64-v4",
        .shape = {.batch = 1, .heads = 8, .kv_heads = 2, .length = length, .threads = 2},
        .space = {
            .knobs = 2,
            .knob = {
                {.name = "tile_q", .says = "queries", .values = 3, .default_at = 1, .value = {16, 64, 256}},
                {.name = "tile_k", .says = "keys", .values = 4, .default_at = 0, .value = {-1, 96, 288, INT64_MAX}}}}};
}

static struct tune_point point_at(int k)
{
    return (struct tune_point){{k % 3, k / 3 % 4}};
}

/* ---- statistics ---- */

/* Returns the gain of n samples with the ratios 1/n, 2/n … n/n, in a mixed order. */
static struct tune_gain gain_of(int n)
{
    struct tune_sample *sample = calloc((size_t)n, sizeof *sample);
    CU_ASSERT_PTR_NOT_NULL_FATAL(sample);
    int step = n / 2 + 1;
    for (int a = n, b = step; b;) { /* find a step without a common divisor with n */
        const int rest = a % b;
        a = b, b = rest;
        if (b == 0 && a > 1) a = n, b = ++step;
    }
    for (int k = 0, at = 0; k < n; k++, at = (at + step) % n)
        sample[k] = (struct tune_sample){(at + 1) * 0.25, n * 0.25};
    const struct tune_gain gain = tune_gain(&(struct tune_result){.samples = n, .sample = sample});
    free(sample);
    return gain;
}

static void test_gain(void)
{
    /* Bounds from a table of the sign test at 95%. */
    static const struct {
        int n, low;
    } bounds[] = {{1, 1},  {5, 1},  {6, 1},  {8, 1},   {9, 2},    {11, 2},    {12, 3},
                  {15, 4}, {20, 6}, {25, 8}, {50, 18}, {100, 40}, {2000, 956}};
    for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++) {
        const int n = bounds[k].n, low = bounds[k].low;
        const struct tune_gain g = gain_of(n);
        CU_ASSERT_DOUBLE_EQUAL(g.ratio * n, (n + 1) / 2.0, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(g.low * n, low, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(g.high * n, n + 1 - low, 1e-9);
    }
    const struct tune_gain none = tune_gain(&(struct tune_result){0});
    CU_ASSERT(isinf(none.ratio) && isinf(none.low) && isinf(none.high));
    CU_ASSERT(isinf(tune_seconds(&(struct tune_result){0})));
    struct tune_sample sample[] = {{4, 1}, {1, 0}, {2, 1}, {3, 1}}; /* a sample without a default time */
    const struct tune_result four = {.samples = 4, .sample = sample};
    CU_ASSERT_EQUAL(tune_seconds(&four), 2.5);
    CU_ASSERT_EQUAL(tune_gain(&four).ratio, 3);
    CU_ASSERT_EQUAL(tune_gain(&four).low, 2);
    CU_ASSERT_EQUAL(tune_gain(&four).high, 4);
}

/* Makes a trial at point k with three samples: ratio - spread, ratio, ratio + spread. */
static struct tune_trial trial_of(int k, enum tune_status status, double ratio, double spread)
{
    static struct tune_sample sample[20][3];
    static int next;
    struct tune_sample *s = sample[next++ % 20];
    for (int j = 0; j < 3; j++) s[j] = (struct tune_sample){2 * (ratio + (j - 1) * spread), 2};
    return (struct tune_trial){.point = point_at(k), .result = {.status = status, .samples = 3, .sample = s}};
}

static void test_best(void)
{
    struct tune_trial trial[] = {
        trial_of(1, TUNE_MEASURED, 0.5, 0.1),  /* the default point */
        trial_of(0, TUNE_WRONG, 0.1, 0.01),    /* fast, but its output is wrong */
        trial_of(2, TUNE_MEASURED, 0.7, 0.31), /* its interval ends above 1, so the default point may be faster */
        trial_of(3, TUNE_MEASURED, 0.85, 0.01), trial_of(6, TUNE_MEASURED, 0.8, 0.1),
        trial_of(7, TUNE_MEASURED, 0.9, 0.05)};
    struct tune_run run = {.trials = 6, .trial = trial, .experiment = experiment_of(1)};
    CU_ASSERT_PTR_EQUAL(run_best(&run), &trial[4]);
    trial[4].result.status = TUNE_LATE;
    CU_ASSERT_PTR_EQUAL(run_best(&run), &trial[3]);
    trial[5].same_as = 4; /* its samples count once */
    const struct tune_spread spread = run_spread(&run);
    CU_ASSERT(spread.samples == 15 && spread.low == 2 && spread.high == 2);
    run.trials = 3;
    CU_ASSERT_PTR_NULL(run_best(&run));
    run.trials = 0;
    CU_ASSERT_PTR_NULL(run_best(&run));
    CU_ASSERT_EQUAL(run_spread(&run).samples, 0);
}

int main(void)
{
    static const struct unit_test tests[] = {{"tune_gain", test_gain}, {"tune_best", test_best}};
    return unit_tests_run("results", tests, sizeof tests / sizeof *tests);
}
