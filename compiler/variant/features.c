/* Builds weights that are inner products of features: the maps of `linear`, and the sketches of PolySketchFormer. If
   there are two lists of features, the weight is the sum of two inner products. */
#include "builder.h"
#include "../spec/spec.h"

#include <math.h>

/* Makes the map e of value v, over the axes of v. */
static int map_of(struct builder *x, int v, const struct expr *e)
{
    struct value like = x->g->value[v];
    return build_map_over(x, &like, like.rank, 1, &v, e);
}

/* Makes the map e of v and `other`, over the axes of v. The first axes of v must be the axes of `other`. */
static int map_of_both(struct builder *x, int v, int other, const struct expr *e)
{
    struct value like = x->g->value[v];
    return build_map_over(x, &like, like.rank, 2, (int[]){v, other}, e);
}

static const struct expr *above_zero(struct builder *x, double eps)
{
    return build_add(x, build_op2(x, EXPR_MAX, build_operand(x, 0), build_real(x, 0)), build_real(x, eps));
}

/* ---- feature maps ---- */

/* Makes the softmax along the last axis of v. */
static int softmax_rows(struct builder *x, int v)
{
    struct value like = x->g->value[v];
    int largest = graph_reduce(x->g, FOLD_MAX, -INFINITY, like.rank - 1, like.axes, graph_ref(x->g, v, NULL), NULL);
    int power = map_of_both(x, v, largest,
                            build_op1(x, EXPR_EXP, build_sub(x, build_operand(x, 0), build_operand(x, 1))));
    return map_of_both(x, power, build_row_sum(x, power), build_divide(x, build_operand(x, 0), build_operand(x, 1)));
}

/* Makes the features of queries or keys, in one or two lists. Returns the number of lists. For favor_positive and
   favor_trig, sets *half to half the squared norm of each row. */
static int features(struct builder *x, int v, bool query, int *list, int *half)
{
    const struct similarity *o = &x->spec->similarity;
    const struct expr *a = build_operand(x, 0), *b = build_operand(x, 1);
    const struct expr *quarter = build_real(x, pow((double)x->spec->head_dim, -0.25));
    int y = v, squares;
    switch (o->features) {
    case FEATURE_IDENTITY: list[0] = v; return 1;
    case FEATURE_ELU_PLUS_ONE: {
        const struct expr *below = build_op1(x, EXPR_EXP, build_op2(x, EXPR_MIN, a, build_real(x, 0)));
        list[0] = map_of(
            x, v,
            build_choose(x, build_op2(x, EXPR_LT, build_real(x, 0), a), build_add(x, a, build_real(x, 1)), below));
        return 1;
    }
    case FEATURE_RELU: list[0] = map_of(x, v, above_zero(x, o->eps)); return 1;
    case FEATURE_SQUARED_RELU: list[0] = map_of(x, v, expr_power(x->m, above_zero(x, 0), 2)); return 1;
    case FEATURE_TAYLOR1: /* build_linear adds the feature 1 */ list[0] = build_unit_rows(x, v, o->eps); return 1;
    case FEATURE_HEDGEHOG: {
        int c = build_axis(x, "c", x->spec->head_dim);
        int w = query ? build_param(x, "features.wq", INITIAL_IDENTITY, 4, (int[]){x->kv, x->member, x->d, c})
                      : build_param(x, "features.wk", INITIAL_IDENTITY, 3, (int[]){x->kv, x->d, c});
        if (query && x->of_keys) { /* A query that is made from keys uses the matrix of query head 0. */
            struct ref only = graph_ref(x->g, w, NULL);
            only.sub[1] = build_integer(x, 0);
            w = graph_map(x->g, 3, (int[]){x->kv, x->d, c}, 1, &only, a);
        }
        y = build_contract(x, v, x->d, w, c);
        list[0] = softmax_rows(x, y);
        list[1] = softmax_rows(x, map_of(x, y, build_op1(x, EXPR_NEG, a)));
        return 2;
    }
    case FEATURE_FAVOR_POSITIVE:
    case FEATURE_FAVOR_TRIG:
        v = map_of(x, v, build_mul(x, a, quarter));
        squares = build_row_sum(x, map_of(x, v, build_mul(x, build_operand(x, 0), build_operand(x, 0))));
        *half = map_of(x, squares, build_mul(x, a, build_real(x, 0.5)));
        break;
    case FEATURE_FAVOR_RELU: break;
    }
    int c = build_axis(x, "c", o->count);
    y = build_contract(
        x, v, x->d,
        build_random(x, "features.w", o->orthogonal ? ORIGIN_ORTHOGONAL : ORIGIN_NORMAL, 2, (int[]){c, x->d}), c);
    if (o->features == FEATURE_FAVOR_RELU) {
        list[0] = map_of(x, y, above_zero(x, o->eps));
        return 1;
    }
    if (o->features == FEATURE_FAVOR_POSITIVE) {
        list[0] = map_of_both(x, y, *half, build_op1(x, EXPR_EXP, build_sub(x, a, b)));
        return 1;
    }
    list[0] = map_of(x, y, build_op1(x, EXPR_SIN, a));
    list[1] = map_of(x, y, build_op1(x, EXPR_COS, a));
    return 2;
}

