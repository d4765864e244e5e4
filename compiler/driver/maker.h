/* Compiles the programs of a unit, for versions.c and extend.c. */
#ifndef ATTNC_DRIVER_MAKER_H
#define ATTNC_DRIVER_MAKER_H

#include "unit.h"

struct maker {
    struct unit *p;
    const struct options *o;
    struct diagnostics *d;
    bool good; /* false if a compilation has failed */
};

/* Returns whether a state stores prepared keys. Keys of 16 bits are not prepared before they are stored, because
   rounding would change the result. */
bool stores_prepared_keys(const struct spec *spec);

/* Compiles a program. Sets x->good to false after an error. `shown` is true for a program that --dump-after shows. */
struct compilation *maker_compile(struct maker *x, const struct schedule *schedule, const struct target *target,
                                  struct program program, bool shown);

/* Compiles a form for few queries. If there is none, returns NULL without a message. */
struct compilation *maker_for_few(const struct maker *x, const struct target *target, struct program program,
                                  bool shown);
struct compilation *maker_few(const struct maker *x, const struct target *target, enum program_kind kind, bool shown);

/* Compiles the program of a step for each target that has a version. */
void maker_each(struct maker *x, enum kernel_step step, bool shown);

/* Decides what a state stores, and compiles the programs that extend a state.
   - If the longest sequences use the linear form on every target, a state stores sums over chunks. It also stores
     the last p->kernel.read_back keys and values.
   - Otherwise, a state stores all keys and values. The keys may be prepared. (extend.c) */
void maker_extend(struct maker *x);

#endif
