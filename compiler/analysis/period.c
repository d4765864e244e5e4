/* Finds the keys that periodic conditions select (struct period in analysis.h). A residue is a position modulo the
   period. The conditions are evaluated for every residue of query and key. */
#include "affine.h"
#include "region.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* - MAX_RESIDUES: the longest period
   - MAX_TRIED: the maximum number of pairs of residues that are tried
   - MIN_QUERIES: the queries of the shortest tile */
enum { MAX_RESIDUES = 4096, MAX_TRIED = 1 << 17, MIN_QUERIES = 16 };
enum side { QUERY, KEY };

/* Expressions for the positions of a query and a key.
   - joint: query and key move together. Such a move counts as one of side QUERY.
   - swapped: the lanes are keys. Then `query` is the position of a key, and `key` is the position of a query. `key`
     may be negative. */
struct positions {
    struct module *m;
    const struct expr *query, *key;
    bool joint, swapped;
};

/* How an integer expression changes: by `by[QUERY]` if the query moves by period[QUERY] positions, and by `by[KEY]`
   if the key moves by period[KEY]. Example: (i - j) / 4 has period {4, 4} and by {1, -1}. */
struct moving {
    int64_t period[2], by[2];
};

static int64_t gcd(int64_t a, int64_t b)
{
    a = llabs(a), b = llabs(b);
    while (b) {
        int64_t r = a % b;
        a = b, b = r;
    }
    return a;
}

/* ---- how expressions change ---- */

/* Extends the periods of a and b to common multiples. Returns false if one exceeds MAX_RESIDUES. */
static bool align(struct moving *a, struct moving *b)
{
    for (int k = 0; k < 2; k++) {
        int64_t whole = a->period[k] / gcd(a->period[k], b->period[k]) * b->period[k];
        if (whole > MAX_RESIDUES) return false;
        a->by[k] *= whole / a->period[k];
        b->by[k] *= whole / b->period[k];
        a->period[k] = b->period[k] = whole;
    }
    return true;
}

static bool stays(const struct moving *a)
{
    return a->by[QUERY] == 0 && a->by[KEY] == 0;
}

static bool move_alike(struct moving *a, struct moving *b)
{
    return align(a, b) && a->by[QUERY] == b->by[QUERY] && a->by[KEY] == b->by[KEY];
}

static bool multiply(struct moving *a, int64_t times)
{
    for (int k = 0; k < 2; k++)
        if (__builtin_mul_overflow(a->by[k], times, &a->by[k]) || llabs(a->by[k]) > INT32_MAX) return false;
    return true;
}

/* Lengthens the periods of a until `divisor` divides both a->by[QUERY] and a->by[KEY]. */
static bool whole_multiples(struct moving *a, int64_t divisor)
{
    for (int k = 0; k < 2; k++) {
        int64_t times = divisor / gcd(a->by[k], divisor);
        if (a->period[k] > MAX_RESIDUES / times) return false;
        a->period[k] *= times;
        a->by[k] *= times;
    }
    return true;
}

static bool positive(const struct expr *e)
{
    return e->op == EXPR_INT && e->integer > 0 && e->integer <= MAX_RESIDUES;
}

