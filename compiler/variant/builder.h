/* The graph under construction. Only the files of variant/ include this header. */
#ifndef ATTNC_VARIANT_BUILDER_H
#define ATTNC_VARIANT_BUILDER_H

#include "../expression/expression.h"
#include "../spec/spec.h"

/* The graph under construction, and data for its builders. */
struct builder {
    const struct spec *spec;
    struct diagnostics *diagnostics;
    struct graph *g;
    struct module *m;
    int b, kv, member, i, j, d, e; /* axes: batch, key/value head, members (its query heads), query, key, head_dim,
                                      value_dim */
    int t, decay_of_query, decay_of_key; /* with `decay`: its axis of positions, and its prefix sums up to a query
                                            and up to a key */
    /* The axis of the queries. `of_keys`: weights of two keys are built. Then `i` is a second axis of keys, and
       values have no members. */
    int queries;
    bool of_keys;
    struct position at; /* where in the spec errors are reported */
    bool lost;          /* build_real has reported an error */
    int drawn;          /* the number of `random` masks so far */
};
/* Returns a constant. Reports an error, once, if it becomes 0 or infinity in the type of sums. */
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
/* Returns floor(position / block). The position may be negative. */
const struct expr *build_block_number(struct builder *x, const struct expr *position, int64_t block);
/* The operands of a map under construction. */
struct operands {
    int count;
    struct ref ref[MAX_OPERANDS];
};
/* Returns the operand that reads r, and adds it if it is new. Reports an error if there is no room. */
const struct expr *build_read(struct builder *x, struct operands *o, struct ref r);
/* Return the user's expression over the graph's axes. Elements of real arrays become operands. (expression.c)
   - with `s`, the value of its variable s
   - build_condition: for a mask
   - build_angle: for a rotation of a row at `position`; `pair` is the axis of pairs
   - build_at_position: for an expression in t */
const struct expr *build_at_position(struct builder *x, const struct expression *e, const struct expr *position,
                                     struct operands *operands);
const struct expr *build_expression(struct builder *x, const struct expression *e, const struct expr *s,
                                    struct operands *operands);
/* Returns an element of the user's array. at[k]: subscript k over the graph's axes, limited to the axis. (array.c) */
const struct expr *build_element(struct builder *x, struct operands *operands, const struct user_array *a,
                                 const struct expr *const *at);
const struct expr *build_condition(struct builder *x, const struct expression *e);
const struct expr *build_angle(struct builder *x, const struct expression *e, const struct expr *position, int pair);
/* Make or return the parameter, table or constant axis of that name. Another table of that name gets a new name. */
int build_param(struct builder *x, const char *name, enum initial initial, int rank, const int *axes);
int build_random(struct builder *x, const char *name, enum origin origin, int rank, const int *axes);
int build_table(struct builder *x, const char *name, int axis, const double *data);
int build_axis(struct builder *x, const char *name, int64_t extent);
/* Makes the map e over the first `rank` axes of `like`. Operand k is values[k], over a prefix of these axes. */
int build_map_over(struct builder *x, const struct value *like, int rank, int count, const int *values,
                   const struct expr *e);
/* Makes the sum of v over its last axis. */
int build_row_sum(struct builder *x, int v);
/* Multiplies the rows of v by a matrix [axis, result]. The matrix may be stored as [result, axis], with axes of
   heads before. */
int build_contract(struct builder *x, int v, int axis, int matrix, int result);
/* Makes x / sqrt(<x, x> + eps) of each row. A row of zeros stays zero. */
int build_unit_rows(struct builder *x, int v, double eps);
/* Normalises rows to mean 0 and variance 1. `affine` "NAME": then multiplies by NAME.weight and adds NAME.bias.
   NULL: neither. */
int build_layernorm(struct builder *x, int v, double eps, const char *affine);
/* Divides by the root of the mean square plus eps (Zhang and Sennrich, Root Mean Square Layer Normalization). A row
   of zeros stays zero. `affine` "NAME": then multiplies by NAME.weight. */
int build_rmsnorm(struct builder *x, int v, double eps, const char *affine);
/* Sets the axes of the weights, [b g m i j], or [b g i j] of two keys. Returns their number. */
int build_pair(const struct builder *x, int *axes);
/* Makes the weights of prepared q and k. Returns -1 after an error. (similarity.c) */
int build_weights(struct builder *x, int q, int k);
/* Make weights from features. build_linear: of a feature map (`linear`). build_sketched: of PolySketchFormer.
   (features.c) */
int build_linear(struct builder *x, int q, int k);
int build_sketched(struct builder *x, int q, int k);

/* The spec's `decay`. Without it, these change nothing. (decay.c)
   - build_decay_sums: its prefix sums
   - build_decayed: the weights w times the decay from key to query
   - build_inner: inner products of rows q and k over [b g m i j]; each element can have its own decay
   - build_refuses_decay_of_elements: whether it has; then reports an error with the reason `what` */
void build_decay_sums(struct builder *x);
int build_decayed(struct builder *x, int w);
int build_inner(struct builder *x, int q, int k);
bool build_refuses_decay_of_elements(struct builder *x, const char *what);

/* Applies `prepare` to the rows v, of queries or of keys. `sequence`: the axis of rows. (prepare.c) */
int build_prepared(struct builder *x, int v, bool query, int sequence);

/* The delta rule: returns the solution u. k: prepared keys; `given`: the keys before. Returns -1 after an error.
   (delta.c) */
int build_corrected(struct builder *x, int given, int k, int v);

/* Returns the mask as a condition on positions. NULL: no mask. (mask.c) */
const struct expr *build_mask(struct builder *x, const struct mask *o);
/* Returns the spec's mask as a region. NULL: no mask. (mask.c) */
const struct expr *build_region(struct builder *x);

#endif
