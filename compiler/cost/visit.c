/* Counts what a program does by walking its loops with the sizes of a call: the tiles of keys that each tile of queries
   visits, and the operations of all statements.
   - A loop whose body does the same in each iteration is not walked again for each of them.
   - If there are very many iterations, a sample is counted. */
#include "count.h"
#include "../analysis/analysis.h"

#include <stdlib.h>
#include <string.h>

/* If a loop has more than MAX_ITERATIONS iterations, the first FIRST_ITERATIONS and a sample are counted. Loops inside
   others have about MAX_ASKED iterations in total. If only conditions differ, FEW_ITERATIONS are counted. A region is
   tested at SIDE points along each axis. */
enum { MAX_ITERATIONS = 2048, FIRST_ITERATIONS = 16, MAX_ASKED = 1 << 17, FEW_ITERATIONS = 24, SIDE = 16 };

struct walk {
    const struct loops *l;
    struct module *m;
    int64_t size[MAX_AXES], lo[MAX_AXES], hi[MAX_AXES], index[MAX_AXES], stride[MAX_AXES];
    struct environment env;
    int query;                  /* the sequence of the surrounding loop, or -1 */
    bool in_pairs;              /* inside a loop whose pairs are counted */
    struct operations *of_expr; /* the operations of each expression of the module, once they are known */
    struct key_ranges keys;     /* the ranges of the surrounding loops */
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
    if (to->drawn != drawn) {
        const struct expr *position;
        to->drawn = drawn;
        to->low = expr_extreme(m, drawn->arg[0], false);
        to->high = expr_extreme(m, drawn->arg[0], true);
        to->block = 1;
        floor_quotient(m, drawn->arg[1], &position, &to->block);
    }
    struct attn_draw lists = {.seed = drawn->draw->seed, .count = drawn->draw->count, .upto = drawn->draw->upto};
    lists.among = expr_eval_int(drawn->arg[2], env);
    lists.first = expr_eval_int(to->low, env);
    lists.last = expr_eval_int(to->high, env);
    int64_t blocks = lists.last - lists.first + 1;
    if (blocks < 1) return;
    lists.list = malloc((size_t)(blocks * (lists.count + 1)) * sizeof *lists.list);
    struct attn_range *at = key_ranges_more(to, blocks * lists.count);
    if (lists.list && at && (!drawn->draw->name || read_lists(env, drawn, &lists))) {
        if (!drawn->draw->name) attn_draw(&lists);
        to->count += attn_drawn_ranges(&lists, to->block, from, end, every, at);
    }
    free(lists.list);
}

/* Appends the union of the ranges of statement s, clipped to from <= x < to. */
static void add_ranges(struct walk *w, const struct stmt *s, int64_t from, int64_t to, bool every)
{
    const int64_t begin = w->keys.count;
    for (int k = 0; k < s->ranges; k++) {
        int64_t first = expr_eval_int(s->range[k].from, &w->env), end = expr_eval_int(s->range[k].to, &w->env);
        struct attn_range *at = key_ranges_more(&w->keys, 1);
        if (s->range[k].drawn)
            key_ranges_draw(&w->keys, w->m, s->range[k].drawn, &w->env, first, end, every);
        else if (at)
            w->keys.range[w->keys.count++] = (struct attn_range){first, end};
    }
    if (w->keys.count > begin)
        w->keys.count = begin + attn_union(w->keys.range + begin, w->keys.count - begin, from, to);
}

