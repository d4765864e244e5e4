/* Functions that build a graph: expressions, positions, parameters and norms. */
#include "builder.h"

#include <float.h>
#include <math.h>
#include <string.h>

const struct expr *build_real(struct builder *x, double value)
{
    bool narrow = x->m->dtype != DTYPE_F64,
         lost = narrow ? fabs(value) > FLT_MAX || (value != 0 && (float)value == 0) : !isfinite(value);
    if (lost && !x->lost) {
        x->lost = true;
        diagnostics_error(x->diagnostics, x->at, "%s cannot hold the value %g, which results from these options",
                          narrow ? "f32" : "f64", value);
    }
    return expr_real(x->m, value);
}

const struct expr *build_integer(struct builder *x, int64_t value)
{
    return expr_int(x->m, value);
}

#define LEAF(name, op) \
    const struct expr *build_##name(struct builder *x, int number) \
    { \
        return expr_leaf(x->m, op, number); \
    }
LEAF(operand, EXPR_OPERAND)
LEAF(index_of, EXPR_INDEX)
LEAF(size_of, EXPR_SIZE)

const struct expr *build_op1(struct builder *x, enum expr_op op, const struct expr *a)
{
    return expr_make(x->m, op, a, NULL, NULL);
}

const struct expr *build_op2(struct builder *x, enum expr_op op, const struct expr *a, const struct expr *b)
{
    return expr_make(x->m, op, a, b, NULL);
}

#define OF_TWO(name, op) \
    const struct expr *build_##name(struct builder *x, const struct expr *a, const struct expr *b) \
    { \
        return build_op2(x, op, a, b); \
    }
OF_TWO(add, EXPR_ADD)
OF_TWO(sub, EXPR_SUB)
OF_TWO(mul, EXPR_MUL)
OF_TWO(divide, EXPR_DIV)

const struct expr *build_choose(struct builder *x, const struct expr *c, const struct expr *a, const struct expr *b)
{
    return expr_make(x->m, EXPR_SELECT, c, a, b);
}

const struct expr *build_read(struct builder *x, struct operands *o, struct ref r)
{
    int k = 0;
    while (k < o->count && !ref_equal(&o->ref[k], &r)) k++;
    if (k == MAX_OPERANDS) {
        diagnostics_error(x->diagnostics, x->at, "the expression reads more than %d elements of arrays",
                          MAX_OPERANDS - 2);
        return build_real(x, 0);
    }
    if (k == o->count) o->ref[o->count++] = r;
    return build_operand(x, k);
}

/* Returns the position of the query. Unless the caller gives positions, the last query is at the last key. */
const struct expr *build_query_position(struct builder *x)
{
    if (x->of_keys) return build_index_of(x, x->i);
    return expr_query_position(x->m, x->i, x->j);
}

const struct expr *build_whole_position(struct builder *x, const struct expr *position)
{
    return x->first_key < 0 ? position : build_add(x, position, build_size_of(x, x->first_key));
}

const struct expr *build_all_keys(struct builder *x)
{
    return build_size_of(x, x->all_keys < 0 ? x->j : x->all_keys);
}

const struct expr *build_head(struct builder *x)
{
    if (x->of_keys) return build_index_of(x, x->kv);
    return build_add(x, build_mul(x, build_index_of(x, x->kv), build_size_of(x, x->member)),
                     build_index_of(x, x->member));
}

int build_pair(const struct builder *x, int *axes)
{
    int rank = 0;
    axes[rank++] = x->b;
    axes[rank++] = x->kv;
    if (!x->of_keys) axes[rank++] = x->member;
    axes[rank++] = x->i;
    axes[rank++] = x->j;
    return rank;
}

int build_param(struct builder *x, const char *name, enum initial initial, int rank, const int *axes)
{
    const int v = build_random(x, name, ORIGIN_LEARNED, rank, axes);
    x->g->value[v].initial = initial;
    return v;
}

int build_random(struct builder *x, const char *name, enum origin origin, int rank, const int *axes)
{
    for (int v = 0; v < x->g->values; v++)
        if (x->g->value[v].op == GRAPH_PARAM && strcmp(x->g->value[v].name, name) == 0) return v;
    return graph_random(x->g, name, origin, rank, axes);
}

int build_table(struct builder *x, const char *name, int axis, const double *data)
{
    size_t bytes = (size_t)x->m->axis[axis].extent * sizeof *data;
    int same = 1;
    const char *unique = name;
    for (int v = 0; v < x->g->values; v++) {
        const struct value *value = &x->g->value[v];
        if (value->op != GRAPH_TABLE || strncmp(value->name, name, strlen(name)) != 0) continue;
        if (value->axes[0] == axis && memcmp(value->data, data, bytes) == 0) return v;
        unique = arena_printf(x->m->arena, "%s_%d", name, ++same);
    }
    return graph_table(x->g, unique, 1, &axis, data);
}

const struct expr *build_block_number(struct builder *x, const struct expr *position, int64_t block)
{
    const struct expr *size = build_integer(x, block);
    return build_divide(x, build_sub(x, position, build_op2(x, EXPR_FLOORMOD, position, size)), size);
}

