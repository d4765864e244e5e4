/* From a spec to the graph of its quadratic meaning: every weight w(i, j) as a scalar expression over inner products, the mask as the region
   of the sums over j. Only this file knows the variants; nothing here is fast or clever, the passes find everything else. */
#include "compiler.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct builder {
    const struct spec *spec;
    struct diagnostics *diagnostics;
    struct graph *g;
    struct module *m;
    int b, kv, member, i, j, d, e; /* axes */
    struct position at;            /* what is being built */
    bool lost;                     /* a number was reported */
};

/* Short names for what the formulas are made of. */
/* A number that the dtype cannot hold would become 0 or the largest one and the result something else: it is refused, once. */
static const struct expr *real(struct builder *x, double value)
{
    bool narrow = x->m->dtype != DTYPE_F64, lost = narrow ? fabs(value) > FLT_MAX || (value != 0 && (float)value == 0) : !isfinite(value);
    if (lost && !x->lost) {
        x->lost = true;
        diagnostics_error(x->diagnostics, x->at, "%s cannot hold %g, which the options here come to", narrow ? "f32" : "f64", value);
    }
    return expr_real(x->m, value);
}
static const struct expr *integer(struct builder *x, int64_t value)
{
    return expr_int(x->m, value);
}
static const struct expr *operand(struct builder *x, int k)
{
    return expr_leaf(x->m, EXPR_OPERAND, k);
}
static const struct expr *index_of(struct builder *x, int axis)
{
    return expr_leaf(x->m, EXPR_INDEX, axis);
}
static const struct expr *size_of(struct builder *x, int axis)
{
    return expr_leaf(x->m, EXPR_SIZE, axis);
}
static const struct expr *op1(struct builder *x, enum expr_op op, const struct expr *a)
{
    return expr_make(x->m, op, a, NULL, NULL);
}
static const struct expr *op2(struct builder *x, enum expr_op op, const struct expr *a, const struct expr *b)
{
    return expr_make(x->m, op, a, b, NULL);
}
static const struct expr *add(struct builder *x, const struct expr *a, const struct expr *b)
{
    return op2(x, EXPR_ADD, a, b);
}
static const struct expr *sub(struct builder *x, const struct expr *a, const struct expr *b)
{
    return op2(x, EXPR_SUB, a, b);
}
static const struct expr *mul(struct builder *x, const struct expr *a, const struct expr *b)
{
    return op2(x, EXPR_MUL, a, b);
}
static const struct expr *divide(struct builder *x, const struct expr *a, const struct expr *b)
{
    return op2(x, EXPR_DIV, a, b);
}
static const struct expr *choose(struct builder *x, const struct expr *c, const struct expr *a, const struct expr *b)
{
    return expr_make(x->m, EXPR_SELECT, c, a, b);
}

/* Positions count so that the last query meets the last key: i = row + (n_k - n_q). */
static const struct expr *query_position(struct builder *x)
{
    return add(x, index_of(x, x->i), sub(x, size_of(x, x->j), size_of(x, x->i)));
}

static const struct expr *head(struct builder *x)
{
    return add(x, mul(x, index_of(x, x->kv), size_of(x, x->member)), index_of(x, x->member));
}

/* A parameter or table, once: the value that is there already when a step asks for it again. */
static int param(struct builder *x, const char *name, int rank, const int *axes)
{
    for (int v = 0; v < x->g->values; v++)
        if (x->g->value[v].op == GRAPH_PARAM && strcmp(x->g->value[v].name, name) == 0) return v;
    return graph_param(x->g, name, rank, axes);
}

static int table(struct builder *x, const char *name, int axis, const double *data)
{
    size_t bytes = (size_t)x->m->axis[axis].extent * sizeof *data;
    int same = 1;
    const char *unique = name;
    for (int v = 0; v < x->g->values; v++) {
        const struct value *value = &x->g->value[v];
        if (value->op != GRAPH_TABLE || strncmp(value->name, name, strlen(name)) != 0) continue;
        if (memcmp(value->data, data, bytes) == 0) return v;
        unique = arena_printf(x->m->arena, "%s_%d", name, ++same);
    }
    return graph_table(x->g, unique, 1, &axis, data);
}

static void not_yet(struct builder *x, struct position at, const char *what)
{
    diagnostics_error(x->diagnostics, at, "%s is not compiled yet", what);
}

/* ---- preparing q and k: each step makes a new value over the same axes, the last of which is d ---- */