/* Appends the ranges of FOR s. */
static void find_ranges(struct walk *w, const struct stmt *s)
{
    const int64_t from = expr_eval_int(s->from, &w->env), to = expr_eval_int(s->to, &w->env);
    struct attn_range *const all = key_ranges_more(&w->keys, 1);
    if (s->ranges)
        add_ranges(w, s, from, to, false);
    else if (all && from < to)
        w->keys.range[w->keys.count++] = (struct attn_range){from, to};
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

/* ---- operations of a statement ---- */

/* Returns the operations of an expression of reals. Conditions and subscripts count nothing, except random numbers. */
static struct operations operations_of(struct walk *w, const struct expr *e)
{
    struct operations *const sum = &w->of_expr[e->id];
    for (struct exprs p = {.of = sum->known ? NULL : e}; exprs_next(&p);) {
        const bool function = expr_effort(p.e->op) == EFFORT_FUNCTION;
        p.skip = p.e->type != TYPE_REAL;
        if (p.skip)
            sum->randoms += expr_has(p.e, EXPR_RANDOM);
        else if (expr_arity(p.e->op) > 0)
            *(function ? &sum->functions : &sum->scalars) += 1;
    }
    sum->known = true;
    return *sum;
}

static double count_of(const struct walk *w, int axis)
{
    const int64_t count = indices(w->lo[axis], w->hi[axis], w->stride[axis]);
    return (double)count;
}

/* Returns the share of the points of the current ranges that the region has, from a grid of points. */
static double share_of(struct walk *w, const struct expr *where)
{
    int axis[MAX_AXES], axes = 0;
    int64_t side[MAX_AXES], points = 1, held = 0;
    const uint32_t bits = expr_axes(where);
    for (int a = 0; a < w->m->axes; a++) {
        if (!(bits >> a & 1)) continue;
        const int64_t all = indices(w->lo[a], w->hi[a], w->stride[a]);
        side[axes] = all < SIDE ? all : SIDE;
        points *= side[axes];
        axis[axes++] = a;
    }
    for (int64_t n = 0; n < points; n++) {
        int64_t rest = n;
        for (int k = 0; k < axes; k++) {
            const int a = axis[k];
            const int64_t all = indices(w->lo[a], w->hi[a], w->stride[a]), at = rest % side[k];
            w->index[a] = w->lo[a] + (2 * at + 1) * all / (2 * side[k]) * w->stride[a];
            rest /= side[k];
        }
        held += expr_eval_int(where, &w->env) != 0;
    }
    for (int k = 0; k < axes; k++) w->index[axis[k]] = w->lo[axis[k]];
    return points > 0 ? (double)held / (double)points : 0;
}

/* Whether s sums products whose terms decay differently. Its kernel function (emit/decayed.c) multiplies and adds once
   for each term, and computes the decays for each row. */
static bool sums_decayed(const struct stmt *s)
{
    return s->op == LOOPS_MAP && s->where && s->rank == 3 && s->assigns == 1 && s->assign[0].fold == FOLD_SUM &&
           expr_has(s->assign[0].expr, EXPR_EXP2);
}

/* Whether the assignment of MAP s sums over an axis. Each term counts as a multiplication and an addition. */
static bool sums_products(const struct stmt *s, const struct assign *a)
{
    bool summed = false;
    for (int k = 0; k < s->rank; k++) summed |= !(ref_axes(&a->to) >> s->axes[k] & 1);
    return summed && a->fold == FOLD_SUM;
}

/* Returns the operations of MAP s at `points` points. */
static struct operations of_map(struct walk *w, const struct stmt *s, double points)
{
    /* a decay and the two rows that it multiplies, for each element of a row */
    static const struct operations of_row = {.scalars = 4, .functions = 1};
    struct operations sum = {0};
    if (sums_decayed(s)) {
        const bool last = ref_axis(&s->assign[0].to, 1) == s->axes[1] || stmt_sums_elements(w->l->module, s);
        const int over = s->axes[last ? 2 : 1], column = s->axes[last ? 1 : 2];
        const double rows = (count_of(w, s->axes[0]) + count_of(w, column)) / 2 * count_of(w, over);
        return (struct operations){.products = 2 * points * share_of(w, s->where),
                                   .scalars = rows * of_row.scalars,
                                   .functions = rows * of_row.functions};
    }
    for (int k = 0; k < s->assigns; k++) {
        const struct operations of = operations_of(w, s->assign[k].expr);
        const struct array *const to = &w->l->array[s->assign[k].to.of];
        const bool adds = sums_products(s, &s->assign[k]), product = adds && s->assign[k].expr->op == EXPR_MUL;
        sum.products += adds ? 2 * points : 0;
        sum.scalars += points * (of.scalars - product + (s->assign[k].fold != FOLD_SET && !adds));
        sum.functions += points * of.functions;
        sum.randoms += points * of.randoms;
        sum.packed += to->matrix ? points * array_terms(to) : 0;
    }
    return sum;
}

static struct operations of_dot(const struct walk *w, const struct stmt *s, double points)
{
    const struct array *const row = &w->l->array[s->operand[0].of], *const lane = &w->l->array[s->operand[1].of];
    const double flops = 2 * points * count_of(w, s->axis);
    struct operations sum = {.products = flops};
    if (lane->paired && lane->matrix) {
        sum.in_units = flops;
        sum.units = flops * products_of_terms(array_terms(row), array_terms(lane));
    } else if (lane->paired)
        sum.in_pairs = flops;
    return sum;
}

static void add_statement(struct walk *w, const struct stmt *s, double weight)
{
    struct operations sum = {0}, *const all = &w->out->operations;
    double points = 1;
    for (int k = 0; k < s->rank; k++) points *= count_of(w, s->axes[k]);
    if (s->op == LOOPS_MAP) sum = of_map(w, s, points);
    if (s->op == LOOPS_DOT) sum = of_dot(w, s, points);
    if (s->op == LOOPS_COPY && w->l->array[s->assign[0].to.of].matrix)
        sum.packed = points * array_terms(&w->l->array[s->assign[0].to.of]);
    if (s->op == LOOPS_SOLVE) { /* equation t has t terms */
        sum.products = points * (count_of(w, s->axes[0]) - 1);
        sum.scalars = 2 * points;
    }
    if (s->op == LOOPS_SELECT || s->op == LOOPS_SCAN) sum.scalars = points;
    all->products += weight * sum.products;
    all->in_pairs += weight * sum.in_pairs;
    all->in_units += weight * sum.in_units;
    all->units += weight * sum.units;
    all->scalars += weight * sum.scalars;
    all->functions += weight * sum.functions;
    all->randoms += weight * sum.randoms;
    all->packed += weight * sum.packed;
}

/* ---- what the iterations of a loop depend on ---- */

/* Returns the axes whose index or current range is in e. */
static uint32_t axes_named(const struct expr *e)
{
    uint32_t axes = 0;
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        const enum expr_op op = w.e->op;
        if (op == EXPR_INDEX || op == EXPR_LO || op == EXPR_HI) axes |= AXIS(w.e->integer);
        /* The first argument of these operations is a sequence. All sequences are alike here. */
        w.skip = op == EXPR_ID || op == EXPR_MIN_ID || op == EXPR_MAX_ID || op == EXPR_START;
        if (w.skip) axes |= axes_named(w.e->arg[1]) | axes_named(w.e->arg[2]);
    }
    return axes;
}

