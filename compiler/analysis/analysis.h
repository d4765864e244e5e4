/* The functions here find facts about a program without running the program: ranges of integers and of real
   expressions, ranges of regions, decay, and lists drawn at random. */
#ifndef ATTNC_ANALYSIS_H
#define ATTNC_ANALYSIS_H

#include "../schedule/schedule.h"
#include "../spec/spec.h"

/* The roles of the run-time axes for an output (roles.c); -1: none. */
struct roles {
    int lane;        /* the sequence in the lanes: the queries, for a result with a row for each query */
    int stream;      /* the sequence that is summed over tile by tile, usually the keys */
    bool outer_only; /* the result has both sequences, or none, and only `outer` is summed over */
    int chunk;       /* the chunks of a carried state */
    /* As bits, the axes around the stream that are summed over one index at a time. If the result has a row for each
       key, these are the heads that share keys. */
    uint32_t outer;
    int slices; /* of a sum over rows: the axis of the slices that rows are divided into */
    /* As bits, the axes of the output's rows, the lane included. A sum over rows also has the axes summed over here. */
    uint32_t rows;
};
/* How rows are divided into slices. The rows run over `axes`, with the lane as the innermost axis. `first` is the
   number of the first row at the current indices of all axes except the lane; `leaf` (INDEX or LO) says how these
   indices are written. `length` is the number of rows in a slice. */
struct row_slices {
    const struct expr *first, *length;
};
struct row_slices slices_of_rows(struct module *m, uint32_t axes, int lane, int slices, enum expr_op leaf);
/* Finds the roles for the output with number `output`. Returns NULL, or the reason why loops cannot be made for this
   output. */
const char *roles_of(const struct graph *g, int output, struct roles *out);
/* Groups outputs that can share their loops. group[o] is the group of output o. Groups are numbered from 1, in the
   order of the first output in each group. Returns the number of groups. */
int output_groups(const struct graph *g, int *group);

/* ---- integers over the current ranges of axes (affine.c) ---- */

enum { MAX_TERMS = 8 };

/* A sum of three parts. An empty form has remainder 0.
   - weight[axis] * INDEX for each axis
   - times * e for each term; e has indices but is not a sum
   - the remainder, which has no indices */
struct form {
    int64_t weight[MAX_AXES];
    int terms;
    struct {
        int64_t times;
        const struct expr *e;
    } term[MAX_TERMS];
    const struct expr *remainder;
};
/* These return false if the form cannot hold the sum. */
bool form_add(struct module *m, struct form *f, const struct expr *e, int64_t times);
bool form_scale(struct module *m, struct form *f, int64_t times);
/* Returns a bound of sign * form over the current ranges, in terms of SIZE, LO and HI. The bound is an upper bound if
   `largest`, and a lower bound otherwise. Returns NULL if no bound is known. */
const struct expr *form_extreme(struct module *m, const struct form *f, int64_t sign, bool largest);
const struct expr *expr_extreme(struct module *m, const struct expr *e, bool largest);
/* Whether e is x / by, rounded down. */
bool floor_quotient(struct module *m, const struct expr *e, const struct expr **x, int64_t *by);
const struct expr *floor_divide(struct module *m, const struct expr *x, int64_t by);
/* Finds a - b if the difference is the same for all sizes and ranges. */
bool known_difference(struct module *m, const struct expr *a, const struct expr *b, int64_t *difference);

/* The range of a real expression for all indices and sizes. A bound that is not known is -infinity or infinity.
   (value_range.c) */
struct real_range {
    double low, high;
};
struct real_range real_range(const struct expr *e);
struct real_range real_range_of(const struct expr *e, struct real_range operand); /* if operands stay in that range */

/* `whole` is the factor base^degree of a product; NULL if there is no such factor. (powers.c) */
struct power_factor {
    const struct expr *whole, *base;
    int64_t degree;
};
/* `dtype` is the type of a row's sums.
   - overflow_degree: the lowest degree at which powers of ordinary numbers overflow `dtype`.
   - overflow_base: the base above which a power of this degree overflows `dtype`.
   - underflow_base: the base below which a power of this degree loses digits or becomes 0. */
