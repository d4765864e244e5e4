/* This header declares the functions that emit C files, and the functions that return names in these files. */
#ifndef ATTNC_EMIT_H
#define ATTNC_EMIT_H

#include "../analysis/analysis.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../target/target.h"

enum {
    MAX_COMPILATIONS = 2 * MAX_VERSIONS * MAX_SCHEDULES + MAX_VERSIONS,
    MAX_PARTS = 32,
    MAX_BACKWARDS = MAX_COMPILATIONS * MAX_PARTS,
    MAX_EMITTED = 2 * MAX_COMPILATIONS + MAX_BACKWARDS + 4 * MAX_VERSIONS
};

/* A version is the code that runs a kernel for `from` or more keys, up to the `from` of the next version. */
struct version {
    const struct target *target;
    const struct compilation *c; /* the code; NULL: this part of the gradients has nothing to do */
    int64_t from;
    int cooperative;                /* heads that all threads share: 0: none, 1: left-over heads, 2: all */
    int part;                       /* the number of the part of the gradients */
    const struct compilation *fold; /* folds another state into the one that `c` extends; or NULL */
    const struct compilation *few;  /* runs instead if the queries have `few_rows` rows or fewer; or NULL */
    int64_t few_rows;
};

/* Everything that one spec was compiled to. */
struct emission {
    const struct spec *spec;
    const struct kernel_arrays *arrays;
    const struct compilation *const *compilation; /* by target */
    int compilations;
    const struct version *version; /* sorted by target, then by `from` */
    int versions;
    const struct version *backward; /* versions of the gradients, sorted in the same order as `version` */
    int backwards, parts;           /* the `parts` of the gradients run one after the other */
    const struct version *extend;   /* versions that extend a state that sums chunks, by target */
    int extends;
    const struct version *attend;  /* versions that attend to keys that a state stores prepared, sorted as `version` */
    int attends;                   /* 0: a state does not store prepared keys */
    const struct version *prepare; /* versions that prepare keys for a state, by target */
    int prepares;
    const struct compilation *const *of_prepared; /* the compilations of `attend` and `prepare`, each once */
    int of_prepareds;
    bool folds, moves, any_order; /* states can be added; also at other positions; also in any order of the keys */
    int64_t read_back;            /* the number of last keys that a state stores; negative: all keys */
    int64_t read_first;           /* the number of first keys that a state stores */
    uint64_t fingerprint;         /* a hash of the graph and of the layout of a state */
    int saved, row_sums; /* numbers of arrays: from forward to backward; from one part of backward to later parts */
    bool standalone;
};

/* Prints the C source for the target `only`, or for all targets if `only` is NULL. `command` is the command that makes
   the file again. A standalone file includes no header of attnc. */
void emit_source(const struct emission *e, const struct target *only, const char *command, struct text *file);
void emit_header(const struct emission *e, const char *command, struct text *out);
/* Returns the number of first and last tokens of a sequence that a state can store. The state sums `chunk` tokens at a
   time, or no tokens if `chunk` is 0. If `folds` is true, the state also has room for the tokens of a second state. */
int64_t emit_state_rows(int64_t first, int64_t read_back, int64_t chunk, bool folds);
/* Returns whether the tasks run over an axis whose size is from `source`. */
bool emit_tasks_over(const struct loops *l, enum size_source source);
/* Returns the size of an axis as C: a name such as "n_q", or a number. */
const char *emit_size(const struct module *m, int axis);
/* Returns the C name of a parameter with dots in its name: "q.norm.weight" becomes "q_norm_weight". */
const char *emit_name(struct arena *arena, const char *name);
/* Returns an expression of SIZE, LO and HI as C that is only read by people. */
const char *emit_bound(const struct compilation *c, const struct expr *e);

#endif
