/* Builds the graph of the quadratic form of a spec. The mask is the region of the sums over keys. The graph is
   simple, and passes make it fast. */
#include "builder.h"
#include "../spec/spec.h"

#include <math.h>
#include <string.h>

/* ---- projection (Wang et al., Linformer, 2020, section 4): weighted sums of all keys replace the keys ---- */

/* Returns `linformer` weighted sums of the rows v, along axis s. The weights are a matrix [s, j]. */
static int project(struct builder *x, int v, const char *name, int last)
{
    int s = build_axis(x, "s", x->spec->linformer), matrix = build_param(x, name, INITIAL_NORMAL, 2, (int[]){s, x->j});
    return graph_contract(x->g, 4, (int[]){x->b, x->kv, s, last}, graph_ref(x->g, matrix, NULL),
                          graph_ref(x->g, v, NULL), NULL);
}

/* Returns the weights w times a factor of positions. If w is a map, the factor becomes part of its formula, because
   passes look for powers there. */
static int times(struct builder *x, int w, const struct expr *factor)
{
    const struct value v = x->g->value[w];
    if (v.op != GRAPH_MAP) return build_map_over(x, &v, v.rank, 1, &w, build_mul(x, build_operand(x, 0), factor));
    return graph_map(x->g, v.rank, v.axes, v.operands, v.operand, build_mul(x, v.expr, factor));
}

/* ---- dropout (Srivastava et al., 2014; of the weights of attention: Vaswani et al., 2017) ---- */

/* Returns the factor 0 or 1 / (1 - dropout) of a weight. */
static const struct expr *drop_factor(struct builder *x)
{
    const struct expr *high = build_mul(x, build_index_of(x, x->b), build_integer(x, INT64_C(1) << 32)),
                      *number = expr_make(x->m, EXPR_RANDOM, build_whole_position(x, build_query_position(x)),
                                          build_whole_position(x, build_index_of(x, x->j)),
                                          build_add(x, build_head(x), high)),
                      *below = build_integer(x, (int64_t)rint(x->spec->dropout * 0x1p32));
    return build_choose(x, build_op2(x, EXPR_LT, number, below), build_real(x, 0),
                        build_real(x, 1 / (1 - x->spec->dropout)));
}

/* Returns the weights w times this factor. */
static int drop(struct builder *x, int w)
{
    const struct expr *const factor = drop_factor(x);
    return times(x, w, factor);
}

/* ---- masks that hide keys from all queries ---- */

/* Returns the weights w, or 0 for keys that are not shown. Then the states of a linear form have no such keys, and the
   sums of a part of the tokens are those of a causal mask. */
static int without_hidden(struct builder *x, int w)
{
    const struct expr *const factor = build_choose(x, build_shown_keys(x), build_real(x, 1), build_real(x, 0));
    return times(x, w, factor);
}

/* Returns k or v with zeros for these keys, which may have any contents. */
static int hidden_as_zeros(struct builder *x, int of, int element)
{
    const struct ref rows = graph_ref(x->g, of, NULL);
    return graph_map(x->g, 4, (int[]){x->b, x->kv, x->j, element}, 1, &rows,
                     build_choose(x, build_shown_keys(x), build_operand(x, 0), build_real(x, 0)));
}

/* ---- the denominator ---- */

static const struct expr *sink_mode_is(struct builder *x, int64_t mode)
{
    return build_op2(x, EXPR_EQ, build_size_of(x, x->sink_mode), build_integer(x, mode));
}

/* Returns whether the call computes a denominator without its constant or sink. */
static const struct expr *without_constant(struct builder *x)
{
    return sink_mode_is(x, 1);
}

/* Returns exp(sink). If the sink is a constant, evaluates it. */
static const struct expr *build_sink(struct builder *x, struct operands *operands)
{
    static const double MAX_CONSTANT_SINK = 700;
    const struct expr *sink = build_expression(x, x->spec->sink, build_real(x, 0), operands);
    const double constant = sink->op == EXPR_REAL ? sink->real : sink->op == EXPR_INT ? (double)sink->integer : 0;
    if (fabs(constant) > MAX_CONSTANT_SINK)
        diagnostics_error(x->diagnostics, x->spec->sink->at, "a constant sink is from -%g to %g, found %g",
                          MAX_CONSTANT_SINK, MAX_CONSTANT_SINK, constant);
    /* a logit whose exponential is 0 next to all others, and which can be scaled */
    static const double NO_SINK = -1e37;
    return build_op1(x, EXPR_EXP,
                     x->sink_mode < 0 ? sink : build_choose(x, without_constant(x), build_real(x, NO_SINK), sink));
}

