/* Statistics of samples: medians and confidence intervals of medians. */
#include "report.h"
#include "result.h"
#include "space.h"
#include "store/store.h"

#include <math.h>
#include <stdlib.h>

const char *const tune_status_name[] = {"running", "interrupted", "measured", "wrong",
                                        "crashed", "late",        "refused",  NULL};

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *sorted, int count)
{
    return count == 0 ? INFINITY : (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

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
    qsort(quotient, (size_t)n, sizeof *quotient, ascending);
    struct tune_gain gain = {INFINITY, INFINITY, INFINITY};
    if (n > 0) {
        const int bound = n < 6 ? 1 : order_of_bounds(n);
        gain = (struct tune_gain){median(quotient, n), quotient[bound - 1], quotient[n - bound]};
    }
    arena_free(arena);
    return gain;
}

double tune_seconds(const struct tune_result *r)
{
    struct arena *arena = arena_new();
    double *seconds = numbers(arena, (size_t)r->samples);
    for (int k = 0; k < r->samples; k++) seconds[k] = r->sample[k].seconds;
    qsort(seconds, (size_t)r->samples, sizeof *seconds, ascending);
    const double middle = median(seconds, r->samples);
    arena_free(arena);
    return middle;
}

/* Returns true if an earlier trial of the run has the samples of this trial. Trials with equal C code share samples. */
static bool repeated(const struct tune_run *run, int trial)
{
    const int64_t from = run->trial[trial].same_as;
    for (int t = 0; t < trial && from; t++)
        if (run->trial[t].id == from || run->trial[t].same_as == from) return true;
    return false;
}

/* Returns the seconds of the default schedule in all samples of the run, in ascending order. Samples that several
   trials share count once. */
static double *all_default_seconds(const struct tune_run *run, struct arena *arena, int *n)
{
    int count = 0;
    for (int t = 0; t < run->trials; t++) count += run->trial[t].result.samples;
    double *seconds = numbers(arena, (size_t)count);
    *n = 0;
    for (int t = 0; t < run->trials; t++) {
        const struct tune_result *r = &run->trial[t].result;
        const int samples = repeated(run, t) ? 0 : r->samples;
        for (int k = 0; k < samples; k++) seconds[(*n)++] = r->sample[k].default_seconds;
    }
    qsort(seconds, (size_t)*n, sizeof *seconds, ascending);
    return seconds;
}

double run_default_seconds(const struct tune_run *run)
{
    struct arena *arena = arena_new();
    int n;
    const double *seconds = all_default_seconds(run, arena, &n), middle = median(seconds, n);
    arena_free(arena);
    return middle;
}

struct tune_spread run_spread(const struct tune_run *run)
{
    struct arena *arena = arena_new();
    int n;
    const double *seconds = all_default_seconds(run, arena, &n);
    struct tune_spread spread = {0, 0, n};
    if (n > 0) spread = (struct tune_spread){seconds[n / 4], seconds[(n - 1) - n / 4], n};
    arena_free(arena);
    return spread;
}

static bool same_point(const struct tune_space *s, const struct tune_point *a, const struct tune_point *b)
{
    for (int k = 0; k < s->knobs; k++)
        if (a->at[k] != b->at[k]) return false;
    return true;
}

static bool by_default(const struct tune_space *s, const struct tune_point *p)
{
    for (int k = 0; k < s->knobs; k++)
        if (p->at[k] != s->knob[k].default_at) return false;
    return true;
}

/* Returns true if a later trial of the same point ended. If so, this trial does not count, because its few samples
   may have been lucky. */
static bool corrected(const struct tune_run *run, int trial)
{
    for (int t = trial + 1; t < run->trials; t++)
        if (tune_ended(&run->trial[t].result) &&
            same_point(&run->experiment.space, &run->trial[t].point, &run->trial[trial].point))
            return true;
    return false;
}

const struct tune_trial *run_best(const struct tune_run *run)
{
    const struct tune_trial *best = NULL;
    double min = INFINITY;
    for (int t = 0; t < run->trials; t++) {
        const struct tune_trial *trial = &run->trial[t];
        if (trial->result.status != TUNE_MEASURED || by_default(&run->experiment.space, &trial->point)) continue;
        const struct tune_gain gain = tune_gain(&trial->result);
        if (!(gain.high < 1) || gain.ratio >= min || corrected(run, t)) continue;
        min = gain.ratio;
        best = trial;
    }
    return best;
}
