/* The state of one compilation, and what a schedule sets: the knobs that passes and the emitter declare (knobs.def). */
#ifndef ATTNC_SCHEDULE_H
#define ATTNC_SCHEDULE_H

#include "../spec/spec.h"
#include "../target/target.h"

/* What the program of a compilation is. What is saved is O(1) numbers a row (pass/differentiate_save.c). */
enum program_kind {
    PROGRAM_FORWARD,
    PROGRAM_SAVING,    /* the same, which also leaves what is saved */
    PROGRAM_SAVED,     /* what is saved, alone */
    PROGRAM_ROW_SUMS,  /* what the gradients need of each row of `dout` */
    PROGRAM_GRADIENTS, /* from both; of gradients that are sums over rows what units of rows add up to, and before them
                          the sums over rows that others are made from */
    PROGRAM_TOTALS,    /* these gradients */
    PROGRAM_FROM_SUMS, /* those that are left to be computed from sums of the former */
    PROGRAM_ALONE,     /* the gradients, where nothing was saved */
    PROGRAM_EXTEND, /* forward from a state that a caller keeps on, which takes in the chunks of keys that are full */
    PROGRAM_FOLD,   /* such a state takes in another one, of as many keys after its own as size(stream) says */
    PROGRAM_MEET,   /* forward, of keys that a state has prepared */
    PROGRAM_PREPARE /* keys get prepared for it */
};

/* Queries of a call are few up to that many, where those of all heads that share keys are no more rows than that. */
enum { MAX_FEW_QUERIES = 16, MAX_FEW_ROWS = 64, FEW_TOKENS = 16 };

/* The state of one compilation for one target, as the passes see it (pass/pipeline.c, pass/pipeline.def). */
struct compilation {
    const struct spec *spec;
    const struct target *target;
    struct diagnostics *diagnostics;
    const struct schedule *schedule; /* NULL: no knob is set */
    const struct graph *source;      /* before the first pass */
    struct graph *graph;
    struct loops *loops;       /* from the lower pass on */
    int64_t tile_q, tile_k;    /* queries and keys of a tile */
    int64_t block_q;           /* queries whose tiles share what is made of a tile of keys (pass/share.c); 0: none do */
    int64_t part;              /* features of a part */
    bool open_chunk, parts;    /* the chunk's length is free; features come in parts */
    unsigned features_used;    /* of the target's, by the passes so far */
    int rows, vectors, unroll; /* the register block of a product; vectors of a map at a time (pass/block.c) */
    bool linear;               /* asked for the linear form; else the quadratic one */
    bool few;                  /* the quadratic form for few queries; `reason` says why there is none (pass/rows.c) */
    enum program_kind program;
    int group, groups; /* of gradients that share their loops: the one to be lowered, from 1 (0: all, as one program),
                          and how many */
    struct graph *saving, *row_sums; /* where gradients are from what was saved: the graphs of these programs */
    struct graph *totals;            /* and that of the gradients that are sums over rows */
    struct graph *from_sums;         /* and that of gradients from sums of the others; NULL: there are none */
    int64_t features;                /* of the linear form that the separate pass found; 0: it found none */
    int64_t read_first, read_back;   /* the keys that a state has for it, if these are the first and the last ones */
    int64_t reach;                   /* the chunks before a query's own that its state is of; 0: all */
    int64_t chunk;                   /* of EXTEND: the keys that a state takes in at a time; 0: it carries none */
    const struct stmt *alone_keys, *alone_folds; /* for a thread that has a head to itself: what of a chunk goes into
                                                    what is carried, after its queries; NULL: as for several threads */
    bool slot_is_kept;                 /* what is kept of a state lies as a chunk's slot does, for queries to meet */
    bool short_tile;                   /* of EXTEND: for calls of at most FEW_TOKENS tokens, which a tile has then */
    const struct compilation *for_few; /* and of that for all calls: this one; NULL: the tiles are as short */
    bool early_chunks;                 /* a query's chunk may be one before that of its own position */
    double near_keys;                  /* keys that a query meets itself in the linear form */
    const char *reason;                /* and this says why */
};

/* "quadratic", "few" or "linear"; whether the second is for a problem of that size. (knob.c) */
const char *compilation_form(const struct compilation *c);
const char *compilation_products(const struct compilation *c); /* " on matrix units", " with products of bf16", or "" */
bool queries_are_few(const struct problem_size *size);
/* How many queries meet a key that is read once: those of a tile, or of a block of tiles. */
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

/* The block of a product whose sums are in registers at a time: they, a vector of each column and one number have to
   fit. */
struct register_block {
    int rows, vectors;
};
int schedule_max_vectors(const struct target *t, int64_t rows);
/* What a target gets of the block that a schedule sets, or does not set; NULL: there is no schedule. */
struct register_block schedule_block(const struct target *t, const struct schedule *s);

#endif