/* Makes the output `statistics`: the denominator of each row, or its logarithm. `denominator` is an expression over
   the operands. If the sum of weights is 0, the row is treated as one that sees no key. */
static void build_statistics(struct builder *x, const struct operands *operands, const struct expr *denominator)
{
    const int row[] = {x->b, x->kv, x->member, x->i};
    const bool logarithms = spec_has_logarithms(x->spec);
    const struct expr *zero = build_real(x, 0), *unseen = logarithms ? expr_real(x->m, -INFINITY) : zero,
                      *e = logarithms ? build_op1(x, EXPR_LOG, denominator) : denominator;
    struct operands own = *operands;
    /* Operand 0, the sum of the values, has an axis that rows do not have. So it is replaced. */
    own.ref[0] = own.ref[1];
    const struct expr *none = build_op2(x, EXPR_EQ, build_operand(x, 1), zero);
    /* in mode 2, the row has its sink, although it sees no key */
    if (x->sink_mode >= 0) none = build_op2(x, EXPR_AND, none, build_op1(x, EXPR_NOT, sink_mode_is(x, 2)));
    e = build_choose(x, none, unseen, e);
    graph_output(x->g, "statistics", graph_map(x->g, 4, row, own.count, own.ref, e));
}

/* ---- the whole graph ---- */

static struct builder begin(struct arena *arena, const struct spec *spec, enum counting counting, struct diagnostics *d)
{
    struct module *m = module_new(arena, spec->name, spec->dtype);
    struct builder builder = {.spec = spec, .counting = counting, .diagnostics = d, .m = m, .g = graph_new(m)},
                   *x = &builder;
    x->written = -1;
    m->seed = spec->seed;
    x->b = module_axis(m, "b", SIZE_BATCH, 0);
    x->kv = module_axis(m, "g", SIZE_KV_HEADS, 0);
    x->member = module_axis(m, "m", SIZE_MEMBERS, 0);
    x->i = module_axis(m, "i", SIZE_N_Q, 0);
    x->queries = x->i;
    x->j = module_axis(m, "j", SIZE_N_K, 0);
    x->d = module_axis(m, "d", SIZE_CONSTANT, spec->head_dim);
    x->e = module_axis(m, "e", SIZE_CONSTANT, spec->value_dim);
    x->first_key = counting ? module_axis(m, "first_key", SIZE_FIRST_KEY, 0) : -1;
    x->first_key_of_j = counting && spec_may_be_linear(spec) ? module_axis(m, "first_key_of_j", SIZE_FIRST_KEY, 0)
                                                             : x->first_key;
    x->all_keys = counting ? module_axis(m, "all_keys", SIZE_ALL_KEYS, 0) : -1;
    x->sink_mode = spec->emit & EMIT_STATISTICS && spec_has_constant(spec)
                       ? module_axis(m, "sink_mode", SIZE_SINK_MODE, 0)
                       : -1;
    return builder;
}

/* Returns the sum's `factor`. Its s is the inner product of query and key. */
static const struct expr *factor_of(struct builder *x, struct operands *operands)
{
    const struct expr *const s = x->spec->factor->uses[NAME_s]
                                     ? build_read(x, operands, graph_ref(x->g, build_inner(x, x->q, x->k), NULL))
                                     : build_real(x, 0);
    return build_expression(x, x->spec->factor, s, operands);
}

/* Returns the rows of a score. If they have one head or batch entry, it is that of all. */
static struct ref rows_of_score(struct builder *x, int rows)
{
    struct ref r = graph_ref(x->g, rows, NULL);
    for (int n = 0; n < r.rank - 2; n++) {
        const struct axis *const axis = &x->m->axis[x->g->value[rows].axes[n]];
        if (axis->source == SIZE_CONSTANT && axis->extent == 1) r.sub[n] = build_integer(x, 0);
    }
    return r;
}

