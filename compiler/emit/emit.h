/* This header declares the functions that print C files, and the functions that return the names used in these files.
   Two terms (printer.h defines the others):
   - state: memory of a caller that stores what later tokens of its sequences need: sums over keys, or rows of keys.
   - prepared key: a key after the steps of the spec's `prepare`, such as a rotation. */
#ifndef ATTNC_EMIT_H
#define ATTNC_EMIT_H

#include "../analysis/analysis.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../target/target.h"

enum {
    MAX_COMPILATIONS = 2 * MAX_VERSIONS * MAX_SCHEDULES + 2 * MAX_VERSIONS,
    MAX_PARTS = 32,
    FIRST_TERMS = 24, /* the number of the first part for the terms of prefix sums */
    MAX_BACKWARDS = MAX_COMPILATIONS * MAX_PARTS,
    MAX_EMITTED = 2 * MAX_COMPILATIONS + MAX_BACKWARDS + 4 * MAX_VERSIONS
};

/* A version is the code that runs a kernel for `from` or more keys, up to the `from` of the next version. */
struct version {
    const struct target *target;
    const struct compilation *c; /* the code; NULL: this part of the gradients computes nothing */
    int64_t from;
    int cooperative;                 /* heads on which all threads work together: 0 none, 1 heads left over, 2 all */
    int part;                        /* for gradients: the number of the part of backward */
    const struct compilation *fold;  /* the code that adds a second state to the state that `c` extends; or NULL */
    const struct compilation *few;   /* the code to run instead if there are at most `few_rows` rows; or NULL */
    int64_t few_rows;                /* rows are the queries of all heads that share keys */
    const struct compilation *heads; /* the code to run instead for few queries of many heads; or NULL. If it is not
                                        NULL, `few` is not */
};

/* All code that one spec was compiled to. */
struct emission {
    const struct spec *spec;
    const struct kernel_arrays *arrays;
    const struct compilation *const *compilation; /* sorted by target */
    int compilations;
    const struct version *version; /* sorted by target, then by `from` */
    int versions;
    const struct version *prefix; /* versions for the terms of prefix sums, sorted by target; none: there are no sums */
    int prefixes;
    const struct version *backward; /* versions of the gradients, sorted in the same order as `version` */
    int backwards, parts;           /* the number of parts of backward, which run one after the other */
    const struct version *extend;   /* versions for states that sum chunks, sorted by target */
    int extends;
    const struct version *attend;  /* versions that attend to keys in a state, sorted as `version` */
    int attends;                   /* 0: they are the versions of forward, or there is no state with keys */
    const struct version *prepare; /* versions that prepare keys for a state, sorted by target */
    int prepares;
    const struct compilation *const *of_prepared; /* the compilations of `attend` and `prepare`, each once */
    int of_prepareds;
    /* folds: two states can be added. moves: also if both start at position 0. any_order: the order does not matter. */
    bool folds, moves, any_order;
    int64_t read_back;    /* the number of last keys that a state stores; negative: all keys */
    int64_t read_first;   /* the number of first keys that a state stores */
    uint64_t fingerprint; /* a hash of the graph and of the layout of a state */
    int saved, row_sums;  /* the numbers of arrays with a number per query: saved by forward; row sums of backward */
    bool standalone;
};

/* emit_source prints NAME.c for the target `only`, or for all targets if `only` is NULL. emit_header prints NAME.h.
   `command` is the attnc command that makes the file again. A standalone file includes no header of attnc. */
void emit_source(const struct emission *e, const struct target *only, const char *command, struct text *file);
void emit_header(const struct emission *e, const char *command, struct text *out);
/* Returns the number of tokens of a sequence for which a state has room: the `first` ones, the last `read_back` ones,
   and new tokens. The state sums `chunk` tokens at a time, or no tokens if `chunk` is 0. If `folds` is true, the state
   also has room for the tokens of a second state that are not summed yet. */
int64_t emit_state_rows(int64_t first, int64_t read_back, int64_t chunk, bool folds);
/* Returns whether the loops over the tasks include an axis whose size comes from `source`. */
bool emit_tasks_over(const struct loops *l, enum size_source source);
/* Returns the size of an axis as C: a name such as "n_q", or a number. */
const char *emit_size(const struct module *m, int axis);
/* Returns the C name of a parameter with dots in its name: "q.norm.weight" becomes "q_norm_weight". */
const char *emit_name(struct arena *arena, const char *name);
/* Returns an expression in SIZE, LO and HI as C, for display only. */
const char *emit_bound(const struct compilation *c, const struct expr *e);

#endif
