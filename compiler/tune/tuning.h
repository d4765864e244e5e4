/* A running search. tune.c searches; outcome.c reports and writes the results. */
#ifndef ATTNC_TUNE_TUNING_H
#define ATTNC_TUNE_TUNING_H

#include "options.h"
#include "report.h"
#include "result.h"
#include "space.h"
#include "trial.h"
#include "tuned_text.h"
#include "../driver/driver.h"
#include "../host/host.h"
#include "../support/support.h"
#include "../target/target.h"

#include <stdbool.h>
#include <stdint.h>

struct tuning {
    const struct options *o;
    const char *file;
    struct text text;
    struct arena *arena;
    struct tune_request request;
    struct unit *unit;
    struct tune_space space;
    const struct target *target;
    struct machine_speed speed;
    struct tune_experiment experiment;
    struct tuned_file file_has; /* SPEC.tuned.yaml before the search */
    double started;
    bool live; /* true if progress is one line on a terminal */
    /* The members below describe the current shape. */
    struct tune_run run; /* with all its trials */
    /* `shape` is the index of the current shape in the request. `trials` and `failures` are of this process. */
    int shape, trials, failures;
    bool infinite; /* the result of a trial was not finite */
    double told;   /* when progress was printed last, in seconds since `started` */
    double until;  /* when the strategy must stop, in seconds since `started` */
    /* expected[n] is the cost model's cycles for point n, or 0 if they are not yet computed. */
    double *expected;
    int64_t expected_size;
    struct tune_gain best; /* the gain of the best confirmed point */
    struct tune_point best_point;
    const struct tuned_entry *in_force; /* the entry of SPEC.tuned.yaml for the current length, or NULL */
    struct tune_point in_force_point;
    bool comparable; /* true if the space has the entry's point, in_force_point */
};

/* The outcome of the search for one shape. */
struct outcome {
    struct tune_run run;
    bool measured; /* true if at least one trial was measured */
    /* True if the schedule of SPEC.tuned.yaml for this length was measured, or is the default. */
    bool compared;
};

/* Returns the seconds since the start of the search. */
double tuning_spent(const struct tuning *t);
void tuning_clear_line(const struct tuning *t);
/* Reports progress on standard error. A terminal shows one line, which each trial overwrites. A file gets a new line
   only if `better` is true. */
void tuning_progress(struct tuning *t, bool better);
/* Prints a line when a shape is finished, and another one if results were not finite. */
void tuning_tell(const struct tuning *t, const struct tune_run *run);
/* These functions warn that other programs may disturb the measurements. Times vary too much, or the peak has
   changed. */
void tuning_say_unsteady(const struct tuning *t, const struct tune_run *run);
void tuning_say_peak_moved(struct tuning *t);
/* Writes SPEC.tuned.yaml if an entry changes. */
enum status tuning_write(struct tuning *t, const struct outcome *outcome, int count);

#endif