/* Returns the rows of a score's keys for each of the heads of its queries, which some heads may share. */
static struct ref rows_of_heads(struct builder *x, struct ref key, int heads)
{
    const struct value of_key = x->g->value[key.of];
    const int64_t count = x->m->axis[heads].extent, share = count / x->m->axis[of_key.axes[1]].extent;
    if (share > 1) { /* gradients of a map, but not of a product, are known for computed subscripts */
        const int rows[] = {x->b, heads, x->j, of_key.axes[3]};
        struct ref shared = graph_ref(x->g, key.of, NULL);
        shared.sub[1] = build_divide(x, build_index_of(x, heads), build_integer(x, share));
        key.of = graph_map(x->g, 4, rows, 1, &shared, build_operand(x, 0));
    }
    key.sub[1] = build_index_of(x, heads);
    return key;
}

/* Makes the score number n, the sum of its terms over the axis `heads`, or its only term for -1, from inner products.
   It has no axis of query heads or key/value heads, unless its terms have. */
static int sum_of_heads(struct builder *x, int n, const struct user_array *a, int inner, int heads)
{
    struct operands operands = {0};
    x->named[n] = inner;
    x->term = heads;
    const struct expr *const term = build_expression(x, a->sum, build_real(x, 0), &operands);
    uint32_t read = expr_axes_read(term, operands.ref);
    int made[MAX_RANK], rank = build_pair(x, made), kept = 0;
    for (int k = 0; k < rank; k++)
        if ((read | value_axes(&x->g->value[inner])) >> made[k] & 1) made[kept++] = made[k];
    made[kept] = heads;
    const int terms = graph_map(x->g, kept + (heads >= 0), made, operands.count, operands.ref, term);
    return heads < 0 ? terms : graph_reduce(x->g, FOLD_SUM, 0, kept, made, graph_ref(x->g, terms, NULL), NULL);
}

/* Makes score number n: the inner products of its rows, for each pair of theirs. */
static int build_score(struct builder *x, int n, const struct user_array *a)
{
    const int of_query = a->query ? build_rows(x, a->query, x->j) : x->q,
              of_key = a->key ? build_rows(x, a->key, x->j) : x->k;
    const struct value query = x->g->value[of_query], key = x->g->value[of_key];
    const int last = query.axes[query.rank - 1];
    if (x->m->axis[last].extent != x->m->axis[key.axes[key.rank - 1]].extent)
        diagnostics_error(x->diagnostics, a->at, "'%s': rows of queries have %lld elements, rows of keys %lld", a->name,
                          (long long)x->m->axis[last].extent, (long long)x->m->axis[key.axes[key.rank - 1]].extent);
    struct ref left = rows_of_score(x, of_query), right = rows_of_score(x, of_key);
    const int heads = a->sum ? ref_axis(&left, 1) : -1;
    right.sub[right.rank - 1] = build_index_of(x, last);
    if (a->sum && ref_axis(&right, 1) >= 0) right = rows_of_heads(x, right, heads);
    int pair[5], axes[MAX_RANK], kept = 0;
    const int rank = build_pair(x, pair);
    const uint32_t read = ref_axes(&left) | ref_axes(&right);
    for (int k = 0; k < rank; k++) {
        if (read >> pair[k] & 1) axes[kept++] = pair[k];
        if (k == 0 && heads >= 0) axes[kept++] = heads;
    }
    const int inner = graph_contract(x->g, kept, axes, left, right, NULL);
    return a->sum ? sum_of_heads(x, n, a, inner, heads) : inner;
}

/* Makes the scores. Expressions read those that they name, and the others are removed. */
static void build_scores(struct builder *x)
{
    const struct user_arrays *const all = &x->spec->arrays;
    for (int k = 0; k < all->named; k++) x->named[k] = -1;
    for (int k = 0; k < all->named; k++)
        if (all->array[all->count + k].type == ARRAY_SCORE)
            x->named[k] = build_score(x, k, &all->array[all->count + k]);
}

/* Returns the weights w times the sum's `factor`. */
static int times_factor(struct builder *x, int w)
{
    const struct value v = x->g->value[w];
    struct operands operands = {0};
    const struct expr *e = v.op == GRAPH_MAP ? v.expr : build_read(x, &operands, graph_ref(x->g, w, NULL));
    if (!x->spec->factor) return w;
    for (int n = 0; v.op == GRAPH_MAP && n < v.operands; n++) build_read(x, &operands, v.operand[n]);
    e = build_mul(x, e, factor_of(x, &operands));
    return graph_map(x->g, v.rank, v.axes, operands.count, operands.ref, e);
}

