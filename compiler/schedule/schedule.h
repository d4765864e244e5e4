/* The data of one compilation, which passes read and write, and the knobs that a schedule sets (knobs.def).
   - unit: everything compiled from one spec (compiler/driver/).
   - compilation: one program of a unit, compiled for one target with one schedule.
   - program: one loop nest of a kernel, such as forward, or one part of the gradients. A kernel calls several programs.
   - form: the quadratic form visits every pair of a query and a key. The linear form sums features of keys into a
     state. The form "few" is the quadratic form for calls with few queries. The form "heads" is the one for few
     queries of many heads that share keys: heads take the place of queries (pass/heads_as_queries.c).
   - chunk, slot, window, state, carried sums: see ir/ir.h. */
#ifndef ATTNC_SCHEDULE_H
#define ATTNC_SCHEDULE_H

#include "../spec/spec.h"
#include "../target/target.h"

/* The kinds of program. "Saved rows" are a few numbers for each row of the result, such as the logarithm of its sum.
   Forward stores them for the gradients (pass/differentiate/save.c). */
enum program_kind {
    PROGRAM_FORWARD,
    PROGRAM_FORWARD_SAVING, /* forward, and stores the saved rows */
    PROGRAM_SAVED_ROWS,     /* computes only the saved rows, for a call of backward without them */
    PROGRAM_ROW_SUMS,       /* sums over the elements of each row of `dout`, which several gradients need */
    PROGRAM_GRADIENTS,      /* gradients from saved rows and row sums. A gradient that is a sum over all rows is left as
                               one partial sum for each slice of the rows (pass/differentiate/total.c) */
    PROGRAM_TOTALS,         /* adds these partial sums, and computes the gradients that depend on the totals */
    PROGRAM_FROM_SUMS,      /* computes gradients from sums that a PROGRAM_GRADIENTS stored in the workspace */
    PROGRAM_UNSAVED,        /* all gradients from the inputs and `dout`, without saved rows. `attnc check` interprets
                               the graph; no C is generated */
    PROGRAM_EXTEND,         /* forward for new tokens; the caller's state has the sums over all full chunks of keys */
    PROGRAM_FOLD_STATES,    /* adds a second state to the caller's state; n_k is the number of keys in the second
                               state */
    PROGRAM_QUERY_PREPARED, /* forward with the keys of a state, which are prepared (normalised, rotated, …) already */
    PROGRAM_PREPARE_KEYS,   /* prepares new keys for storage in a state */
    PROGRAM_PREFIX_TERMS    /* computes the terms that the kernel adds to prefix sums (pass/prefix_sums.c) */
};

/* Identifies the program that a compilation makes, and its form. */
struct program {
    enum program_kind kind;
    int group;       /* the number, from 1, of a group of gradients that share their loops; 0: all gradients */
    bool linear;     /* the linear form; otherwise the quadratic form */
    bool few;        /* the quadratic form for few queries */
    bool by_heads;   /* the quadratic form for few queries of many heads that share keys */
    bool of_terms;   /* gradients: of the terms of prefix sums, from the gradient with respect to these terms */
    bool short_tile; /* PROGRAM_EXTEND for calls with at most FEW_TOKENS tokens; a tile has FEW_TOKENS queries */
};

/* ---- questions about a program (program.c) ---- */

