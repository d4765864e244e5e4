/* Tells which keys a program reads: a constant number at the start, and a constant number before the query. If a
   program reads no other keys, a state can drop the others. The method is interval arithmetic. P is the position of
   a tile's first query. Each number has two intervals: the interval of the number, and the interval of the number
   minus P. So the result holds for all positions. */
#include "affine.h"
#include "reach.h"
#include "roles.h"
#include "../schedule/schedule.h"

#include <stdlib.h>

enum { MAX_TIMES = 1 << 20, FARTHEST = 1 << 20, FALSE = 0, TRUE = 1, UNKNOWN = 2 };
#define NONE (INT64_C(1) << 40) /* infinity: larger than any number that occurs */

struct span {
    int64_t low, high;
};

/* The interval of a number, and the interval of the number minus P. */
struct bounds {
    struct span plain, past;
};

/* An integer as a sum: the factors times the numbers below, plus other terms.
   - position: the factor of P
   - first: the factor of the index of the tile's first query
   - tile: the factor of the number of queries in the tile
   - remaining: the factor of the number of queries from the tile's first query on. n_q = index of the first query +
     remaining, n_k = P + remaining */
struct sum {
    int64_t position, first, tile, remaining; /* factors */
    struct span plain;                        /* the interval of the other terms */
    struct span past;                         /* the interval of the other terms minus `more` * P */
    int64_t more;
};

struct finder {
    struct module *m;
    int lane, stream;
    bool few;      /* the tile holds all queries */
    int64_t after; /* the bounds hold if P >= after. P: the position of the tile's first query */
    int64_t first, back;
};

static const struct span anything = {-NONE, NONE}, positive = {0, NONE};

static int64_t clamp(int64_t n)
{
    return n > NONE ? NONE : n < -NONE ? -NONE : n;
}

static struct span add(struct span a, struct span b)
{
    return (struct span){a.low == -NONE || b.low == -NONE ? -NONE : clamp(a.low + b.low),
                         a.high == NONE || b.high == NONE ? NONE : clamp(a.high + b.high)};
}

static struct span scale(struct span a, int64_t times)
{
    if (times == 0) return (struct span){0, 0};
    const int64_t low = times > 0 ? a.low : a.high, high = times > 0 ? a.high : a.low;
    return (struct span){llabs(low) == NONE ? -NONE : clamp(low * times),
                         llabs(high) == NONE ? NONE : clamp(high * times)};
}