static int map_over(struct builder *x, const struct value *like, int rank, int count, const int *values, const struct expr *e)
{
    struct ref refs[MAX_OPERANDS];
    for (int k = 0; k < count; k++) refs[k] = graph_ref(x->g, values[k], NULL);
    int axes[MAX_RANK];
    for (int k = 0; k < rank; k++) axes[k] = like->axes[k];
    return graph_map(x->g, rank, axes, count, refs, e);
}

static int row_sum(struct builder *x, int v)
{
    struct value like = x->g->value[v];
    return graph_reduce(x->g, FOLD_SUM, 0, like.rank - 1, like.axes, graph_ref(x->g, v, NULL), NULL);
}

static int layernorm(struct builder *x, const struct prepare *step, int v, const char *side)
{
    struct value like = x->g->value[v];
    const struct expr *share = real(x, 1.0 / (double)x->spec->head_dim);
    int total = row_sum(x, v);
    int centred = map_over(x, &like, like.rank, 2, (int[]){v, total}, sub(x, operand(x, 0), mul(x, operand(x, 1), share)));
    int square = map_over(x, &like, like.rank, 1, &centred, mul(x, operand(x, 0), operand(x, 0)));
    int variance = row_sum(x, square);
    int inverse = map_over(x, &like, like.rank - 1, 1, &variance,
                           divide(x, real(x, 1), op1(x, EXPR_SQRT, add(x, mul(x, operand(x, 0), share), real(x, step->eps)))));
    const struct expr *e = mul(x, operand(x, 0), operand(x, 1));
    if (!step->affine) return map_over(x, &like, like.rank, 2, (int[]){centred, inverse}, e);
    int weight = param(x, arena_printf(x->m->arena, "%s_norm.weight", side), 1, &x->d);
    int bias = param(x, arena_printf(x->m->arena, "%s_norm.bias", side), 1, &x->d);
    return map_over(x, &like, like.rank, 4, (int[]){centred, inverse, weight, bias}, add(x, mul(x, e, operand(x, 2)), operand(x, 3)));
}

static int l2norm(struct builder *x, const struct prepare *step, int v)
{
    struct value like = x->g->value[v];
    int square = map_over(x, &like, like.rank, 1, &v, mul(x, operand(x, 0), operand(x, 0)));
    int total = row_sum(x, square);
    int inverse = map_over(x, &like, like.rank - 1, 1, &total, divide(x, real(x, 1), op1(x, EXPR_SQRT, add(x, operand(x, 0), real(x, step->eps)))));
    return map_over(x, &like, like.rank, 2, (int[]){v, inverse}, mul(x, operand(x, 0), operand(x, 1)));
}

/* Sines are good up to angles of about 10^6 and useless from 10^15 on. */
static const double MOST_TURN = 1e6;

/* Rotates pair t at position p by the angle p * base^(-2t/D): y = x cos + (the pair's other member) sin, with a minus for the first member. */
static int rope(struct builder *x, const struct prepare *step, int v, const struct expr *position, int sequence)
{
    struct value like = x->g->value[v];
    int64_t D = x->spec->head_dim, half = D / 2;
    int t = module_find_axis(x->m, "t");
    if (t < 0) t = module_axis(x->m, "t", SIZE_CONSTANT, half);
    double *theta = arena_alloc(x->m->arena, (size_t)half * sizeof *theta);
    for (int64_t k = 0; k < half; k++) theta[k] = pow(step->base, -(double)(2 * k) / (double)D);
    if (theta[half - 1] > MOST_TURN && sequence == x->i)
        diagnostics_error(x->diagnostics, step->at, "rope with base %g turns a pair by %g a position; the most is %g", step->base, theta[half - 1], MOST_TURN);
    int angles = table(x, "rope_theta", t, theta);
    const struct expr *angle = mul(x, position, operand(x, 0));
    struct ref theta_t = graph_ref(x->g, angles, NULL);
    int cosine = graph_map(x->g, 2, (int[]){sequence, t}, 1, &theta_t, op1(x, EXPR_COS, angle));
    int sine = graph_map(x->g, 2, (int[]){sequence, t}, 1, &theta_t, op1(x, EXPR_SIN, angle));

    const struct expr *d = index_of(x, x->d), *first, *other, *pair;
    if (step->halves) {
        first = op2(x, EXPR_LT, d, integer(x, half));
        other = choose(x, first, add(x, d, integer(x, half)), sub(x, d, integer(x, half)));
        pair = op2(x, EXPR_MOD, d, integer(x, half));
    } else {
        first = op2(x, EXPR_EQ, op2(x, EXPR_MOD, d, integer(x, 2)), integer(x, 0));
        other = choose(x, first, add(x, d, integer(x, 1)), sub(x, d, integer(x, 1)));
        pair = divide(x, d, integer(x, 2));
    }
    struct ref refs[4] = {graph_ref(x->g, v, NULL), graph_ref(x->g, v, NULL), graph_ref(x->g, cosine, NULL), graph_ref(x->g, sine, NULL)};
    refs[1].sub[refs[1].rank - 1] = other;
    refs[2].sub[1] = refs[3].sub[1] = pair;
    const struct expr *turned = mul(x, mul(x, operand(x, 1), operand(x, 3)), choose(x, first, real(x, -1), real(x, 1)));
    return graph_map(x->g, like.rank, like.axes, 4, refs, add(x, mul(x, operand(x, 0), operand(x, 2)), turned));
}

