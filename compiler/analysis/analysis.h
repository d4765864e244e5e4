/* Finds facts about a program: ranges of expressions and regions, periods, decay, overflow, and a kernel's arrays.
   Terms:
   - current range of an axis: LO <= index < HI, the indices that the surrounding loop processes at a time
   - region: a condition on indices. A sum adds only the terms in its region `where`.
   - position: j for key j, and i + query_start for query i. query_start is n_k - n_q unless the caller gives it, so
     the last query is at the last key.
   - lane axis: runs along the vector lanes
   - stream axis: is summed over tile by tile (struct roles)
   - ids: integer parameters with a number for each key, such as its document */
#ifndef ATTNC_ANALYSIS_H
#define ATTNC_ANALYSIS_H

#include "../schedule/schedule.h"
#include "../spec/spec.h"

/* The roles of run-time axes for an output (roles.c). -1: no axis. */
struct roles {
    int lane;        /* the sequence in the vector lanes, such as the queries */
    int stream;      /* the sequence that is summed over tile by tile, usually the keys */
    bool outer_only; /* there is no stream: only the axes in `outer` are summed over */
    int chunk;       /* the axis of chunks of a carried state */
    /* Axes that are summed over in loops outside the stream, as bits. Example: for dk, the query heads that share a
       key. */
    uint32_t outer;
    int slices; /* the axis of slices, if the output has one sum per slice of rows */
    /* The axes of the output's rows, as bits. For a sum over rows, they are the axes of the summed rows. */
    uint32_t rows;
};
/* Rows are numbered and divided into slices of equal length. Row r is in slice r / length.
   - first: the number of the row with lane index 0, at the current indices of the other axes
   - length: a multiple of 64 */
struct row_slices {
    const struct expr *first, *length;
};
/* Numbers the rows over `axes`, with the lane as the innermost axis. `first` refers to indices by `leaf`:
   EXPR_INDEX or EXPR_LO. */
struct row_slices slices_of_rows(struct module *m, uint32_t axes, int lane, int slices, enum expr_op leaf);
/* Finds the roles for output number `output`. Returns NULL, or why no loops can be generated. */
const char *roles_of(const struct graph *g, int output, struct roles *out);
/* The order of chunks in the loops for an output of a graph by chunks: 1 from the first one on, -1 from the last one
   on, 0 if any order will do. */
int chunk_direction(const struct graph *g, int output);
/* Groups outputs that can share loops. Sets group[o] and returns the number of groups, which are numbered from 1. */
int output_groups(const struct graph *g, int *group);

/* ---- integers over the current ranges of axes (affine.c) ---- */

enum { MAX_TERMS = 8 };

/* An integer expression as a sum. An empty form has remainder 0.
   - weight[a] * INDEX(a), for each axis a
   - times * e, for each term. e contains an INDEX but is no sum.
   - the remainder, without INDEX except in EXPR_START */
struct form {
    int64_t weight[MAX_AXES];
    int terms;
    struct {
        int64_t times;
        const struct expr *e;
    } term[MAX_TERMS];
    const struct expr *remainder;
};
/* form_add: f += times * e. form_scale: f *= times. Both return false if e is real, a weight exceeds 2^30, or f has
   no room. After a failure, f is unusable. */
bool form_add(struct module *m, struct form *f, const struct expr *e, int64_t times);
bool form_scale(struct module *m, struct form *f, int64_t times);
/* Returns a bound of sign * f over the current ranges: an upper bound if `largest`, otherwise a lower one. The
   bound is an expression of SIZE, LO and HI. Returns NULL if no bound is known. expr_extreme bounds e. */
const struct expr *form_extreme(struct module *m, const struct form *f, int64_t sign, bool largest);
const struct expr *expr_extreme(struct module *m, const struct expr *e, bool largest);
/* Whether e is x / by rounded down, for an integer by > 0. Sets *x and *by. */
bool floor_quotient(struct module *m, const struct expr *e, const struct expr **x, int64_t *by);
/* Returns x / by rounded down, as (x - floormod(x, by)) / by in C. */
const struct expr *floor_divide(struct module *m, const struct expr *x, int64_t by);
/* Sets *difference to a - b if it is the same number for all sizes and ranges. Otherwise returns false. */
bool known_difference(struct module *m, const struct expr *a, const struct expr *b, int64_t *difference);

