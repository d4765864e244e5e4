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
    struct spec *spec;
    struct graph *graph;                /* the graph before the first pass */
    const struct kernel_arrays *arrays; /* the arrays that the kernel reads and writes */
    /* The compilations of forward, without duplicates. For each target and entry of the schedule, they are the
       quadratic and the linear form, as needed, and then the form for few queries. */
    struct compilation *compilation[MAX_COMPILATIONS + 1];
    int compilations;
    struct version version[MAX_COMPILATIONS]; /* versions of forward, sorted by target and then by number of keys */
    int versions;
    struct version correct[MAX_VERSIONS]; /* versions of the corrected values, one for each target */
    int corrects;
    /* Programs that correct the values of new tokens of a state that stores keys, one for each target. */
    struct version append[MAX_VERSIONS];
    int appends;
    struct version prefix[MAX_VERSIONS]; /* versions of the terms of prefix sums, one for each target */
    int prefixes;
    struct version backward[MAX_BACKWARDS]; /* versions of the gradients, sorted by target and then by number of keys */
    /* backwards, parts: the number of versions and of parts of the gradients; saved: arrays that forward saves;
       row_sums: arrays of row sums */
    int backwards, parts, saved, row_sums;
    bool saves_solution;        /* forward also saves SAVED_SOLUTION */
    int64_t outer_chunk;        /* as in struct attn_kernel; 0: the kernel takes no outer sums */
    bool sums_keys, sums_whole; /* as in struct emission */
    /* If a state holds sums, these are the versions that extend it, one for each target. */
    struct version extend[MAX_VERSIONS];
    int extends;
    /* With 'delta', versions that also extend the transitions of states, in the order of `extend`. */
    struct version foldable[MAX_VERSIONS];
    int foldables;
    /* Versions for a state that stores keys, if decoding differs from forward because of prepared keys or dropout:
       - attend: versions that attend to these keys, sorted like `version`
       - prepare: programs that prepare keys, one for each target */
    struct version attend[MAX_COMPILATIONS];
    struct version prepare[MAX_VERSIONS];
    int attends, prepares;
    /* The compilations of `attend` and `prepare`, sorted by target, without duplicates. */
    struct compilation *of_prepared[2 * MAX_COMPILATIONS + MAX_VERSIONS];
    int of_prepareds;
    /* folds: two states can be added; moves: they may have started at different positions; any_order: any order */
    bool folds, moves, any_order;
    /* terms_move: whether the terms of prefix sums do not depend on positions; true if there are none */
    bool terms_move;
    int64_t read_back;          /* a state stores this number of last keys, or all keys if it is negative */
    int64_t read_first;         /* a state stores this number of the first keys */
    bool paged;                 /* the rows of a state may be in pages */
    bool rows_move;             /* a row of a state may move to the position of another token */
    uint64_t fingerprint;       /* identifies states: a hash of the graph and of the layout */
    struct distances distances; /* of queries and their keys */
    uint64_t decay_params;      /* as in struct attn_kernel */
    struct defaults defaults[MAX_VERSIONS];
    int default_count;
    const char *why_quadratic; /* the reason why the linear form is never used, or NULL */
    bool standalone;           /* the C includes no header of attnc */
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

/* Returns the compilation for few queries, or NULL. It runs for up to *rows rows. A row is one query of one head. */
const struct compilation *unit_few(const struct unit *p, const struct target *t, int64_t keys, int64_t *rows);

/* unit_extend_choice and unit_extend_few are like unit_choice and unit_few, for tokens that are appended to a state
   of keys. */
const struct compilation *unit_extend_choice(const struct unit *p, const struct target *t, int64_t keys);
const struct compilation *unit_extend_few(const struct unit *p, const struct target *t, int64_t keys, int64_t *rows);
/* Returns the compilation that runs if heads_are_many is true, or NULL. */
const struct compilation *unit_extend_heads(const struct unit *p, const struct target *t, int64_t keys);
/* Returns the compilation of the quadratic form that reads the keys of a state. It is one of `attend`, or that of
   forward. */
const struct compilation *unit_extend_quadratic(const struct unit *p, const struct target *t);

/* Returns a copy of compilation c whose graph is new and has not passed any pass. (versions.c) */
struct compilation *unit_recompile(const struct unit *p, const struct compilation *c);
/* Returns one graph that computes all gradients from the inputs, `out` and `dout`. Returns NULL after an error.
   (gradients.c) */
const struct graph *unit_derivative(const struct unit *p, struct arena *arena);
/* Returns the parts for all gradients at this number of keys, or no parts. `kept` is true if forward has saved its
   values. (gradients.c) */
struct call_parts unit_gradients(const struct unit *p, const struct target *t, int64_t keys, bool kept);
/* Whether the part of the gradients computes only SAVED_SOLUTION, which forward can save. (gradients.c) */
bool unit_computes_solution(const struct unit *p, const struct compilation *part);
/* Returns the number of bytes that forward saves for each row of a head, or of a key/value head for SAVED_SOLUTION. */
size_t unit_saved_bytes(const struct unit *p, const struct target *t, int64_t keys);
/* Return what NAME_workspace on target t, and NAME_saved return for a call. */
int64_t unit_workspace(const struct unit *p, const struct target *t, const struct problem_size *size, int threads);
int64_t unit_saved(const struct unit *p, const struct problem_size *size);
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
