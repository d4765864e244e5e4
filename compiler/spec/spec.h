/* Specs: the YAML tree, struct spec (a checked spec), the rows of spec.def, and the specs of attnc. */
#ifndef ATTNC_SPEC_H
#define ATTNC_SPEC_H

#include "../expression/expression.h"
#include "../support/support.h"

enum yaml_kind { YAML_NULL, YAML_BOOL, YAML_INT, YAML_REAL, YAML_WORD, YAML_LIST, YAML_MAP };
struct yaml {
    enum yaml_kind kind;
    struct position at;
    const char *text;   /* the scalar as written */
    bool quoted;        /* a quoted or block scalar, always a WORD */
    bool flag;          /* BOOL */
    int64_t integer;    /* INT; a larger integer is a REAL */
    double real;        /* INT, REAL */
    int count;          /* LIST, MAP */
    struct yaml **item; /* LIST: elements; MAP: values */
    struct yaml **key;  /* MAP: scalars */
    const char *origin; /* the text of the --set of the node; NULL: the file */
    const char *source; /* scalars of a file: the whole text */
    size_t source_length;
    char style;                    /* the style: ' " | > or 0 */
    struct expression *expression; /* the scalar as an expression, or NULL */
    bool wrong;                    /* an error about the node was reported */
    bool partial;                  /* MAP: an entry was refused, so missing keys are not reported */
};
enum { YAML_MAX_BYTES = 1 << 20 };
/* Reads one YAML document. Plain scalars have the types of the core schema of YAML 1.2. An alias is its anchor's
   node. Returns NULL if errors prevent a tree. */
struct yaml *yaml_read(struct arena *arena, const char *text, size_t length, struct diagnostics *d);
/* Returns the value of a key, or NULL. */
struct yaml *yaml_get(const struct yaml *map, const char *key);

enum prepare_kind { PREPARE_LAYERNORM, PREPARE_RMSNORM, PREPARE_L2NORM, PREPARE_ROPE, PREPARE_SCALE };
struct prepare {
    enum prepare_kind kind;
    struct position at;
    bool affine;                    /* layernorm, rmsnorm */
    double eps;                     /* layernorm, rmsnorm, l2norm */
    double base;                    /* rope */
    const struct expression *angle; /* rope: the angle; NULL: position * base^(-2t/dims) */
    struct position angle_at;
    bool halves;         /* rope: t and t + dims/2 form a pair; otherwise 2t and 2t + 1 */
    int64_t first, dims; /* rope: elements first … first + dims - 1 are rotated; dims 0: all */
    double by;           /* scale */
};

enum similarity_kind {
    SIMILARITY_SOFTMAX,
    SIMILARITY_POLYNOMIAL,
    SIMILARITY_POLYNOMIAL_SQUARE,
    SIMILARITY_POLYSKETCH,
    SIMILARITY_LINEAR,
    SIMILARITY_CUSTOM
};
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
    int64_t hidden;                  /* additive */
    const struct expression *modify; /* or NULL */
    struct position modify_at, compatibility_at, bias_at;
    /* polynomial, polynomial_square, polysketch */
    int64_t degree;
    double alpha, beta;
    double *coefficients; /* degree + 1 coefficients; NULL: a parameter */
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
    MASK_LENGTHS,
    MASK_BLOCKS,
    MASK_EXPR,
    MASK_ANY,
    MASK_ALL,
    MASK_NOT
};
struct mask {
    enum mask_kind kind;
    struct position at;
    int64_t left, right, dilation; /* window, block_window (without dilation) */
    int64_t block, count;          /* block_window, random, blocks; global (count; or tokens) */
    int64_t length;                /* prefix */
    int64_t *token;                /* global: tokens, or NULL */
    int tokens;
    uint64_t seed; /* random */
    bool causal;   /* random */
    const struct expression *expr;
    int parts; /* any, all, not */
    struct mask **part;
};

