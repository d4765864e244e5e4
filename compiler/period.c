/* Which keys a conjunction of conditions leaves, in periods: found from those of its conditions that repeat themselves along queries and keys, i.e. that
   depend on them only through remainders. What is found is tried out, residue by residue. */
#include "compiler.h"

#include <stdlib.h>
#include <string.h>

/* Residues of a key that are tried, and with them those of a query. */
enum { MOST_RESIDUES = 4096, MOST_SQUARED = 256 };
enum side { QUERY, KEY };

/* How an integer moves when the position of a query, or a key, moves by a period: by so much, always. */
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

/* ---- what moves how ---- */

/* Brings both to one period on either side. */
static bool align(struct moving *a, struct moving *b)
{
    for (int k = 0; k < 2; k++) {
        int64_t whole = a->period[k] / gcd(a->period[k], b->period[k]) * b->period[k];
        if (whole > MOST_RESIDUES) return false;
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

static bool move_together(struct moving *a, struct moving *b)
{
    return align(a, b) && a->by[QUERY] == b->by[QUERY] && a->by[KEY] == b->by[KEY];
}

static bool multiply(struct moving *a, int64_t times)
{
    for (int k = 0; k < 2; k++)
        if (__builtin_mul_overflow(a->by[k], times, &a->by[k]) || llabs(a->by[k]) > INT32_MAX) return false;
    return true;
}

/* So long a period that the number moves by whole multiples of `divisor`. */
static bool whole_multiples(struct moving *a, int64_t divisor)
{
    for (int k = 0; k < 2; k++) {
        int64_t times = divisor / gcd(a->by[k], divisor);
        if (a->period[k] > MOST_RESIDUES / times) return false;
        a->period[k] *= times;
        a->by[k] *= times;
    }
    return true;
}

static bool positive(const struct expr *e)
{
    return e->op == EXPR_INT && e->integer > 0 && e->integer <= MOST_RESIDUES;
}

/* False where that is not known. `query` is what stands for the query's position. */
static bool moving(struct module *m, const struct expr *e, const struct expr *query, const struct expr *key, struct moving *out)
{
    struct moving other = {{1, 1}, {0, 0}}, third;
    const struct expr *a = e->arg[0], *b = e->arg[1], *x;
    int64_t by;
    *out = other;
    if (e == query || e == key) {
        out->by[e == key] = 1;
        return true;
    }
    switch ((int)e->op) {
    case EXPR_INT: return true;
    case EXPR_NEG: return moving(m, a, query, key, out) && multiply(out, -1);
    case EXPR_ADD: /* the same as a - -b */
    case EXPR_SUB:
        if (!moving(m, a, query, key, out) || !moving(m, b, query, key, &other) || !align(out, &other)) return false;
        for (int k = 0; k < 2; k++) out->by[k] += e->op == EXPR_ADD ? other.by[k] : -other.by[k];
        return true;
    case EXPR_MUL: return b->op == EXPR_INT && moving(m, a, query, key, out) && multiply(out, b->integer);
    case EXPR_FLOORMOD:
        if (!positive(b) || !moving(m, a, query, key, out) || !whole_multiples(out, b->integer)) return false;
        out->by[QUERY] = out->by[KEY] = 0;
        return true;
    case EXPR_DIV: /* rounded down, or of keys, which are not negative */
        if (!positive(b) || !floor_quotient(m, e, &x, &by) || (x == a && a != key) || !moving(m, x, query, key, out) || !whole_multiples(out, by)) return false;
        for (int k = 0; k < 2; k++) out->by[k] /= by;
        return true;
    case EXPR_LE:
    case EXPR_LT:
    case EXPR_EQ:
    case EXPR_NE:
        if (!moving(m, a, query, key, out) || !moving(m, b, query, key, &other) || !move_together(out, &other)) return false;
        out->by[QUERY] = out->by[KEY] = 0;
        return true;
    case EXPR_MIN:
    case EXPR_MAX: return moving(m, a, query, key, out) && moving(m, b, query, key, &other) && move_together(out, &other);
    case EXPR_ABS:
    case EXPR_NOT: return moving(m, a, query, key, out) && stays(out);
    case EXPR_AND:
    case EXPR_OR: return moving(m, a, query, key, out) && moving(m, b, query, key, &other) && stays(out) && stays(&other) && align(out, &other);
    case EXPR_SELECT:
        if (!moving(m, a, query, key, &third) || !stays(&third) || !moving(m, b, query, key, out) || !moving(m, e->arg[2], query, key, &other)) return false;
        return move_together(out, &other) && align(out, &third);
    default: return false;
    }
}

/* ---- C's remainder is the one of mathematics where nothing is negative ---- */

/* Whether one of the conditions says that e, which may name the query, is not negative. */
static bool said_not_negative(struct module *m, const struct expr *e, int conditions, const struct expr *const *condition)
{
    int64_t more;
    for (int k = 0; k < conditions; k++) {
        const struct expr *c = condition[k];
        if ((c->op != EXPR_LE && c->op != EXPR_LT) || c->arg[0]->type == TYPE_REAL || c->arg[1]->type == TYPE_REAL) continue;
        struct form f = {.rest = expr_int(m, 0)}; /* e - (b - a) */
        if (!form_add(m, &f, e, 1) || !form_add(m, &f, c->arg[1], -1) || !form_add(m, &f, c->arg[0], 1) || f.terms) continue;
        bool plain = true;
        for (int a = 0; a < m->axes; a++) plain &= f.weight[a] == 0;
        if (plain && known_difference(m, f.rest, expr_int(m, 0), &more) && more + (c->op == EXPR_LT) >= 0) return true;
    }
    return false;
}

/* The same with remainders that are not negative, under the conditions. */
static const struct expr *rounded_down(struct module *m, const struct expr *e, const struct expr *key, int conditions, const struct expr *const *condition)
{
    const struct expr *arg[3] = {NULL, NULL, NULL};
    bool changed = false;
    if (e->type == TYPE_REAL || e->op == EXPR_DRAWN || e->name) return e;
    for (int k = 0; k < expr_arity(e->op); k++) {
        arg[k] = rounded_down(m, e->arg[k], key, conditions, condition);
        changed |= arg[k] != e->arg[k];
    }
    if ((e->op == EXPR_MOD || e->op == EXPR_DIV) && positive(e->arg[1]) && (e->arg[0] == key || said_not_negative(m, e->arg[0], conditions, condition)))
        return e->op == EXPR_MOD ? expr_make(m, EXPR_FLOORMOD, arg[0], arg[1], NULL) : floor_divide(m, arg[0], arg[1]->integer);
    if (e->op == EXPR_EQ || e->op == EXPR_NE) /* whether it divides does not hang on the sign */
        for (int k = 0; k < 2; k++)
            if (arg[k]->op == EXPR_MOD && positive(arg[k]->arg[1]) && expr_is_real(arg[1 - k], 0)) {
                arg[k] = expr_make(m, EXPR_FLOORMOD, arg[k]->arg[0], arg[k]->arg[1], NULL);
                changed = true;
            }
    return changed ? expr_make(m, e->op, arg[0], arg[1], arg[2]) : e;
}

/* ---- residues ---- */

struct trial {
    int count;
    const struct expr **e;
    int query, key; /* axes */
    int64_t period;
    struct environment env;
    int64_t index[MAX_AXES], lo[MAX_AXES], hi[MAX_AXES], size[MAX_AXES];
};

static bool left(struct trial *t, int64_t query, int64_t key)
{
    t->lo[t->query] = query; /* which stands for the position */
    t->index[t->key] = key;
    for (int k = 0; k < t->count; k++)
        if (!expr_eval_int(t->e[k], &t->env)) return false;
    return true;
}

/* The shortest run of residues, perhaps around the end, that has all of those that are left. */
static int64_t run_of(const bool *is_left, int64_t period, int64_t *first, int64_t *count)
{
    int64_t longest = -1, last = -1;
    *count = 0;
    for (int64_t r = 0; r < 2 * period; r++) {
        if (!is_left[r % period]) continue;
        *count += r < period;
        if (last >= 0 && r - last - 1 > longest) longest = r - last - 1, *first = r % period;
        last = r;
    }
    return *count ? period - longest : 0;
}

/* What is left for a query at 0, or (`all`) at any. */
static void try_residues(struct trial *t, bool all, bool *is_left)
{
    for (int64_t r = 0; r < t->period; r++) {
        is_left[r] = false;
        for (int64_t q = 0; q < (all ? t->period : 1) && !is_left[r]; q++) is_left[r] = left(t, q, r);
    }
}

/* Whether what is left for a query moves with it. */
static bool moves_along(struct trial *t, const bool *at_zero)
{
    for (int64_t q = 1; q < t->period; q++)
        for (int64_t r = 0; r < t->period; r++)
            if (left(t, q, (q + r) % t->period) != at_zero[r]) return false;
    return true;
}

/* The shortest period of what is left. */
static int64_t shortest(const bool *is_left, int64_t period)
{
    for (int64_t p = 1; p < period; p++) {
        bool repeats = period % p == 0;
        for (int64_t r = p; r < period && repeats; r++) repeats = is_left[r] == is_left[r - p];
        if (repeats) return p;
    }
    return period;
}

void conjunction_period(struct module *m, int query_axis, int key_axis, int conditions, const struct expr *const *condition, struct period *out)
{
    /* what stands for the position of a query is the same for a whole tile, and no condition names it */
    const struct expr *index = expr_leaf(m, EXPR_INDEX, query_axis), *key = expr_leaf(m, EXPR_INDEX, key_axis), *query = expr_leaf(m, EXPR_LO, query_axis);
    const struct expr *shift = expr_make(m, EXPR_SUB, expr_leaf(m, EXPR_SIZE, key_axis), expr_leaf(m, EXPR_SIZE, query_axis), NULL);
    const struct expr *position = expr_make(m, EXPR_ADD, index, shift, NULL);
    const struct expr **of = arena_alloc(m->arena, (size_t)conditions * sizeof *of), **periodic = arena_alloc(m->arena, (size_t)conditions * sizeof *periodic);
    struct moving whole = {{1, 1}, {0, 0}};
    struct trial t = {.e = periodic, .query = query_axis, .key = key_axis};
    *out = (struct period){.periodic = 0};
    for (int k = 0; k < conditions; k++) of[k] = expr_replace(m, condition[k], position, query);
    for (int k = 0; k < conditions && k < 64; k++) {
        const struct expr *e = rounded_down(m, of[k], key, conditions, of);
        struct moving one;
        if (!moving(m, e, query, key, &one) || !stays(&one) || e->op == EXPR_INT || !align(&whole, &one)) continue;
        periodic[t.count++] = e;
        out->periodic |= UINT64_C(1) << k;
    }
    struct moving *w = &whole;
    bool of_query = w->period[QUERY] > 1;
    t.period = w->period[QUERY] / gcd(w->period[QUERY], w->period[KEY]) * w->period[KEY];
    if (t.count == 0 || t.period > (of_query ? MOST_SQUARED : MOST_RESIDUES)) {
        out->periodic = 0;
        return;
    }
    t.env = (struct environment){.index = t.index, .size = t.size, .lo = t.lo, .hi = t.hi};
    bool *is_left = arena_alloc(m->arena, (size_t)t.period * sizeof *is_left);
    int64_t first = 0, count;
    try_residues(&t, false, is_left);
    out->with_query = of_query && moves_along(&t, is_left);
    if (of_query && !out->with_query) try_residues(&t, true, is_left);
    out->period = shortest(is_left, t.period);
    out->run = run_of(is_left, out->period, &first, &count);
    out->exact = count == out->run && (out->with_query || !of_query);
    const struct expr *at = expr_int(m, first);
    out->phase = out->with_query ? expr_make(m, EXPR_ADD, expr_make(m, EXPR_ADD, query, shift, NULL), at, NULL) : at;
}
