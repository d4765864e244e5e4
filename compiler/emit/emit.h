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
    MAX_BACKWARDS = MAX_COMPILATIONS * MAX_PARTS,
    MAX_EMITTED = 2 * MAX_COMPILATIONS + MAX_BACKWARDS + 7 * MAX_VERSIONS
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

/* Returns the number of loops that skip tiles whose weights a decay makes too small to change a sum (faded.c). */
int emit_faded_loops(const struct compilation *c);

/* All code of one spec. */
struct emission {
    const struct spec *spec;
    const struct kernel_arrays *arrays;
    const struct compilation *const *compilation; /* sorted by target */
    int compilations;
    const struct version *version; /* versions of forward, sorted by target and then by `from` */
    int versions;
    const struct version *correct; /* versions of the corrected values, sorted by target */
    int corrects;
    const struct version *append; /* versions that correct the values of a state's new tokens, sorted by target */
    int appends;
    const struct version *prefix; /* versions of the terms of prefix sums, sorted by target */
    int prefixes;
    const struct version *backward; /* versions of the gradients, in the order of `version` */
    int backwards, parts;           /* parts: the number of parts of backward */
    const struct version *extend;   /* versions for states with sums, sorted by target */
    int extends;
    const struct version *foldable; /* versions for such states with transitions, sorted by target */
    int foldables;
    const struct version *attend;  /* versions that attend to keys in a state, in the order of `version` */
    int attends;                   /* If it is 0, the versions of forward attend to keys in a state. */
    const struct version *prepare; /* versions that prepare keys for a state, sorted by target */
    int prepares;
    const struct compilation *const *of_prepared; /* compilations of `attend` and `prepare`, without duplicates */
    int of_prepareds;
    /* folds: two states can be added; moves: both states may start at position 0; any_order: they can be added in
       any order */
    bool folds, moves, any_order;
    bool paged;           /* the rows of a state may be in pages */
    bool rows_move;       /* a row of a state may move to the position of another token */
    bool terms_move;      /* true if the terms of prefix sums do not depend on positions, or if there are none */
    int64_t read_back;    /* the number of last keys in a state, or negative for all keys */
    int64_t read_first;   /* the number of first keys in a state */
    uint64_t fingerprint; /* a hash of the graph and of the layout of a state */
    /* saved: the number of arrays that forward saves; row_sums: the number of arrays of row sums */
    int saved, row_sums;
    bool saves_solution; /* forward also saves SAVED_SOLUTION */
    int64_t outer_chunk; /* as in struct attn_kernel; 0: the kernel takes no outer sums */
    /* sums_keys: forward takes sums over keys from the caller, as backward takes outer sums; sums_whole: these are sums
       over all tokens (emit_sums_whole), not over earlier and later ones (emit_sums_earlier) */
    bool sums_keys, sums_whole;
    struct distances distances;
    uint64_t decay_params; /* as in struct attn_kernel */
    bool standalone;
};

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
int64_t emit_outer_chunk(const struct version *backward, int backwards, int64_t period);
/* Returns whether all queries read the sums over all keys, in forward and in each part of backward for any number of
   keys. (outer.c) */
bool emit_sums_whole(const struct version *version, int versions, const struct version *backward, int backwards);
/* Returns whether queries read sums over earlier keys, and backward takes outer sums that may begin at any token. */
bool emit_sums_earlier(const struct version *version, int versions, const struct version *backward, int backwards);
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

#endif
