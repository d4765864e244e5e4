/* What attnc does: the spec, the graph built from it, the passes, the emitted C, the commands. */
#ifndef ATTNC_COMPILER_H
#define ATTNC_COMPILER_H

#include "../ir/ir.h"

#define ATTNC_VERSION "0.1.0"

enum status { STATUS_DONE = 0, STATUS_INPUT = 1, STATUS_USAGE = 2, STATUS_MACHINE = 3 };

/* ---- YAML as a tree with positions (yaml.c, over libyaml) ---- */

enum yaml_kind { YAML_NULL, YAML_BOOL, YAML_INT, YAML_REAL, YAML_WORD, YAML_LIST, YAML_MAP };
struct yaml {
    enum yaml_kind kind;
    struct position at;
    const char *text;      /* the scalar as written */
    bool quoted;           /* a quoted or block scalar, always a WORD */
    bool flag;             /* BOOL */
    int64_t integer;       /* INT; one that does not fit is a REAL */
    double real;           /* INT, REAL */
    int count;             /* LIST, MAP */
    struct yaml **item;    /* LIST: elements; MAP: values */
    struct yaml **key;     /* MAP: scalars */
    const char *origin;    /* the --set it came from, or NULL */
    const char *source;    /* scalars of a file: the whole text it is in */
    size_t source_length;
    char style;            /* how it is written there: one of ' " | >, or 0: plain */
    struct expression *expression; /* what it says, once it has been read as one: aliases share it */
    bool wrong;            /* an error about it has been reported: readers keep quiet */
    bool partial;          /* MAP: an entry was refused, so a key that is missing need not be */
};
enum { YAML_MOST_BYTES = 1 << 20 };
/* One document, YAML 1.2 core scalars, aliases expanded by sharing. Reports everything wrong; NULL when there is no tree to go on with. */
struct yaml *yaml_read(struct arena *arena, const char *text, size_t length, struct diagnostics *d);
/* The value of a --set: its nodes are positioned nowhere and know `origin`, and so do the errors. */
struct yaml *yaml_read_override(struct arena *arena, const char *text, const char *origin, struct diagnostics *d);
/* A node for the plain scalar `text`, positioned nowhere. */
struct yaml *yaml_plain(struct arena *arena, const char *text);
/* The value of a key of a map, or NULL. */
struct yaml *yaml_get(const struct yaml *map, const char *key);
/* Where byte `offset` of a scalar's text stands in the file; the scalar's own position where that cannot be known. (yaml_place.c) */
struct position yaml_place(const struct yaml *node, size_t offset);

/* ---- expressions that the user writes as C (c_expression.c over libclang, expression_text.c) ---- */

struct expression {
    const char *text;
    struct position at;
    const struct expr *value; /* of a module of its own: operand 0 is s, axes 0, 1 and 2 are i, j and h */
    int exponentials;         /* in it, and where they are written */
    struct exponential {
        const struct expr *e; /* EXP, POW */
        size_t offset;        /* in the text */
        struct position at;
    } *exponential;
};
/* Called for each error and each note to it. */
typedef void expression_report(void *user, size_t offset, bool note, const char *message);
/* `positions`: in i, j and h alone, without s. NULL after reporting. */
struct expression *expression_read(struct arena *arena, const char *text, bool positions, expression_report *report, void *user);
/* Whether an expression could not be read because there is no libclang here. */
bool expression_library_missing(void);
/* With the names i, j, h and s. (expression_print.c) */
void expression_print(const struct expr *e, struct text *out);

/* ---- the spec (spec.c, spec.def) ---- */

enum prepare_kind { PREPARE_LAYERNORM, PREPARE_L2NORM, PREPARE_ROPE, PREPARE_SCALE };
struct prepare {
    enum prepare_kind kind;
    struct position at;
    bool affine;      /* layernorm */
    double eps;       /* layernorm, l2norm */
    double base;      /* rope */
    bool halves;      /* rope: pairs (t, t + D/2) instead of (2t, 2t + 1) */
    double by;        /* scale */
};

enum similarity_kind { SIMILARITY_SOFTMAX, SIMILARITY_POLYNOMIAL, SIMILARITY_POLYNOMIAL_SQUARE, SIMILARITY_POLYSKETCH, SIMILARITY_LINEAR, SIMILARITY_CUSTOM };
enum compatibility_kind { COMPATIBILITY_DOT, COMPATIBILITY_MULTIPLICATIVE, COMPATIBILITY_ADDITIVE };
enum bias_kind { BIAS_NONE, BIAS_ALIBI, BIAS_DENSE };
enum feature_kind {
    FEATURE_IDENTITY,
    FEATURE_ELU_PLUS_ONE,
    FEATURE_RELU,
    FEATURE_SQUARED_RELU,
    FEATURE_TAYLOR1,
    FEATURE_FAVOR_POSITIVE,
    FEATURE_FAVOR_TRIG,
    FEATURE_FAVOR_RELU,
    FEATURE_HEDGEHOG
};
struct similarity {
    enum similarity_kind kind;
    struct position at;
    /* softmax */
    bool has_scale, has_cap;
    double scale, cap;
    enum bias_kind bias;
    enum compatibility_kind compatibility;
    int64_t hidden;           /* additive */
    const struct expression *modify; /* or NULL */
    struct position modify_at, compatibility_at, bias_at;
    /* polynomial, polynomial_square, polysketch */
    int64_t degree;
    double alpha, beta;
    double *coefficients;     /* degree + 1 of them; NULL: a parameter */
    int64_t sketch;
    bool learned, local_exact;
    /* linear */
    enum feature_kind features;
    struct position features_at;
    double eps;
    int64_t count;
    bool orthogonal, has_seed;
    uint64_t seed;
    /* custom */
    const struct expression *weight;
    struct position weight_at;
};

