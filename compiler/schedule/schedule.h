/* The state of one compilation, and what a schedule sets: the knobs that passes and the emitter declare (knobs.def). */
#ifndef ATTNC_SCHEDULE_H
#define ATTNC_SCHEDULE_H

#include "../spec/spec.h"
#include "../target/target.h"

/* The kinds of program that a spec is compiled to. Of each row of the result, forward saves a few numbers for the
   gradients (pass/differentiate/save.c). */
enum program_kind {
    PROGRAM_FORWARD,
    PROGRAM_FORWARD_SAVING, /* forward, which also stores the saved rows */
    PROGRAM_SAVED_ROWS,     /* the saved rows alone, for calls in which forward did not store them */
    PROGRAM_ROW_SUMS,       /* sums over the elements of each row of `dout`, which several gradients need */
    PROGRAM_GRADIENTS,      /* gradients from the saved rows and the row sums; of those that are sums over all rows,
                               only the sum of each slice of rows */
    PROGRAM_TOTALS,         /* gradients from the sums of slices of rows */
    PROGRAM_FROM_SUMS,      /* gradients from sums that a PROGRAM_GRADIENTS has left */
    PROGRAM_UNSAVED,        /* all gradients from the inputs and `dout` */
    PROGRAM_EXTEND,         /* forward from a caller's state, which sums the chunks of keys that are full */
    PROGRAM_FOLD_STATES,    /* adds a second state to a caller's; size(stream) is the number of its keys */
    PROGRAM_QUERY_PREPARED, /* forward with the prepared keys of a state */
    PROGRAM_PREPARE_KEYS    /* prepares keys for a state */
};

/* The program that a compilation makes, and its form. */
struct program {
    enum program_kind kind;
    int group;       /* of the gradients that share their loops: the number of the group, from 1; 0: all groups */
    bool linear;     /* the linear form; else the quadratic one */
    bool few;        /* the quadratic form for few queries */
    bool short_tile; /* of PROGRAM_EXTEND: for calls of at most FEW_TOKENS tokens, and with tiles of that many */
};

/* ---- questions about a program (program.c) ---- */

bool program_is_forward(const struct program *p);
bool program_saves_rows(const struct program *p); /* it is forward, and stores the saved rows */
/* Whether it computes rows of the result, or what is saved of them, for any number of queries. */
bool program_sums_rows(const struct program *p);
bool program_is_backward(const struct program *p);          /* it is a part of the gradients, or all of them */
bool program_is_differentiated(const struct program *p);    /* it is backward, or saves rows for it */
bool program_outputs_gradients(const struct program *p);    /* a caller may want only some of its outputs */
bool program_has_weight_gradients(const struct program *p); /* it differentiates the weight of each pair */
bool program_reads_saved(const struct program *p);          /* these weights are computed from the saved rows */
bool program_recomputes_saved(const struct program *p);     /* it runs only if forward saved nothing */
bool program_sums_dout(const struct program *p);            /* it computes the row sums */
bool program_adds_totals(const struct program *p);
bool program_takes_sums(const struct program *p); /* it starts from sums of another part */
bool program_is_unsaved(const struct program *p);
bool program_keeps_state(const struct program *p); /* sums carried from chunk to chunk are in a caller's state */
bool program_folds_states(const struct program *p);
bool program_takes_prepared(const struct program *p);
bool program_prepares_keys(const struct program *p);
/* The name of its functions in C: "rows", "linear_saved"; NULL: its outputs name them. */
const char *program_function(const struct program *p);

/* A call has few queries if each head has at most MAX_FEW_QUERIES, and the heads that share keys at most MAX_FEW_ROWS.
   Short tiles serve calls of at most FEW_TOKENS tokens. */
enum { MAX_FEW_QUERIES = 16, MAX_FEW_ROWS = 64, FEW_TOKENS = 16 };

/* ---- results of passes, for later passes and emission; pass/pipeline.def names the property of each ---- */

/* The linear form that the pass separate has found. */
struct separated_form {
    int64_t features;   /* 0: it has found none */
    int64_t reach;      /* chunks before a query's own that are in its state; 0: all */
    bool chunk_is_free; /* neither the spec nor the mask sets the length of a chunk */
    bool early_chunks;  /* a query's chunk may come before the chunk of its position */
    double near_keys;   /* keys that a query attends to without the state, on average */
};

