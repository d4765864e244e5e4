/* What the report asks of the space and of results, for a build in which attnc has neither. */
#include "compiler/tune.h"

#include <math.h>
#include <stdlib.h>

const char *const tune_status_name[] = {"running", "measured", "wrong", "crashed", "late", "refused"};

int64_t space_points(const struct tune_space *s)
{
    int64_t points = 1;
    for (int k = 0; k < s->knobs; k++) points *= s->knob[k].values;
    return points;
}

struct tune_point point_usual(const struct tune_space *s)
{
    struct tune_point p = {{0}};
    for (int k = 0; k < s->knobs; k++) p.at[k] = s->knob[k].usual;
    return p;
}

void point_text(const struct tune_space *s, const struct tune_point *p, struct text *out)
{
    for (int k = 0; k < s->knobs; k++) text_add(out, "%s%s=%lld", k ? " " : "", s->knob[k].name, (long long)s->knob[k].value[p->at[k]]);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double middle(const double *sorted, int n)
{
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

struct tune_gain tune_gain(const struct tune_result *r)
{
    const int n = r->samples;
    if (n == 0) return (struct tune_gain){INFINITY, INFINITY, INFINITY};
    struct arena *arena = arena_new();
    double *q = arena_alloc(arena, (size_t)n * sizeof *q);
    for (int k = 0; k < n; k++) q[k] = r->sample[k].seconds / r->sample[k].usual;
    qsort(q, (size_t)n, sizeof *q, ascending);
    const int rank = n < 6 ? 0 : (int)floor((n - 1.96 * sqrt(n)) / 2);
    const struct tune_gain g = {middle(q, n), q[rank], q[n - 1 - rank]};
    arena_free(arena);
    return g;
}

double tune_seconds(const struct tune_result *r)
{
    if (r->samples == 0) return INFINITY;
    struct arena *arena = arena_new();
    double *t = arena_alloc(arena, (size_t)r->samples * sizeof *t);
    for (int k = 0; k < r->samples; k++) t[k] = r->sample[k].seconds;
    qsort(t, (size_t)r->samples, sizeof *t, ascending);
    const double seconds = middle(t, r->samples);
    arena_free(arena);
    return seconds;
}

const struct tune_trial *run_best(const struct tune_run *run)
{
    const struct tune_trial *best = NULL;
    double least = 1;
    for (int k = 0; k < run->trials; k++) {
        const struct tune_trial *t = &run->trial[k];
        if (t->result.status != TUNE_MEASURED || tune_gain(&t->result).ratio >= least) continue;
        best = t;
        least = tune_gain(&t->result).ratio;
    }
    return best;
}
