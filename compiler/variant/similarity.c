/* Builds the weight of query i and key j from `similarity`, without the mask. */
#include "builder.h"
#include "../spec/spec.h"

#include <math.h>

/* Makes <v, tanh(q Wq + k Wk)> for each pair. */
static int additive(struct builder *x, int q, int k)
{
    int a = build_axis(x, "a", x->spec->similarity.hidden), pair[6];
    const int rank = build_pair(x, pair);
    pair[rank] = a;
    int wq = build_param(x, "compatibility.wq", INITIAL_NORMAL, 2, (int[]){x->d, a}),
        wk = build_param(x, "compatibility.wk", INITIAL_NORMAL, 2, (int[]){x->d, a});
    int v = build_param(x, "compatibility.v", INITIAL_NORMAL, 1, &a);
    int left = build_contract(x, q, x->d, wq, a), right = build_contract(x, k, x->d, wk, a);
    struct ref refs[3] = {graph_ref(x->g, left, NULL), graph_ref(x->g, right, NULL), graph_ref(x->g, v, NULL)};
    const struct expr *hidden = build_op1(x, EXPR_TANH, build_add(x, build_operand(x, 0), build_operand(x, 1)));
    return build_row_sum(x, graph_map(x->g, rank + 1, pair, 3, refs, build_mul(x, hidden, build_operand(x, 2))));
}

/* Makes <q W, k> for each pair. */
static int multiplicative(struct builder *x, int q, int k)
{
    int c = build_axis(x, "c", x->spec->head_dim), pair[5];
    const int rank = build_pair(x, pair), w = build_param(x, "compatibility.w", INITIAL_IDENTITY, 2, (int[]){x->d, c}),
              turned = build_contract(x, q, x->d, w, c);
    struct ref right = graph_ref(x->g, k, NULL);
    right.sub[right.rank - 1] = build_index_of(x, c);
    return graph_contract(x->g, rank, pair, graph_ref(x->g, turned, NULL), right, NULL);
}

/* Makes the number of each pair that the weight is made of. Returns -1 after an error. */
static int score(struct builder *x, int q, int k)
{
    const struct similarity *const o = &x->spec->similarity;
    if (o->kind == SIMILARITY_LINEAR) return build_linear(x, q, k);
    if (o->compatibility == COMPATIBILITY_DOT) return build_inner(x, q, k);
    if (build_refuses_decay_of_elements(x, "this compatibility has none")) return -1;
    return o->compatibility == COMPATIBILITY_ADDITIVE ? additive(x, q, k) : multiplicative(x, q, k);
}

int build_weights(struct builder *x, int q, int k)
{
    const struct similarity *const o = &x->spec->similarity;
    const bool softmax = o->kind == SIMILARITY_SOFTMAX, linear = o->kind == SIMILARITY_LINEAR,
               inner = !linear && o->compatibility == COMPATIBILITY_DOT;
    const double usual = o->compatibility == COMPATIBILITY_ADDITIVE ? 1 : 1 / sqrt((double)x->spec->head_dim);
    x->at = o->at;
    const int s = o->kind == SIMILARITY_POLYSKETCH ? build_sketched(x, q, k) : score(x, q, k);
    if (s < 0) return s;
    if (o->kind == SIMILARITY_POLYSKETCH) return build_shown(x, s, -1, q, k);
    int pair[5], w = s;
    const int rank = build_pair(x, pair);
    struct operands operands = {0};
    const struct expr *e = build_read(x, &operands, graph_ref(x->g, s, NULL));
    if (softmax) e = build_mul(x, e, build_real(x, o->has_scale ? o->scale : usual));
    for (int n = 0; n < o->steps; n++) e = build_expression(x, o->step[n], e, &operands);
    if (softmax) {
        /* The exponential of a constant would be a number. Decays and corrected values look for an exponential. */
        if (e->op == EXPR_REAL || e->op == EXPR_INT)
            e = build_read(x, &operands, graph_ref(x->g, graph_map(x->g, rank, pair, 0, NULL, e), NULL));
        e = build_op1(x, EXPR_EXP, e);
    }
    if (softmax || o->steps) w = graph_map(x->g, rank, pair, operands.count, operands.ref, e);
    return build_shown(x, w, inner ? s : -1, q, k);
}
