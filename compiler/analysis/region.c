/* Solves a region for one axis, given the current ranges of the others. Each comparison is solved for the axis's
   index, which gives a union of ranges.
   - without `every`: The union contains each index that is in the region for at least one choice of the other
     indices. A comparison that cannot be solved gives all indices.
   - with `every`: Each index of the union is in the region for every choice of the other indices. A comparison that
     cannot be solved gives none. */
#include "affine.h"
#include "region.h"

#include <string.h>

/* DEEPEST_SPLIT: the maximum depth of nested cases (solve_comparison). MAX_OPERATIONS: the maximum number of
   operations in a bound or condition of merged pieces. */
enum { DEEPEST_SPLIT = 6, MAX_OPERATIONS = 100 };

/* A piece of a union: the indices with from <= index < to. NULL means:
   - from, to: no such bound
   - when: the piece always exists. Otherwise it exists only if the condition `when` holds.
   - drawn: the piece has all these indices. Otherwise it has only blocks that the EXPR_DRAWN `drawn` draws. */
struct piece {
    const struct expr *from, *to, *when, *drawn;
};
struct set {
    int pieces;
    struct piece piece[MAX_RANGES];
};
struct solver {
    struct module *m;
    int axis;
    bool every; /* see the top of this file */
    int splits; /* the depth of nested case distinctions */
};

static const struct expr *combine(struct module *m, enum expr_op op, const struct expr *a, const struct expr *b)
{
    return !a || !b ? (a ? a : b) : expr_make(m, op, a, b, NULL);
}

static struct set nothing(void)
{
    return (struct set){.pieces = 0};
}

static struct set everything(void)
{
    return (struct set){.pieces = 1};
}

static struct set unknown(const struct solver *s)
{
    return s->every ? nothing() : everything();
}

/* ---- sets ---- */

static bool whole(const struct piece *p)
{
    return !p->from && !p->to && !p->when && !p->drawn;
}

/* Sets *gap to the distance between two pieces, negative if they overlap. Returns false unless both are constant
   ranges. */
static bool constant_gap(const struct piece *p, const struct piece *q, int64_t *gap)
{
    const struct expr *bound[4] = {p->from, p->to, q->from, q->to};
    for (int k = 0; k < 4; k++)
        if (!bound[k] || bound[k]->op != EXPR_INT) return false;
    if (p->when || q->when || p->drawn || q->drawn) return false;
    int64_t between = q->from->integer - p->to->integer, before = p->from->integer - q->to->integer;
    *gap = between > before ? between : before;
    return true;
}

/* Returns the outer bound of a and b: the smaller for EXPR_MIN, the larger for EXPR_MAX. For EXPR_OR, returns a ||
   b. Returns NULL if one is NULL or too long. */
static const struct expr *outer(const struct solver *s, enum expr_op op, const struct expr *a, const struct expr *b)
{
    int64_t more;
    if (!a || !b || a->size > MAX_OPERATIONS || b->size > MAX_OPERATIONS) return NULL;
    if ((op == EXPR_MIN || op == EXPR_MAX) && known_difference(s->m, a, b, &more))
        return (more < 0) == (op == EXPR_MIN) ? a : b;
    return combine(s->m, op, a, b);
}

/* Returns a piece that contains p and q. Omits a bound that would be too long. */
static struct piece around(const struct solver *s, const struct piece *p, const struct piece *q)
{
    return (struct piece){.from = outer(s, EXPR_MIN, p->from, q->from),
                          .to = outer(s, EXPR_MAX, p->to, q->to),
                          .when = p->when == q->when ? p->when : outer(s, EXPR_OR, p->when, q->when)};
}

/* Merges q into p if exactly one of them has a condition, and both have an equal start or an equal end. The other
   bound becomes a SELECT by that condition. */
