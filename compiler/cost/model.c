/* The cost model estimates the work of the quadratic and the linear form, in the unit of constants.h. It decides at
   which length the linear form takes over, and the default length of a chunk. */
#include "cost.h"
#include "constants.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"
#include "../target/target.h"

double nominal_peak(const struct target *t, enum dtype dtype)
{
    return NOMINAL_VECTOR_UNITS * PRODUCT_COST * (double)t->vector_bytes / dtype_bytes(dtype_of_sums(dtype));
}

struct rates nominal_rates(const struct target *t, enum dtype dtype)
{
    return (struct rates){nominal_peak(t, dtype), PRODUCT_COST * target_multiply_adds(t, TARGET_MATRIX_UNITS),
                          NOMINAL_BANDWIDTH};
}

static double map_cost(const struct expr *e)
{
    double cost = 0;
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        w.skip = w.e->type != TYPE_REAL;
        if (w.skip)
            cost += expr_has(w.e, EXPR_RANDOM) ? RANDOM_COST : 0;
        else if (expr_arity(w.e->op) > 0)
            cost += expr_effort(w.e->op) == EFFORT_FUNCTION ? FUNCTION_COST : MAP_COST;
    }
    return cost;
}

double random_cycles(const struct target *t, enum dtype dtype)
{
    return RANDOM_COST / nominal_peak(t, dtype);
}

/* Returns the work of a value for one point of its run-time axes. Sets *query and *key to whether queries and keys
   are among these axes. */
static double value_cost(const struct graph *g, const struct roles *roles, const struct value *v, bool *query,
                         bool *key)
{
    const struct module *m = g->module;
    const uint32_t axes = value_axes(v) | value_read_axes(v);
    const bool product = v->op == GRAPH_CONTRACT || v->op == GRAPH_SOLVE;
    double cost = v->op == GRAPH_MAP ? map_cost(v->expr) : product ? PRODUCT_COST : MAP_COST;
    *query = *key = false;
    for (int a = 0; a < m->axes; a++) {
        if (!(axes >> a & 1)) continue;
        if (m->axis[a].source == SIZE_CONSTANT) cost *= (double)m->axis[a].extent;
        *query |= a == roles->lane;
        *key |= a == roles->stream;
    }
    return v->operands ? cost : 0;
}

struct work {
    double pair, query, key, state; /* the work for one pair, one query and one key. `state` is not used */
};

static struct work work_of(const struct graph *g)
{
    struct work work = {0, 0, 0, 0};
    struct roles roles;
    roles_of(g, 0, &roles);
    for (int v = 0; v < g->values; v++) {
        bool query, key;
        double cost = value_cost(g, &roles, &g->value[v], &query, &key);
        *(query && key ? &work.pair : query ? &work.query : &work.key) += query || key ? cost : 0;
    }
    return work;
}

bool graph_has_pairs(const struct graph *g)
{
    return work_of(g).pair > 0;
}

int64_t keys_of_chunk(const struct compilation *c)
{
    const struct module *m = c->graph->module;
    for (int a = 0; a < m->axes; a++)
        if (axis_is_chunks(&m->axis[a])) return m->axis[a].extent;
    return 0;
}

static double fold_work(const struct compilation *c)
{
    double elements = (double)c->separated.features * (double)(c->spec->value_dim + 1),
           chunk = (double)keys_of_chunk(c);
    return chunk > 0 ? (FOLD_COST + RECENT_COST * (double)c->separated.reach) * elements / chunk : 0;
}

/* Returns the work of the quadratic form for one query with `keys` keys. The work per key is done once for each
   tile of queries, so the queries of a tile share it. */
static double quadratic_cost(const struct compilation *c, double keys)
{
    struct work work = work_of(c->graph);
    return work.query + keys * (work.pair + work.key / (double)queries_together(c));
}

/* The products of bf16 to count.
   - matrix: whether to count products on matrix units. Otherwise, counts all other products.
   - token: whether to count products for one token. Otherwise, counts products for one pair.
   - terms: whether operands are sums of bf16 terms. Then each product of two terms counts.
   - copies: whether to count the work of copying operands instead of the products. */
struct wanted {
    bool matrix, token, terms, copies;
    double chunk; /* the number of tokens in a chunk */
};