/* The programs into which the pass differentiate divides the gradients, as graphs; NULL: there is none. */
struct gradient_graphs {
    int groups; /* of gradients that share their loops */
    struct graph *saving, *row_sums, *totals, *from_sums;
};

struct tiling {
    int64_t tile_q, tile_k; /* queries and keys of a tile */
    int64_t block_q;        /* queries whose tiles share a tile of keys (pass/block_queries.c); 0: none do */
    int64_t feature_part;   /* features that a tile has at a time (pass/feature_parts.c); 0: all */
};

/* The sums that are kept in a caller's state (pass/expose_state.c), and what the driver adds when the programs of all
   targets are known. */
struct state_layout {
    int64_t chunk;     /* keys that the state sums at a time; 0: it has no sums */
    bool slot_is_kept; /* kept sums have the layout of a chunk's slot, so queries read them in place */
    const struct compilation *few_tokens; /* by the driver: this program with short tiles; NULL: its tiles are short */
    int64_t read_first, read_back;        /* by the driver: the first and the last keys that a state keeps */
};

/* A thread that has a head to itself adds a chunk to the carried sums after the queries of the chunk, with these
   statements (pass/one_thread.c); NULL: it does as several threads do. */
struct one_thread_body {
    const struct stmt *keys, *folds;
};

struct register_block {
    int rows, vectors; /* of a product's sums that are in registers at a time, with one row of vectors and a number */
    int unroll;        /* vectors that a map computes at a time */
};

/* The state of one compilation for one target, as the passes see it (pass/pipeline.c, pass/pipeline.def). */
struct compilation {
    const struct spec *spec;
    const struct target *target;
    const struct schedule *schedule; /* NULL: no knob is set */
    struct diagnostics *diagnostics;
    struct program program;
    const struct graph *source; /* before the first pass */
    struct graph *graph;
    struct loops *loops; /* from the lower pass on */
    const char *reason;  /* why the program does not have the form that it should; NULL: it does */
    struct separated_form separated;
    struct gradient_graphs gradients;
    struct tiling tiling;
    struct state_layout state;
    struct one_thread_body one_thread;
    struct register_block registers;
};

const char *compilation_form(const struct compilation *c);     /* "quadratic", "few" or "linear" (knob.c) */
const char *compilation_products(const struct compilation *c); /* " on matrix units", " with products of bf16", or "" */
bool queries_are_few(const struct problem_size *size);         /* so that the form "few" serves a call of that size */
/* Queries that share a key which is read once: the queries of a tile, or of a block of tiles. */
int64_t queries_together(const struct compilation *c);
/* "16 queries and 96 keys, in blocks of 256 queries" */
const char *compilation_tiles(struct arena *arena, const struct compilation *c);

/* The value of a knob of the compilation's schedule, or `otherwise`. */
int64_t schedule_knob(const struct compilation *c, const char *name, int64_t otherwise);

/* As a crossover: no length is as long. */
enum { NEVER = 2147483647 };

/* For what a knob is asked about: forward, or a part of the gradients. */
struct knob_case {
    bool backward;
    const struct target *target;
    const struct compilation *quadratic, *linear; /* by default; NULL: there is none */
    const struct compilation *form;               /* the one of them that the default value is of */
    int64_t keys, crossover;                      /* 0: any length; from how many keys on the linear form is taken */
};

enum { MAX_KNOBS = 12, MAX_KNOB_VALUES = 24 };

/* A knob that a pass declares, for one spec: the values worth trying, ascending, and which of them is the compiler's
   own choice. */
struct tune_knob {
    const char *name, *says;
    int values, default_at;
    int64_t value[MAX_KNOB_VALUES];
};

/* Fills in the values and the default one; or says why the knob does nothing for the spec. */
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

/* One more value worth trying, in its place; nothing where it is there or there is no room. */
void knob_add_value(struct tune_knob *knob, int64_t value);
/* The default value and others. */
void knob_set_values(struct tune_knob *knob, int64_t by_default, int count, const int64_t *value);

enum { DEFAULT_ROWS = 6 };

int schedule_max_vectors(const struct target *t, int64_t rows);
/* The block that a schedule sets, as far as the target has registers for it; NULL: there is no schedule. */
struct register_block schedule_block(const struct target *t, const struct schedule *s);

#endif