enum mask_kind {
    MASK_NONE,
    MASK_CAUSAL,
    MASK_WINDOW,
    MASK_BLOCK_WINDOW,
    MASK_PREFIX,
    MASK_GLOBAL,
    MASK_RANDOM,
    MASK_DOCUMENT,
    MASK_EXPR,
    MASK_ANY,
    MASK_ALL,
    MASK_NOT
};
struct mask {
    enum mask_kind kind;
    struct position at;
    int64_t left, right, dilation; /* window, block_window (without dilation) */
    int64_t block, count;          /* block_window, random; global (count; or tokens) */
    int64_t length;                /* prefix */
    int64_t *token;                /* global: tokens, or NULL */
    int tokens;
    uint64_t seed;                 /* random */
    bool causal;                   /* random */
    const struct expression *expr;
    int parts;                     /* any, all, not */
    struct mask **part;
};

enum normalize_kind { NORMALIZE_SUM, NORMALIZE_SUM_PLUS, NORMALIZE_NONE };
enum algorithm_kind { ALGORITHM_AUTO, ALGORITHM_QUADRATIC, ALGORITHM_LINEAR };
enum { EMIT_FORWARD = 1, EMIT_BACKWARD = 2, EMIT_DECODE = 4 };
struct knob {
    const char *name;
    int64_t value;
    struct position at, value_at;
};
/* An entry of `schedule:`. */
struct schedule {
    int64_t from; /* keys that it holds from; 0: the first, or the only one */
    struct knob *knob;
    int knobs;
};
enum { MOST_SCHEDULES = 8 };
struct spec {
    const char *name, *description;
    struct position name_at; /* nowhere: the file's name, or --set */
    struct prepare *prepare;
    int prepares;
    struct similarity similarity;
    int64_t block; /* 0: auto */
    struct mask *mask;
    enum normalize_kind normalize;
    double sum_plus;
    int64_t linformer; /* size; 0: absent */
    struct position project_at, block_at, algorithm_at, emit_at;
    int64_t head_dim, value_dim;
    enum dtype dtype;
    enum algorithm_kind algorithm;
    unsigned emit;
    struct schedule *schedule; /* ascending */
    int schedules;             /* 0: all is the compiler's choice */
};
/* `overrides` are the key=value of --set, applied before the checks (an error in one is positioned nowhere and names it).
   `file` gives the default name. NULL when anything is wrong; all of it has been reported to d. */
struct spec *spec_read(struct arena *arena, const char *file, const char *text, size_t length, int overrides, const char *const *override,
                       struct diagnostics *d);
/* specs/README.md, from the rows of spec.def. */
void spec_reference(struct text *out);
/* specs/attnc.schema.json, from the same rows; false: no memory. */
bool spec_schema(struct text *out);

/* The specs that come with attnc (embedded at build time), sorted by name; ends with a NULL name. */
struct library_spec {
    const char *name, *text;
};
extern const struct library_spec library_specs[];
/* By name, or NULL; the name nearest to one that is none of theirs, or NULL. (library.c) */
const struct library_spec *library_find(const char *name);
const char *library_near(const char *name);
/* Every command that takes a spec takes the name of one of these as well: of a name without a slash and a suffix that is no file it is the spec.
   NULL: the operand means a file. */
const struct library_spec *library_operand(const char *operand);
bool library_name(const char *operand); /* whether it could be such a name */

/* ---- from the spec to loops ---- */

/* The quadratic meaning of the spec. NULL after reporting what is not compiled yet. (build.c) */
struct graph *build_graph(struct arena *arena, const struct spec *spec, struct diagnostics *d);

enum { MAX_ID_RANGES = 16 }; /* that one tile compares */
enum { MAX_DRAWN = 16 }; /* masks that draw at random */

