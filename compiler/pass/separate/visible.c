/* Recognises regions that states can cover: prefixes, windows of blocks, and keys with the query's id. A query sees
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

const struct expr *separate_without_ids(struct separation *x, const struct expr *where)
{
    if (where->op != EXPR_AND) return id_region(x, where) ? NULL : where;
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

/* Whether e is the block of `position`, (position - position mod L) / L, with L = *of. If *of is 0, any L is right,
   and *of becomes L. */
static bool is_block_number(const struct separation *x, const struct expr *e, const struct expr *position, int64_t *of)
{
    if (e->op != EXPR_DIV || e->arg[1]->op != EXPR_INT) return false;
    const struct expr *size = e->arg[1], *start = expr_sub(x->m, position, expr_floormod(x->m, position, size));
    if (e->arg[0] != start || (*of && *of != size->integer)) return false;
    *of = size->integer;
    return true;
}

/* Whether e is *shift + the block of `position`, for a constant *shift. */
static bool is_block_shifted(const struct separation *x, const struct expr *e, const struct expr *position, int64_t *of,
                             int64_t *shift)
{
    *shift = e->op == EXPR_ADD && e->arg[1]->op == EXPR_INT ? e->arg[1]->integer : 0;
    return is_block_number(x, *shift ? e->arg[0] : e, position, of);
}

/* Adds the conditions of `where` to *found. Returns false if one does not fit a window of blocks. */
static bool block_region(const struct separation *x, const struct expr *where, struct blocks *found)
{
    const struct expr *position = separate_query_position(x), *j = expr_index(x->m, x->stream);
    if (where->op == EXPR_AND) return block_region(x, where->arg[0], found) && block_region(x, where->arg[1], found);
    if (where->op != EXPR_LE) return false;
    int64_t shift;
    if (is_block_number(x, where->arg[1], j, &found->length) &&
        is_block_shifted(x, where->arg[0], position, &found->length, &shift)) {
        found->reach = found->reach < 0 || -shift < found->reach ? -shift : found->reach;
        return true;
    }
    if (is_block_number(x, where->arg[0], j, &found->length) &&
        is_block_shifted(x, where->arg[1], position, &found->length, &shift)) {
        found->ahead = found->ahead < 0 || shift < found->ahead ? shift : found->ahead;
        if (shift < 0) return false;
    } else if (where->arg[0] == j && where->arg[1] == position)
        found->causal = true;
    else
        return false;
    found->region = found->region ? expr_and(x->m, found->region, where) : where;
    return true;
}

bool separate_window_of_blocks(const struct separation *x, const struct expr *where, struct blocks *found)
{
    *found = (struct blocks){.reach = -1, .ahead = -1};
    if (!where || !block_region(x, where, found) || found->reach <= 0 || (!found->causal && found->ahead < 0))
        return false;
    if (found->causal) /* this condition implies the conditions on blocks ahead */
        found->region = expr_le(x->m, expr_index(x->m, x->stream), separate_query_position(x));
    return true;
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

bool separate_prefix_region(const struct separation *x, const struct expr **where, const struct expr **last)
{
    *last = NULL;
    if (!*where) return true;
    const struct expr *found = last_key(x, *where), *j = expr_index(x->m, x->stream), *one = expr_int(x->m, 1);
    if (!found) return false;
    bool all_alike = same_for_all(x, found);
    *where = all_alike ? expr_lt(x->m, j, expr_add(x->m, found, one)) : expr_le(x->m, j, found);
    int64_t distance;
    /* a query that sees all keys before `next` sees all keys before the chunk of `next` */
    const struct expr *const next = expr_add(x->m, found, one);
    if (after_query(x, found, &distance) && (distance == 0 || distance == -1))
        found = separate_query_position(x);
    else /* the result is at most the last key, because no chunk starts after it */
        found = expr_min(x->m, separate_not_ahead(x, next, separate_query_position(x)) ? next : found,
                         expr_sub(x->m, expr_size(x->m, x->stream), one));
    if (!all_alike) *last = found;
    return true;
}