static bool absorbs_conditional(const struct solver *s, struct piece *p, const struct piece *q)
{
    struct module *m = s->m;
    if (!p->when == !q->when || p->drawn || q->drawn || (p->from != q->from && p->to != q->to)) return false;
    const struct piece *always = p->when ? q : p, *sometimes = p->when ? p : q;
    const struct expr *zero = expr_int(m, 0), *size = expr_size(m, s->axis), *end, *both;
    struct piece made = *always;
    if (p->to == q->to) {
        end = always->from ? always->from : zero;
        both = sometimes->from ? outer(s, EXPR_MIN, end, sometimes->from) : zero;
    } else {
        end = always->to ? always->to : size;
        both = sometimes->to ? outer(s, EXPR_MAX, end, sometimes->to) : size;
    }
    if (!both || sometimes->when->size > MAX_OPERATIONS) return false;
    *(p->to == q->to ? &made.from : &made.to) = expr_select(m, sometimes->when, both, end);
    *p = made;
    return true;
}

/* Replaces p by the union of p and q if that is one piece. Returns false otherwise. */
static bool absorbs(const struct solver *s, struct piece *p, const struct piece *q)
{
    int64_t gap;
    if (whole(p)) return true;
    if (p->from == q->from && p->to == q->to && p->drawn == q->drawn) {
        const struct expr *when = p->when == q->when ? p->when : outer(s, EXPR_OR, p->when, q->when);
        if (s->every && p->when && q->when && !when) return false;
        p->when = when;
        return true;
    }
    if (absorbs_conditional(s, p, q)) return true;
    if (p->drawn || q->drawn || p->when != q->when) return false;
    bool nested = p->from == q->from || p->to == q->to;
    if (!nested && p->from && q->to && known_difference(s->m, p->from, q->to, &gap) && gap == 0) nested = true;
    if (!nested && q->from && p->to && known_difference(s->m, q->from, p->to, &gap) && gap == 0) nested = true;
    if (!nested && !(constant_gap(p, q, &gap) && gap <= 0)) return false;
    const struct piece both = around(s, p, q);
    if (s->every && ((p->from && q->from && !both.from) || (p->to && q->to && !both.to))) return false;
    *p = both;
    return true;
}

static void drop_piece(struct set *set, int k)
{
    memmove(&set->piece[k], &set->piece[k + 1], (size_t)(--set->pieces - k) * sizeof *set->piece);
}

/* Merges two pieces to make room: the constant ranges with the smallest gap, or the last two pieces. */
static void make_room(const struct solver *s, struct set *set)
{
    int a = set->pieces - 2, b = set->pieces - 1;
    int64_t min = INT64_MAX, gap;
    for (int p = 0; p < set->pieces; p++)
        for (int q = p + 1; q < set->pieces; q++)
            if (constant_gap(&set->piece[p], &set->piece[q], &gap) && gap < min) min = gap, a = p, b = q;
    set->piece[a] = around(s, &set->piece[a], &set->piece[b]);
    drop_piece(set, b);
}

static void add_piece(const struct solver *s, struct set *set, struct piece p)
{
    int64_t length;
    if (p.from && p.to && known_difference(s->m, p.to, p.from, &length) && length <= 0) return;
    if (p.when && p.when->op == EXPR_INT) {
        if (!p.when->integer) return;
        p.when = NULL;
    }
    if (whole(&p)) set->pieces = 0;
    for (int k = 0; k < set->pieces; k++)
        if (absorbs(s, &set->piece[k], &p)) { /* the larger piece may absorb more: start again */
            p = set->piece[k];
            drop_piece(set, k);
            k = -1;
        }
    if (set->pieces == MAX_RANGES && s->every) return;
    if (set->pieces == MAX_RANGES) make_room(s, set);
    set->piece[set->pieces++] = p;
}

static struct set unite(const struct solver *s, const struct set *a, const struct set *b)
{
    struct set made = *a;
    for (int k = 0; k < b->pieces; k++) add_piece(s, &made, b->piece[k]);
    return made;
}

