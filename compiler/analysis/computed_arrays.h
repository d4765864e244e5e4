/* Arrays that a kernel computes once per call: prefix sums, corrected values and lists of keys. */
#ifndef ATTNC_COMPUTED_ARRAYS_H
#define ATTNC_COMPUTED_ARRAYS_H

#include "../schedule/schedule.h"

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

/* The names of the arrays of corrected values, the solution of the delta rule's linear system, and of their tangent.
   They exist if the rule has no linear form. (pass/correct_values.c, computed_values.c) */
enum { MAX_SYSTEMS = 2 };
extern const char *const corrected_values[MAX_SYSTEMS];
/* Computes the arrays of prefix sums, corrected values and lists of the best keys, with the arguments of
   prefix_tensors. (computed_values.c) */
const char *computed_tensors(const struct graph *source, const struct problem_size *size, const struct tensor *in,
                             int count, struct tensor *out, int *made);

#endif