/* Returns the sum of the weights times the values v, undivided. If the values are 1, it has no axis of elements. */
static int weighted_sum(struct builder *x, int w, int v, const struct expr *region)
{
    const int result[] = {x->b, x->kv, x->member, x->i, x->e};
    const struct ref weights = graph_ref(x->g, w, NULL);
    if (x->spec->counts) return graph_reduce(x->g, FOLD_SUM, 0, 4, result, weights, region);
    struct ref values = graph_ref(x->g, v, NULL);
    values.sub[values.rank - 1] = build_index_of(x, x->e);
    return graph_contract(x->g, 5, result, weights, values, region);
}

/* Makes the output `weights`: w times the factors of the sum and of dropout, divided by `denominator`, an expression
   over the operands. It is 0 outside the region, and where the denominator is 0. */
static void build_weights_output(struct builder *x, const struct operands *operands, const struct expr *denominator,
                                 int w, bool drops, const struct expr *region)
{
    const int pair[] = {x->b, x->kv, x->member, x->i, x->j};
    const struct expr *const zero = build_real(x, 0), *e = build_divide(x, build_operand(x, 0), denominator);
    struct operands own = *operands;
    own.ref[0] = graph_ref(x->g, w, NULL); /* operand 0 is the sum of the values */
    if (x->spec->factor) e = build_mul(x, e, factor_of(x, &own));
    if (drops) e = build_mul(x, e, drop_factor(x));
    if (region) e = build_choose(x, region, e, zero);
    e = build_choose(x, build_op2(x, EXPR_EQ, denominator, zero), zero, e);
    graph_output(x->g, "weights", graph_map(x->g, 5, pair, own.count, own.ref, e));
}

/* Makes the output `weights` as the spec's expression. */
static void build_pairs_output(struct builder *x)
{
    const int pair[] = {x->b, x->kv, x->member, x->i, x->j};
    struct operands operands = {0};
    const struct expr *const s = x->spec->pairs->uses[NAME_s]
                                     ? build_read(x, &operands, graph_ref(x->g, build_inner(x, x->q, x->k), NULL))
                                     : build_real(x, 0),
                             *const e = build_expression(x, x->spec->pairs, s, &operands);
    graph_output(x->g, "weights", graph_map(x->g, 5, pair, operands.count, operands.ref, e));
}

/* Returns the sum plus that of the keys that the delta rule writes, if it writes other keys than k. */
static int plus_written(struct builder *x, int sum, const struct expr *region)
{
    const struct value v = x->g->value[sum];
    int w = x->written < 0 ? -1 : build_weights(x, x->q, x->written);
    if (w >= 0) w = build_decayed(x, w);
    if (w >= 0 && x->counting == COUNT_SHOWN) w = without_hidden(x, w);
    if (w < 0) return x->written < 0 ? sum : -1;
    const int more = graph_contract(x->g, v.rank, v.axes, graph_ref(x->g, w, NULL), graph_ref(x->g, x->removed, NULL),
                                    region);
    const struct ref both[] = {graph_ref(x->g, sum, NULL), graph_ref(x->g, more, NULL)};
    return graph_map(x->g, v.rank, v.axes, 2, both, build_add(x, build_operand(x, 0), build_operand(x, 1)));
}

/* Returns the weights w of a sum over the region. If another sum has the same weights and another region, they become
   0 outside the region, because equal values are one tile, which is masked once. */
static int apart(struct builder *x, int w, const struct expr *region)
{
    const int *const first = x->sums ? build_equal_values(x->g) : NULL;
    for (int k = 0; k < x->sums; k++)
        if (first[x->weight[k]] == first[w] && x->region[k] != region) {
            if (region) return build_hidden(x, w, region);
            diagnostics_error(x->diagnostics, x->spec->mask->at,
                              "this mask shows all keys, and the same weights have another mask in another sum; write "
                              "'mask: none'");
        }
    return w;
}

