/* Finds facts about a program without running it: ranges of expressions and regions, periods, decay, overflow, and the
   arrays of a kernel. Terms that all files of this folder use:
   - The current range of an axis is LO <= index < HI: the indices that the surrounding loop processes at a time, such
     as one tile.
   - A region is a condition on indices. A sum adds only the terms inside its region `where`.
   - The position of key j is j. The position of query i is i + n_k - n_q, so the last query has the position of the
     last key.
   - The lane axis runs along the vector lanes. The stream axis is summed over tile by tile (struct roles).
   - Ids are integer parameters with one number for each key, such as the number of the key's document. */
#ifndef ATTNC_ANALYSIS_H
#define ATTNC_ANALYSIS_H

#include "../schedule/schedule.h"
#include "../spec/spec.h"

/* The roles of the run-time axes for an output (roles.c). -1: no axis has the role. */
struct roles {
    int lane;        /* the sequence in the vector lanes: the queries, if the output has a row for each query */
    int stream;      /* the sequence that is summed over tile by tile, usually the keys */
    bool outer_only; /* only `outer` is summed over; the output then has two sequence axes or none */
    int chunk;       /* the axis of the chunks of a carried state */
    /* A bit for each axis that is summed over one index at a time, in loops outside the stream. If the output has a row
       for each key, these axes are the query heads that share the key. */
    uint32_t outer;
    int slices; /* the axis of the slices, if the output has one sum over rows for each slice of rows */
    /* A bit for each axis of the output's rows, the lane included. If the output is a sum over rows, the axes of the
       summed rows are included. */
    uint32_t rows;
};
/* Rows are numbered and divided into slices of equal length. Row number r is in slice r / length.
   - first: the number of the row with lane index 0, at the current indices of all other axes
   - length: the number of rows in a slice, a multiple of 64 */
struct row_slices {
    const struct expr *first, *length;
};
/* Numbers the rows over the bit set `axes`. The lane is the innermost axis, padded to a multiple of 64 rows. `slices`
   is the axis of the slices. In the expression `first` of the result, the index of an axis is written as `leaf`:
   EXPR_INDEX or EXPR_LO. */
struct row_slices slices_of_rows(struct module *m, uint32_t axes, int lane, int slices, enum expr_op leaf);
/* Finds the roles of the run-time axes for output number `output`. Returns NULL, or a message that says why no loops
   can be generated for this output. */
const char *roles_of(const struct graph *g, int output, struct roles *out);
/* Groups outputs that can share their loops. Sets group[o] to the group of output o, and returns the number of groups.
   Groups are numbered from 1, in the order of their first outputs. */
int output_groups(const struct graph *g, int *group);

/* ---- integers over the current ranges of axes (affine.c) ---- */

enum { MAX_TERMS = 8 };

/* An integer expression as a sum of three parts. An empty form has remainder 0.
   - weight[a] * INDEX(a), for each axis a
   - times * e, for each term; e contains an INDEX but is not a sum
   - the remainder, which contains no INDEX */
struct form {
    int64_t weight[MAX_AXES];
    int terms;
    struct {
        int64_t times;
        const struct expr *e;
    } term[MAX_TERMS];
    const struct expr *remainder;
};
/* form_add: f += times * e. form_scale: f *= times. They return false, and leave f unusable, if e is real, a weight
   exceeds 2^30, or f has no room for another term. */
bool form_add(struct module *m, struct form *f, const struct expr *e, int64_t times);
bool form_scale(struct module *m, struct form *f, int64_t times);
/* Returns a bound of sign * f for all indices in the current ranges: an upper bound if `largest`, else a lower bound.
   The bound is an expression in SIZE, LO and HI. Returns NULL if no bound is known. expr_extreme returns a bound of
   e. */
