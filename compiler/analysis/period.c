/* Which keys a conjunction of conditions leaves, in periods: found from those of its conditions that repeat themselves
   along queries and keys, i.e. that depend on them only through remainders. What is found is tried out, residue by
   residue. */
#include "analysis.h"

#include <stdlib.h>
#include <string.h>

/* Residues of a key, and pairs of one with that of a query, that are tried. */
enum { MAX_RESIDUES = 4096, MAX_TRIED = 1 << 17 };
enum side { QUERY, KEY };

/* What stands for the position of a query and for a key. `together`: both move at once, and are the side QUERY. */
struct positions {
    struct module *m;
    const struct expr *query, *key;
    bool together;
};

/* How an integer moves when the position of the query (0) or of the key (1) moves by its period: by by[0], by[1]. */
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

/* False where that is not known. */
static bool moving(const struct positions *x, const struct expr *e, struct moving *out)
{
    struct moving other = {{1, 1}, {0, 0}}, third;
    const struct expr *a = e->arg[0], *b = e->arg[1], *whole;
    int64_t by;
    *out = other;
    if (e == x->query || e == x->key) {
        out->by[e == x->key && !x->together ? KEY : QUERY] = 1;
        return true;
    }
    switch ((int)e->op) {
    case EXPR_INT: return true;
    case EXPR_NEG: return moving(x, a, out) && multiply(out, -1);
    case EXPR_ADD: /* the same as a - -b */
    case EXPR_SUB:
        if (!moving(x, a, out) || !moving(x, b, &other) || !align(out, &other)) return false;
        for (int k = 0; k < 2; k++) out->by[k] += e->op == EXPR_ADD ? other.by[k] : -other.by[k];
        return true;
    case EXPR_MUL: return b->op == EXPR_INT && moving(x, a, out) && multiply(out, b->integer);
    case EXPR_FLOORMOD:
        if (!positive(b) || !moving(x, a, out) || !whole_multiples(out, b->integer)) return false;
        out->by[QUERY] = out->by[KEY] = 0;
        return true;
    case EXPR_DIV: /* rounded down */
        if (!positive(b) || !floor_quotient(x->m, e, &whole, &by) || whole == a || !moving(x, whole, out) ||
            !whole_multiples(out, by))
            return false;
        for (int k = 0; k < 2; k++) out->by[k] /= by;
        return true;
    case EXPR_LE:
    case EXPR_LT:
    case EXPR_EQ:
    case EXPR_NE:
        if (!moving(x, a, out) || !moving(x, b, &other) || !move_together(out, &other)) return false;
        out->by[QUERY] = out->by[KEY] = 0;
        return true;
    case EXPR_MIN:
    case EXPR_MAX: return moving(x, a, out) && moving(x, b, &other) && move_together(out, &other);
    case EXPR_ABS:
    case EXPR_NOT: return moving(x, a, out) && stays(out);
    case EXPR_AND:
    case EXPR_OR: return moving(x, a, out) && moving(x, b, &other) && stays(out) && stays(&other) && align(out, &other);
    case EXPR_SELECT:
        if (!moving(x, a, &third) || !stays(&third) || !moving(x, b, out) || !moving(x, e->arg[2], &other))
            return false;
        return move_together(out, &other) && align(out, &third);
    default: return false;
    }
}

/* ---- C's remainder is the one of mathematics where nothing is negative ---- */

/* Whether one of the conditions says that e, which may name the query, is not negative: as no key is. */
static bool said_not_negative(const struct positions *x, const struct expr *e, int conditions,
                              const struct expr *const *condition)
{
    struct module *m = x->m;
    int64_t more;
    for (int k = 0; k < conditions; k++) {
        const struct expr *c = condition[k];
        if ((c->op != EXPR_LE && c->op != EXPR_LT) || c->arg[0]->type == TYPE_REAL || c->arg[1]->type == TYPE_REAL)
            continue;
        struct form f = {.remainder = expr_int(m, 0)}; /* e - (b - a) */
        if (!form_add(m, &f, e, 1) || !form_add(m, &f, c->arg[1], -1) || !form_add(m, &f, c->arg[0], 1) || f.terms)
            continue;
        bool plain = true;
        for (int a = 0; a < m->axes; a++) plain &= a == x->key->integer ? f.weight[a] >= 0 : f.weight[a] == 0;
        if (plain && known_difference(m, f.remainder, expr_int(m, 0), &more) && more + (c->op == EXPR_LT) >= 0)
            return true;
    }
    return false;
}

/* What the position of a query is made of may be negative, where there are more queries than keys; what a key is made
   of not. */
static bool not_negative(const struct positions *x, const struct expr *e, int conditions,
                         const struct expr *const *condition)
{
    const struct expr *a = e->arg[0], *b = e->arg[1];
    bool parts[2] = {false, false};
    for (int k = 0; k < 2 && k < expr_arity(e->op); k++) parts[k] = not_negative(x, e->arg[k], conditions, condition);
    switch ((int)e->op) {
    case EXPR_INT:
        if (e->integer >= 0) return true;
        break;
    case EXPR_ADD:
    case EXPR_MUL:
    case EXPR_MIN:
        if (parts[0] && parts[1]) return true;
        break;
    case EXPR_MAX:
        if (parts[0] || parts[1]) return true;
        break;
    case EXPR_DIV:
    case EXPR_MOD:
        if (parts[0] && positive(b)) return true;
        break;
    case EXPR_FLOORMOD:
        if (positive(b)) return true;
        break;
    case EXPR_ABS: return a->type != TYPE_REAL;
    default: break;
    }
    return e == x->key || e->type == TYPE_BOOL || said_not_negative(x, e, conditions, condition);
}

