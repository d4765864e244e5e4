/* attnc check: compares arrays with their expected values, and prints the results. */
#include "check.h"
#include "../../support/support.h"

#include <float.h>
#include <math.h>

bool check_tells(const struct checking *c, bool good)
{
    return c->o->verbose || !good;
}

void check_say(const struct checking *c, const char *format, ...)
{
    if (c->o->console.quiet || c->o->json) return;
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    output_flush();
}

const struct graph *check_graph_of_out(const struct unit *p)
{
    struct graph *const g = graph_copy(p->graph);
    g->outputs = 1;
    return g;
}

struct wanted check_wanted(const struct module *m, const char *name, int rank, const int *axes,
                           const struct problem_size *size)
{
    struct wanted w = {.name = name, .elements = 1, .row = 1};
    for (int k = 0; k < rank; k++) {
        const int64_t extent = axis_extent(m, axes[k], size);
        const bool member = k > 0 && m->axis[axes[k]].source == SIZE_MEMBERS &&
                            m->axis[axes[k - 1]].source == SIZE_KV_HEADS;
        w.elements *= extent;
        w.row = extent;
        if (member)
            w.extent[w.rank - 1] *= extent;
        else
            w.extent[w.rank++] = extent;
    }
    return w;
}

double *check_sizes(const struct tensor *t, int64_t n, struct arena *arena)
{
    double *made = arena_alloc(arena, (size_t)n * sizeof *made);
    for (int64_t k = 0; k < n; k++) made[k] = fabs(t->data[k]);
    return made;
}

double check_largest(const double *row, int64_t n)
{
    double max = 0;
    for (int64_t k = 0; k < n; k++)
        if (!(fabs(row[k]) <= max)) max = fabs(row[k]);
    return max;
}

void check_place(struct module *m, const struct sample *s)
{
    m->query_start = s->query_start;
}

int64_t check_tries(int64_t row)
{
    return row > 0 && row < FEW_ELEMENTS ? NUDGES * FEW_ELEMENTS / row : NUDGES;
}

double check_lost(const struct sample *s, enum dtype dtype, const struct problem_size *size)
{
    double largest = 1;
    for (int t = 0; t < s->tensors; t++)
        if (!dtype_is_integer(s->array[t]->dtype))
            largest = fmax(largest, check_largest(s->tensor[t].data, s->count[t]));
    return (dtype == DTYPE_F64 ? DBL_MIN : (double)FLT_MIN) * largest * (double)(size->n_q + size->n_k);
}

/* Returns the error of `got` without the error of rounding to the type `stored`. For a 16-bit type, the error of
   rounding is half an ulp. For other types it is 0. */
static double off_by(double got, double expected, enum dtype stored)
{
    bool bf16 = stored == DTYPE_BF16;
    if (dtype_bytes(stored) != 2) return fabs(got - expected);
    if (!bf16 && isinf(got) && (got > 0) == (expected > 0)) return fmax((double)CHECK_F16_OVERFLOW - fabs(expected), 0);
    int min = bf16 ? -126 : -14, exponent = got == 0 || ilogb(got) < min ? min : ilogb(got);
    double off = fabs(got - expected) - ldexp(1, exponent - (bf16 ? 8 : 11));
    return off < 0 ? 0 : off;
}

void check_worst(const struct wanted *w, int sample, const double *got, const double *of_row, enum dtype stored,
                 struct worst *worst)
{
    for (int64_t k = 0; k < w->elements; k++) {
        double d = got[k] == w->expected[k] ? 0 : off_by(got[k], w->expected[k], stored), row = of_row[k / w->row];
        if (d == 0) continue;
        d = row > 0 && d <= DBL_MAX ? d / row : INFINITY; /* an error of NaN also becomes infinite */
        if (d > worst->share) *worst = (struct worst){d, got[k], sample, k, w};
    }
}

const char *check_element(const struct checking *c, const struct worst *worst)
{
    const struct wanted *w = worst->of;
    struct text at = {0};
    int64_t below = w->elements, rest = worst->element;
    for (int k = 0; k < w->rank; k++) {
        below /= w->extent[k];
        text_add(&at, "%s%lld", k ? ", " : "", (long long)(rest / below));
        rest %= below;
    }
    const char *element = arena_printf(c->p->arena, "%s[%s]", w->name, at.length ? at.data : "");
    text_free(&at);
    return element;
}

void check_report(struct checking *c, const char *what, const char *whole, const struct worst *worst, const char *of,
                  bool good)
{
    if (check_tells(c, good)) check_say(c, "  %-22s %10.2e %s%s\n", what, worst->share, of, good ? "" : "   WRONG");
    if (good || !c->good) return;
    complain(c->o, "%s: %s is wrong by %.3g %s: with %lld queries and %lld keys, %s is %.9g, expected %.9g",
             c->p->spec->name, whole, worst->share, of, (long long)c->size[worst->sample].n_q,
             (long long)c->size[worst->sample].n_k, check_element(c, worst), worst->got,
             worst->of->expected[worst->element]);
    c->good = false;
}
