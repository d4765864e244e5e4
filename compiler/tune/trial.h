/* Measures one candidate schedule in a child process with a time limit. The candidate's code may crash, hang or
   compute wrong results. */
#ifndef ATTNC_TUNE_TRIAL_H
#define ATTNC_TUNE_TRIAL_H

#include "result.h"
#include "space.h"
#include "../support/support.h"

struct tuned_entry;
struct trial_request {
    const struct options *o; /* options of the command: targets, --set */
    const char *file;
    const struct tune_space *space;
    const struct tune_point *point;
    const struct tuned_entry *base; /* the knobs of the other direction (forward or backward); NULL: their defaults */
    const struct tune_shape *shape;
    uint64_t seed;
    int64_t document;
    int samples;
    double limit;                                /* seconds for the whole trial */
    bool (*known)(void *user, const char *code); /* is called with the hash of the candidate's C code; if it returns
                                                    true, the trial ends without a result; may be NULL */
    void *user;
};
enum trial_end {
    TRIAL_DONE,
    TRIAL_KNOWN,      /* `known` returned true; there is no result */
    TRIAL_INTERRUPTED /* a signal arrived (trial_interrupted); there is no result */
};
/* Returns a copy of `o` with a schedule for all lengths. If `backward`, `point` sets the knobs of backward and
   `base` those of forward. Otherwise `point` sets those of forward. `base` may be NULL: defaults. */
struct options point_options(struct arena *arena, const struct options *o, const struct tune_space *space,
                             const struct tune_point *point, bool backward, const struct tuned_entry *base);
/* Compiles the candidate and the default schedule, compares their outputs at two lengths, and times them alternately.
   - A candidate that is much slower gets fewer samples.
   - If both have the same C code, each sample is measured once and used for both.
   - result->sample is allocated with malloc. */
enum trial_end trial_run(const struct trial_request *request, struct tune_result *result);

/* Returns true if no more samples are needed. True if the result has `wanted` samples, the candidate failed, or it
   is much slower than the default. */
bool trial_enough(const struct tune_result *result, int wanted);

struct machine_speed {
    double peak, bandwidth; /* FLOPs per second; bytes per second */
    int threads;            /* the number of threads that were used */
};
/* Measures this machine's peak for the dtype in a child process, and the bandwidth if `memory`. threads 0: OpenMP's
   default. Returns false after a message or a signal. */
bool trial_machine(const struct options *o, enum dtype dtype, int threads, bool memory, struct machine_speed *speed);

/* After trial_guard, SIGINT, SIGTERM and SIGHUP end only the running trial. trial_interrupted returns the last such
   signal, or 0. */
void trial_guard(void);
int trial_interrupted(void);

#endif
