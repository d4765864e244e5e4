/* Declarations that the files of driver/ share. */
#ifndef ATTNC_DRIVER_UNIT_H
#define ATTNC_DRIVER_UNIT_H

#include "driver.h"
#include "../support/support.h"
#include "../target/target.h"

/* Compiles the requested programs for every target. Returns false after an error. Errors about knobs go into
   `schedule`, other errors into `d`. (versions.c) */
bool versions_make(struct unit *p, const struct target *const *target, int targets, const struct options *o,
                   struct diagnostics *d, struct diagnostics *schedule);
/* --tuned: sets the unit's schedule to that of the tuned spec; *d collects errors of the tuned spec. Returns false
   after a message or with errors in *d; *status is set if the spec is not at fault. (tuned.c) */
bool tuned_schedule(struct unit *p, const char *spec, const struct options *o, struct diagnostics **d,
                    enum status *status);

/* Reports knobs of the spec that are unknown, have no effect on it, or have an invalid value. */
void knobs_check(const struct unit *p, struct diagnostics *d);

#endif
