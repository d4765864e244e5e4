/* Builds the values of the delta rule (Schlag, Irie and Schmidhuber, Linear Transformers Are Secretly Fast Weight
   Programmers, 2021). A value is corrected by the value that earlier keys give for its key. */
#include "builder.h"

#include <float.h>
#include <math.h>

/* Returns the condition that j is an earlier key than row i, inside the region. */
static const struct expr *earlier_in(struct builder *among, const struct expr *region)
{
    const struct expr *const earlier = build_op2(among, EXPR_LT, build_index_of(among, among->j),
                                                 build_index_of(among, among->i));
    return region ? build_op2(among, EXPR_AND, region, earlier) : earlier;
}

/* Returns the weights exp(logit) divided by the maximum of their row: exp(logit - the row's maximum). The maximum is
   over earlier keys. The definition of `delta` requires this. */
static int relative(struct builder *x, int w, const struct expr *region)
{
    const struct value v = x->g->value[w];
    const struct expr *const exponent = build_mul(x, v.expr->arg[0], build_real(x, 1 / log(2)));
    const int row[] = {x->b, x->kv, x->i};
    const int logit = graph_map(x->g, v.rank, v.axes, v.operands, v.operand, exponent);
    const int maximum = graph_reduce(x->g, FOLD_MAX, -DBL_MAX, 3, row, graph_ref(x->g, logit, NULL),
                                     earlier_in(x, region));
    const struct ref of[2] = {graph_ref(x->g, logit, NULL), graph_ref(x->g, maximum, NULL)};
    /* Gradients of a quotient read the weights of a row without earlier keys, which must be finite then. */
    static const double NONE = 1e37;
    const struct expr *top = build_operand(x, 1);
    if (x->spec->delta_divides)
        top = build_choose(x, build_op2(x, EXPR_LT, top, expr_real(x->m, -NONE)), expr_real(x->m, NONE), top);
    return graph_map(x->g, v.rank, v.axes, 2, of, build_op1(x, EXPR_EXP2, build_sub(x, build_operand(x, 0), top)));
}

/* Returns the rate of each key, over [b g j]. */
static int rates(struct builder *x)
{
    struct operands operands = {0};
    const struct expr *const rate = build_at_position(x, x->spec->rate, build_index_of(x, x->j), &operands);
    return graph_map(x->g, 3, (int[]){x->b, x->kv, x->j}, operands.count, operands.ref, rate);
}

/* Returns the keys as rows along axis t. `given` are the keys before they are prepared, or -1. */
static int keys_at(struct builder *x, int given, int k, int t)
{
    const int row[] = {x->b, x->kv, t, x->d};
    const struct ref at_t = graph_ref(x->g, given < 0 ? k : given, row);
    const int made = graph_map(x->g, 4, row, 1, &at_t, build_operand(x, 0));
    return given < 0 ? made : build_prepared(x, made, false, t);
}

/* Returns the rows of an array as rows along axis t, over [b g t d]. `among` builds weights of two keys. */
static int rows_at(struct builder *among, const struct user_array *a, int t)
{
    const int rows = build_rows(among, a, t), row[] = {among->b, among->kv, t, among->d};
    if (among->g->value[rows].axes[3] == among->d) return rows;
    const struct ref of = graph_ref(among->g, rows, row);
    return graph_map(among->g, 4, row, 1, &of, build_operand(among, 0));
}

/* Returns value v, which has the axes of the rows first, divided by the sums of the weights w of each row. It stays as
   it is where the sum is 0. */
static int divided(struct builder *among, int v, int w, const struct expr *region)
{
    const struct value like = among->g->value[v];
    const int row[] = {among->b, among->kv, among->i};
    const int total = graph_reduce(among->g, FOLD_SUM, 0, 3, row, graph_ref(among->g, w, NULL),
                                   earlier_in(among, region));
    const struct ref of[2] = {graph_ref(among->g, v, NULL), graph_ref(among->g, total, NULL)};
    const struct expr *const sum = build_operand(among, 1), *const zero = build_real(among, 0),
                             *const by = build_choose(among, build_op2(among, EXPR_EQ, sum, zero), build_real(among, 1),
                                                      sum);
    return graph_map(among->g, like.rank, like.axes, 2, of, build_divide(among, build_operand(among, 0), by));
}

/* Returns the weights of two keys, of the rows `row` and of `keys`. Returns -1 after an error. */
static int weights_of_keys(struct builder *among, int row, int keys)
{
    const int w = build_weights(among, row, keys);
    return w < 0 ? w : build_decayed(among, w);
}

/* Returns minus the sum of the weights w, with the values v, for each row. */
static int removed(struct builder *among, int w, int v, const struct expr *region)
{
    const int row[] = {among->b, among->kv, among->i, among->e};
    int sum = graph_contract(among->g, 4, row, graph_ref(among->g, w, NULL), graph_ref(among->g, v, NULL),
                             earlier_in(among, region));
    if (among->spec->delta_divides) sum = divided(among, sum, w, region);
    const struct ref of = graph_ref(among->g, sum, NULL);
    return graph_map(among->g, 4, row, 1, &of, expr_neg(among->m, build_operand(among, 0)));
}

int build_corrected(struct builder *x, int given, int k, int v)
{
    const int t = module_axis(x->m, "t_key", SIZE_N_K, 0), solution[] = {x->b, x->kv, x->j, x->e};
    struct builder among = *x;
    among.of_keys = true;
    const int row = x->spec->erase ? rows_at(&among, x->spec->erase, t) : keys_at(x, given, k, t);
    x->written = x->spec->write ? rows_at(&among, x->spec->write, x->j) : -1;
    among.i = t;
    const struct expr *const region = build_region(&among);
    int w = weights_of_keys(&among, row, k), values = v;
    if (w >= 0 && x->written >= 0) {
        values = removed(&among, w, v, region);
        w = weights_of_keys(&among, row, x->written);
    }
    if (w >= 0 && x->spec->similarity.kind == SIMILARITY_SOFTMAX) w = relative(&among, w, region);
    if (w >= 0 && x->written < 0 && x->spec->delta_divides) w = divided(&among, w, w, region);
    const int rate = w < 0 ? -1 : rates(&among);
    x->lost = among.lost;
    if (rate < 0) return -1;
    x->removed = graph_solve(x->g, 4, solution, graph_ref(x->g, w, NULL), graph_ref(x->g, values, solution),
                             graph_ref(x->g, rate, NULL), region);
    return x->written < 0 ? x->removed : v;
}
