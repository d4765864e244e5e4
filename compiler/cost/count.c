/* Counts the FLOPs, scalar operations and bytes of a call from its graph.
   - Useful FLOPs and scalar operations leave out masked pairs, and count equal features once.
   - Work and bytes include everything that the loops visit.
   - A product over pairs counts 2 FLOPs for each unmasked pair that the result uses.
   - Other products count 2 FLOPs for each query or each key.
   - A state is a sum over keys. Its denominator counts as one more column.
   - A SOLVE counts the product of its features with the state, and one pair for each key.
   - Maps count as scalar operations. */
#include "cost.h"
#include "count.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"
#include "../support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double MAX_TESTS = 1 << 19;
enum { MAX_REGIONS = 32, MIN_QUERIES = 64, FIRST_QUERIES = 128, MAX_QUERIES = 1 << 21, MAX_FEATURES = 1 << 20 };

struct counter {
    const struct compilation *c;
    const struct graph *g;
    struct module *m;
    struct problem_size own; /* of the form */
    const struct problem_size *size;
    struct ids ids;
    struct best *best[MAX_LISTS];
    int lists;
    int query, key, chunk; /* the axes of queries, keys and chunks, or -1 */
    int64_t extent[MAX_AXES];
    double useful[MAX_AXES];    /* the extents of constant axes. Equal features count once */
    const struct expr **needed; /* for each value: the region of its points that are used, or NULL */
    int regions;
    struct region {
        const struct expr *where;
        double pairs; /* the number of pairs over all heads of one batch entry */
    } region[MAX_REGIONS];
    double pairs; /* pairs in the sums over keys, of all heads and batch entries */
    int64_t document;
    int64_t heads; /* the number of heads whose pairs are counted one by one */
    struct key_ranges reach,
        whole; /* `reach` contains the region's keys for the current query. The region contains `whole`. */
    bool exact;
};

/* ---- features that are equal ---- */

/* Returns a pseudo-random number for an element of value `of`. Equal elements have equal numbers. */
static double stand_in(int of, const int64_t *sub, int rank)
{
    uint64_t x = (uint64_t)of + 1;
    for (int k = 0; k < rank; k++) {
        x = (x ^ (uint64_t)sub[k]) * UINT64_C(0x9E3779B97F4A7C15);
        x ^= x >> 29;
    }
    return 0.5 + (double)((x * UINT64_C(0xBF58476D1CE4E5B9)) >> 11) / 9007199254740992.0;
}

/* Returns the number of different features that a map computes along `axis`. An operand is a table, or has numbers
   from stand_in(). The index of all other axes is `other`. */
static int64_t distinct(const struct counter *x, const struct value *v, int axis, int64_t other)
{
    int64_t index[MAX_AXES], extent = x->m->axis[axis].extent, different = 0;
    double *all = malloc((size_t)extent * sizeof *all), operand[MAX_OPERANDS];
    if (!all) return extent;
    for (int a = 0; a < x->m->axes; a++) index[a] = other < x->extent[a] ? other : x->extent[a] - 1;
    const struct environment env = {.operand = operand, .index = index, .size = x->extent};
    for (int64_t f = 0; f < extent; f++) {
        index[axis] = f;
        for (int k = 0; k < v->operands; k++) {
            const struct ref *r = &v->operand[k];
            const struct value *of = &x->g->value[r->of];
            int64_t sub[MAX_RANK], at = 0;
            for (int s = 0; s < r->rank; s++) {
                sub[s] = expr_eval_int(r->sub[s], &env);
                at = at * x->extent[of->axes[s]] + sub[s];
            }
            operand[k] = of->op == GRAPH_TABLE ? of->data[at] : stand_in(r->of, sub, r->rank);
        }
        all[f] = expr_eval(v->expr, &env);
    }
    numbers_sort(all, extent);
    for (int64_t f = 0; f < extent; f++) different += f == 0 || fabs(all[f] - all[f - 1]) > 1e-12 * fabs(all[f]);
    free(all);
    return different;
}

/* Sets useful[a] to the number of different features along each constant axis a. */
static void find_useful(struct counter *x)
{
    for (int a = 0; a < x->m->axes; a++)
        x->useful[a] = x->m->axis[a].source == SIZE_CONSTANT ? (double)x->m->axis[a].extent : 1;
    for (int n = 0; n < x->g->values; n++) {
        const struct value *v = &x->g->value[n];
        if (v->op != GRAPH_MAP) continue;
        for (int k = 0; k < v->rank; k++) {
            int a = v->axes[k];
            bool made = false;
            if (x->m->axis[a].source != SIZE_CONSTANT || x->m->axis[a].extent > MAX_FEATURES) continue;
            for (int o = 0; o < v->operands; o++)
                for (int s = 0; s < v->operand[o].rank; s++)
                    made |= ref_axis(&v->operand[o], s) < 0 && (expr_axes(v->operand[o].sub[s]) >> a & 1);
            if (!made) continue;
            /* at index 0, a SELECT by position may give 0 for all features, so index 1 is tried, too */
            double here = (double)distinct(x, v, a, 0), there = (double)distinct(x, v, a, 1);
            if (there > here) here = there;
            if (here < x->useful[a]) x->useful[a] = here;
        }
    }
}

