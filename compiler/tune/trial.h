/* Measures one candidate schedule. The candidate runs in a child process with a time limit, because its code may
   crash, hang or compute wrong results. */
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
    const struct tuned_entry *base; /* the knobs of the other direction: of backward if the point is for forward, and
                                       vice versa; NULL: their defaults */
    const struct tune_shape *shape;
    uint64_t seed;
    int64_t document;
    int samples;
    double limit;                                /* the time limit in seconds for the whole trial */
    bool (*known)(void *user, const char *code); /* called with the hash of the candidate's C code. If it returns true,
                                                    the trial ends without a result. May be NULL */
    void *user;
};
enum trial_end {
    TRIAL_DONE,
    TRIAL_KNOWN,      /* `known` returned true; there is no result */
    TRIAL_INTERRUPTED /* a signal arrived (trial_interrupted); there is no result */
};
/* Returns a copy of `o` whose schedule replaces `schedule:` in the spec. The point sets the knobs of backward if
   `backward`, otherwise the knobs of forward. `base` sets the knobs of the other direction; NULL: they have their
   defaults. */
struct options point_options(struct arena *arena, const struct options *o, const struct tune_space *space,
                             const struct tune_point *point, bool backward, const struct tuned_entry *base);
/* Runs one trial: compiles the candidate and the default schedule, compares their outputs at two lengths, and calls
   them alternately.
   - A candidate that is much slower than the default schedule gets fewer samples.
   - If both have the same C code, each sample is measured once and used for both.
   - result->sample is allocated with malloc. */
enum trial_end trial_run(const struct trial_request *request, struct tune_result *result);

/* Whether no more samples are needed: the result has `wanted` samples, the candidate failed, or a few samples show that
   it is much slower than the default schedule. */
bool trial_enough(const struct tune_result *result, int wanted);

struct machine_speed {
    double peak, bandwidth; /* FLOPs per second; bytes per second */
    int threads;            /* the number of threads that were used */
};
/* Measures the peak of this machine for the dtype in a child process; if `memory`, the bandwidth too, which takes
   longer. threads 0: OpenMP's default. Returns false after a message, or if a signal arrived. */
bool trial_machine(const struct options *o, enum dtype dtype, int threads, bool memory, struct machine_speed *speed);

/* After trial_guard, SIGINT, SIGTERM and SIGHUP end the running trial instead of the program; trial_interrupted returns
   the number of the last such signal, or 0 if none has arrived. */
void trial_guard(void);
int trial_interrupted(void);

#endif
