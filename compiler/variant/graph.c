/* From a spec to the graph of its quadratic meaning: every weight w(i, j) as a scalar expression over inner products, the mask as the region
   of the sums over j. Only the files build*.c know the variants; nothing there is fast or clever, the passes find everything else. */
#include "../compiler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- preparing q and k: each step makes a new value over the same axes, the last of which is d ---- */

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
    int angles = build_table(x, "rope_theta", t, theta);
    const struct expr *angle = build_mul(x, position, build_operand(x, 0));
    struct ref theta_t = graph_ref(x->g, angles, NULL);
    int cosine = graph_map(x->g, 2, (int[]){sequence, t}, 1, &theta_t, build_op1(x, EXPR_COS, angle));
    int sine = graph_map(x->g, 2, (int[]){sequence, t}, 1, &theta_t, build_op1(x, EXPR_SIN, angle));

    const struct expr *d = build_index_of(x, x->d), *first, *other, *pair;
    if (step->halves) {
        first = build_op2(x, EXPR_LT, d, build_integer(x, half));
        other = build_choose(x, first, build_add(x, d, build_integer(x, half)), build_sub(x, d, build_integer(x, half)));
        pair = build_op2(x, EXPR_MOD, d, build_integer(x, half));
    } else {
        first = build_op2(x, EXPR_EQ, build_op2(x, EXPR_MOD, d, build_integer(x, 2)), build_integer(x, 0));
        other = build_choose(x, first, build_add(x, d, build_integer(x, 1)), build_sub(x, d, build_integer(x, 1)));
        pair = build_divide(x, d, build_integer(x, 2));
    }
    struct ref refs[4] = {graph_ref(x->g, v, NULL), graph_ref(x->g, v, NULL), graph_ref(x->g, cosine, NULL), graph_ref(x->g, sine, NULL)};
    refs[1].sub[refs[1].rank - 1] = other;
    refs[2].sub[1] = refs[3].sub[1] = pair;
    const struct expr *turned = build_mul(x, build_mul(x, build_operand(x, 1), build_operand(x, 3)),
                                          build_choose(x, first, build_real(x, -1), build_real(x, 1)));
    return graph_map(x->g, like.rank, like.axes, 4, refs, build_add(x, build_mul(x, build_operand(x, 0), build_operand(x, 2)), turned));
}

static int prepare(struct builder *x, int v, bool query)
{
    for (int k = 0; k < x->spec->prepares; k++) {
        const struct prepare *step = &x->spec->prepare[k];
        x->at = step->at;
        switch (step->kind) {
        case PREPARE_LAYERNORM: v = build_layernorm(x, v, step->eps, !step->affine ? NULL : query ? "q_norm" : "k_norm"); break;
        case PREPARE_L2NORM: v = build_unit_rows(x, v, step->eps); break;
        case PREPARE_ROPE: v = rope(x, step, v, query ? build_query_position(x) : build_index_of(x, x->j), query ? x->i : x->j); break;
        case PREPARE_SCALE:
            if (query) {
                struct value like = x->g->value[v];
                v = build_map_over(x, &like, like.rank, 1, &v, build_mul(x, build_operand(x, 0), build_real(x, step->by)));
            }
            break;
        }
    }
    return v;
}
/* ---- the mask: a condition on positions; NULL where everything is seen or after an error ---- */

static const struct expr *both(struct builder *x, const struct expr *a, const struct expr *b)
{
    return !a ? b : !b ? a : build_op2(x, EXPR_AND, a, b);
}

/* Whether the position is one of the tokens, which are sorted here: runs of neighbours make one range, and the ranges a shallow tree. */
static const struct expr *among(struct builder *x, const struct expr *position, const int64_t *first, const int64_t *last, int ranges)
{
    if (ranges > 1) {
        int half = ranges / 2;
        return build_op2(x, EXPR_OR, among(x, position, first, last, half), among(x, position, first + half, last + half, ranges - half));
    }
    if (*first == *last) return build_op2(x, EXPR_EQ, position, build_integer(x, *first));
    return build_op2(x, EXPR_AND, build_op2(x, EXPR_LE, build_integer(x, *first), position), build_op2(x, EXPR_LE, position, build_integer(x, *last)));
}

