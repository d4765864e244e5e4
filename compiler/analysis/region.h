/* Regions as ranges of indices, and the indices that their periodic conditions select (region.c, period.c). */
#ifndef ATTNC_REGION_H
#define ATTNC_REGION_H

#include "../../ir/loops.h"

/* Finds the indices of `axis` in a region as a union of ranges (region.c). A bound is an expression of the current
   ranges of the other axes, or NULL.
   - without `every`: the union contains all indices that are in the region for some indices of the other axes
   - with `every`: the union contains only indices that are in the region for all indices of the other axes */
struct ranges {
    int count;
    struct range range[MAX_RANGES];
};
void region_ranges(struct module *m, const struct expr *region, int axis, bool every, struct ranges *out);
/* Returns a condition, or NULL. If the condition is false, a loop over `axis` can skip the tile. */
const struct expr *region_reached(struct module *m, const struct expr *region, int axis);

/* The indices of the stream that periodic conditions select (period.c). A periodic condition uses only remainders of
   positions, such as (i - j) % 4 == 0. A selected index x has floormod(x - phase, period) < run. */
struct period {
    uint64_t periodic;   /* the periodic conditions, as bits */
    int64_t period, run; /* run 0: nothing is selected */
    /* The phase depends on the query. `phase` belongs to the first query of the current range. */
    bool with_query;
    bool exact;               /* every index x with floormod(x - phase, period) < run is selected */
    const struct expr *phase; /* an expression of SIZE and LO */
    /* A tile whose queries are alike.period apart selects fewer keys than a tile of neighbours. `alike` is the
       period of its selection. run 0: it is unknown, or there is no gain. */
    struct alike {
        int64_t period, run;
        bool exact;
        const struct expr *phase;
    } alike;
};
/* Finds the period of the conjunction of condition[0], condition[1], … */
void conjunction_period(struct module *m, int lane_axis, int stream_axis, int conditions,
                        const struct expr *const *condition, struct period *out);

#endif
