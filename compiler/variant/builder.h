/* The graph while it is built; only for the files of variant/. */
#ifndef ATTNC_VARIANT_BUILDER_H
#define ATTNC_VARIANT_BUILDER_H

#include "../expression/expression.h"
#include "../spec/spec.h"

/* The graph being built (builder.c). */
struct builder {
    const struct spec *spec;
    struct diagnostics *diagnostics;
    struct graph *g;
    struct module *m;
    int b, kv, member, i, j, d, e; /* axes */
    struct position at;            /* where errors in the part being built are reported */
    bool lost;                     /* an error about a lost number was reported */
    int drawn;                     /* the number of masks that draw at random */
};
/* Reports an error, once, if the dtype cannot hold the number: it would become 0 or infinity and change the result. */
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
/* The number of the block that contains a position, which may be negative. */
const struct expr *build_block_number(struct builder *x, const struct expr *position, int64_t block);
/* The user's expression with `s` in place of its s. build_condition returns the condition of a mask. (expression.c) */
const struct expr *build_expression(struct builder *x, const struct expression *e, const struct expr *s);
const struct expr *build_condition(struct builder *x, const struct expression *e);
/* Parameters, tables and constant axes are made once; a later request with the same name returns the existing one. */
int build_param(struct builder *x, const char *name, enum initial initial, int rank, const int *axes);
int build_random(struct builder *x, const char *name, enum origin origin, int rank, const int *axes);
int build_table(struct builder *x, const char *name, int axis, const double *data);
int build_axis(struct builder *x, const char *name, int64_t extent);
/* A map over the first `rank` axes of `like`. The values have leading axes of these. */
int build_map_over(struct builder *x, const struct value *like, int rank, int count, const int *values,
                   const struct expr *e);
/* The sum over the last axis. */
int build_row_sum(struct builder *x, int v);
/* The rows of v, with the last axis `axis`, times a matrix [axis, result]; the axes of the matrix may be in any
   order, with axes of heads first. */
int build_contract(struct builder *x, int v, int axis, int matrix, int result);
/* x / sqrt(<x, x> + eps) for every row x along v's last axis; a row of zeros stays zero. */
int build_unit_rows(struct builder *x, int v, double eps);
/* Normalises to mean 0 and variance 1 over the last axis. If the name is not NULL, then multiplies by the parameter
   AFFINE.weight and adds AFFINE.bias. */
int build_layernorm(struct builder *x, int v, double eps, const char *affine);
/* The weights [b g m i j] of prepared q and k; -1 after an error. (similarity.c) */
int build_weights(struct builder *x, int q, int k);
/* Inner products: of the features of a finite feature map, and of the sketches of PolySketchFormer. (features.c) */
int build_linear(struct builder *x, int q, int k);
int build_sketched(struct builder *x, int q, int k);

/* Prepares the rows of queries or keys along the sequence x->i or x->j. (prepare.c) */
int build_prepared(struct builder *x, int v, bool query, int sequence);

const struct expr *build_mask(struct builder *x, const struct mask *o);

#endif
