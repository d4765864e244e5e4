/* Integers over the current ranges of axes (affine.c). A current range has the indices LO <= index < HI that the
   surrounding loop processes at a time. */
#ifndef ATTNC_AFFINE_H
#define ATTNC_AFFINE_H

#include "../../ir/expr_query.h"

enum { MAX_TERMS = 8 };

/* An integer expression as a sum. An empty form has remainder 0.
   - weight[a] * INDEX(a), for each axis a
   - times * e, for each term. e contains an INDEX but is no sum.
   - the remainder, without INDEX except in EXPR_START */
struct form {
    int64_t weight[MAX_AXES];
    int terms;
    struct {
        int64_t times;
        const struct expr *e;
    } term[MAX_TERMS];
    const struct expr *remainder;
};
/* form_add: f += times * e. form_scale: f *= times. Both return false if e is real, a weight exceeds 2^30, or f has
   no room. After a failure, f is unusable. */
bool form_add(struct module *m, struct form *f, const struct expr *e, int64_t times);
bool form_scale(struct module *m, struct form *f, int64_t times);
/* Returns a bound of sign * f over the current ranges: an upper bound if `largest`, otherwise a lower one. The
   bound is an expression of SIZE, LO and HI. Returns NULL if no bound is known. expr_extreme bounds e. */
const struct expr *form_extreme(struct module *m, const struct form *f, int64_t sign, bool largest);
const struct expr *expr_extreme(struct module *m, const struct expr *e, bool largest);
/* Whether e is x / by rounded down, for an integer by > 0. Sets *x and *by. */
bool floor_quotient(struct module *m, const struct expr *e, const struct expr **x, int64_t *by);
/* Returns x / by rounded down, as (x - floormod(x, by)) / by in C. */
const struct expr *floor_divide(struct module *m, const struct expr *x, int64_t by);
/* Sets *difference to a - b if it is the same number for all sizes and ranges. Otherwise returns false. */
bool known_difference(struct module *m, const struct expr *a, const struct expr *b, int64_t *difference);
/* Sets *most to a bound of a - b for all sizes and ranges. Returns false if none is known. x / k * k counts as
   x - floormod(x, k), as it is for x >= 0. */
bool largest_difference(struct module *m, const struct expr *a, const struct expr *b, int64_t *most);
/* Whether a <= b is known, as for largest_difference. */
bool known_at_most(struct module *m, const struct expr *a, const struct expr *b);

/* Returns e with LO in place of every index of a batch axis. */
const struct expr *expr_of_sequence(struct module *m, const struct expr *e);

#endif
