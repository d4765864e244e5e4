/* Writes integer expressions as forms (struct form), and bounds forms over the current ranges of axes. A quotient
   grows with its dividend, and a remainder is below its divisor. */
#include "affine.h"

#include <stdlib.h>

/* A form's weights and constants stay within these limits, so computing with them does not overflow. */
enum { LARGEST_WEIGHT = 1 << 30 };
static const int64_t LARGEST_NUMBER = INT64_C(1) << 40;

static const struct expr *divided(struct module *m, const struct expr *x, int64_t by)
{
    const struct expr *k = expr_int(m, by);
    if (by == 1) return x;
    return expr_div(m, expr_sub(m, x, expr_floormod(m, x, k)), k);
}

const struct expr *floor_divide(struct module *m, const struct expr *x, int64_t by)
{
    return divided(m, x, by);
}

/* Returns x if e is a sum that subtracts floormod(x, by), such as x + 1 - floormod(x, by). Otherwise returns NULL. */
static const struct expr *rounded_down(const struct expr *e, const struct expr *by)
{
    if (e->op == EXPR_SUB && e->arg[1]->op == EXPR_FLOORMOD && e->arg[1]->arg[1] == by) return e->arg[1]->arg[0];
    if (e->op != EXPR_ADD && e->op != EXPR_SUB) return NULL;
    const struct expr *found = rounded_down(e->arg[0], by);
    return found || e->op == EXPR_SUB ? found : rounded_down(e->arg[1], by);
}

bool floor_quotient(struct module *m, const struct expr *e, const struct expr **x, int64_t *by)
{
    if (e->op != EXPR_DIV || e->type != TYPE_INT || e->arg[1]->op != EXPR_INT || e->arg[1]->integer < 1) return false;
    *by = e->arg[1]->integer;
    *x = rounded_down(e->arg[0], e->arg[1]);
    if (*x && divided(m, *x, *by) == e) return true;
    *x = e->arg[0]; /* C's division rounds down only if x >= 0 */
    return expr_sign(*x, NULL) >= 0;
}

static bool add_term(struct form *f, const struct expr *e, int64_t times)
{
    for (int k = 0; k < f->terms; k++)
        if (f->term[k].e == e) {
            f->term[k].times += times;
            if (f->term[k].times == 0) f->term[k] = f->term[--f->terms];
            return true;
        }
    if (f->terms == MAX_TERMS) return false;
    f->term[f->terms].e = e;
    f->term[f->terms++].times = times;
    return true;
}

/* Whether e is x - floormod(x, by) for a constant by > 1. */
static bool is_rounded_down(const struct expr *e)
{
    const struct expr *const lost = e->arg[1];
    return lost->op == EXPR_FLOORMOD && lost->arg[0] == e->arg[0] && lost->arg[1]->op == EXPR_INT &&
           lost->arg[1]->integer > 1;
}

bool form_add(struct module *m, struct form *f, const struct expr *e, int64_t times)
{
    if (e->type == TYPE_REAL || llabs(times) > LARGEST_WEIGHT) return false;
    switch ((int)e->op) {
    case EXPR_INT:
        if (e->integer > LARGEST_NUMBER || e->integer < -LARGEST_NUMBER) return false;
        break;
    case EXPR_INDEX: f->weight[e->integer] += times; return llabs(f->weight[e->integer]) <= LARGEST_WEIGHT;
    case EXPR_NEG: return form_add(m, f, e->arg[0], -times);
    case EXPR_ADD: return form_add(m, f, e->arg[0], times) && form_add(m, f, e->arg[1], times);
    case EXPR_SUB:
        if (is_rounded_down(e) && expr_axes(e))
            return form_add(m, f, floor_divide(m, e->arg[0], e->arg[1]->arg[1]->integer),
                            times * e->arg[1]->arg[1]->integer);
        return form_add(m, f, e->arg[0], times) && form_add(m, f, e->arg[1], -times);
    case EXPR_MUL:
        if (!expr_axes(e) || e->arg[1]->op != EXPR_INT || llabs(e->arg[1]->integer) > LARGEST_WEIGHT) break;
        return form_add(m, f, e->arg[0], times * e->arg[1]->integer);
    default: break;
    }
    if (expr_axes(e) && e->op != EXPR_START) return add_term(f, e, times); /* loops have one sequence at a time */
    if (llabs(times) > 1) e = expr_mul(m, e, expr_int(m, llabs(times)));
    f->remainder = expr_make(m, times > 0 ? EXPR_ADD : EXPR_SUB, f->remainder, e, NULL);
    return true;
}

static bool scale(int64_t *weight, int64_t times)
{
    return !__builtin_mul_overflow(*weight, times, weight) && llabs(*weight) <= LARGEST_WEIGHT;
}

bool form_scale(struct module *m, struct form *f, int64_t times)
{
    bool fits = true;
    for (int a = 0; a < MAX_AXES; a++) fits &= scale(&f->weight[a], times);
    for (int k = 0; k < f->terms; k++) fits &= scale(&f->term[k].times, times);
    f->remainder = expr_mul(m, f->remainder, expr_int(m, times));
    return fits;
}