/* ---- values ---- */

int build_map_over(struct builder *x, const struct value *like, int rank, int count, const int *values,
                   const struct expr *e)
{
    struct ref refs[MAX_OPERANDS];
    for (int k = 0; k < count; k++) refs[k] = graph_ref(x->g, values[k], NULL);
    int axes[MAX_RANK];
    for (int k = 0; k < rank; k++) axes[k] = like->axes[k];
    return graph_map(x->g, rank, axes, count, refs, e);
}

int build_row_sum(struct builder *x, int v)
{
    struct value like = x->g->value[v];
    return graph_reduce(x->g, FOLD_SUM, 0, like.rank - 1, like.axes, graph_ref(x->g, v, NULL), NULL);
}

/* Returns a reference to value v with `axis` as its last subscript. */
static struct ref build_at(struct builder *x, int v, int axis)
{
    struct ref r = graph_ref(x->g, v, NULL);
    r.sub[r.rank - 1] = build_index_of(x, axis);
    return r;
}

int build_contract(struct builder *x, int v, int axis, int matrix, int result)
{
    struct value like = x->g->value[v];
    struct ref left = build_at(x, v, axis);
    like.axes[like.rank - 1] = result;
    return graph_contract(x->g, like.rank, like.axes, left, graph_ref(x->g, matrix, NULL), NULL);
}

int build_axis(struct builder *x, const char *name, int64_t extent)
{
    int axis = module_find_axis(x->m, name);
    return axis >= 0 ? axis : module_axis(x->m, name, SIZE_CONSTANT, extent);
}

/* Divides rows by sqrt(share * <x, x> + eps). A row of zeros stays zero. */
static int divide_by_size(struct builder *x, int v, const struct expr *share, double eps)
{
    struct value like = x->g->value[v];
    int total = build_row_sum(
        x, build_map_over(x, &like, like.rank, 1, &v, build_mul(x, build_operand(x, 0), build_operand(x, 0))));
    const struct expr *squares = build_add(x, build_mul(x, build_operand(x, 0), share), build_real(x, eps)),
                      *inverse = build_divide(x, build_real(x, 1), build_op1(x, EXPR_SQRT, squares));
    if (eps == 0)
        inverse = build_choose(x, build_op2(x, EXPR_EQ, squares, build_real(x, 0)), build_real(x, 0), inverse);
    int scale = build_map_over(x, &like, like.rank - 1, 1, &total, inverse);
    return build_map_over(x, &like, like.rank, 2, (int[]){v, scale},
                          build_mul(x, build_operand(x, 0), build_operand(x, 1)));
}

int build_unit_rows(struct builder *x, int v, double eps)
{
    return divide_by_size(x, v, build_real(x, 1), eps);
}

int build_rmsnorm(struct builder *x, int v, double eps, const char *affine)
{
    struct value like = x->g->value[v];
    const int *const last = &like.axes[like.rank - 1];
    const int made = divide_by_size(x, v, build_real(x, 1.0 / (double)x->m->axis[*last].extent), eps);
    if (!affine) return made;
    const int weight = build_param(x, arena_printf(x->m->arena, "%s.weight", affine), INITIAL_ONES, 1, last);
    return build_map_over(x, &like, like.rank, 2, (int[]){made, weight},
                          build_mul(x, build_operand(x, 0), build_operand(x, 1)));
}

int build_layernorm(struct builder *x, int v, double eps, const char *affine)
{
    struct value like = x->g->value[v];
    const struct expr *share = build_real(x, 1.0 / (double)x->m->axis[like.axes[like.rank - 1]].extent);
    int total = build_row_sum(x, v);
    int centred = build_map_over(x, &like, like.rank, 2, (int[]){v, total},
                                 build_sub(x, build_operand(x, 0), build_mul(x, build_operand(x, 1), share)));
    int square = build_map_over(x, &like, like.rank, 1, &centred,
                                build_mul(x, build_operand(x, 0), build_operand(x, 0)));
    int variance = build_row_sum(x, square);
    const struct expr *deviation = build_op1(
        x, EXPR_SQRT, build_add(x, build_mul(x, build_operand(x, 0), share), build_real(x, eps)));
    int inverse = build_map_over(x, &like, like.rank - 1, 1, &variance, build_divide(x, build_real(x, 1), deviation));
    const struct expr *e = build_mul(x, build_operand(x, 0), build_operand(x, 1));
    if (!affine) return build_map_over(x, &like, like.rank, 2, (int[]){centred, inverse}, e);
    int weight = build_param(x, arena_printf(x->m->arena, "%s.weight", affine), INITIAL_ONES, 1,
                             &like.axes[like.rank - 1]);
    int bias = build_param(x, arena_printf(x->m->arena, "%s.bias", affine), INITIAL_ZEROS, 1,
                           &like.axes[like.rank - 1]);
    return build_map_over(x, &like, like.rank, 4, (int[]){centred, inverse, weight, bias},
                          build_add(x, build_mul(x, e, build_operand(x, 2)), build_operand(x, 3)));
}
