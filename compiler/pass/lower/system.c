/* Makes statements of the system of a chunk's keys, for solutions with values and without them. */
#include "lower.h"

#include <string.h>

int lower_earlier(struct lowering *x, int state, int rows)
{
    const struct value *solve = &x->g->value[x->solve];
    const struct ref features = lower_ref(x, &solve->operand[SOLVE_FEATURES]);
    const int axes[2] = {rows, x->l->array[state].axes[1]};
    struct stmt *s = lower_append(x, &x->end, LOOPS_DOT);
    s->rank = 2;
    memcpy(s->axes, axes, sizeof axes);
    s->axis = x->l->array[state].axes[0];
    s->operands = 2;
    s->operand[0] = features;
    s->operand[1] = loops_ref(x->l, state);
    s->assigns = 1;
    s->assign[0] = (struct assign){loops_ref(x->l, lower_new_tile(x, "from_state", 2, axes)), FOLD_SET, NULL, 0};
    return s->assign[0].to.of;
}

int lower_system(struct lowering *x, int rest)
{
    const struct value *const solve = &x->g->value[x->solve];
    const int *const axes = x->l->array[rest].axes, lanes = axes[1], solution[2] = {x->stream, lanes},
                     later = solve->backward ? x->stream : axes[0], sooner = solve->backward ? axes[0] : x->stream;
    if (solve->where != expr_le(x->m, expr_index(x->m, sooner), expr_index(x->m, later)))
        lower_apply_region(x, solve, SOLVE_WEIGHTS, 0);
    struct stmt *s = lower_append(x, &x->end, LOOPS_SOLVE);
    s->backward = solve->backward;
    s->rank = 2;
    memcpy(s->axes, axes, 2 * sizeof *axes);
    s->axis = x->stream;
    s->operands = 3;
    s->operand[0] = lower_ref(x, &solve->operand[SOLVE_WEIGHTS]);
    s->operand[1] = loops_ref(x->l, rest);
    s->operand[2] = lower_ref(x, &solve->operand[SOLVE_RATE]);
    s->assigns = 1;
    const int made = lower_new_tile(x, "corrected", 2, solution);
    s->assign[0] = (struct assign){loops_ref(x->l, made), FOLD_SET, NULL, 0};
    return made;
}
