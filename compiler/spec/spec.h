/* Declares the YAML tree, struct spec (a checked spec), the rows of spec.def, and the specs that come with attnc. */
#ifndef ATTNC_SPEC_H
#define ATTNC_SPEC_H

#include "../expression/expression.h"
#include "../support/support.h"

enum yaml_kind { YAML_NULL, YAML_BOOL, YAML_INT, YAML_REAL, YAML_WORD, YAML_LIST, YAML_MAP };
struct yaml {
    enum yaml_kind kind;
    struct position at;
    const char *text;   /* the text of the scalar, as written */
    bool quoted;        /* true for a quoted or block scalar, which is always a WORD */
    bool flag;          /* the value of a BOOL */
    int64_t integer;    /* the value of an INT; a larger integer is a REAL */
    double real;        /* the value of an INT or REAL */
    int count;          /* for a LIST or MAP: the number of items */
    struct yaml **item; /* for a LIST: the elements; for a MAP: the values */
    struct yaml **key;  /* for a MAP: the keys, which are scalars */
    const char *origin; /* the text of the --set that made the node, or NULL if the node is from the file */
    const char *source; /* for scalars of a file: the whole text of the file */
    size_t source_length;
    char style;                    /* the style of a scalar: ' " | > or 0 for a plain one */
    struct expression *expression; /* the scalar as an expression, or NULL */
    bool wrong;                    /* an error about the node was reported */
    bool partial;                  /* for a MAP: an entry was refused, so missing keys are not reported */
};
enum { YAML_MAX_BYTES = 1 << 20 };
/* Reads one YAML document. Plain scalars have the types of the core schema of YAML 1.2. An alias is the same node as
   its anchor. Returns NULL if errors prevent a tree. */
struct yaml *yaml_read(struct arena *arena, const char *text, size_t length, struct diagnostics *d);
/* Returns the value of a key, or NULL. */
struct yaml *yaml_get(const struct yaml *map, const char *key);

enum prepare_kind { PREPARE_LAYERNORM, PREPARE_RMSNORM, PREPARE_L2NORM, PREPARE_ROPE, PREPARE_SCALE };
struct prepare {
    enum prepare_kind kind;
    struct position at;
    bool affine;                    /* used by the steps layernorm and rmsnorm */
    double eps;                     /* used by the steps layernorm, rmsnorm and l2norm */
    double base;                    /* used by the step rope */
    const struct expression *angle; /* used by the step rope: the angle, or NULL for position * base^(-2t/dims) */
    struct position angle_at;
    bool halves;         /* used by the step rope: t and t + dims/2 form a pair; otherwise 2t and 2t + 1 */
    int64_t first, dims; /* used by the step rope, which rotates elements first … first + dims - 1; dims 0: all */
    double by;           /* used by the step scale */
    /* The arrays with the rows that the step changes. 0 arrays: it changes q and k. */
    int rows;
    const struct user_array **row;
};

enum similarity_kind {
    SIMILARITY_SOFTMAX,
    SIMILARITY_POLYSKETCH,
    SIMILARITY_LINEAR,
    SIMILARITY_CUSTOM,
    SIMILARITY_POLYNOMIAL, /* The reader makes a custom weight of this one and the next. */
    SIMILARITY_POLYNOMIAL_SQUARE
};
enum compatibility_kind { COMPATIBILITY_DOT, COMPATIBILITY_MULTIPLICATIVE, COMPATIBILITY_ADDITIVE };
enum bias_kind { BIAS_NONE, BIAS_ALIBI, BIAS_DENSE }; /* only the reader knows these */
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
enum { MAX_WEIGHT_STEPS = 3 };
struct similarity {
    enum similarity_kind kind;
    struct position at;
    /* The expressions that are applied to s one after another, each to the result of the one before it: to the weight
       <f(q), f(k)> of linear, and to the scaled inner product of softmax, whose logit they make. */
    int steps;
    const struct expression *step[MAX_WEIGHT_STEPS];
    /* Members for the similarity softmax. */
    bool has_scale;
    double scale;
    enum compatibility_kind compatibility;
    int64_t hidden; /* used by the compatibility function additive */
    /* Members for the similarity polysketch. */
    int64_t degree;
    int64_t sketch;
    bool learned, local_exact;
    /* Members for the similarity linear. */
    enum feature_kind features;
    double eps;
    int64_t count;
    bool orthogonal, has_seed;
    uint64_t seed;
    /* Words that expand.c makes steps of. Nothing after the reader knows them. */
    bool has_cap;
    double cap, alpha, beta;
    enum bias_kind bias;
    double *coefficients; /* degree + 1 coefficients, or NULL if they are an array */
    const struct expression *modify, *weight;
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
    MASK_LENGTHS,
    MASK_BLOCKS,
    MASK_TOP,
    MASK_EXPR,
    MASK_ANY,
    MASK_ALL,
    MASK_NOT
};
struct mask {
    enum mask_kind kind;
    struct position at;
    int64_t left, right, dilation; /* used by the masks window and block_window; dilation only by window */
    /* used by the masks block_window, random, blocks and top; count also by global, instead of a list of tokens */
    int64_t block, count;
    int64_t length; /* used by the mask prefix */
    int64_t *token; /* used by the mask global: the list of tokens, or NULL */
    int tokens;
    uint64_t seed;                 /* used by the mask random */
    bool causal;                   /* used by the mask random */
    const struct expression *expr; /* used by the masks expr and top */
    int parts;                     /* used by the masks any, all and not */
    const struct mask **part;
};

