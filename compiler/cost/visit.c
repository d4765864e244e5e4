/* Counts the tiles of keys that each tile of queries visits, from the bounds of the loops. If there are very many
   tiles of queries, a sample is counted. */
#include "count.h"
#include "../analysis/analysis.h"

#include <stdlib.h>
#include <string.h>

/* If a loop has more than MAX_ITERATIONS iterations, the first FIRST_ITERATIONS and a sample are counted. If tiles
   are tested, the sample takes at most about MAX_ASKED tests. */
enum { MAX_ITERATIONS = 2048, FIRST_ITERATIONS = 16, MAX_ASKED = 1 << 17 };

struct walk {
    const struct loops *l;
    struct module *m;
    int64_t size[MAX_AXES], lo[MAX_AXES], hi[MAX_AXES], index[MAX_AXES], stride[MAX_AXES];
    struct environment env;
    uint32_t named;         /* the axes on which the bounds of loops depend, as bits */
    int query;              /* the sequence of the surrounding loop, or -1 */
    struct key_ranges keys; /* the ranges of the current loop over keys */
    struct visited *out;
};

/* ---- the ranges of a loop over keys ---- */

struct attn_range *key_ranges_more(struct key_ranges *to, int64_t count)
{
    if (to->count + count > to->room) {
        int64_t room = 2 * (to->count + count);
        struct attn_range *grown = realloc(to->range, (size_t)room * sizeof *grown);
        if (!grown) return NULL;
        to->range = grown;
        to->room = room;
    }
    return to->range + to->count;
}

/* If the blocks of an EXPR_DRAWN are given by a parameter, reads them into `lists`. Returns false if memory is
   short. */
static bool read_lists(const struct environment *env, const struct expr *drawn, struct attn_draw *lists)
{
    const int64_t blocks = lists->last - lists->first + 1, count = lists->count;
    int32_t *const number = malloc((size_t)(blocks * count) * sizeof *number);
    for (int64_t a = 0; a < blocks && number; a++) {
        int64_t length = 0;
        const double *const row = ids_row(env->ids, drawn->draw->name, lists->among + lists->first + a, &length);
        for (int64_t k = 0; k < count; k++) number[a * count + k] = row && k < length ? (int32_t)row[k] : -1;
    }
    if (number) attn_draw_listed(lists, number);
    free(number);
    return number != NULL;
}

void key_ranges_draw(struct key_ranges *to, struct module *m, const struct expr *drawn, const struct environment *env,
                     int64_t from, int64_t end, bool every)
{
    const struct expr *position;
    int64_t block = 1;
    floor_quotient(m, drawn->arg[1], &position, &block);
    struct attn_draw lists = {.seed = drawn->draw->seed, .count = drawn->draw->count, .upto = drawn->draw->upto};
    lists.among = expr_eval_int(drawn->arg[2], env);
    lists.first = expr_eval_int(expr_extreme(m, drawn->arg[0], false), env);
    lists.last = expr_eval_int(expr_extreme(m, drawn->arg[0], true), env);
    int64_t blocks = lists.last - lists.first + 1;
    if (blocks < 1) return;
    lists.list = malloc((size_t)(blocks * (lists.count + 1)) * sizeof *lists.list);
    struct attn_range *at = key_ranges_more(to, blocks * lists.count);
    if (lists.list && at && (!drawn->draw->name || read_lists(env, drawn, &lists))) {
        if (!drawn->draw->name) attn_draw(&lists);
        to->count += attn_drawn_ranges(&lists, block, from, end, every, at);
    }
    free(lists.list);
}