/* ---- which points are used ---- */

static bool has_axis(const struct value *v, int axis)
{
    return axis >= 0 && value_has_axis(v, axis);
}

static bool of_pairs(const struct counter *x, const struct value *v)
{
    return has_axis(v, x->query) && has_axis(v, x->key);
}

/* Adds `where` to the region in which value v is used. */
static void need(struct counter *x, int v, const struct expr *where)
{
    const struct expr *before = x->needed[v];
    if (!of_pairs(x, &x->g->value[v])) where = expr_int(x->m, 1);
    x->needed[v] = before ? expr_or(x->m, before, where) : where;
}

static const struct expr *both(const struct counter *x, const struct expr *a, const struct expr *b)
{
    return expr_and(x->m, a, b);
}

/* Adds `where` to the regions of the operands of e. If the condition of a SELECT has no operand, each branch needs
   its operands only where the condition selects it. */
static void need_operands(struct counter *x, const struct value *v, const struct expr *e, const struct expr *where)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        const struct expr *const *const arg = w.e->arg;
        if (w.e->op == EXPR_OPERAND) need(x, v->operand[w.e->integer].of, where);
        w.skip = w.e->op == EXPR_SELECT && !expr_has(arg[0], EXPR_OPERAND) && arg[0]->type == TYPE_BOOL;
        if (!w.skip) continue;
        need_operands(x, v, arg[1], both(x, where, arg[0]));
        need_operands(x, v, arg[2], both(x, where, expr_not(x->m, arg[0])));
    }
}

/* Whether the value is a state: a sum over keys without an axis of queries. */
static bool is_state(const struct counter *x, const struct value *v)
{
    bool keys = false;
    if (v->op != GRAPH_REDUCE && v->op != GRAPH_CONTRACT) return false;
    for (int k = 0; k < v->operands; k++) keys |= x->key >= 0 && ref_uses_axis(&v->operand[k], x->key);
    return keys && !has_axis(v, x->key) && !has_axis(v, x->query);
}

static void find_needed(struct counter *x)
{
    const struct graph *g = x->g;
    for (int o = 0; o < g->outputs; o++) need(x, g->output[o].value, expr_int(x->m, 1));
    for (int n = g->values - 1; n >= 0; n--) {
        const struct value *v = &g->value[n];
        if (!x->needed[n]) continue;
        if (v->op == GRAPH_MAP) need_operands(x, v, v->expr, x->needed[n]);
        const struct expr *where = v->where ? both(x, x->needed[n], v->where) : x->needed[n];
        for (int k = 0; k < v->operands && v->op != GRAPH_MAP; k++) need(x, v->operand[k].of, where);
    }
}

/* ---- how many points a region has ---- */

struct row {
    struct module *m;
    int64_t index[MAX_AXES], lo[MAX_AXES], hi[MAX_AXES];
    struct environment env;
};

static struct row *row_start(struct counter *x, struct row *r)
{
    *r = (struct row){.m = x->m};
    for (int a = 0; a < x->m->axes; a++) r->hi[a] = 1;
    r->env = (struct environment){.index = r->index, .size = x->extent, .lo = r->lo, .hi = r->hi, .ids = &x->ids};
    return r;
}

static void row_set(struct row *r, int axis, int64_t at)
{
    if (axis < 0) return;
    r->index[axis] = r->lo[axis] = at;
    r->hi[axis] = at + 1;
}

/* Two unions of key ranges: `some` contains the region, and the region contains `every`. */
struct solved {
    const struct expr *where;
    struct ranges some, every;
};

static void solve(const struct counter *x, const struct expr *where, int key, struct solved *s)
{
    s->where = where;
    region_ranges(x->m, where, key, false, &s->some);
    region_ranges(x->m, where, key, true, &s->every);
    if (expr_reads_ids(where)) s->every.count = 0; /* with ids, these ranges are valid only for some tiles */
}

/* Writes the union of the ranges for the row's query to *out, clipped to from <= j < to. Adds the number of tested
   random blocks to *tests. */
