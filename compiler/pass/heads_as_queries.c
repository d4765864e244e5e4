/* Rearranges the program for few queries of many heads that share a key/value head. The heads take the place of
   queries: a tile has one query of several heads, which share each read of a key. The queries take the place of
   heads. The emitted code exchanges sizes and strides. Storage does not change. */
#include "pass.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"

#include <string.h>

struct swap {
    struct module *m;
    int query, member;
};

static const struct expr *swapped(const struct swap *x, const struct expr *e)
{
    /* LO and HI do not occur in a graph. They stand for members until queries are replaced */
    const struct {
        enum expr_op from, to;
        int of, by;
    } step[] = {{EXPR_INDEX, EXPR_LO, x->member, x->member},   {EXPR_SIZE, EXPR_HI, x->member, x->member},
                {EXPR_INDEX, EXPR_INDEX, x->query, x->member}, {EXPR_SIZE, EXPR_SIZE, x->query, x->member},
                {EXPR_LO, EXPR_INDEX, x->member, x->query},    {EXPR_HI, EXPR_SIZE, x->member, x->query}};
    for (size_t k = 0; e && k < sizeof step / sizeof *step; k++)
        e = expr_replace(x->m, e, expr_leaf(x->m, step[k].from, step[k].of), expr_leaf(x->m, step[k].to, step[k].by));
    return e;
}

static int position_of(const struct value *v, int axis)
{
    for (int k = 0; k < v->rank; k++)
        if (v->axes[k] == axis) return k;
    return -1;
}

/* Whether a value has an axis of queries, but no axis of heads. Such a value gets one, because the emitter has no
   maps whose lanes are elements of a table. */
static bool of_queries_alone(const struct swap *x, const struct value *v)
{
    return position_of(v, x->query) >= 0 && position_of(v, x->member) < 0;
}

/* Writes the new axes of the value to `to`, and returns their number. With both axes, heads stay before queries. */
static int swapped_axes(const struct swap *x, const struct value *v, const int *axes, int *to)
{
    const bool both = position_of(v, x->query) >= 0 && position_of(v, x->member) >= 0;
    int rank = 0;
    for (int k = 0; k < v->rank; k++) {
        if (axes[k] == x->query && of_queries_alone(x, v)) to[rank++] = x->member;
        to[rank++] = axes[k] == x->member && !both ? x->query : axes[k];
    }
    return rank;
}

/* Exchanges the subscripts of queries and members in r, a reference to value `of`. */
static void swap_subscripts(const struct swap *x, const struct value *of, struct ref *r)
{
    const struct ref old = *r;
    const int query = position_of(of, x->query), member = position_of(of, x->member);
    r->rank = 0;
    for (int s = 0; s < old.rank; s++) {
        if (s == query && member < 0) {
            r->sub[r->rank++] = swapped(x, old.sub[s]);
            r->sub[r->rank++] = expr_index(x->m, x->query);
        } else
            r->sub[r->rank++] = swapped(x, old.sub[query < 0 ? s : s == query ? member : s == member ? query : s]);
    }
}

/* Whether expressions read the integers `name` only as lists. */
static bool only_lists(const struct graph *g, const char *name)
{
    bool only = true;
    for (int v = 0; v < g->values; v++) {
        const struct expr *const of[] = {g->value[v].expr, g->value[v].where};
        for (int k = 0; k < 2; k++)
            for (struct exprs w = {.of = of[k]}; of[k] && exprs_next(&w);)
                only &= !expr_is_of_ids(w.e->op) || strcmp(w.e->name, name) != 0;
    }
    return only;
}

void pass_heads_as_queries(struct compilation *c)
{
    if (!c->program.by_heads) return;
    struct graph *g = c->graph;
    struct roles roles;
    struct swap swap = {.m = g->module, .query = -1, .member = -1}, *x = &swap;
    c->reason = roles_of(g, 0, &roles);
    x->query = roles.lane;
    x->member = axes_first(axes_with_size(x->m, SIZE_MEMBERS));
    if (!c->reason && (g->outputs > 1 || x->query < 0 || x->member < 0 || roles.stream < 0))
        c->reason = "it does not sum over keys";
    for (int v = 0; v < g->values && !c->reason; v++) {
        const struct value *const value = &g->value[v];
        const bool query = position_of(value, x->query) >= 0, member = position_of(value, x->member) >= 0;
        if (value->op == GRAPH_INPUT && query != member)
            c->reason = "an array has an axis of queries or of heads alone";
        /* The members of a key/value head have a list of keys in common, which is read by the name of the list. */
        if (value->integers && query && !member && only_lists(g, value->name)) continue;
        /* a parameter has no strides to exchange */
        if (value->op == GRAPH_PARAM && (query || member)) c->reason = "a parameter has an axis of queries or of heads";
        for (int k = 0; k < value->rank; k++)
            if (x->m->axis[value->axes[k]].source == SIZE_HEADS) c->reason = "an array has an axis of all heads";
        if (value->integers || value->hides) c->reason = "an array says which keys are seen";
        if (value->by_name) c->reason = "subscripts depend on elements of an array";
        if (of_queries_alone(x, value) && value->rank == MAX_RANK) c->reason = "a value has too many axes";
    }
    if (c->reason) return;
    const struct graph *const before = graph_copy(g);
    for (int v = 0; v < g->values; v++) {
        struct value *const value = &g->value[v];
        const struct value *const old = &before->value[v];
        if (value->integers) continue;
        value->rank = swapped_axes(x, old, old->axes, value->axes);
        value->expr = swapped(x, value->expr);
        value->where = swapped(x, value->where);
        for (int k = 0; k < value->operands; k++)
            swap_subscripts(x, &before->value[old->operand[k].of], &value->operand[k]);
    }
}