static int compare_positions(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The query or the key is one of the tokens. */
static const struct expr *global(struct builder *x, const struct mask *o, const struct expr *i, const struct expr *j)
{
    int64_t zero = 0, end = o->count - 1;
    if (!o->token) return build_op2(x, EXPR_OR, among(x, i, &zero, &end, 1), among(x, j, &zero, &end, 1));
    if (o->tokens == 0) return build_integer(x, 0);
    size_t bytes = (size_t)o->tokens * sizeof(int64_t);
    int64_t *token = arena_alloc(x->m->arena, bytes), *first = arena_alloc(x->m->arena, bytes), *last = arena_alloc(x->m->arena, bytes);
    memcpy(token, o->token, bytes);
    qsort(token, (size_t)o->tokens, sizeof *token, compare_positions);
    int ranges = 0;
    for (int t = 0; t < o->tokens; t++)
        if (ranges > 0 && token[t] - last[ranges - 1] <= 1)
            last[ranges - 1] = token[t];
        else {
            first[ranges] = last[ranges] = token[t];
            ranges++;
        }
    return build_op2(x, EXPR_OR, among(x, i, first, last, ranges), among(x, j, first, last, ranges));
}

/* The key's block is one of those drawn for the query's block. */
static const struct expr *random_blocks(struct builder *x, const struct mask *o, const struct expr *i, const struct expr *j)
{
    const struct expr *blocks = build_add(x, build_block_number(x, build_sub(x, build_size_of(x, x->j), build_integer(x, 1)), o->block), build_integer(x, 1));
    const struct draw draw = {.count = o->count, .seed = o->seed, .upto = o->causal};
    if (++x->drawn == MAX_DRAWN + 1) diagnostics_error(x->diagnostics, o->at, "there are more than %d masks 'random'", MAX_DRAWN);
    return expr_drawn(x->m, build_block_number(x, i, o->block), build_block_number(x, j, o->block), blocks, draw);
}

/* The number of the document at a position; before the first key there is none. */
static const struct expr *document_of(struct builder *x, const struct expr *position)
{
    static const char name[] = "document";
    bool known = false;
    for (int v = 0; v < x->g->values; v++) known |= x->g->value[v].integers;
    if (!known) graph_ids(x->g, name, 2, (int[]){x->b, x->j});
    return expr_id(x->m, EXPR_ID, name, build_index_of(x, x->b), position, NULL);
}

static const struct expr *mask(struct builder *x, const struct mask *o)
{
    const struct expr *i = build_query_position(x), *j = build_index_of(x, x->j), *result = NULL;
    switch (o->kind) {
    case MASK_NONE: return NULL;
    case MASK_CAUSAL: return build_op2(x, EXPR_LE, j, i);
    case MASK_WINDOW:
        result = both(x, build_op2(x, EXPR_LE, build_sub(x, i, build_integer(x, o->left * o->dilation)), j),
                      build_op2(x, EXPR_LE, j, build_add(x, i, build_integer(x, o->right * o->dilation))));
        if (o->dilation > 1) {
            const struct expr *step = build_integer(x, o->dilation);
            result = both(x, result, build_op2(x, EXPR_EQ, build_op2(x, EXPR_FLOORMOD, i, step), build_op2(x, EXPR_FLOORMOD, j, step)));
        }
        return result;
    case MASK_BLOCK_WINDOW: {
        const struct expr *bi = build_block_number(x, i, o->block), *bj = build_block_number(x, j, o->block);
        return both(x, build_op2(x, EXPR_LE, build_sub(x, bi, build_integer(x, o->left)), bj),
                    build_op2(x, EXPR_LE, bj, build_add(x, bi, build_integer(x, o->right))));
    }
    case MASK_PREFIX: return build_op2(x, EXPR_LT, j, build_integer(x, o->length));
    case MASK_GLOBAL: return global(x, o, i, j);
    case MASK_RANDOM: return random_blocks(x, o, i, j);
    case MASK_DOCUMENT: return build_op2(x, EXPR_EQ, document_of(x, i), document_of(x, j));
    case MASK_EXPR: return build_condition(x, o->expr);
    case MASK_ANY:
    case MASK_ALL:
        for (int k = 0; k < o->parts; k++) {
            const struct expr *part = mask(x, o->part[k]);
            if (!part) part = build_integer(x, 1);
            result = !result ? part : build_op2(x, o->kind == MASK_ANY ? EXPR_OR : EXPR_AND, result, part);
        }
        return result;
    case MASK_NOT: result = mask(x, o->part[0]); return result ? build_op1(x, EXPR_NOT, result) : build_integer(x, 0);
    }
    return NULL;
}
/* ---- projection (Wang et al., Linformer, 2020, section 4): so many sums over the keys in the place of keys ---- */

static int project(struct builder *x, int v, const char *name, int last)
{
    int s = build_axis(x, "s", x->spec->linformer), matrix = build_param(x, name, 2, (int[]){s, x->j});
    return graph_contract(x->g, 4, (int[]){x->b, x->kv, s, last}, graph_ref(x->g, matrix, NULL), graph_ref(x->g, v, NULL), NULL);
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

    if (spec->emit & EMIT_BACKWARD) build_not_yet(x, spec->emit_at, "emit 'backward'");
    if (spec->emit & EMIT_DECODE) build_not_yet(x, spec->emit_at, "emit 'decode'");

    int q = graph_input(x->g, "q", 5, (int[]){x->b, x->kv, x->member, x->i, x->d});
    int k = graph_input(x->g, "k", 4, (int[]){x->b, x->kv, x->j, x->d});
    int v = graph_input(x->g, "v", 4, (int[]){x->b, x->kv, x->j, x->e});
    k = prepare(x, k, false); /* one after the other: values are numbered as they are made */
    q = prepare(x, q, true);
    if (spec->linformer) {
        k = project(x, k, "project.e", x->d);
        v = project(x, v, "project.f", x->e);
        x->j = module_find_axis(m, "s"); /* the keys from here on */
    }
    int w = build_weights(x, q, k);
    const struct expr *region = mask(x, spec->mask);
    if (w < 0 || diagnostics_errors(d) > errors) return NULL;
    if (region && region->op == EXPR_INT) region = region->integer ? NULL : build_op2(x, EXPR_LT, build_index_of(x, x->j), build_integer(x, 0));

    int row[] = {x->b, x->kv, x->member, x->i}, result[] = {x->b, x->kv, x->member, x->i, x->e};
    int total = graph_reduce(x->g, FOLD_SUM, 0, 4, row, graph_ref(x->g, w, NULL), region);
    int sum = graph_contract(x->g, 5, result, graph_ref(x->g, w, NULL), graph_ref(x->g, v, NULL), region);
    struct ref refs[] = {graph_ref(x->g, sum, NULL), graph_ref(x->g, total, NULL)};
    const struct expr *denominator = build_operand(x, 1);
    x->at = (struct position){0, 0};
    switch (spec->normalize) {
    case NORMALIZE_NONE: graph_output(x->g, "out", graph_map(x->g, 5, result, 1, refs, build_operand(x, 0))); return x->g;
    case NORMALIZE_SUM: break;
    case NORMALIZE_SUM_PLUS: denominator = build_add(x, denominator, build_real(x, spec->sum_plus)); break;
    }
    /* a denominator of exactly 0 gives 0: a row that sees no key */
    const struct expr *quotient = build_divide(x, build_operand(x, 0), denominator);
    graph_output(x->g, "out",
                 graph_map(x->g, 5, result, 2, refs, build_choose(x, build_op2(x, EXPR_EQ, denominator, build_real(x, 0)), build_real(x, 0), quotient)));
    return diagnostics_errors(d) > errors ? NULL : x->g;
}
