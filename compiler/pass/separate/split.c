/* Makes several weights of one, so that each has one region and one formula. */
#include "separate.h"
#include "../../analysis/analysis.h"

void separate_split_by_region(struct separation *x)
{
    struct graph *const g = x->g;
    const struct expr *where = NULL;
    bool found = false, others = false;
    for (int w = 0; w < g->values; w++)
        for (int k = 0; k < g->value[w].operands; k++) {
            if (g->value[w].operand[k].of != x->weight) continue;
            if (!found) where = g->value[w].where;
            others |= found && g->value[w].where != where;
            found = true;
        }
    if (!others) return;
    graph_insert(g, x->weight, *x->value);
    for (int w = x->weight + 2; w < g->values; w++)
        for (int k = 0; k < g->value[w].operands; k++)
            if (g->value[w].operand[k].of == x->weight + 1 && g->value[w].where == where)
                g->value[w].operand[k].of = x->weight;
    x->value = &g->value[x->weight];
}

/* Whether e chooses between two values by a condition on the positions of both query and key. */
static enum answer is_choice(void *of, const struct expr *e)
{
    const struct separation *const x = of;
    return e->op == EXPR_SELECT && separate_uses_axis(x, e->arg[0], x->lane) &&
                   separate_uses_axis(x, e->arg[0], x->stream) && !expr_has(e->arg[0], EXPR_OPERAND)
               ? ANSWER_YES
               : ANSWER_ARGUMENTS;
}

/* A condition, and whether it holds. */
struct known {
    const struct expr *condition;
    bool holds;
};

static const struct expr *chosen(void *of, const struct expr *e)
{
    const struct known *const known = of;
    return e->op == EXPR_SELECT && e->arg[0] == known->condition ? e->arg[known->holds ? 1 : 2] : NULL;
}

static bool has_exponential_factor(const struct expr *e)
{
    return e->op == EXPR_EXP || e->op == EXPR_EXP2 ||
           (e->op == EXPR_MUL && (has_exponential_factor(e->arg[0]) || has_exponential_factor(e->arg[1])));
}

bool separate_split_by_choice(struct separation *x, bool of_exponential)
{
    struct graph *const g = x->g;
    const int weight = x->weight;
    const struct value whole = g->value[weight];
    const struct expr *const choice = expr_find(whole.expr, is_choice, x);
    if (!choice) return false;
    const struct expr *const where[2] = {choice->arg[0], expr_not(x->m, choice->arg[0])};
    struct value part[2] = {whole, whole};
    for (int k = 0; k < 2; k++) {
        struct known known = {choice->arg[0], k == 0};
        part[k].expr = expr_map(x->m, whole.expr, chosen, &known);
    }
    if (of_exponential && has_exponential_factor(part[0].expr) == has_exponential_factor(part[1].expr)) return false;
    g->value[weight] = part[0];
    graph_insert(g, weight + 1, part[1]);
    for (int v = weight + 2; v < g->values; v++) {
        const struct value sum = g->value[v];
        int read = 0;
        while (read < sum.operands && sum.operand[read].of != weight) read++;
        if (read == sum.operands) continue;
        struct value both = graph_value(GRAPH_MAP, sum.rank, sum.axes);
        for (int k = 0; k < (sum.where == where[0] ? 1 : 2); k++) {
            struct value own = sum;
            own.operand[read].of = weight + k;
            if (sum.where != where[0]) own.where = sum.where ? expr_and(x->m, sum.where, where[k]) : where[k];
            graph_insert(g, v, own);
            both.operand[both.operands++] = graph_ref(g, v++, NULL);
        }
        both.expr = expr_operand(x->m, 0);
        if (both.operands > 1) both.expr = expr_add(x->m, both.expr, expr_operand(x->m, 1));
        g->value[v] = both;
    }
    x->value = &g->value[weight];
    return true;
}
