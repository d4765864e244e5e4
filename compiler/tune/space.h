/* The space of schedules of one spec, its points, and what the cost model expects of them. */
#ifndef ATTNC_TUNE_SPACE_H
#define ATTNC_TUNE_SPACE_H

#include "result.h"
#include "../driver/driver.h"
#include "../schedule/schedule.h"
#include "../target/target.h"

struct tune_space {
    int knobs;
    struct tune_knob knob[MAX_KNOBS];
};

/* A schedule: for every knob of the space, which of its values. */
struct tune_point {
    int at[MAX_KNOBS];
};
/* The space of a unit, of forward or of its gradients, for the target that this machine would choose (or, where it runs
   none of them, the first), around the defaults for `keys` keys: of a crossover the values are then 1 and never.
   Whatever the unit's own schedule says, the default values are those without one. (driver/knobs.c) */
void knob_space(const struct unit *p, bool backward, int64_t keys, struct tune_space *space);
/* Points of the space; saturates at INT64_MAX. The number of a point, from 0, and back. */
int64_t space_points(const struct tune_space *s);
int64_t point_number(const struct tune_space *s, const struct tune_point *p);
struct tune_point point_of(const struct tune_space *s, int64_t number);
struct tune_point point_default(const struct tune_space *s);
/* "tile_q=64 tile_k=288". */
void point_text(const struct tune_space *s, const struct tune_point *p, struct text *out);

/* ---- the cost model (cost.c) ---- */

/* Cycles that a call of the unit should take on one core of the target as its table has it: only to rank schedules by,
   and not measured, so that every search has the same order. */
double schedule_cycles(const struct unit *p, const struct target *t, const struct tune_shape *shape, int64_t document);
/* How much longer products take for the loads that the point's register block needs on the target; 1: none. */
double point_loads(const struct target *t, const struct tune_space *s, const struct tune_point *p);

#endif