/* Sets *out to the periods of e, and to its change per period. Returns false if none is known. */
static bool moving(const struct positions *x, const struct expr *e, struct moving *out)
{
    struct moving other = {{1, 1}, {0, 0}}, third;
    const struct expr *a = e->arg[0], *b = e->arg[1], *whole;
    int64_t by;
    *out = other;
    if (e == x->query || e == x->key) {
        out->by[e == x->key && !x->joint ? KEY : QUERY] = 1;
        return true;
    }
    switch ((int)e->op) {
    case EXPR_INT: return true;
    case EXPR_NEG: return moving(x, a, out) && multiply(out, -1);
    case EXPR_ADD:
    case EXPR_SUB:
        if (!moving(x, a, out) || !moving(x, b, &other) || !align(out, &other)) return false;
        for (int k = 0; k < 2; k++) out->by[k] += e->op == EXPR_ADD ? other.by[k] : -other.by[k];
        return true;
    case EXPR_MUL: return b->op == EXPR_INT && moving(x, a, out) && multiply(out, b->integer);
    case EXPR_FLOORMOD:
        if (!positive(b) || !moving(x, a, out) || !whole_multiples(out, b->integer)) return false;
        out->by[QUERY] = out->by[KEY] = 0;
        return true;
    case EXPR_DIV: /* only a quotient that rounds down has a known period */
        if (!positive(b) || !floor_quotient(x->m, e, &whole, &by) || whole == a || !moving(x, whole, out) ||
            !whole_multiples(out, by))
            return false;
        for (int k = 0; k < 2; k++) out->by[k] /= by;
        return true;
    case EXPR_LE:
    case EXPR_LT:
    case EXPR_EQ:
    case EXPR_NE:
        if (!moving(x, a, out) || !moving(x, b, &other) || !move_alike(out, &other)) return false;
        out->by[QUERY] = out->by[KEY] = 0;
        return true;
    case EXPR_MIN:
    case EXPR_MAX: return moving(x, a, out) && moving(x, b, &other) && move_alike(out, &other);
    case EXPR_ABS:
    case EXPR_NOT: return moving(x, a, out) && stays(out);
    case EXPR_AND:
    case EXPR_OR: return moving(x, a, out) && moving(x, b, &other) && stays(out) && stays(&other) && align(out, &other);
    case EXPR_SELECT:
        if (!moving(x, a, &third) || !stays(&third) || !moving(x, b, out) || !moving(x, e->arg[2], &other))
            return false;
        return move_alike(out, &other) && align(out, &third);
    default: return false;
    }
}

/* ---- quotients and remainders that round down ---- */

struct premises {
    const struct positions *x;
    int conditions;
    const struct expr *const *condition;
};

/* Whether a condition implies e >= 0. Positions of keys are >= 0. */
static bool is_implied(const struct positions *x, const struct expr *e, int conditions,
                       const struct expr *const *condition)
{
    struct module *m = x->m;
    int64_t more;
    for (int k = 0; k < conditions; k++) {
        const struct expr *c = condition[k];
        if ((c->op != EXPR_LE && c->op != EXPR_LT) || c->arg[0]->type == TYPE_REAL || c->arg[1]->type == TYPE_REAL)
            continue;
        struct form f = {
            .remainder = expr_int(m, 0)}; /* c is a <= b or a < b, so b - a >= 0. Then e >= 0 if e - (b - a) >= 0 */
        if (!form_add(m, &f, e, 1) || !form_add(m, &f, c->arg[1], -1) || !form_add(m, &f, c->arg[0], 1) || f.terms)
            continue;
        bool plain = true;
        for (int a = 0; a < m->axes; a++)
            plain &= a == x->key->integer && !x->swapped ? f.weight[a] >= 0 : f.weight[a] == 0;
        if (plain && known_difference(m, f.remainder, expr_int(m, 0), &more) && more + (c->op == EXPR_LT) >= 0)
            return true;
    }
    return false;
}

/* Positions of keys are never negative. Those of queries can be negative, if there are more queries than keys. */
static void tell_positions(const void *of, const struct expr *e, struct expr_range *range)
{
    const struct premises *const p = of;
    const struct positions *const x = p->x;
    if (e == x->query || e == x->key) range->low = e == (x->swapped ? x->query : x->key) ? 0 : -INFINITY;
    if (range->low < 0 && is_implied(x, e, p->conditions, p->condition)) range->low = 0;
}

/* Rewrites C's quotients and remainders in e with ones that round down, where possible. The value of e stays equal
   for all positions that satisfy the conditions. */
