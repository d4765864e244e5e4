/* Multiplies weights by a decay. The decay is exp of the sum of `decay: {log: …}` over the positions after the key,
   up to the query. The sum is a difference of two prefix sums. */
#include "builder.h"

#include <math.h>

/* The minimum of the logarithm of a decay. A weight with this decay is 0. A smaller logarithm, such as -1e30, would
   erase the digits of later prefix sums. */
static const double MIN_LOG = -1e4;

/* The axis of the positions that prefix sums add. */
static const char positions[] = "position";

/* Makes the terms of the prefix sums, over axes [b g m t]. They also have axis d if elements have their own decay. */
static int build_terms(struct builder *x)
{
    const int last = x->spec->decay->uses[NAME_d] ? x->d : -1, axes[] = {x->b, x->kv, x->member, x->t, last};
    struct operands operands = {0};
    const struct expr *const log = build_at_position(x, x->spec->decay, build_index_of(x, x->t), &operands),
                             *const least = build_real(x, MIN_LOG);
    return graph_map(x->g, last < 0 ? 4 : 5, axes, operands.count, operands.ref, build_op2(x, EXPR_MAX, log, least));
}

/* Makes the sums of the terms up to `position`, for each index of `axis`. */
static int build_prefix_sums(struct builder *x, int terms, int axis, const struct expr *position)
{
    struct value like = x->g->value[terms];
    like.axes[3] = axis;
    return graph_reduce(x->g, FOLD_SUM, 0, like.rank, like.axes, graph_ref(x->g, terms, NULL),
                        build_op2(x, EXPR_LE, build_index_of(x, x->t), position));
}

void build_decay_sums(struct builder *x)
{
    x->decay_of_query = x->decay_of_key = -1;
    if (!x->spec->decay) return;
    x->t = module_axis(x->m, positions, SIZE_N_K, 0);
    const int terms = build_terms(x);
    x->decay_of_query = build_prefix_sums(x, terms, x->i, build_query_position(x));
    x->decay_of_key = build_prefix_sums(x, terms, x->j, build_index_of(x, x->j));
}

/* Returns e^difference as a power. It is at most 1, so it is not an exponential that passes stabilise. */
static const struct expr *power(struct builder *x, const struct expr *difference)
{
    return build_op2(x, EXPR_POW, expr_real(x->m, exp(1)), difference);
}

/* Returns a reference to the prefix sums up to the query. In a weight of two keys, the query is a key too. */
static struct ref sums_of_query(struct builder *x, struct ref key)
{
    if (!x->of_keys) return graph_ref(x->g, x->decay_of_query, NULL);
    key.sub[3] = build_index_of(x, x->i);
    return key;
}

/* Returns the difference of the prefix sums of query and key. `axis` is the axis of elements with their own decay,
   or -1. */
static const struct expr *difference(struct builder *x, int axis, struct operands *operands)
{
    struct ref key = graph_ref(x->g, x->decay_of_key, NULL);
    if (x->spec->rate) key.sub[2] = build_integer(x, 0); /* This is the only query head of the key/value head. */
    struct ref query = sums_of_query(x, key);
    if (axis >= 0) query.sub[query.rank - 1] = key.sub[key.rank - 1] = build_index_of(x, axis);
    const struct expr *const of_query = build_read(x, operands, query);
    return build_sub(x, of_query, build_read(x, operands, key));
}

int build_decayed(struct builder *x, int w)
{
    if (!x->spec->decay || x->spec->decay->uses[NAME_d]) return w;
    struct value v = x->g->value[w];
    struct operands operands = {0};
    if (v.op != GRAPH_MAP) {
        v.expr = build_read(x, &operands, graph_ref(x->g, w, NULL));
    } else
        for (int k = 0; k < v.operands; k++) build_read(x, &operands, v.operand[k]);
    const struct expr *between = difference(x, -1, &operands);
    const struct expr *e = v.expr->op == EXPR_EXP ? build_op1(x, EXPR_EXP, build_add(x, v.expr->arg[0], between))
                                                  : build_mul(x, v.expr, power(x, between));
    return graph_map(x->g, v.rank, v.axes, operands.count, operands.ref, e);
}