enum normalize_kind { NORMALIZE_SUM, NORMALIZE_SINK, NORMALIZE_NONE };
enum algorithm_kind { ALGORITHM_AUTO, ALGORITHM_QUADRATIC, ALGORITHM_LINEAR };
enum { EMIT_FORWARD = 1, EMIT_BACKWARD = 2, EMIT_DECODE = 4, EMIT_STATISTICS = 8, EMIT_WEIGHTS = 16, EMIT_JVP = 32 };
struct knob {
    const char *name;
    int64_t value;
    struct position at, value_at;
};

/* An entry of `schedule:`. */
struct schedule {
    int64_t from; /* the entry is used from this number of keys on */
    struct knob *knob;
    int knobs;
    const struct schedule *backward; /* the knobs of the gradients, or NULL */
};
enum { MAX_SCHEDULES = 8, MAX_DECLARED = 16, MAX_SCORES = 8, MAX_SUMS = 8, MAX_RUNNING = 4 };
/* The maximum number of names of scores, sums and running sums. */
enum { MAX_NAMED = MAX_SCORES + MAX_SUMS + MAX_RUNNING * (MAX_SUMS + 1) };
/* A sum along the keys of a row. `name` is declared in spec->arrays. */
struct running_sum {
    const struct user_array *name;
    const struct expression *sum;
    bool own; /* whether the key itself is added */
};
/* A spec computes one weighted sum of values, or `sums` of them, from which `output` computes the result. Each sum is
   a copy of the spec with the sum's name and its own keys. */
struct spec {
    const char *name, *description;
    int sums;
    const struct spec **sum;
    const struct expression *output, *factor; /* or NULL; `factor` multiplies weights, but not the denominator */
    int runnings;                             /* the running sums of a sum, which later ones and weights read */
    const struct running_sum *running;
    const struct expression *pairs;  /* the output `weights`, or NULL for what values are multiplied by */
    bool counts;                     /* the values of a sum are 1, so that it has a number for each row */
    const struct user_array *values; /* the array with the values of a sum, or NULL for v */
    const char *graph;               /* the text of a graph that replaces what the rest says of the result, or NULL */
    struct position name_at;         /* The position is zero if the name comes from the file's name or from --set. */
    const struct prepare *prepare;
    int prepares;
    struct similarity similarity;
    int64_t block; /* 0 means that the compiler chooses it */
    const struct mask *mask;
    enum normalize_kind normalize;
    double sum_plus;               /* what NORMALIZE_SUM adds to the sum of the weights */
    double dropout;                /* the probability that a weight is dropped */
    uint64_t seed;                 /* seed of the dropout, if the caller gives none */
    const struct expression *sink; /* the logit of the sink, which belongs to no key */
    /* The logarithm of the decay from one position to the next, or NULL. */
    const struct expression *decay;
    const struct expression *rate; /* the rate of delta, or NULL if values are not corrected */
    /* The rows whose values delta removes (NULL: the keys), and those of the keys that have the removed values instead
       of v (NULL: the keys). */
    const struct user_array *erase, *write;
    bool delta_divides; /* delta divides the sum of earlier values by the sum of its weights */
    int64_t linformer;  /* `size` of linformer, or 0 */
    struct position project_at, algorithm_at, emit_at, delta_at, storage_at;
    int64_t head_dim, value_dim, max_length; /* 0 means that there is no limit */
    bool values_are_keys;                    /* a value is the first value_dim elements of its key, before `prepare` */
    enum dtype dtype;
    enum dtype k_storage, v_storage; /* the types of keys and values in memory; DTYPE_F32 means that of `dtype` */
    enum algorithm_kind algorithm;
    unsigned emit;
    struct user_arrays arrays;
    const struct schedule *schedule; /* in ascending order of `from` */
    int schedules;                   /* 0: the compiler chooses everything */
    const struct spec_warning {
        struct position at;
        const char *text;
        const struct spec_warning *next;
    } *warning;
};
/* Reads and checks a spec. Returns NULL after reporting all errors.
   - file: the path of the spec. Without `name:`, the kernel is named after it.
   - override: the KEY=VALUE of each --set */
