/* The space of schedules of one spec, its points, and the times that the cost model expects. */
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

/* A schedule: for every knob of the space, the index of its value. */
struct tune_point {
    int at[MAX_KNOBS];
};
/* The space of a unit, for forward or for its gradients, around the defaults for `keys` keys. The target is the one
   that this machine would choose, or the first if it runs none. A crossover has the values 1 and never. The default
   values are those without the unit's own schedule. (driver/knobs.c) */
void knob_space(const struct unit *p, bool backward, int64_t keys, struct tune_space *space);
/* space_points: the number of points, at most INT64_MAX. point_number and point_of convert between a point and its
   number, from 0. */
int64_t space_points(const struct tune_space *s);
int64_t point_number(const struct tune_space *s, const struct tune_point *p);
struct tune_point point_of(const struct tune_space *s, int64_t number);
struct tune_point point_default(const struct tune_space *s);
/* "tile_q=64 tile_k=288". */
void point_text(const struct tune_space *s, const struct tune_point *p, struct text *out);

/* ---- the cost model (cost.c) ---- */

/* The expected cycles of a call of the unit on one core of the target in the table. It only ranks schedules; it is
   not measured, so that every search has the same order. */
double schedule_cycles(const struct unit *p, const struct target *t, const struct tune_shape *shape, int64_t document);
/* The factor by which loads slow down the products, given the register block of the point; 1: they do not. */
double point_loads(const struct target *t, const struct tune_space *s, const struct tune_point *p);

#endif
