/* One candidate in a process of its own, with a time limit: it may crash, hang or compute nonsense. */
#ifndef ATTNC_TUNE_TRIAL_H
#define ATTNC_TUNE_TRIAL_H

#include "result.h"
#include "space.h"
#include "../support/support.h"

struct tuned_entry;
struct trial_request {
    const struct options *o; /* of the command: targets, --set */
    const char *file;
    const struct tune_space *space;
    const struct tune_point *point;
    const struct tuned_entry *base; /* what is set beside the point, of forward or of the gradients; NULL: nothing */
    const struct tune_shape *shape;
    uint64_t seed;
    int64_t document;
    int samples;
    double limit; /* seconds for all of it */
    bool (*known)(void *user,
                  const char *code); /* whether the result of C with that hash is known already; may be NULL */
    void *user;
};
enum trial_end {
    TRIAL_DONE,
    TRIAL_KNOWN,      /* `known` said so, and there is no result */
    TRIAL_INTERRUPTED /* by a signal (trial_interrupted), and there is no result */
};
/* `o` with the point as schedule of forward or of the gradients, and of the other of these what `base` sets, in place
   of one that the spec has. */
struct options point_options(struct arena *arena, const struct options *o, const struct tune_space *space,
                             const struct tune_point *point, bool backward, const struct tuned_entry *base);
/* Compiles the candidate and the default schedule, compares what they compute at two lengths, and calls them in turn.
   The samples are malloc'd; those of a candidate much slower than the default schedule are fewer. Of a candidate whose
   C is that of the default schedule, a sample is one time, which is both's. */
enum trial_end trial_run(const struct trial_request *request, struct tune_result *result);

/* Whether a measured candidate has samples enough, `wanted` being wanted: one that is much slower needs few. */
bool trial_enough(const struct tune_result *result, int wanted);

/* What this machine does, measured in a process of its own as well: FLOPs and bytes a second of speed->threads
   threads, which 0 sets to OpenMP's default; `memory`: the bandwidth too, which takes longer. False after a
   message. */
struct machine_speed {
    double peak, bandwidth;
    int threads;
};
bool trial_machine(const struct options *o, enum dtype dtype, int threads, bool memory, struct machine_speed *speed);

/* From trial_guard on SIGINT, SIGTERM and SIGHUP end the trial that runs, not the program; trial_interrupted is then
   the signal's number, else 0. */
void trial_guard(void);
int trial_interrupted(void);

#endif