/* Returns the work per token of copying a product's operands to bf16. */
static double work_of_copies(const struct loops *l, const struct stmt *s, double chunk)
{
    const struct axis *row = &l->module->axis[s->axes[0]], *lane = &l->module->axis[s->axes[1]],
                      *sum = &l->module->axis[s->axis];
    const bool made_of_token = lane->source == SIZE_CONSTANT;
    const double first = made_of_token ? (double)row->extent
                         : chunk > 0   ? (double)row->extent * (double)sum->extent / chunk
                                       : 0,
                 second = (double)(made_of_token ? lane : sum)->extent;
    return PACK_COST *
           (first * array_terms(&l->array[s->operand[0].of]) + second * array_terms(&l->array[s->operand[1].of]));
}

/* Returns the work of the products that `want` describes, in list s. `inside`: the number of loops over sequences
   around s. */
static double products_of_bf16(const struct loops *l, const struct stmt *s, const struct wanted *want, int inside)
{
    double work = 0;
    for (; s; s = s->next) {
        const bool loop = s->op == LOOPS_FOR && axis_is_sequence(&l->module->axis[s->axis]);
        work += products_of_bf16(l, s->body, want, inside + loop);
        if (s->op != LOOPS_DOT) continue;
        const struct array *row = &l->array[s->operand[0].of], *lane = &l->array[s->operand[1].of];
        if (!lane->paired || lane->matrix != want->matrix || (want->token && inside > 1)) continue;
        const int axes[] = {s->axes[0], s->axis, s->axes[1]};
        double each = PRODUCT_COST * (want->terms ? products_of_terms(array_terms(row), array_terms(lane)) : 1);
        int constants = 0;
        for (int k = 0; k < 3; k++) {
            if (l->module->axis[axes[k]].source != SIZE_CONSTANT) continue;
            each *= (double)l->module->axis[axes[k]].extent;
            constants++;
        }
        if (constants == (want->token ? 2 : 1)) work += want->copies ? work_of_copies(l, s, want->chunk) : each;
    }
    return work;
}

static double on_units(const struct compilation *c, bool token, bool terms)
{
    const struct wanted want = {.matrix = true, .token = token, .terms = terms};
    return products_of_bf16(c->loops, c->loops->body, &want, 0);
}

/* Returns (time of a product of bf16) / (time of the product in f32). */
static double share_of_f32(const struct target *t, enum target_feature feature)
{
    return nominal_peak(t, DTYPE_BF16) / (PRODUCT_COST * target_multiply_adds(t, feature));
}

static double saved_by_units(const struct compilation *c, bool token)
{
    const struct wanted copies = {.matrix = true, .token = true, .copies = true, .chunk = (double)keys_of_chunk(c)};
    const double units = on_units(c, token, false),
                 copied = token ? products_of_bf16(c->loops, c->loops->body, &copies, 0) : 0;
    return units > 0 ? units - on_units(c, token, true) * share_of_f32(c->target, TARGET_MATRIX_UNITS) - copied : 0;
}

/* Returns the work that bf16 saves for a pair of query and key. */
static double saved_by_bf16(const struct compilation *c)
{
    const double others = products_of_bf16(c->loops, c->loops->body, &(struct wanted){.matrix = false}, 0);
    return (others > 0 ? others * (1 - share_of_f32(c->target, TARGET_BF16_PRODUCTS)) : 0) + saved_by_units(c, false);
}

double operations_work(const struct target *t, const struct operations *o)
{
    double work = o->products + MAP_COST * o->scalars + FUNCTION_COST * o->functions + RANDOM_COST * o->randoms +
                  PACK_COST * o->packed;
    if (o->in_pairs > 0) work -= o->in_pairs * (1 - share_of_f32(t, TARGET_BF16_PRODUCTS));
    if (o->in_units > 0) work += o->units * share_of_f32(t, TARGET_MATRIX_UNITS) - o->in_units;
    return work;
}

/* Returns the work of the linear form for one token, in f32. */
static double linear_work(const struct compilation *c)
{
    struct work work = work_of(c->graph);
    return work.key + work.query + fold_work(c) + c->separated.near_keys * work.pair;
}