static void ranges_now(const struct counter *x, const struct ranges *ranges, bool every, struct row *r, int64_t from,
                       int64_t to, struct key_ranges *out, int64_t *tests)
{
    out->count = 0;
    for (int k = 0; k < ranges->count; k++) {
        const struct range *range = &ranges->range[k];
        int64_t first = range->from ? expr_eval_int(range->from, &r->env) : from,
                end = range->to ? expr_eval_int(range->to, &r->env) : to, block = 1;
        const struct expr *position = NULL;
        if (first < from) first = from;
        if (end > to) end = to;
        bool blocks = range->drawn && floor_quotient(x->m, range->drawn->arg[1], &position, &block) &&
                      position->op == EXPR_INDEX;
        if (blocks) {
            *tests += range->drawn->draw->count;
            key_ranges_draw(out, x->m, range->drawn, &r->env, first, end, false);
        } else if (!range->drawn || !every) {
            struct attn_range *const at = key_ranges_more(out, 1);
            if (at) out->range[out->count++] = (struct attn_range){first, end};
        }
    }
    out->count = attn_union(out->range, out->count, from, to);
}

/* Returns the number of keys from <= j < to in the region, for the row's query. Keys in the ranges `every` count
   without a test. Other keys in the ranges `some` are tested. */
static int64_t keys_of_row(struct counter *x, const struct solved *s, struct row *r, int64_t from, int64_t to,
                           int64_t *tests)
{
    int64_t keys = 0, w = 0;
    ranges_now(x, &s->some, false, r, from, to, &x->reach, tests);
    ranges_now(x, &s->every, true, r, from, to, &x->whole, tests);
    for (int64_t k = 0; k < x->reach.count; k++)
        for (int64_t j = x->reach.range[k].from; j < x->reach.range[k].to;) {
            while (w < x->whole.count && x->whole.range[w].to <= j) w++;
            if (w < x->whole.count && x->whole.range[w].from <= j) {
                int64_t end = x->whole.range[w].to < x->reach.range[k].to ? x->whole.range[w].to : x->reach.range[k].to;
                keys += end - j;
                j = end;
                continue;
            }
            row_set(r, x->key, j++);
            keys += expr_eval_int(s->where, &r->env) != 0;
            ++*tests;
        }
    return keys;
}

/* To save time, one query is counted in place of several neighbours. Returns the number of these neighbours, so
   that there are at most MAX_TESTS tests, of all heads. One query takes `spent_each` tests. */
static int64_t step_of(struct counter *x, double spent_each)
{
    const double most = MAX_TESTS / (double)x->heads;
    int64_t n = x->size->n_q, step = 1 + (int64_t)(spent_each * (double)n / most) + n / MAX_QUERIES;
    if (step > 1 && n / step < MIN_QUERIES) step = n / MIN_QUERIES > 1 ? n / MIN_QUERIES : 1;
    x->exact &= step == 1;
    return step;
}

/* Returns the one query that is counted in place of i, …, i + group - 1. The choice is pseudo-random, because a
   mask may be periodic. */
static int64_t chosen(int64_t i, int64_t group)
{
    return i + (int64_t)(((uint64_t)i + 1) * UINT64_C(0x9E3779B97F4A7C15) >> 33) % group;
}

/* Returns the number of pairs of one head in the region. */
static double pairs_of_head(struct counter *x, const struct expr *where, struct row *r)
{
    struct solved s;
    int64_t n = x->size->n_q, keys = x->size->n_k, tests = 0, tried = 0;
    solve(x, where, x->key, &s);
    for (int64_t i = n / 32; i < n && (double)tests < MAX_TESTS; i += n / 16 + 1, tried++) {
        row_set(r, x->query, i);
        keys_of_row(x, &s, r, 0, keys, &tests);
    }
    int64_t step = step_of(x, (double)tests / (double)(tried ? tried : 1));
    double pairs = 0;
    for (int64_t i = 0, group; i < n; i += group) {
        /* The first queries are counted one by one, because they may see all keys. */
        group = i < FIRST_QUERIES ? 1 : n - i < step ? n - i : step;
        row_set(r, x->query, chosen(i, group));
        pairs += (double)group * (double)keys_of_row(x, &s, r, 0, keys, &tests);
    }
    return pairs;
}

/* ---- regions that read ids ---- */

/* Whether e reads ids only at the key, or at positions independent of the key. */
static bool ids_are_plain(const struct counter *x, const struct expr *e)
{
    bool plain = true;
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        w.skip = w.e->op == EXPR_ID;
        plain &= !w.skip || w.e->arg[1] == expr_index(x->m, x->key) || !(expr_axes(w.e->arg[1]) >> x->key & 1);
    }
    return plain;
}

/* Replaces an id by its value for the row's query and key. */
static const struct expr *id_of_row(void *of, const struct expr *e)
{
    const struct row *const r = of;
    return e->op == EXPR_ID ? expr_int(r->m, expr_eval_int(e, &r->env)) : expr_reads_ids(e) ? NULL : e;
}

/* Returns a hash of all ids in e at positions independent of the key. The documents that the row's query sees depend
   on these ids. */