static struct set intersect(const struct solver *s, const struct set *a, const struct set *b)
{
    struct set made = nothing();
    for (int k = 0; k < a->pieces; k++)
        for (int n = 0; n < b->pieces; n++) {
            const struct piece *p = &a->piece[k], *q = &b->piece[n];
            if (s->every && p->drawn && q->drawn && p->drawn != q->drawn) continue;
            add_piece(s, &made,
                      (struct piece){combine(s->m, EXPR_MAX, p->from, q->from), combine(s->m, EXPR_MIN, p->to, q->to),
                                     combine(s->m, EXPR_AND, p->when, q->when), p->drawn ? p->drawn : q->drawn});
        }
    return made;
}

/* ---- one comparison ---- */

static bool has_axis(const struct solver *s, const struct expr *e)
{
    return expr_axes(e) >> s->axis & 1;
}

static struct set under(const struct expr *condition)
{
    return (struct set){.pieces = condition->op != EXPR_INT || condition->integer,
                        .piece = {{.when = condition->op == EXPR_INT ? NULL : condition}}};
}

/* Whether e is an integer division by a positive constant. */
static bool is_quotient(const struct expr *e)
{
    return e->op == EXPR_DIV && e->type == TYPE_INT && e->arg[1]->op == EXPR_INT && e->arg[1]->integer > 0;
}

/* Replaces remainders with the axis by constant bounds. Returns false if another term with the axis is no quotient. */
static bool bound_terms(const struct solver *s, struct form *f)
{
    for (int k = f->terms - 1; k >= 0; k--) {
        const struct expr *e = f->term[k].e, *x;
        int64_t times = f->term[k].times, by;
        if (!has_axis(s, e) || floor_quotient(s->m, e, &x, &by) || is_quotient(e)) continue;
        if (e->op != EXPR_FLOORMOD && e->op != EXPR_MOD) return false;
        const struct expr *end = expr_extreme(s->m, e, (times > 0) != s->every);
        if (!end || end->op != EXPR_INT) return false;
        f->term[k] = f->term[--f->terms];
        f->remainder = expr_add(s->m, f->remainder, expr_mul(s->m, end, expr_int(s->m, times)));
    }
    return true;
}

static struct set not_below_0(const struct solver *s, struct form f);

/* Solves x / by >= bound if `at_least`, otherwise x / by <= bound. C rounds towards 0, so x / by >= bound means
   - x >= bound * by, if bound > 0
   - x >= bound * by - (by - 1), if bound <= 0
   For <=, all signs change. */
static struct set past_quotient(const struct solver *s, const struct expr *quotient, const struct expr *bound,
                                bool at_least)
{
    struct module *m = s->m;
    const int64_t by = quotient->arg[1]->integer;
    const struct expr *zero = expr_int(m, 0), *remainder = expr_int(m, by - 1),
                      *other = at_least ? expr_le(m, bound, zero) : expr_le(m, zero, bound),
                      *end = expr_mul(m, bound, expr_int(m, by)), *more = expr_select(m, other, remainder, zero);
    struct form f = {.remainder = zero};
    const bool fits = form_add(m, &f, quotient->arg[0], at_least ? 1 : -1) && form_add(m, &f, end, at_least ? -1 : 1) &&
                      form_add(m, &f, more, 1);
    return fits ? not_below_0(s, f) : unknown(s);
}

/* Solves weight * index + others >= 0 for the index. */
static struct set past_index(const struct solver *s, struct form f)
{
    struct module *m = s->m;
    const int64_t weight = f.weight[s->axis];
    f.weight[s->axis] = 0;
    const struct expr *bound = form_extreme(m, &f, weight > 0 ? -1 : 1, (weight > 0) == s->every);
    if (!bound) return unknown(s);
    struct set made = {.pieces = 1};
    if (weight > 1) bound = expr_add(m, bound, expr_int(m, weight - 1));
    if (weight > 1 || weight < -1) bound = floor_divide(m, bound, weight > 0 ? weight : -weight);
    if (weight > 0)
        made.piece[0].from = bound;
    else
        made.piece[0].to = expr_add(m, bound, expr_int(m, 1));
    return made;
}

