/* What the search needs of the space and of results. */
#include "compiler/tune.h"

#include <math.h>
#include <stdlib.h>

int64_t space_points(const struct tune_space *s)
{
    int64_t n = 1;
    for (int k = 0; k < s->knobs; k++)
        if (__builtin_mul_overflow(n, (int64_t)s->knob[k].values, &n)) return INT64_MAX;
    return n;
}
int64_t point_number(const struct tune_space *s, const struct tune_point *p)
{
    int64_t n = 0;
    for (int k = 0; k < s->knobs; k++)
        if (__builtin_mul_overflow(n, (int64_t)s->knob[k].values, &n) || __builtin_add_overflow(n, (int64_t)p->at[k], &n)) return INT64_MAX;
    return n;
}
struct tune_point point_of(const struct tune_space *s, int64_t number)
{
    struct tune_point p = {0};
    for (int k = s->knobs - 1; k >= 0; k--) {
        p.at[k] = (int)(number % s->knob[k].values);
        number /= s->knob[k].values;
    }
    return p;
}
struct tune_point point_usual(const struct tune_space *s)
{
    struct tune_point p = {0};
    for (int k = 0; k < s->knobs; k++) p.at[k] = s->knob[k].usual;
    return p;
}
void point_text(const struct tune_space *s, const struct tune_point *p, struct text *out)
{
    for (int k = 0; k < s->knobs; k++) text_add(out, "%s%s=%lld", k ? " " : "", s->knob[k].name, (long long)s->knob[k].value[p->at[k]]);
}
const char *const tune_status_name[] = {"running", "measured", "wrong", "crashed", "late", "refused"};
static int search_private_order(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}
struct tune_gain tune_gain(const struct tune_result *r)
{
    if (r->samples == 0) return (struct tune_gain){INFINITY, INFINITY, INFINITY};
    double *q = malloc((size_t)r->samples * sizeof *q);
    for (int k = 0; k < r->samples; k++) q[k] = r->sample[k].seconds / r->sample[k].usual;
    qsort(q, (size_t)r->samples, sizeof *q, search_private_order);
    const int n = r->samples, out = n < 6 ? 0 : (int)((n - 1.96 * sqrt(n)) / 2);
    struct tune_gain gain = {(q[(n - 1) / 2] + q[n / 2]) / 2, q[out], q[n - 1 - out]};
    free(q);
    return gain;
}
double tune_seconds(const struct tune_result *r)
{
    double least = INFINITY;
    for (int k = 0; k < r->samples; k++) least = fmin(least, r->sample[k].seconds);
    return least;
}