static int prepare(struct builder *x, int v, bool query)
{
    for (int k = 0; k < x->spec->prepares; k++) {
        const struct prepare *step = &x->spec->prepare[k];
        x->at = step->at;
        switch (step->kind) {
        case PREPARE_LAYERNORM: v = layernorm(x, step, v, query ? "q" : "k"); break;
        case PREPARE_L2NORM: v = l2norm(x, step, v); break;
        case PREPARE_ROPE: v = rope(x, step, v, query ? query_position(x) : index_of(x, x->j), query ? x->i : x->j); break;
        case PREPARE_SCALE:
            if (query) {
                struct value like = x->g->value[v];
                v = map_over(x, &like, like.rank, 1, &v, mul(x, operand(x, 0), real(x, step->by)));
            }
            break;
        }
    }
    return v;
}

/* ---- similarity: the weight of (i, j) before the mask ---- */

/* The slopes of the ALiBi paper for any number of heads: 2^(-8(h+1)/n) for the first n = 2^floor(log2 H) heads, then those of 2n in between. */
static const struct expr *alibi_slope(struct builder *x)
{
    const struct expr *heads = mul(x, size_of(x, x->kv), size_of(x, x->member)), *h = head(x);
    const struct expr *log2_heads = mul(x, op1(x, EXPR_LOG, add(x, heads, real(x, 0.5))), real(x, 1 / log(2)));
    const struct expr *n = op1(x, EXPR_EXP2, op1(x, EXPR_FLOOR, log2_heads));
    const struct expr *low = divide(x, add(x, h, real(x, 1)), n);
    const struct expr *high = divide(x, add(x, mul(x, sub(x, h, n), real(x, 2)), real(x, 1)), mul(x, n, real(x, 2)));
    return op1(x, EXPR_EXP2, mul(x, choose(x, op2(x, EXPR_LT, h, n), low, high), real(x, -8)));
}

static const struct expr *logit(struct builder *x, const struct expr *s, struct ref *refs, int *count)
{
    const struct similarity *o = &x->spec->similarity;
    double scale = o->has_scale ? o->scale : 1 / sqrt((double)x->spec->head_dim);
    const struct expr *l = mul(x, s, real(x, o->has_cap ? scale / o->cap : scale));
    if (o->has_cap) l = mul(x, op1(x, EXPR_TANH, l), real(x, o->cap));
    switch (o->bias) {
    case BIAS_NONE: break;
    case BIAS_ALIBI: {
        const struct expr *distance = op1(x, EXPR_ABS, sub(x, query_position(x), index_of(x, x->j)));
        l = sub(x, l, mul(x, alibi_slope(x), distance));
        break;
    }
    case BIAS_DENSE: {
        int bias = param(x, "bias", 4, (int[]){x->kv, x->member, x->i, x->j});
        refs[*count] = graph_ref(x->g, bias, NULL);
        l = add(x, l, operand(x, (*count)++));
        break;
    }
    }
    return l;
}

static const struct expr *polynomial_square(struct builder *x, const struct expr *s, struct ref *refs, int *count)
{
    const struct similarity *o = &x->spec->similarity;
    int array = -1;
    if (!o->coefficients) {
        int c = module_axis(x->m, "a", SIZE_CONSTANT, o->degree + 1);
        array = param(x, "coefficients", 1, &c);
    }
    const struct expr *sum = NULL; /* Horner's scheme */
    for (int64_t t = o->degree; t >= 0; t--) {
        const struct expr *a;
        if (o->coefficients)
            a = real(x, o->coefficients[t]);
        else {
            refs[*count] = graph_ref(x->g, array, NULL);
            refs[*count].sub[0] = integer(x, t);
            a = operand(x, (*count)++);
        }
        sum = sum ? add(x, mul(x, sum, s), a) : a;
    }
    return mul(x, sum, sum);
}

