/* Recognises regions that states can cover: prefixes, windows, and keys with the query's id. A query sees
   a key if the region contains the pair. */
#include "separate.h"
#include "../../analysis/analysis.h"

/* Whether `where` is "the query's id == the key's id". Sets x->id. Returns false if x->id already has other ids. */
static bool id_region(struct separation *x, const struct expr *where)
{
    const struct expr *key = expr_index(x->m, x->stream), *a = where->arg[0], *b = where->arg[1];
    if (where->op != EXPR_EQ || a->op != EXPR_ID || b->op != EXPR_ID || a->name != b->name || a->arg[0] != b->arg[0] ||
        !graph_numbers_keys(x->g, &x->g->value[graph_find(x->g, a->name)]))
        return false;
    const struct expr *of_query = b->arg[1] == key ? a : b, *of_key = b->arg[1] == key ? b : a;
    if (of_key->arg[1] != key || (x->id[KEY] && (x->id[KEY] != of_key || x->id[QUERY] != of_query))) return false;
    x->id[QUERY] = of_query;
    x->id[KEY] = of_key;
    return true;
}

/* Returns the length n if e is the number of j's block of n keys, else 0. */
static int64_t block_of(const struct separation *x, const struct expr *e)
{
    const struct expr *const j = expr_index(x->m, x->stream);
    const bool divides = e->op == EXPR_DIV && e->arg[1]->op == EXPR_INT && e->arg[1]->integer > 0;
    return divides && (e->arg[0] == j || e->arg[0] == expr_sub(x->m, j, expr_floormod(x->m, j, e->arg[1])))
               ? e->arg[1]->integer
               : 0;
}

/* Whether `where` says of a key at or before a query that both are in one block, whose number is then an id, or that
   the key's block is not later. The values of a SOLVE are those of earlier keys (can_correct). */
static bool block_region(struct separation *x, const struct expr *where)
{
    const struct expr *const own = separate_query_position(x), *const j = expr_index(x->m, x->stream);
    const bool compares = where->op == EXPR_LE || where->op == EXPR_EQ;
    for (int k = 0; k < 2 && compares && graph_find_solve(x->g) >= 0; k++) {
        const struct expr *const of_key = where->arg[k], *const of_query = where->arg[1 - k];
        if (!block_of(x, of_key) || expr_replace(x->m, of_key, j, own) != of_query) continue;
        if (where->op == EXPR_LE && k == 0) return true;
        if (x->id[KEY] && x->id[KEY] != of_key) return false;
        x->id[QUERY] = of_query;
        x->id[KEY] = of_key;
        return true;
    }
    return false;
}

const struct expr *separate_query_position(const struct separation *x)
{
    if (x->m->axis[x->lane].source == x->m->axis[x->stream].source) return expr_index(x->m, x->lane);
    return expr_query_position(x->m, x->lane, x->stream);
}

bool separate_uses_axis(const struct separation *x, const struct expr *e, int axis)
{
    return expr_uses_axis(e, x->value->operand, axis);
}

const struct expr *separate_without_ids(struct separation *x, const struct expr *where)
{
    if (where->op != EXPR_AND) return id_region(x, where) || block_region(x, where) ? NULL : where;
    const struct expr *a = separate_without_ids(x, where->arg[0]), *b = separate_without_ids(x, where->arg[1]);
    return a && b ? expr_and(x->m, a, b) : a ? a : b;
}

bool separate_not_ahead(const struct separation *x, const struct expr *last, const struct expr *query)
{
    if (last->op == EXPR_MIN)
        return separate_not_ahead(x, last->arg[0], query) || separate_not_ahead(x, last->arg[1], query);
    if (last->op == EXPR_MAX)
        return separate_not_ahead(x, last->arg[0], query) && separate_not_ahead(x, last->arg[1], query);
    if (query->op == EXPR_MIN) return separate_not_ahead(x, last, query->arg[0]); /* `last` is at most the last key */
    if (query->op == EXPR_MAX) /* `query` is a position limited to an array's indices */
        return separate_not_ahead(x, last, query->arg[0]) || separate_not_ahead(x, last, query->arg[1]);
    return known_at_most(x->m, last, query);
}

