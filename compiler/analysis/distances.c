/* Finds how far a query's keys are from it, and whether a result depends on positions or on the number of a head.
   Several ranks that share a sequence need these facts. */
#include "affine.h"
#include "reach.h"
#include "region.h"
#include "roles.h"

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Returns (min or max of two expressions) + c as the min or max of two sums, or e. */
static const struct expr *with_sum_inside(struct module *m, const struct expr *e)
{
    const struct expr *const ends = e->arg[0], *const more = e->arg[1];
    if ((e->op != EXPR_ADD && e->op != EXPR_SUB) || (ends->op != EXPR_MIN && ends->op != EXPR_MAX)) return e;
    return expr_make(m, ends->op, expr_make(m, e->op, ends->arg[0], more, NULL),
                     expr_make(m, e->op, ends->arg[1], more, NULL), NULL);
}

/* Returns an upper bound of a - b for all sizes, or INT64_MAX if none is known. */
static int64_t difference_up_to(struct module *m, const struct expr *a, const struct expr *b)
{
    int64_t difference;
    const bool min = (a = with_sum_inside(m, a))->op == EXPR_MIN, max = (b = with_sum_inside(m, b))->op == EXPR_MAX;
    if (min || a->op == EXPR_MAX) {
        const int64_t x = difference_up_to(m, a->arg[0], b), y = difference_up_to(m, a->arg[1], b);
        return min ? smaller(x, y) : larger(x, y);
    }
    if (max || b->op == EXPR_MIN) {
        const int64_t x = difference_up_to(m, a, b->arg[0]), y = difference_up_to(m, a, b->arg[1]);
        return max ? smaller(x, y) : larger(x, y);
    }
    return known_difference(m, a, b, &difference) ? difference : INT64_MAX;
}

/* Returns the end of a range without the keys before number `open` of the sequence. Returns NULL if the range has no
   other keys. */
static const struct expr *end_beside(struct module *m, const struct expr *end, int64_t open)
{
    const struct expr *of[2];
    int64_t more;
    if (!open) return end;
    for (int a = 0; a < m->axes; a++)
        if (m->axis[a].source == SIZE_FIRST_KEY &&
            known_difference(m, expr_add(m, end, expr_size(m, a)), expr_int(m, open), &more) && more <= 0)
            return NULL;
    if (end->op != EXPR_MAX) return end;
    for (int k = 0; k < 2; k++) of[k] = end_beside(m, end->arg[k], open);
    return of[0] && of[1] ? expr_max(m, of[0], of[1]) : of[0] ? of[0] : of[1];
}

/* Extends *d to the keys that value v sums over for a query, but for the first `open` ones of the sequence. */
static void take_sum(const struct graph *g, const struct roles *roles, const struct value *v, int64_t open,
                     struct distances *d)
{
    struct module *const m = g->module;
    if (!sums_keys_of_query(m, v, roles->lane, roles->stream)) return;
    struct ranges seen = {.count = 1};
    if (v->where) region_ranges(m, v->where, roles->stream, false, &seen);
    const struct expr *const first = expr_lo(m, roles->lane), *const end = expr_hi(m, roles->lane),
                             *const next = expr_add(m, first, expr_int(m, 1)),
                             *const start = expr_of_sequence(m, expr_query_start(m, roles->lane, roles->stream)),
                             *const position = expr_add(m, first, start), *const past = expr_add(m, next, start);
    for (int k = 0; k < seen.count; k++) {
        const struct expr *const from = seen.range[k].from, *const to = seen.range[k].to
                                                                            ? end_beside(m, seen.range[k].to, open)
                                                                            : NULL;
        if (seen.range[k].to && !to) continue;
        const int64_t before = from ? difference_up_to(m, position, expr_replace(m, from, end, next)) : INT64_MAX,
                      after = to ? difference_up_to(m, expr_replace(m, to, end, next), past) : INT64_MAX;
        d->before = larger(d->before, before);
        d->after = larger(d->after, after);
    }
}

/* Notes whether e, as opposed to a subscript, names a head or a sequence, or their number. */
static void note_names(const struct module *m, const struct expr *e, struct distances *d)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        if (w.e->op != EXPR_INDEX && w.e->op != EXPR_SIZE) continue;
        d->names_heads |= axis_is_heads(&m->axis[w.e->integer]);
    }
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        const enum expr_op op = w.e->op;
        w.skip = op == EXPR_START || op == EXPR_ID || op == EXPR_ELEMENT || op == EXPR_DRAWN;
        if (op != EXPR_INDEX && op != EXPR_SIZE) continue;
        d->names_sequences |= m->axis[w.e->integer].source == SIZE_BATCH;
    }
}

struct distances distances_of(const struct graph *g, int64_t open_keys, bool rotations)
{
    enum { MAX_PERIOD = 1 << 12 };
    struct distances d = {0};
    struct roles roles;
    if (roles_of(g, 0, &roles))
        return (struct distances){
            .before = INT64_MAX, .after = INT64_MAX, .names_heads = true, .names_sequences = true};
    for (int v = 0; v < g->values; v++) {
        const struct value *const value = &g->value[v];
        take_sum(g, &roles, value, open_keys, &d);
        note_names(g->module, value->expr, &d);
        note_names(g->module, value->where, &d);
    }
    for (int64_t by = 1; by < 64 && !d.period; by++)
        if (moves_together(g, by, rotations)) d.period = by;
    for (int k = 0; k < g->module->axes && !d.period; k++) { /* a list of blocks moves by blocks */
        const struct axis *const axis = &g->module->axis[k];
        if (axis->source == SIZE_QUERY_BLOCKS && moves_together(g, axis->extent, rotations)) d.period = axis->extent;
    }
    for (int64_t by = 64; by <= MAX_PERIOD && !d.period; by += 64)
        if (moves_together(g, by, rotations)) d.period = by;
    if (d.before < INT64_MAX || d.after < INT64_MAX) d.open_keys = open_keys;
    return d;
}
