/* Sums over the lanes, one vector for each point of the stream, that a sweep makes beside the sums over the stream: for
   every tile of the lanes its products are added to what the tiles before it have left. So the loop over the lanes is
   ordered, and its first iteration sets the sums to 0. */
#include "lower.h"

#include <string.h>

bool lower_sums_across(const struct lowering *x, const struct value *v)
{
    bool lanes = false;
    for (int k = 0; k < v->operands; k++) lanes |= ref_uses_axis(&v->operand[k], x->lane);
    return v->op == GRAPH_CONTRACT && lanes && x->stream >= 0 && value_has_axis(v, x->stream) &&
           !value_has_axis(v, x->lane) && graph_is_output(x->g, (int)(v - x->g->value));
}

static const char *output_name(const struct graph *g, int v)
{
    int o = 0;
    while (g->output[o].value != v) o++;
    return g->output[o].name;
}

void lower_begin_across(struct lowering *x)
{
    struct stmt **inside = lower_new_list(x), *first = NULL;
    const struct expr *zero = expr_int(x->m, 0);
    struct stmt **nest = inside;
    for (int v = 0; v < x->g->values; v++) {
        if (x->lowered[v].stage != ACROSS) continue;
        const struct value *value = &x->g->value[v];
        struct array a = {.kind = ARRAY_OUTPUT,
                          .name = output_name(x->g, v),
                          .dtype = dtype_of_sums(x->m->dtype),
                          .rank = value->rank,
                          .sums = true,
                          .offset = -1};
        memcpy(a.axes, value->axes, sizeof a.axes);
        x->lowered[v].array = loops_array(x->l, a);
        if (!first) { /* the loops that all of them share */
            first = lower_append(x, &x->before, LOOPS_IF);
            first->axis = x->lane;
            first->where = expr_make(x->m, EXPR_LE, expr_leaf(x->m, EXPR_LO, x->lane), zero, NULL);
            nest = &first->body;
            for (int axis = 0; axis <= x->m->axes; axis++) {
                const bool stream = axis == x->m->axes;
                const int over = stream ? x->stream : axis;
                if (!stream && !(x->outer >> axis & 1)) continue;
                struct stmt *loop = lower_loop_over(x, &nest, over, zero, expr_leaf(x->m, EXPR_SIZE, over),
                                                    stream ? x->c->tile_k : 1);
                nest = &loop->body;
            }
        }
        const int axes[2] = {x->stream, value->axes[value->rank - 1]};
        lower_assign(x, &nest, 2, axes, x->lowered[v].array, FOLD_SET, expr_real(x->m, 0));
    }
}

/* The vectors of the lanes, one a row: a tile that has the lanes side by side is turned once for all of the stream. */
static struct ref rows_of_lanes(struct lowering *x, const struct ref *r, int column)
{
    const struct ref made = lower_ref(x, r);
    if (x->l->array[made.of].kind != ARRAY_TILE || ref_axis(&made, made.rank - 1) == column) return made;
    const int axes[2] = {x->lane, column};
    const int rows = lower_new_tile(x, arena_printf(x->m->arena, "%s_rows", x->l->array[made.of].name), 2, axes);
    struct stmt *copy = lower_append(x, &x->before, LOOPS_COPY);
    copy->rank = 2;
    memcpy(copy->axes, axes, sizeof axes);
    copy->operands = copy->assigns = 1;
    copy->operand[0] = made;
    copy->assign[0].to = loops_ref(x->l, rows);
    return copy->assign[0].to;
}

void lower_across(struct lowering *x, int number)
{
    const struct value *v = &x->g->value[number];
    const int pairs = value_has_axis(&x->g->value[v->operand[0].of], x->stream) ? 0 : 1;
    lower_apply_region(x, v, pairs, 0);
    const struct ref vectors = rows_of_lanes(x, &v->operand[1 - pairs], v->axes[v->rank - 1]);
    struct stmt *s = lower_append(x, &x->inside, LOOPS_DOT);
    s->rank = 2;
    s->axes[0] = x->stream;
    s->axes[1] = v->axes[v->rank - 1];
    s->axis = x->lane;
    s->operands = 2;
    s->operand[0] = lower_ref(x, &v->operand[pairs]);
    s->operand[1] = vectors;
    s->where = v->where;
    s->assigns = 1;
    s->assign[0] = (struct assign){loops_ref(x->l, x->lowered[number].array), FOLD_SUM, NULL, 0};
}
