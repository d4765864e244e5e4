/* Emitted C: the files, and what others say with its names. */
#ifndef ATTNC_EMIT_H
#define ATTNC_EMIT_H

#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../target/target.h"

enum {
    MAX_COMPILATIONS = 2 * MAX_VERSIONS * MAX_SCHEDULES + MAX_VERSIONS,
    MAX_PARTS = 32,
    MAX_BACKWARDS = MAX_COMPILATIONS * MAX_PARTS,
    MAX_EMITTED = 2 * MAX_COMPILATIONS + MAX_BACKWARDS + 4 * MAX_VERSIONS
};

/* What runs from `from` keys on. */
struct version {
    const struct target *target;
    const struct compilation *c; /* NULL: this part of the gradients has nothing to do */
    int64_t from;
    int cooperative;                /* which heads all threads work on together */
    int part;                       /* of the gradients: its number */
    const struct compilation *fold; /* of what `c` extends: takes in another state; or NULL */
    const struct compilation *few;  /* runs instead where queries are few and have `few_rows` rows or fewer; or NULL */
    int64_t few_rows;
};

/* What is emitted: all that one spec was compiled to. */
struct emission {
    const struct spec *spec;
    const struct compilation *const *compilation; /* by target */
    int compilations;
    const struct version *version; /* by target, then ascending */
    int versions;
    const struct version *backward; /* of the gradients, by target, then ascending */
    int backwards, parts;           /* parts run one after the other */
    const struct version *extend;   /* from a state that takes in chunks, by target; none: keys and values are kept */
    int extends;
    const struct version *meet;    /* else, of keys that are prepared in a state, by target, then ascending */
    int meets;                     /* none: they are there as they came */
    const struct version *prepare; /* what prepares them, by target */
    int prepares;
    const struct compilation *const *of_prepared; /* all of these, each once */
    int of_prepareds;
    bool folds, moves, any_order; /* it takes in another one, whatever the positions, or the order, of their keys */
    int64_t read_back;            /* keys before a query, or its chunk, that have to be kept; negative: all */
    int64_t read_first;           /* keys that a sequence begins with that have to be kept besides */
    uint64_t fingerprint;         /* of states */
    int saved, row_sums;          /* arrays that forward leaves to them; that one of them leaves to the others */
    bool standalone;
};

/* The code for all targets, or for one. `command` is the reproducing command. Standalone files include no header of
   attnc. */
void emit_source(const struct emission *e, const struct target *only, const char *command, struct text *file);
void emit_header(const struct emission *e, const char *command, struct text *out);
/* The tokens of a sequence that a state has room for: the first ones, and others, where it takes in `chunk` of them at
   a time (0: none), and perhaps another state with those of its own. */
int64_t emit_state_rows(int64_t first, int64_t read_back, int64_t chunk, bool folds);
/* Whether the tasks run over an axis of that source. */
bool emit_tasks_over(const struct loops *l, enum size_source source);
/* The C name of an axis' extent: "n_q", or a number. */
const char *emit_size(const struct module *m, int axis);
/* The C name for a dotted parameter name: "q_norm_weight". */
const char *emit_name(struct arena *arena, const char *name);
/* An expression in SIZE, LO, HI as C, for people to read. */
const char *emit_bound(const struct compilation *c, const struct expr *e);

#endif
