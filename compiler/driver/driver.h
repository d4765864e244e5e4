/* One spec compiled for all targets and schedules, and the table of knobs. Words of this folder:
   - unit: a spec with all its code
   - form: quadratic or linear, with the same result
   - program: the purpose of a compilation, such as forward (enum program_kind)
   - compilation: the code of one program, form, target and schedule
   - version: a compilation, and the number of keys from which a kernel runs it
   - part: a program of the gradients; they run one after the other
   - state: what a kernel keeps between calls that decode: sums over chunks, or keys and values
   - prepared key: a key after its normalisation and other steps, as weights need it
   - knob: a number that a schedule sets, such as the length of a tile */
#ifndef ATTNC_DRIVER_H
#define ATTNC_DRIVER_H

#include "../cost/cost.h"
#include "../emit/emit.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../target/target.h"

/* The forms of a target with default knobs, or NULL. */
struct defaults {
    const struct target *target;
    struct compilation *quadratic, *linear;
    const struct compilation *gradients[2]; /* the first part of the gradients, for both forms */
    /* Number of keys from which a kernel runs the linear form. 0: always; INT64_MAX: never. */
    int64_t crossover;
};

/* A spec that was checked, compiled for every target, and emitted. */
struct unit {
    struct arena *arena;
    struct spec *spec;
    struct graph *graph;                /* the graph before the first pass */
    const struct kernel_arrays *arrays; /* the arrays that the kernel reads and writes */
    /* Forward, for each target and entry of the schedule: the quadratic and linear form, as needed, then the form
       for few queries. Equal compilations are kept once. */
    struct compilation *compilation[MAX_COMPILATIONS + 1];
    int compilations;
    struct version version[MAX_COMPILATIONS]; /* versions of forward, by target, then by number of keys */
    int versions;
    struct version correct[MAX_VERSIONS]; /* the corrected values, a version for each target */
    int corrects;
    struct version prefix[MAX_VERSIONS]; /* the terms of prefix sums, a version for each target */
    int prefixes;
    struct version backward[MAX_BACKWARDS]; /* versions of the gradients, by target, then by number of keys */
    /* backwards, parts: versions and parts of the gradients. saved: arrays that forward saves. row_sums: arrays of
       row sums */
    int backwards, parts, saved, row_sums;
    struct version extend[MAX_VERSIONS]; /* if a state holds sums: a version for each target */
    int extends;
    /* For a state of keys, if decoding differs from forward (prepared keys or dropout):
       - attend: versions that attend to these keys, sorted like `version`
       - prepare: programs that prepare keys, one for each target */
    struct version attend[MAX_COMPILATIONS];
    struct version prepare[MAX_VERSIONS];
    int attends, prepares;
    /* The compilations of `attend` and `prepare`, each once, by target. */
    struct compilation *of_prepared[2 * MAX_COMPILATIONS + MAX_VERSIONS];
    int of_prepareds;
    /* folds: two states can be added. moves: also if they started at different positions. any_order: in any order */
    bool folds, moves, any_order;
    bool terms_move;      /* the terms of prefix sums do not depend on positions, or there are none */
    int64_t read_back;    /* a state stores this number of the last keys; negative: all */
    int64_t read_first;   /* a state stores this number of the first keys */
    uint64_t fingerprint; /* identifies states: a hash of the graph and of the layout */
    struct defaults defaults[MAX_VERSIONS];
    int default_count;
    const char *why_quadratic; /* why the linear form is never used, or NULL */
    bool standalone;           /* the C includes no header of attnc */
    const char *command;       /* a command that produces the same output */
    unsigned asked;            /* EMIT_... bits that an option adds */
    const char *tuned;         /* the file of the schedule; NULL: the spec */
    const char *file, *text;   /* the file and the text of the spec */
    size_t text_length;
    struct text source, header, source_here; /* the C for all targets, its header, the C for this machine */
};
/* Reads and compiles a spec. Returns NULL after a message, with *status set. */
struct unit *unit_make(const char *file, const struct options *o, enum status *status);
/* Returns the C for this machine: the target that it chooses, or all targets of --target. */
const char *unit_source_here(struct unit *p, const struct options *o);
/* Emits the source of unit_source_here and its header. Both name `command` as their origin. */
void unit_emit_here(const struct unit *p, const struct options *o, const char *command, struct text *source,
                    struct text *header);
