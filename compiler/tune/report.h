/* Runs and their statistics, and the outputs about them: the HTML page, and JSON. */
#ifndef ATTNC_TUNE_REPORT_H
#define ATTNC_TUNE_REPORT_H

#include "result.h"
#include "space.h"
#include "../support/support.h"

#include <time.h>

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