int build_inner(struct builder *x, int q, int k)
{
    int pair[6];
    const int rank = build_pair(x, pair), axis = x->g->value[q].axes[x->g->value[q].rank - 1];
    const struct ref query = graph_ref(x->g, q, NULL), key = graph_ref(x->g, k, NULL);
    if (!x->spec->decay || !x->spec->decay->uses[NAME_d]) return graph_contract(x->g, rank, pair, query, key, NULL);
    if (x->m->axis[axis].extent != x->spec->head_dim) {
        diagnostics_error(x->diagnostics, x->spec->decay->first_use[NAME_d].at,
                          "a decay with 'd' needs head_dim = %lld features of a query and a key, but there are %lld",
                          (long long)x->spec->head_dim, (long long)x->m->axis[axis].extent);
        return graph_contract(x->g, rank, pair, query, key, NULL);
    }
    struct operands operands = {0};
    const struct expr *const a = build_read(x, &operands, query);
    const struct expr *e = build_mul(x, a, build_read(x, &operands, key));
    e = build_mul(x, e, power(x, difference(x, axis, &operands)));
    pair[rank] = axis;
    return build_row_sum(x, graph_map(x->g, rank + 1, pair, operands.count, operands.ref, e));
}

bool build_refuses_decay_of_elements(struct builder *x, const char *what)
{
    const bool refuses = x->spec->decay && x->spec->decay->uses[NAME_d];
    if (refuses)
        diagnostics_error(x->diagnostics, x->spec->decay->first_use[NAME_d].at,
                          "a decay with 'd' multiplies the terms of an inner product of query and key, but %s", what);
    return refuses;
}

/* Joins two prefix sums over the same positions into sums over an axis: the elements of the first, then those of the
   second. `tangent` is the second sum. */
static void join(struct graph *g, int sum, int tangent)
{
    struct module *const m = g->module;
    const struct value of[2] = {g->value[sum], g->value[tangent]};
    const int64_t elements = of[0].rank < 5 ? 1 : m->axis[of[0].axes[4]].extent;
    int axis = module_find_axis(m, "with_tangent");
    if (axis < 0) axis = module_axis(m, "with_tangent", SIZE_CONSTANT, 2 * elements);
    const struct expr *const x = expr_index(m, axis), *const first = expr_int(m, elements);
    struct value terms = graph_value(GRAPH_MAP, 4, g->value[of[0].operand[0].of].axes), joined = of[0];
    terms.axes[terms.rank++] = joined.axes[4] = axis;
    joined.rank = 5;
    for (int k = 0; k < 2; k++) {
        struct ref r = graph_ref(g, of[k].operand[0].of, NULL);
        if (r.rank == 5) r.sub[4] = expr_mod(m, x, first);
        terms.operand[terms.operands++] = r;
    }
    terms.expr = expr_select(m, expr_lt(m, x, first), expr_operand(m, 0), expr_operand(m, 1));
    /* Maps are inlined, because tiles have no computed subscripts. */
    for (int k = 0; k < terms.operands; k++)
        if (g->value[terms.operand[k].of].op == GRAPH_MAP && graph_inline(g, &terms, k, &g->value[terms.operand[k].of]))
            k = -1;
    graph_insert(g, tangent + 1, terms);
    joined.operand[0] = graph_ref(g, tangent + 1, NULL);
    graph_insert(g, tangent + 2, joined);
    for (int v = tangent + 3; v < g->values; v++)
        for (int k = 0; k < g->value[v].operands; k++) {
            struct ref *const r = &g->value[v].operand[k];
            if (r->of != sum && r->of != tangent) continue;
            const struct expr *const element = r->rank == 5 ? r->sub[4] : expr_int(m, 0);
            r->sub[4] = r->of == sum ? element : expr_add(m, first, element);
            r->rank = 5;
            r->of = tangent + 2;
        }
}

/* Whether v is a sum over positions, of the query or the key. */
static bool is_prefix_sum(const struct graph *g, int v)
{
    const struct value *const value = &g->value[v];
    const int t = module_find_axis(g->module, positions);
    return v < g->values && t >= 0 && value->op == GRAPH_REDUCE && value->where && value->where->op == EXPR_LE &&
           value->where->arg[0] == expr_index(g->module, t);
}

void build_joined_sums(struct graph *g)
{
    for (int v = 0; v < g->values; v++)
        if (is_prefix_sum(g, v) && is_prefix_sum(g, v + 1) && g->value[v].axes[3] == g->value[v + 1].axes[3])
            join(g, v, v + 1), v += 2;
}