static const struct expr *rounded_down(const struct positions *x, const struct expr *e, int conditions,
                                       const struct expr *const *condition)
{
    struct module *const m = x->m;
    const struct expr_facts facts = {tell_positions, &(struct premises){x, conditions, condition}};
    const struct expr *arg[3] = {NULL, NULL, NULL};
    const bool divides = (e->op == EXPR_MOD || e->op == EXPR_DIV) && positive(e->arg[1]);
    if (e->type == TYPE_REAL || e->op == EXPR_DRAWN || e->name) return e;
    for (int k = 0; k < expr_arity(e->op); k++) arg[k] = rounded_down(x, e->arg[k], conditions, condition);
    if (divides) { /* if x <= 0, use -x instead */
        const bool minus = expr_sign(e->arg[0], &facts) < 0;
        const struct expr *const of = minus ? expr_neg(m, arg[0]) : arg[0];
        const struct expr *const made = e->op == EXPR_MOD ? expr_floormod(m, of, arg[1])
                                                          : floor_divide(m, of, arg[1]->integer);
        if (!minus) return made;
        if (expr_sign(expr_neg(m, e->arg[0]), &facts) >= 0) return expr_neg(m, made);
    }
    if (e->op == EXPR_EQ || e->op == EXPR_NE) /* whether x % n is 0 does not depend on the sign of x */
        for (int k = 0; k < 2; k++)
            if (arg[k]->op == EXPR_MOD && positive(arg[k]->arg[1]) && expr_is_real(arg[1 - k], 0))
                arg[k] = expr_floormod(m, arg[k]->arg[0], arg[k]->arg[1]);
    return expr_with_args(m, e, arg);
}

/* ---- residues ---- */

/* The periodic conditions e[0], …, e[count - 1], and memory to evaluate them for a pair. */
struct trial {
    int count;
    const struct expr **e;
    int query, key; /* the lane axis and the stream axis */
    int64_t period;
    struct environment env;
    int64_t index[MAX_AXES], lo[MAX_AXES], hi[MAX_AXES], size[MAX_AXES];
};

static bool selects(struct trial *t, int64_t query, int64_t key)
{
    t->lo[t->query] = query; /* in t->e, LO stands for the query's position */
    t->index[t->key] = key;
    for (int k = 0; k < t->count; k++)
        if (!expr_eval_int(t->e[k], &t->env)) return false;
    return true;
}

/* Returns the length of the shortest run of residues that contains all selected ones. It may wrap around. Sets
 *first to its start, *count to the number of selected residues. */
static int64_t run_of(const bool *selected, int64_t period, int64_t *first, int64_t *count)
{
    int64_t longest = -1, last = -1;
    *count = 0;
    for (int64_t r = 0; r < 2 * period; r++) {
        if (!selected[r % period]) continue;
        *count += r < period;
        if (last >= 0 && r - last - 1 > longest) longest = r - last - 1, *first = r % period;
        last = r;
    }
    return *count ? period - longest : 0;
}

/* Sets selected[r] if a query q at one of the positions 0, …, queries - 1 selects key r, or key q + r if `along`. */
static void try_residues(struct trial *t, int64_t queries, bool along, bool *selected)
{
    for (int64_t r = 0; r < t->period; r++) {
        selected[r] = false;
        for (int64_t q = 0; q < queries && !selected[r]; q++) selected[r] = selects(t, q, along ? q + r : r);
    }
}

/* Whether the selection moves with the query: query q selects key q + r exactly if query 0 selects key r. Tests the
   queries 1 to `queries`. Later queries repeat the selection of these queries. */
static bool moves_along(struct trial *t, int64_t queries, const bool *at_zero)
{
    for (int64_t q = 1; q <= queries; q++)
        for (int64_t r = 0; r < t->period; r++)
            if (selects(t, q, q + r) != at_zero[r]) return false;
    return true;
}

/* Returns the shortest period of the selection, a divisor of `period`. */
static int64_t shortest(const bool *selected, int64_t period)
{
    for (int64_t p = 1; p < period; p++) {
        bool repeats = period % p == 0;
        for (int64_t r = p; r < period && repeats; r++) repeats = selected[r] == selected[r - p];
        if (repeats) return p;
    }
    return period;
}