const struct expr *form_extreme(struct module *m, const struct form *f, int64_t sign, bool largest);
const struct expr *expr_extreme(struct module *m, const struct expr *e, bool largest);
/* Whether e is x / by rounded down, for an integer by > 0. If true, sets *x and *by. */
bool floor_quotient(struct module *m, const struct expr *e, const struct expr **x, int64_t *by);
/* Returns x / by rounded down, written with C's division as (x - floormod(x, by)) / by. */
const struct expr *floor_divide(struct module *m, const struct expr *x, int64_t by);
/* Sets *difference to a - b, if a - b is known to be one number for all sizes and ranges. Otherwise returns false. */
bool known_difference(struct module *m, const struct expr *a, const struct expr *b, int64_t *difference);

/* Returns e with the start of the current range in place of every index of a batch axis. The range has one index. */
const struct expr *expr_of_sequence(struct module *m, const struct expr *e);

/* The range of a real expression for all indices and sizes (value_range.c). -infinity or infinity: that bound is not
   known. */
struct real_range {
    double low, high;
};
struct real_range real_range(const struct expr *e);
struct real_range real_range_of(const struct expr *e, struct real_range operand); /* if every operand is in `operand` */

/* A factor base^degree of a product (powers.c). `whole` is the factor; NULL: the product has no such factor. */
struct power_factor {
    const struct expr *whole, *base;
    int64_t degree;
};
/* Limits of powers in the type dtype_of_sums(dtype), in which rows are summed.
   - overflow_degree: the lowest degree at which the sum over an ordinary row overflows (powers.c defines ordinary)
   - overflow_base: the base above which a power of this degree overflows
   - underflow_base: the base below which a power of this degree loses digits or becomes 0 */
int64_t overflow_degree(enum dtype dtype);
double overflow_base(enum dtype dtype, double degree);
double underflow_base(enum dtype dtype, double degree);
/* Returns the highest power among the factors of `weight`, a map. `whole` is NULL if the weight contains an
   exponential, or grows with a degree below overflow_degree. */
struct power_factor overflowing_power(const struct module *m, const struct value *weight);
/* Returns the degree with which the weight of a pair grows: 4 for (1 + s)^4. `source` is the graph before all
   passes. */
double weight_growth(const struct graph *source);
/* Returns p if the program divides its sums of powers u^p by M^p, where M is the maximum of |u| in a row
   (pass/stabilise.c). Returns 0 if it has no such sums. */
int64_t relative_degree(const struct graph *g);

/* Writes an exponential e of query and key as base^distance * factor[0] * factor[1] (decay.c). Returns NULL, or a
   message that says why e is no such product.
   - distance: the position of the query minus the position of the key
   - base: above 0, at most 1, and the same for all queries and keys
   - factor[0]: depends only on the query
   - factor[1]: depends only on the key
   - weight: the map that contains e; `lane` and `stream` are the axes of queries and keys
   - ordered: no key comes after the query */
struct decay {
    const struct expr *base, *factor[2];
};
const char *decay_of(struct module *m, const struct value *weight, int lane, int stream, bool ordered,
                     const struct expr *e, struct decay *out);

/* A prefix sum: the sum of terms, one for each position, up to the position of a query or of a key. A kernel computes
   the prefix sums of a call once, and stores them in arrays over the queries and over the keys (prefix_sums.c). */
struct prefix_sum {
    int terms; /* the number of the value that is summed */
    bool of_query;
};
bool prefix_sum_of(const struct graph *g, int v, struct prefix_sum *out); /* whether value v is a prefix sum */
bool has_prefix_sums(const struct graph *g);
/* The arrays of prefix sums. Those with LOW have what the others lose when they are rounded, so that a difference of
   two large sums keeps its digits.
   - OF_CHUNK: the same memory as OF_KEY, for readers that need no gradient: the ends of chunks
   - GRADIENT_OF_QUERY, GRADIENT_OF_KEY: the gradients with respect to OF_QUERY and OF_KEY
   - GRADIENT: the gradient with respect to the terms */
enum prefix_array {
    PREFIX_OF_QUERY,
    PREFIX_OF_QUERY_LOW,
    PREFIX_OF_KEY,
    PREFIX_OF_KEY_LOW,
    PREFIX_OF_CHUNK,
    PREFIX_OF_CHUNK_LOW,
    PREFIX_GRADIENT_OF_QUERY,
    PREFIX_GRADIENT_OF_KEY,
    PREFIX_GRADIENT,
    PREFIX_ARRAYS
};
const char *prefix_array_name(enum prefix_array array);
enum prefix_array prefix_array_find(const char *name); /* PREFIX_ARRAYS: there is no such array */
/* Computes the arrays of prefix sums for the interpreters, from the inputs `in` of the graph before all passes. `out`
   has room for PREFIX_ARRAYS tensors. The low parts are 0, because the interpreters do not round to f32. Returns NULL
   or an error message. */
