/* The functions that print C files, and that name things in them. printer.h explains more terms.
   - state: memory of the caller for decoding. It has sums over keys, or rows of keys.
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
    FIRST_TERMS = 24, /* the first number of the parts that compute the terms of prefix sums */
    MAX_EMITTED = (2 + MAX_PARTS) * MAX_COMPILATIONS + 7 * MAX_VERSIONS
};

/* The code that a kernel runs for `from` or more keys, until the `from` of the next version. */
struct version {
    const struct target *target;
    const struct compilation *c; /* the code, or NULL */
    int64_t from;
    /* heads on which all threads cooperate: 0: none, 1: heads that are left over, 2: all */
    int cooperative;
    int part;                        /* the number of the part of backward */
    const struct compilation *fold;  /* code that adds a second state, or NULL */
    const struct compilation *few;   /* code for at most `few_rows` rows, or NULL */
    int64_t few_rows;                /* the maximum of queries times heads, for the heads that share keys */
    const struct compilation *heads; /* code for few queries of many heads, or NULL; if it exists, so does `few` */
};

/* The versions of a step (program.def), sorted by target and then by `from`. */
struct versions {
    struct version *version;
    int count;
};

/* All code of one spec. */
struct emission {
    const struct spec *spec;
    const struct kernel_arrays *arrays; /* the arrays that the kernel reads and writes */
    /* The compilations of forward, without duplicates. For each target and entry of the schedule, they are the
       quadratic and the linear form, as needed, and then the form for few queries. */
    const struct compilation *compilation[MAX_COMPILATIONS + 1];
    int compilations;
    struct versions of[STEPS]; /* what calls run */
    /* parts, saved: the number of parts of the gradients, and of arrays that forward saves; row_sums: the number of
       arrays of row sums; row_elements: the numbers that such an array has for a row */
    int parts, saved, row_sums;
    int64_t row_elements[MAX_OUTPUTS];
    bool saves_solution; /* forward also saves SAVED_SOLUTION */
    /* folds: two states can be added; moves: both states may start at position 0; any_order: they can be added in
       any order */
    bool folds, moves, any_order;
    bool continues;       /* a state continues alike at every position, so its sums are all that later tokens need */
    bool terms_move;      /* true if the terms of prefix sums do not depend on positions, or if there are none */
    int64_t read_back;    /* a state stores this number of last keys, or all keys if it is negative */
    int64_t read_first;   /* a state stores this number of the first keys */
    bool paged;           /* the rows of a state may be in pages */
    bool rows_move;       /* a row of a state may move to the position of another token */
    uint64_t fingerprint; /* identifies states: a hash of the graph and of the layout */
    int64_t outer_chunk;  /* as in struct attn_kernel; 0: the kernel takes no outer sums */
    /* sums_keys: forward takes sums over keys from the caller, as backward takes outer sums; sums_whole: these are sums
       over all tokens (emit_sums_whole), not over earlier and later ones (emit_sums_earlier) */
    bool sums_keys, sums_whole;
    struct distances distances; /* of queries and their keys */
    bool in_parts;              /* positions count from problem.first_key: a call may have some keys of a sequence */
    uint64_t decay_params;      /* as in struct attn_kernel */
    bool standalone;            /* the C includes no header of attnc */
    struct first_call first;    /* the call that the C is compiled for in little time, or none */
};

/* Adds a version to the end of a list. */
struct version *versions_add(struct arena *arena, struct versions *list, struct version version);
/* Sets *v to the next version that has code, or to the first one if *v is NULL. Returns false after the last one. */
bool versions_next(const struct versions *list, const struct version **v);
/* Like versions_next, but skips versions on the target of *v. */
bool versions_next_target(const struct versions *list, const struct version **v);
/* Returns the version on target t for this number of keys, or NULL. */
const struct version *versions_find(const struct versions *list, const struct target *t, int64_t keys);
/* Adds the code of a list's versions on target t, or on all targets if it is NULL, to the `count` compilations of
   `code` unless it is there. Returns their number. */
