/* Rearranges the program for calls with few queries. The queries of all members (query heads of a key/value head)
   become the rows of one tile: row = member * n_q + query.
   - The lanes hold keys, or elements of a value.
   - Sums over keys become states with a row per query, which are summed chunk by chunk.
   - Keys and values are read once for all rows, and threads can share a head. */
#include "pass.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"

/* The axis of rows. query_of, member_of: the query and member of a row. */
struct rows {
    struct module *m;
    int query, member, axis;
    const struct expr *query_of, *member_of;
};

/* Whether queries directly follow members in v, so that its elements are in the order of rows. */
static bool side_by_side(const struct rows *x, const struct value *v)
{
    for (int k = 0; k + 1 < v->rank; k++)
        if (v->axes[k] == x->member && v->axes[k + 1] == x->query) return true;
    return false;
}

/* Whether v is an array of the caller that rows read at query_of and member_of, because queries do not directly
   follow members in v. */
static bool looked_up(const struct rows *x, const struct value *v)
{
    /* A number in an array of integers counts elements of its last axis, so this stays one of queries. */
    const bool ends = v->integers && v->rank > 0 && v->axes[v->rank - 1] == x->query;
    return v->operands == 0 && (ends || v->by_name || !side_by_side(x, v));
}

/* Whether a value other than a map reads v. */
static bool multiplied(const struct graph *g, const struct value *v)
{
    for (int u = 0; u < g->values; u++)
        for (int k = 0; k < g->value[u].operands; k++)
            if (g->value[u].op != GRAPH_MAP && &g->value[g->value[u].operand[k].of] == v) return true;
    return false;
}

/* Whether e reads lists of blocks that differ between query heads. */
static bool reads_lists_of_heads(const struct rows *x, const struct expr *e)
{
    bool reads = false;
    for (struct exprs w = {.of = e}; exprs_next(&w);)
        reads |= w.e->op == EXPR_DRAWN && expr_axes(w.e->arg[2]) >> x->member & 1;
    return reads;
}

/* Returns why rows cannot replace members and queries in v, or NULL. */
static const char *reason_against(const struct rows *x, const struct graph *g, const struct value *v, int stream)
{
    const bool query = value_has_axis(v, x->query), member = value_has_axis(v, x->member);
    if (looked_up(x, v) && query && !v->integers) return "an array has an axis of queries but no axis of heads";
    if (looked_up(x, v) && member && multiplied(g, v)) return "a product has a matrix for each head";
    if (v->where && reads_lists_of_heads(x, v->where)) return "query heads have different lists of blocks";
    if (member && !query && value_has_axis(v, stream)) return "a value is computed for each key and query head";
    for (int k = 0; k < v->operands; k++) {
        const struct value *of = &g->value[v->operand[k].of];
        for (int s = 0; s < of->rank; s++) {
            const bool replaced = of->axes[s] == x->query || of->axes[s] == x->member;
            if (replaced && ref_axis(&v->operand[k], s) != of->axes[s]) return "a value combines two queries";
            if (replaced && !value_has_axis(v, of->axes[s])) return "a value is summed over queries or query heads";
        }
    }
    return NULL;
}

static const struct expr *of_rows(const struct rows *x, const struct expr *e)
{
    if (!e) return NULL;
    e = expr_replace(x->m, e, expr_index(x->m, x->query), x->query_of);
    return expr_replace(x->m, e, expr_index(x->m, x->member), x->member_of);
}

/* Replaces members and queries in `axes` by rows, and returns the new rank. If `sub` is not NULL, changes these
   subscripts, too. */
static int replace_axes(const struct rows *x, int rank, int *axes, const struct expr **sub)
{
    int kept = 0;
    bool there = false;
    for (int k = 0; k < rank; k++) {
        const bool replaced = axes[k] == x->query || axes[k] == x->member;
        if (replaced && there) continue;
        if (sub) sub[kept] = replaced ? expr_index(x->m, x->axis) : sub[k];
        axes[kept++] = replaced ? x->axis : axes[k];
        there |= replaced;
    }
    return kept;
}

static void replace_in(const struct rows *x, const struct graph *before, struct value *v)
{
    for (int k = 0; k < v->operands; k++) {
        struct ref *r = &v->operand[k];
        const struct value *of = &before->value[r->of];
        int axes[MAX_RANK];
        for (int s = 0; s < of->rank; s++) axes[s] = of->axes[s];
        if (!looked_up(x, of)) r->rank = replace_axes(x, of->rank, axes, r->sub);
        for (int s = 0; s < r->rank; s++) r->sub[s] = of_rows(x, r->sub[s]);
    }
    v->expr = of_rows(x, v->expr);
    v->where = of_rows(x, v->where);
    if (!looked_up(x, v)) v->rank = replace_axes(x, v->rank, v->axes, NULL);
}

/* Whether one set of loops computes all outputs. */
static bool in_one_group(const struct graph *g)
{
    int group[MAX_OUTPUTS];
    return output_groups(g, group) == 1;
}

void pass_few_queries(struct compilation *c)
{
    if (!c->program.few) return;
    struct graph *g = c->graph;
    struct module *m = g->module;
    struct roles roles;
    struct rows rows = {.m = m, .query = -1, .member = -1}, *x = &rows;
    c->reason = roles_of(g, 0, &roles);
    x->query = roles.lane;
    x->member = axes_first(axes_with_size(m, SIZE_MEMBERS));
    if (!c->reason && graph_find_scan(g) >= 0) c->reason = "a running sum goes along the keys";
    if (!c->reason && (!in_one_group(g) || x->query < 0 || x->member < 0 || roles.stream < 0 || roles.outer))
        c->reason = "it does not sum over keys";
    for (int v = 0; v < g->values && !c->reason; v++) c->reason = reason_against(x, g, &g->value[v], roles.stream);
    if (c->reason) return;
    x->axis = module_axis(m, module_find_axis(m, "r") < 0 ? "r" : "r_q", SIZE_ROWS, MAX_FEW_ROWS);
    const struct expr *row = expr_index(m, x->axis), *queries = expr_size(m, x->query);
    x->query_of = expr_mod(m, row, queries);
    x->member_of = expr_div(m, row, queries);
    const struct graph *before = graph_copy(g);
    for (int v = 0; v < g->values; v++) replace_in(x, before, &g->value[v]);
}
