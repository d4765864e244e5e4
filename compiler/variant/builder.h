/* The graph under construction. Only the files of variant/ include this header. */
#ifndef ATTNC_VARIANT_BUILDER_H
#define ATTNC_VARIANT_BUILDER_H

#include "../expression/expression.h"
#include "../spec/spec.h"
#include "variant.h"

/* The graph under construction, and data for its builders. */
struct builder {
    const struct spec *spec;
    enum counting counting;
    struct diagnostics *diagnostics;
    struct graph *g;
    struct module *m;
    /* axes: b is batch, kv is key/value head, member is the query heads of a key/value head, i is query, j is key, d
       is head_dim, e is value_dim */
    int b, kv, member, i, j, d, e;
    /* with `decay`: t is its axis of positions; the other two are its prefix sums up to a query and up to a key */
    int t, decay_of_query, decay_of_key;
    /* The axis of the queries. `of_keys` is true while weights of two keys are built. Then `i` is a second axis of
       keys, and values have no members. */
    int queries;
    bool of_keys;
    int written, removed; /* with `write` of delta: its prepared rows, which are keys, and their values. -1: none */
    struct position at;   /* where errors are reported in the spec */
    bool lost;            /* build_real has reported an error */
    int drawn;            /* the number of `random` masks so far */
    const struct spec *stored; /* the rows of keys that this spec stores prepared are so. NULL: they are as given */
    int q, k;                  /* the prepared queries and keys; a score may read them */
    /* The values of scores, sums and running sums, in the order of spec->arrays, or -1: those of another sum, and later
       ones. While a score's `sum` is built, the inner products of heads are its value, and `term` is the axis of these
       heads (-1: there is one head). */
    int named[MAX_NAMED], term;
    /* the weights and regions of the sums so far */
    int sums, weight[MAX_SUMS];
    const struct expr *region[MAX_SUMS];
    /* Axes whose sizes are numbers of the call (size.def), or -1: first_key and all_keys unless counting is COUNT_CALL,
       sink_mode if a denominator can be without its constant. */
    int first_key, all_keys, sink_mode;
    /* first_key again, for j in formulas of linear forms. (i + first_key) - (j + first_key) must not become i - j
       there, because features of i and of j alone would then count from the call's first key. */
    int first_key_of_j;
    /* while a condition of a mask on s is built: the value of s, and the operands of the map with the condition */
    const struct expr *s;
    struct operands *operands;
};
/* Returns a constant. Reports an error if the constant becomes 0 or infinity in the type of sums, but only once. */
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
/* Returns a position of this call, counted from the first key of the whole sequence. */
const struct expr *build_whole_position(struct builder *x, const struct expr *position);
/* Returns the number of keys of the whole sequence. */
const struct expr *build_all_keys(struct builder *x);
const struct expr *build_head(struct builder *x);
/* Returns floor(position / block). The position may be negative. */
const struct expr *build_block_number(struct builder *x, const struct expr *position, int64_t block);
/* The operands of a map under construction. */
struct operands {
    int count;
    struct ref ref[MAX_OPERANDS];
};
/* Returns the operand that reads r, and adds the operand if it is new. Reports an error if there is no room. */
const struct expr *build_read(struct builder *x, struct operands *o, struct ref r);
/* These functions return the user's expression over the graph's axes. Elements of real arrays become operands.
   (expression.c)
   - build_expression: `s` is the value of its variable s
   - build_angle: for a rotation of a row at `position` of the whole sequence; `pair` is the axis of pairs
   - build_at_position: for an expression in t */
const struct expr *build_at_position(struct builder *x, const struct expression *e, const struct expr *position,
                                     struct operands *operands);
const struct expr *build_expression(struct builder *x, const struct expression *e, const struct expr *s,
                                    struct operands *operands);
/* Makes or finds the parameter of the user's array. (array.c) */
int build_array(struct builder *x, const struct user_array *a);
/* Returns an element of the user's array. Subscript k is at[k], an expression over the graph's axes. It is limited
   to the axis. (array.c) */
const struct expr *build_element(struct builder *x, struct operands *operands, const struct user_array *a,
                                 const struct expr *const *at);
/* Returns the same if the subscripts n with of_pair[n], along constant axes, depend on the pair. The element is a sum
   over these axes in which all others are 0, so that it has a gradient. (array.c) */
const struct expr *build_element_of_pair(struct builder *x, struct operands *operands, const struct user_array *a,
                                         const struct expr *const *at, const bool *of_pair);
/* Returns an element of a real array for a subscript. It has no gradient. */
const struct expr *build_element_by_name(struct builder *x, const struct user_array *a, const struct expr *const *at);
/* Returns 0 if the element of a real array is -inf, otherwise 1. */
const struct expr *build_is_not_hidden(struct builder *x, const struct user_array *a, const struct expr *const *at);
/* Returns `output:`, an expression of sums. */
const struct expr *build_output(struct builder *x, struct operands *operands);
const struct expr *build_angle(struct builder *x, const struct expression *e, const struct expr *position, int pair,
                               struct operands *operands);
