/* One spec compiled for all its targets and schedules, and the registry of knobs. */
#ifndef ATTNC_DRIVER_H
#define ATTNC_DRIVER_H

#include "../cost/cost.h"
#include "../emit/emit.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../target/target.h"

/* What a target's code has without a schedule; NULL: there is no such form. */
struct defaults {
    const struct target *target;
    struct compilation *quadratic, *linear;
    const struct compilation *gradients[2]; /* a part of those of each form */
    int64_t crossover;                      /* keys from which on the linear form is taken, where both are there */
};

/* Everything from one spec file: read, checked, compiled for every target, emitted. */
struct unit {
    struct arena *arena;
    struct spec *spec;
    struct graph *graph; /* before the first pass */
    /* For each target and entry of the schedule the quadratic form, the linear one, or both in this order; of equal
       ones the first. */
    struct compilation *compilation[MAX_COMPILATIONS + 1];
    int compilations;
    struct version version[MAX_COMPILATIONS]; /* by target, then ascending */
    int versions;
    struct version backward[MAX_BACKWARDS]; /* of the gradients: by target, then ascending */
    int backwards, parts, saved, row_sums;
    struct version extend[MAX_VERSIONS]; /* where the state takes in chunks, by target */
    int extends;
    struct version meet[MAX_COMPILATIONS]; /* else, where a state has keys prepared, what meets them, as `version` */
    struct version prepare[MAX_VERSIONS];  /* and what prepares them, by target */
    int meets, prepares;
    struct compilation *of_prepared[2 * MAX_COMPILATIONS + MAX_VERSIONS]; /* all of these, each once, by target */
    int of_prepareds;
    bool folds, moves, any_order; /* it takes in another one, whatever the positions, or the order, of their keys */
    int64_t read_back;            /* keys that a state keeps besides, as keys_read_back or keys_read_on says */
    int64_t read_first;           /* and of the first ones, as keys_read_on says */
    uint64_t fingerprint;         /* of states: of what the kernel computes and how that is kept */
    struct defaults defaults[MAX_VERSIONS];
    int default_count;
    const char *why_quadratic; /* why there is no linear form, or NULL */
    bool standalone;
    const char *command;     /* that makes the same output */
    unsigned asked;          /* for EMIT_... by an option and not by the spec */
    const char *tuned;       /* the file that the schedule is from, or NULL */
    const char *file, *text; /* what the spec was read from */
    size_t text_length;
    struct text source, header, source_here;
};
/* Reads the file, reports to standard error; NULL with *status set on failure. unit_free also takes NULL. */
struct unit *unit_make(const char *file, const struct options *o, enum status *status);
/* The C to load: unless --target named others, with the code for the one target that this machine would choose. */
const char *unit_source_here(struct unit *p, const struct options *o);
/* The same and its header, said to be made by that command: with equal commands equal code is equal text. */
void unit_emit_here(const struct unit *p, const struct options *o, const char *command, struct text *source,
                    struct text *header);
void unit_free(struct unit *p);
/* Warns of the user's exponentials that may overflow in a kernel, on standard error unless --quiet. */
void unit_warn(const struct unit *p, const struct options *o);
/* What is taken for every length without a schedule on this machine, or else on the first target. */
const struct defaults *unit_defaults(const struct unit *p);
/* A hash of what the spec means: of all but its name, description, schedule, and seeds that only fill in parameters.
   (tuned.c) */
const char *unit_source_hash(const struct unit *p);
/* The first target that this machine runs; NULL: none. */
const struct target *unit_target_here(const struct unit *p);
/* What the kernel runs on target t for that number of keys; NULL: it was not made for that. */
const struct compilation *unit_choice(const struct unit *p, const struct target *t, int64_t keys);

/* What it runs there where queries are few (schedule.h), up to so many rows; NULL: what it runs for many. */
const struct compilation *unit_few(const struct unit *p, const struct target *t, int64_t keys, int64_t *rows);

/* Both for tokens that follow a state which does not take in chunks. */
const struct compilation *unit_extend_choice(const struct unit *p, const struct target *t, int64_t keys);
const struct compilation *unit_extend_few(const struct unit *p, const struct target *t, int64_t keys, int64_t *rows);
/* The quadratic form of these; where keys are not prepared, that of forward. */
const struct compilation *unit_extend_quadratic(const struct unit *p, const struct target *t);

/* A compilation like c, one of the unit's, before its first pass. (versions.c) */
struct compilation *unit_recompile(const struct unit *p, const struct compilation *c);
/* What computes all gradients for that number of keys, from what forward saved where it was `kept`; no parts: the spec
   has none. (gradients.c) */
struct program unit_gradients(const struct unit *p, const struct target *t, int64_t keys, bool kept);
/* Bytes a row and head that forward saves for them. */
size_t unit_saved_bytes(const struct unit *p, const struct target *t, int64_t keys);
/* What a part computes, in words: "dk, dv". */
const char *unit_part_name(const struct unit *p, const struct compilation *part);

/* What a knob changes: the loops, and with them their cost, or only how the emitter prints them. */
enum knob_changes { KNOB_LOOPS, KNOB_PRINT };
/* Which programs it is a knob of. */
enum knob_of { KNOB_OF_FORWARD = 1, KNOB_OF_BACKWARD = 2, KNOB_OF_BOTH = 3 };
struct knob_row {
    const char *name, *of_backward, *says; /* the name of one under `backward`: "backward.rows" */
    int64_t low, high, multiple;
    enum knob_changes changes;
    enum knob_of of;
    knob_function *about;
};

extern const struct knob_row knob_table[KNOBS];
/* Whether the row's knob does anything for the defaults of a target, of forward or of the gradients; else *reason. The
   default value is that of the form given, or (NULL) of the one that `keys` keys take; 0: any length. */
bool knob_about(const struct defaults *by_default, bool backward, const struct compilation *form, int64_t keys, int row,
                struct tune_knob *knob, const char **reason);
/* The value of a knob in a compilation of the unit, which need not have been set. */
int64_t knob_taken(const struct unit *p, const struct compilation *c, int row);
/* "a multiple of 16 from 16 to 4096". */
const char *knob_domain(struct arena *arena, int row);

/* SPEC.tuned.yaml for SPEC.yaml; what a text of a spec means, as unit_source_hash says it, and the spec, or NULL after
   reporting. (tuned.c) */
const char *tuned_path(struct arena *arena, const char *spec);
const char *spec_source_hash(struct arena *arena, const char *path, const char *text, size_t length,
                             struct diagnostics *d, const struct spec **spec);

/* The row of a knob of that name, which may be one under `backward`; KNOBS: there is none. */
int knob_find_row(const char *name);
/* The name without "backward."; NULL: it is none of the gradients. */
const char *knob_of_backward(const char *name);

#endif
