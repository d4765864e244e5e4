/* One spec compiled for all its targets and schedules, and the table of knobs. This folder uses these words:
   - unit: a spec with all code that it is compiled to.
   - form: quadratic or linear. Both compute the same result; the linear form needs fewer operations for many keys.
   - program: what a compilation computes, such as forward or one of the parts of the gradients (enum program_kind).
   - compilation: the code of one program in one form, for one target and one schedule.
   - version: a compilation, and the number of keys from which a kernel runs it.
   - part: a program of the gradients. The parts run one after the other.
   - state: what a kernel keeps between the calls that decode a sequence: sums over chunks of keys, or keys and values.
   - prepared key: a key as the weights need it, for example after its normalisation. A state can store prepared keys.
   - knob: a number that a schedule sets, such as the length of a tile. */
#ifndef ATTNC_DRIVER_H
#define ATTNC_DRIVER_H

#include "../cost/cost.h"
#include "../emit/emit.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../target/target.h"

/* The forms of a target with the default value of every knob; NULL: there is no such form. */
struct defaults {
    const struct target *target;
    struct compilation *quadratic, *linear;
    const struct compilation *gradients[2]; /* the first part of the gradients, in the quadratic and the linear form */
    /* The number of keys from which a kernel runs the linear form; 0: always; INT64_MAX: never. */
    int64_t crossover;
};

/* A spec that has been read, checked, compiled for every target, and emitted. */
struct unit {
    struct arena *arena;
    struct spec *spec;
    struct graph *graph;                /* the graph before the first pass */
    const struct kernel_arrays *arrays; /* the arrays that the kernel reads and writes */
    /* Forward. For each target and entry of the schedule: the quadratic form, the linear form, or both in this order;
       then the form for few queries. Equal compilations of a target are kept once. */
    struct compilation *compilation[MAX_COMPILATIONS + 1];
    int compilations;
    struct version version[MAX_COMPILATIONS]; /* versions of forward, sorted by target, then by number of keys */
    int versions;
    struct version prefix[MAX_VERSIONS]; /* if the graph has prefix sums: their terms, one version for each target */
    int prefixes;
    struct version backward[MAX_BACKWARDS]; /* versions of the gradients, sorted by target, then by number of keys */
    /* backwards, parts: the number of versions of the gradients, and of parts. saved: the number of arrays that forward
       saves. row_sums: the number of arrays of row sums that a part makes for later parts. */
    int backwards, parts, saved, row_sums;
    struct version extend[MAX_VERSIONS]; /* if a state holds sums over chunks: one version for each target */
    int extends;
    /* If a state stores keys, and decoding differs from forward: the versions that attend to these keys, sorted as
       `version`. It differs if the keys are stored prepared, and with dropout. If they are stored prepared: the
       programs that prepare keys, one for each target. */
    struct version attend[MAX_COMPILATIONS];
    struct version prepare[MAX_VERSIONS];
    int attends, prepares;
    /* The compilations of `attend` and `prepare`, each once, sorted by target. */
    struct compilation *of_prepared[2 * MAX_COMPILATIONS + MAX_VERSIONS];
    int of_prepareds;
    /* `folds`: two states can be added to make one. `moves`: they can be added even if they started at different
       positions. `any_order`: the order of the addition does not matter. */
    bool folds, moves, any_order;
    int64_t read_back;    /* a state stores this number of the last keys; negative: all keys */
    int64_t read_first;   /* a state stores this number of the first keys */
    uint64_t fingerprint; /* identifies states of this unit: a hash of the graph and of the layout of a state */
    struct defaults defaults[MAX_VERSIONS];
    int default_count;
    const char *why_quadratic; /* the reason why the linear form is never used; NULL: it is used for some numbers of
                                  keys */
    bool standalone;           /* the emitted C includes no header of attnc */
    const char *command;       /* a command that produces the same output */
    unsigned asked;            /* EMIT_... bits that an option requested in addition to the spec */
    const char *tuned;         /* the file that the schedule comes from; NULL: the spec */
    const char *file, *text;   /* the file and the text of the spec */
    size_t text_length;
    struct text source, header, source_here; /* the emitted C for all targets, its header, the C for this machine */
};
/* Reads and compiles a spec. Reports errors to standard error; returns NULL with *status set after an error. */
struct unit *unit_make(const char *file, const struct options *o, enum status *status);
/* Returns the C source to load on this machine. The source has code for the target that this machine chooses; if
   --target is given, for all given targets. */
const char *unit_source_here(struct unit *p, const struct options *o);
/* Emits the source that unit_source_here returns, and its header. Both texts name `command` as the command that made
   them. */
void unit_emit_here(const struct unit *p, const struct options *o, const char *command, struct text *source,
                    struct text *header);
void unit_free(struct unit *p); /* p may be NULL */
/* Whether the spec's max_length allows sequences of this length. If not, prints a message. */
bool unit_allows(const struct unit *p, const struct options *o, int64_t length);
/* Warns of probable mistakes in the user's expressions and of exponentials that may overflow, on standard error unless
   --quiet. */