int build_linear(struct builder *x, int q, int k)
{
    const struct similarity *o = &x->spec->similarity;
    int left[2] = {-1, -1}, right[2] = {-1, -1}, half[2] = {-1, -1}, pair[5];
    const int rank = build_pair(x, pair);
    int lists = features(x, q, true, left, &half[0]);
    if ((lists > 1 || o->features == FEATURE_TAYLOR1) &&
        build_refuses_decay_of_elements(x, "these features are of several parts"))
        return -1;
    features(x, k, false, right, &half[1]);
    struct ref refs[4];
    const struct expr *w = NULL;
    for (int n = 0; n < lists; n++) {
        refs[n] = graph_ref(x->g, build_inner(x, left[n], right[n]), NULL);
        w = w ? build_add(x, w, build_operand(x, n)) : build_operand(x, n);
    }
    int count = lists;
    if (o->features == FEATURE_TAYLOR1) w = build_add(x, w, build_real(x, 1));
    if (o->features == FEATURE_FAVOR_TRIG) /* The weight is multiplied by exp(half) of the query and of the key. */
        for (int side = 0; side < 2; side++) {
            refs[count] = graph_ref(x->g, half[side], NULL);
            w = build_mul(x, w, build_op1(x, EXPR_EXP, build_operand(x, count++)));
        }
    if (o->features == FEATURE_FAVOR_POSITIVE || o->features == FEATURE_FAVOR_TRIG)
        w = build_mul(x, w, build_real(x, 1 / (double)o->count));
    return graph_map(x->g, rank, pair, count, refs, w);
}

/* ---- sketches ---- */

/* Makes the tanh approximation of GELU: 0.5 a (1 + tanh(sqrt(2/pi) (a + 0.044715 a^3))). */
static int gelu(struct builder *x, int v)
{
    const struct expr *a = build_operand(x, 0), *cubic = build_mul(x, expr_power(x->m, a, 3), build_real(x, 0.044715));
    const struct expr *t = build_op1(x, EXPR_TANH,
                                     build_mul(x, build_add(x, a, cubic), build_real(x, sqrt(2 / acos(-1)))));
    return map_of(x, v, build_mul(x, build_mul(x, a, build_real(x, 0.5)), build_add(x, t, build_real(x, 1))));
}

/* Maps each row to similarity.sketch elements along axis "r" by the network of PolySketchFormer, appendix D. */
static int net(struct builder *x, int v, const char *name)
{
    struct arena *arena = x->m->arena;
    int64_t size = x->spec->similarity.sketch;
    int r = build_axis(x, "r", size), h = build_axis(x, "h", 8 * size);
    for (int half = 0; half < 2; half++) {
        int in = x->g->value[v].axes[x->g->value[v].rank - 1];
        v = build_layernorm(x, v, 1e-5, arena_printf(arena, "%s.norm%d", name, half));
        v = build_contract(
            x, v, in, build_param(x, arena_printf(arena, "%s.w%d", name, 2 * half), INITIAL_NORMAL, 2, (int[]){in, h}),
            h);
        int w = build_param(x, arena_printf(arena, "%s.w%d", name, 2 * half + 1), INITIAL_NORMAL, 2, (int[]){h, r});
        v = build_contract(x, gelu(x, v), h, w, r);
    }
    return v;
}

/* Sketches the tensor power x^degree of each row, along r, by algorithms 1 and 2 of PolySketchFormer. For degree 1,
   the result is the rows. */
static int sketch(struct builder *x, int v, int64_t degree, const char *path)
{
    const struct similarity *o = &x->spec->similarity;
    if (degree == 1) return v;
    int r = build_axis(x, "r", o->sketch), side[2];
    for (int n = 0; n < 2; n++) {
        int in = sketch(x, v, degree / 2, arena_printf(x->m->arena, "%s.%d", path, n));
        const char *name = arena_printf(x->m->arena, "%s.g%d", path, n + 1);
        if (o->learned)
            side[n] = net(x, in, name);
        else {
            int from = degree == 2 ? x->d : build_axis(x, "u", o->sketch);
            side[n] = build_contract(x, in, from, build_random(x, name, ORIGIN_NORMAL, 2, (int[]){from, r}), r);
        }
    }
    double root = sqrt((double)o->sketch);
    const struct expr *product = build_mul(x, build_mul(x, build_operand(x, 0), build_operand(x, 1)),
                                           build_real(x, 1 / root));
    if (o->learned) product = build_mul(x, build_op1(x, EXPR_TANH, product), build_real(x, root));
    return map_of_both(x, side[0], side[1], product);
}

int build_sketched(struct builder *x, int q, int k)
{
    const struct similarity *o = &x->spec->similarity;
    int pair[5];
    const int rank = build_pair(x, pair);
    if (build_refuses_decay_of_elements(x, "a sketch mixes them")) return -1;
    int left = sketch(x, q, o->degree / 2, "sketch"), right = sketch(x, k, o->degree / 2, "sketch");
    struct ref refs[2] = {graph_ref(x->g, build_inner(x, left, right), NULL)};
    const struct expr *w = expr_power(x->m, build_operand(x, 0), 2);
    if (!o->local_exact) return graph_map(x->g, rank, pair, 1, refs, w);
    refs[1] = graph_ref(x->g, build_inner(x, q, k), NULL);
    const struct expr *i = build_block_number(x, build_query_position(x), x->spec->block),
                      *j = build_block_number(x, build_index_of(x, x->j), x->spec->block);
    return graph_map(x->g, rank, pair, 2, refs,
                     build_choose(x, build_op2(x, EXPR_EQ, i, j), expr_power(x->m, build_operand(x, 1), o->degree), w));
}