static uint64_t ids_of_row(const struct counter *x, const struct expr *e, const struct row *r)
{
    uint64_t hash = 1;
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        w.skip = w.e->op == EXPR_ID && !(expr_axes(w.e->arg[1]) >> x->key & 1);
        if (w.skip) hash = (hash ^ (uint64_t)expr_eval_int(w.e, &r->env)) * UINT64_C(0x9E3779B97F4A7C15);
    }
    return hash;
}

/* The documents that a query sees.
   - Ids are constant in a document, so `solved` holds only a few different regions.
   - `reached` lists the keys of the documents that the query sees, with their regions. Neighbours with one region, as
     all documents have with `lengths`, are one entry.
   - Neighbouring queries with an equal hash `ids` share the list. */
struct by_ids {
    struct solved solved[8];
    int known;
    struct reached {
        const struct solved *by;
        int64_t from, to;
    } *reached;
    int64_t found;
    bool begun;
    uint64_t ids;
};

/* Returns the number of keys in the region for the row's query. Returns -1 if `solved` has no room for all regions. */
static int64_t keys_with_ids(struct counter *x, const struct expr *where, struct row *r, struct by_ids *b,
                             int64_t *tests)
{
    const int64_t keys = x->size->n_k, document = x->document, runs = (keys - 1) / document + 1;
    const uint64_t now = ids_of_row(x, where, r);
    const bool same = b->begun && now == b->ids;
    if (!same) b->found = 0;
    for (int64_t run = 0; run < runs && !same; run++) {
        int k = 0;
        row_set(r, x->key, run * document);
        const struct expr *here = expr_map(x->m, where, id_of_row, r);
        if (here->op == EXPR_INT && !here->integer) continue;
        while (k < b->known && b->solved[k].where != here) k++;
        if (k == (int)(sizeof b->solved / sizeof *b->solved)) return -1;
        if (k == b->known) solve(x, here, x->key, &b->solved[b->known++]);
        const int64_t from = run * document, to = keys - from < document ? keys : from + document;
        struct reached *const last = b->found ? &b->reached[b->found - 1] : NULL;
        if (last && last->by == &b->solved[k] && last->to == from)
            last->to = to;
        else
            b->reached[b->found++] = (struct reached){&b->solved[k], from, to};
    }
    b->begun = true;
    b->ids = now;
    int64_t count = 0;
    for (int64_t k = 0; k < b->found; k++)
        count += keys_of_row(x, b->reached[k].by, r, b->reached[k].from, b->reached[k].to, tests);
    return count;
}

static double pairs_with_ids(struct counter *x, const struct expr *where, struct row *r)
{
    const int64_t n = x->size->n_q;
    const int64_t documents = (x->size->n_k - 1) / x->document + 1;
    const double runs = (double)documents;
    struct by_ids by_ids = {.reached = malloc((size_t)runs * sizeof *by_ids.reached)}, *const b = &by_ids;
    int64_t tests = 0, tried = 0, count = 0;
    if (!b->reached) return 0;
    for (int64_t i = n / 32; i < n && (double)tests < MAX_TESTS && count >= 0; i += n / 16 + 1, tried++) {
        row_set(r, x->query, i);
        count = keys_with_ids(x, where, r, b, &tests);
    }
    const double of_ids = runs * runs > MAX_TESTS * (double)n ? runs : runs * runs / (double)n,
                 of_keys = (double)tests / (double)(tried ? tried : 1);
    const int64_t step = step_of(x, of_ids > of_keys ? of_ids : of_keys);
    double pairs = 0;
    for (int64_t i = 0, group; i < n && count >= 0; i += group) {
        group = n - i < step ? n - i : step;
        row_set(r, x->query, chosen(i, group));
        count = keys_with_ids(x, where, r, b, &tests);
        pairs += (double)group * (double)count;
    }
    free(b->reached);
    return count >= 0 ? pairs : pairs_of_head(x, where, r);
}

uint32_t axes_beside_ids(const struct expr *e)
{
    uint32_t axes = 0;
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        /* The estimate assumes the default positions, and equal lists, for all batch entries. */
        w.skip = w.e->op == EXPR_ID || w.e->op == EXPR_START || (w.e->op == EXPR_DRAWN && w.e->draw->sorted);
        if (w.skip && w.e->op == EXPR_DRAWN) axes |= axes_beside_ids(w.e->arg[0]);
        axes |= w.skip ? axes_beside_ids(w.e->arg[1]) : w.e->op == EXPR_INDEX ? expr_axes(w.e) : 0;
    }
    return axes;
}