/* The graph being built (build_parts.c), for the files build*.c only. */
struct builder {
    const struct spec *spec;
    struct diagnostics *diagnostics;
    struct graph *g;
    struct module *m;
    int b, kv, member, i, j, d, e; /* axes */
    struct position at;            /* what is being built */
    bool lost;                     /* a number was reported */
    int drawn;                     /* masks that draw at random */
};
/* A number that the dtype cannot hold would become 0 or the largest one and the result something else: it is refused, once. */
const struct expr *build_real(struct builder *x, double value);
const struct expr *build_integer(struct builder *x, int64_t value);
const struct expr *build_operand(struct builder *x, int k);
const struct expr *build_index_of(struct builder *x, int axis);
const struct expr *build_size_of(struct builder *x, int axis);
const struct expr *build_op1(struct builder *x, enum expr_op op, const struct expr *a);
const struct expr *build_op2(struct builder *x, enum expr_op op, const struct expr *a, const struct expr *b);
const struct expr *build_add(struct builder *x, const struct expr *a, const struct expr *b);
const struct expr *build_sub(struct builder *x, const struct expr *a, const struct expr *b);
const struct expr *build_mul(struct builder *x, const struct expr *a, const struct expr *b);
const struct expr *build_divide(struct builder *x, const struct expr *a, const struct expr *b);
const struct expr *build_choose(struct builder *x, const struct expr *c, const struct expr *a, const struct expr *b);
const struct expr *build_query_position(struct builder *x);
const struct expr *build_head(struct builder *x);
/* The number of the block that a position, which may be negative, lies in. */
const struct expr *build_block_number(struct builder *x, const struct expr *position, int64_t block);
void build_not_yet(struct builder *x, struct position at, const char *what);
/* The user's expression with `s` for its s; as a truth value where it is a mask. (build_expression.c) */
const struct expr *build_expression(struct builder *x, const struct expression *e, const struct expr *s);
const struct expr *build_condition(struct builder *x, const struct expression *e);
/* Parameters, tables and constant axes are made once, and found when they are asked for again. */
int build_param(struct builder *x, const char *name, int rank, const int *axes);
int build_random(struct builder *x, const char *name, enum origin origin, int rank, const int *axes);
int build_table(struct builder *x, const char *name, int axis, const double *data);
int build_axis(struct builder *x, const char *name, int64_t extent);
/* A map over the first `rank` axes of `like`, of values that all have leading axes among these. */
int build_map_over(struct builder *x, const struct value *like, int rank, int count, const int *values, const struct expr *e);
/* The sum over the last axis. */
int build_row_sum(struct builder *x, int v);
/* Value v with its last axis indexed by `axis`. */
struct ref build_at(struct builder *x, int v, int axis);
/* The rows of v, its last axis called `axis`, times a matrix [axis, result] (any order, heads in front). */
int build_contract(struct builder *x, int v, int axis, int matrix, int result);
/* x / sqrt(<x, x> + eps) for every row x of v, its last axis; a row of zeros stays one. */
int build_unit_rows(struct builder *x, int v, double eps);
/* Mean 0 and variance 1 over the last axis, then times the parameter AFFINE.weight plus AFFINE.bias where the name is not NULL. */
int build_layernorm(struct builder *x, int v, double eps, const char *affine);
/* The weights [b g m i j] of prepared q and k; -1 after an error. (build_similarity.c) */
int build_weights(struct builder *x, int q, int k);
/* The inner product of the features of a finite feature map; of the sketches of PolySketchFormer. (build_features.c) */
int build_linear(struct builder *x, int q, int k);
int build_sketched(struct builder *x, int q, int k);

/* A machine that code is made for (target.c, target.def). */
struct target {
    const char *name;       /* "x86-64-v4" */
    const char *suffix;     /* "v4", the end of C names */
    const char *attribute;  /* of the functions made for it, "" if none */
    const char *guard;      /* preprocessor condition, "" if none */
    const char *supported;  /* C condition at run time, "" if always */
    int vector_bytes, registers;
    int64_t l1_bytes, l2_bytes;
    unsigned features; /* that code may use, as bits: 1 << TARGET_… */
};
enum target_feature {
#define FEATURE(name, suffix, dtype, says) TARGET_##name,
#include "target.def"
    TARGET_FEATURES
};
const struct target *target_find(const char *name); /* NULL: no such target; "native" reads this machine */
bool target_runs(const struct target *t);           /* on this machine */
bool target_has(const struct target *t, enum target_feature feature);
/* Those that a spec of the dtype is compiled for: with the features that serve it, the most capable first, and last the target itself. Returns how many. */
int target_versions(struct arena *arena, const struct target *t, enum dtype dtype, const struct target **version);
const char *target_features_text(struct arena *arena, const struct target *t); /* " with products of bf16", or "" */
int target_rank(const struct target *t);            /* its row in target.def, where the better come first */
const char *const *target_names(void);              /* NULL-ended */
enum { MAX_TARGETS = 8, MAX_VERSIONS = MAX_TARGETS * (TARGET_FEATURES + 1), MAX_COMPILATIONS = 2 * MAX_VERSIONS * MOST_SCHEDULES };