void unit_warn(const struct unit *p, const struct options *o);
/* Returns the defaults of the first target that this machine runs, or of the first target if it runs none. */
const struct defaults *unit_defaults(const struct unit *p);
/* Returns a hash of everything in the spec that affects the result. The name, the description, the schedule and the
   seeds of random parameters are not hashed. (tuned.c) */
const char *unit_source_hash(const struct unit *p);
/* Returns the first target that this machine runs; NULL: none. */
const struct target *unit_target_here(const struct unit *p);
/* Returns the compilation of forward that the kernel runs on target t for this number of keys; NULL: none. */
const struct compilation *unit_choice(const struct unit *p, const struct target *t, int64_t keys);

/* Returns the compilation that the kernel runs for few queries, or NULL if that of unit_choice runs for any number of
   queries. Sets *rows to the maximum number of rows for which it runs. The rows are the queries of all heads that share
   keys. */
const struct compilation *unit_few(const struct unit *p, const struct target *t, int64_t keys, int64_t *rows);

/* Like unit_choice and unit_few, for tokens that are appended to a state which stores keys and values. */
const struct compilation *unit_extend_choice(const struct unit *p, const struct target *t, int64_t keys);
const struct compilation *unit_extend_few(const struct unit *p, const struct target *t, int64_t keys, int64_t *rows);
/* Returns the compilation that runs instead if heads_are_many; NULL: there is none. */
const struct compilation *unit_extend_heads(const struct unit *p, const struct target *t, int64_t keys);
/* Returns the quadratic form that attends to the keys of a state: the one of `attend`, or the default one of forward.
 */
const struct compilation *unit_extend_quadratic(const struct unit *p, const struct target *t);

/* Returns a copy of c, a compilation of the unit, with a new graph on which no pass has run. (versions.c) */
struct compilation *unit_recompile(const struct unit *p, const struct compilation *c);
/* Returns one graph that computes all gradients from the inputs, `out` and `dout`; NULL: an error was reported.
   (gradients.c) */
const struct graph *unit_derivative(const struct unit *p, struct arena *arena);
/* Returns the parts that compute all gradients for this number of keys. `kept` says that forward has saved the values
   that it can save. There are no parts if the spec has no gradients. (gradients.c) */
struct call_parts unit_gradients(const struct unit *p, const struct target *t, int64_t keys, bool kept);
/* Returns the bytes that forward saves for each row of a head. */
size_t unit_saved_bytes(const struct unit *p, const struct target *t, int64_t keys);
/* Returns the gradients that a part computes, as text: "dk, dv". */
const char *unit_part_name(const struct unit *p, const struct compilation *part);

/* The effect of a knob: KNOB_LOOPS changes the loops, and so their cost. KNOB_PRINT changes the printed C, but not the
   loops. */
enum knob_changes { KNOB_LOOPS, KNOB_PRINT };
/* The programs that a knob applies to. */
enum knob_of { KNOB_OF_FORWARD = 1, KNOB_OF_BACKWARD = 2, KNOB_OF_BOTH = 3 };
/* A row of schedule/knobs.def. */
struct knob_row {
    const char *name, *of_backward, *says; /* NAME; "backward.NAME"; what the knob sets */
    int64_t low, high, multiple;           /* valid values: multiples of `multiple` from `low` to `high` */
    enum knob_changes changes;
    enum knob_of of;
    knob_function *about;
};

extern const struct knob_row knob_table[KNOBS];
/* Describes a knob for a target: the values worth trying, and the default value. Returns false with a reason if
   the knob has no effect.
   - backward: the knob of the gradients instead of forward.
   - form: the compilation whose default value is taken. NULL: the form that runs for `keys` keys; 0 keys: any
     length. */
bool knob_about(const struct defaults *by_default, bool backward, const struct compilation *form, int64_t keys, int row,
                struct tune_knob *knob, const char **reason);
/* Returns the value of a knob in a compilation of the unit: the schedule's value, or the default value. */
int64_t knob_taken(const struct unit *p, const struct compilation *c, int row);
/* Returns the valid values of a knob as text: "a multiple of 16 from 16 to 4096". */
const char *knob_domain(struct arena *arena, int row);

/* Returns SPEC.tuned.yaml for SPEC.yaml. (tuned.c) */
const char *tuned_path(struct arena *arena, const char *spec);
/* Reads a spec from its text into *spec and returns its unit_source_hash; NULL after reporting errors to d.
   (tuned.c) */
const char *spec_source_hash(struct arena *arena, const char *path, const char *text, size_t length,
                             struct diagnostics *d, const struct spec **spec);

/* Returns the row of the knob with this name, which may start with "backward."; KNOBS: there is no such knob. */
int knob_find_row(const char *name);
/* Returns the name without its prefix "backward."; NULL: it does not have this prefix. */
const char *knob_of_backward(const char *name);

#endif
