/* Weights that fade with the distance between query and key (decay.c). */
#ifndef ATTNC_DECAY_H
#define ATTNC_DECAY_H

#include "../../ir/graph.h"

/* Writes an exponential e as base^distance * factor[0] * factor[1] (decay.c). Returns NULL, or why this is
   impossible.
   - distance: position of the query - position of the key
   - base: from 0 to 1, equal for all pairs
   - factor[0] depends on the query, factor[1] on the key
   - weight: the map of e
   - lane, stream: the axes of queries and keys
   - ordered: no key comes after the query */
struct decay {
    const struct expr *base, *factor[2];
};
const char *decay_of(struct module *m, const struct value *weight, int lane, int stream, bool ordered,
                     const struct expr *e, struct decay *out);

/* Returns the logarithm of the base of a decay, to base 2 or e. */
const struct expr *decay_log2(struct module *m, const struct expr *base);
const struct expr *decay_log(struct module *m, const struct expr *base);
/* Whether the base is a number or an exponential, so that its logarithm is not the logarithm of a rounded value. */
bool decay_has_exact_log2(const struct expr *base);

#endif
