/* Declarations that the files of driver/ share. */
#ifndef ATTNC_DRIVER_UNIT_H
#define ATTNC_DRIVER_UNIT_H

#include "driver.h"
#include "../support/support.h"
#include "../target/target.h"

/* Reads a spec and builds its graph. After errors, which it reports, the graph is NULL. (read.c) */
struct unit *unit_read(struct arena *arena, const char *file, const char *text, size_t length, const struct options *o,
                       struct diagnostics *d);
/* Reports what is wrong in a spec that has a graph. (check.c) */
void unit_check(const struct unit *p, struct diagnostics *d);
/* Decide what calls can do that have only some keys of a sequence. share_positions decides what positions count from,
   and share_sums which sums calls take, after all versions are made. (shared_sequence.c) */
void share_positions(struct unit *p, struct diagnostics *d);
void share_sums(struct unit *p);
/* Returns an attnc command that makes the same output. The command leaves out the spec's folder. (reproduce.c) */
const char *unit_reproducing(const struct unit *p, const struct options *o);
/* Moves the best target that this machine runs to the front of `target`, and after it the same target with fewer
   features: a kernel may use none of the features. Returns the number of these targets. Tests replace target_runs by
   another `runs`. (versions.c) */
int targets_to_load(const struct target **target, int targets, bool (*runs)(const struct target *));
/* Makes all compilations and versions of a unit. Returns false after an error. Errors about knobs are added to
   `schedule`, and other errors to `d`. (versions.c) */
bool versions_make(struct unit *p, const struct target *const *target, int targets, const struct options *o,
                   struct diagnostics *d, struct diagnostics *schedule);
/* Returns whether a kernel can decode. If it cannot, reports errors. `asked` is true if only an option asks for
   decoding. (decodable.c) */
bool unit_can_decode(const struct unit *p, bool asked, struct diagnostics *d);
/* For --tuned, takes the schedule from SPEC.tuned.yaml. Sets *d to the diagnostics of that file. After an error,
   prints a message or adds errors to *d, and returns false. (tuned.c) */
bool tuned_schedule(struct unit *p, const char *spec, const struct options *o, struct diagnostics **d,
                    enum status *status);

/* Reports knobs that are unknown, have no effect, or have an invalid value. (knobs.c) */
void knobs_check(const struct unit *p, struct diagnostics *d);

#endif