/* Whether e is equal for all queries of a sequence, such as its length. */
static bool same_for_all(const struct separation *x, const struct expr *e)
{
    for (int a = 0; a < x->m->axes; a++)
        if (expr_axes(e) >> a & 1 && x->m->axis[a].source != SIZE_BATCH) return false;
    return true;
}

/* Whether e never gets smaller from query to query, and lower can find the first query with e >= a bound. */
static bool grows(const struct separation *x, const struct expr *e)
{
    const struct expr *const a = e->arg[0], *const b = e->arg[1];
    if (!(expr_axes(e) >> x->lane & 1)) return same_for_all(x, e);
    switch ((int)e->op) {
    case EXPR_INDEX: return true;
    case EXPR_ADD: return (grows(x, a) && same_for_all(x, b)) || (same_for_all(x, a) && grows(x, b));
    case EXPR_SUB:
        if (b->op == EXPR_FLOORMOD && b->arg[0] == a && b->arg[1]->op == EXPR_INT) return grows(x, a);
        return grows(x, a) && same_for_all(x, b);
    case EXPR_MUL:
    case EXPR_DIV: return b->op == EXPR_INT && b->integer > 0 && grows(x, a);
    default: return false;
    }
}

/* Returns a bound of a range of keys as an expression of the query's index, without an end of a MIN that another end
   implies. */
static const struct expr *of_one_query(const struct separation *x, const struct expr *bound)
{
    struct module *const m = x->m;
    const struct expr *const own = expr_index(m, x->lane), *const one = expr_int(m, 1);
    if (!bound) return NULL;
    bound = expr_replace(m, bound, expr_hi(m, x->lane), expr_add(m, own, one));
    bound = expr_replace(m, bound, expr_lo(m, x->lane), own);
    for (int a = 0; a < m->axes; a++)
        if (m->axis[a].source == SIZE_BATCH) bound = expr_replace(m, bound, expr_lo(m, a), expr_index(m, a));
    while (bound->op == EXPR_MIN) {
        const bool first = known_at_most(m, bound->arg[0], bound->arg[1]);
        if (!first && !known_at_most(m, bound->arg[1], bound->arg[0])) break;
        bound = bound->arg[!first];
    }
    return bound;
}

/* Finds the keys that a query sees, *from <= j < *to, as expressions of its index. NULL: there is no such bound.
   Returns false if they are not known to be one range. */
static bool range_of_keys(const struct separation *x, const struct expr *where, const struct expr **from,
                          const struct expr **to)
{
    struct ranges some, all; /* if both are equal for one query, they are exact */
    region_ranges(x->m, where, x->stream, false, &some);
    region_ranges(x->m, where, x->stream, true, &all);
    int found = 0;
    if (some.count != all.count) return false;
    for (int k = 0; k < some.count; k++) {
        const struct range *const r = &some.range[k];
        const struct expr *const first = of_one_query(x, r->from), *const end = of_one_query(x, r->to);
        if (r->drawn || first != of_one_query(x, all.range[k].from) || end != of_one_query(x, all.range[k].to))
            return false;
        if (first && end && known_at_most(x->m, end, first)) continue; /* no key */
        *from = first;
        *to = end;
        found++;
    }
    return found == 1;
}

/* Returns the last key that a query sees, as an expression of the query's index. Returns NULL if a query does not
   see all earlier keys, or if a later query sees fewer keys. */
