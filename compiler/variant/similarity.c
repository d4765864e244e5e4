/* Builds the weight of query i and key j from `similarity`, without the mask. */
#include "builder.h"
#include "../spec/spec.h"

#include <math.h>

/* Returns the ALiBi slope of head h, for any number H of heads, with n = 2^floor(log2 H).
   - For h < n, it is 2^(-8 (h + 1) / n), as for n heads.
   - For h >= n, it is 2^(-8 (2 (h - n) + 1) / (2 n)), which is every second slope of 2 n heads. */
static const struct expr *alibi_slope(struct builder *x)
{
    const struct expr *heads = build_mul(x, build_size_of(x, x->kv), build_size_of(x, x->member)), *h = build_head(x);
    const struct expr *log2_heads = build_mul(x, build_op1(x, EXPR_LOG, build_add(x, heads, build_real(x, 0.5))),
                                              build_real(x, 1 / log(2)));
    const struct expr *n = build_op1(x, EXPR_EXP2, build_op1(x, EXPR_FLOOR, log2_heads));
    const struct expr *low = build_divide(x, build_add(x, h, build_real(x, 1)), n);
    const struct expr *high = build_divide(
        x, build_add(x, build_mul(x, build_sub(x, h, n), build_real(x, 2)), build_real(x, 1)),
        build_mul(x, n, build_real(x, 2)));
    return build_op1(x, EXPR_EXP2,
                     build_mul(x, build_choose(x, build_op2(x, EXPR_LT, h, n), low, high), build_real(x, -8)));
}

static const struct expr *logit(struct builder *x, const struct expr *s, struct operands *operands)
{
    const struct similarity *o = &x->spec->similarity;
    double scale = o->has_scale                                 ? o->scale
                   : o->compatibility == COMPATIBILITY_ADDITIVE ? 1
                                                                : 1 / sqrt((double)x->spec->head_dim);
    const struct expr *l = build_mul(x, s, build_real(x, o->has_cap ? scale / o->cap : scale));
    if (o->has_cap) l = build_mul(x, build_op1(x, EXPR_TANH, l), build_real(x, o->cap));
    switch (o->bias) {
    case BIAS_NONE: break;
    case BIAS_ALIBI: {
        const struct expr *distance = build_op1(x, EXPR_ABS,
                                                build_sub(x, build_query_position(x), build_index_of(x, x->j)));
        l = build_sub(x, l, build_mul(x, alibi_slope(x), distance));
        break;
    }
    case BIAS_DENSE: {
        if (x->of_keys) diagnostics_error(x->diagnostics, o->at, "'delta' with 'bias: dense' is not compiled yet");
        int bias = build_param(x, "bias", INITIAL_ZEROS, 4, (int[]){x->kv, x->member, x->i, x->j});
        l = build_add(x, l, build_read(x, operands, graph_ref(x->g, bias, NULL)));
        break;
    }
    }
    return o->modify ? build_expression(x, o->modify, l, operands) : l;
}

static const struct expr *polynomial_square(struct builder *x, const struct expr *s, struct operands *operands)
{
    const struct similarity *o = &x->spec->similarity;
    int array = -1;
    if (!o->coefficients) {
        int c = build_axis(x, "a", o->degree + 1);
        array = build_param(x, "coefficients", INITIAL_EXPONENTIAL, 1, &c);
    }
    const struct expr *sum = NULL; /* Horner's scheme */
    for (int64_t t = o->degree; t >= 0; t--) {
        const struct expr *a;
        if (o->coefficients)
            a = build_real(x, o->coefficients[t]);
        else {
            struct ref coefficient = graph_ref(x->g, array, NULL);
            coefficient.sub[0] = build_integer(x, t);
            a = build_read(x, operands, coefficient);
        }
        sum = sum ? build_add(x, build_mul(x, sum, s), a) : a;
    }
    return build_mul(x, sum, sum);
}

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

/* Makes the weights without the mask. Sets *inner to the inner products of q and k, if it makes them. */
static int weights(struct builder *x, int q, int k, int *inner)
{
    const struct similarity *o = &x->spec->similarity;
    x->at = o->at;
    int pair[5];
    const int rank = build_pair(x, pair);
    struct ref left = graph_ref(x->g, q, NULL), right = graph_ref(x->g, k, NULL);
    switch (o->kind) {
    case SIMILARITY_SOFTMAX:
        if (o->compatibility == COMPATIBILITY_MULTIPLICATIVE) {
            int c = build_axis(x, "c", x->spec->head_dim);
            int w = build_param(x, "compatibility.w", INITIAL_IDENTITY, 2, (int[]){x->d, c});
            int turned = build_contract(x, q, x->d, w, c);
            left = graph_ref(x->g, turned, NULL);
            right.sub[right.rank - 1] = build_index_of(x, c);
        }
        break;
    case SIMILARITY_POLYNOMIAL: break;
    case SIMILARITY_POLYNOMIAL_SQUARE:
        if (!o->coefficients && o->degree + 2 > MAX_OPERANDS) {
            diagnostics_error(
                x->diagnostics, o->at,
                "polynomial_square with degree above %d and with coefficients as a parameter is not compiled yet",
                MAX_OPERANDS - 2);
            return -1;
        }
        break;
    case SIMILARITY_POLYSKETCH: return build_sketched(x, q, k);
    case SIMILARITY_LINEAR:
    case SIMILARITY_CUSTOM: break;
    }
    const bool softmax = o->kind == SIMILARITY_SOFTMAX, hidden = softmax && o->compatibility == COMPATIBILITY_ADDITIVE,
               matrix = softmax && o->compatibility == COMPATIBILITY_MULTIPLICATIVE;
    if ((hidden || matrix) && build_refuses_decay_of_elements(x, "this compatibility has none")) return -1;
    int s = hidden                         ? additive(x, q, k)
            : matrix                       ? graph_contract(x->g, rank, pair, left, right, NULL)
            : o->kind == SIMILARITY_LINEAR ? build_linear(x, q, k)
                                           : build_inner(x, q, k);
    if (!hidden && !matrix && o->kind != SIMILARITY_LINEAR) *inner = s;
    if (o->kind == SIMILARITY_LINEAR && (s < 0 || !o->modify)) return s;
    struct operands operands = {0};
    const struct expr *w = build_read(x, &operands, graph_ref(x->g, s, NULL));
    if (o->kind == SIMILARITY_SOFTMAX) {
        w = logit(x, w, &operands);
        /* The exponential of a constant would be a number. Decays and corrected values look for an exponential. */
        if (w->op == EXPR_REAL || w->op == EXPR_INT)
            w = build_read(x, &operands, graph_ref(x->g, graph_map(x->g, rank, pair, 0, NULL, w), NULL));
        w = build_op1(x, EXPR_EXP, w);
    } else if (o->kind == SIMILARITY_CUSTOM || o->kind == SIMILARITY_LINEAR)
        w = build_expression(x, o->kind == SIMILARITY_LINEAR ? o->modify : o->weight, w, &operands);
    else if (o->kind == SIMILARITY_POLYNOMIAL)
        w = expr_power(x->m,
                       build_add(x, build_mul(x, w, build_real(x, 1 / o->beta)), build_real(x, o->alpha / o->beta)),
                       o->degree);
    else
        w = polynomial_square(x, w, &operands);
    return graph_map(x->g, rank, pair, operands.count, operands.ref, w);
}

int build_weights(struct builder *x, int q, int k)
{
    int s = -1;
    const int w = weights(x, q, k, &s);
    return w < 0 ? w : build_shown(x, w, s, q, k);
}