/* Solves times * (x / by) + others >= 0 by a condition on x. `over`: the number of the term x / by. The solution is
   exact if the quotient rounds down and `times` is 1 or -1. */
static struct set past_term(const struct solver *s, struct form f, int over)
{
    struct module *m = s->m;
    const struct expr *quotient = f.term[over].e, *x;
    int64_t times = f.term[over].times, by;
    const bool down = floor_quotient(m, quotient, &x, &by);
    f.term[over] = f.term[--f.terms];
    if (times > 1 || times < -1 || !down) {
        const struct expr *bound = form_extreme(m, &f, times > 0 ? -1 : 1, (times > 0) == s->every);
        if (!bound) return unknown(s);
        if (times > 0) bound = expr_add(m, bound, expr_int(m, times - 1));
        bound = floor_divide(m, bound, times > 0 ? times : -times);
        if (!down) return past_quotient(s, quotient, bound, times > 0);
        f = (struct form){.remainder = times > 0 ? expr_neg(m, bound) : bound};
    }
    if (!form_scale(m, &f, by)) return unknown(s);
    if (times < 0) f.remainder = expr_add(m, f.remainder, expr_int(m, by - 1));
    return form_add(m, &f, x, times > 0 ? 1 : -1) ? not_below_0(s, f) : unknown(s);
}

/* Returns the indices with f >= 0. */
static struct set not_below_0(const struct solver *s, struct form f)
{
    struct module *m = s->m;
    if (!bound_terms(s, &f)) return unknown(s);
    int over = -1, parts = f.weight[s->axis] != 0;
    for (int k = 0; k < f.terms; k++)
        if (has_axis(s, f.term[k].e)) over = k, parts++;
    if (parts > 1) return unknown(s);
    if (parts == 1) return over < 0 ? past_index(s, f) : past_term(s, f, over);
    const struct expr *max = form_extreme(m, &f, 1, !s->every);
    return max ? under(expr_le(m, expr_int(m, 0), max)) : unknown(s);
}

/* Returns the indices with less <= more, or with less < more if `strict`. */
static struct set compare(const struct solver *s, const struct expr *less, const struct expr *more, bool strict)
{
    struct module *m = s->m;
    /* Neither side has the solved axis. */
    if (!has_axis(s, less) && !has_axis(s, more) && !(expr_axes(less) && expr_axes(more))) {
        const struct expr *low = expr_extreme(m, less, s->every), *high = expr_extreme(m, more, !s->every);
        return low && high ? under(expr_make(m, strict ? EXPR_LT : EXPR_LE, low, high, NULL)) : unknown(s);
    }
    struct form f = {.remainder = expr_int(m, strict ? -1 : 0)};
    return form_add(m, &f, more, 1) && form_add(m, &f, less, -1) ? not_below_0(s, f) : unknown(s);
}

/* ---- regions ---- */

static struct set solve(struct solver *s, const struct expr *e, bool negated);

/* A choice between two values, such as a SELECT, MIN or ABS: its value is `one` if `condition` holds, otherwise
   `other`. */
struct choice {
    const struct solver *s;
    const struct expr *condition, *one, *other;
};

