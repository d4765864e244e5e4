/* Measures one candidate in a separate process with a time limit, because it may crash, hang or compute wrong
   results. */
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
    const struct tuned_entry *base; /* settings for forward or the gradients in addition to the point; NULL: none */
    const struct tune_shape *shape;
    uint64_t seed;
    int64_t document;
    int samples;
    double limit; /* the time limit in seconds for the whole trial */
    bool (*known)(void *user,
                  const char *code); /* whether a result for C code with that hash is already known; may be NULL */
    void *user;
};
enum trial_end {
    TRIAL_DONE,
    TRIAL_KNOWN,      /* `known` returned true; there is no result */
    TRIAL_INTERRUPTED /* a signal came (trial_interrupted); there is no result */
};
/* The options `o` with the point as the schedule of forward or of the gradients. `base` sets the schedule of the
   other one. Both replace the schedule of the spec. */
struct options point_options(struct arena *arena, const struct options *o, const struct tune_space *space,
                             const struct tune_point *point, bool backward, const struct tuned_entry *base);
/* Compiles the candidate and the default schedule, compares their results at two lengths, and calls them
   alternately. The samples are allocated with malloc; a candidate that is much slower than the default schedule gets
   fewer. If both have the same C code, a sample is one time, used for both. */
enum trial_end trial_run(const struct trial_request *request, struct tune_result *result);

/* Whether a measured candidate has enough samples if `wanted` samples are wanted. A candidate that is much slower
   needs only a few. */
bool trial_enough(const struct tune_result *result, int wanted);

/* The speed of this machine, measured in a separate process: FLOPs and bytes per second of speed->threads threads;
   if threads is 0, it is set to OpenMP's default. `memory`: measures the bandwidth too, which takes longer. Returns
   false after a message. */
struct machine_speed {
    double peak, bandwidth;
    int threads;
};
bool trial_machine(const struct options *o, enum dtype dtype, int threads, bool memory, struct machine_speed *speed);

/* After trial_guard, SIGINT, SIGTERM and SIGHUP end the running trial instead of the program; trial_interrupted then
   returns the number of the signal, else 0. */
void trial_guard(void);
int trial_interrupted(void);

#endif