/* The state of one compilation for one target, as the passes see it (pass.c, pipeline.def). */
struct compilation {
    const struct spec *spec;
    const struct target *target;
    struct diagnostics *diagnostics;
    const struct schedule *schedule; /* NULL: no knob is set */
    const struct graph *meaning; /* before the first pass */
    struct graph *graph;
    struct loops *loops; /* from the lower pass on */
    int64_t tile_q, tile_k; /* queries and keys of a tile */
    int64_t part;           /* features of a part */
    bool open_chunk, parts; /* the chunk's length is free; features come in parts */
    unsigned features_used; /* of the target's, by the passes so far */
    int rows, vectors, unroll; /* the register block of a product; vectors of a map at a time (emit_block.c) */
    bool linear;            /* asked for the linear form; else the quadratic one */
    int64_t features;       /* of the linear form that the separate pass found; 0: it found none */
    int64_t reach;          /* the chunks before a query's own that its state is of; 0: all */
    double near_keys;       /* keys that a query meets itself in the linear form */
    const char *why_not;    /* and this says why */
};
/* What the run-time axes are to an output (roles.c); -1: there is none. */
struct roles {
    int lane;   /* its last one, whose points are in the lanes: the queries of a row of the result */
    int stream; /* what is summed over, tile by tile: the keys */
    int chunk;  /* the chunks of a carried state */
};
/* Of the output of that number. Returns NULL, or why loops cannot be made for it. */
const char *roles_of(const struct graph *g, int output, struct roles *out);
/* The cost model (cost.c): from how many keys on the linear form takes less work than the quadratic one. */
int64_t crossover_length(const struct compilation *quadratic, const struct compilation *linear);
/* Why the linear form takes more work however long the sequence is, or NULL. */
const char *linear_never_pays(const struct compilation *quadratic, const struct compilation *linear);
/* What products of pairs of bf16 take off the work for a query and a key. */
double work_saved_by_bf16(const struct compilation *c);
/* Work of the linear form for one token and head, in FLOPs of a product: its features made and met, the state's update, the token's own chunk. */
double linear_cost(const struct compilation *linear);
/* The length of a chunk that takes the least work, for so many features, columns of the state, and work on a pair within the chunk. */
int64_t chunk_length(double features, double columns, double pair);
/* Whether queries meet keys anywhere. */
bool graph_has_pairs(const struct graph *g);
/* Work for one point of the run-time axes of a value and what it is computed from; of folding the states, for one key. */
double value_work(const struct graph *g, const struct value *v);
double fold_work(const struct compilation *c);

/* What one call has to do (count.c). */
struct counts {
    double pairs;   /* of queries and keys that the mask lets meet, of all heads; of a linear form those within chunks */
    double visited; /* pairs that are computed: those, and what else is in tiles that are not wholly masked */
    double tiles;   /* of keys, each times the queries that meet it */
    bool exact;     /* else the pairs of some queries stand for those of their neighbours */
    double flops;   /* useful ones, in products */
    double scalars; /* operations of maps */
    double work;    /* of the cost model */
    double bytes;   /* to and from memory */
    double once;    /* of all arrays together */
};
/* Integer parameters number the positions in runs of `document`; keys and values that a query sees stay in a cache of so many bytes, or do not. */
void count_work(const struct compilation *c, const struct problem_size *size, int64_t document, int64_t cache, struct counts *out);
/* What the loops visit, by their own bounds (visit.c). */
struct visited {
    double pairs; /* of queries and keys, over all heads and batches */
    double tiles; /* of keys, each times the queries that meet it */
    bool exact;   /* else some tiles of queries stand for their neighbours */
};
void count_visits(const struct loops *l, const struct problem_size *size, struct ids *ids, struct visited *out);
/* FLOPs in products and scalar operations for one pair of query and key. */
void count_pair(const struct graph *g, long long *products, long long *scalars);

/* What a machine can do (machine.c). */
struct machine;
/* Compiles what measures it. NULL after a message, and *status. */
struct machine *machine_open(struct arena *arena, bool quiet, enum status *status);
void machine_close(struct machine *m);
const char *machine_text(struct arena *arena);        /* processor, how many, largest cache: one line */
int machine_threads(const struct machine *m);         /* OpenMP's default */
const char *machine_vectors(const struct machine *m); /* what its peak is measured with */
/* FLOPs a second in the type that kernels of a dtype compute in, and bytes a second, of so many threads: measured when first asked for, in several
   turns, and `again` for so many seconds more; the best of all. */
double machine_peak(struct machine *m, enum dtype dtype, int threads, double again);
double machine_bandwidth(struct machine *m, int threads, double again);
double machine_peak_spread(struct machine *m, enum dtype dtype, int threads); /* repeats_spread of its turns */
int64_t machine_cache(void);  /* bytes of the last cache */
int64_t machine_memory(void); /* bytes that are free */
extern const char machine_probe_source[], machine_probe_header[];

/* Repeats of a measurement, as seconds: by how much of the best of them three quarters lie above it at most; 0 for fewer than two. Where that is more
   than SPREAD_MOST one number does not stand for them, and whoever tells it says so. (spread.c) */
double repeats_spread(const double *seconds, int count);
extern const double SPREAD_MOST;

/* How long a call should take (roofline.c). */
struct roofline {
    double work, bytes; /* FLOPs that the peak would take as long for */
};
/* A core of a target, by its row in the table: FLOPs a cycle of two vector units that multiply and add, and bytes of memory a cycle as servers have them. */
double nominal_peak(const struct target *t, enum dtype dtype);
#define NOMINAL_BANDWIDTH 4.0
/* Arrays that fit a cache of so many bytes are not read from memory in one call after the other; 0: none do. */
struct roofline roofline_of(const struct compilation *c, const struct problem_size *size, const struct counts *counts, int threads, int64_t cache);
/* With so many FLOPs and bytes a second; sets *memory, which may be NULL, where bytes take longer. */
double roofline_seconds(const struct roofline *r, double peak, double bandwidth, bool *memory);