int versions_code(const struct versions *list, const struct target *t, const struct compilation **code, int count);
/* Returns whether the call that the kernel is compiled for in little time needs no code of this compilation. */
bool emission_waits(const struct emission *p, const struct compilation *c);
/* Returns the first compilation that extends states with sums, or NULL if states have none. */
const struct compilation *emission_extend(const struct emission *p);
/* Sets *f to the next function that the kernel has, or to the first one if *f is NULL. Returns false if there is none.
 */
bool emission_next_function(const struct emission *p, const struct function_row **f);
/* Returns a text of program.def with `name` for @ and `arrays` for #. any: parameters have no type of the kernel. */
const char *emit_row_text(struct arena *arena, const char *text, const char *name, const char *arrays, bool any);
/* Whether the part of the gradients computes only SAVED_SOLUTION, which forward can save. */
bool emission_computes_solution(const struct emission *p, const struct compilation *part);

/* Formulas for people (formula.c). formula_name returns the name of a value: that of an array, or x0, x1, … for others.
   formula_value prints how v is computed, such as "sum over j of x4 * v if j <= i". formula_mask prints v->where. */
const char *formula_name(const struct graph *g, int v);
void formula_value(const struct graph *g, const struct value *v, struct text *out);
void formula_mask(const struct graph *g, const struct value *v, struct text *out);

/* emit_source prints NAME.c for the target `only`, or for all targets if it is NULL. emit_header prints NAME.h.
   `command` is the attnc command that makes the file. A standalone file includes no header of attnc. */
void emit_source(const struct emission *e, const struct target *only, const char *command, struct text *file);
void emit_header(const struct emission *e, const char *command, struct text *out);
/* Return what NAME_workspace on target t, and NAME_saved return for a call. (workspace.c) */
int64_t emit_workspace(const struct emission *p, const struct target *t, const struct problem_size *size, int threads);
int64_t emit_saved(const struct emission *p, const struct problem_size *size);
/* Returns the number of tokens of a sequence for which a state has room.
   - first, read_back: the numbers of first and last tokens that the state keeps
   - chunk: the number of tokens that the state sums at a time, or 0
   - folds: the state also has room for tokens of a second state */
int64_t emit_state_rows(int64_t first, int64_t read_back, int64_t chunk, bool folds);
/* Returns whether extend can store the sums of chunks in an array of the caller (attn_problem.chunk_sums). */
bool emit_stores_chunks(const struct emission *p);
/* Returns outer_chunk of struct attn_kernel for these parts of backward, or 0 if they cannot take outer sums. Results
   stay equal if all positions move by `period`. (outer.c) */
int64_t emit_outer_chunk(const struct versions *backward, int64_t period);
/* Returns whether all queries read the sums over all keys, in forward and in each part of backward for any number of
   keys. (outer.c) */
bool emit_sums_whole(const struct emission *p);
/* Returns whether queries read sums over earlier keys, and backward takes outer sums that may begin at any token. */
bool emit_sums_earlier(const struct emission *p);
/* Returns whether calls may have some keys of a sequence with a decay (attn_problem.query_decay). */
bool emit_decay_parts(const struct emission *p);
/* Returns the bytes of the sums over keys of a head, or 0 if queries read other sums than those over all keys. */
int64_t emit_key_sums_bytes(const struct compilation *c);
/* Returns whether the loops over tasks include an axis of this size. */
bool emit_tasks_over(const struct loops *l, enum size_source source);
/* Returns C for the size of an axis, such as "n_q". */
const char *emit_size(const struct module *m, int axis);
/* Returns the C name of a parameter, such as "q_norm_weight" for "q.norm.weight". */
const char *emit_name(struct arena *arena, const char *name);
/* Returns the C name of an array in kernels. No other name there ends in "_array", as those of declared arrays do. */
const char *emit_identifier(struct arena *arena, const struct kernel_arrays *arrays, const char *name);
/* Returns C for an expression of sizes and loop bounds (SIZE, LO and HI), for display. */
const char *emit_bound(const struct compilation *c, const struct expr *e);
/* Returns whether a task is a head that is printed in phases. */
bool emit_in_phases(const struct loops *l);
/* Returns the number of queries or keys of a task. 0 means a whole key/value head, and -1 means a whole query head. */
int64_t emit_tasks_of(const struct loops *l);

#endif
