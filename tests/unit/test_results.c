/* Tests the statistics of tuning results (compiler/tune/result.c) and their output. */
#include "compiler/schedule/schedule.h"
#include "compiler/tune/report.h"
#include "tests/unit/store_cases.h"

#include <jansson.h>
#include <math.h>

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
    return (struct tune_trial){
        .id = 100 + k, .begun = 1e9 + k, .point = point_at(k), .result = {.status = status, .samples = 3, .sample = s}};
}

static void test_best(void)
{
    struct tune_trial trial[] = {
        trial_of(1, TUNE_MEASURED, 0.5, 0.1),   /* the default point */
        trial_of(0, TUNE_WRONG, 0.1, 0.01),     /* fast, but its output is wrong */
        trial_of(2, TUNE_MEASURED, 0.7, 0.31),  /* its interval ends above 1, so the default point may be faster */
        trial_of(3, TUNE_MEASURED, 0.6, 0.01),  /* its point is slower in a later trial, below */
        trial_of(5, TUNE_MEASURED, 0.65, 0.01), /* its point crashed in a later trial, below */
        trial_of(6, TUNE_MEASURED, 0.8, 0.1),   trial_of(7, TUNE_MEASURED, 0.9, 0.05),
        trial_of(3, TUNE_MEASURED, 0.85, 0.01), trial_of(5, TUNE_CRASHED, 0.5, 0.01),
        trial_of(6, TUNE_RUNNING, 2, 0.1), /* this trial has not ended, so it replaces no earlier trial */
    };
    struct tune_run run = {.trials = 10, .trial = trial, .experiment = experiment_of(1)};
    CU_ASSERT_PTR_EQUAL(run_best(&run), &trial[5]);
    trial[5].result.status = TUNE_LATE;
    CU_ASSERT_PTR_EQUAL(run_best(&run), &trial[7]);
    run.trials = 3;
    CU_ASSERT_PTR_NULL(run_best(&run));
    CU_ASSERT_EQUAL(run_default_seconds(&run), 2);
    run.trials = 0;
    CU_ASSERT_PTR_NULL(run_best(&run));
    CU_ASSERT(isinf(run_default_seconds(&run)));
}

/* ---- output ---- */

/* Calls `tell` and returns its text, which the caller frees. */
static char *told(enum status (*tell)(const struct tune_run *, int), const struct tune_run *runs, int count)
{
    const char *file = path("told");
    fflush(stdout);
    const int kept = dup(STDOUT_FILENO);
    if (kept < 0 || !freopen(file, "w", stdout)) abort();
    const enum status status = tell(runs, count);
    fflush(stdout);
    CU_ASSERT_FATAL(dup2(kept, STDOUT_FILENO) >= 0);
    close(kept);
    CU_ASSERT_EQUAL(status, STATUS_DONE);
    size_t length;
    char *text = bytes_of(file, &length);
    text[length] = 0;
    return text;
}

static enum status query(const struct tune_run *runs, int count)
{
    return tune_query(&options, runs, count);
}

static enum status csv(const struct tune_run *runs, int count)
{
    return tune_export(&options, "csv", runs, count);
}

static enum status json(const struct tune_run *runs, int count)
{
    return tune_export(&options, "json", runs, count);
}

static struct tune_trial told_trial[4];
static struct tune_run told_runs[2];

static void make_told(void)
{
    told_trial[0] = trial_of(1, TUNE_MEASURED, 1, 0);
    told_trial[1] = trial_of(3, TUNE_MEASURED, 0.75, 0.125);
    told_trial[1].result.work = 2e9;
    told_trial[2] = trial_of(6, TUNE_CRASHED, 1, 0);
    told_trial[2].result.samples = 0;
    strcpy(told_trial[2].result.why, "signal 11, \"\xC3");
    told_trial[3] = trial_of(8, TUNE_MEASURED, 1, 0.25);
    told_runs[0] = (struct tune_run){.id = 7,
                                     .begun = 1e9,
                                     .strategy = "random",
                                     .seed = UINT64_MAX,
                                     .experiment = experiment_of(4096),
                                     .trials = 3,
                                     .trial = told_trial};
    told_runs[1] = (struct tune_run){.id = 8,
                                     .begun = 1e9,
                                     .strategy = "pipe:a, b",
                                     .seed = 1,
                                     .experiment = experiment_of(8192),
                                     .trials = 1,
                                     .trial = told_trial + 3};
    told_runs[1].experiment.space.knob[0].name = "unroll";
    told_trial[3].same_as = 101;
}

static void test_query(void)
{
    make_told();
    char *text = told(query, told_runs, 2);
    static const char wanted
        [] = "a processor, 2 threads\n"
             "x86-64-v4, clang 19.1.7, attnc 0.1.0\n\n"
             "run  begun             spec     shape                      threads  strategy                   seed  "
             "trials                 at default    best              of default  best schedule\n"
             "  7  2001-09-09 01:46  softmax  n=4096,heads=8,kv_heads=2        2  random     18446744073709551615  2 "
             "measured, 1 crashed      2.00 s  1.50 s  0.750 (0.625 to 0.875)  tile_q=16 tile_k=96\n"
             "  8  2001-09-09 01:46  softmax  n=8192,heads=8,kv_heads=2        2  pipe:a, b                     1  1 "
             "measured                 2.00 s       -                       -  the default one\n"
             "\nTimes are medians; `of default` is the time divided by the time of the default schedule: median, 95% "
             "interval.\n";
    CU_ASSERT_STRING_EQUAL(text, wanted);
    if (strcmp(text, wanted) != 0) fprintf(stderr, "%s", text);
    free(text);
    text = told(query, told_runs, 0);
    CU_ASSERT_STRING_EQUAL(text, "no runs\n");
    free(text);
}

