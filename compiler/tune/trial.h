/* Measures one candidate schedule in a child process with a time limit. The candidate's code may crash, hang or
   compute wrong results. */
#ifndef ATTNC_TUNE_TRIAL_H
#define ATTNC_TUNE_TRIAL_H

#include "result.h"
#include "space.h"
#include "../support/support.h"

struct tuned_entry;
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

#endif
