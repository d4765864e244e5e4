/* Compiles the programs of a unit, for versions.c, which makes the steps of a kernel in the order of program.def. */
#ifndef ATTNC_DRIVER_MAKER_H
#define ATTNC_DRIVER_MAKER_H

#include "unit.h"

struct maker {
    struct unit *p;
    const struct options *o;
    struct diagnostics *d, *of_schedule;
    const struct target *const *target;
    int targets;
    bool good; /* false if a compilation has failed */
};

/* Compiles a program. Sets x->good to false after an error. `shown` is true for a program that --dump-after shows. */
struct compilation *maker_compile(struct maker *x, const struct schedule *schedule, const struct target *target,
                                  struct program program, bool shown);

/* Compiles a form for few queries. If there is none, returns NULL without a message. */
struct compilation *maker_for_few(const struct maker *x, const struct target *target, struct program program,
                                  bool shown);
struct compilation *maker_few(const struct maker *x, const struct target *target, enum program_kind kind, bool shown);

/* Compiles the program of a step for each target that has a version. `part` is its number in the step, and the member
   `rows` or `list` of struct program. */
void maker_each(struct maker *x, enum kernel_step step, int part);

/* Compile other steps.
   - maker_backward: the parts that compute gradients (backward.c)
   - maker_extend: code that extends a state with sums, and adds states. If a target has no such state, there is none.
   - maker_prepare: code that prepares keys, and the rows of each array that a state stores prepared (maker.c)
   - maker_attend: code that attends to the keys of a state, without dropout
   - maker_foldable: code for states that also have transitions, and code that adds them (extend.c) */
void maker_backward(struct maker *x);
void maker_extend(struct maker *x);
void maker_prepare(struct maker *x);
void maker_attend(struct maker *x);
void maker_foldable(struct maker *x);
/* Whether two states with sums can be added, if programs add them. (extend.c) */
bool states_join(const struct unit *p);

/* Compiles the parts of backward for a target. The gradients of the arrays that prefix sums read are computed last, by
   parts from number FIRST_TERMS on. (backward.c) */
void maker_parts(struct maker *x, const struct schedule *schedule, const struct target *target, bool linear,
                 const struct compilation **part);
/* Adds a note that the error is about gradients. */
void maker_note_gradients(const struct maker *x);

/* Decides what a state stores and what calls can do with it, after all programs are compiled. (state.c) */
void maker_state(struct maker *x);

#endif