int64_t overflow_degree(enum dtype dtype);
double overflow_base(enum dtype dtype, double degree);
double underflow_base(enum dtype dtype, double degree);
/* The highest power among the factors of a weight, which is a map. Found only if the degree is at least overflow_degree
   and the weight has no exponential. */
struct power_factor overflowing_power(const struct module *m, const struct value *weight);
/* The highest degree with which a weight of query and key grows. `source` is the graph before all passes. */
double weight_growth(const struct graph *source);
/* The degree of the powers that the sums of a program are relative to; 0 if there are no such powers. */
int64_t relative_degree(const struct graph *g);

/* Writes an exponential of query and key as a product of three factors (decay.c):
   - base^(position of the query - position of the key); the base is above 0, at most 1, and the same for all queries
     and keys
   - a factor of the query
   - a factor of the key
   `ordered` says that no key comes after the query. Returns NULL, or the reason why the exponential is no such
   product. */
struct decay {
    const struct expr *base, *factor[2];
};
const char *decay_of(struct module *m, const struct value *weight, int lane, int stream, bool ordered,
                     const struct expr *e, struct decay *out);

/* The indices of an axis that are in a region, for the current ranges of all other axes. The result is a union of
   ranges. A bound of NULL means that the range has no such bound. (region.c)
   - Without `every`: the indices that are in the region for some point of the ranges, or a superset of these indices.
   - With `every`: the indices that are in the region for every point of the ranges, or a subset of these indices. */
struct ranges {
    int count;
    struct range range[MAX_RANGES];
};
void region_ranges(struct module *m, const struct expr *region, int axis, bool every, struct ranges *out);

/* Whether a query can see a key after its position. Returns false only if this is certainly not so. (reach.c) */
bool looks_ahead(const struct graph *g);
/* Whether the length of the sequence changes the keys that a query sees or the numbers that it computes, if the query's
   position stays the same. */
bool depends_on_length(const struct graph *g);
/* The largest number of keys before a query's chunk that the query's loops read, if a state takes in whole chunks.
   Negative if the number depends on the position or is not known. */
int64_t keys_read_back(const struct compilation *c);
/* Finds the keys that the loops of a program without chunks read at any position: the *first keys at the start of the
   sequence, the *back keys before the first query of a tile, and all keys from that query on. Returns false if the
   loops read more keys, or if this is not known. Tiles of queries up to position *first + *back can read other keys.
   (kept_keys.c) */
bool keys_read_on(const struct compilation *c, int64_t *first, int64_t *back);
/* These test whether positions matter to a query (position_independent.c):
   - moves_on: whether a query sees and computes the same if `by` is added to the positions of the query and of all
   keys.
   - takes_any_order: whether the order of the keys before a query makes no difference. */
bool moves_on(const struct graph *g, int64_t by);
bool takes_any_order(const struct graph *g);

/* The keys, or queries, that the periodic conditions of a conjunction select in every period. They are at most `run`
   residues, starting with `phase`. (period.c) */
struct period {
    uint64_t periodic;        /* the periodic conditions, as bits; 0: none */
    int64_t period, run;      /* run 0: nothing is selected */
    bool with_query;          /* the phase moves with the query; `phase` is for the first query of the current range */
    bool exact;               /* all `run` residues are selected */
    const struct expr *phase; /* in terms of SIZE and LO */
    /* Like the members above, but for queries whose positions are a multiple of alike.period apart, if such queries
       select fewer keys. run 0: not known. */
    struct alike {
        int64_t period, run;
        bool exact;
        const struct expr *phase;
    } alike;
};
void conjunction_period(struct module *m, int lane_axis, int stream_axis, int conditions,
                        const struct expr *const *condition, struct period *out);
/* Returns a condition on the current ranges of all axes. If the condition is false, ids exclude every point of the
   ranges from the region. Returns NULL if no such condition is known. */
const struct expr *region_reached(struct module *m, const struct expr *region);
/* The workspace for lists and unions of ranges, in bytes. This workspace follows the tiles. */
int64_t ranges_workspace(const struct compilation *c);
/* Warns of powers and of the user's exponentials that can overflow in the compiled forms of a spec. `source` is the
   spec's graph before all passes. (overflow.c) */