/* These functions return the parameter, table or constant axis with the name, or make it. If another table has the
   name, the new table gets a different name. */
int build_param(struct builder *x, const char *name, enum initial initial, int rank, const int *axes);
int build_random(struct builder *x, const char *name, enum origin origin, int rank, const int *axes);
int build_table(struct builder *x, const char *name, int axis, const double *data);
int build_axis(struct builder *x, const char *name, int64_t extent);
/* Makes the map e over the first `rank` axes of `like`. Operand k is values[k]. Its axes must be the
   first of these axes. */
int build_map_over(struct builder *x, const struct value *like, int rank, int count, const int *values,
                   const struct expr *e);
/* Makes the sum of v over its last axis. */
int build_row_sum(struct builder *x, int v);
/* Multiplies the rows of v by a matrix [axis, result]. The matrix may be stored as [result, axis]. It may have axes
   of heads before these two. */
int build_contract(struct builder *x, int v, int axis, int matrix, int result);
/* Makes x / sqrt(<x, x> + eps) of each row. A row of zeros stays zero. */
int build_unit_rows(struct builder *x, int v, double eps);
/* Normalises rows to mean 0 and variance 1. If `affine` is a NAME, then multiplies by NAME.weight and adds
   NAME.bias. If it is NULL, does neither. */
int build_layernorm(struct builder *x, int v, double eps, const char *affine);
/* Divides rows by the root of the mean square plus eps (Zhang and Sennrich, Root Mean Square Layer Normalization). A
   row of zeros stays zero. If `affine` is a NAME, then multiplies by NAME.weight. */
int build_rmsnorm(struct builder *x, int v, double eps, const char *affine);
/* Returns, for each value, the number of the first value that is equal. Passes merge equal values. (text.c) */
int *build_equal_values(const struct graph *g);
/* Returns a new copy of the graph that spec->graph has as text. (text.c) */
struct graph *build_written(struct arena *arena, const struct spec *spec, struct diagnostics *d);
/* Sets the axes of the weights, and returns their number. The axes are [b g m i j], or [b g i j] for weights of two
   keys. */
int build_pair(const struct builder *x, int *axes);
/* Makes the weights of prepared queries q and keys k. Returns -1 after an error. (similarity.c) */
int build_weights(struct builder *x, int q, int k);
/* These functions make weights from features. build_linear uses a feature map (`linear`). build_sketched uses the
   sketches of PolySketchFormer. (features.c) */
int build_linear(struct builder *x, int q, int k);
int build_sketched(struct builder *x, int q, int k);

/* Makes the running sums of x->spec, which expressions then read. (running.c) */
void build_running(struct builder *x);

/* Functions for the spec's `decay`. They change nothing if the spec has none. (decay.c)
   - build_decay_sums makes its prefix sums.
   - build_decayed returns the weights w times the decay from key to query.
   - build_inner returns inner products of rows q and k over [b g m i j]. Each element can have its own decay.
   - build_refuses_decay_of_elements returns whether elements have their own decay. If so, it reports an error with
     the reason `what`. */
void build_decay_sums(struct builder *x);
void build_joined_sums(struct graph *g);
int build_decayed(struct builder *x, int w);
int build_inner(struct builder *x, int q, int k);
bool build_refuses_decay_of_elements(struct builder *x, const char *what);

/* Applies the steps of `prepare` to the rows v of queries or keys. `sequence` is the axis of the rows. (prepare.c) */
int build_prepared(struct builder *x, int v, bool query, int sequence);
/* Applies those for the rows v of an array. (prepare.c) */
int build_prepared_rows(struct builder *x, const struct user_array *a, int v, int sequence);
/* Makes the rows of an array, after the steps of `prepare` for these rows. The axes are [b g m sequence d], without m
   if the array has no query heads, and without axes that it lacks. The axis of an array over Nk is `sequence`, which is
   x->j or another axis of keys. The axis of an array over Nq is x->i. Weights of two keys have no m. (prepare.c) */
int build_rows(struct builder *x, const struct user_array *a, int sequence);

/* Builds the delta rule and returns the values of the sums: its solution, or v if it writes other keys. Sets x->written
   and x->removed. k are prepared keys, and `given` are the keys before they are prepared, or -1 if only prepared keys
   are known. Returns -1 after an error. (delta.c) */
int build_corrected(struct builder *x, int given, int k, int v);

/* Returns the conditions of the mask on keys alone. With COUNT_SHOWN, weights are 0 where they do not hold. (mask.c) */
const struct expr *build_shown_keys(struct builder *x);
/* Returns the spec's mask as a region, without its conditions on s and those of build_shown_keys, or NULL if there is
   no mask. (mask.c) */
const struct expr *build_region(struct builder *x);
bool mask_reads_s(const struct mask *o);
/* Returns the weights w, or 0 where the condition does not hold. (mask.c) */
int build_hidden(struct builder *x, int w, const struct expr *condition);
/* Returns the weights w, or 0 for pairs that a condition of the mask on s hides. `s` is the value with the inner
   products of the prepared queries q and keys k, or -1 if it is not built. (mask.c) */
int build_shown(struct builder *x, int w, int s, int q, int k);

#endif
