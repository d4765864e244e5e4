/* The graph under construction. Only the files of variant/ include this header. */
#ifndef ATTNC_VARIANT_BUILDER_H
#define ATTNC_VARIANT_BUILDER_H

#include "../expression/expression.h"
#include "../spec/spec.h"

/* The graph under construction, and what its builders need to know (builder.c). */
struct builder {
    const struct spec *spec;
    struct diagnostics *diagnostics;
    struct graph *g;
    struct module *m;
    int b, kv, member, i, j, d, e; /* axes: batch, key/value head, its query heads, query, key, head_dim, value_dim */
    struct position at;            /* the place in the spec at which errors are reported now */
    int t, decay_of_query, decay_of_key; /* with `decay`: the axis of its positions, and its prefix sums up to a query
                                            and up to a key */
    bool lost;                           /* build_real has reported an error */
    int drawn;                           /* the number of `random` masks so far */
};
/* Returns the constant `value`. Reports an error if the value would become 0 or infinity in the type of the kernel's
   sums. Only the first such error is reported. */
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
/* Returns floor(position / block), the number of the block that contains a position. The position may be negative. */
const struct expr *build_block_number(struct builder *x, const struct expr *position, int64_t block);
/* The operands of a map under construction. */
struct operands {
    int count;
    struct ref ref[MAX_OPERANDS];
};
/* Returns the operand that reads r, and appends r if it is new. Reports an error if there are too many operands. */
const struct expr *build_read(struct builder *x, struct operands *o, struct ref r);
/* Returns the user's expression over the graph's axes, with `s` in place of its variable s. The elements of arrays that
   it reads become operands. build_condition does so for the condition of a mask, and build_angle for the angle of a
   rotation, which have neither; `position` is the position of the row, `pair` the axis of pairs of elements.
   (expression.c) */
const struct expr *build_expression(struct builder *x, const struct expression *e, const struct expr *s,
                                    struct operands *operands);
/* Makes a reference to an element of the user's array. at[k] is subscript k over the graph's axes. A subscript beyond
   an end of its axis reads the element at that end. (array.c) */
struct ref build_element(struct builder *x, const struct user_array *a, const struct expr *const *at);
const struct expr *build_condition(struct builder *x, const struct expression *e);
const struct expr *build_angle(struct builder *x, const struct expression *e, const struct expr *position, int pair);
/* Returns the expression for the logarithm of a decay at the position x->t. The elements of arrays that it reads become
 * operands. */
const struct expr *build_decay_expression(struct builder *x, const struct expression *e, struct operands *operands);
/* Make a parameter, table or constant axis, or return the existing one of that name. A table of that name with other
   numbers gets a new name. */
int build_param(struct builder *x, const char *name, enum initial initial, int rank, const int *axes);
int build_random(struct builder *x, const char *name, enum origin origin, int rank, const int *axes);
int build_table(struct builder *x, const char *name, int axis, const double *data);
int build_axis(struct builder *x, const char *name, int64_t extent);
/* Makes the map e over the first `rank` axes of `like`. Operand k is values[k]. Its axes must be a prefix of these
   axes, for example [b g m i] of [b g m i e]. */
int build_map_over(struct builder *x, const struct value *like, int rank, int count, const int *values,
                   const struct expr *e);
/* Makes the sum of v over its last axis. */
int build_row_sum(struct builder *x, int v);
/* Multiplies the rows of v by a matrix [axis, result]. The sum runs over `axis`, which has the same extent as the last
   axis of v. The two axes of the matrix may be swapped, and axes of heads may come before them. */
int build_contract(struct builder *x, int v, int axis, int matrix, int result);
/* Makes x / sqrt(<x, x> + eps) of each row x along v's last axis. A row of zeros stays zero. */
int build_unit_rows(struct builder *x, int v, double eps);
/* Normalises the rows along the last axis to mean 0 and variance 1. If `affine` is not NULL but "NAME", then multiplies
   by the parameter NAME.weight and adds NAME.bias. */
int build_layernorm(struct builder *x, int v, double eps, const char *affine);
/* Divides by the square root of eps plus the mean of squares over the last axis (Zhang and Sennrich, Root Mean Square
   Layer Normalization). A row of zeros stays zero. If `affine` is not NULL but "NAME", then multiplies by the parameter
   NAME.weight. */
int build_rmsnorm(struct builder *x, int v, double eps, const char *affine);
/* Makes the weights, over the axes [b g m i j], from prepared q and k. Returns -1 after an error. (similarity.c) */
int build_weights(struct builder *x, int q, int k);
/* Make weights that are inner products of features. build_linear: features of a finite feature map (`linear`).
   build_sketched: sketches of PolySketchFormer. (features.c) */
int build_linear(struct builder *x, int q, int k);
int build_sketched(struct builder *x, int q, int k);

/* The spec's `decay`. Without it, these functions change nothing. (decay.c)
   - build_decay_sums: makes its prefix sums, for the functions below
   - build_decayed: returns the weights w times the decay from key to query
   - build_inner: makes the inner products, over [b g m i j], of rows q and rows k, which have the same last axis. Each
     element can have its own decay
   - build_refuses_decay_of_elements: whether each element has its own decay; reports this as an error, for which `what`
     is the reason */
void build_decay_sums(struct builder *x);
int build_decayed(struct builder *x, int w);
int build_inner(struct builder *x, int q, int k);
bool build_refuses_decay_of_elements(struct builder *x, const char *what);

/* Applies the steps of the spec's `prepare` to the rows v of queries, or of keys if `query` is false. `sequence` is the
   axis of the rows. (prepare.c) */
int build_prepared(struct builder *x, int v, bool query, int sequence);

/* Returns the mask as a condition on the positions of query and key. NULL: every query sees every key. (mask.c) */
const struct expr *build_mask(struct builder *x, const struct mask *o);

#endif