static void find_ranges(struct walk *w, const struct stmt *s)
{
    int64_t from = expr_eval_int(s->from, &w->env), to = expr_eval_int(s->to, &w->env);
    w->keys.count = 0;
    for (int k = 0; k < s->ranges; k++) {
        int64_t first = expr_eval_int(s->range[k].from, &w->env), end = expr_eval_int(s->range[k].to, &w->env);
        struct attn_range *at = key_ranges_more(&w->keys, 1);
        if (s->range[k].drawn)
            key_ranges_draw(&w->keys, w->m, s->range[k].drawn, &w->env, first, end, false);
        else if (at)
            w->keys.range[w->keys.count++] = (struct attn_range){first, end};
    }
    struct attn_range *all = key_ranges_more(&w->keys, 1);
    if (s->ranges == 0 && all) w->keys.range[w->keys.count++] = (struct attn_range){from, to};
    w->keys.count = attn_union(w->keys.range, w->keys.count, from, to);
}

/* ---- tiles of keys ---- */

static int64_t floor_mod(int64_t a, int64_t b)
{
    return (a % b + b) % b;
}

static int64_t indices(int64_t from, int64_t to, int64_t stride)
{
    return from < to ? (to - from - 1) / stride + 1 : 0;
}

/* Returns the number of queries in the current tile. */
static int64_t queries(const struct walk *w)
{
    return indices(w->lo[w->query], w->hi[w->query], w->stride[w->query]);
}

/* Returns the loop over tiles of queries inside a loop over keys, or NULL. These tiles share tiles of keys. */
static const struct stmt *tiles_in(const struct stmt *keys, int query)
{
    for (const struct stmt *s = keys->body; s; s = s->next)
        if (s->op == LOOPS_FOR && s->axis == query) return s;
    return NULL;
}

/* Returns the number of queries that process the current tile of keys. `tiles`: the loop over the tiles of queries. */
static int64_t queries_using(struct walk *w, const struct stmt *tiles)
{
    const int64_t lo = w->lo[w->query], hi = w->hi[w->query];
    int64_t count = 0;
    for (int64_t at = lo; at < hi; at += tiles->step) {
        w->lo[w->query] = at;
        w->hi[w->query] = at + tiles->step < hi ? at + tiles->step : hi;
        if (!tiles->when || expr_eval_int(tiles->when, &w->env)) count += queries(w);
    }
    w->lo[w->query] = lo;
    w->hi[w->query] = hi;
    return count;
}

/* Adds the tiles and pairs of the keys from <= x < to, multiplied by `weight`. Evaluates the condition of each tile
   that may be skipped. */
static void visit_tiles(struct walk *w, const struct stmt *s, int64_t from, int64_t to, double weight)
{
    int64_t stride = stmt_stride(s), all = indices(from, to, stride);
    const struct stmt *const tiles = tiles_in(s, w->query);
    double each = weight * (double)queries(w);
    if (!s->when && !(tiles && tiles->when)) {
        w->out->pairs += each * (double)all;
        const int64_t steps = (all + s->step - 1) / s->step;
        w->out->tiles += each * (double)steps;
        return;
    }
    for (int64_t n = 0; n < all; n += s->step) {
        int64_t here = all - n < s->step ? all - n : s->step;
        w->lo[s->axis] = from + n * stride;
        w->hi[s->axis] = from + (n + here - 1) * stride + 1;
        if (s->when && !expr_eval_int(s->when, &w->env)) continue;
        if (tiles) each = weight * (double)queries_using(w, tiles);
        w->out->pairs += each * (double)here;
        w->out->tiles += each;
    }
}

static void visit_keys(struct walk *w, const struct stmt *s, double weight)
{
    find_ranges(w, s);
    for (int64_t k = 0; k < w->keys.count; k++) {
        int64_t from = w->keys.range[k].from, to = w->keys.range[k].to;
        if (s->period == 0) {
            visit_tiles(w, s, from, to, weight);
            continue;
        }
        int64_t first = from + floor_mod(expr_eval_int(s->phase, &w->env) - from, s->period);
        for (int64_t n = 0; n < s->run && s->apart; n++)
            visit_tiles(w, s, first + n < from + s->period ? first + n : first + n - s->period, to, weight);
        for (int64_t x = first - s->period; x < to && !s->apart; x += s->period)
            visit_tiles(w, s, x < from ? from : x, x + s->run < to ? x + s->run : to, weight);
    }
}