/* Of the residues, `count` are selected. All of these are within the `run` residues from `first` on. */
struct residues {
    int64_t period, first, run, count;
};

static struct residues residues_of(const bool *selected, int64_t period)
{
    struct residues made = {.period = shortest(selected, period)};
    made.run = run_of(selected, made.period, &made.first, &made.count);
    return made;
}

/* Whether a tile of MIN_QUERIES queries visits a larger share of the keys with `these` than with `others`. */
static bool is_denser(const struct residues *these, const struct residues *others)
{
    return these->run * others->period > (others->run + MIN_QUERIES - 1) * these->period;
}

/* Collects the periodic conditions in `periodic`, with quotients that round down. Returns their number. Sets
   - *which: the positions of these conditions in `condition`, as bits
   - *period: their common period
   - *joint: their common period if query and key move together */
static int periodic_conditions(const struct positions *x, int conditions, const struct expr *const *condition,
                               const struct expr **periodic, uint64_t *which, struct moving *period,
                               struct moving *joint)
{
    struct positions diagonal = *x;
    int count = 0;
    diagonal.joint = true;
    *period = *joint = (struct moving){{1, 1}, {0, 0}};
    *which = 0;
    for (int k = 0; k < conditions && k < 64; k++) {
        const struct expr *e = rounded_down(x, condition[k], conditions, condition);
        struct moving one, both;
        if (e->op == EXPR_INT || !moving(x, e, &one) || !stays(&one) || !align(period, &one)) continue;
        if (!moving(&diagonal, e, &both) || !align(joint, &both)) continue;
        periodic[count++] = e;
        *which |= UINT64_C(1) << k;
    }
    return count;
}

/* Returns the first residue that a query selects, as an expression of its position, or NULL. */
static const struct expr *first_residue(const struct positions *x, const struct trial *t)
{
    struct module *m = x->m;
    const struct expr *period = expr_int(m, t->period), *column = expr_floormod(m, x->key, period),
                      *row = expr_floormod(m, x->query, period), *all = expr_int(m, 1);
    for (int k = 0; k < t->count; k++) all = expr_and(m, all, t->e[k]);
    if (expr_has(expr_replace(m, all, column, period), EXPR_INDEX)) return NULL;
    struct ranges ranges;
    region_ranges(m, expr_replace(m, all, column, x->key), (int)x->key->integer, false, &ranges);
    if (ranges.count != 1 || !ranges.range[0].from) return NULL;
    return expr_replace(m, ranges.range[0].from, row, x->query);
}

/* Sets *out for tiles of queries with equal residues, such as 1, 5, 9 modulo 4. run = 0 means unknown. */
static void find_alike(const struct positions *x, struct trial *t, const struct expr *position, struct alike *out)
{
    struct module *m = x->m;
    const struct expr *first = t->period * t->period <= MAX_TRIED ? first_residue(x, t) : NULL;
    int64_t run = 0, min = t->period;
    *out = (struct alike){.run = 0};
    if (!first) return;
    for (int64_t q = 0; q < t->period; q++) {
        int64_t count = 0;
        t->lo[t->query] = q;
        const int64_t begin = expr_eval_int(first, &t->env);
        for (int64_t r = 0; r < t->period; r++) {
            if (!selects(t, q, r)) continue;
            const int64_t after = ((r - begin) % t->period + t->period) % t->period;
            if (after >= run) run = after + 1;
            count++;
        }
        if (count < min) min = count;
    }
    const struct expr *residue = expr_floormod(m, position, expr_int(m, t->period));
    *out = (struct alike){t->period, run, min == run, expr_replace(m, first, x->query, residue)};
}

/* Returns the position of query 0. */
static const struct expr *position_shift(struct module *m, int lane_axis, int stream_axis)
{
    const bool swapped = m->axis[stream_axis].source == SIZE_N_Q;
    return expr_query_start(m, swapped ? stream_axis : lane_axis, swapped ? lane_axis : stream_axis);
}