/* The weights [b g m i j]; -1 after an error. */
static int weights(struct builder *x, int q, int k)
{
    const struct similarity *o = &x->spec->similarity;
    x->at = o->at;
    int pair[] = {x->b, x->kv, x->member, x->i, x->j};
    struct ref left = graph_ref(x->g, q, NULL), right = graph_ref(x->g, k, NULL);
    switch (o->kind) {
    case SIMILARITY_SOFTMAX:
        if (o->modify) {
            not_yet(x, o->modify_at, "'modify' (an expression)");
            return -1;
        }
        if (o->compatibility == COMPATIBILITY_ADDITIVE) {
            not_yet(x, o->compatibility_at, "compatibility 'additive'");
            return -1;
        }
        if (o->compatibility == COMPATIBILITY_MULTIPLICATIVE) {
            int c = module_axis(x->m, "c", SIZE_CONSTANT, x->spec->head_dim);
            int w = param(x, "compatibility.w", 2, (int[]){x->d, c});
            int turned = graph_contract(x->g, 5, (int[]){x->b, x->kv, x->member, x->i, c}, left, graph_ref(x->g, w, NULL), NULL);
            left = graph_ref(x->g, turned, NULL);
            right.sub[right.rank - 1] = index_of(x, c);
        }
        break;
    case SIMILARITY_POLYNOMIAL: break;
    case SIMILARITY_POLYNOMIAL_SQUARE:
        if (!o->coefficients && o->degree + 2 > MAX_OPERANDS) {
            diagnostics_error(x->diagnostics, o->at, "polynomial_square of degree over %d with coefficients as a parameter is not compiled yet",
                              MAX_OPERANDS - 2);
            return -1;
        }
        break;
    case SIMILARITY_POLYSKETCH: not_yet(x, o->at, "similarity 'polysketch'"); return -1;
    case SIMILARITY_LINEAR: not_yet(x, o->at, "similarity 'linear'"); return -1;
    case SIMILARITY_CUSTOM: not_yet(x, o->at, "similarity 'custom'"); return -1;
    }
    int s = graph_contract(x->g, 5, pair, left, right, NULL);
    struct ref refs[MAX_OPERANDS] = {graph_ref(x->g, s, NULL)};
    int count = 1;
    const struct expr *w = operand(x, 0);
    if (o->kind == SIMILARITY_SOFTMAX)
        w = op1(x, EXPR_EXP, logit(x, w, refs, &count));
    else if (o->kind == SIMILARITY_POLYNOMIAL)
        w = expr_power(x->m, add(x, mul(x, w, real(x, 1 / o->beta)), real(x, o->alpha / o->beta)), o->degree);
    else
        w = polynomial_square(x, w, refs, &count);
    return graph_map(x->g, 5, pair, count, refs, w);
}

/* ---- the mask: a condition on positions; NULL where everything is seen or after an error ---- */

static const struct expr *both(struct builder *x, const struct expr *a, const struct expr *b)
{
    return !a ? b : !b ? a : op2(x, EXPR_AND, a, b);
}

static const struct expr *block_number(struct builder *x, const struct expr *position, int64_t block)
{
    const struct expr *size = integer(x, block);
    return divide(x, sub(x, position, op2(x, EXPR_FLOORMOD, position, size)), size);
}

static const struct expr *mask(struct builder *x, const struct mask *o)
{
    const struct expr *i = query_position(x), *j = index_of(x, x->j), *result = NULL;
    switch (o->kind) {
    case MASK_NONE: return NULL;
    case MASK_CAUSAL: return op2(x, EXPR_LE, j, i);
    case MASK_WINDOW:
        result = both(x, op2(x, EXPR_LE, sub(x, i, integer(x, o->left * o->dilation)), j), op2(x, EXPR_LE, j, add(x, i, integer(x, o->right * o->dilation))));
        if (o->dilation > 1) {
            const struct expr *step = integer(x, o->dilation);
            result = both(x, result, op2(x, EXPR_EQ, op2(x, EXPR_FLOORMOD, i, step), op2(x, EXPR_FLOORMOD, j, step)));
        }
        return result;
    case MASK_BLOCK_WINDOW: {
        const struct expr *bi = block_number(x, i, o->block), *bj = block_number(x, j, o->block);
        return both(x, op2(x, EXPR_LE, sub(x, bi, integer(x, o->left)), bj), op2(x, EXPR_LE, bj, add(x, bi, integer(x, o->right))));
    }
    case MASK_PREFIX: return op2(x, EXPR_LT, j, integer(x, o->length));
    case MASK_GLOBAL: not_yet(x, o->at, "mask 'global'"); return NULL;
    case MASK_RANDOM: not_yet(x, o->at, "mask 'random'"); return NULL;
    case MASK_DOCUMENT: not_yet(x, o->at, "mask 'document'"); return NULL;
    case MASK_EXPR: not_yet(x, o->at, "mask 'expr'"); return NULL;
    case MASK_ANY:
    case MASK_ALL:
        for (int k = 0; k < o->parts; k++) {
            const struct expr *part = mask(x, o->part[k]);
            if (!part) part = integer(x, 1);
            result = !result ? part : op2(x, o->kind == MASK_ANY ? EXPR_OR : EXPR_AND, result, part);
        }
        return result;
    case MASK_NOT: result = mask(x, o->part[0]); return result ? op1(x, EXPR_NOT, result) : integer(x, 0);
    }
    return NULL;
}