/* Whether the passes may make products of bf16: of elements as they are stored, and of weights rounded to it, in the quadratic form. (pass/pair.c) */
bool multiplies_bf16(const struct compilation *c);
enum { MAX_LOOPS = 12 }; /* around a statement */
/* A tile with a copy of array `from`, which the loop's body begins with, in the innermost of `loops` over one of its axes or that threads share; made where
   there is none yet. Its last axis is `lane`, with that extent; with a lane of -1 it is as it comes. (pass/pack.c) */
int packed_tile(struct loops *l, struct stmt **loops, int depth, int from, int lane, int64_t lane_extent, bool paired);
enum pass_level { PASS_GRAPH, PASS_LOWER, PASS_LOOPS };
struct pass {
    const char *name, *says;
    enum pass_level level;
    bool cleanup;                               /* runs where it is due, not at a place of its own */
    unsigned
        requires,
    establishes, invalidates; /* properties of the program, as bits */
    void (*run)(struct compilation *c);
};
#define PASS(name, ...) void pass_##name(struct compilation *c);
#define CLEANUP PASS
#include "pipeline.def"
extern const struct pass passes[];
extern const int pass_count;
/* Called after every pass; may be NULL. Returning false stops. */
typedef bool pass_hook(const struct compilation *c, const struct pass *pass, void *user);
/* Runs the pipeline and verifies after every pass; false after an error (reported) or when the hook stopped. */
bool passes_run(struct compilation *c, pass_hook *hook, void *user);
/* The same of other rows: an error when a pass requires what no pass before it, and no clean-up, establishes. */
bool passes_run_these(const struct pass *pass, int count, struct compilation *c, pass_hook *hook, void *user);
/* What each pass does, requires, establishes and invalidates, as --passes prints it. */
void passes_print(struct text *out);
/* The value of a knob of the compilation's schedule, or `otherwise`. */
int64_t schedule_knob(const struct compilation *c, const char *name, int64_t otherwise);

/* ---- integers over the current ranges of axes (interval.c) ---- */

enum { MAX_TERMS = 8 };
/* The sum of weight[axis] * INDEX, of times * term (each with indices, and no sum itself) and of the rest, which has none. Begin with rest 0. */
struct form {
    int64_t weight[MAX_AXES];
    int terms;
    struct {
        int64_t times;
        const struct expr *e;
    } term[MAX_TERMS];
    const struct expr *rest;
};
/* These say false when the form cannot hold the sum. */
bool form_add(struct module *m, struct form *f, const struct expr *e, int64_t times);
bool form_scale(struct module *m, struct form *f, int64_t times);
/* The largest value of sign * form over the current ranges at most, the least at least, in SIZE, LO, HI; NULL: not known. */
const struct expr *form_extreme(struct module *m, const struct form *f, int64_t sign, bool largest);
const struct expr *expr_extreme(struct module *m, const struct expr *e, bool largest);
/* Whether e is x / by, rounded down. */
bool floor_quotient(struct module *m, const struct expr *e, const struct expr **x, int64_t *by);
const struct expr *floor_divide(struct module *m, const struct expr *x, int64_t by);
/* a - b, where that is known; of expressions without indices. */
bool known_difference(struct module *m, const struct expr *a, const struct expr *b, int64_t *difference);

/* Between which numbers a real expression stays, whatever the indices and sizes; from -infinity to infinity where that is not known. (real_range.c) */
struct real_range {
    double low, high;
};
struct real_range real_range(const struct expr *e);
struct real_range real_range_of(const struct expr *e, struct real_range operand); /* where operands stay in that range */

/* An exponential of query and key as base^(position of the query - position of the key) * factor of the query * factor of the key, with a base above 0
   and up to 1 that is the same for all queries and keys. `ordered`: no key comes after the query. Returns why it is none, or NULL. (decay.c) */
struct decay {
    const struct expr *base, *factor[2];
};
const char *decay_of(struct module *m, const struct value *weight, int lane, int stream, bool ordered, const struct expr *e, struct decay *out);

/* The indices of an axis that a region has for some point of the current ranges of the other axes, or a few more; or (`every`) those that it has for
   every point, or a few less. A union; a bound that is NULL is none. (region.c) */
struct ranges {
    int count;
    struct range range[MAX_RANGES];
};
void region_ranges(struct module *m, const struct expr *region, int axis, bool every, struct ranges *out);
/* The keys that a conjunction leaves of every period, from those of its conditions that repeat themselves (period.c): the residues from `phase` on, at most
   `run` of them. */
struct period {
    uint64_t periodic;        /* those conditions, as bits; 0: there are none */
    int64_t period, run;      /* run 0: it leaves nothing */
    bool with_query;          /* the phase moves with the query: it is given for the first one of the current range */
    bool exact;               /* all of these residues are left */
    const struct expr *phase; /* in SIZE, LO */
};
void conjunction_period(struct module *m, int query_axis, int key_axis, int conditions, const struct expr *const *condition, struct period *out);
/* A condition on the current ranges of all axes without which the region has no point in them, because of the ids it reads; NULL: none is known. */
const struct expr *region_reached(struct module *m, const struct expr *region);