/* Returns the number of pairs in a region over all heads of one batch entry: the mean over batch entries. */
static double pairs_of(struct counter *x, const struct expr *where)
{
    for (int k = 0; k < x->regions; k++)
        if (x->region[k].where == where) return x->region[k].pairs;
    uint32_t axes = axes_beside_ids(where);
    double pairs = 0, alike = 1;
    int64_t iterations[3] = {1, 1, 1}; /* the numbers of key/value heads, members and batch entries */
    int axis[3] = {-1, -1, -1};
    for (int a = 0; a < x->m->axes; a++) {
        enum size_source source = x->m->axis[a].source;
        if (source != SIZE_KV_HEADS && source != SIZE_MEMBERS && source != SIZE_BATCH) continue;
        const int which = source == SIZE_MEMBERS ? 1 : source == SIZE_BATCH ? 2 : 0;
        if (axes >> a & 1) {
            axis[which] = a;
            iterations[which] = x->extent[a];
        } else if (source != SIZE_BATCH) {
            alike *= (double)x->extent[a];
        }
    }
    if (where->op == EXPR_INT) {
        pairs = where->integer ? (double)x->size->n_q * (double)x->size->n_k : 0;
    } else {
        struct row r;
        bool plain = expr_reads_ids(where) && ids_are_plain(x, where);
        row_start(x, &r);
        x->heads = iterations[0] * iterations[1] * iterations[2];
        for (int64_t n = 0; n < x->heads; n++) {
            row_set(&r, axis[0], n % iterations[0]);
            row_set(&r, axis[1], n / iterations[0] % iterations[1]);
            row_set(&r, axis[2], n / iterations[0] / iterations[1]);
            pairs += plain ? pairs_with_ids(x, where, &r) : pairs_of_head(x, where, &r);
        }
        pairs /= (double)iterations[2];
    }
    if (x->regions < MAX_REGIONS) x->region[x->regions++] = (struct region){where, pairs * alike};
    return pairs * alike;
}

/* Returns the number of keys that a state sums: the keys that `where` contains for the next or the previous chunk. */
static double keys_of(struct counter *x, const struct expr *where)
{
    if (!where || where->op == EXPR_INT) return (double)x->extent[x->key];
    struct row r;
    int64_t length = x->chunk >= 0 ? x->m->axis[x->chunk].extent : 1, keys = 0;
    row_start(x, &r);
    for (int64_t j = 0; j < x->extent[x->key]; j++) {
        bool comes = false;
        row_set(&r, x->key, j);
        for (int64_t offset = -1; offset <= 1; offset += 2) {
            row_set(&r, x->chunk, j / length + offset);
            comes |= expr_eval_int(where, &r.env) != 0;
        }
        keys += comes;
    }
    return (double)keys;
}

/* ---- the points of a value ---- */

static int operations(const struct expr *e)
{
    int count = 0;
    for (struct exprs w = {.of = e}; exprs_next(&w);) count += expr_arity(w.e->op) > 0;
    return count;
}

static double constants(const struct counter *x, uint32_t axes)
{
    double product = 1;
    for (int a = 0; a < x->m->axes; a++)
        if (axes >> a & 1) product *= x->useful[a];
    return product;
}

/* Returns the number of points along the batches and heads in `axes`. */
static double heads_of(const struct counter *x, uint32_t axes)
{
    const bool members = axes & axes_with_size(x->m, SIZE_MEMBERS), heads = axes & axes_with_size(x->m, SIZE_KV_HEADS);
    const double each = heads || members ? (double)(x->size->batch * x->size->kv_heads) : 1;
    return members ? each * (double)x->size->members : each;
}

static bool goes_over(uint32_t axes, int axis)
{
    return axis >= 0 && axes >> axis & 1;
}

/* Returns the number of points of value n, along the run-time axes in `axes`, that the result depends on. */
static double used_points(struct counter *x, int n, uint32_t axes)
{
    const struct value *v = &x->g->value[n];
    const bool query = goes_over(axes, x->query), key = goes_over(axes, x->key);
    if (query && key)
        return pairs_of(x, of_pairs(x, v) || !v->where ? x->needed[n] : v->where) * (double)x->size->batch;
    if (key) return heads_of(x, axes) * (is_state(x, v) ? keys_of(x, v->where) : (double)x->extent[x->key]);
    return query ? heads_of(x, axes) * (double)x->extent[x->query] : 1;
}

/* ---- totals ---- */

/* Finds the number of pairs in the sums over keys. If there are several sums, the largest number counts. */
static void find_pairs(struct counter *x)
{
    for (int n = 0; n < x->g->values; n++) {
        const struct value *v = &x->g->value[n];
        bool keys = false;
        if (!x->needed[n] || v->op == GRAPH_MAP || !has_axis(v, x->query) || has_axis(v, x->key)) continue;
        for (int k = 0; k < v->operands; k++) keys |= x->key >= 0 && ref_uses_axis(&v->operand[k], x->key);
        double pairs = keys ? pairs_of(x, v->where ? v->where : expr_int(x->m, 1)) * (double)x->size->batch : 0;
        if (pairs > x->pairs) x->pairs = pairs;
    }
}

