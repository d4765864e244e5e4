/* The space of schedules of a spec, the results of measuring schedules, and runs, which are searches for one shape. */
#ifndef ATTNC_TUNE_RUN_H
#define ATTNC_TUNE_RUN_H

#include "../driver/driver.h"

#include <time.h>

/* ---- results of measuring one schedule for one shape (result.c) ---- */

enum { MAX_SHAPES = 64 };

struct tune_shape {
    /* `length` is the number of queries and of keys. */
    int64_t batch, heads, kv_heads, length;
    int64_t key_heads; /* heads of q and k if v has more, or 0 */
    int threads;
    bool backward; /* true if a call of backward is measured, false if a call of forward is measured */
};
enum tune_status {
    TUNE_MEASURED,
    TUNE_WRONG,   /* the output differs too much from the output of the default schedule */
    TUNE_CRASHED, /* the process was ended by a signal */
    TUNE_LATE,    /* the trial exceeded the time limit */
    TUNE_REFUSED  /* attnc or the C compiler rejected the schedule, or memory ran out */
};
extern const char *const tune_status_name[]; /* "measured", "wrong", "crashed", "late", "refused", NULL */

/* A call of the candidate, and a call of the default schedule directly before or after it. */
struct tune_sample {
    double seconds, default_seconds;
};
/* A schedule is written to SPEC.tuned.yaml only if its trial has this number of samples. With few samples, the fastest
   of many candidates is probably lucky. */
enum { CONFIRMED = 21 };

struct tune_result {
    enum tune_status status;
    char why[200]; /* the reason why there is no measurement, or "" */
    /* `work` is the number of useful FLOPs of a call. `peak` is the machine's maximum in FLOPs per second. 0 means
       unknown. */
    double work, peak;
    double bytes;     /* the roofline's bytes of a call, or 0 if unknown */
    double bandwidth; /* the machine's maximum in bytes per second, or 0 if unknown */
    char code[65];    /* a hash of the C code that was measured, or "" if unknown */
    bool infinite;    /* this process measured it, and the result was not finite */
    int samples;
    struct tune_sample *sample;
};
/* The candidate's time divided by the default schedule's time. If the ratio is below 1, the candidate is faster.
   - ratio: the median over the samples; infinity without samples
   - low, high: its 95% confidence interval; with fewer than 6 samples, the minimum and maximum */
struct tune_gain {
    double ratio, low, high;
};
struct tune_gain tune_gain(const struct tune_result *r);
/* Returns the candidate's median time in seconds, or infinity without samples. */
double tune_seconds(const struct tune_result *r);

/* ---- the space of schedules; a point chooses one value for every knob (space.c) ---- */

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

/* ---- runs, and the outputs about them: the HTML page, and JSON ---- */

/* The conditions under which a search measures. */
struct tune_experiment {
    const char *spec_name, *spec_hash, *spec_text; /* the hash does not depend on the spec's schedule */
    const char *machine;                           /* a line with the processor, the caches and the threads */
    const char *compiler, *attnc;                  /* versions, such as "clang 19.1.7" and "0.1" */
    const char *target;
    struct tune_shape shape;
    struct tune_space space;
};
struct tune_trial {
    /* The number of the trial, from 1, whose result this one shares because its C code is equal, or 0. */
    int same_as;
    struct tune_point point;
    struct tune_result result;
};

/* One search for one shape. A point has at most one trial. */
struct tune_run {
    time_t begun;
    uint64_t seed;
    struct tune_experiment experiment;
    int trials;
    struct tune_trial *trial;
};
/* Appends a trial to the run. Pointers to the run's earlier trials become invalid. (result.c) */
struct tune_trial *tune_trial_add(struct tune_run *run, struct arena *arena);

/* Returns the fastest trial that is faster than the default schedule by more than the noise. Returns NULL if there
   is none. (result.c) */
const struct tune_trial *run_best(const struct tune_run *run);

/* The first and third quartile of the seconds of a call with the default schedule. */
struct tune_spread {
    double low, high;
    int samples;
};
struct tune_spread run_spread(const struct tune_run *run);
/* Appends an HTML page. If memory runs out, `out` is empty afterwards. (report.c) */
void tune_report(const struct tune_run *runs, int count, struct text *out);
/* Appends the runs with all their trials and samples as JSON. (report.c) */
void tune_json(const struct tune_run *runs, int count, struct text *out);

#endif