const char *prefix_tensors(const struct graph *source, const struct problem_size *size, const struct tensor *in,
                           int count, struct tensor *out, int *made);

/* Finds the indices of `axis` that are in a region, as a union of ranges (region.c). The bounds are expressions in the
   current ranges of the other axes; NULL: the range has no such bound.
   - `every` is false: the union contains each index that is in the region for some indices of the other axes.
   - `every` is true: the union contains only indices that are in the region for all indices of the other axes. */
struct ranges {
    int count;
    struct range range[MAX_RANGES];
};
void region_ranges(struct module *m, const struct expr *region, int axis, bool every, struct ranges *out);

/* Whether a query may see a key after its own position. True also means that the answer is not known. (reach.c) */
bool looks_ahead(const struct graph *g);
/* Whether the length of the sequence changes the result of a query at a given position: the keys that the query sees,
   or the numbers that are computed for it. */
bool depends_on_length(const struct graph *g);
/* For a linear form whose state sums whole chunks. In addition to the state, a query may read keys from before its
   chunk one by one. Returns the maximum number of these keys, or a negative number if it depends on the position or is
   not known. */
int64_t keys_read_back(const struct compilation *c);
/* For a program without chunks: finds the keys that a tile of queries may read, at any position (kept_keys.c). Returns
   false if the tile may read more than these keys:
   - the *first keys at the start of the sequence
   - the *back keys before the first query of the tile
   - all keys from that query on
   For positions up to *first + *back, the list contains all keys of the sequence. */
bool keys_read_on(const struct compilation *c, int64_t *first, int64_t *back);
/* Whether the result of a query depends on positions (position_independent.c):
   - moves_on: true if the result stays the same when `by` is added to the positions of the query and of all keys
   - takes_any_order: true if the result stays the same when the keys before the query are reordered */
bool moves_on(const struct graph *g, int64_t by);
bool takes_any_order(const struct graph *g);

/* The indices of the stream that the periodic conditions of a conjunction select (period.c). A condition is periodic if
   it uses positions only through remainders, such as (i - j) % 4 == 0. A selected index x has floormod(x - phase,
   period) < run. */
struct period {
    uint64_t periodic;        /* a bit for each condition that is periodic; 0: no condition is periodic */
    int64_t period, run;      /* run 0: nothing is selected */
    bool with_query;          /* the phase moves with the query; `phase` is for the first query of the current range */
    bool exact;               /* every index with floormod(x - phase, period) < run is selected */
    const struct expr *phase; /* in terms of SIZE and LO */
    /* The period for a tile whose queries are alike.period positions apart. Such a tile selects fewer keys than a tile
       of neighbouring queries. run 0: it does not, or its period is not known. */
    struct alike {
        int64_t period, run;
        bool exact;
        const struct expr *phase;
    } alike;
};
/* Finds the period of the conjunction of condition[0], condition[1], … */
void conjunction_period(struct module *m, int lane_axis, int stream_axis, int conditions,
                        const struct expr *const *condition, struct period *out);
/* Returns a condition on the integers in the current ranges of all axes. If the condition is false, no pair of a query
   and a key in the ranges is in the region, so a loop over `axis` can skip the tile. Returns NULL if no such condition
   is known. */
const struct expr *region_reached(struct module *m, const struct expr *region, int axis);
/* Returns the bytes of workspace for lists of drawn blocks and for unions of ranges (draw_lists.c). They are stored
   after the tiles. */
int64_t ranges_workspace(const struct compilation *c);
/* Warns of powers, and of exponentials in the user's expressions, that can overflow in a compiled form of the spec.
   `source` is the spec's graph before all passes. (overflow.c) */