/* ---- loops around the loops over keys ---- */

static void walk(struct walk *w, const struct stmt *s, double weight);

/* Sets the current range of the loop's axis for iteration n. Returns false if the range is empty. */
static bool set_tile(struct walk *w, const struct stmt *s, int64_t from, int64_t to, int64_t n)
{
    int64_t stride = stmt_stride(s), first = from + n / stride * s->step * stride + n % stride,
            end = first + (s->step - 1) * stride + 1;
    w->lo[s->axis] = w->index[s->axis] = first;
    w->hi[s->axis] = end < to ? end : to;
    w->stride[s->axis] = stride;
    return first < to;
}

/* Returns the one iteration that is counted in place of n, …, n + group - 1. The choice is pseudo-random, because a
   mask may be periodic. */
static int64_t chosen(int64_t n, int64_t group)
{
    return n + (int64_t)(((uint64_t)n + 1) * UINT64_C(0x9E3779B97F4A7C15) >> 33) % group;
}

/* Returns how often the loops test whether to skip a tile of keys. `block`: the number of queries that share tiles
   of keys. */
static int64_t asked(const struct walk *w, const struct stmt *s, int64_t block)
{
    int64_t count = 0;
    for (; s; s = s->next) {
        if (s->op != LOOPS_FOR) continue;
        const struct stmt *tiles = w->query >= 0 && s->axis != w->query ? tiles_in(s, w->query) : NULL;
        const int64_t keys = w->size[s->axis] / s->step + 1;
        count += s->when ? keys : 0;
        count += tiles && tiles->when ? keys * block / tiles->step : asked(w, s->body, block);
    }
    return count;
}

static void iterate(struct walk *w, const struct stmt *s, double weight)
{
    int64_t lo = w->lo[s->axis], hi = w->hi[s->axis], stride = w->stride[s->axis], query = w->query;
    int64_t from = expr_eval_int(s->from, &w->env), to = expr_eval_int(s->to, &w->env);
    int64_t iterations = to > from ? (to - from - 1) / (s->step * stmt_stride(s)) * stmt_stride(s) + stmt_stride(s) : 0,
            max = MAX_ITERATIONS;
    if (axis_is_sequence(&w->m->axis[s->axis])) w->query = s->axis;
    int64_t each = asked(w, s->body, s->step);
    if (each * max > MAX_ASKED) max = MAX_ASKED / each;
    if (max < 2 * FIRST_ITERATIONS) max = 2 * FIRST_ITERATIONS;
    int64_t group = iterations > max ? (iterations - FIRST_ITERATIONS - 1) / (max - FIRST_ITERATIONS) + 1 : 1;
    w->out->exact &= group == 1;
    for (int64_t n = 0, stands_for; n < iterations; n += stands_for) {
        stands_for = n < FIRST_ITERATIONS ? 1 : iterations - n < group ? iterations - n : group;
        if (set_tile(w, s, from, to, chosen(n, stands_for))) walk(w, s->body, weight * (double)stands_for);
    }
    w->query = (int)query;
    w->lo[s->axis] = w->index[s->axis] = lo;
    w->hi[s->axis] = hi;
    w->stride[s->axis] = stride;
}

/* Whether a statement in list s has the axis, at any depth. */
static bool computes_over(const struct stmt *s, int axis)
{
    bool found = false;
    for (; s && !found; s = s->next) {
        found = computes_over(s->body, axis) || (s->op == LOOPS_DOT && s->axis == axis);
        for (int k = 0; k < s->rank; k++) found |= s->axes[k] == axis;
    }
    return found;
}