const struct spec *spec_read(struct arena *arena, const char *file, const char *text, size_t length, int overrides,
                             const char *const *override, struct diagnostics *d);
/* Return a copy of a spec with more outputs, as EMIT_… bits, or with another schedule, for options that override
   these keys. (spec.c) */
const struct spec *spec_with_outputs(struct arena *arena, const struct spec *spec, unsigned emit);
const struct spec *spec_with_schedule(struct arena *arena, const struct spec *spec, const struct schedule *schedule,
                                      int schedules);

/* Return the types of keys and of values in memory. (questions.c) */
enum dtype spec_type_of_keys(const struct spec *spec);
enum dtype spec_type_of_values(const struct spec *spec);
/* Returns whether keys or values have another type than q and out. */
bool spec_has_storage(const struct spec *spec);
/* Returns whether `prepare` has steps for keys. */
bool spec_prepares_keys(const struct spec *spec);
/* Return whether a state that stores rows stores these prepared: those of an array over Nk, keys if it is NULL, or any.
   Rows of 16 bits are not prepared before they are stored, because rounding would change the result. Expressions read
   elements of an array as they are given. (questions.c) */
bool spec_stores_prepared(const struct spec *spec, const struct user_array *rows);
bool spec_stores_any_prepared(const struct spec *spec);
/* Returns the bytes of a key and its value in memory. If values are parts of keys, they are the bytes of the key. */
int64_t spec_pair_bytes(const struct spec *spec);

/* The number of arrays that every kernel has. */
enum {
    FIXED_ARRAYS = 0
#define ARRAY(name, quantity, forward, backward, heads, length, elements, sharing, gradient_of) +1
#include "kernel_arrays.def"
#undef ARRAY
};
/* Returns why an array cannot have the name, or NULL. (arrays.c) */
const char *spec_array_fault(struct arena *arena, const char *name);
/* Returns the number in spec->arrays of the array with this name, or -1. (questions.c) */
int spec_array(const struct spec *spec, const char *name);
/* Whether the name is that of a tangent of q, k, v or an array. (questions.c) */
bool spec_has_tangent(const struct spec *spec, const char *name);

/* Calls `visit` for each expression of a spec, also those of its sums. (questions.c) */
void spec_expressions(const struct spec *spec, void (*visit)(void *user, const struct expression *expression),
                      void *user);

/* Questions about a mask, which may be NULL. (mask.c)
   - mask_is_none: whether the spec has no mask
   - mask_has_param, mask_requires_param: whether a part of the mask reads this parameter, and whether all visible pairs
     are in such a part
   - mask_numbers_sequences: whether a part depends on the number of a sequence
   - mask_may_show_same_keys: whether all queries may see the same keys
   - mask_shows_earlier_keys: whether the mask hides later keys from each query, but for those of a prefix, and other
     keys only from all queries; mask_is_of_order: whether it is the condition on later keys; mask_hides_keys: whether
     it hides any from all queries
   - mask_shows_all_earlier_keys: whether it hides later keys and nothing else
   - mask_shows_own_keys: whether it hides later keys, and keys that have another id than the query, and nothing else
   - mask_open_keys: the number of keys at the beginning that all queries see, if mask_shows_earlier_keys
   - mask_open_beside: the number of keys at the beginning that all queries see in addition to those of another mask, or
   0
   - mask_end_of_keys: the number of keys at the beginning that queries may see, or INT64_MAX */
bool mask_is_none(const struct mask *mask);
bool mask_has_param(const struct mask *mask, const char *param);
bool mask_requires_param(const struct mask *mask, const char *param);
bool mask_numbers_sequences(const struct mask *mask);
bool mask_may_show_same_keys(const struct mask *mask);
bool mask_shows_earlier_keys(const struct mask *mask);
bool mask_is_of_order(const struct mask *mask);
bool mask_hides_keys(const struct mask *mask);
bool mask_shows_all_earlier_keys(const struct mask *mask);
bool mask_shows_own_keys(const struct mask *mask);
int64_t mask_open_keys(const struct mask *mask);
int64_t mask_open_beside(const struct mask *mask);
int64_t mask_end_of_keys(const struct mask *mask);
/* Whether parts of a sequence pass sums over earlier keys on. If each query sees all of them, they pass a state on
   instead, which cannot be made with `storage`. (questions.c) */
bool spec_sums_earlier_keys(const struct spec *spec);
/* Whether weights of any sum may have finite features, so that there may be a linear form. (questions.c) */
bool spec_may_be_linear(const struct spec *spec);
/* Whether any sum has running sums. (questions.c) */
bool spec_has_running(const struct spec *spec);
/* Whether a denominator has a constant or a sink. (questions.c) */
bool spec_has_constant(const struct spec *spec);