/* ---- all of it ---- */

struct graph *build_graph(struct arena *arena, const struct spec *spec, struct diagnostics *d)
{
    int errors = diagnostics_errors(d);
    struct module *m = module_new(arena, spec->name, spec->dtype);
    struct builder builder = {.spec = spec, .diagnostics = d, .m = m, .g = graph_new(m)}, *x = &builder;
    x->b = module_axis(m, "b", SIZE_BATCH, 0);
    x->kv = module_axis(m, "g", SIZE_KV_HEADS, 0);
    x->member = module_axis(m, "m", SIZE_MEMBERS, 0);
    x->i = module_axis(m, "i", SIZE_N_Q, 0);
    x->j = module_axis(m, "j", SIZE_N_K, 0);
    x->d = module_axis(m, "d", SIZE_CONSTANT, spec->head_dim);
    x->e = module_axis(m, "e", SIZE_CONSTANT, spec->value_dim);

    if (spec->dtype == DTYPE_BF16 || spec->dtype == DTYPE_F16) diagnostics_error(d, spec->dtype_at, "dtype '%s' is not compiled yet", dtype_name(spec->dtype));
    if (spec->linformer) not_yet(x, spec->project_at, "'project'");
    if (spec->emit & EMIT_BACKWARD) not_yet(x, spec->emit_at, "emit 'backward'");
    if (spec->emit & EMIT_DECODE) not_yet(x, spec->emit_at, "emit 'decode'");

    int q = graph_input(x->g, "q", 5, (int[]){x->b, x->kv, x->member, x->i, x->d});
    int k = graph_input(x->g, "k", 4, (int[]){x->b, x->kv, x->j, x->d});
    int v = graph_input(x->g, "v", 4, (int[]){x->b, x->kv, x->j, x->e});
    int w = weights(x, prepare(x, q, true), prepare(x, k, false));
    const struct expr *region = mask(x, spec->mask);
    if (w < 0 || diagnostics_errors(d) > errors) return NULL;
    if (region && region->op == EXPR_INT) region = region->integer ? NULL : op2(x, EXPR_LT, index_of(x, x->j), integer(x, 0));

    int row[] = {x->b, x->kv, x->member, x->i}, result[] = {x->b, x->kv, x->member, x->i, x->e};
    int total = graph_reduce(x->g, FOLD_SUM, 0, 4, row, graph_ref(x->g, w, NULL), region);
    int sum = graph_contract(x->g, 5, result, graph_ref(x->g, w, NULL), graph_ref(x->g, v, NULL), region);
    struct ref refs[] = {graph_ref(x->g, sum, NULL), graph_ref(x->g, total, NULL)};
    const struct expr *denominator = operand(x, 1);
    x->at = (struct position){0, 0};
    switch (spec->normalize) {
    case NORMALIZE_NONE: x->g->output = graph_map(x->g, 5, result, 1, refs, operand(x, 0)); return x->g;
    case NORMALIZE_SUM: break;
    case NORMALIZE_SUM_PLUS: denominator = add(x, denominator, real(x, spec->sum_plus)); break;
    }
    /* a denominator of exactly 0 gives 0: a row that sees no key */
    const struct expr *quotient = divide(x, operand(x, 0), denominator);
    x->g->output = graph_map(x->g, 5, result, 2, refs, choose(x, op2(x, EXPR_EQ, denominator, real(x, 0)), real(x, 0), quotient));
    return diagnostics_errors(d) > errors ? NULL : x->g;
}