static void test_export(void)
{
    make_told();
    char *text = told(csv, told_runs, 2);
#define BEFORE "softmax,00ff,\"a processor, 2 threads\",clang 19.1.7,0.1.0,x86-64-v4,1,8,2,"
    static const char wanted[] =
        "run,spec,spec_hash,machine,compiler,attnc,target,batch,heads,kv_heads,length,threads,strategy,seed,run_"
        "begun,trial,begun,status,why,samples,seconds,ratio,"
        "ratio_low,ratio_high,work_flops,peak_flops_s,bytes,bandwidth_bytes_s,same_as,backward,key_heads,knob_tile_q,"
        "knob_tile_k,knob_unroll\r\n"
        "7," BEFORE
        "4096,2,random,18446744073709551615,1000000000.000,101,1000000001.000,measured,,3,2,1,1,1,,,,,,0,0,64,-1,\r\n"
        "7," BEFORE "4096,2,random,18446744073709551615,1000000000.000,103,1000000003.000,measured,,3,1.5,0.75,0."
        "625,0.875,2e+09,,,,,0,0,16,96,\r\n"
        "7," BEFORE "4096,2,random,18446744073709551615,1000000000.000,106,1000000006.000,crashed,\"signal 11, "
        "\"\"?\",0,,,,,,,,,,0,0,16,288,\r\n"
        "8," BEFORE
        "8192,2,\"pipe:a, b\",1,1000000000.000,108,1000000008.000,measured,,3,2,1,0.75,1.25,,,,,101,0,0,,288,256\r\n";
    CU_ASSERT_STRING_EQUAL(text, wanted);
    if (strcmp(text, wanted) != 0) fprintf(stderr, "%s", text);
    free(text);

    text = told(json, told_runs, 2);
    json_error_t error;
    json_t *top = json_loads(text, 0, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(top);
    free(text);
    const char *seed, *name, *why, *target, *knob;
    double length, by_default, value, schedule, ratio, low, work, seconds;
    json_t *none, *samples;
    CU_ASSERT_EQUAL(json_unpack_ex(top, &error, 0, "{s:[{s:s, s:{s:s}, s:s, s:{s:F}, s:[{s:s, s:F, s:[F]}], s:i}]}",
                                   "runs", "seed", &seed, "spec", "name", &name, "target", &target, "shape", "length",
                                   &length, "space", "name", &knob, "usual", &by_default, "values", &value, "best",
                                   &(int){0}),
                    0);
    CU_ASSERT(strcmp(seed, "18446744073709551615") == 0 && strcmp(name, "softmax") == 0 &&
              strcmp(target, "x86-64-v4") == 0 && length == 4096);
    CU_ASSERT(strcmp(knob, "tile_q") == 0 && by_default == 64 && value == 16);
    json_t *trials = json_object_get(json_array_get(json_object_get(top, "runs"), 0), "trials");
    CU_ASSERT_EQUAL(json_array_size(trials), 3);
    CU_ASSERT_EQUAL(json_unpack(json_array_get(trials, 1), "{s:{s:F}, s:F, s:F, s:F, s:o, s:o}", "schedule", "tile_k",
                                &schedule, "ratio", &ratio, "ratio_low", &low, "work_flops", &work, "bytes", &none,
                                "samples", &samples),
                    0);
    CU_ASSERT(schedule == 96 && ratio == 0.75 && low == 0.625 && work == 2e9 && json_is_null(none) &&
              json_array_size(samples) == 3);
    CU_ASSERT(json_unpack(json_array_get(samples, 2), "{s:F, s:F}", "seconds", &seconds, "usual", &by_default) == 0 &&
              seconds == 1.75 && by_default == 2);
    CU_ASSERT_EQUAL(json_unpack(json_array_get(trials, 2), "{s:s, s:o}", "why", &why, "ratio", &none), 0);
    CU_ASSERT(strcmp(why, "signal 11, \"?") == 0 && json_is_null(none));
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_array_get(json_object_get(top, "runs"), 0), "best")), 103);
    CU_ASSERT(json_is_null(json_object_get(json_array_get(json_object_get(top, "runs"), 1), "best")));
    json_decref(top);
    CU_ASSERT_EQUAL(tune_export(&options, "xml", told_runs, 2), STATUS_USAGE);
    CU_ASSERT(said_only("--export takes csv or json, not 'xml'"));
}

int main(void)
{
    static const struct unit_test tests[] = {
        {"tune_gain", test_gain}, {"tune_best", test_best}, {"tune_query", test_query}, {"tune_export", test_export}};
    return scratch_run("results", tests, sizeof tests / sizeof *tests);
}