enum normalize_kind { NORMALIZE_SUM, NORMALIZE_SUM_PLUS, NORMALIZE_SINK, NORMALIZE_NONE };
enum algorithm_kind { ALGORITHM_AUTO, ALGORITHM_QUADRATIC, ALGORITHM_LINEAR };
enum { EMIT_FORWARD = 1, EMIT_BACKWARD = 2, EMIT_DECODE = 4, EMIT_STATISTICS = 8 };
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
    struct schedule *backward; /* the knobs of the gradients; NULL: none */
};
enum { MAX_SCHEDULES = 8 };
struct spec {
    const char *name, *description;
    struct position name_at; /* no position: from the file's name or --set */
    struct prepare *prepare;
    int prepares;
    struct similarity similarity;
    int64_t block; /* 0: auto */
    struct mask *mask;
    enum normalize_kind normalize;
    double sum_plus;
    double dropout;                /* the probability that a weight is dropped */
    uint64_t seed;                 /* of dropout, if the caller gives none */
    const struct expression *sink; /* the logit that has no key */
    /* The logarithm of the decay from one position to the next, or NULL. */
    const struct expression *decay;
    const struct expression *rate; /* of delta; NULL: values are not corrected */
    int64_t linformer;             /* `size` of linformer, or 0 */
    struct position project_at, block_at, algorithm_at, emit_at, delta_at;
    int64_t head_dim, value_dim, max_length; /* max_length 0: no limit */
    bool values_are_keys;                    /* a value is the first value_dim elements of its key, before `prepare` */
    enum dtype dtype;
    enum algorithm_kind algorithm;
    unsigned emit;
    struct user_arrays arrays;
    struct schedule *schedule; /* in ascending order of `from` */
    int schedules;             /* 0: the compiler chooses everything */
    const struct spec_warning {
        struct position at;
        const char *text;
        const struct spec_warning *next;
    } *warning;
};
/* Reads and checks a spec. Returns NULL after reporting all errors.
   - file: its name is the default name of the kernel
   - override: the KEY=VALUE of each --set */
struct spec *spec_read(struct arena *arena, const char *file, const char *text, size_t length, int overrides,
                       const char *const *override, struct diagnostics *d);

/* The number of elements of a key and its value. If values are keys, those of the key. */
int64_t spec_pair_elements(const struct spec *spec);

/* Calls visit for each expression of a spec, with its key. (spec.c) */
void spec_expressions(const struct spec *spec,
                      void (*visit)(void *user, const char *key, const struct expression *expression), void *user);

/* The kind of statistics that forward returns (enum attn_statistics of attnrt.h), and whether they are logarithms.
   (spec.c) */
enum statistics_kind { STATISTICS_ABSENT, STATISTICS_LOGARITHMS, STATISTICS_DENOMINATORS, STATISTICS_UNDIVIDED };
enum statistics_kind spec_statistics(const struct spec *spec);
bool spec_has_logarithms(const struct spec *spec);

/* Reports a spec's warnings about expressions, or with `refuse` errors. (error.c) */
void spec_warn(const struct spec *spec, bool refuse, struct diagnostics *d);

/* The specs that come with attnc, sorted by name. The last one has a NULL name. */
struct library_spec {
    const char *name, *text;
};
extern const struct library_spec library_specs[];
/* library_find returns the spec with this name, library_near the most similar name, or NULL. (library.c) */
const struct library_spec *library_find(const char *name);
const char *library_near(const char *name);
/* Returns `description:` of a spec, or "". Its first line says what it computes, later ones name the paper. */
const char *library_description(struct arena *arena, const struct library_spec *spec);
/* Returns the library spec that an operand names, or NULL. A name has neither slash nor dot, and is not a file. */
const struct library_spec *library_operand(const char *operand);
bool library_name(const char *operand); /* neither a slash nor a dot */

enum { MAX_DRAWN = 16 }; /* the maximum number of `random` and `blocks` masks */

/* Reports an error if NAME.py cannot be a Python module. (python_name.c) */
void python_check_name(const struct spec *spec, struct diagnostics *d);
/* Reads the text of a spec from a file or the library, or reports an error. out->length does not count the final 0. */
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

/* The types of values of keys. CHOICE stores the word as an enum, SWITCH as a bool. */
enum row_type {
    ROW_INTEGER,
    ROW_NUMBER,
    ROW_FLAG,
    ROW_SEED,
    ROW_NAME,
    ROW_TEXT,
    ROW_EXPRESSION,
    ROW_ANGLE,
    ROW_EXPRESSION_OF_QUERY,
    ROW_EXPRESSION_OF_DECAY,
    ROW_EXPRESSION_OF_POSITION,
    ROW_CONDITION,
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
    ROW_ARRAYS,
    ROW_EXTENTS
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

/* Appends the values that a key takes, such as "an even integer from 2 to 64". (rows.c) */
void spec_row_domain(const struct key_row *row, struct text *out);
const struct key_row *spec_find_key(enum group group, const char *key);

#endif