void unit_free(struct unit *p); /* p may be NULL */
/* Whether max_length allows this length. If not, prints a message. */
bool unit_allows(const struct unit *p, const struct options *o, int64_t length);
/* Warns of probable mistakes in expressions and of overflow, unless --quiet. */
void unit_warn(const struct unit *p, const struct options *o);
/* Returns the defaults of the first target that this machine runs, or of the first target. */
const struct defaults *unit_defaults(const struct unit *p);
/* Returns a hash of everything that affects the result. Name, description, schedule and seeds do not. (tuned.c) */
const char *unit_source_hash(const struct unit *p);
/* Like unit_source_hash, but the same for every `emit:`. A kernel that is compiled ahead is found by this hash.
   (tuned.c) */
const char *unit_ready_hash(const struct unit *p);
/* Returns the first target that this machine runs; NULL: none. */
const struct target *unit_target_here(const struct unit *p);
/* Returns the compilation of forward on target t for this number of keys, or NULL. */
const struct compilation *unit_choice(const struct unit *p, const struct target *t, int64_t keys);

/* Returns the compilation for few queries, or NULL. It runs for up to *rows rows. A row is a query of one head. */
const struct compilation *unit_few(const struct unit *p, const struct target *t, int64_t keys, int64_t *rows);

/* Like unit_choice and unit_few, for tokens that are appended to a state of keys. */
const struct compilation *unit_extend_choice(const struct unit *p, const struct target *t, int64_t keys);
const struct compilation *unit_extend_few(const struct unit *p, const struct target *t, int64_t keys, int64_t *rows);
/* Returns the compilation that runs if heads_are_many, or NULL. */
const struct compilation *unit_extend_heads(const struct unit *p, const struct target *t, int64_t keys);
/* Returns the quadratic form for the keys of a state: from `attend`, or of forward. */
const struct compilation *unit_extend_quadratic(const struct unit *p, const struct target *t);

/* Returns a copy of compilation c with a new graph before all passes. (versions.c) */
struct compilation *unit_recompile(const struct unit *p, const struct compilation *c);
/* Returns one graph of all gradients, from the inputs, `out` and `dout`. Returns NULL after an error. (gradients.c) */
const struct graph *unit_derivative(const struct unit *p, struct arena *arena);
/* Returns the parts for all gradients at this number of keys, or none. `kept`: forward has saved its values.
   (gradients.c) */
struct call_parts unit_gradients(const struct unit *p, const struct target *t, int64_t keys, bool kept);
/* Returns the bytes that forward saves per row of a head. */
size_t unit_saved_bytes(const struct unit *p, const struct target *t, int64_t keys);
/* Returns the gradients of a part, such as "dk, dv". */
const char *unit_part_name(const struct unit *p, const struct compilation *part);

/* The effect of a knob: on the loops, or only on the printed C. */
enum knob_changes { KNOB_LOOPS, KNOB_PRINT };
/* The programs that a knob applies to. */
enum knob_of { KNOB_OF_FORWARD = 1, KNOB_OF_BACKWARD = 2, KNOB_OF_BOTH = 3 };
/* A row of schedule/knobs.def. */
struct knob_row {
    const char *name, *of_backward, *says; /* NAME; "backward.NAME"; what the knob sets */
    int64_t low, high, multiple;           /* a valid value is a multiple of `multiple` from `low` to `high` */
    enum knob_changes changes;
    enum knob_of of;
    knob_function *about;
};

extern const struct knob_row knob_table[KNOBS];
/* Describes a knob for a target: values worth trying, and the default. Returns false with a reason if it has no effect.
   - backward: a knob of the gradients
   - form: the compilation of the default. NULL: the form for `keys` keys, or for any length if keys is 0 */
bool knob_about(const struct defaults *by_default, bool backward, const struct compilation *form, int64_t keys, int row,
                struct tune_knob *knob, const char **reason);
/* Returns the value of a knob in a compilation: the schedule's or the default. */
int64_t knob_taken(const struct unit *p, const struct compilation *c, int row);
/* Returns the valid values as text, such as "a multiple of 16 from 16 to 4096". */
const char *knob_domain(struct arena *arena, int row);

/* Returns SPEC.tuned.yaml for SPEC.yaml. (tuned.c) */
const char *tuned_path(struct arena *arena, const char *spec);
/* Reads a spec from its text. Returns its unit_source_hash, or NULL after errors. (tuned.c) */
const char *spec_source_hash(struct arena *arena, const char *path, const char *text, size_t length,
                             struct diagnostics *d, const struct spec **spec);

/* Returns the row of this knob, perhaps with "backward.", or KNOBS. */
int knob_find_row(const char *name);
/* Returns the name without "backward.", or NULL. */
const char *knob_of_backward(const char *name);

#endif
