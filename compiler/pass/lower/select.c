/* Makes the statements of a SELECT: candidates of each row, to which a loop over keys adds, and lists of the best. */
#include "lower.h"

#include <math.h>

void lower_select(struct lowering *x, int number)
{
    const struct value *const v = &x->g->value[number];
    struct lowered_value *const own = &x->lowered[number];
    const int64_t count = x->m->axis[v->axes[v->rank - 1]].extent;
    /* values and numbers of candidates (CANDIDATES in runtime/kernel/select.h) */
    const int64_t candidates = (count + (count > 64 ? count : 64) + 15) / 16 * 16;
    const int room = module_constant_axis(x->m, "room", 2 * candidates),
              row = module_constant_axis(x->m, "known", ROWS_OF_CANDIDATES);
    own->array = lower_new_tile(x, "best", 2, (int[]){x->lane, room});
    own->known = lower_new_tile(x, "best_known", 2, (int[]){row, x->lane});
    lower_set_constant(x, &x->before, own->known, -INFINITY);
    lower_apply_region(x, v, 0, -INFINITY);
    struct stmt *const s = lower_append(x, &x->inside, LOOPS_SELECT);
    s->rank = 2;
    s->axes[0] = x->stream;
    s->axes[1] = x->lane;
    s->count = count;
    s->keys_of_block = v->block;
    s->operands = 1;
    s->operand[0] = lower_ref(x, &v->operand[0]);
    s->assigns = 2;
    s->assign[0] = (struct assign){loops_ref(x->l, own->array), FOLD_SUM, NULL, 0};
    s->assign[1] = (struct assign){loops_ref(x->l, own->known), FOLD_SUM, NULL, 0};
}

void lower_list(struct lowering *x, int o, struct stmt ***at)
{
    const int number = x->g->output[o].value;
    const struct value *const v = &x->g->value[number];
    struct stmt *const s = lower_append(x, at, LOOPS_LIST);
    s->rank = 2;
    s->axes[0] = x->lane;
    s->axes[1] = v->axes[v->rank - 1];
    s->count = x->m->axis[s->axes[1]].extent;
    s->keys_of_block = v->block;
    s->operands = 2;
    s->operand[0] = loops_ref(x->l, x->lowered[number].array);
    s->operand[1] = loops_ref(x->l, x->lowered[number].known);
    s->assigns = 1;
    s->assign[0] = (struct assign){loops_ref(x->l, lower_output(x, o)), FOLD_SET, NULL, 0};
}
