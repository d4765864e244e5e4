/* The functions that print C files, and that name things in them. Terms (printer.h has others):
   - state: memory of a caller for decoding: sums over keys, or rows of keys
   - prepared key: a key after the steps of `prepare`, such as a rotation */
#ifndef ATTNC_EMIT_H
#define ATTNC_EMIT_H

#include "../analysis/analysis.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../target/target.h"

enum {
    MAX_COMPILATIONS = 2 * MAX_VERSIONS * MAX_SCHEDULES + 2 * MAX_VERSIONS,
    MAX_PARTS = 32,
    FIRST_TERMS = 24, /* the first part for the terms of prefix sums */
    MAX_BACKWARDS = MAX_COMPILATIONS * MAX_PARTS,
    MAX_EMITTED = 2 * MAX_COMPILATIONS + MAX_BACKWARDS + 4 * MAX_VERSIONS
};

/* The code that a kernel runs for `from` or more keys, up to the next version. */
struct version {
    const struct target *target;
    const struct compilation *c; /* the code, or NULL */
    int64_t from;
    int cooperative;                 /* heads on which all threads cooperate: 0 none, 1 heads left over, 2 all */
    int part;                        /* the part of backward */
    const struct compilation *fold;  /* code that adds a second state, or NULL */
    const struct compilation *few;   /* code for at most `few_rows` rows, or NULL */
    int64_t few_rows;                /* rows: queries of all heads that share keys */
    const struct compilation *heads; /* code for few queries of many heads, or NULL; `few` exists, too */
};

/* All code of one spec. */
struct emission {
    const struct spec *spec;
    const struct kernel_arrays *arrays;
    const struct compilation *const *compilation; /* sorted by target */
    int compilations;
    const struct version *version; /* sorted by target, then by `from` */
    int versions;
    const struct version *correct; /* versions of the corrected values, by target */
    int corrects;
    const struct version *prefix; /* versions of the terms of prefix sums, by target */
    int prefixes;
    const struct version *backward; /* versions of the gradients, in the order of `version` */
    int backwards, parts;           /* the number of parts of backward */
    const struct version *extend;   /* versions for states with sums, by target */
    int extends;
    const struct version *attend;  /* versions that attend to keys in a state, in the order of `version` */
    int attends;                   /* 0: those of forward */
    const struct version *prepare; /* versions that prepare keys for a state, by target */
    int prepares;
    const struct compilation *const *of_prepared; /* compilations of `attend` and `prepare`, each once */
    int of_prepareds;
    /* folds: two states can be added. moves: also if both start at position 0. any_order: in any order. */
    bool folds, moves, any_order;
    bool terms_move;      /* the terms of prefix sums do not depend on positions, or there are none */
    int64_t read_back;    /* the number of last keys in a state; negative: all */
    int64_t read_first;   /* the number of first keys in a state */
    uint64_t fingerprint; /* a hash of the graph and of the layout of a state */
    int saved, row_sums;  /* arrays with a number per query: saved by forward; row sums of backward */
    bool standalone;
};

/* emit_source prints NAME.c for the target `only`, or for all if NULL. emit_header prints NAME.h. `command`: the
   attnc command that makes the file. A standalone file includes no header of attnc. */
void emit_source(const struct emission *e, const struct target *only, const char *command, struct text *file);
void emit_header(const struct emission *e, const char *command, struct text *out);
/* Returns the number of tokens of a sequence for which a state has room.
   - first, read_back: the numbers of first and last tokens that it keeps
   - chunk: the number of tokens that it sums at a time, or 0
   - folds: it also has room for tokens of a second state */
int64_t emit_state_rows(int64_t first, int64_t read_back, int64_t chunk, bool folds);
/* Whether the loops over tasks include an axis of this size. */
bool emit_tasks_over(const struct loops *l, enum size_source source);
/* Returns the size of an axis as C, such as "n_q". */
const char *emit_size(const struct module *m, int axis);
/* Returns the C name of a parameter: "q_norm_weight" for "q.norm.weight". */
const char *emit_name(struct arena *arena, const char *name);
/* Returns an expression in SIZE, LO and HI as C, for display. */
const char *emit_bound(const struct compilation *c, const struct expr *e);

#endif
