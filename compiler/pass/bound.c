/* A loop whose body does nothing outside a region of (i, j) runs only over the j that the region can reach from the current range of i, and its
   tests are made only in tiles that are not wholly inside. The region is solved for j: affine comparisons exactly, and their and, or, not. */
#include "../compiler.h"

#include <stdlib.h>

/* What is known of the j of a region, over the current ranges of the other axes. NULL: no bound. */
struct bounds {
    const struct expr *first, *last;           /* no j outside is in the region for any point */
    const struct expr *full_first, *full_last; /* every j inside is in the region for every point … */
    bool test;                                 /* … unless this says that one never knows */
};

/* e = stream * j + sum of weight[axis] * axis + rest */
struct affine {
    int64_t stream, weight[MAX_AXES];
    const struct expr *rest;
};

static const struct expr *combine(struct module *m, enum expr_op op, const struct expr *a, const struct expr *b)
{
    return !a || !b ? (a ? a : b) : expr_make(m, op, a, b, NULL);
}

static bool affine(struct module *m, const struct expr *e, int stream, int64_t sign, struct affine *out)
{
    switch ((int)e->op) {
    case EXPR_INDEX:
        if (e->integer == stream)
            out->stream += sign;
        else
            out->weight[e->integer] += sign;
        return true;
    case EXPR_NEG: return affine(m, e->arg[0], stream, -sign, out);
    case EXPR_ADD: return affine(m, e->arg[0], stream, sign, out) && affine(m, e->arg[1], stream, sign, out);
    case EXPR_SUB: return affine(m, e->arg[0], stream, sign, out) && affine(m, e->arg[1], stream, -sign, out);
    case EXPR_MUL:
        if (!expr_has(e, EXPR_INDEX)) break;
        if (e->arg[1]->op != EXPR_INT || llabs(e->arg[1]->integer) > 1 << 20 || llabs(sign) > 1 << 20) return false;
        return affine(m, e->arg[0], stream, sign * e->arg[1]->integer, out);
    default: break;
    }
    if (expr_has(e, EXPR_INDEX) || e->type == TYPE_REAL) return false;
    if (llabs(sign) > 1) e = expr_make(m, EXPR_MUL, e, expr_int(m, llabs(sign)), NULL);
    out->rest = expr_make(m, sign > 0 ? EXPR_ADD : EXPR_SUB, out->rest, e, NULL);
    return true;
}

/* The largest (or smallest) value of weights * axes + rest over the current ranges, times sign. */
static const struct expr *extreme(struct module *m, const struct affine *f, int64_t sign, bool largest)
{
    const struct expr *e = sign > 0 ? f->rest : expr_make(m, EXPR_NEG, f->rest, NULL, NULL);
    for (int a = 0; a < m->axes; a++) {
        int64_t weight = sign * f->weight[a];
        if (weight == 0) continue;
        const struct expr *high = expr_make(m, EXPR_SUB, expr_leaf(m, EXPR_HI, a), expr_int(m, 1), NULL);
        const struct expr *end = (weight > 0) == largest ? high : expr_leaf(m, EXPR_LO, a);
        e = expr_make(m, EXPR_ADD, expr_make(m, EXPR_MUL, end, expr_int(m, weight), NULL), e, NULL);
    }
    return e;
}

/* less <= more, or less < more */
static struct bounds compare(struct module *m, const struct expr *less, const struct expr *more, bool strict, int stream)
{
    struct bounds b = {.test = true};
    struct affine f = {.rest = expr_int(m, strict ? -1 : 0)}; /* more - less (- 1) >= 0 */
    if (!affine(m, more, stream, 1, &f) || !affine(m, less, stream, -1, &f) || (f.stream != 1 && f.stream != -1)) return b;
    b.test = false;
    if (f.stream < 0) { /* j <= f */
        b.last = extreme(m, &f, 1, true);
        b.full_last = extreme(m, &f, 1, false);
    } else { /* j >= -f */
        b.first = extreme(m, &f, -1, false);
        b.full_first = extreme(m, &f, -1, true);
    }
    return b;
}

static struct bounds solve(struct module *m, const struct expr *e, int stream, bool negated)
{
    const struct expr *a = e->arg[0], *b = e->arg[1];
    if (e->op == EXPR_NOT) return solve(m, a, stream, !negated);
    if (e->op == EXPR_LE) return negated ? compare(m, b, a, true, stream) : compare(m, a, b, false, stream);
    if (e->op == EXPR_LT) return negated ? compare(m, b, a, false, stream) : compare(m, a, b, true, stream);
    if (e->op != EXPR_AND && e->op != EXPR_OR) return (struct bounds){.test = true};
    struct bounds x = solve(m, a, stream, negated), y = solve(m, b, stream, negated);
    if ((e->op == EXPR_AND) != negated)
        return (struct bounds){combine(m, EXPR_MAX, x.first, y.first), combine(m, EXPR_MIN, x.last, y.last), combine(m, EXPR_MAX, x.full_first, y.full_first),
                               combine(m, EXPR_MIN, x.full_last, y.full_last), x.test || y.test};
    struct bounds either = {.test = true};
    if (x.first && y.first) either.first = combine(m, EXPR_MIN, x.first, y.first);
    if (x.last && y.last) either.last = combine(m, EXPR_MAX, x.last, y.last);
    return either;
}

/* Puts every statement that does nothing inside the region under the condition that the tile is not wholly inside. */
static void guard(struct loops *l, struct stmt **at, const struct expr *region, const struct expr *partial)
{
    for (; *at; at = &(*at)->next) {
        struct stmt *s = *at;
        if (s->op != LOOPS_MAP || s->assigns != 1) continue;
        const struct expr *e = s->assign[0].expr;
        bool masks = e->op == EXPR_SELECT && e->arg[0] == region && e->arg[1]->op == EXPR_OPERAND && s->assign[0].fold == FOLD_SET &&
                     ref_equal(&s->assign[0].to, &s->operand[e->arg[1]->integer]);
        if (!masks) continue;
        struct stmt *test = stmt_new(l, LOOPS_IF);
        test->where = partial;
        test->body = s;
        test->next = s->next;
        s->next = NULL;
        *at = test;
    }
}

static void walk(struct loops *l, struct stmt *s)
{
    struct module *m = l->module;
    for (; s; s = s->next) {
        if (s->op == LOOPS_FOR && s->where) {
            struct bounds b = solve(m, s->where, s->axis, false);
            const struct expr *lo = expr_leaf(m, EXPR_LO, s->axis), *hi = expr_leaf(m, EXPR_HI, s->axis), *one = expr_int(m, 1), *partial = NULL;
            if (b.first) s->from = expr_make(m, EXPR_MAX, s->from, b.first, NULL);
            if (b.last) s->to = expr_make(m, EXPR_MIN, s->to, expr_make(m, EXPR_ADD, b.last, one, NULL), NULL);
            if (b.full_first) partial = expr_make(m, EXPR_LT, lo, b.full_first, NULL);
            if (b.full_last) partial = combine(m, EXPR_OR, partial, expr_make(m, EXPR_LT, expr_make(m, EXPR_ADD, b.full_last, one, NULL), hi, NULL));
            if (!b.test && partial) guard(l, &s->body, s->where, partial);
        }
        walk(l, s->body);
    }
}

void pass_bound(struct compilation *c)
{
    walk(c->loops, c->loops->body);
}
