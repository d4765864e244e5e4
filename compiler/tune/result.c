/* Statistics of samples: medians and confidence intervals of medians. */
#include "run.h"

#include <math.h>
#include <string.h>

const char *const tune_status_name[] = {"measured", "wrong", "crashed", "late", "refused", NULL};

static double *numbers(struct arena *arena, size_t count)
{
    return arena_alloc(arena, count * sizeof(double));
}

/* Returns the largest k for which the interval from the k-th smallest to the k-th largest of n samples is a 95%
   confidence interval of the median.
   For any distribution, the number of samples below the median is binomial with parameters n and 1/2. So P(fewer
   than k samples below) must be at most 2.5%. */
static int order_of_bounds(int n)
{
    double below = 0;
    for (int k = 0; k < n; k++) {
        below += exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) - n * log(2));
        if (below > 0.025) return k;
    }
    return 0;
}

struct tune_gain tune_gain(const struct tune_result *r)
{
    struct arena *arena = arena_new();
    double *quotient = numbers(arena, (size_t)r->samples);
    int n = 0;
    for (int k = 0; k < r->samples; k++) {
        const double q = r->sample[k].seconds / r->sample[k].default_seconds;
        if (isfinite(q) && q > 0) quotient[n++] = q;
    }
    numbers_sort(quotient, n);
    struct tune_gain gain = {INFINITY, INFINITY, INFINITY};
    if (n > 0) {
        const int bound = n < 6 ? 1 : order_of_bounds(n);
        gain = (struct tune_gain){median_of(quotient, n), quotient[bound - 1], quotient[n - bound]};
    }
    arena_free(arena);
    return gain;
}

struct tune_trial *tune_trial_add(struct tune_run *run, struct arena *arena)
{
    /* the room is a power of 2 */
    if ((run->trials & (run->trials - 1)) == 0) {
        struct tune_trial *more = arena_alloc(arena, (size_t)(2 * run->trials + 1) * sizeof *more);
        if (run->trials) memcpy(more, run->trial, (size_t)run->trials * sizeof *more);
        run->trial = more;
    }
    return &run->trial[run->trials++];
}

double tune_seconds(const struct tune_result *r)
{
    struct arena *arena = arena_new();
    double *seconds = numbers(arena, (size_t)r->samples);
    for (int k = 0; k < r->samples; k++) seconds[k] = r->sample[k].seconds;
    numbers_sort(seconds, r->samples);
    const double middle = median_of(seconds, r->samples);
    arena_free(arena);
    return middle;
}

struct tune_spread run_spread(const struct tune_run *run)
{
    struct arena *arena = arena_new();
    int count = 0, n = 0;
    for (int t = 0; t < run->trials; t++) count += run->trial[t].result.samples;
    double *seconds = numbers(arena, (size_t)count);
    for (int t = 0; t < run->trials; t++) {
        const struct tune_result *r = &run->trial[t].result;
        for (int k = 0; k < r->samples && !run->trial[t].same_as; k++) seconds[n++] = r->sample[k].default_seconds;
    }
    numbers_sort(seconds, n);
    struct tune_spread spread = {0, 0, n};
    if (n > 0) spread = (struct tune_spread){seconds[n / 4], seconds[(n - 1) - n / 4], n};
    arena_free(arena);
    return spread;
}

const struct tune_trial *run_best(const struct tune_run *run)
{
    const struct tune_trial *best = NULL;
    const struct tune_point by_default = point_default(&run->experiment.space);
    const int64_t number = point_number(&run->experiment.space, &by_default);
    double min = INFINITY;
    for (int t = 0; t < run->trials; t++) {
        const struct tune_trial *trial = &run->trial[t];
        if (trial->result.status != TUNE_MEASURED || point_number(&run->experiment.space, &trial->point) == number)
            continue;
        const struct tune_gain gain = tune_gain(&trial->result);
        if (!(gain.high < 1) || gain.ratio >= min) continue;
        min = gain.ratio;
        best = trial;
    }
    return best;
}