/* Makes ids of documents with x->document tokens: 0, …, 0, 1, …, 1, 2, … */
static double *make_documents(const struct counter *x)
{
    double *const id = arena_alloc(x->m->arena, (size_t)x->size->n_k * sizeof *id);
    for (int64_t k = 0; k < x->size->n_k; k++) {
        const int64_t number = k / x->document;
        id[k] = (double)number;
    }
    return id;
}

/* Makes lists of `count` different blocks of keys, drawn at random. */
static double *make_lists(const struct counter *x, int64_t lists, int64_t count, int64_t block)
{
    double *const number = arena_alloc(x->m->arena, (size_t)(lists * count) * sizeof *number);
    int64_t *const list = arena_alloc(x->m->arena, (size_t)(count + 1) * sizeof *list);
    for (int64_t a = 0; a < lists; a++) {
        struct attn_draw draw = {
            .count = count, .among = (x->size->n_k - 1) / block + 1, .first = a, .last = a, .list = list};
        attn_draw(&draw);
        for (int64_t k = 0; k < count; k++) number[a * count + k] = k < list[0] ? (double)list[1 + k] : -1;
    }
    return number;
}

/* Lists of the best keys. Those of a row are spread over the keys that the other masks show it. */
struct best {
    struct counter *x;
    int query;                        /* the axis of rows, whose lists are numbered from 0 to rows - 1 for each head */
    int64_t rows, count, block, made; /* made: the row in `number`, or -1 */
    struct solved others;             /* the region of the other masks */
    struct key_ranges keys;
    double *number;
};

static const struct expr *without_lists(void *m, const struct expr *e)
{
    return e->op == EXPR_DRAWN && e->draw->sorted ? expr_int(m, 1) : NULL;
}

static const double *best_of_row(void *of, int64_t at)
{
    struct best *const b = of;
    struct counter *const x = b->x;
    struct row r;
    int64_t tests = 0, blocks = 0, k = 0, before = 0;
    if (at == b->made) return b->number;
    row_set(row_start(x, &r), b->query, at % b->rows);
    ranges_now(x, &b->others.some, false, &r, 0, x->size->n_k, &b->keys, &tests);
    struct attn_range *const range = b->keys.range;
    for (int64_t n = 0; n < b->keys.count; n++)
        range[n] = (struct attn_range){range[n].from / b->block, (range[n].to - 1) / b->block + 1};
    b->keys.count = attn_union(range, b->keys.count, 0, x->size->n_k);
    for (int64_t n = 0; n < b->keys.count; n++) blocks += range[n].to - range[n].from;
    const int64_t every = blocks / b->count;
    for (int64_t n = 0; n < b->keys.count; before += range[n].to - range[n].from, n++)
        for (; k < b->count && k < blocks; k++) {
            const uint64_t random = ((uint64_t)(at * b->count + k)) * UINT64_C(0x9E3779B97F4A7C15) >> 33;
            const int64_t place = every ? k * blocks / b->count + (int64_t)random % every : k;
            if (place >= before + range[n].to - range[n].from) break;
            b->number[k] = (double)(range[n].from + place - before);
        }
    while (k < b->count) b->number[k++] = -1;
    b->made = at;
    return b->number;
}

static void make_best(struct counter *x, const struct value *v, int64_t count)
{
    struct best *const b = arena_alloc(x->m->arena, sizeof *b);
    const struct expr *others = expr_int(x->m, 1), *position;
    int key = axes_first(axes_with_size(x->m, SIZE_N_K));
    *b = (struct best){.x = x, .query = x->query, .rows = x->size->n_q, .count = count, .block = 1, .made = -1};
    b->number = arena_alloc(x->m->arena, (size_t)count * sizeof *b->number);
    for (int n = 0; n < x->g->values; n++)
        for (struct exprs w = {.of = x->g->value[n].where}; x->g->value[n].where && exprs_next(&w);) {
            if (w.e->op != EXPR_DRAWN || !w.e->draw->sorted || strcmp(w.e->draw->name, v->name) != 0) continue;
            floor_quotient(x->m, w.e->arg[1], &position, &b->block);
            key = axes_first(expr_axes(w.e->arg[1]));
            b->query = axes_first(expr_axes(w.e->arg[0]));
            if (w.e->arg[0]->op == EXPR_INDEX) b->rows = x->extent[b->query];
            others = expr_map(x->m, x->g->value[n].where, without_lists, x->m);
        }
    solve(x, others, key, &b->others);
    ids_add(&x->ids, v->name, NULL, 0, count, false);
    x->ids.array[x->ids.arrays - 1].make = best_of_row;
    x->ids.array[x->ids.arrays - 1].of = b;
    x->best[x->lists++] = b;
}