/* Returns the condition in terms of x->query and x->key. Returns 1 if the axes are swapped and the condition uses a
   query's index without its position. Callers ignore a condition 1. */
static const struct expr *of_positions(const struct positions *x, int lane_axis, const struct expr *shift,
                                       const struct expr *condition)
{
    struct module *m = x->m;
    const struct expr *lane = expr_index(m, lane_axis), *position = expr_add(m, x->swapped ? x->key : lane, shift);
    if (!x->swapped) return expr_replace(m, condition, position, x->query);
    const struct expr *free = expr_lo(m, (int)x->key->integer), *e = expr_replace(m, condition, position, free);
    if (expr_uses(e, x->key)) return expr_int(m, 1);
    return expr_replace(m, expr_replace(m, e, free, x->key), lane, x->query);
}

void conjunction_period(struct module *m, int lane_axis, int stream_axis, int conditions,
                        const struct expr *const *condition, struct period *out)
{
    const bool swapped = m->axis[stream_axis].source == SIZE_N_Q;
    /* LO of the lane axis stands for the position of a lane */
    const struct positions x = {
        .m = m, .query = expr_lo(m, lane_axis), .key = expr_index(m, stream_axis), .swapped = swapped};
    const struct expr *const shift = position_shift(m, lane_axis, stream_axis), *const in_phase = expr_of_sequence(
                                                                                    m, shift);
    const struct expr **of = arena_alloc(m->arena, (size_t)conditions * sizeof *of),
                      **periodic = arena_alloc(m->arena, (size_t)conditions * sizeof *periodic);
    struct moving period, joint;
    *out = (struct period){.periodic = 0};
    for (int k = 0; k < conditions; k++) of[k] = of_positions(&x, lane_axis, shift, condition[k]);
    struct trial t = {.e = periodic, .query = lane_axis, .key = stream_axis};
    t.count = periodic_conditions(&x, conditions, of, periodic, &out->periodic, &period, &joint);
    int64_t queries = period.period[QUERY];
    t.period = queries / gcd(queries, period.period[KEY]) * period.period[KEY];
    bool of_query = queries > 1;
    if (t.count == 0 || t.period > MAX_RESIDUES || (of_query && t.period * joint.period[QUERY] > MAX_TRIED)) {
        out->periodic = 0;
        return;
    }
    t.env = (struct environment){.index = t.index, .size = t.size, .lo = t.lo, .hi = t.hi};
    bool *selected = arena_alloc(m->arena, (size_t)t.period * sizeof *selected);
    try_residues(&t, 1, false, selected);
    const bool moves = of_query && moves_along(&t, joint.period[QUERY], selected);
    struct residues at = residues_of(selected, t.period);
    if (of_query && !moves) {
        const bool all = t.period * queries <= MAX_TRIED;
        if (all) try_residues(&t, queries, false, selected);
        at = residues_of(selected, t.period);
        try_residues(&t, joint.period[QUERY], true, selected);
        const struct residues along = residues_of(selected, t.period);
        out->with_query = !all || is_denser(&at, &along);
        if (out->with_query) at = along;
    } else
        out->with_query = moves;
    out->period = at.period;
    out->run = at.run;
    out->exact = at.count == at.run && (moves || !of_query);
    /* The phase must use indices. The position of a query is its index + `in_phase`. If the stream is queries,
       `in_phase` is subtracted below. */
    const struct expr *lane = swapped ? x.query : expr_add(m, x.query, in_phase), *first = expr_int(m, at.first);
    out->phase = out->with_query ? expr_add(m, lane, first) : first;
    if (of_query && !moves) find_alike(&x, &t, lane, &out->alike);
    if (out->alike.run * at.period >= at.run * out->alike.period) out->alike.run = 0;
    if (!swapped) return;
    out->phase = expr_sub(m, out->phase, in_phase);
    if (out->alike.run > 0) out->alike.phase = expr_sub(m, out->alike.phase, in_phase);
}
