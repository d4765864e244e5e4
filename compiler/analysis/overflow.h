/* Powers and exponentials that may overflow (powers.c, overflow.c), and random inputs for which a state does not
   (drawn_range.c). */
#ifndef ATTNC_OVERFLOW_H
#define ATTNC_OVERFLOW_H

#include "../schedule/schedule.h"
#include "../spec/spec.h"

/* A factor base^degree of a product (powers.c). `whole`: the factor as an expression, or NULL if there is none. */
struct power_factor {
    const struct expr *whole, *base;
    int64_t degree;
};
/* Limits of powers in the type dtype_of_sums(dtype).
   - overflow_degree: the lowest degree that overflows for an ordinary row (powers.c)
   - overflow_base: above it, a power of this degree overflows
   - underflow_base: below it, a power of this degree loses digits */
int64_t overflow_degree(enum dtype dtype);
double overflow_base(enum dtype dtype, double degree);
double underflow_base(enum dtype dtype, double degree);
/* Returns the highest power among the factors of the map `weight`. `whole` is NULL if there is an exponential, or
   the degree is low. */
struct power_factor overflowing_power(const struct module *m, const struct value *weight);
bool value_of_pairs(const struct module *m, const struct value *v); /* whether v has both queries and keys */
/* Returns the degree with which a weight grows: 4 for (1 + s)^4. `source`: the graph before all passes. */
double weight_growth(const struct graph *source);
/* Returns p if sums of powers u^p are divided by M^p, otherwise 0. M is the maximum of |u| in a row.
   (pass/stabilise) */
int64_t relative_degree(const struct graph *g);

/* Warns of powers and users' exponentials that can overflow in a compiled form. `source`: the graph before all
   passes. (overflow.c) */
void overflow_warn(const struct spec *spec, const struct graph *source, const struct compilation *const *compilation,
                   int compilations, struct diagnostics *d);

/* Sets *out to the range of random numbers for an array of the spec that a decay or a rate of `delta` reads. The decay
   is then at most 1 and the rate below 1 / head_dim, if the expression allows it. Returns false if normal numbers will
   do. (drawn_range.c) */
bool drawn_range(const struct spec *spec, const char *array, struct expr_range *out);

#endif
