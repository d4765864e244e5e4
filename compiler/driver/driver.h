/* One spec compiled for all its targets and schedules, and the registry of knobs. */
#ifndef ATTNC_DRIVER_H
#define ATTNC_DRIVER_H

#include "../cost/cost.h"
#include "../emit/emit.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../target/target.h"

/* The forms of a target without a schedule; NULL: there is no such form. */
struct defaults {
    const struct target *target;
    struct compilation *quadratic, *linear;
    const struct compilation *gradients[2]; /* the first part of the gradients of each form */
    int64_t crossover;                      /* the number of keys from which the linear form is taken, if there are
                                               both */
};

/* A compiled spec: its file is read, checked, compiled for every target, and emitted. */
struct unit {
    struct arena *arena;
    struct spec *spec;
    struct graph *graph;                /* before the first pass */
    const struct kernel_arrays *arrays; /* the arrays that the kernel reads and writes */
    /* For each target and entry of the schedule: the quadratic form, the linear one, or both in this order. Equal ones
       are kept once. */
    struct compilation *compilation[MAX_COMPILATIONS + 1];
    int compilations;
    struct version version[MAX_COMPILATIONS]; /* sorted by target, then by number of keys */
    int versions;
    struct version backward[MAX_BACKWARDS]; /* the gradients: sorted by target, then by number of keys */
    int backwards, parts, saved, row_sums;
    struct version extend[MAX_VERSIONS]; /* by target, if the state sums chunks */
    int extends;
    struct version attend[MAX_COMPILATIONS]; /* otherwise, if a state stores keys prepared: the versions that attend to
                                              such keys, sorted as `version` */
    struct version prepare[MAX_VERSIONS];    /* and the programs that prepare keys, by target */
    int attends, prepares;
    struct compilation *of_prepared[2 * MAX_COMPILATIONS + MAX_VERSIONS]; /* all compilations of these two, once each,
                                                                             by target */
    int of_prepareds;
    bool folds, moves, any_order; /* states can be added; also at other positions; also in any order of the keys */
    int64_t read_back;            /* the number of last keys that a state stores, from keys_read_back or keys_read_on */
    int64_t read_first;           /* the number of first keys that a state stores, from keys_read_on */
    uint64_t fingerprint;         /* of states: a hash of the graph and of the state's layout */
    struct defaults defaults[MAX_VERSIONS];
    int default_count;
    const char *why_quadratic; /* the reason why there is no linear form, or NULL */
    bool standalone;
    const char *command;     /* a command that produces the same output */
    unsigned asked;          /* EMIT_... that an option requested, and not the spec */
    const char *tuned;       /* the file that the schedule comes from, or NULL */
    const char *file, *text; /* the file and the text of the spec */
    size_t text_length;
    struct text source, header, source_here;
};
/* Reads and compiles a spec; reports to standard error. Returns NULL with *status set on failure. unit_free also takes
   NULL. */
struct unit *unit_make(const char *file, const struct options *o, enum status *status);
/* The C source to load on this machine: only for the target that this machine would choose, unless --target is
   given. */
const char *unit_source_here(struct unit *p, const struct options *o);
/* The C source for this machine, and its header. `command` is named as the command that made them, so that equal code
   is equal text. */
void unit_emit_here(const struct unit *p, const struct options *o, const char *command, struct text *source,
                    struct text *header);
void unit_free(struct unit *p);
/* True if the spec allows problems of that length; else prints a message. */
bool unit_allows(const struct unit *p, const struct options *o, int64_t length);
/* Warns of probable mistakes in the user's expressions and of exponentials that may overflow, on standard error unless
   --quiet. */
void unit_warn(const struct unit *p, const struct options *o);
/* The forms without a schedule: of this machine's target, or of the first target if this machine runs none. */
const struct defaults *unit_defaults(const struct unit *p);
/* A hash of everything in the spec that affects the result. Name, description, schedule, and seeds of random parameters
   do not. (tuned.c) */
const char *unit_source_hash(const struct unit *p);
/* The first target that this machine runs; NULL: none. */
const struct target *unit_target_here(const struct unit *p);
/* The compilation that the kernel runs on target t for that number of keys; NULL: there is none. */
const struct compilation *unit_choice(const struct unit *p, const struct target *t, int64_t keys);

/* The compilation that it runs for few queries (schedule.h), and the maximum number of rows; NULL: the same as for
   many. */
const struct compilation *unit_few(const struct unit *p, const struct target *t, int64_t keys, int64_t *rows);

/* unit_choice and unit_few for tokens after a state that stores keys one by one. */
const struct compilation *unit_extend_choice(const struct unit *p, const struct target *t, int64_t keys);
const struct compilation *unit_extend_few(const struct unit *p, const struct target *t, int64_t keys, int64_t *rows);
/* Their quadratic form; if keys are not stored prepared, that of forward. */
const struct compilation *unit_extend_quadratic(const struct unit *p, const struct target *t);

/* A copy of c, one of the unit's compilations, before its first pass. (versions.c) */
struct compilation *unit_recompile(const struct unit *p, const struct compilation *c);
/* The graph that computes all gradients from the inputs, `out` and `dout`; NULL: it cannot be made. (gradients.c) */
const struct graph *unit_derivative(const struct unit *p, struct arena *arena);
/* The parts that compute all gradients for that number of keys; `kept`: forward saved values. Zero parts: the spec has
   no gradients. (gradients.c) */
struct call_parts unit_gradients(const struct unit *p, const struct target *t, int64_t keys, bool kept);
/* The bytes that forward saves for each row and head. */
size_t unit_saved_bytes(const struct unit *p, const struct target *t, int64_t keys);
/* The gradients that a part computes, as text: "dk, dv". */
const char *unit_part_name(const struct unit *p, const struct compilation *part);

/* The effect of a knob: on the loops and so on their cost, or only on how they are printed. */
enum knob_changes { KNOB_LOOPS, KNOB_PRINT };
/* The programs that a knob applies to. */
enum knob_of { KNOB_OF_FORWARD = 1, KNOB_OF_BACKWARD = 2, KNOB_OF_BOTH = 3 };
struct knob_row {
    const char *name, *of_backward, *says; /* of_backward: the name under `backward`, as "backward.rows" */
    int64_t low, high, multiple;
    enum knob_changes changes;
    enum knob_of of;
    knob_function *about;
};

extern const struct knob_row knob_table[KNOBS];
/* Describes the row's knob for the defaults of a target, for forward or the gradients. Returns false and a reason if
   the knob has no effect. The default value is that of `form` or, if it is NULL, of the form for `keys` keys; 0: any
   length. */
bool knob_about(const struct defaults *by_default, bool backward, const struct compilation *form, int64_t keys, int row,
                struct tune_knob *knob, const char **reason);
/* The value of a knob in a compilation of the unit, set or by default. */
int64_t knob_taken(const struct unit *p, const struct compilation *c, int row);
/* For example "a multiple of 16 from 16 to 4096". */
const char *knob_domain(struct arena *arena, int row);

/* tuned_path: SPEC.tuned.yaml for SPEC.yaml. spec_source_hash: unit_source_hash of a spec's text, and the spec; NULL
   after reporting. (tuned.c) */
const char *tuned_path(struct arena *arena, const char *spec);
const char *spec_source_hash(struct arena *arena, const char *path, const char *text, size_t length,
                             struct diagnostics *d, const struct spec **spec);

/* The row of the knob of that name, with or without "backward."; KNOBS: there is none. */
int knob_find_row(const char *name);
/* The name without "backward."; NULL: the knob does not start with it. */
const char *knob_of_backward(const char *name);

#endif