/* Returns e with LO in place of every index of a batch axis. */
const struct expr *expr_of_sequence(struct module *m, const struct expr *e);

/* The range of a real expression for all indices and sizes (value_range.c). infinity: no bound is known. */
struct real_range {
    double low, high;
};
struct real_range real_range(const struct expr *e);
/* The range of e, if each operand is in the range `operand`. */
struct real_range real_range_of(const struct expr *e, struct real_range operand);
/* Sets *out to the range of random numbers for an array of the spec that a decay or a rate of `delta` reads. The decay
   is then at most 1 and the rate below 1 / head_dim, if the expression allows it. Returns false if normal numbers will
   do. (drawn_range.c) */
bool drawn_range(const struct spec *spec, const char *array, struct real_range *out);

/* A factor base^degree of a product (powers.c). `whole`: the factor as an expression, or NULL if there is none. */
struct power_factor {
    const struct expr *whole, *base;
    int64_t degree;
};
/* Limits of powers in the type dtype_of_sums(dtype).
   - overflow_degree: the lowest degree that overflows for an ordinary row (powers.c)
   - overflow_base: above it, a power of this degree overflows
   - underflow_base: below it, a power of this degree loses digits */
int64_t overflow_degree(enum dtype dtype);
double overflow_base(enum dtype dtype, double degree);
double underflow_base(enum dtype dtype, double degree);
/* Returns the highest power among the factors of the map `weight`. `whole` is NULL if there is an exponential, or
   the degree is low. */
struct power_factor overflowing_power(const struct module *m, const struct value *weight);
/* Returns the degree with which a weight grows: 4 for (1 + s)^4. `source`: the graph before all passes. */
double weight_growth(const struct graph *source);
/* Returns p if sums of powers u^p are divided by M^p, otherwise 0. M is the maximum of |u| in a row.
   (pass/stabilise.c) */
int64_t relative_degree(const struct graph *g);

/* Writes an exponential e as base^distance * factor[0] * factor[1] (decay.c). Returns NULL, or why this is
   impossible.
   - distance: position of the query - position of the key
   - base: above 0 and at most 1, equal for all pairs
   - factor[0] depends on the query, factor[1] on the key
   - weight: the map of e
   - lane, stream: the axes of queries and keys
   - ordered: no key comes after the query */
struct decay {
    const struct expr *base, *factor[2];
};
const char *decay_of(struct module *m, const struct value *weight, int lane, int stream, bool ordered,
                     const struct expr *e, struct decay *out);

/* Returns the logarithm of the base of a decay, to base 2 or e. */
const struct expr *decay_log2(struct module *m, const struct expr *base);
const struct expr *decay_log(struct module *m, const struct expr *base);
/* Whether the base is a number or an exponential, so that its logarithm is not the logarithm of a rounded value. */
bool decay_has_exact_log2(const struct expr *base);

/* A prefix sum: the sum of terms up to the position of a query or key. A kernel computes prefix sums once per call
   and stores them in arrays (prefix_sums.c). */
struct prefix_sum {
    int terms; /* the number of the value with the terms */
    bool of_query;
};
bool prefix_sum_of(const struct graph *g, int v, struct prefix_sum *out); /* whether value v is a prefix sum */
bool has_prefix_sums(const struct graph *g);
/* Whether the terms of prefix sums read a parameter, or whether anything else does. */
bool prefix_terms_read(const struct graph *g, const char *param);
bool others_read(const struct graph *g, const char *param);
bool prefix_terms_move(const struct graph *g); /* whether the terms stay the same if all positions move */
/* The arrays of prefix sums.
   - …_LOW: the rounding error of the sums. With it, a difference of large sums keeps its digits.
   - OF_CHUNK: the prefix sums at the ends of chunks, in the memory of OF_KEY
   - GRADIENT_OF_QUERY, GRADIENT_OF_KEY: gradients with respect to OF_QUERY and OF_KEY
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
enum prefix_array prefix_array_find(const char *name); /* PREFIX_ARRAYS if there is no such array */
/* Whether the loops of forward compute the prefix sums that they read (pass/lower/chunk_sums.c). */
bool prefix_sums_are_own(const struct compilation *c);
/* Computes the arrays of prefix sums for the interpreters, from the inputs `in`. `out` has room for PREFIX_ARRAYS
   tensors. The …_LOW arrays are 0. Returns NULL or an error. */