static enum answer is_choice(void *of, const struct expr *e)
{
    struct choice *const x = of;
    struct module *m = x->s->m;
    const struct expr *a = e->arg[0], *b = e->arg[1], *zero = expr_int(m, 0);
    if (e->type == TYPE_REAL) return ANSWER_NO;
    if ((e->op == EXPR_MIN || e->op == EXPR_MAX) && !has_axis(x->s, e) && expr_extreme(m, e, false) &&
        expr_extreme(m, e, true))
        return ANSWER_NO; /* no choice is needed, because bounds of e are known */
    if (e->op == EXPR_SELECT)
        *x = (struct choice){x->s, a, b, e->arg[2]};
    else if (e->op == EXPR_MIN || e->op == EXPR_MAX)
        *x = (struct choice){x->s, expr_le(m, a, b), e->op == EXPR_MIN ? a : b, e->op == EXPR_MIN ? b : a};
    else if (e->op == EXPR_DIV && a->op == EXPR_MAX && a->arg[1] == zero && b->op == EXPR_INT && b->integer > 0)
        *x = (struct choice){x->s, expr_le(m, zero, a->arg[0]), floor_divide(m, a->arg[0], b->integer), zero};
    else if (e->op == EXPR_ABS)
        *x = (struct choice){x->s, expr_le(m, zero, a), a, expr_neg(m, a)};
    else if (e->type == TYPE_BOOL)
        *x = (struct choice){x->s, e, expr_int(m, 1), zero};
    else
        return ANSWER_ARGUMENTS;
    return expr_axes(e) ? ANSWER_YES : ANSWER_ARGUMENTS;
}

/* Compares bounds of both sides over the current ranges, such as the smallest id of some positions. The result is
   all indices or none, because bounds do not tell indices apart. */
static struct set compare_ends(const struct solver *s, const struct expr *less, const struct expr *more, bool strict)
{
    const struct expr *low = expr_extreme(s->m, less, s->every), *high = expr_extreme(s->m, more, !s->every);
    if (!low || !high || (s->axis >= 0 && !s->every && (has_axis(s, less) || has_axis(s, more)))) return unknown(s);
    return under(expr_make(s->m, strict ? EXPR_LT : EXPR_LE, low, high, NULL));
}

static bool divides_by_zero(const struct expr *e)
{
    bool divides = false;
    for (struct exprs w = {.of = e}; exprs_next(&w);)
        divides |= (w.e->op == EXPR_DIV || w.e->op == EXPR_MOD || w.e->op == EXPR_FLOORMOD) &&
                   w.e->arg[1]->op == EXPR_INT && !w.e->arg[1]->integer;
    return divides;
}

static struct set solve_comparison(struct solver *s, const struct expr *e, bool negated)
{
    struct module *m = s->m;
    const struct expr *a = e->arg[0], *b = e->arg[1], *choice = NULL;
    struct choice found = {.s = s};
    if (a->type == TYPE_REAL || b->type == TYPE_REAL) return unknown(s);
    /* The replacement of a choice can make a divisor 0. A SELECT excludes this case. */
    if (divides_by_zero(e)) return nothing();
    bool ends = s->axis < 0 || expr_ids_along(e, AXIS(s->axis));
    for (int k = 0; k < 2 && !choice && !ends; k++) choice = expr_find(e->arg[k], is_choice, &found);
    if (choice) {
        if (s->splits == DEEPEST_SPLIT) return unknown(s);
        s->splits++;
        struct set first = solve(s, expr_replace(m, e, choice, found.one), negated),
                   second = solve(s, expr_replace(m, e, choice, found.other), negated);
        struct set holds = solve(s, found.condition, false), fails = solve(s, found.condition, true);
        first = intersect(s, &holds, &first);
        second = intersect(s, &fails, &second);
        s->splits--;
        return unite(s, &first, &second);
    }
    struct set (*by)(const struct solver *, const struct expr *, const struct expr *, bool) = ends ? compare_ends
                                                                                                   : compare;
    if (e->op == EXPR_LE) return negated ? by(s, b, a, true) : by(s, a, b, false);
    if (e->op == EXPR_LT) return negated ? by(s, b, a, false) : by(s, a, b, true);
    bool equal = (e->op == EXPR_EQ) != negated;
    struct set x = by(s, a, b, !equal), y = by(s, b, a, !equal);
    return equal ? intersect(s, &x, &y) : unite(s, &x, &y);
}