void overflow_warn(const struct spec *spec, const struct graph *source, const struct compilation *const *compilation,
                   int compilations, struct diagnostics *d);

/* Whether two EXPR_DRAWN, which test if a block is drawn at random, use the same lists of blocks. */
bool draw_same_lists(const struct expr *a, const struct expr *b);

struct drawn_list {
    int count;
    const struct expr *e[MAX_DRAWN];
};

/* Adds one EXPR_DRAWN for each different list that the statement, or a statement inside it, uses. */
void draw_lists(const struct stmt *s, struct drawn_list *list);
/* The bytes for the lists of one EXPR_DRAWN: a list for each block that a tile overlaps. */
int64_t draw_list_bytes(const struct compilation *c, const struct expr *drawn);
/* The bytes of workspace for the union of a statement's ranges. They are 0 in two cases:
   - No range is drawn, so the union has a fixed length and is a local array.
   - The statement is a DOT, which uses the union of the IF before it. */
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
enum array_access { ACCESS_NONE, ACCESS_READ, ACCESS_WRITTEN, ACCESS_WANTED /* written unless it is NULL */ };
/* How a caller passes an array: as an argument of the entry points, or in struct attn_problem, NAME_params or
   NAME_gradients. WITHIN: not by itself; its rows are the first elements of the rows of another array. WORKSPACE: not
   at all; the kernel computes it. */
enum array_place { PLACE_ARGUMENT, PLACE_PROBLEM, PLACE_PARAMS, PLACE_GRADIENTS, PLACE_WITHIN, PLACE_WORKSPACE };
/* The array has one element, or one row of elements, for each query, key, pair, sequence or head. A SHARED array is the
   same for all. */
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
    enum array_size size; /* the size that a call passes as the extent, if the extent is not constant */
    int64_t extent;
    int64_t block;   /* not 0: the extent is size / block, rounded up */
    const char *key; /* the key in the spec whose value is the extent, such as "head_dim"; or NULL */
};
struct kernel_array {
    const char *name, *identifier; /* "q_norm.weight", "q_norm_weight"; a gradient has "dq_norm.weight", … */
    const char *member;            /* the member of the struct: "q_norm_weight" for a parameter and its gradient */
    enum array_place place;
    enum array_access access[ENTRIES];
    enum dtype dtype;
    bool declared; /* under `arrays:` in the spec */
    bool strided;  /* a parameter with axes whose strides callers may give: a declared array */
    bool compared; /* an integer for each key of a sequence, and a region compares integers of two positions */
    bool of_terms; /* a parameter that the terms of prefix sums alone read */
    bool tiled;    /* a truth value for each pair, which a region reads; calls make a table of its tiles */
    enum array_role role;
    bool learned;        /* a parameter that has a gradient */
    bool rows;           /* the array has a row of real numbers for each token, or for each token and head */
    const char *strides; /* the member of struct call with the strides of the rows: "p.q"; NULL: contiguous */
    int gradient_of;     /* this array is the gradient with respect to the array of this number; -1: no gradient */
    const char *within;  /* PLACE_WITHIN: the name of the other array */
    enum origin origin;  /* only for parameters, like `initial` */
    enum initial initial;
    int rank;
    struct array_axis axis[MAX_RANK];
};
struct kernel_arrays {
    int count;
    struct kernel_array *array; /* arguments, other outputs, parameters, gradients with respect to parameters */
};
/* Makes the table of a kernel's arrays, in the arena of the graph. `source` is the spec's graph before all passes. */
const struct kernel_arrays *kernel_arrays(const struct spec *spec, const struct graph *source);
int kernel_array_find(const struct kernel_arrays *all, const char *name); /* the array's number, or -1 */
bool array_has_size(const struct kernel_array *a, enum array_size size);
int64_t array_row_elements(const struct kernel_array *a);                        /* the number of elements in one row */
const char *array_axis_word(struct arena *arena, const struct array_axis *axis); /* "heads", "64" */
/* Returns the extents of the axes, separated by `between`, with sizes as letters: "B,H,n_q,64". */
const char *array_shape_text(struct arena *arena, const struct kernel_array *a, const char *between);

#endif
