/* The data of one compilation, which passes read and write, and the knobs of a schedule (knobs.def).
   - unit: everything compiled from one spec (compiler/driver/)
   - compilation: one program of a unit for one target and schedule
   - program: one loop nest of a kernel, such as forward or a part of the gradients. A kernel calls several programs.
   - form "quadratic": visits every pair of query and key
   - form "linear": sums features of keys into a state
   - form "few": the quadratic form for few queries
   - form "heads": like "few", for many heads that share keys (pass/heads_as_queries.c)
   - chunk, slot, window, state, carried sums: see ir/ir.h */
#ifndef ATTNC_SCHEDULE_H
#define ATTNC_SCHEDULE_H

#include "../spec/spec.h"
#include "../target/target.h"

/* The kinds of program, what a call runs, and the functions of a kernel: the rows of program.def. */
enum program_kind {
#define PROGRAM(kind, graph, says, quadratic, linear, few, heads, facts) PROGRAM_##kind,
#include "program.def"
};

enum kernel_step {
#define STEP(step, name, kind, first, wanted) STEP_##step,
#include "program.def"
    STEPS
};

enum kernel_function {
#define FUNCTION(suffix, emit, listed, type, parameters, passed, says) FUNCTION_##suffix,
#include "program.def"
    FUNCTIONS
};

/* The program of a compilation, and its form. */
struct program {
    enum program_kind kind;
    int group;           /* the number, from 1, of a group of gradients that share loops. 0: all groups */
    int rows;            /* PROGRAM_PREPARE_KEYS: the number, from 1, of an array whose rows it prepares. 0: keys */
    int computed;        /* PROGRAM_SELECT, PROGRAM_CORRECT_VALUES: the number, from 0, of the array that it computes */
    bool linear;         /* the linear form. false: the quadratic form */
    bool few;            /* the quadratic form for few queries */
    bool by_heads;       /* the quadratic form for few queries of many heads that share keys */
    bool of_terms;       /* computes gradients from the gradient of the terms of prefix sums */
    bool saves_solution; /* PROGRAM_FORWARD that also outputs SAVED_SOLUTION, if the caller wants it */
};

/* The name of the array r = values - (the sum over earlier keys). The SOLVE of forward computes rate * r. Gradients
   read r. Forward saves it (pass/differentiate/differentiate.c), or a part of backward computes it. */
#define SAVED_SOLUTION "saved_solution"
/* The beginning of the names of sums to which tiles add in order (pass/differentiate/sweep.c). */
#define SUM_IN_ORDER "sum_"
bool name_is_sum_in_order(const char *name);

/* ---- questions about a program (program.c) ---- */

struct program_row {
    const char *says, *function[4]; /* function: of the forms quadratic, linear, few and heads */
    unsigned facts;
};

struct step_row {
    const char *name;
    enum program_kind kind;
    bool first;
};

extern const struct program_row program_table[];
extern const struct step_row step_table[STEPS];

struct function_row {
    const char *suffix, *type, *parameters, *passed, *says;
    unsigned emit;
    bool listed;
};

extern const struct function_row function_table[FUNCTIONS];

#define FACT(name, text) bool program_##name(const struct program *p);
#include "program.def"

struct compilation;
/* Whether the program computes gradients, or saves rows for gradients. */
bool program_is_differentiated(const struct program *p);
/* Whether a caller may give sums of tokens before and after those of the call, so that chunk 0 also reads a state. The
   compilation has a program and a spec. */
bool program_takes_outer_sums(const struct compilation *c);
/* Returns the base name of the program's C functions, such as "rows" or "linear_saved". Returns NULL if the program
   outputs gradients, whose names are used instead. */
const char *program_function(const struct program *p);

/* Limits:
   - few queries: n_q <= MAX_FEW_QUERIES and heads / kv_heads * n_q <= MAX_FEW_ROWS
   - the form "heads": at most MAX_FEW_QUERIES queries, and at least MANY_HEADS query heads per key/value head. If it
     gathers keys, any call
   - PROGRAM_EXTEND_FEW: at most FEW_TOKENS tokens */
enum { MAX_FEW_QUERIES = 16, MAX_FEW_ROWS = 64, MANY_HEADS = 32, FEW_TOKENS = 16 };

/* ---- results of passes, for later passes and emission: the properties of pass/pipeline.def ---- */

/* The linear form that the pass separate found. */
struct separated_form {
    int64_t features;   /* the number of features of a key, or 0 without a linear form */
    int64_t reach;      /* a state sums the last `reach` chunks before the query's chunk. 0: it sums all */
    bool chunk_is_free; /* the compiler chooses the length of a chunk */
    bool early_chunks;  /* the mask may hide chunks just before the query's chunk */
    double near_keys;   /* the mean number of keys that a query attends to directly */
};

/* The graphs of the programs that compute gradients (pass differentiate). A graph that is not needed is NULL. */
struct gradient_graphs {
    int groups;     /* the number of groups of gradients that share loops */
    int results;    /* the number of forward's outputs. In `saving`, the saved rows follow them */
    bool growing;   /* carried states have a factor exp(x) that may overflow, and rows are divided by 2^log2(sum) */
    bool overflows; /* sums over keys have such a factor, and it is not kept from overflowing */
    struct graph *saving, *row_sums, *totals, *from_sums;
    const struct graph *parts; /* the gradients of all groups. An input with `sums` is an output of another group */
};

