/* One spec compiled for all targets and schedules, and the table of knobs. Words of this folder:
   - unit: a spec with all its code
   - form: the quadratic or the linear algorithm, which have the same result
   - program: the purpose of a compilation, such as forward (enum program_kind)
   - compilation: the code of one program, form, target and schedule
   - version: a compilation, and the number of keys from which a kernel runs it
   - part: a program that computes some gradients. Parts run one after the other.
   - state: what a kernel keeps between calls that decode. It has sums over chunks, or keys and values.
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
#include "../variant/variant.h"

/* The compilations of a target with default knobs. A form that does not exist is NULL. */
struct defaults {
    const struct target *target;
    struct compilation *quadratic, *linear;
    const struct compilation *gradients[2]; /* the first part of the gradients, for each form */
    /* The number of keys from which a kernel runs the linear form. 0 means always, and INT64_MAX means never. */
    int64_t crossover;
};

/* A spec that has been checked, compiled for every target, and emitted. */
struct unit {
    struct arena *arena;
    const struct spec *spec;
    const struct graph *graph; /* the graph before the first pass */
    const struct graph *read;  /* the same with positions that count from a call's first key */
    enum counting counting;
    struct emission kernel; /* kernel.spec is `spec` */
    struct defaults defaults[MAX_VERSIONS];
    int default_count;
    const char *why_quadratic; /* the reason why the linear form is never used, or NULL */
    const char *command;       /* a command that produces the same output */
    unsigned asked;            /* EMIT_... bits that an option adds to the spec's outputs */
    const char *tuned;         /* the file of the schedule, or NULL if the schedule is in the spec */
    const char *file, *text;   /* file: the path of the spec; text: the spec's text */
    size_t text_length;
    /* source: the C for all targets; header: its header; source_here: the C for this machine */
    struct text source, header, source_here;
};
/* Reads and compiles a spec. After an error, prints a message, sets *status and returns NULL. */
struct unit *unit_make(const char *file, const struct options *o, enum status *status);
/* Makes a unit from a text that was read from `file`. */
struct unit *unit_of_text(const char *file, const char *text, size_t length, const struct options *o,
                          enum status *status);
/* Returns the C for this machine. It has the target that this machine chooses, or all targets of --target. */
const char *unit_source_here(struct unit *p, const struct options *o);
/* Emits the C that unit_source_here returns, and its header. Both texts name `command` as their origin. */
void unit_emit_here(const struct unit *p, const struct options *o, const char *command, struct text *source,
                    struct text *header);
void unit_free(struct unit *p); /* p may be NULL */
/* Returns whether max_length allows this length. If it does not, prints a message. */
bool unit_allows(const struct unit *p, const struct options *o, int64_t length);
/* Warns of probable mistakes in expressions and of overflow, unless --quiet. */
void unit_warn(const struct unit *p, const struct options *o);
/* Returns the defaults of the first target that this machine runs. If it runs none, returns the defaults of the
   first target. */
const struct defaults *unit_defaults(const struct unit *p);
/* Returns a hash of everything that affects the result. The name, description, schedule and seeds do not affect it.
   (tuned.c) */
const char *unit_source_hash(const struct unit *p);
/* Like unit_source_hash, but does not depend on `emit:`. A kernel that is compiled ahead is found by this hash.
   (tuned.c) */
const char *unit_ready_hash(const struct unit *p);
/* Returns the first target that this machine runs, or NULL. */
const struct target *unit_target_here(const struct unit *p);
/* Returns the compilation of forward on target t for this number of keys, or NULL. */
const struct compilation *unit_choice(const struct unit *p, const struct target *t, int64_t keys);

/* Adds programs that list the best keys to a run, whose parts are in `part`. (choice.c) */
void unit_add_lists(const struct unit *p, const struct target *t, bool state, struct call_parts *run,
                    const struct compilation **part);
/* Returns the parts of a call of forward, or of extend with a state of keys: programs that list the best keys, then
   that of the form for this size. (choice.c) */
struct call_parts unit_forward(const struct unit *p, const struct target *t, const struct problem_size *size,
                               bool state);
/* Returns the versions for tokens that are appended to a state of keys. */
const struct versions *unit_attending(const struct unit *p);

/* Returns a copy of compilation c whose graph is new and has not passed any pass. (versions.c) */
struct compilation *unit_recompile(const struct unit *p, const struct compilation *c);
/* Returns one graph that computes all gradients from the inputs, `out` and `dout`. Returns NULL after an error.
   (gradients.c) */
const struct graph *unit_derivative(const struct unit *p);
/* Returns the parts for all gradients at this number of keys, or no parts. `kept` is true if forward has saved its
   values. (gradients.c) */
struct call_parts unit_gradients(const struct unit *p, const struct target *t, int64_t keys, bool kept);
/* Returns the number of bytes that forward saves for each row of a head, or of a key/value head for SAVED_SOLUTION. */
size_t unit_saved_bytes(const struct unit *p, const struct target *t, int64_t keys);
/* Member `range` of struct call for the kernel of a unit. */
bool unit_drawn_range(const void *unit, const char *param, double *low, double *high);
/* Returns the names of the gradients that a part computes, such as "dk, dv". */
const char *unit_part_name(const struct unit *p, const struct compilation *part);

/* A knob changes the loops, or only the printed C. */
enum knob_changes { KNOB_LOOPS, KNOB_PRINT };
/* The programs that a knob applies to. */
enum knob_of { KNOB_OF_FORWARD = 1, KNOB_OF_BACKWARD = 2, KNOB_OF_BOTH = 3 };
/* A row of schedule/knobs.def. */
struct knob_row {
    const char *name, *of_backward, *says; /* name: NAME; of_backward: "backward.NAME"; says: what the knob sets */
    /* a value is valid if it is a multiple of `multiple` and from `low` to `high` */
    int64_t low, high, multiple;
    enum knob_changes changes;
    enum knob_of of;
    knob_function *about;
};

extern const struct knob_row knob_table[KNOBS];
/* Describes a knob for a target: values worth trying, and the default. If the knob has no effect, returns false and
   sets *reason.
   - backward: whether it is a knob of the gradients
   - form: the compilation whose default is described. If it is NULL, it is the form for `keys` keys, or for any
     length if `keys` is 0. */
bool knob_about(const struct defaults *by_default, bool backward, const struct compilation *form, int64_t keys, int row,
                struct tune_knob *knob, const char **reason);
/* Returns the value of a knob in a compilation. The value is set by the schedule, or is the default. */
int64_t knob_taken(const struct unit *p, const struct compilation *c, int row);
/* Returns the valid values as text, such as "a multiple of 16 from 16 to 4096". */
const char *knob_domain(struct arena *arena, int row);

/* Returns SPEC.tuned.yaml for SPEC.yaml. (tuned.c) */
const char *tuned_path(struct arena *arena, const char *spec);
/* Reads a spec from its text. Returns the hash that unit_source_hash returns for it, or NULL after errors. (tuned.c) */
const char *spec_source_hash(struct arena *arena, const char *path, const char *text, size_t length,
                             struct diagnostics *d, const struct spec **spec);

/* Returns the row of the knob `name`, which may begin with "backward.". Returns KNOBS if there is no such knob. */
int knob_find_row(const char *name);
/* If the name begins with "backward.", returns the rest of it. Otherwise returns NULL. */
const char *knob_of_backward(const char *name);

#endif