bool program_is_forward(const struct program *p);
bool program_saves_rows(const struct program *p); /* is PROGRAM_FORWARD_SAVING */
/* Whether the program computes rows of the result, or saved rows, from the pairs of queries and keys. */
bool program_sums_rows(const struct program *p);
bool program_is_backward(const struct program *p);          /* computes gradients, or a step towards them */
bool program_is_differentiated(const struct program *p);    /* computes gradients, or saves rows for gradients */
bool program_outputs_gradients(const struct program *p);    /* outputs gradients; the caller may request only some */
bool program_has_weight_gradients(const struct program *p); /* differentiates the weight of a query and a key */
bool program_reads_saved(const struct program *p);          /* reads saved rows: is PROGRAM_GRADIENTS */
bool program_recomputes_saved(const struct program *p);     /* is PROGRAM_SAVED_ROWS */
bool program_sums_dout(const struct program *p);            /* is PROGRAM_ROW_SUMS */
bool program_adds_totals(const struct program *p);          /* is PROGRAM_TOTALS */
bool program_takes_sums(const struct program *p);           /* is PROGRAM_FROM_SUMS */
bool program_is_unsaved(const struct program *p);           /* is PROGRAM_UNSAVED */
bool program_keeps_state(const struct program *p);          /* has carried sums in the caller's state */
bool program_folds_states(const struct program *p);         /* is PROGRAM_FOLD_STATES */
bool program_takes_prepared(const struct program *p);       /* is PROGRAM_QUERY_PREPARED */
bool program_prepares_keys(const struct program *p);        /* is PROGRAM_PREPARE_KEYS */
bool program_computes_terms(const struct program *p);       /* is PROGRAM_PREFIX_TERMS */
/* The base name of the program's C functions, such as "rows" or "linear_saved". NULL for programs that output
   gradients: their functions are named after the outputs. */
const char *program_function(const struct program *p);

/* Limits:
   - A call has few queries if n_q <= MAX_FEW_QUERIES and heads / kv_heads * n_q <= MAX_FEW_ROWS.
   - The form "heads" runs in calls with at most MAX_FEW_QUERIES queries, if at least MANY_HEADS query heads read one
     key/value head. With several queries there must be one key/value head, because an array has one stride of heads.
   - A PROGRAM_EXTEND with short tiles runs in calls with at most FEW_TOKENS tokens. */
enum { MAX_FEW_QUERIES = 16, MAX_FEW_ROWS = 64, MANY_HEADS = 32, FEW_TOKENS = 16 };

/* ---- results of passes, for later passes and emission; each is a property in pass/pipeline.def ---- */

/* The linear form that the separate pass found. */
struct separated_form {
    int64_t features;   /* the number of features of a key; 0: the spec has no linear form */
    int64_t reach;      /* a query's state sums the keys of the last `reach` chunks before its chunk; 0: all earlier */
    bool chunk_is_free; /* the compiler chooses the length of a chunk; neither `block` nor the mask sets it */
    bool early_chunks;  /* a query's state may lack chunks that end before the query's chunk: the mask hides them */
    double near_keys;   /* the average number of keys that a query attends to directly, not through the state */
};

/* The graphs of the programs into which the differentiate pass divides the gradients. NULL: the program is not
   needed. */
struct gradient_graphs {
    int groups;  /* the number of groups of gradients; the gradients of a group share their loops */
    int results; /* the number of outputs of forward. In `saving`, the saved rows follow them */
    struct graph *saving, *row_sums, *totals, *from_sums;
    const struct graph *parts; /* all groups; an input with `sums` is an output of another group */
};

struct tiling {
    int64_t tile_q, tile_k; /* the number of queries and of keys in a tile */
    int64_t block_q;        /* the tiles of a block of this many queries share each packed tile of keys
                               (pass/block_queries.c); 0: each tile of queries packs its tiles of keys */
    int64_t feature_part;   /* the number of features in a tile (pass/feature_parts.c); 0: all features */
};

/* The layout of the caller's state. The expose_state pass sets the first two members. The driver sets the others after
   it has compiled the programs of all targets. */
struct state_layout {
    int64_t chunk;     /* the state has sums over full chunks of this many keys; 0: it has keys and values, no sums */
    bool slot_is_kept; /* the state's sums have the layout of a slot, so queries read them in place, without a copy */
    const struct compilation *few_tokens; /* the same program with short tiles; NULL: there is none */
    int64_t read_first, read_back;        /* the state stores the first `read_first` and the last `read_back` keys of a
                                             sequence; read_back < 0: all keys */
};