/* Builds the sum of x->spec. Returns its value, or -1 after an error. */
static int build_sum(struct builder *x, int v, bool drops)
{
    const int errors = diagnostics_errors(x->diagnostics);
    const bool weighs = x->spec->emit & EMIT_WEIGHTS && !x->spec->pairs;
    if (x->spec->values) v = build_rows(x, x->spec->values, x->j);
    build_running(x);
    int w = build_weights(x, x->q, x->k);
    if (w >= 0) w = build_decayed(x, w);
    const struct expr *const region = build_region(x);
    if (w >= 0 && x->counting == COUNT_SHOWN) w = without_hidden(x, w);
    if (w < 0 || diagnostics_errors(x->diagnostics) > errors) return -1;
    x->weight[x->sums] = w;
    x->region[x->sums] = region;
    w = apart(x, w, region);
    x->sums++;

    const int result[] = {x->b, x->kv, x->member, x->i, x->e}, rank = x->spec->counts ? 4 : 5;
    int total = graph_reduce(x->g, FOLD_SUM, 0, 4, result, graph_ref(x->g, w, NULL), region);
    const int plain = w;
    w = times_factor(x, w);
    drops &= x->spec->dropout > 0;
    if (drops) w = drop(x, w);
    int sum = plus_written(x, weighted_sum(x, w, v, region), region);
    if (sum < 0) return -1;
    struct operands operands = {.count = 2, .ref = {graph_ref(x->g, sum, NULL), graph_ref(x->g, total, NULL)}};
    const struct expr *denominator = build_operand(x, 1);
    x->at = NO_POSITION;
    switch (x->spec->normalize) {
    case NORMALIZE_NONE:
        sum = graph_map(x->g, rank, result, 1, operands.ref, build_operand(x, 0));
        if (x->spec->emit & EMIT_STATISTICS) build_statistics(x, &operands, build_real(x, 1));
        operands.count = 1;
        if (weighs) build_weights_output(x, &operands, build_real(x, 1), plain, drops, region);
        return sum;
    case NORMALIZE_SINK: denominator = build_add(x, denominator, build_sink(x, &operands)); break;
    case NORMALIZE_SUM: {
        const struct expr *constant = build_real(x, x->spec->sum_plus);
        /* High powers are relative to the constant, so it is not 0. */
        if (x->sink_mode >= 0)
            constant = build_choose(x, without_constant(x), build_real(x, x->spec->sum_plus * 0x1p-60), constant);
        denominator = build_add(x, denominator, constant);
        break;
    }
    }
    /* If the denominator is 0, the result is 0. */
    const struct expr *quotient = build_divide(x, build_operand(x, 0), denominator);
    sum = graph_map(x->g, rank, result, operands.count, operands.ref,
                    build_choose(x, build_op2(x, EXPR_EQ, denominator, build_real(x, 0)), build_real(x, 0), quotient));
    if (x->spec->emit & EMIT_STATISTICS) build_statistics(x, &operands, denominator);
    if (weighs) build_weights_output(x, &operands, denominator, plain, drops, region);
    return diagnostics_errors(x->diagnostics) > errors ? -1 : sum;
}

/* Returns the place of the value of sum number n. */
static int *sum_of(struct builder *x, int n)
{
    const struct user_arrays *const all = &x->spec->arrays;
    int k = 0;
    while (all->array[all->count + k].type != ARRAY_SUM) k++; /* Sums follow the scores. */
    return &x->named[k + n];
}

/* Builds the sums of the spec, and the output from them. Returns the output, or -1 after an error. */
static int build_sums(struct builder *x, int v, bool drops)
{
    const struct spec *const spec = x->spec;
    for (int k = 0; k < 2 * spec->sums; k++) { /* Sums over all keys come first (see `apart`). */
        const int n = k % spec->sums;
        x->spec = spec->sum[n];
        if (mask_is_none(x->spec->mask) != (k < spec->sums)) continue;
        *sum_of(x, n) = build_sum(x, v, drops);
        if (*sum_of(x, n) < 0) return -1;
    }
    x->spec = spec;
    if (!spec->sums) return build_sum(x, v, drops);
    const int result[] = {x->b, x->kv, x->member, x->i, x->e};
    struct operands operands = {0};
    const struct expr *const e = spec->output ? build_output(x, &operands)
                                              : build_read(x, &operands, graph_ref(x->g, *sum_of(x, 0), NULL));
    return graph_map(x->g, 5, result, operands.count, operands.ref, e);
}