static struct span intersection(struct span a, struct span b)
{
    return (struct span){a.low > b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
}

static struct span around(struct span a, struct span b)
{
    return (struct span){a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}

/* ---- numbers ---- */

static struct bounds bounds_of(const struct finder *x, const struct expr *e);

static void add_number(struct sum *s, struct bounds n, int64_t times)
{
    const bool between = n.plain.low > -NONE && n.plain.high < NONE,
               follows = !between && (n.past.low > -NONE || n.past.high < NONE);
    s->plain = add(s->plain, scale(n.plain, times));
    s->past = add(s->past, scale(follows ? n.past : n.plain, times));
    if (follows) s->more += times;
}

static void add_size(const struct finder *x, const struct expr *e, int64_t times, struct sum *s)
{
    const bool keys = e->integer == x->stream && e->op == EXPR_SIZE;
    if (!keys && e->integer != x->lane) {
        add_number(s, (struct bounds){positive, anything}, times);
        return;
    }
    if (keys)
        s->position += times;
    else if (!x->few)
        s->first += times;
    if (e->op == EXPR_HI || (e->op == EXPR_SIZE && x->few))
        s->tile += times;
    else if (e->op == EXPR_SIZE)
        s->remaining += times;
}

static bool is_multiple(const struct expr *e)
{
    return e->op == EXPR_MUL && e->arg[1]->op == EXPR_INT && llabs(e->arg[1]->integer) <= MAX_TIMES;
}

static void add_terms(const struct finder *x, const struct expr *e, int64_t times, struct sum *s)
{
    const struct expr *whole;
    int64_t by;
    if (llabs(times) > MAX_TIMES) {
        add_number(s, (struct bounds){anything, anything}, 1);
        return;
    }
    switch ((int)e->op) {
    case EXPR_INT: {
        const int64_t n = clamp(e->integer);
        add_number(s, (struct bounds){{n, n}, anything}, times);
        break;
    }
    case EXPR_LO:
    case EXPR_HI:
    case EXPR_SIZE: add_size(x, e, times, s); break;
    case EXPR_START: add_terms(x, e->arg[1], times, s); break; /* a state has no other positions */
    case EXPR_NEG: add_terms(x, e->arg[0], -times, s); break;
    case EXPR_ADD:
    case EXPR_SUB:
        add_terms(x, e->arg[0], times, s);
        add_terms(x, e->arg[1], e->op == EXPR_ADD ? times : -times, s);
        break;
    default:
        if (!is_multiple(e)) {
            add_number(s, bounds_of(x, e), times);
            break;
        }
        times *= e->arg[1]->integer;
        if (floor_quotient(x->m, e->arg[0], &whole, &by) &&
            times % by == 0) { /* by * (whole / by) = whole - remainder */
            add_terms(x, whole, times / by, s);
            add_number(s, (struct bounds){{0, by - 1}, anything}, -(times / by));
        } else
            add_terms(x, e->arg[0], times, s);
    }
}

/* Narrows *out to the bounds of a sum: position * P, the terms of s, and a number in `span`. */
static void close(const struct finder *x, const struct sum *s, struct span span, int64_t position, struct bounds *out)
{
    span = add(span, scale((struct span){1, NONE}, s->tile));
    span = add(span, scale((struct span){1, NONE}, s->remaining));
    span = add(span, scale(positive, s->first));
    if (position == 1) out->past = intersection(out->past, span);
    if (llabs(position) <= MAX_TIMES)
        out->plain = intersection(out->plain, add(span, scale((struct span){x->after, position ? NONE : 0}, position)));
}

static struct bounds bounds_of_sum(const struct finder *x, const struct sum *s)
{
    struct bounds made = {anything, anything};
    close(x, s, s->plain, s->position, &made);
    close(x, s, s->past, s->position + s->more, &made);
    if (made.plain.high < NONE)
        made.past.high = intersection(made.past, (struct span){0, made.plain.high - x->after}).high;
    return made;
}

/* Returns the bounds of a - b. */
static struct bounds difference(const struct finder *x, const struct expr *a, const struct expr *b)
{
    struct sum s = {0};
    add_terms(x, a, 1, &s);
    add_terms(x, b, -1, &s);
    return bounds_of_sum(x, &s);
}

static int truth(const struct finder *x, const struct expr *e)
{
    const struct expr *a = e->arg[0], *b = e->arg[1];
    int p, q;
    switch ((int)e->op) {
    case EXPR_INT: return e->integer != 0;
    case EXPR_NOT: p = truth(x, a); return p == UNKNOWN ? UNKNOWN : !p;
    case EXPR_AND:
    case EXPR_OR:
        p = truth(x, a), q = truth(x, b);
        if (e->op == EXPR_AND) return p == FALSE || q == FALSE ? FALSE : p == TRUE && q == TRUE ? TRUE : UNKNOWN;
        return p == TRUE || q == TRUE ? TRUE : p == FALSE && q == FALSE ? FALSE : UNKNOWN;
    case EXPR_LE:
    case EXPR_LT:
    case EXPR_EQ:
    case EXPR_NE: break;
    default: return UNKNOWN;
    }
    if (a->type == TYPE_REAL || b->type == TYPE_REAL) return UNKNOWN;
    const struct span by = difference(x, b, a).plain;
    if (e->op == EXPR_LE) return by.low >= 0 ? TRUE : by.high < 0 ? FALSE : UNKNOWN;
    if (e->op == EXPR_LT) return by.low > 0 ? TRUE : by.high <= 0 ? FALSE : UNKNOWN;
    p = by.low > 0 || by.high < 0 ? FALSE : by.low == 0 && by.high == 0 ? TRUE : UNKNOWN;
    return p == UNKNOWN || e->op == EXPR_EQ ? p : !p;
}

/* Returns the bounds of a quotient or remainder. They are finite only for a constant divisor above 0. */
static struct bounds of_quotient(const struct finder *x, const struct expr *e)
{
    const int64_t by = e->arg[1]->op == EXPR_INT ? e->arg[1]->integer : 0;
    const struct span of = bounds_of(x, e->arg[0]).plain;
    struct span made = anything;
    if (by <= 0) return (struct bounds){anything, anything};
    if (e->op == EXPR_FLOORMOD) made = (struct span){0, by - 1};
    if (e->op == EXPR_MOD) made = (struct span){of.low >= 0 ? 0 : 1 - by, by - 1};
    if (e->op == EXPR_DIV)
        made = (struct span){of.low == -NONE ? -NONE : of.low / by, of.high == NONE ? NONE : of.high / by};
    return (struct bounds){made, anything};
}

static struct bounds bounds_of(const struct finder *x, const struct expr *e)
{
    struct bounds a, b;
    if (e->type == TYPE_BOOL) return (struct bounds){{0, 1}, anything};
    switch ((int)e->op) {
    case EXPR_MIN:
    case EXPR_MAX:
        a = bounds_of(x, e->arg[0]), b = bounds_of(x, e->arg[1]);
        if (e->op == EXPR_MIN)
            return (struct bounds){{around(a.plain, b.plain).low, intersection(a.plain, b.plain).high},
                                   {around(a.past, b.past).low, intersection(a.past, b.past).high}};
        return (struct bounds){{intersection(a.plain, b.plain).low, around(a.plain, b.plain).high},
                               {intersection(a.past, b.past).low, around(a.past, b.past).high}};
    case EXPR_SELECT: {
        const int chosen = truth(x, e->arg[0]);
        if (chosen != UNKNOWN) return bounds_of(x, e->arg[chosen == TRUE ? 1 : 2]);
        a = bounds_of(x, e->arg[1]), b = bounds_of(x, e->arg[2]);
        return (struct bounds){around(a.plain, b.plain), around(a.past, b.past)};
    }
    case EXPR_DIV:
    case EXPR_MOD:
    case EXPR_FLOORMOD: return of_quotient(x, e);
    case EXPR_INT:
    case EXPR_LO:
    case EXPR_HI:
    case EXPR_SIZE:
    case EXPR_START:
    case EXPR_NEG:
    case EXPR_ADD:
    case EXPR_SUB: break;
    case EXPR_INDEX: return (struct bounds){positive, anything};
    default:
        if (!is_multiple(e)) return (struct bounds){anything, anything};
    }
    struct sum s = {0};
    add_terms(x, e, 1, &s);
    return bounds_of_sum(x, &s);
}

/* ---- loops ---- */

/* Extends `back` to include the keys from <= j < to, if `from` is bounded relative to P. Otherwise extends `first`.
   Returns false if `to` has no constant bound. */
static bool take_range(struct finder *x, const struct expr *from, const struct expr *to)
{
    const struct bounds end = to ? bounds_of(x, to) : (struct bounds){anything, anything};
    if (end.plain.high <= 0 || (to && from && difference(x, to, from).plain.high <= 0))
        return true; /* the range is empty */
    const struct bounds begin = from ? bounds_of(x, from) : (struct bounds){{0, 0}, anything};
    if (begin.past.low > -NONE) {
        if (-begin.past.low > x->back) x->back = -begin.past.low;
        return true;
    }
    if (end.plain.high > x->first) x->first = end.plain.high;
    return end.plain.high < FARTHEST;
}

static bool take_loops(struct finder *x, const struct stmt *s)
{
    for (; s; s = s->next) {
        if (s->op != LOOPS_FOR || s->axis != x->stream) {
            if (!take_loops(x, s->body)) return false;
            continue;
        }
        for (int k = 0; k < s->ranges; k++)
            if (s->range[k].drawn || !take_range(x, s->range[k].from, s->range[k].to)) return false;
        if (!s->ranges && !take_range(x, s->from, s->to)) return false;
    }
    return true;
}

static bool finds(struct finder *x, const struct compilation *c, int64_t after)
{
    x->after = after;
    x->first = x->back = 0;
    return take_loops(x, c->loops->body) && x->back < FARTHEST;
}

bool keys_read_on(const struct compilation *c, int64_t *first, int64_t *back)
{
    struct roles roles;
    struct module *const m = c->loops->module;
    if (roles_of(c->graph, 0, &roles)) return false;
    struct finder x = {.m = m, .lane = roles.lane, .stream = roles.stream, .few = c->program.few};
    for (int a = 0; c->program.few && a < m->axes; a++)
        if (m->axis[a].source == SIZE_N_Q) x.lane = a;
    /* With by_heads, the axis of members holds the queries of a head. */
    if (c->program.by_heads) x.lane = axes_first(axes_with_size(m, SIZE_MEMBERS));
    int64_t fails = -1, after = 0; /* the lowest P for which bounds are known. Lower positions extend `back` later */
    while (!finds(&x, c, after)) {
        if (after > FARTHEST) return false;
        fails = after;
        after = 2 * after + 1;
    }
    while (after - fails > 1) {
        const int64_t middle = fails + (after - fails) / 2;
        if (finds(&x, c, middle))
            after = middle;
        else
            fails = middle;
    }
    finds(&x, c, after);
    *first = x.first;
    *back = after - 1 - x.first > x.back ? after - 1 - x.first : x.back;
    return true;
}