void overflow_warn(const struct spec *spec, const struct graph *source, const struct compilation *const *compilation,
                   int compilations, struct diagnostics *d);

bool draw_same_lists(const struct expr *a, const struct expr *b);

struct drawn_list {
    int count;
    const struct expr *e[MAX_DRAWN];
};

void draw_lists(const struct stmt *s, struct drawn_list *list);
int64_t draw_list_bytes(const struct compilation *c, const struct expr *drawn);
/* The bytes for the union of a statement's ranges. Returns 0 if the union is short and of a known length, or if the IF
   before a product already holds the union. */
int64_t draw_union_bytes(const struct compilation *c, const struct stmt *s);

/* ---- the arrays that a caller passes to a kernel (kernel_arrays.c) ---- */

enum array_size {
#define ARRAY_SIZE(name, word, letter) ARRAY_SIZE_##name,
#include "array_sizes.def"
#undef ARRAY_SIZE
    ARRAY_SIZES
};
struct array_size_row {
    const char *name, *word, *letter; /* "HEADS", "heads", "H" */
};
extern const struct array_size_row array_sizes[ARRAY_SIZES];

enum entry { ENTRY_FORWARD, ENTRY_BACKWARD, ENTRIES };
enum array_access { ACCESS_NONE, ACCESS_READ, ACCESS_WRITTEN, ACCESS_WANTED /* written, unless it is NULL */ };
/* An argument of the entry points, or a member of struct NAME_params or struct NAME_gradients. */
enum array_place { PLACE_ARGUMENT, PLACE_PARAMS, PLACE_GRADIENTS };
/* An array has an element, or a row of elements, for each query, key, pair of these, … */
#define ARRAY_ROLES \
    ARRAY_ROLE(PER_QUERY, "query") \
    ARRAY_ROLE(PER_KEY, "key") \
    ARRAY_ROLE(PER_PAIR, "pair") \
    ARRAY_ROLE(PER_SEQUENCE, "sequence") \
    ARRAY_ROLE(PER_HEAD, "head") \
    ARRAY_ROLE(SHARED, "shared")
enum array_role {
#define ARRAY_ROLE(name, text) ROLE_##name,
    ARRAY_ROLES
#undef ARRAY_ROLE
};
const char *array_role_name(enum array_role role);

struct array_axis {
    bool constant;
    enum array_size size; /* the size of the call that the axis has, if not constant */
    int64_t extent;
    const char *key; /* the key of the spec whose value is the extent, or NULL */
};
struct kernel_array {
    const char *name, *identifier; /* "q_norm.weight", "q_norm_weight"; a gradient has "dq_norm.weight", … */
    const char *member;            /* the member of the struct: "q_norm_weight" for a parameter and its gradient */
    enum array_place place;
    enum array_access access[ENTRIES];
    enum dtype dtype; /* I32: ids */
    enum array_role role;
    bool learned;        /* a parameter that has a gradient */
    bool rows;           /* the array has a row of real numbers for each token (and perhaps head), with strides */
    const char *strides; /* the member of struct call with the strides of rows, "p.q"; NULL: contiguous */
    int gradient_of;     /* the number of the array that this is the gradient of, or -1 */
    enum origin origin;  /* of parameters */
    enum initial initial;
    int rank;
    struct array_axis axis[MAX_RANK];
};
struct kernel_arrays {
    int count;
    struct kernel_array *array; /* arguments, then parameters, then gradients with respect to parameters */
};
/* Makes the table of arrays, in the arena of the graph. `source` is the spec's graph before all passes. */
const struct kernel_arrays *kernel_arrays(const struct spec *spec, const struct graph *source);
int kernel_array_find(const struct kernel_arrays *all, const char *name); /* the array's number, or -1 */
bool array_has_size(const struct kernel_array *a, enum array_size size);
int64_t array_row_elements(const struct kernel_array *a);                        /* of an array of rows */
const char *array_axis_word(struct arena *arena, const struct array_axis *axis); /* "heads", "64" */
/* Names the axes by their letters, for example "B,H,n_q,64". */
const char *array_shape_text(struct arena *arena, const struct kernel_array *a, const char *between);

#endif