static uint32_t ranges_name(const struct stmt *s)
{
    uint32_t axes = 0;
    for (int k = 0; k < s->ranges; k++)
        axes |= axes_named(s->range[k].from) | axes_named(s->range[k].to) | axes_named(s->range[k].drawn);
    return axes;
}

/* Returns the axes on which the bounds of the FORs in list s depend. */
static uint32_t bounds_name(const struct stmt *s)
{
    uint32_t axes = 0;
    struct stmts w = {.list = (struct stmt *)s};
    while ((s = stmts_next(&w)))
        if (s->op == LOOPS_FOR)
            axes |= axes_named(s->from) | axes_named(s->to) | axes_named(s->phase) | axes_named(s->when) |
                    ranges_name(s);
    return axes;
}

/* Returns the axes on which other conditions in list s depend. */
static uint32_t conditions_name(const struct stmt *s)
{
    uint32_t axes = 0;
    struct stmts w = {.list = (struct stmt *)s};
    while ((s = stmts_next(&w))) {
        if (s->op == LOOPS_IF) axes |= axes_named(s->where) | ranges_name(s) | (s->ranges ? AXIS(s->axis) : 0);
        if (sums_decayed(s)) axes |= axes_named(s->where);
    }
    return axes;
}

/* Whether a statement in list s has the axis, at any depth. */
static bool computes_over(const struct stmt *s, int axis)
{
    struct stmts w = {.list = (struct stmt *)s};
    while ((s = stmts_next(&w)))
        if (axes_set(s->rank, s->axes) >> axis & 1 || (s->op == LOOPS_DOT && s->axis == axis)) return true;
    return false;
}

/* Whether a loop in list s runs over a sequence other than `axis`, at any depth. */
static bool runs_over_another(const struct walk *w, const struct stmt *s, int axis)
{
    struct stmts at = {.list = (struct stmt *)s};
    while ((s = stmts_next(&at)))
        if (s->op == LOOPS_FOR && s->axis != axis && axis_is_sequence(&w->m->axis[s->axis])) return true;
    return false;
}