/* Returns the axis of query blocks of a parameter with lists of blocks, or -1. */
static int axis_of_lists(const struct graph *g, const struct value *v)
{
    for (int k = 0; k < v->rank; k++)
        if (g->module->axis[v->axes[k]].source == SIZE_QUERY_BLOCKS) return v->axes[k];
    return -1;
}

unsigned assumed_integers(const struct graph *g)
{
    unsigned kinds = 0;
    for (int n = 0; n < g->values; n++) {
        const struct value *const v = &g->value[n];
        if (!v->integers || v->bytes) continue;
        kinds |= v->op == GRAPH_SELECT || v->origin == ORIGIN_COMPUTED                 ? ASSUMED_BEST
                 : axis_of_lists(g, v) >= 0                                            ? ASSUMED_LISTS
                 : v->rank && g->module->axis[v->axes[v->rank - 1]].source == SIZE_N_K ? ASSUMED_IDS
                                                                                       : ASSUMED_BOUNDS;
    }
    return kinds;
}

/* Makes the assumed integers (cost.h). They are equal for all batch entries and heads. */
static void make_ids(struct counter *x)
{
    double *const half = arena_alloc(x->m->arena, sizeof *half), *const one = arena_alloc(x->m->arena, sizeof *one);
    *one = 1;
    *half = (double)(x->size->n_k / 2);
    for (int n = 0; n < x->g->values; n++) {
        const struct value *v = &x->g->value[n];
        if (!v->integers && !v->hides) continue;
        const int last = v->rank ? v->axes[v->rank - 1] : -1, blocks = axis_of_lists(x->g, v);
        if (v->bytes || v->hides)
            ids_add(&x->ids, v->name, one, 1, 1, false);
        else if (v->op == GRAPH_SELECT || v->origin == ORIGIN_COMPUTED)
            make_best(x, v, x->extent[last]);
        else if (blocks >= 0)
            ids_add(&x->ids, v->name, make_lists(x, x->extent[blocks], x->extent[last], x->m->axis[blocks].extent),
                    x->extent[blocks], x->extent[last], false);
        else if (last >= 0 && x->m->axis[last].source == SIZE_N_K)
            ids_add(&x->ids, v->name, make_documents(x), 1, x->size->n_k, false);
        else
            ids_add(&x->ids, v->name, half, 1, 1, false);
    }
    for (int k = 0; k < x->ids.arrays; k++) x->ids.array[k].repeats = true;
}

/* The form "heads" swaps heads and queries. */
static struct problem_size size_of(const struct compilation *c, struct problem_size size)
{
    if (c->program.by_heads) size = (struct problem_size){size.batch, size.kv_heads, size.n_q, size.members, size.n_k};
    return size;
}

static bool counter_open(struct counter *x, const struct compilation *c, const struct problem_size *size,
                         int64_t document)
{
    *x = (struct counter){.c = c, .g = c->graph, .m = c->graph->module, .document = document, .exact = true};
    x->own = size_of(c, *size);
    x->size = &x->own;
    for (int a = 0; a < x->m->axes; a++) x->extent[a] = axis_extent(x->m, a, x->size);
    struct roles roles;
    roles_of(x->g, 0, &roles);
    const uint32_t rows = axes_with_size(x->m, SIZE_ROWS);
    x->query = rows ? axes_first(rows) : roles.lane;
    x->key = roles.stream;
    x->chunk = roles.chunk;
    const size_t values = (size_t)x->g->values;
    x->needed = calloc(values, sizeof *x->needed);
    if (!x->needed) return false;
    make_ids(x);
    find_useful(x);
    find_needed(x);
    return true;
}

static void counter_close(struct counter *x)
{
    free(x->needed);
    free(x->reach.range);
    free(x->whole.range);
    for (int k = 0; k < x->lists; k++) free(x->best[k]->keys.range);
}

void assumed_best(const struct compilation *c, const struct problem_size *size, const char *name, int64_t lists,
                  double *number)
{
    struct counter counter, *x = &counter;
    if (counter_open(x, c, size, 1))
        for (int64_t row = 0, length = 0; row < lists; row++, number += length)
            memcpy(number, ids_row(&x->ids, name, row, &length), (size_t)length * sizeof *number);
    counter_close(x);
}