/* ---- emitted C (emit.c: the files; emit_tasks.c: functions; emit_loops.c: statements; emit_expr.c: maps; emit_address.c: numbers and addresses;
   emit_vector.c: vector types and functions) ---- */

/* The code of a product for all its targets, or for one. `command` is the reproducing command. Standalone files include no header of attnc. */
struct product;
void emit_source(const struct product *p, const struct target *only, const char *command, struct text *file);
void emit_header(const struct product *p, const char *command, struct text *out);
/* How a compilation uses the registers: rows, vectors, unroll; and what its functions' names end in, where some are for other blocks. (emit_block.c) */
const char *emit_suffix(const struct compilation *c);
/* The runtime's types, with the guard that they have in attnrt.h, and those of its functions that `kernel` calls, static. (standalone.c) */
void standalone_types(struct text *out);
void standalone_functions(struct arena *arena, const char *kernel, struct text *out);
/* NAME.dot, NAME.json (false: no memory) and NAME.py (emit_dot.c, emit_json.c, emit_python.c). */
void emit_dot_file(const struct product *p, struct text *out);
bool emit_json(const struct product *p, struct text *out);
void emit_python(const struct product *p, struct text *out);
/* Reports a name that NAME.py cannot have. (python_name.c) */
void python_check_name(const struct spec *spec, struct diagnostics *d);
extern const char python_body[]; /* python_body.py */
/* The C name of an axis' extent: "n_q", or a number. */
const char *emit_size(const struct module *m, int axis);
/* The C name for a dotted parameter name: "q_norm_weight". */
const char *emit_name(struct arena *arena, const char *name);

/* A function that one target's code has for products of one shape: its parameters, and its arguments of the product of any shape (emit_product.c). */
struct product_function {
    const char *list, *call;
    struct product_function *next;
};

/* The printer of one target's code. */
struct emitter {
    const struct compilation *c;
    const struct loops *l;
    struct module *m;
    const char *suffix, *real; /* "v4", "float" */
    int lanes, vectors, rows;  /* elements of a vector; register block of a product */
    int unroll;                /* vectors of a map at a time */
    struct product_function **products; /* a list that the compilations for a target share */
    bool compensated; /* some sums keep what rounding leaves over */
    int64_t region_keys, region_pairs; /* that products over a region sum over, at most; the latter in pairs of bf16 */
    struct text *out;
    int indent, temporaries;
    bool task_axis[MAX_AXES]; /* axes that the task number fixes */
    int64_t stride[MAX_AXES]; /* between neighbours in the current range of an axis; 0: 1 */
    bool cut[MAX_AXES];       /* constant axes of which a turn has a part: from f0 to f1 */
    bool phases;              /* a thread's memory is in *part; else `work` */
    bool in_window;           /* the range of the chunks is the window's, not one chunk */
    int drawns;               /* what is drawn at random and has its lists by now */
    const struct expr *drawn[MAX_DRAWN];
    int64_t workspace_used;      /* of what lies after the tiles: the next free byte; 0: all is free */
    int ids;                     /* ranges of positions whose ids are known, each by one of its ends */
    const struct expr *id[MAX_ID_RANGES];
    const struct range *hoisted; /* the ranges of an IF whose union is known before its loop */
};
/* One line of C, or more when it is long: it is cut at blanks. */
void emit_wrapped(struct text *out, int indent, const char *text);
void emit_line(struct emitter *x, const char *format, ...) IR_PRINTF(2, 3);
/* The vector types, the functions on them and the products that the code names. */
void emit_vector_functions(const struct emitter *x, const char *code, struct text *out);
const char *emit_real(enum dtype dtype);   /* the C type of what is computed with elements stored so */
const char *emit_stored(enum dtype dtype); /* the C type of such an element */
/* The functions of one compilation (emit_tasks.c). */
void emit_tasks(struct emitter *x, struct text *out);
/* The name of a function of a compilation: NAME_part_v4, or NAME_part_from4096_v4. What does the work of a call is "linear" or "rows". */
const char *emit_function(const struct compilation *c, const char *part);
const char *emit_form(const struct compilation *c);
/* Whether the functions are the parallel loops on a head, one after the other. */
bool emit_in_phases(const struct loops *l);
/* The queries of a task, 0 for tasks that are whole key/value heads, -1 for whole query heads. */
int64_t emit_tasks_of(const struct loops *l);
/* How far apart neighbours in a task's tile of queries are. */
int64_t emit_tasks_apart(const struct loops *l);
/* Statements, into x->out. */
void emit_statements(struct emitter *x, const struct stmt *s);
/* A DOT statement; the functions that those before it call. (emit_product.c) */
void emit_dot(struct emitter *x, const struct stmt *s);
void emit_products(const struct emitter *x, struct text *out);
/* Elements of an axis' current range, the name of a reference's array, and the address of an operand at the beginning of the ranges of the nest's axes, as C. */
const char *emit_range(struct emitter *x, int axis);
const char *emit_array(const struct emitter *x, const struct ref *r);
const char *emit_corner(struct emitter *x, const struct stmt *s, const struct ref *r);
/* Whether the axis is in tiles (variables i0, i1, and i inside a nest); else it has one variable of its own name. */
bool emit_tiled(const struct emitter *x, int axis);
/* Where a nest's variable of the axis begins and ends, as C. */
const char *emit_first(const struct emitter *x, int axis);
const char *emit_end(const struct emitter *x, int axis);
/* Whether the array, a tile, has only a part of its constant axis k, and counts from where that begins. */
bool emit_part(const struct emitter *x, const struct array *a, int k);
/* The heads of the loops that a FOR over tiles of queries or keys is, the last of them over the tiles, with their ranges: returns how many. The condition
   of an IF with ranges; what a loop needs that is drawn at random, and its name. (emit_ranges.c) */
