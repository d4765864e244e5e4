/* Declarations that the files of driver/ share. */
#ifndef ATTNC_DRIVER_UNIT_H
#define ATTNC_DRIVER_UNIT_H

#include "driver.h"
#include "../support/support.h"
#include "../target/target.h"

/* Makes all compilations and versions of a unit. Returns false after an error. Errors about knobs go into `schedule`,
   other errors into `d`. (versions.c) */
bool versions_make(struct unit *p, const struct target *const *target, int targets, const struct options *o,
                   struct diagnostics *d, struct diagnostics *schedule);
/* Whether a kernel of the unit can decode: continue a sequence token by token. If not, reports errors. `asked` says
   that an option asks for decoding, and the spec does not. (decodable.c) */
bool unit_can_decode(const struct unit *p, bool asked, struct diagnostics *d);
/* Reports what a spec with the delta rule cannot have. Returns false after an error. (decodable.c) */
bool unit_can_correct(const struct unit *p, struct diagnostics *d);
/* Reports an error if the unit has a decay that its mask or its outputs do not allow. (decodable.c) */
void unit_check_decay(const struct unit *p, struct diagnostics *d);
/* For the option --tuned: takes the schedule from SPEC.tuned.yaml. Sets *d to new diagnostics for errors in that file.
   Returns false after a message, or with errors in *d. *status is set unless the spec is at fault. (tuned.c) */
bool tuned_schedule(struct unit *p, const char *spec, const struct options *o, struct diagnostics **d,
                    enum status *status);

/* Reports the knobs of the spec's schedule that are unknown, have no effect on the spec, or have an invalid value.
   (knobs.c) */
void knobs_check(const struct unit *p, struct diagnostics *d);

#endif
