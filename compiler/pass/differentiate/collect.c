/* Adds up terms of a gradient that are spread over more axes in the same way, before they are spread.
   - Example: select(m == 0, a[j], 0) + select(m == 0, b[j], 0) becomes select(m == 0, s[j], 0) with s[j] = a[j] + b[j].
   - Terms may have further conditions: select(m == 0 && d == 0, a[j], 0) is spread like select(m == 0, b[j][d], 0).
   - The gradient of a decay has such terms for queries, keys and states. Their sum has the axes of the gradient of k,
     so both can share a sweep. */
#include "differentiate.h"

/* A map that is operand `of`, read at r, where `condition` is true. It is 0 elsewhere. */
struct spread {
    const struct expr *condition;
    struct ref r;
};

/* Whether `condition` has the conjunct `part`. */
static bool requires(const struct expr *condition, const struct expr *part)
{
    if (condition == part) return true;
    return condition->op == EXPR_AND && (requires(condition->arg[0], part) || requires(condition->arg[1], part));
}

/* Returns the conjuncts of e that all terms have. */
static const struct expr *common_part(const struct reversal *x, const struct spread *term, int terms,
                                      const struct expr *e)
{
    bool common = true;
    if (e->op == EXPR_AND)
        return reversal_both(x, common_part(x, term, terms, e->arg[0]), common_part(x, term, terms, e->arg[1]));
    for (int k = 0; k < terms; k++) common &= requires(term[k].condition, e);
    return common ? e : NULL;
}

/* Returns the conjuncts of e that `common` lacks. */
static const struct expr *other_part(const struct reversal *x, const struct expr *common, const struct expr *e)
{
    if (e->op == EXPR_AND) return reversal_both(x, other_part(x, common, e->arg[0]), other_part(x, common, e->arg[1]));
    return requires(common, e) ? NULL : e;
}

static bool find_spread(const struct reversal *x, const struct ref *read, struct spread *s)
{
    const struct value *const v = &x->g->value[read->of];
    if (!graph_is_plain(x->g, read) || v->op != GRAPH_MAP || v->operands != 1 || v->expr->op != EXPR_SELECT)
        return false;
    *s = (struct spread){v->expr->arg[0], v->operand[0]};
    for (int k = 0; k < s->r.rank; k++)
        if (ref_axis(&s->r, k) < 0) return false;
    return v->expr->arg[1] == expr_operand(x->m, 0) && expr_is_real(v->expr->arg[2], 0) &&
           !expr_has(s->condition, EXPR_OPERAND);
}

/* Whether two terms can be added before they are spread. */
static bool same_terms(const struct spread *a, const struct spread *b)
{
    bool same = a->r.rank == b->r.rank && a->condition == b->condition;
    for (int k = 0; k < a->r.rank && same; k++) same = ref_axis(&a->r, k) == ref_axis(&b->r, k);
    return same;
}

/* Whether value v of the graph has the axes of value w, in this order. */
static bool same_value_axes(const struct graph *g, int v, int w)
{
    bool same = g->value[v].rank == g->value[w].rank;
    for (int k = 0; k < g->value[v].rank && same; k++) same = g->value[v].axes[k] == g->value[w].axes[k];
    return same;
}

/* Inserts the sum of the terms from `first` on whose values have the axes of its value. Returns how the sum is read.
   Marks the terms in `done`. */
static struct ref add_alike(struct reversal *x, const struct spread *term, int terms, int first, bool *done)
{
    struct graph *const g = x->g;
    struct value sum = graph_value(GRAPH_MAP, g->value[term[first].r.of].rank, g->value[term[first].r.of].axes);
    const struct expr *e = reversal_value(x, &sum, term[first].r.of);
    struct ref read = term[first].r;
    done[first] = true;
    for (int k = first + 1; k < terms; k++) {
        if (done[k] || !same_value_axes(g, term[k].r.of, term[first].r.of) || !same_terms(&term[k], &term[first]))
            continue;
        e = expr_add(x->m, e, reversal_value(x, &sum, term[k].r.of));
        done[k] = true;
    }
    if (e->op != EXPR_OPERAND) read.of = reversal_map(x, &sum, e);
    return read;
}

/* Collects the terms of value v. */
static void collect(struct reversal *x, int v)
{
    struct graph *const g = x->g;
    const struct value old = g->value[v];
    struct spread term[MAX_OPERANDS];
    bool done[MAX_OPERANDS] = {false};
    if (old.op != GRAPH_MAP || old.operands < 2 || !reversal_is_sum(old.expr)) return;
    for (int k = 0; k < old.operands; k++)
        if (!find_spread(x, &old.operand[k], &term[k])) return;
    const struct expr *const common = common_part(x, term, old.operands, term[0].condition), *e = NULL;
    if (!common) return;
    uint32_t used = 0;
    for (int k = 0; k < old.operands; k++) {
        term[k].condition = other_part(x, common, term[k].condition);
        used |= ref_axes(&term[k].r) | (term[k].condition ? expr_axes(term[k].condition) : 0);
    }
    struct value all = graph_value(GRAPH_MAP, 0, NULL);
    for (int constant = 0; constant < 2; constant++) /* rows before their elements */
        for (int k = 0; k < old.rank; k++)
            if ((used >> old.axes[k] & 1) && (x->m->axis[old.axes[k]].source == SIZE_CONSTANT) == constant)
                all.axes[all.rank++] = old.axes[k];
    for (int k = 0; k < old.operands; k++) {
        if (done[k]) continue;
        const struct expr *one = reversal_operand(x, &all, add_alike(x, term, old.operands, k, done));
        if (term[k].condition) one = expr_select(x->m, term[k].condition, one, expr_real(x->m, 0));
        e = e ? expr_add(x->m, e, one) : one;
    }
    const int sum = reversal_map(x, &all, e);
    struct value spread = graph_value(GRAPH_MAP, old.rank, old.axes);
    spread.expr = expr_select(x->m, common, reversal_value(x, &spread, sum), expr_real(x->m, 0));
    const int made = reversal_append(x, spread);
    for (int o = 0; o < g->outputs; o++)
        if (g->output[o].value == v) g->output[o].value = made;
}

void reversal_collect_terms(struct reversal *x, int outputs)
{
    struct graph *const g = x->g;
    for (int o = 0; o < outputs; o++) {
        int v = g->output[o].value;
        for (const struct value *copy = &g->value[v];
             copy->op == GRAPH_MAP && copy->operands == 1 && copy->expr == expr_operand(x->m, 0); copy = &g->value[v]) {
            if (!graph_is_plain(g, &copy->operand[0]) || !same_value_axes(g, v, copy->operand[0].of)) break;
            v = copy->operand[0].of;
        }
        g->output[o].value = v;
        collect(x, v);
    }
}