int emit_tile_loops(struct emitter *x, const struct stmt *s);
const char *emit_outside(struct emitter *x, const struct stmt *s);
void emit_drawn_lists(struct emitter *x, const struct stmt *loop);
const char *emit_drawn_name(const struct emitter *x, const struct expr *drawn);
/* What the conditions in a statement compare of ids, declared where they are first known: before the loop, or (`inside`) at the beginning of its
   body; and the C of one end of such a range. (emit_ids.c) */
void emit_ids(struct emitter *x, const struct stmt *s, bool inside);
const char *emit_id_end(struct emitter *x, const struct expr *e);
/* The functions that read ids. */
extern const char emit_ids_functions[];
/* Bytes of workspace that these need, after the tiles. */
int64_t ranges_workspace(const struct compilation *c);
/* A MAP statement. */
void emit_map(struct emitter *x, const struct stmt *s);
/* The array `to` of masks says in which lanes of the axis the region holds, for the other axes as they stand. */
void emit_region(struct emitter *x, const struct expr *region, int lane, const char *to);
/* An expression in SIZE, LO, HI (and INDEX of axes with their own variable) as C. */
const char *emit_integer(struct emitter *x, const struct expr *e);
/* A number of the emitted type (`narrow`: float), the shortest that reads back; the sign of a binary operator, or NULL. */
const char *emit_number(const struct emitter *x, double value, bool narrow);
const char *emit_infix(enum expr_op op);
/* The address of element `r`, as C: "q + (i0 + i) * q_row + d". */
const char *emit_address(struct emitter *x, const struct ref *r);
/* The element itself: "q[(i0 + i) * q_row + d]". */
const char *emit_element(struct emitter *x, const struct ref *r);
/* Elements between an index along an axis of a reference and the next, as C, "0" when it does not run along it; and the same between neighbours in the
   axis' current range. */
const char *emit_stride(struct emitter *x, const struct ref *r, int axis);
const char *emit_step(struct emitter *x, const struct ref *r, int axis);
/* Whether neighbours in the current range of an axis are apart: then its elements are counted, and name_count is how many there are. */
bool emit_apart(const struct emitter *x, int axis);

/* ---- the C compiler, the cache of compiled kernels, loading (cc.c) ---- */

struct loaded_code {
    void *handle;
    const void *symbol;
};
/* Compiles (or finds in the cache) NAME.c, which may include NAME.h and attnrt.h, and loads it; then `symbol` is the address of the symbol of that name.
   Reports to standard error; returns STATUS_DONE or STATUS_MACHINE. */
enum status code_load(const char *name, const char *source, const char *header, const char *symbol, bool quiet, struct loaded_code *out);
void code_unload(struct loaded_code *code);
/* The first line that the C compiler says of its version; NULL after a message. */
struct options;
const char *compiler_version(struct arena *arena, const struct options *o);
struct attn_kernel;
struct loaded_kernel {
    struct loaded_code code;
    const struct attn_kernel *kernel;
};
/* The same with the emitted source of a kernel. */
enum status kernel_load(const char *name, const char *source, const char *header, bool quiet, struct loaded_kernel *out);
void kernel_unload(struct loaded_kernel *k);
/* The threads that it runs on when it is asked for so many (0: OpenMP's default); one where it was compiled without OpenMP. */
int kernel_threads(const struct loaded_kernel *k, int asked);

/* The text of runtime/attnrt.h, embedded when attnc is built, so that kernels compile wherever attnc stands. */
extern const char attnrt_header[];

/* ---- folders (cache.c) ---- */

/* mkdir -p. Returns 0 or -1 with errno. */
int make_folders(const char *path, unsigned mode);
/* Removes a folder and what is in it; a link in its place is removed, and not followed. */
void remove_folder(const char *path);
/* SHA-256 in hexadecimal. */
const char *hash_text(struct arena *arena, const char *data, size_t length);

/* ---- the command line (main.c and one file a subcommand) ---- */

