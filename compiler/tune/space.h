/* The space of schedules of a spec. A point of the space chooses one value for every knob. */
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
/* Appends the shape, such as "n=4096 heads=8/2 threads=2 backward". */
void shape_text(const struct tune_shape *s, struct text *out);
/* Sets *space to the knobs that have an effect when there are `keys` keys. If `backward` is true, these are knobs of
   the gradients. Otherwise they are knobs of forward. Defaults are for the best target that this machine runs. */
void knob_space(const struct unit *p, bool backward, int64_t keys, struct tune_space *space);
/* - space_points returns the number of points, or INT64_MAX if there are more.
   - point_number and point_of convert between a point and its number. Numbers start from 0.
   - In point_default, every knob has its default. */
int64_t space_points(const struct tune_space *s);
int64_t point_number(const struct tune_space *s, const struct tune_point *p);
struct tune_point point_of(const struct tune_space *s, int64_t number);
struct tune_point point_default(const struct tune_space *s);
/* Appends the values of the point, such as "tile_q=64 tile_k=288". */
void point_text(const struct tune_space *s, const struct tune_point *p, struct text *out);

/* The knobs of the space as JSON: name, says, usual (the index of the default value) and values. */
struct json_t;
struct json_t *space_json(const struct tune_space *s);

/* ---- the cost model (cost.c) ---- */

/* Predicts the time of one call, to rank schedules. Returns infinity if the unit has no code for the shape. Rates
   are from the table of targets, so the order does not depend on measurements. `document` has its meaning in
   count_work. */
double schedule_cycles(const struct unit *p, const struct target *t, const struct tune_shape *shape, int64_t document);
/* Returns the factor by which operand loads slow down the point's matrix products. It is 1 if they do not. */
double point_loads(const struct target *t, const struct tune_space *s, const struct tune_point *p);

#endif
