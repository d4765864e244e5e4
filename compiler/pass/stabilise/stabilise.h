/* Shared by the files of the pass stabilise, which keeps sums of exponentials from overflowing. */
#ifndef ATTNC_PASS_STABILISE_H
#define ATTNC_PASS_STABILISE_H

#include "../pass.h"
#include "../../analysis/analysis.h"
#include "../../schedule/schedule.h"

/* ---- exponentials.c ---- */

/* Returns x op y, or the operand that is not NULL. */
const struct expr *joined(struct module *m, enum expr_op op, const struct expr *x, const struct expr *y);
const struct expr *exp2_of(struct module *m, const struct expr *x);
/* Splits the product e into 2^exponent * others, where exponent is the sum of all exponents, in base 2. Missing parts
   are NULL. */
void split_exponentials(struct module *m, const struct expr *e, const struct expr **exponent,
                        const struct expr **others);
/* Splits map v into 2^exponent * others and returns the exponent. Returns NULL if v has no exponent or is
   normalised. */
const struct expr *exponent_of(const struct graph *g, int v, const struct expr **others);
/* Whether `operand` is a factor of e, as 'b' in (a * b) * c. */
bool is_factor(const struct expr *e, const struct expr *operand);
/* Whether `r` names an axis for each of its axes, each another one. */
bool names_axes(const struct ref *r);
/* Returns a copy of the map that `r` reads, with the axes that `r` names: map a over [i f] read as a[j f] becomes a
   copy over [j f]. */
struct value copy_as_read(struct graph *g, const struct ref *r);
/* Returns a value before `at` that equals v, or -1. */
int find_equal(const struct graph *g, int at, const struct value *v);
/* Writes exponentials as the pass reads them. `opens`: a sum of products of exponentials becomes a sum of
   exponentials. */
void prepare_exponentials(struct graph *g, bool opens);

#endif