/* Counts pairs, useful FLOPs and useful scalar operations of the program. */
static void count_useful(const struct compilation *c, const struct problem_size *size, int64_t document,
                         struct counts *out)
{
    struct counter counter, *x = &counter;
    if (counter_open(x, c, size, document)) {
        find_pairs(x);
        for (int n = 0; n < x->g->values; n++) {
            const struct value *v = &x->g->value[n];
            if (!x->needed[n] || !v->operands) continue;
            const uint32_t axes = value_axes(v) | value_read_axes(v);
            const double points = used_points(x, n, axes) * constants(x, axes);
            const bool product = v->op == GRAPH_CONTRACT || v->op == GRAPH_SOLVE ||
                                 (v->op == GRAPH_REDUCE && v->fold == FOLD_SUM && is_state(x, v));
            out->flops += product ? 2 * points : 0;
            out->scalars += product ? 0 : points * (v->op == GRAPH_MAP ? operations(v->expr) : 1);
        }
        out->pairs = x->pairs;
        out->exact &= x->exact;
    }
    counter_close(x);
}

void count_operations(const struct compilation *c, const struct problem_size *size, int64_t document,
                      struct visited *out)
{
    struct counter counter, *x = &counter;
    *out = (struct visited){.exact = true};
    if (counter_open(x, c, size, document)) count_visits(c->loops, x->size, &x->ids, out);
    counter_close(x);
}

bool visits_all_keys(const struct compilation *linear)
{
    double pairs[2];
    for (int k = 0; k < 2; k++) {
        const int64_t n = INT64_C(1) << (14 + k);
        struct visited visited;
        count_operations(linear, &(struct problem_size){1, 1, 1, n, n}, n, &visited);
        pairs[k] = visited.pairs;
    }
    return pairs[1] > 3 * pairs[0];
}

/* Counts the pairs that the program's loops visit, and the work and bytes of these loops. */
static void count_loops(const struct compilation *c, const struct problem_size *size, int64_t document, int64_t cache,
                        struct counts *out)
{
    struct visited visited;
    count_operations(c, size, document, &visited);
    out->visited = visited.pairs;
    out->tiles = visited.tiles;
    out->loops = visited.operations.products;
    out->units = visited.operations.units;
    out->work = operations_work(c->target, &visited.operations);
    out->bytes = bytes_moved(c, size, visited.pairs, cache);
    out->once = bytes_moved(c, size, visited.pairs, INT64_MAX);
    out->exact &= visited.exact;
}

/* Limits useful counts to what loops compute. A graph of all gradients may not be separated where its parts are. */
static void limit(struct counts *out)
{
    out->flops = fmin(out->flops, out->loops);
    if (out->visited > 0) out->pairs = fmin(out->pairs, out->visited);
}

void count_work(const struct compilation *c, const struct problem_size *size, int64_t document, int64_t cache,
                struct counts *out)
{
    *out = (struct counts){.exact = true};
    count_useful(c, size, document, out);
    count_loops(c, size, document, cache, out);
    limit(out);
}

void count_parts(const struct call_parts *p, const struct problem_size *size, int64_t document, int threads,
                 int64_t cache, struct counts *out, struct roofline *roofline)
{
    *out = (struct counts){.exact = true};
    *roofline = (struct roofline){0};
    count_useful(p->whole, size, document, out);
    for (int k = 0; k < p->parts; k++) {
        struct counts part = {.exact = true};
        /* the pairs of lists are not those of the result */
        const bool selects = p->part[k] != p->whole && program_selects(&p->part[k]->program);
        if (selects) count_useful(p->part[k], size, document, &part);
        count_loops(p->part[k], size, document, cache, &part);
        const struct roofline of_part = roofline_of(p->part[k], size, &part, threads, cache);
        out->visited += selects ? 0 : part.visited;
        out->tiles += selects ? 0 : part.tiles;
        out->flops += part.flops;
        out->scalars += part.scalars;
        out->loops += part.loops;
        out->work += part.work;
        out->units += part.units;
        out->bytes += part.bytes;
        out->once += part.once;
        out->exact &= part.exact;
        roofline->work += of_part.work;
        roofline->unit_work += of_part.unit_work;
        roofline->bytes += of_part.bytes;
    }
    limit(out);
}

void count_pair(const struct graph *g, long long *products, long long *scalars)
{
    const struct module *m = g->module;
    struct roles roles;
    roles_of(g, 0, &roles);
    *products = *scalars = 0;
    for (int n = 0; n < g->values; n++) {
        const struct value *v = &g->value[n];
        const uint32_t own = value_axes(v), around = own | value_read_axes(v);
        long long product = 2;
        if (!v->operands || roles.lane < 0 || roles.stream < 0 || !(own >> roles.lane & 1) ||
            !(around >> roles.stream & 1))
            continue;
        for (int a = 0; a < m->axes; a++)
            if ((around >> a & 1) && m->axis[a].source == SIZE_CONSTANT) product *= m->axis[a].extent;
        if (v->op == GRAPH_CONTRACT) *products += product;
        if (v->op == GRAPH_MAP) *scalars += operations(v->expr);
        if (v->op == GRAPH_REDUCE) *scalars += 1;
    }
}