const char *prefix_tensors(const struct graph *source, const struct problem_size *size, const struct tensor *in,
                           int count, struct tensor *out, int *made);

/* The name of the array of corrected values: the solution of the delta rule's linear system. It exists if the rule
   has no linear form. (pass/correct_values.c, corrected_values.c) corrected_tensor computes the array for the
   interpreters, with the arguments of prefix_tensors. */
extern const char corrected_values[];
const char *corrected_tensor(const struct graph *source, const struct problem_size *size, const struct tensor *in,
                             int count, struct tensor *out, int *made);

/* Finds the indices of `axis` in a region as a union of ranges (region.c). A bound is an expression of the current
   ranges of the other axes, or NULL.
   - without `every`: the union contains all indices that are in the region for some indices of the other axes
   - with `every`: the union contains only indices that are in the region for all indices of the other axes */
struct ranges {
    int count;
    struct range range[MAX_RANGES];
};
void region_ranges(struct module *m, const struct expr *region, int axis, bool every, struct ranges *out);

/* Whether a query may see a later key. Returns true if that is unknown. (reach.c) */
bool looks_ahead(const struct graph *g);
/* Whether the length of the sequence changes the result of a query at a given position. */
bool depends_on_length(const struct graph *g);
/* Returns how many keys before its chunk a query reads one by one, in addition to the state. Returns a negative
   number if that is unknown. */
int64_t keys_read_back(const struct compilation *c);
/* Finds the keys that a tile of queries may read, for a program without chunks (kept_keys.c). Returns false if the
   tile may read keys other than
   - the first *first keys,
   - the last *back keys before the tile's first query,
   - all keys from that query on. */
bool keys_read_on(const struct compilation *c, int64_t *first, int64_t *back);
/* Whether a query's result stays equal (position_independent.c):
   - moves_on: if `by` is added to the positions of the query and all keys
   - moves_together: the same, and arrays with a row for each query move with the queries
   - takes_any_order: if earlier keys are reordered */
bool moves_on(const struct graph *g, int64_t by);
bool moves_together(const struct graph *g, int64_t by);
bool takes_any_order(const struct graph *g);
/* Returns a number of tokens, or 0 if none is known: the rows of tokens that begin at a multiple of it can be computed
   with positions that begin at 0, given the sums over the other tokens. */
int64_t part_period(const struct graph *g);
/* Facts for several ranks that share a sequence (distances.c). */
struct distances {
    int64_t before, after; /* the farthest keys that a query sees before and after its position. INT64_MAX: unknown */
    int64_t period;        /* a result stays equal if all positions move by this number. 0: none is known */
    bool names_heads;      /* a result depends on the number of a head, or of heads */
    bool names_sequences;  /* a result depends on the number of a sequence, or of sequences */
    int64_t saved_power;   /* this and the next ones are as in struct attn_kernel; set by the driver */
    int64_t open_keys, end_of_keys;
};
/* `g`: the graph before all passes. */
struct distances distances_of(const struct graph *g);

/* The indices of the stream that periodic conditions select (period.c). A periodic condition uses only remainders of
   positions, such as (i - j) % 4 == 0. A selected index x has floormod(x - phase, period) < run. */
struct period {
    uint64_t periodic;   /* the periodic conditions, as bits */
    int64_t period, run; /* run 0: nothing is selected */
    /* The phase depends on the query. `phase` belongs to the first query of the current range. */
    bool with_query;
    bool exact;               /* every index x with floormod(x - phase, period) < run is selected */
    const struct expr *phase; /* an expression of SIZE and LO */
    /* A tile whose queries are alike.period apart selects fewer keys than a tile of neighbours. `alike` is the
       period of its selection. run 0: it is unknown, or there is no gain. */
    struct alike {
        int64_t period, run;
        bool exact;
        const struct expr *phase;
    } alike;
};
/* Finds the period of the conjunction of condition[0], condition[1], … */
void conjunction_period(struct module *m, int lane_axis, int stream_axis, int conditions,
                        const struct expr *const *condition, struct period *out);
