/* Makes statements of the system of a chunk's keys, for solutions with values and without them. */
#include "lower.h"

const struct expr *lower_shown(const struct lowering *x, const struct ref *r)
{
    const struct value *const v = &x->g->value[r->of];
    const struct expr *shown = NULL;
    for (const struct expr *e = v->op == GRAPH_MAP ? v->expr : NULL;
         e && e->op == EXPR_SELECT && expr_is_real(e->arg[2], 0) && !expr_has(e->arg[0], EXPR_OPERAND) &&
         !(expr_axes(e->arg[0]) >> v->axes[v->rank - 1] & 1);
         e = e->arg[1])
        shown = shown ? expr_and(x->m, shown, e->arg[0]) : e->arg[0];
    return shown;
}

struct ref lower_if_shown(struct lowering *x, const struct ref *features, struct ref values, int along, int lanes,
                          struct stmt ***at)
{
    const struct expr *const shown = lower_shown(x, features);
    const int axes[2] = {along, lanes};
    if (!shown) return values;
    const int made = lower_new_tile(x, "shown", 2, axes);
    struct stmt *const s = lower_assign(x, at, 2, axes, made, FOLD_SET,
                                        expr_select(x->m, shown, expr_operand(x->m, 0), expr_real(x->m, 0)));
    s->operand[s->operands++] = values;
    return loops_ref(x->l, made);
}

int lower_earlier(struct lowering *x, int state, int rows)
{
    const struct value *solve = &x->g->value[x->solve];
    const struct ref features = lower_ref(x, &solve->operand[SOLVE_FEATURES]);
    const int axes[2] = {rows, x->l->array[state].axes[1]};
    const int over = x->l->array[state].axes[0], made = lower_new_tile(x, "from_state", 2, axes);
    lower_product(x, &x->end, axes, over, features, loops_ref(x->l, state), made, FOLD_SET);
    return made;
}

bool lower_hides(const struct lowering *x, const struct value *solve, int equations)
{
    const int later = solve->backward ? x->stream : equations, sooner = solve->backward ? equations : x->stream;
    return solve->where && solve->where != expr_le(x->m, expr_index(x->m, sooner), expr_index(x->m, later));
}

int lower_system(struct lowering *x, int rest)
{
    const struct value *const solve = &x->g->value[x->solve];
    const int *const axes = x->l->array[rest].axes, lanes = axes[1], solution[2] = {x->stream, lanes};
    const bool hides = lower_hides(x, solve, axes[0]);
    if (hides) lower_apply_region(x, solve, SOLVE_WEIGHTS, 0);
    const int made = lower_new_tile(x, "corrected", 2, solution);
    lower_equations(x, &x->end, solve, axes, hides, rest, made);
    return made;
}
