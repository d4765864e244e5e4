/* What the files of driver/ share. */
#ifndef ATTNC_DRIVER_UNIT_H
#define ATTNC_DRIVER_UNIT_H

#include "driver.h"
#include "../support/support.h"
#include "../target/target.h"

/* Compiles what the spec asks for, for every target (versions.c). False after an error: in d, or about a knob in
   `schedule`. */
bool versions_make(struct unit *p, const struct target *const *target, int targets, const struct options *o,
                   struct diagnostics *d, struct diagnostics *schedule);
/* --tuned: gives the unit the schedule of the tuned spec beside its own, for whose errors there are diagnostics then.
   False after a message, or with errors in these; *status, where the spec is not to blame. (tuned.c) */
bool tuned_schedule(struct unit *p, const char *spec, const struct options *o, struct diagnostics **d,
                    enum status *status);

/* Reports knobs of the spec that are unknown, do nothing for it, or have a value that they cannot have. */
void knobs_check(const struct unit *p, struct diagnostics *d);

#endif