/* Returns a condition, or NULL. If the condition is false, a loop over `axis` can skip the tile. */
const struct expr *region_reached(struct module *m, const struct expr *region, int axis);
/* Returns the bytes of workspace for lists of drawn blocks and unions of ranges. In the workspace, the lists follow
   the tiles. (draw_lists.c) */
int64_t ranges_workspace(const struct compilation *c);
/* Pages of a state (pages.c). In the workspace, the rows of a tile that is on several pages follow the lists of ranges.
   - array_in_pages returns whether the array has a row for each key.
   - loops_read_pages returns whether a program reads such rows only in loops over keys, at the keys of a range.
   - pages_workspace returns the bytes of the rows of all arrays, and pages_offset the bytes before those of one. */
bool array_in_pages(const struct loops *l, const struct array *a);
bool loops_read_pages(const struct loops *l);
int64_t pages_workspace(const struct compilation *c);
int64_t pages_offset(const struct compilation *c, int array);
/* The sums over the keys of pages that several sequences share (common_keys.c). A program computes them once for the
   rows of all these sequences, a chunk at a time.
   - chunk: the keys of a chunk
   - tile: tiles with a row for each query, which all threads of a head share: prepared queries, and carried sums
   - bytes: the bytes of a row of each of these tiles; row: those of all tiles, a multiple of 64
   - keys: the loop over chunks for keys that all rows see. NULL: the loop of the program. In it,
     EXPR_START(r, k) is looked up for row r: the position of query 0 for k = 0, the number of the row's query for
     k = 1, and of its member for k = 2.
   - from, to: the keys that all rows of a sequence see, if `keys` is not NULL; NULL: no such bound */
enum { MAX_COMMON_TILES = 16 };
struct common_keys {
    int64_t chunk, row;
    const struct stmt *keys;
    const struct expr *from, *to;
    int tiles, tile[MAX_COMMON_TILES];
    int64_t bytes[MAX_COMMON_TILES];
};
/* Returns whether the sums over keys before the queries depend on sequences only by their rows. */
bool common_keys_of(const struct loops *l, struct common_keys *out);
/* Warns of powers and users' exponentials that can overflow in a compiled form. `source`: the graph before all
   passes. (overflow.c) */
void overflow_warn(const struct spec *spec, const struct graph *source, const struct compilation *const *compilation,
                   int compilations, struct diagnostics *d);

/* Whether two EXPR_DRAWN use the same lists of blocks. */
bool draw_same_lists(const struct expr *a, const struct expr *b);

struct drawn_list {
    int count;
    const struct expr *e[MAX_DRAWN];
};

/* Adds one EXPR_DRAWN to *list for each different list of blocks that s and its body use. */
void draw_lists(const struct stmt *s, struct drawn_list *list);
/* Returns the bytes of an EXPR_DRAWN's lists. A tile has one list for each block that it overlaps. */
int64_t draw_list_bytes(const struct compilation *c, const struct expr *drawn);
/* The bytes of workspace for the union of a statement's ranges. It is 0 if
   - no range is drawn, so the union is a local array,
   - the statement is a DOT, which uses the union of the IF before it. */
int64_t draw_union_bytes(const struct compilation *c, const struct stmt *s);

/* ---- the arrays that a caller passes to a kernel (kernel_arrays.c) ---- */

enum array_size {
#define ARRAY_SIZE(name, word, letter) ARRAY_SIZE_##name,
#include "array_sizes.def"
#undef ARRAY_SIZE
    ARRAY_SIZES
};
struct array_size_row {
    const char *name, *word, *letter; /* such as "HEADS", "heads" and "H" */
};
extern const struct array_size_row array_sizes[ARRAY_SIZES];

