/* A search at work, for the files of `attnc tune`: tune.c searches, outcome.c says and writes what came of it. */
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
    struct text text; /* of it */
    struct arena *arena;
    struct tune_request request;
    struct unit *unit;
    struct tune_space space;
    const struct target *target;
    struct store *store;
    struct machine_speed speed;
    struct tune_experiment experiment;
    struct tuned_file file_has; /* SPEC.tuned.yaml, before the search */
    double started;
    bool live, failed;
    /* the shape at work */
    int shape, trials, failures;
    double until;     /* seconds after the start: of its search */
    double *expected; /* by the number of the point; 0: not known yet */
    int64_t expected_size;
    struct tune_gain best; /* of what was confirmed */
    struct tune_point best_point;
    const struct tuned_entry *in_force; /* what the file has for its length, or NULL */
    struct tune_point in_force_point;
    bool comparable; /* it is such a point */
};

/* What came of a shape. */
struct outcome {
    struct tune_run run;
    bool measured; /* something was, in this search */
    bool compared; /* what the file had in force for it, too */
};

/* Seconds since the start of the search. */
double tuning_spent(const struct tuning *t);
void tuning_clear_line(const struct tuning *t);
/* A line that is written over on a terminal; elsewhere a line when something is better than all before. */
void tuning_progress(const struct tuning *t, bool better);
/* A line for a shape that is done. */
void tuning_tell(const struct tuning *t, const struct tune_run *run);
/* Warn of a machine that has other things to do: by the spread of a run, and by a peak that has moved. */
void tuning_say_unsteady(const struct tuning *t, const struct tune_run *run);
void tuning_say_peak_moved(struct tuning *t);
/* SPEC.tuned.yaml, where there is something new to write. */
enum status tuning_write(struct tuning *t, const struct outcome *outcome, int count);

#endif