struct tiling {
    int64_t tile_q, tile_k; /* the number of queries, and of keys, in a tile */
    /* The number of queries whose tiles share packed tiles of keys (pass/block_queries.c). 0: no sharing. */
    int64_t block_q;
    int64_t feature_part; /* the number of features of a tile (pass/feature_parts.c). 0: all */
};

/* The layout of the caller's state. The pass expose_state sets the first two members, and the driver sets the other
   members. */
struct state_layout {
    int64_t chunk;     /* the state has sums over full chunks of this many keys. 0: it has keys and values */
    bool slot_is_kept; /* the sums have the layout of a slot, so queries read them in place */
    const struct compilation *few_tokens; /* the program with short tiles, or NULL */
    /* The state stores the first `read_first` and the last `read_back` keys. read_back < 0: it stores all keys. */
    int64_t read_first, read_back;
    bool paged;  /* the rows of keys may be in pages */
    bool common; /* the keys of pages that several sequences share can be summed once (analysis/common_keys.c) */
};

/* Statements for a thread that processes a whole head (pass/one_thread.c), or NULL.
   - keys: adds a chunk's sums to the carried state, after the chunk's queries
   - folds: the additions to carried states that are no part of a product */
struct one_thread_body {
    const struct stmt *keys, *folds;
};

struct register_block {
    /* A product uses rows * vectors registers for accumulators, `vectors` for the second operand and one for the
       first. */
    int rows, vectors;
    int unroll; /* the number of vectors that a map computes at a time */
};

/* One program compiled for one target: the input and results of all passes (pass/pipeline.c, pass/pipeline.def). */
struct compilation {
    const struct spec *spec;
    const struct target *target;
    const struct schedule *schedule; /* NULL: no knob is set */
    struct diagnostics *diagnostics;
    struct program program;
    const struct graph *source; /* the graph before the first pass */
    const struct graph *sums;   /* the graph before its prefix sums became arrays. NULL: it has none */
    struct graph *graph;
    struct loops *loops; /* NULL until the pass lower has run */
    const char *reason;  /* why the program lacks the requested form, or NULL */
    struct separated_form separated;
    struct gradient_graphs gradients;
    struct tiling tiling;
    struct state_layout state;
    struct one_thread_body one_thread;
    struct register_block registers;
};

/* Returns the form as a word, such as "linear". (knob.c) */
const char *compilation_form(const struct compilation *c);
/* Returns the kind of products for messages: " on matrix units", " with products of bf16", or "". */
const char *compilation_products(const struct compilation *c);
bool heads_are_many(const struct problem_size *size);  /* whether the form "heads" serves this call */
bool queries_are_few(const struct problem_size *size); /* whether the form "few" serves this call */
/* Returns the number of queries that share one read of a key. */
int64_t queries_together(const struct compilation *c);
/* Returns the sizes of tiles for messages, such as "16 queries and 96 keys, in blocks of 256 queries". */
const char *compilation_tiles(struct arena *arena, const struct compilation *c);

/* Returns the value of the knob in the schedule, or `otherwise` if the schedule does not set it. */
int64_t schedule_knob(const struct compilation *c, const char *name, int64_t otherwise);

/* The value of the knob `crossover` that switches the linear form off. */
enum { NEVER = 2147483647 };

/* The input of a knob_function. */
struct knob_case {
    bool backward; /* the knob is of the gradients, not of forward */
    const struct target *target;
    const struct compilation *quadratic, *linear; /* compiled without a schedule. NULL: the form does not exist */
    const struct compilation *form;               /* the form that the default is for */
    /* keys: the number of keys to tune for, or 0 for any number. crossover: the number of keys from which the
       linear form is the default */
    int64_t keys, crossover;
};

enum { MAX_KNOBS = 12, MAX_KNOB_VALUES = 24 };

/* The values of a knob that `attnc tune` tries, ascending. value[default_at] is the default. */
struct tune_knob {
    const char *name, *says;
    int values, default_at;
    int64_t value[MAX_KNOB_VALUES];
};

/* Sets the values and the default of a knob. Returns NULL, or why the knob has no effect. */
typedef const char *knob_function(const struct knob_case *x, struct tune_knob *knob);

enum {
    KNOBS = 0
#define KNOB(name, low, high, multiple, changes, of, says) +1
#include "knobs.def"
#undef KNOB
};

#define KNOB(name, low, high, multiple, changes, of, says) knob_function knob_##name;
#include "knobs.def"
#undef KNOB

/* Inserts a value in ascending order, if it is new and there is room. */
void knob_add_value(struct tune_knob *knob, int64_t value);
/* Replaces the values by the default `by_default` and the `count` numbers in `value`. Returns NULL, the answer of a knob
   that has an effect. */
const char *knob_set_values(struct tune_knob *knob, int64_t by_default, int count, const int64_t *value);

enum { DEFAULT_ROWS = 6 };

/* Returns the maximum number of vectors in a register block of `rows` rows. */
int schedule_max_vectors(const struct target *t, int64_t rows);
/* Returns the schedule's register block, made smaller if the target has too few registers. If `s` is NULL, returns
   the default block. */
struct register_block schedule_block(const struct target *t, const struct schedule *s);

#endif