/* The kind of statistics that forward returns (enum attn_statistics of attnrt.h). spec_has_logarithms returns
   whether they are logarithms. (questions.c) */
enum statistics_kind { STATISTICS_ABSENT, STATISTICS_LOGARITHMS, STATISTICS_DENOMINATORS, STATISTICS_UNDIVIDED };
enum statistics_kind spec_statistics(const struct spec *spec);
bool spec_has_logarithms(const struct spec *spec);

/* Reports a spec's warnings about expressions. If `refuse`, reports them as errors. (error.c) */
void spec_warn(const struct spec *spec, bool refuse, struct diagnostics *d);

/* The specs that come with attnc, sorted by name. The last element has a NULL name. */
struct library_spec {
    const char *name, *text;
};
extern const struct library_spec library_specs[];
/* library_find returns the spec with this name, or NULL. library_near returns the most similar name of
   a spec, or NULL. (library.c) */
const struct library_spec *library_find(const char *name);
const char *library_near(const char *name);
/* Returns `description:` of a spec, or "". The first line says what the spec computes. Later lines name the paper. */
const char *library_description(struct arena *arena, const struct library_spec *spec);
/* Returns the group of a spec in `attnc list`, such as "linear, with a decay". */
const char *library_group(struct arena *arena, const struct library_spec *spec);
/* Returns the library spec that an operand names, or NULL. Such an operand has neither a slash nor a dot, and no
   file has this name. */
const struct library_spec *library_operand(const char *operand);
bool library_name(const char *operand); /* returns whether it has neither a slash nor a dot */

enum { MAX_DRAWN = 16 }; /* the maximum number of `random` and `blocks` masks */

/* Reports an error if NAME.py cannot be a Python module. (python_name.c) */
void python_check_name(const struct spec *spec, struct diagnostics *d);
bool python_is_keyword(const char *name); /* of Python, but not of C */
/* Reads the text of a spec from a file or the library. Reports an error if it cannot. out->length does not count the
   final 0. */
enum status read_spec_file(const char *path, const struct options *o, struct text *out);

enum group {
#define GROUP(group) GROUP_##group,
#include "spec.def"
    GROUPS
};

enum choice {
#define CHOICE(choice, heading, says) CHOICE_##choice,
#include "spec.def"
    CHOICES
};

/* The types of the values of keys. CHOICE stores the word as an enum. SWITCH stores it as a bool. NAMED is a map whose
   keys are names, and whose values are maps of a group. */
enum row_type {
    ROW_INTEGER,
    ROW_NUMBER,
    ROW_FLAG,
    ROW_SEED,
    ROW_NAME,
    ROW_TEXT,
    ROW_EXPRESSION,
    ROW_CHOICE,
    ROW_SWITCH,
    ROW_GROUP,
    ROW_SIMILARITY,
    ROW_PREPARE,
    ROW_MASK,
    ROW_MASKS,
    ROW_MASK_PART,
    ROW_BLOCK,
    ROW_COEFFICIENTS,
    ROW_TOKENS,
    ROW_EMIT,
    ROW_SCHEDULE,
    ROW_NAMED,
    ROW_EXTENTS,
    ROW_ROWS,
    ROW_ROW,
    ROW_VALUES
};
enum row_check {
    CHECK_ANY,
    CHECK_EVEN,
    CHECK_POWER_OF_TWO,
    CHECK_FINITE,
    CHECK_POSITIVE,
    CHECK_NOT_NEGATIVE,
    CHECK_PROBABILITY,
    CHECK_NOT_ZERO
};
enum payload { PAYLOAD_BARE, PAYLOAD_OPTIONS, PAYLOAD_VALUE };

struct key_row {
    enum group group;
    const char *key;
    enum row_type type;
    int of;
    enum row_check check;
    int64_t low, high;
    const char *otherwise;
    size_t field, has, at;
    const char *says;
};
struct choice_row {
    const char *heading, *says;
};
struct option_row {
    enum choice choice;
    const char *word;
    int value;
    enum payload payload;
    enum group group;
    const char *says;
};
extern const struct key_row key_rows[];
extern const int key_row_count;
extern const struct choice_row choice_rows[];
extern const struct option_row option_rows[];
extern const int option_row_count;

/* Appends a description of the values that a key takes, such as "an even integer from 2 to 64". (rows.c) */
void spec_row_domain(const struct key_row *row, struct text *out);
bool spec_row_takes_numbers(const struct key_row *row); /* of an expression: whether its value may be a number */
const struct key_row *spec_find_key(enum group group, const char *key);

#endif
