/* The graph as it is built, for the files of variant/ only. */
#ifndef ATTNC_VARIANT_BUILDER_H
#define ATTNC_VARIANT_BUILDER_H

#include "../expression/expression.h"
#include "../spec/spec.h"

/* The graph being built (builder.c), for the files build*.c only. */
struct builder {
    const struct spec *spec;
    struct diagnostics *diagnostics;
    struct graph *g;
    struct module *m;
    int b, kv, member, i, j, d, e; /* axes */
    struct position at;            /* what is being built */
    bool lost;                     /* a number was reported */
    int drawn;                     /* masks that draw at random */
};
/* A number that the dtype cannot hold would become 0 or the largest one and the result something else: it is refused,
   once. */
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
/* The number of the block that a position, which may be negative, lies in. */
const struct expr *build_block_number(struct builder *x, const struct expr *position, int64_t block);
/* The user's expression with `s` for its s; as a truth value where it is a mask. (expression.c) */
const struct expr *build_expression(struct builder *x, const struct expression *e, const struct expr *s);
const struct expr *build_condition(struct builder *x, const struct expression *e);
/* Parameters, tables and constant axes are made once, and found when they are asked for again. */
int build_param(struct builder *x, const char *name, enum initial initial, int rank, const int *axes);
int build_random(struct builder *x, const char *name, enum origin origin, int rank, const int *axes);
int build_table(struct builder *x, const char *name, int axis, const double *data);
int build_axis(struct builder *x, const char *name, int64_t extent);
/* A map over the first `rank` axes of `like`, of values that all have leading axes among these. */
int build_map_over(struct builder *x, const struct value *like, int rank, int count, const int *values,
                   const struct expr *e);
/* The sum over the last axis. */
int build_row_sum(struct builder *x, int v);
/* The rows of v, its last axis called `axis`, times a matrix [axis, result] (any order, heads in front). */
int build_contract(struct builder *x, int v, int axis, int matrix, int result);
/* x / sqrt(<x, x> + eps) for every row x of v, its last axis; a row of zeros stays one. */
int build_unit_rows(struct builder *x, int v, double eps);
/* Mean 0 and variance 1 over the last axis, then times the parameter AFFINE.weight plus AFFINE.bias where the name is
   not NULL. */
int build_layernorm(struct builder *x, int v, double eps, const char *affine);
/* The weights [b g m i j] of prepared q and k; -1 after an error. (similarity.c) */
int build_weights(struct builder *x, int q, int k);
/* The inner product of the features of a finite feature map; of the sketches of PolySketchFormer. (features.c) */
int build_linear(struct builder *x, int q, int k);
int build_sketched(struct builder *x, int q, int k);

/* Rows of queries, or of keys, over the positions of a sequence: x->i or x->j. (prepare.c) */
int build_prepared(struct builder *x, int v, bool query, int sequence);

const struct expr *build_mask(struct builder *x, const struct mask *o);

#endif