/* Returns the condition that a list contains a number, for some list and some number of the current ranges. */
static struct set listed_in_ranges(const struct solver *s, const struct expr *e)
{
    struct module *const m = s->m;
    const struct expr *const one = expr_int(m, 1), *const row = expr_add(m, e->arg[2], e->arg[0]), *end[2][2];
    for (int k = 0; k < 2; k++)
        for (int largest = 0; largest < 2; largest++) {
            const struct expr *const extreme = expr_extreme(m, k ? e->arg[1] : row, largest);
            if (!extreme) return unknown(s);
            end[k][largest] = largest ? expr_add(m, extreme, one) : extreme;
        }
    return under(expr_id(m, e->draw->sorted ? EXPR_ANY_SORTED : EXPR_ANY_ID, e->draw->name,
                         expr_make(m, EXPR_RANGE, end[0][0], end[0][1], NULL), end[1][0], end[1][1]));
}

static struct set solve(struct solver *s, const struct expr *e, bool negated)
{
    const struct expr *a = e->arg[0], *b = e->arg[1];
    switch ((int)e->op) {
    case EXPR_INT: return (e->integer != 0) != negated ? everything() : nothing();
    case EXPR_NOT: return solve(s, a, !negated);
    case EXPR_LE:
    case EXPR_LT:
    case EXPR_EQ:
    case EXPR_NE: return solve_comparison(s, e, negated);
    case EXPR_AND:
    case EXPR_OR: {
        struct set x = solve(s, a, negated), y = solve(s, b, negated);
        return (e->op == EXPR_AND) != negated ? intersect(s, &x, &y) : unite(s, &x, &y);
    }
    case EXPR_DRAWN: {
        const struct expr *x;
        int64_t by;
        if (s->axis < 0) return negated || s->every || !e->draw->name ? unknown(s) : listed_in_ranges(s, e);
        uint32_t own = AXIS(s->axis);
        bool numbers_blocks = b == expr_index(s->m, s->axis) ||
                              (floor_quotient(s->m, b, &x, &by) && x == expr_index(s->m, s->axis));
        if (negated || e->draw->sorted || !numbers_blocks || (expr_axes(a) | expr_axes(e->arg[2])) & own)
            return unknown(s);
        return (struct set){.pieces = 1, .piece = {{.drawn = e}}};
    }
    default: break;
    }
    return e->type == TYPE_INT ? solve(s, expr_make(s->m, EXPR_NE, e, expr_int(s->m, 0), NULL), negated) : unknown(s);
}

void region_ranges(struct module *m, const struct expr *region, int axis, bool every, struct ranges *out)
{
    struct solver s = {.m = m, .axis = axis, .every = every};
    struct set set = solve(&s, region, false);
    *out = (struct ranges){.count = set.pieces};
    const struct expr *zero = expr_int(m, 0), *size = expr_size(m, axis);
    for (int k = 0; k < set.pieces; k++) {
        const struct piece *p = &set.piece[k];
        const struct expr *to = p->when ? expr_select(m, p->when, p->to ? p->to : size, zero) : p->to;
        out->range[k] = (struct range){p->from, to, p->drawn};
    }
}

/* Returns the conditions of the region whose ids or lists of blocks vary along the solver's axis. region_ranges
   handles the other conditions. */
static const struct expr *with_ids(const struct solver *s, const struct expr *region)
{
    if (region->op == EXPR_AND) return expr_and(s->m, with_ids(s, region->arg[0]), with_ids(s, region->arg[1]));
    return expr_ids_along(region, AXIS(s->axis)) || expr_lists_along(region, s->axis) ? region : expr_int(s->m, 1);
}

const struct expr *region_reached(struct module *m, const struct expr *region, int axis)
{
    struct solver s = {.m = m, .axis = axis};
    const struct expr *const conditions = with_ids(&s, region);
    s.axis = -1;
    struct set set = solve(&s, conditions, false);
    const struct expr *any = set.pieces ? NULL : expr_int(m, 0);
    for (int k = 0; k < set.pieces; k++) {
        if (!set.piece[k].when) return NULL;
        any = combine(m, EXPR_OR, any, set.piece[k].when);
    }
    return any && any->op == EXPR_INT && any->integer ? NULL : any;
}
