/* A running search. options.c reads the command line, trial.c measures one schedule, tune.c searches, and outcome.c
   reports and writes the results. */
#ifndef ATTNC_TUNE_TUNING_H
#define ATTNC_TUNE_TUNING_H

#include "run.h"
#include "tuned_text.h"
#include "../host/host.h"

/* ---- the command line (options.c) ---- */

struct tune_request {
    int shapes;
    /* Sorted by length. 0 threads means OpenMP's default. */
    struct tune_shape shape[MAX_SHAPES];
    /* Seconds. `time` is for the whole search, and `limit` is for one trial. */
    double time, limit;
    int64_t trials, samples, document;
    uint64_t seed;
};
/* Reads the options of attnc tune into *r. On failure, prints a message and returns false. */
bool tune_request_read(const struct options *o, struct tune_request *r);
/* Removes knobs that --knobs does not name from the space. On failure, prints a message and returns false. */
bool tune_knobs(const struct options *o, struct tune_space *space);

/* ---- trials (trial.c): a child process with a time limit measures a candidate, which may crash, hang or compute wrong
   results ---- */

struct trial_request {
    const struct options *o; /* the options of the command, such as targets and --set */
    const char *file;
    const struct tune_space *space;
    const struct tune_point *point;
    /* The knobs of the other direction, forward or backward. NULL means their defaults. */
    const struct tuned_entry *base;
    const struct tune_shape *shape;
    uint64_t seed;
    int64_t document;
    int samples;
    double limit; /* seconds for the whole trial */
    /* Called with the hash of the candidate's C code. If it returns true, the trial ends without a result. May be
       NULL. */
    bool (*known)(void *user, const char *code);
    void *user;
};
enum trial_end {
    TRIAL_DONE,
    TRIAL_KNOWN,      /* `known` returned true; the result has only the hash */
    TRIAL_INTERRUPTED /* a signal arrived (trial_interrupted); there is no result */
};
/* Returns a copy of `o` with one schedule for all lengths. `point` sets the knobs of forward, or of backward if
   `backward` is true. `base` sets the knobs of the other direction. If it is NULL, these have their defaults. */
struct options point_options(struct arena *arena, const struct options *o, const struct tune_space *space,
                             const struct tune_point *point, bool backward, const struct tuned_entry *base);
/* Compiles the candidate and the default schedule, compares their outputs at two lengths, and times them alternately.
   - A candidate that is much slower gets fewer samples.
   - If both have the same C code, each sample is measured once and used for both.
   - result->sample is in the arena. */
enum trial_end trial_run(const struct trial_request *request, struct arena *arena, struct tune_result *result);

/* Returns true if no more samples are needed. That is so if the result has `wanted` samples, if the candidate
   failed, or if it is much slower than the default. */
bool trial_enough(const struct tune_result *result, int wanted);

struct machine_speed {
    /* `peak` is in FLOPs per second. `bandwidth` is in bytes per second. */
    double peak, bandwidth;
    int threads; /* the number of threads that were used */
};
/* Measures this machine's peak for the dtype in a child process. If `memory` is true, also measures the bandwidth.
   If `threads` is 0, uses OpenMP's default. Returns false if a signal arrives. On failure, prints a message and
   returns false. */
bool trial_machine(const struct options *o, enum dtype dtype, int threads, bool memory, struct machine_speed *speed);

/* After trial_guard, SIGINT, SIGTERM and SIGHUP end only the running trial. trial_interrupted returns the last such
   signal, or 0. */
void trial_guard(void);
int trial_interrupted(void);

/* ---- the search ---- */

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
