/* What a schedule sets: the knobs that passes and the emitter declare (knobs.def), for the files that declare them, list them or check them. */
#ifndef ATTNC_KNOBS_H
#define ATTNC_KNOBS_H

#include "tune.h"

/* As a crossover: no length is as long. */
enum { NEVER = 2147483647 };

/* For what a knob is asked about. */
struct knob_case {
    const struct target *target;
    const struct compilation *quadratic, *linear; /* as they usually are; NULL: there is none */
    const struct compilation *form;               /* the one of them that the usual value is of */
    int64_t keys, crossover;                      /* 0: any length; from how many keys on the linear form is taken */
};
/* Fills in the values and the usual one; or says why the knob does nothing for the spec. */
typedef const char *knob_function(const struct knob_case *x, struct tune_knob *knob);
struct knob_row {
    const char *name, *says;
    int64_t low, high, multiple;
    knob_function *about;
};
enum {
    KNOBS = 0
#define KNOB(name, low, high, multiple, says) +1
#include "knobs.def"
#undef KNOB
};
extern const struct knob_row knob_table[KNOBS];
#define KNOB(name, low, high, multiple, says) knob_function knob_##name;
#include "knobs.def"
#undef KNOB

/* One more value worth trying, in its place; nothing where it is there or there is no room. */
void knob_value(struct tune_knob *knob, int64_t value);
/* The usual value and others. */
void knob_values(struct tune_knob *knob, int64_t usual, int count, const int64_t *value);
/* Whether the row's knob does anything for what is usual on a target; else *why_not. The usual value is that of the form given, or (NULL) of the one
   that so many keys take; 0 keys: any length. */
bool knob_about(const struct usual *usual, const struct compilation *form, int64_t keys, int row, struct tune_knob *knob, const char **why_not);
/* Reports knobs of the spec that are unknown, do nothing for it, or have a value that they cannot have. */
void knobs_check(const struct product *p, struct diagnostics *d);
/* The value of a knob in a compilation of the product, which need not have been set. */
int64_t knob_taken(const struct product *p, const struct compilation *c, int row);
/* "a multiple of 16 from 16 to 4096". */
const char *knob_domain(struct arena *arena, int row);

#endif