/* Whether the iterations of FOR s differ in the bounds of loops. */
static bool differ(const struct stmt *s)
{
    return s->when || bounds_name(s->body) >> s->axis & 1;
}

/* Returns how many iterations of loops in list s are walked, each with other bounds. `block`: the length of the range
   that the loops over `axis` divide. */
static int64_t asked(const struct walk *w, const struct stmt *s, int axis, int64_t block)
{
    int64_t count = 1;
    for (; s; s = s->next) {
        if (s->op == LOOPS_IF) count += asked(w, s->body, axis, block);
        if (s->op != LOOPS_FOR) continue;
        const int64_t length = s->axis == axis ? block : w->size[s->axis];
        count += asked(w, s->body, axis, block) * (differ(s) ? length / s->step + 1 : 1);
    }
    return count;
}

/* ---- walking ---- */

static void walk(struct walk *w, const struct stmt *s, double weight);

/* Counts the pairs of the current tile of keys, unless `s` is not a loop over the keys of queries. Returns whether it
   is. */
static bool count_pairs(struct walk *w, const struct stmt *s, double weight)
{
    if (w->in_pairs || w->query < 0 || w->query == s->axis || !axis_is_sequence(&w->m->axis[s->axis]) ||
        !computes_over(s->body, w->query))
        return false;
    const struct stmt *const tiles = tiles_in(s, w->query);
    const int64_t using = tiles && tiles->when ? queries_using(w, tiles) : queries(w);
    w->out->pairs += weight * (double)using * count_of(w, s->axis);
    w->out->tiles += weight * (double)using;
    return true;
}

/* Walks the body of FOR s for the range from <= x < to, `weight` times. */
static void walk_tile(struct walk *w, const struct stmt *s, int64_t from, int64_t to, int64_t stride, double weight)
{
    const int query = w->query;
    const bool in_pairs = w->in_pairs;
    w->lo[s->axis] = w->index[s->axis] = from;
    w->hi[s->axis] = to;
    w->stride[s->axis] = stride;
    if (s->when && !expr_eval_int(s->when, &w->env)) return;
    w->in_pairs |= count_pairs(w, s, weight);
    if (query < 0 && axis_is_sequence(&w->m->axis[s->axis]) && runs_over_another(w, s->body, s->axis))
        w->query = s->axis;
    walk(w, s->body, weight);
    w->in_pairs = in_pairs;
    w->query = query;
}

/* Returns the one iteration that is counted in place of n, …, n + group - 1. The choice is pseudo-random, because a
   mask may be periodic. Of two groups, the second choice mirrors the first one, so that trends cancel. */
