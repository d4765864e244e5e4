/* Outputs that sum over the lanes, in loops whose other outputs sum over the stream. Example: with queries i in the
   lanes, the sum over i of w[i][j] * dout[i] is a vector per key j.
   - Each tile of lanes adds to the sums of all keys, so these tiles run in order.
   - The first tile sets the sums to 0. */
#include "lower.h"

bool lower_sums_across(const struct lowering *x, const struct value *v)
{
    return v->op == GRAPH_CONTRACT && x->lane >= 0 && x->stream >= 0 && value_has_axis(v, x->stream) &&
           ((value_operand_axes(v) & ~value_axes(v)) >> x->lane & 1) && graph_is_output(x->g, (int)(v - x->g->value));
}

/* Makes loops over the whole stream for the first tile of lanes only. Returns the innermost body. */
static struct stmt **begin(struct lowering *x)
{
    const struct expr *zero = expr_int(x->m, 0);
    struct stmt *first = lower_append(x, &x->before, LOOPS_IF), **body = &first->body;
    first->axis = x->lane;
    first->where = expr_le(x->m, expr_lo(x->m, x->lane), zero);
    return &lower_stream_loop(x, &body, zero, expr_size(x->m, x->stream))->body;
}

void lower_begin_across(struct lowering *x)
{
    struct stmt **body = NULL;
    for (int o = 0; o < x->g->outputs; o++) {
        const int v = x->g->output[o].value;
        const struct value *value = &x->g->value[v];
        if (x->lowered[v].stage != ACROSS) continue;
        if (!body) {
            body = begin(x);
            x->outputs = arena_alloc(x->m->arena, (size_t)x->g->outputs * sizeof *x->outputs);
            for (int n = 0; n < x->g->outputs; n++) x->outputs[n] = lower_output(x, n);
        }
        x->lowered[v].array = x->outputs[o];
        const int axes[2] = {x->stream, value->axes[value->rank - 1]};
        lower_assign(x, &body, 2, axes, x->outputs[o], FOLD_SET, expr_real(x->m, 0));
    }
}

/* Makes the product that adds pairs[j][i] * vectors[i][e], summed over the lanes i, to the sums of key j. */
void lower_across(struct lowering *x, int number)
{
    const struct value *v = &x->g->value[number];
    const int pairs = value_has_axis(&x->g->value[v->operand[0].of], x->stream) ? 0 : 1;
    lower_apply_region(x, v, pairs, 0);
    const struct ref own = lower_ref(x, &v->operand[1 - pairs]); /* if it differs by member, the loops compute it */
    struct stmt ***const at = x->lowered[v->operand[1 - pairs].of].stage == INSIDE ? &x->inside : &x->before;
    const struct ref vectors = lower_turned(x, at, own, x->lane, v->axes[v->rank - 1]);
    const int axes[2] = {x->stream, v->axes[v->rank - 1]};
    lower_product(x, &x->inside, axes, x->lane, lower_ref(x, &v->operand[pairs]), vectors, x->lowered[number].array,
                  FOLD_SUM)
        ->where = v->where;
}