/* Whether e is not negative and depends only on batch entries and heads. Loops over these have one index at a time,
   so e usually has one value. */
static bool of_heads(const struct module *m, const struct expr *e)
{
    const uint32_t heads = axes_with_size(m, SIZE_BATCH) | axes_with_size(m, SIZE_KV_HEADS) |
                           axes_with_size(m, SIZE_MEMBERS);
    return expr_axes(e) && !(expr_axes(e) & ~heads) && expr_sign(e, NULL) >= 0;
}

/* Returns the minimum or maximum of the remainder e. If all dividends have equal quotients, as for a single head,
   the remainder grows with the dividend. Otherwise the bounds are 0 and the divisor minus 1. */
static const struct expr *head_remainder(struct module *m, const struct expr *e, bool largest)
{
    const struct expr *by = e->arg[1], *low = expr_extreme(m, e->arg[0], false),
                      *high = expr_extreme(m, e->arg[0], true), *other = expr_int(m, largest ? by->integer - 1 : 0);
    if (!low || !high) return other;
    return expr_select(m, expr_eq(m, expr_div(m, low, by), expr_div(m, high, by)),
                       expr_mod(m, largest ? high : low, by), other);
}

const struct expr *expr_of_sequence(struct module *m, const struct expr *e)
{
    for (int a = 0; a < m->axes; a++)
        if (m->axis[a].source == SIZE_BATCH) e = expr_replace(m, e, expr_index(m, a), expr_lo(m, a));
    return e;
}

/* Returns the minimum or maximum of an EXPR_ID over a range of rows and positions. */
static const struct expr *id_extreme(struct module *m, const struct expr *e, bool largest)
{
    const struct expr *const row = expr_of_sequence(m, e->arg[0]), *const at = expr_of_sequence(m, e->arg[1]),
                             *const one = expr_int(m, 1);
    if (!expr_axes(row) && !expr_axes(at)) return expr_id(m, EXPR_ID, e->name, row, at, NULL);
    const struct expr *const first = expr_extreme(m, row, false), *const last = expr_extreme(m, row, true),
                             *const from = expr_extreme(m, e->arg[1], false),
                             *const to = expr_extreme(m, e->arg[1], true);
    if (!first || !last || !from || !to) return NULL;
    return expr_id(m, largest ? EXPR_MAX_ID : EXPR_MIN_ID, e->name,
                   expr_make(m, EXPR_RANGE, first, expr_add(m, last, one), NULL), from, expr_add(m, to, one));
}

/* Returns the minimum or maximum of the term e, without its factor *times. If e = floor(x / k) and k divides
 *times, divides *times by k and returns the extreme of k * e, which is x - floormod(x, k). */
static const struct expr *term_extreme(struct module *m, const struct expr *e, int64_t *times, bool largest)
{
    const struct expr *x;
    int64_t k;
    if (expr_has_real(e)) return NULL; /* loop bounds are computed in integers */
    if (floor_quotient(m, e, &x, &k)) {
        x = expr_extreme(m, x, largest);
        if (!x) return NULL;
        if (*times % k) return floor_divide(m, x, k);
        *times /= k;
        return expr_sub(m, x, expr_floormod(m, x, expr_int(m, k)));
    }
    const struct expr *a = e->arg[0], *b = e->arg[1];
    if (e->op == EXPR_ID) return id_extreme(m, e, largest);
    bool constant = (e->op == EXPR_DIV || e->op == EXPR_MOD || e->op == EXPR_FLOORMOD) && b->op == EXPR_INT &&
                    b->integer > 0;
    if (e->op == EXPR_DIV && constant) {
        x = expr_extreme(m, a, largest);
        return x ? expr_div(m, x, b) : NULL;
    }
    if ((e->op == EXPR_FLOORMOD || e->op == EXPR_MOD) && constant && of_heads(m, a))
        return head_remainder(m, e, largest);
    if (e->op == EXPR_FLOORMOD && constant) return expr_int(m, largest ? b->integer - 1 : 0);
    if (e->op == EXPR_MOD && constant)
        return expr_int(m, largest ? b->integer - 1 : expr_sign(a, NULL) >= 0 ? 0 : 1 - b->integer);
    if (e->op == EXPR_MUL) { /* e is a product, such as key/value head * members */
        const struct expr *factor = expr_axes(b) ? a : b, *of = factor == a ? b : a;
        if (expr_axes(factor) || expr_sign(factor, NULL) < 0) return NULL;
        x = expr_extreme(m, of, largest);
        return x ? expr_mul(m, x, factor) : NULL;
    }
    if (b && b->op == EXPR_SIZE && expr_sign(a, NULL) >= 0) { /* e is a row / n_q, or a row % n_q */
        if (e->op == EXPR_MOD) return largest ? expr_sub(m, b, expr_int(m, 1)) : expr_int(m, 0);
        x = e->op == EXPR_DIV ? expr_extreme(m, a, largest) : NULL;
        return x ? expr_div(m, x, b) : NULL;
    }
    if (e->op != EXPR_MIN && e->op != EXPR_MAX) return NULL;
    const struct expr *y = expr_extreme(m, b, largest);
    x = expr_extreme(m, a, largest);
    return x && y ? expr_make(m, e->op, x, y, NULL) : NULL;
}