static const struct expr *last_key(const struct separation *x, const struct expr *where)
{
    const struct expr *from, *to;
    if (range_of_keys(x, where, &from, &to) && !from && to && grows(x, to))
        return expr_sub(x->m, to, expr_int(x->m, 1));
    if (where->op != EXPR_OR && where->op != EXPR_AND) return NULL;
    const struct expr *a = last_key(x, where->arg[0]), *b = last_key(x, where->arg[1]);
    return a && b ? expr_make(x->m, where->op == EXPR_OR ? EXPR_MAX : EXPR_MIN, a, b, NULL) : NULL;
}

const struct expr *separate_fault(const struct separation *x, const struct expr *where)
{
    const bool joins = where->op == EXPR_OR || where->op == EXPR_AND;
    for (int k = 1; k >= 0 && joins; k--)
        if (!last_key(x, where->arg[k]) && separate_uses_axis(x, where->arg[k], x->stream))
            return separate_fault(x, where->arg[k]);
    return where;
}

/* Sets *distance to `key` - the query's position, if this difference is a constant. Otherwise returns false. */
static bool after_query(const struct separation *x, const struct expr *key, int64_t *distance)
{
    int64_t of[2];
    if (key->op != EXPR_MIN && key->op != EXPR_MAX)
        return known_difference(x->m, key, separate_query_position(x), distance);
    if (!after_query(x, key->arg[0], &of[0]) || !after_query(x, key->arg[1], &of[1])) return false;
    *distance = of[(of[1] < of[0]) == (key->op == EXPR_MIN)];
    return true;
}

/* Finds the keys of a window that ends at most one key after the query's position, or later. */
static bool find_window(const struct separation *x, const struct expr *where, struct seen *found)
{
    struct module *const m = x->m;
    const struct expr *const j = expr_index(m, x->stream), *const own = separate_query_position(x), *to;
    int64_t keys;
    if (!range_of_keys(x, where, &found->from, &to) || !found->from || !to ||
        !largest_difference(m, to, found->from, &keys))
        return false;
    const bool earlier = known_at_most(m, to, own);
    if (earlier ? !grows(x, to) : !known_at_most(m, own, to)) return false;
    found->next = earlier ? to : own;
    found->last = earlier ? expr_min(m, to, expr_sub(m, expr_size(m, x->stream), expr_int(m, 1))) : own;
    found->region = expr_le(m, j, expr_sub(m, to, expr_int(m, 1)));
    found->keys = keys;
    found->ahead = largest_difference(m, to, expr_add(m, own, expr_int(m, 1)), &keys) && keys > 0 ? keys : 0;
    return true;
}

bool separate_find_keys(const struct separation *x, const struct expr *where, struct seen *found)
{
    struct module *const m = x->m;
    *found = (struct seen){.region = where};
    if (!where || find_window(x, where, found)) return true;
    *found = (struct seen){.region = where};
    const struct expr *last = last_key(x, where), *const j = expr_index(m, x->stream), *const one = expr_int(m, 1),
                      *const own = separate_query_position(x);
    if (!last) return false;
    if (same_for_all(x, last)) {
        found->region = expr_lt(m, j, expr_add(m, last, one));
        return true;
    }
    int64_t distance;
    const struct expr *const next = expr_add(m, last, one);
    found->region = expr_le(m, j, last);
    found->next = separate_not_ahead(x, next, own) ? next : last;
    if (after_query(x, last, &distance) && (distance == 0 || distance == -1))
        found->last = found->next = own;
    else /* at most the last key, because no chunk starts after it */
        found->last = expr_min(m, found->next, expr_sub(m, expr_size(m, x->stream), one));
    return true;
}

int64_t separate_segment(const struct expr *e)
{
    for (struct exprs w = {.of = e}; e && exprs_next(&w);)
        if ((w.e->op == EXPR_FLOORMOD || w.e->op == EXPR_DIV) && w.e->arg[1]->op == EXPR_INT)
            return w.e->arg[1]->integer;
    return 0;
}

const struct expr *separate_start_of_chunk(const struct separation *x, const struct expr *position, int64_t length)
{
    return expr_sub(x->m, position, expr_floormod(x->m, position, expr_int(x->m, length)));
}