/* Builds the graph. If `prepared`, the keys are prepared. If `drops`, there is dropout. */
static struct graph *build_all(struct arena *arena, const struct spec *spec, enum counting counting, bool prepared,
                               bool drops, struct diagnostics *d)
{
    int errors = diagnostics_errors(d);
    struct builder builder = begin(arena, spec, counting, d), *x = &builder;
    x->stored = prepared ? spec : NULL;
    int q = graph_input(x->g, "q", 5, (int[]){x->b, x->kv, x->member, x->i, x->d});
    int k = graph_input(x->g, "k", 4, (int[]){x->b, x->kv, x->j, x->d});
    int v = graph_input(x->g, "v", 4, (int[]){x->b, x->kv, x->j, x->e});
    const int given = k;
    if (spec_has_storage(spec)) {
        x->g->value[k].stored = spec_type_of_keys(spec);
        x->g->value[v].stored = spec_type_of_values(spec);
    }
    if (spec->values_are_keys && !prepared) /* A state stores prepared keys, so its values are separate. */
        x->g->value[v].within = (struct within){"k", x->d};
    if (counting == COUNT_SHOWN) k = hidden_as_zeros(x, k, x->d), v = hidden_as_zeros(x, v, x->e);
    if (!prepared) /* This is a separate statement, because the order of calls decides the numbers of values. */
        k = build_prepared(x, k, false, x->j);
    x->q = build_prepared(x, q, true, x->i);
    if (spec->linformer) {
        k = project(x, k, "project.e", x->d);
        v = project(x, v, "project.f", x->e);
        x->j = module_find_axis(x->m, "s"); /* Now the weighted sums take the place of the keys. */
    }
    x->k = k;
    if (diagnostics_errors(d) == errors) build_scores(x);
    build_decay_sums(x);
    if (spec->rate && diagnostics_errors(d) == errors) v = build_corrected(x, prepared ? -1 : given, k, v);
    if (v < 0 || diagnostics_errors(d) > errors) return NULL;
    graph_output(x->g, "out", v); /* Statistics come after it. */
    const int out = build_sums(x, v, drops);
    x->g->output[0].value = out;
    if (out >= 0 && spec->emit & EMIT_WEIGHTS && spec->pairs) build_pairs_output(x);
    return out < 0 || diagnostics_errors(d) > errors ? NULL : x->g;
}

/* Replaces the output by its tangent. Returns false after an error. */
static bool make_tangent(struct graph *g, const struct spec *spec, struct diagnostics *d)
{
    const char *const wrong = graph_differentiate_forward(g);
    if (wrong)
        diagnostics_error(d, spec->emit_at, "'emit: [jvp]': the tangent %s is not compiled yet%s", wrong,
                          spec->rate ? "; with softmax, 'delta' needs 'normalize: sum'" : "");
    if (!wrong) build_joined_sums(g);
    return !wrong;
}

/* As build_all, without values that no output needs. A weight without s needs no decay of elements, for example. */
static struct graph *build(struct arena *arena, const struct spec *spec, enum counting counting, bool prepared,
                           bool drops, struct diagnostics *d)
{
    struct graph *const g = spec->graph ? build_written(arena, spec, d)
                                        : build_all(arena, spec, counting, prepared, drops, d);
    if (g && spec->emit & EMIT_JVP && !make_tangent(g, spec, d)) return NULL;
    if (g) graph_sweep_computed(g);
    return g;
}

struct graph *build_graph(struct arena *arena, const struct spec *spec, enum counting counting, struct diagnostics *d)
{
    return build(arena, spec, counting, false, true, d);
}

struct graph *build_graph_without_dropout(struct arena *arena, const struct spec *spec, enum counting counting,
                                          struct diagnostics *d)
{
    return build(arena, spec, counting, false, false, d);
}

struct graph *build_graph_of_prepared(struct arena *arena, const struct spec *spec, enum counting counting,
                                      struct diagnostics *d)
{
    return build(arena, spec, counting, true, false, d);
}

struct graph *build_graph_that_prepares(struct arena *arena, const struct spec *spec, enum counting counting,
                                        struct diagnostics *d)
{
    return build_graph_that_prepares_rows(arena, spec, counting, NULL, d);
}

struct graph *build_graph_that_prepares_rows(struct arena *arena, const struct spec *spec, enum counting counting,
                                             const struct user_array *rows, struct diagnostics *d)
{
    const int errors = diagnostics_errors(d);
    struct builder builder = begin(arena, spec, counting, d), *x = &builder;
    /* The rows are the argument q, because k has the type in which a state stores keys. */
    const enum array_extent of = rows ? rows->axis[rows->rank - 1].extent : EXTENT_D;
    const int last = of == EXTENT_D   ? x->d
                     : of == EXTENT_E ? x->e
                                      : build_axis(x, "n", rows->axis[rows->rank - 1].number),
              k = graph_input(x->g, "q", 4, (int[]){x->b, x->kv, x->i, last});
    graph_output(x->g, "out", rows ? build_prepared_rows(x, rows, k, x->i) : build_prepared(x, k, false, x->i));
    return diagnostics_errors(d) > errors ? NULL : x->g;
}