static int64_t chosen(int64_t n, int64_t group)
{
    const int64_t number = n / group;
    const uint64_t random = ((uint64_t)(number / 2) + 1) * UINT64_C(0x9E3779B97F4A7C15) >> 33;
    const int64_t at = (int64_t)(random % (uint64_t)group);
    return n + (number % 2 ? group - 1 - at : at);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Walks the tiles of FOR s at the indices from, from + stride, … below `to`. */
static void walk_tiles(struct walk *w, const struct stmt *s, int64_t from, int64_t to, int64_t stride, double weight)
{
    const int64_t all = indices(from, to, stride), last = all % s->step, tiles = all / s->step + (last > 0);
    const bool bounds = differ(s);
    int64_t max = FEW_ITERATIONS;
    if (all <= 0) return;
    if (!bounds && !(conditions_name(s->body) >> s->axis & 1)) {
        const int64_t whole = all / s->step, begin = from + whole * s->step * stride;
        if (whole) walk_tile(w, s, from, from + (s->step - 1) * stride + 1, stride, weight * (double)whole);
        if (last) walk_tile(w, s, begin, to, stride, weight);
        return;
    }
    if (bounds) {
        const int64_t each = asked(w, s->body, s->axis, s->step);
        max = MAX_ASKED / each;
        if (max > MAX_ITERATIONS) max = MAX_ITERATIONS;
        if (max < 2 * FIRST_ITERATIONS) max = 2 * FIRST_ITERATIONS;
    }
    const int64_t group = tiles > max ? (tiles - FIRST_ITERATIONS - 1) / (max - FIRST_ITERATIONS) + 1 : 1;
    w->out->exact &= group == 1 || !bounds;
    for (int64_t n = 0, stands_for; n < tiles; n += stands_for) {
        stands_for = n < FIRST_ITERATIONS || n + 1 == tiles ? 1 : tiles - 1 - n < group ? tiles - 1 - n : group;
        const int64_t at = stands_for == 1 ? n : FIRST_ITERATIONS + chosen(n - FIRST_ITERATIONS, stands_for),
                      begin = from + at * s->step * stride;
        walk_tile(w, s, begin, smaller(begin + (s->step - 1) * stride + 1, to), stride, weight * (double)stands_for);
    }
}

/* Walks the indices that FOR s selects periodically. */
static void walk_period(struct walk *w, const struct stmt *s, int64_t from, int64_t to, double weight)
{
    const int64_t phase = floor_mod(expr_eval_int(s->phase, &w->env) - from, s->period);
    if (s->apart) {
        for (int64_t n = 0; n < s->run; n++) walk_tiles(w, s, from + (phase + n) % s->period, to, s->period, weight);
        return;
    }
    const bool each = differ(s) || conditions_name(s->body) >> s->axis & 1;
    for (int64_t x = from + phase - s->period; x < to; x += s->period) {
        const int64_t begin = larger(x, from), end = smaller(x + s->run, to);
        const int64_t alike = !each && begin == x && end == x + s->run ? (to - s->run - x) / s->period + 1 : 1;
        walk_tiles(w, s, begin, end, 1, weight * (double)alike);
        x += (alike - 1) * s->period;
    }
}

static void walk_for(struct walk *w, const struct stmt *s, double weight)
{
    const int64_t lo = w->lo[s->axis], hi = w->hi[s->axis], index = w->index[s->axis], stride = w->stride[s->axis];
    const int64_t begin = w->keys.count;
    find_ranges(w, s);
    for (int64_t k = begin, end = w->keys.count; k < end; k++) {
        const struct attn_range here = w->keys.range[k];
        if (s->window)
            walk_tile(w, s, here.from, here.to, 1, weight);
        else if (s->period)
            walk_period(w, s, here.from, here.to, weight);
        else
            walk_tiles(w, s, here.from, here.to, stmt_stride(s), weight);
    }
    w->keys.count = begin;
    w->lo[s->axis] = lo;
    w->hi[s->axis] = hi;
    w->index[s->axis] = index;
    w->stride[s->axis] = stride;
}

/* Whether the condition of an IF holds. */
static bool holds(struct walk *w, const struct stmt *s)
{
    if (s->where) return expr_eval_int(s->where, &w->env) != 0;
    const int64_t begin = w->keys.count;
    add_ranges(w, s, w->lo[s->axis], w->hi[s->axis], true);
    const bool whole = w->keys.count == begin + 1 && w->keys.range[begin].from <= w->lo[s->axis] &&
                       w->keys.range[begin].to >= w->hi[s->axis];
    w->keys.count = begin;
    return !whole;
}

static void walk(struct walk *w, const struct stmt *s, double weight)
{
    for (; s; s = s->next) {
        if (s->op == LOOPS_FOR)
            walk_for(w, s, weight);
        else if (s->op != LOOPS_IF)
            add_statement(w, s, weight);
        else if (holds(w, s))
            walk(w, s->body, weight);
    }
}

void count_visits(const struct loops *l, const struct problem_size *size, struct ids *ids, struct visited *out)
{
    struct walk w = {.l = l, .m = l->module, .query = -1, .out = out};
    *out = (struct visited){.exact = true};
    w.of_expr = calloc((size_t)w.m->exprs + 1, sizeof *w.of_expr);
    for (int a = 0; a < w.m->axes; a++) {
        w.hi[a] = w.size[a] = axis_extent(w.m, a, size);
        if (w.m->axis[a].source == SIZE_ROWS) w.query = a;
        w.stride[a] = 1;
    }
    w.env = (struct environment){.index = w.index, .size = w.size, .lo = w.lo, .hi = w.hi, .ids = ids};
    if (w.of_expr) walk(&w, l->body, 1);
    free(w.of_expr);
    free(w.keys.range);
}
