/* Chooses ranges for random numbers in the arrays of a spec, so that a sequence neither overflows nor vanishes. */
#include "overflow.h"

#include <math.h>
#include <string.h>

/* Returns true if an expression reads the array. */
static bool reads(const struct expression *e, const char *array)
{
    bool any = false;
    for (int k = 0; e && k < e->elements; k++) any |= strcmp(e->element[k].array->name, array) == 0;
    return any;
}

static bool inside(struct expr_range range, struct expr_range of)
{
    return range.low >= of.low && range.high <= of.high;
}

/* Sets *out to the first range of numbers for which the expression's value is in `wanted`. If there is none, takes the
   first range. Returns false if the value is in `wanted` for all numbers. */
static bool choose(const struct expression *e, struct expr_range wanted, const struct expr_range *tried, int count,
                   struct expr_range *out)
{
    if (inside(expr_range(e->value, NULL), wanted)) return false;
    *out = tried[0];
    for (int k = count - 1; k >= 0; k--)
        if (inside(expr_range_where(e->value, tried[k]), wanted)) *out = tried[k];
    return true;
}

bool drawn_range(const struct spec *spec, const char *array, struct expr_range *out)
{
    /* Rates below 1 / head_dim keep a state bounded even if keys have the norm of normal numbers. */
    const double most = 1 / (double)spec->head_dim, logarithm = log(most);
    const struct expr_range decays = {-INFINITY, 0}, of_decays[] = {{-0.2, 0}, {0, 0.2}}, rates = {0, most},
                            of_rates[] = {{0, most}, {logarithm - 1, logarithm}, {-logarithm, 1 - logarithm}};
    if (reads(spec->decay, array)) return choose(spec->decay, decays, of_decays, 2, out);
    return reads(spec->rate, array) && choose(spec->rate, rates, of_rates, 3, out);
}