enum output {
#define OUTPUT(name, says) OUTPUT_##name,
#include "command_line.def"
    OUTPUTS
};
struct options {
    bool quiet, color, to_stdout, depfile, list_outputs, show_passes, standalone, tuned;
    const char *out_dir, *in_dir, *depfile_path, *depfile_target, *dump_after;
    unsigned emit; /* 1 << enum output of each; 0, as no user can ask for: products have no text */
    const struct target *target[MAX_TARGETS];
    int targets;
    bool named_targets; /* by --target */
    int threads; /* 0: OpenMP's default */
    /* bench and explain, as they were written; NULL: not there (bench_options.c). Files may be "-", standard output. */
    const char *lengths, *thread_list, *heads, *batch, *document, *time, *limit, *json, *csv, *plot;
    bool machine;
    /* tune, as they were written (tune_options.c) */
    const char *strategy, *trials, *samples, *database, *shard, *export, *merge, *report, *knobs;
    bool resume, query;
    const char *const *shape;
    int shapes;
    bool has_seed;
    uint64_t seed;
    const char *const *set;
    int sets;
    const char *const *file; /* operands */
    int files;
};
/* What a target's code has without a schedule; NULL: there is no such form. */
struct usual {
    const struct target *target;
    struct compilation *quadratic, *linear;
    int64_t crossover; /* keys from which on the linear form is taken, where both are there */
};
/* What runs from so many keys on. */
struct version {
    const struct compilation *c;
    int64_t from;
    int together; /* which heads all threads work on together */
};
/* Everything from one spec file: read, checked, compiled for every target, emitted. */
struct product {
    struct arena *arena;
    struct spec *spec;
    struct graph *graph; /* before the first pass */
    /* For each target and entry of the schedule the quadratic form, the linear one, or both in this order; of equal ones the first. */
    struct compilation *compilation[MAX_COMPILATIONS + 1];
    int compilations;
    struct version version[MAX_COMPILATIONS]; /* by target, then ascending */
    int versions;
    struct usual usual[MAX_VERSIONS];
    int usuals;
    const char *why_quadratic; /* why there is no linear form, or NULL */
    bool standalone;
    const char *command; /* that makes the same output */
    const char *tuned; /* the file that the schedule is from, or NULL */
    const char *file, *text; /* what the spec was read from */
    size_t text_length;
    struct text source, header, source_here;
};
/* Reads the file, reports to standard error; NULL with *status set on failure. product_free also takes NULL. */
struct product *product_make(const char *file, const struct options *o, enum status *status);
/* The C to load: unless --target named others, with the code for the one target that this machine would choose. */
const char *product_source_here(struct product *p, const struct options *o);
/* The same and its header, said to be made by that command: with equal commands equal code is equal text. */
void product_emit_here(const struct product *p, const struct options *o, const char *command, struct text *source, struct text *header);
void product_free(struct product *p);
/* Warns of the user's exponentials that may overflow in a kernel (overflow.c). */
void product_warn(const struct product *p, const struct options *o);
/* Compiles what the spec asks for, for every target (versions.c). False after an error: in d, or about a knob in `schedule`. */
bool versions_make(struct product *p, const struct target *const *target, int targets, const struct options *o, struct diagnostics *d,
                   struct diagnostics *schedule);
/* The text of a spec, from a file or of those that come with attnc; else a message. It ends with a 0 that is not counted. */
enum status read_spec_file(const char *path, const struct options *o, struct text *out);
/* --tuned: gives the product the schedule of the tuned spec beside its own, for whose errors there are diagnostics then. False after a message, or with
   errors in these; *status, where the spec is not to blame. (tuned.c) */
bool tuned_schedule(struct product *p, const char *spec, const struct options *o, struct diagnostics **d, enum status *status);
/* What is taken for every length without a schedule on this machine, or else on the first target. */
const struct usual *product_usual(const struct product *p);
/* A hash of what the spec means: of all but its name, description, schedule, and seeds that only fill in parameters. (tuned.c) */
const char *product_meaning_hash(const struct product *p);
/* The first target that this machine runs; NULL: none. */
const struct target *product_target_here(const struct product *p);
/* What the kernel runs on target t for so many keys; NULL: it was not made for that. */
const struct compilation *product_choice(const struct product *p, const struct target *t, int64_t keys);
/* Writes a file whole or not at all. */
enum status write_whole(const struct options *o, const char *path, const char *data, size_t length);
/* `attnc: error: message` on standard error, in the colours asked for. */
void complain(const struct options *o, const char *format, ...) IR_PRINTF(2, 3);
/* `attnc: KIND: message`, or `attnc: message` where the kind is "", on standard error unless --quiet. Like all that is said, one line of plain text:
   what names and databases have of control characters is shown as `?`. (console.c) */
void mention(const struct options *o, const char *kind, const char *format, ...) IR_PRINTF(3, 4);
/* Text of other programs, which may be several lines; a line, and its end. */
void print_plain(FILE *out, const char *text);
void print_plain_line(FILE *out, const char *format, va_list arguments) IR_PRINTF(2, 0);

int command_bench(const struct options *o);
int command_tune(const struct options *o);
int command_compile(const struct options *o);
int command_explain(const struct options *o);
int command_check(const struct options *o);
int command_run(const struct options *o);
int command_list(const struct options *o);
int command_show(const struct options *o);

#endif
