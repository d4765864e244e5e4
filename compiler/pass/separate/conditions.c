/* Conditions that states need not know: those that have one value for all keys of a state, and those that hide keys
   from all queries. */
#include "separate.h"
#include "../../analysis/analysis.h"

/* Writes a - b as steps * (the query's position - the key's position) + *offset. Returns false if it has another
   form. */
static bool distance_form(const struct separation *x, const struct expr *a, const struct expr *b, int64_t *steps,
                          int64_t *offset)
{
    const struct expr *const own = separate_query_position(x), *const j = expr_index(x->m, x->stream);
    struct form f = {.remainder = expr_int(x->m, 0)};
    if (a->type == TYPE_REAL || b->type == TYPE_REAL || !form_add(x->m, &f, a, 1) || !form_add(x->m, &f, b, -1))
        return false;
    bool linear = true;
    for (int k = 0; k < f.terms; k++) linear &= !(expr_axes(f.term[k].e) & (AXIS(x->lane) | AXIS(x->stream)));
    *steps = -f.weight[x->stream];
    return linear && known_difference(x->m, expr_replace(x->m, a, j, own), expr_replace(x->m, b, j, own), offset);
}

/* Returns what a comparison of positions is if the key is before the query, or NULL if this is not known. */
static const struct expr *if_earlier(void *of, const struct expr *e)
{
    const struct separation *const x = of;
    int64_t steps, offset;
    const bool compares = e->op == EXPR_LT || e->op == EXPR_LE || e->op == EXPR_EQ || e->op == EXPR_NE;
    if (!compares || !distance_form(x, e->arg[0], e->arg[1], &steps, &offset) || steps == 0) return NULL;
    const int64_t nearest = steps + offset; /* the difference at distance 1; its sign grows with the distance */
    const bool below = steps < 0 && nearest < 0, above = steps > 0 && nearest > 0;
    const bool differs = below || above, at_most = below || (steps < 0 && nearest == 0),
               at_least = above || (steps > 0 && nearest == 0);
    switch ((int)e->op) {
    case EXPR_LT: return below || at_least ? expr_int(x->m, below) : NULL;
    case EXPR_LE: return at_most || above ? expr_int(x->m, at_most) : NULL;
    default: return differs ? expr_int(x->m, e->op == EXPR_NE) : NULL;
    }
}

const struct expr *separate_for_earlier(struct separation *x, const struct expr *e)
{
    const bool before = x->last && separate_not_ahead(x, x->last, separate_query_position(x));
    return before ? expr_map(x->m, e, if_earlier, x) : e;
}

const struct expr *separate_without_hidden(struct separation *x, const struct expr *where)
{
    if (!where) return NULL;
    if (where->op == EXPR_AND) {
        const struct expr *const a = separate_without_hidden(x, where->arg[0]), *const b = separate_without_hidden(
                                                                                    x, where->arg[1]);
        return a && b ? expr_and(x->m, a, b) : a ? a : b;
    }
    struct seen seen;
    if (separate_uses_axis(x, where, x->lane)) return where;
    if (graph_find_solve(x->g) < 0 && separate_find_keys(x, where, &seen)) return where;
    x->shown = x->shown ? expr_and(x->m, x->shown, where) : where;
    return NULL;
}

bool separate_can_hide(const struct separation *x, const struct node *n)
{
    const bool factor = n->kind == NODE_PRODUCT && n->a->kind == NODE_FACTOR && !separate_grows(x, n->b);
    return !separate_grows(x, n) || n->kind == NODE_FACTOR || factor;
}
