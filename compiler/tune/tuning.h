/* A running search, for the files of `attnc tune`: tune.c searches, outcome.c reports and writes the results. */
#ifndef ATTNC_TUNE_TUNING_H
#define ATTNC_TUNE_TUNING_H

#include "options.h"
#include "report.h"
#include "result.h"
#include "space.h"
#include "tuned_text.h"
#include "../driver/driver.h"
#include "../host/host.h"
#include "../support/support.h"
#include "../target/target.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

struct tuning {
    const struct options *o;
    const char *file;
    struct text text; /* the text of the file */
    struct arena *arena;
    struct tune_request request;
    struct unit *unit;
    struct tune_space space;
    const struct target *target;
    struct store *store;
    struct machine_speed speed;
    struct tune_experiment experiment;
    struct tuned_file file_has; /* SPEC.tuned.yaml before the search */
    double started;
    bool live, failed;
    /* members about the current shape */
    int shape, trials, failures;
    double until;     /* the end of its search, in seconds after the start */
    double *expected; /* by the number of the point; 0: unknown */
    int64_t expected_size;
    struct tune_gain best; /* the gain of the best confirmed point */
    struct tune_point best_point;
    const struct tuned_entry *in_force; /* the file's entry for the current length, or NULL */
    struct tune_point in_force_point;
    bool comparable; /* in_force_point is a point of the space */
};

/* The outcome of a shape. */
struct outcome {
    struct tune_run run;
    bool measured; /* something was measured in this search */
    bool compared; /* the file's schedule for the shape was measured too */
};

/* Seconds since the start of the search. */
double tuning_spent(const struct tuning *t);
void tuning_clear_line(const struct tuning *t);
/* On a terminal, a line that is overwritten; elsewhere, a line whenever a new best point is found. */
void tuning_progress(const struct tuning *t, bool better);
/* Prints a line when a shape is finished. */
void tuning_tell(const struct tuning *t, const struct tune_run *run);
/* Warn if the machine is not idle: if times of a run vary too much, or if the peak has changed. */
void tuning_say_unsteady(const struct tuning *t, const struct tune_run *run);
void tuning_say_peak_moved(struct tuning *t);
/* Writes SPEC.tuned.yaml if there is something new. */
enum status tuning_write(struct tuning *t, const struct outcome *outcome, int count);

#endif