double linear_cost(const struct compilation *c)
{
    return linear_work(c) - saved_by_units(c, true) - c->separated.near_keys * saved_by_bf16(c);
}

static int64_t crossover(const struct compilation *quadratic, const struct compilation *linear, double cost,
                         double saved)
{
    /* under a causal mask, a query attends to half of the keys on average */
    double seen = graph_has_pairs(linear->graph) ? 0.5 : 1, fixed = quadratic_cost(quadratic, 0);
    double length = (cost - fixed) / (quadratic_cost(quadratic, seen) - fixed - seen * saved);
    return length < 1 ? 1 : (int64_t)length + 1;
}

int64_t crossover_length(const struct compilation *quadratic, const struct compilation *linear)
{
    return crossover(quadratic, linear, linear_cost(linear), saved_by_bf16(quadratic));
}

int64_t rows_before_linear(const struct compilation *quadratic, const struct compilation *linear)
{
    const double pair = work_of(quadratic->graph).pair - saved_by_bf16(quadratic);
    return (int64_t)((work_of(linear->graph).key + fold_work(linear)) / pair);
}

const char *linear_never_pays(const struct compilation *quadratic, const struct compilation *linear)
{
    const struct graph *g = linear->graph;
    double window = linear->separated.reach
                        ? (double)linear->separated.reach * (double)keys_of_chunk(linear) + linear->separated.near_keys
                        : 0;
    if (linear->separated.reach && linear_work(linear) >= quadratic_cost(quadratic, window))
        return arena_printf(g->module->arena, "the quadratic form is cheaper: a query sees only %.0f keys", window);
    /* `saved` is 0, so the length does not depend on the target. */
    long long length = (long long)crossover(quadratic, linear, linear_work(linear), 0);
    if (linear->spec->max_length && linear->spec->max_length < length)
        return arena_printf(g->module->arena, "it would only be cheaper from %lld keys on, but max_length is %lld",
                            length, (long long)linear->spec->max_length);
    for (int v = 0; v < g->values; v++) { /* find a state that sums fewer than `length` keys */
        const struct expr *where = g->value[v].where;
        if (!where || where->op != EXPR_LT || where->arg[1]->op != EXPR_INT || where->arg[1]->integer >= length)
            continue;
        return arena_printf(g->module->arena,
                            "it would only be cheaper from %lld keys on, but queries see at most %lld", length,
                            (long long)where->arg[1]->integer);
    }
    return NULL;
}

int64_t chunk_length(double features, double columns, double pair, int64_t window)
{
    enum { LONGEST = 256, LONGEST_OF_WINDOW = 4096 };
    int64_t best = 16;
    double min = 0;
    for (int64_t length = best; length <= (window ? LONGEST_OF_WINDOW : LONGEST); length *= 2) {
        const int64_t recent = window ? (window - length) / length : 0; /* chunks that are wholly in any window */
        double near = (double)length / 2, fold = FOLD_COST + SHORT_CHUNK_COST + RECENT_COST * (double)recent;
        if (window) near = (double)(window - recent * length);
        if (window && length > 16 && recent < 1) break;
        double cost = features * columns * fold / (double)length + near * pair;
        if (length == 16 || cost < min) {
            best = length;
            min = cost;
        }
    }
    return best;
}

const char *knob_chunk(const struct knob_case *x, struct tune_knob *knob)
{
    if (!x->linear || keys_of_chunk(x->linear) < 1) return "it has no linear form with chunks";
    if (!x->linear->separated.chunk_is_free) return "'block' and the mask set the length of its chunks";
    knob_set_values(knob, keys_of_chunk(x->linear), 5, (const int64_t[]){32, 64, 128, 256, 512});
    return NULL;
}

/* For a known number of keys, the knob is 1 for the linear form, or NEVER for the quadratic form. */
const char *knob_crossover(const struct knob_case *x, struct tune_knob *knob)
{
    if (!x->quadratic || !x->linear) return "it has one form for all lengths";
    if (x->keys)
        knob_set_values(knob, x->form->program.linear ? 1 : NEVER, 2, (const int64_t[]){1, NEVER});
    else
        knob_set_values(knob, x->crossover, 2, (const int64_t[]){1, NEVER});
    return NULL;
}