/* Whether a loop in list s runs over a sequence other than `axis`, at any depth. */
static bool runs_over_another(const struct walk *w, const struct stmt *s, int axis)
{
    for (; s; s = s->next)
        if ((s->op == LOOPS_FOR && s->axis != axis && axis_is_sequence(&w->m->axis[s->axis])) ||
            runs_over_another(w, s->body, axis))
            return true;
    return false;
}

static void walk(struct walk *w, const struct stmt *s, double weight)
{
    for (; s; s = s->next) {
        if (s->op == LOOPS_IF) walk(w, s->body, weight);
        if (s->op != LOOPS_FOR) continue;
        switch (w->m->axis[s->axis].source) {
        case SIZE_N_Q:
        case SIZE_N_K:
            if (w->query >= 0 && w->query != s->axis) {
                if (computes_over(s->body, w->query)) visit_keys(w, s, weight); /* otherwise the loop visits no pairs */
            } else if (w->query == s->axis || runs_over_another(w, s->body, s->axis))
                iterate(w, s, weight);
            break;
        case SIZE_UNITS: iterate(w, s, weight); break;
        case SIZE_ROWS:
        case SIZE_CONSTANT: walk(w, s->body, weight); break; /* all iterations visit the same pairs */
        case SIZE_BATCH:
        case SIZE_KV_HEADS:
        case SIZE_MEMBERS:
            if (w->named >> s->axis & 1)
                iterate(w, s, weight);
            else
                walk(w, s->body, weight * (double)w->size[s->axis]);
            break;
        case SIZE_CHUNKS:
        case SIZE_QUERY_CHUNKS:
        case SIZE_QUERY_BLOCKS:
        case SIZE_KEY_BLOCKS:
        case SIZE_HEADS:
        case SIZE_FIRST_KEY:
        case SIZE_ALL_KEYS:
        case SIZE_SINK_MODE:
            if (s->window)
                walk(w, s->body, weight);
            else
                iterate(w, s, weight);
            break;
        }
    }
}

/* Returns the axes whose index or current range is in e. */
static uint32_t axes_named(const struct expr *e)
{
    if (!e) return 0;
    /* The first argument of these operations is a sequence. All sequences are alike here. */
    const bool ids = e->op == EXPR_ID || e->op == EXPR_MIN_ID || e->op == EXPR_MAX_ID || e->op == EXPR_START;
    uint32_t axes = e->op == EXPR_INDEX || e->op == EXPR_LO || e->op == EXPR_HI ? UINT32_C(1) << e->integer : 0;
    for (int k = ids; k < expr_arity(e->op); k++) axes |= axes_named(e->arg[k]);
    return axes;
}

static uint32_t bounds_name(const struct stmt *s)
{
    uint32_t axes = 0;
    for (; s; s = s->next) {
        axes |= bounds_name(s->body);
        if (s->op != LOOPS_FOR) continue;
        axes |= axes_named(s->from) | axes_named(s->to) | axes_named(s->phase) | axes_named(s->when);
        for (int k = 0; k < s->ranges; k++)
            axes |= axes_named(s->range[k].from) | axes_named(s->range[k].to) | axes_named(s->range[k].drawn);
    }
    return axes;
}

void count_visits(const struct loops *l, const struct problem_size *size, struct ids *ids, struct visited *out)
{
    struct walk w = {.l = l, .m = l->module, .query = -1, .out = out, .named = bounds_name(l->body)};
    *out = (struct visited){.exact = true};
    for (int a = 0; a < w.m->axes; a++) {
        w.size[a] = axis_extent(w.m, a, size);
        const bool rows = w.m->axis[a].source == SIZE_ROWS, counted = axis_is_counted(&w.m->axis[a]),
                   whole = rows || counted || axis_is_chunks(&w.m->axis[a]);
        if (rows) w.query = a;
        w.hi[a] = whole ? w.size[a] : 1;
        w.stride[a] = 1;
    }
    w.env = (struct environment){.index = w.index, .size = w.size, .lo = w.lo, .hi = w.hi, .ids = ids};
    walk(&w, l->body, 1);
    free(w.keys.range);
}