enum entry { ENTRY_FORWARD, ENTRY_BACKWARD, ENTRIES };
/* ACCESS_WANTED: the kernel writes the array unless it is NULL. */
enum array_access { ACCESS_NONE, ACCESS_READ, ACCESS_WRITTEN, ACCESS_WANTED };
/* How a caller passes an array: as an argument, or in struct attn_problem, NAME_params or NAME_gradients. WITHIN:
   inside another array. WORKSPACE: the kernel computes it. */
enum array_place { PLACE_ARGUMENT, PLACE_PROBLEM, PLACE_PARAMS, PLACE_GRADIENTS, PLACE_WITHIN, PLACE_WORKSPACE };
/* PER_…: the array has an element or row for each query, key, pair, sequence or head. SHARED: it has one for all. */
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

/* The kind of an argument's rows. A gradient has the kind of its array, and any other array has none. */
enum quantity { QUANTITY_NONE, QUANTITY_QUERY, QUANTITY_KEY, QUANTITY_VALUE, QUANTITY_RESULT };

struct array_axis {
    bool constant;
    enum array_size size; /* the size of the call that is the extent, unless the extent is constant */
    int64_t extent;
    int64_t block;   /* if it is not 0, the extent is size / block, rounded up */
    const char *key; /* the key in the spec for the extent, such as "head_dim", or NULL */
};
struct kernel_array {
    /* For example, "q_norm.weight" and "q_norm_weight". For a gradient, "dq_norm.weight" and "dq_norm_weight". */
    const char *name, *identifier;
    const char *member; /* the member in the structs of parameters and of gradients */
    enum quantity quantity;
    enum array_place place;
    enum array_access access[ENTRIES];
    enum dtype dtype;
    enum dtype appended; /* the type of the rows that extend takes. A state stores them as `dtype` */
    bool declared;       /* the spec declares it under `arrays:` */
    bool strided;        /* callers may pass the strides of its axes. This holds for parameters under `arrays:` */
    bool compared; /* it has an integer per key of a sequence, and a region compares the integers of two positions */
    bool of_terms; /* it is a parameter that only the terms of prefix sums read */
    bool tiled;    /* a region reads whether it shows a pair. Each call makes a table of its tiles */
    bool hides;    /* it has reals, and a region reads which of them are not -inf */
    const char *table; /* the name of the table of its tiles in struct NAME_params, or NULL if callers give none */
    bool shared;       /* it may have fewer heads than other arrays: problem.key_heads */
    enum array_role role;
    bool learned;        /* it is a parameter that has a gradient */
    bool rows;           /* it has a row of reals for each token, or for each token and head */
    bool integer_rows;   /* a declared array with such rows of integers. Calls with a state take those of new tokens */
    const char *strides; /* the member of struct call with the strides, such as "p.q". NULL: the array is contiguous */
    int gradient_of;     /* the number of the array that this gradient is for, or -1 */
    const char *within;  /* the name of the array that contains this one, if `place` is PLACE_WITHIN */
    enum origin origin;  /* `origin` and `initial` are set for parameters only */
    enum initial initial;
    int rank;
    struct array_axis axis[MAX_RANK];
};
struct kernel_arrays {
    int count;
    struct kernel_array *array; /* in this order: arguments, other outputs, parameters, gradients of parameters */
};
/* Makes the table of a kernel's arrays. `source`: the graph before all passes. */
const struct kernel_arrays *kernel_arrays(const struct spec *spec, const struct graph *source);
int kernel_array_find(const struct kernel_arrays *all, const char *name);     /* the array's number, or -1 */
int kernel_array_of(const struct kernel_arrays *all, enum quantity quantity); /* the argument's number */
int kernel_gradient_of(const struct kernel_arrays *all, int array);           /* its gradient's number, or -1 */
/* Returns whether calls with a state take the rows of new tokens, and no others. */
bool array_grows(const struct kernel_array *a);
bool array_has_size(const struct kernel_array *a, enum array_size size);
int64_t array_row_elements(const struct kernel_array *a);                        /* the number of elements in one row */
const char *array_axis_word(struct arena *arena, const struct array_axis *axis); /* such as "heads" or "64" */
/* Returns the extents of the axes, separated by `between`, such as "B,H,n_q,64". */
const char *array_shape_text(struct arena *arena, const struct kernel_array *a, const char *between);

#endif