/* The same with remainders that are not negative, under the conditions. */
static const struct expr *rounded_down(const struct positions *x, const struct expr *e, int conditions,
                                       const struct expr *const *condition)
{
    struct module *m = x->m;
    const struct expr *arg[3] = {NULL, NULL, NULL};
    bool changed = false;
    if (e->type == TYPE_REAL || e->op == EXPR_DRAWN || e->name) return e;
    for (int k = 0; k < expr_arity(e->op); k++) {
        arg[k] = rounded_down(x, e->arg[k], conditions, condition);
        changed |= arg[k] != e->arg[k];
    }
    if ((e->op == EXPR_MOD || e->op == EXPR_DIV) && positive(e->arg[1]) &&
        not_negative(x, e->arg[0], conditions, condition))
        return e->op == EXPR_MOD ? expr_make(m, EXPR_FLOORMOD, arg[0], arg[1], NULL)
                                 : floor_divide(m, arg[0], arg[1]->integer);
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

/* What is left for one of the first `queries` queries. */
static void try_residues(struct trial *t, int64_t queries, bool *is_left)
{
    for (int64_t r = 0; r < t->period; r++) {
        is_left[r] = false;
        for (int64_t q = 0; q < queries && !is_left[r]; q++) is_left[r] = left(t, q, r);
    }
}

/* Whether what is left for a query moves with it, as it does for all if it does for the first `queries`. */
static bool moves_along(struct trial *t, int64_t queries, const bool *at_zero)
{
    for (int64_t q = 1; q <= queries; q++)
        for (int64_t r = 0; r < t->period; r++)
            if (left(t, q, q + r) != at_zero[r]) return false;
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

/* Those conditions that repeat themselves, rounded down: how many; their periods, and that of all positions moving
   together. */
static int periodic_conditions(const struct positions *x, int conditions, const struct expr *const *condition,
                               const struct expr **periodic, uint64_t *which, struct moving *period,
                               struct moving *together)
{
    struct positions diagonal = *x;
    int count = 0;
    diagonal.together = true;
    *period = *together = (struct moving){{1, 1}, {0, 0}};
    *which = 0;
    for (int k = 0; k < conditions && k < 64; k++) {
        const struct expr *e = rounded_down(x, condition[k], conditions, condition);
        struct moving one, both;
        if (e->op == EXPR_INT || !moving(x, e, &one) || !stays(&one) || !align(period, &one)) continue;
        if (!moving(&diagonal, e, &both) || !align(together, &both)) continue;
        periodic[count++] = e;
        *which |= UINT64_C(1) << k;
    }
    return count;
}

void conjunction_period(struct module *m, int query_axis, int key_axis, int conditions,
                        const struct expr *const *condition, struct period *out)
{
    /* what stands for the position of a query is the same for a whole tile, and no condition names it */
    const struct positions x = {
        .m = m, .query = expr_leaf(m, EXPR_LO, query_axis), .key = expr_leaf(m, EXPR_INDEX, key_axis)};
    const struct expr *shift = expr_make(m, EXPR_SUB, expr_leaf(m, EXPR_SIZE, key_axis),
                                         expr_leaf(m, EXPR_SIZE, query_axis), NULL);
    const struct expr *position = expr_make(m, EXPR_ADD, expr_leaf(m, EXPR_INDEX, query_axis), shift, NULL);
    const struct expr **of = arena_alloc(m->arena, (size_t)conditions * sizeof *of),
                      **periodic = arena_alloc(m->arena, (size_t)conditions * sizeof *periodic);
    struct moving period, together;
    *out = (struct period){.periodic = 0};
    for (int k = 0; k < conditions; k++) of[k] = expr_replace(m, condition[k], position, x.query);
    struct trial t = {.e = periodic, .query = query_axis, .key = key_axis};
    t.count = periodic_conditions(&x, conditions, of, periodic, &out->periodic, &period, &together);
    int64_t queries = period.period[QUERY];
    t.period = queries / gcd(queries, period.period[KEY]) * period.period[KEY];
    bool of_query = queries > 1;
    if (t.count == 0 || t.period > MAX_RESIDUES || (of_query && t.period * together.period[QUERY] > MAX_TRIED)) {
        out->periodic = 0;
        return;
    }
    t.env = (struct environment){.index = t.index, .size = t.size, .lo = t.lo, .hi = t.hi};
    bool *is_left = arena_alloc(m->arena, (size_t)t.period * sizeof *is_left);
    int64_t first = 0, count;
    try_residues(&t, 1, is_left);
    out->with_query = of_query && moves_along(&t, together.period[QUERY], is_left);
    if (of_query && !out->with_query) {
        if (t.period * queries > MAX_TRIED) {
            out->periodic = 0;
            return;
        }
        try_residues(&t, queries, is_left);
    }
    out->period = shortest(is_left, t.period);
    out->run = run_of(is_left, out->period, &first, &count);
    out->exact = count == out->run && (out->with_query || !of_query);
    const struct expr *at = expr_int(m, first);
    out->phase = out->with_query ? expr_make(m, EXPR_ADD, expr_make(m, EXPR_ADD, x.query, shift, NULL), at, NULL) : at;
}