/* Statements for a thread that processes a whole head alone (pass/one_thread.c). After the queries of a chunk, `keys`
   adds the sums over the chunk's keys to the carried state directly, and `folds` does the additions that are not part
   of a product. NULL: the thread uses slots, like a thread that shares a head. */
struct one_thread_body {
    const struct stmt *keys, *folds;
};

struct register_block {
    int rows, vectors; /* a product keeps rows * vectors accumulators in registers, plus `vectors` registers for a row
                          of the second operand, and one for an element of the first */
    int unroll;        /* the number of vectors that a map computes at a time */
};

/* One program compiled for one target: the input and the results of all passes (pass/pipeline.c, pass/pipeline.def). */
struct compilation {
    const struct spec *spec;
    const struct target *target;
    const struct schedule *schedule; /* NULL: no knob is set */
    struct diagnostics *diagnostics;
    struct program program;
    const struct graph *source; /* the graph before the first pass */
    struct graph *graph;
    struct loops *loops; /* NULL before the lower pass */
    const char *reason;  /* why the program does not have the requested form, as a message; NULL: it has this form */
    struct separated_form separated;
    struct gradient_graphs gradients;
    struct tiling tiling;
    struct state_layout state;
    struct one_thread_body one_thread;
    struct register_block registers;
};

/* The form as a word for messages: "quadratic", "few" or "linear" (knob.c). */
const char *compilation_form(const struct compilation *c);
/* The kind of products for messages: " on matrix units", " with products of bf16", or "" for ordinary products. */
const char *compilation_products(const struct compilation *c);
bool heads_are_many(const struct problem_size *size);  /* whether the form "heads" serves a call of this size */
bool queries_are_few(const struct problem_size *size); /* whether the form "few" serves a call of this size */
/* The number of queries that share one read of a key: the queries of a tile, or of a block of tiles. */
int64_t queries_together(const struct compilation *c);
/* The tiles for messages, such as "16 queries and 96 keys, in blocks of 256 queries". */
const char *compilation_tiles(struct arena *arena, const struct compilation *c);

/* The value of the knob in the compilation's schedule, or `otherwise` if the schedule does not set the knob. */
int64_t schedule_knob(const struct compilation *c, const char *name, int64_t otherwise);

/* The value of the knob `crossover` that means: never use the linear form. */
enum { NEVER = 2147483647 };

/* The input of a knob_function: the programs that the knob would change. */
struct knob_case {
    bool backward; /* true: a knob of the gradients; false: a knob of forward */
    const struct target *target;
    const struct compilation *quadratic, *linear; /* compiled without a schedule; NULL: the spec lacks this form */
    const struct compilation *form;               /* `quadratic` or `linear`: the form that the default value is for */
    int64_t keys, crossover; /* keys: the number of keys to tune for; 0: any. crossover: from this number of keys on, a
                                kernel without a schedule uses the linear form */
};

enum { MAX_KNOBS = 12, MAX_KNOB_VALUES = 24 };

/* The values of one knob for one spec: the values that `attnc tune` tries, in ascending order. value[default_at] is the
   compiler's own choice. */
struct tune_knob {
    const char *name, *says;
    int values, default_at;
    int64_t value[MAX_KNOB_VALUES];
};

/* Sets the values and the default of a knob. Returns NULL, or the reason why the knob has no effect, as a message. */
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

/* Inserts a value in ascending order. Does nothing if the knob has the value already, or MAX_KNOB_VALUES values. */
void knob_add_value(struct tune_knob *knob, int64_t value);
/* Replaces the values by `by_default` and the `count` numbers in `value`. `by_default` becomes the default. */
void knob_set_values(struct tune_knob *knob, int64_t by_default, int count, const int64_t *value);

enum { DEFAULT_ROWS = 6 };

/* The maximum number of vectors in a register block with this number of rows. */
int schedule_max_vectors(const struct target *t, int64_t rows);
/* The register block that the schedule sets, made smaller if the target has too few registers for it. `s` NULL: the
   default block. */
struct register_block schedule_block(const struct target *t, const struct schedule *s);

#endif
