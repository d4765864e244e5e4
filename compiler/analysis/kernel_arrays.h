/* The arrays that a caller passes to a kernel (kernel_arrays.c). */
#ifndef ATTNC_KERNEL_ARRAYS_H
#define ATTNC_KERNEL_ARRAYS_H

#include "../../ir/graph.h"
#include "../spec/spec.h"

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
    bool learned;       /* it is a parameter that has a gradient */
    bool rows;          /* it has a row of reals for each token, or for each token and head */
    bool integer_rows;  /* a declared array with such rows of integers. Calls with a state take those of new tokens */
    int gradient_of;    /* the number of the array that this gradient is for, or -1 */
    const char *within; /* the name of the array that contains this one, if `place` is PLACE_WITHIN */
    enum origin origin; /* `origin` and `initial` are set for parameters only */
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
/* Returns the number of the axis of heads, or -1. It may be a constant number of heads, before rows of queries or
   keys. */
int array_axis_of_heads(const struct kernel_array *a);
int64_t array_own_heads(const struct kernel_array *a);    /* returns this constant number, or 0 */
int64_t array_row_elements(const struct kernel_array *a); /* the number of elements in one row */
const char *array_axis_word(struct arena *arena, const struct array_axis *axis); /* such as "heads" or "64" */
/* Returns the extents of the axes, separated by `between`, such as "B,H,n_q,64". */
const char *array_shape_text(struct arena *arena, const struct kernel_array *a, const char *between);

#endif