const struct expr *form_extreme(struct module *m, const struct form *f, int64_t sign, bool largest)
{
    if (expr_has_real(f->remainder)) return NULL;
    const struct expr *e = expr_of_sequence(m, f->remainder);
    if (sign < 0) e = expr_neg(m, e);
    for (int a = 0; a < m->axes; a++) {
        int64_t weight = sign * f->weight[a];
        if (weight == 0) continue;
        const struct expr *high = expr_sub(m, expr_hi(m, a), expr_int(m, 1));
        const struct expr *end = (weight > 0) == largest ? high : expr_lo(m, a);
        e = expr_add(m, expr_mul(m, end, expr_int(m, weight)), e);
    }
    for (int k = 0; k < f->terms; k++) {
        int64_t times = sign * f->term[k].times;
        const struct expr *end = term_extreme(m, f->term[k].e, &times, (times > 0) == largest);
        if (!end) return NULL;
        e = expr_add(m, expr_mul(m, end, expr_int(m, times)), e);
    }
    return e;
}

const struct expr *expr_extreme(struct module *m, const struct expr *e, bool largest)
{
    struct form f = {.remainder = expr_int(m, 0)};
    return form_add(m, &f, e, 1) ? form_extreme(m, &f, 1, largest) : NULL;
}

/* Adds up the terms of a - b. All except constants must cancel. With `most`, a remainder may be left: *total is then
   the maximum. */
static bool sum_difference(const struct expr *a, const struct expr *b, bool most, int64_t *total)
{
    enum { MOST = 128 };
    struct expr_term term[MOST];
    const int of_a = expr_terms(a, term, MOST), of_b = of_a < 0 ? -1 : expr_terms(b, term + of_a, MOST - of_a);
    *total = 0;
    if (of_b < 0) return false;
    for (int k = of_a; k < of_a + of_b; k++) term[k].minus = !term[k].minus;
    for (int k = 0; k < of_a + of_b; k++) {
        const struct expr *const e = term[k].e;
        int times = 0;
        for (int n = 0; n < of_a + of_b; n++)
            if (term[n].e == e) times += term[n].minus ? -1 : 1;
        if (most && e->op == EXPR_FLOORMOD && e->arg[1]->op == EXPR_INT && e->arg[1]->integer > 0) {
            if (times > 0 && !term[k].minus) *total += e->arg[1]->integer - 1;
            if (times > 0 && term[k].minus) *total -= e->arg[1]->integer - 1;
            continue;
        }
        if (e->op != EXPR_INT && times) return false;
        if (e->op != EXPR_INT) continue;
        if (llabs(e->integer) > INT32_MAX) return false;
        *total += term[k].minus ? -e->integer : e->integer;
    }
    return true;
}

bool known_difference(struct module *m, const struct expr *a, const struct expr *b, int64_t *difference)
{
    (void)m;
    return sum_difference(a, b, false, difference);
}

static const struct expr *as_remainder(void *of, const struct expr *e)
{
    struct module *const m = of;
    const struct expr *const quotient = e->arg[0], *const by = e->arg[1];
    if (e->op != EXPR_MUL || quotient->op != EXPR_DIV || quotient->arg[1] != by || by->op != EXPR_INT) return NULL;
    const struct expr *const x = expr_map(m, quotient->arg[0], as_remainder, m);
    return expr_sub(m, x, expr_floormod(m, x, by));
}

/* Returns the larger of two bounds, or the smaller one of those that are known. */
static bool join_bounds(bool all, const bool known[2], const int64_t bound[2], int64_t *most)
{
    if (all ? !known[0] || !known[1] : !known[0] && !known[1]) return false;
    *most = bound[!known[0] || (known[1] && (bound[1] > bound[0]) == all)];
    return true;
}

bool largest_difference(struct module *m, const struct expr *a, const struct expr *b, int64_t *most)
{
    const struct expr *const ends = a->op == EXPR_MIN || a->op == EXPR_MAX ? a : b;
    if (ends->op != EXPR_MIN && ends->op != EXPR_MAX)
        return sum_difference(expr_map(m, a, as_remainder, m), expr_map(m, b, as_remainder, m), true, most);
    int64_t bound[2];
    bool known[2];
    for (int k = 0; k < 2; k++)
        known[k] = largest_difference(m, ends == a ? a->arg[k] : a, ends == a ? b : b->arg[k], &bound[k]);
    return join_bounds((ends->op == EXPR_MAX) == (ends == a), known, bound, most);
}

bool known_at_most(struct module *m, const struct expr *a, const struct expr *b)
{
    int64_t most;
    return largest_difference(m, a, b, &most) && most <= 0;
}
