/* What the program of the gradients need not compute again, because the forward program leaves it behind: O(1) numbers
   a row. These are the values that have the run-time axes of the output alone, come from a sum over a sequence, not
   from `dout`, and are used by something else than one another: the logarithm of a row's sum, or its inverse. */
#include "differentiate.h"

static void mark(const struct graph *g, int v, bool *needed)
{
    if (needed[v]) return;
    needed[v] = true;
    for (int k = 0; k < g->value[v].operands; k++) mark(g, g->value[v].operand[k].of, needed);
}

/* Whether value v sums over a sequence. */
static bool sums_sequence(const struct reversal *x, const struct value *v)
{
    uint32_t read = v->where ? expr_axes(v->where) : 0;
    if (v->op != GRAPH_CONTRACT && v->op != GRAPH_REDUCE) return false;
    for (int k = 0; k < v->operands; k++) read |= ref_axes(&v->operand[k]);
    for (int a = 0; a < x->m->axes; a++)
        if ((read >> a & 1) && !value_has_axis(v, a) && axis_is_sequence(&x->m->axis[a])) return true;
    return false;
}

void reversal_save_rows(struct reversal *x)
{
    struct graph *g = x->g, *forward = graph_copy(g);
    size_t bytes = (size_t)g->values * sizeof(bool);
    bool *needed = arena_alloc(x->m->arena, bytes), *late = arena_alloc(x->m->arena, bytes),
         *sums = arena_alloc(x->m->arena, bytes), *row = arena_alloc(x->m->arena, bytes),
         *saved = arena_alloc(x->m->arena, bytes);
    const struct value *out = &g->value[x->out];
    for (int o = 0; o < g->outputs; o++) mark(g, g->output[o].value, needed);
    for (int v = 0; v < g->values; v++) {
        const struct value *value = &g->value[v];
        late[v] = v == x->given_out || v == x->given_dout;
        sums[v] = sums_sequence(x, value);
        bool same = value->operands > 0;
        for (int k = 0; k < value->rank; k++)
            same &= value_has_axis(out, value->axes[k]) && x->m->axis[value->axes[k]].source != SIZE_CONSTANT;
        for (int k = 0; k < out->rank; k++)
            same &= x->m->axis[out->axes[k]].source == SIZE_CONSTANT || value_has_axis(value, out->axes[k]);
        for (int k = 0; k < value->operands; k++) {
            late[v] |= late[value->operand[k].of];
            sums[v] |= sums[value->operand[k].of];
        }
        row[v] = same && sums[v] && !late[v];
    }
    for (int v = 0; v < g->values; v++)
        for (int k = 0; k < g->value[v].operands; k++)
            saved[g->value[v].operand[k].of] |= needed[v] && !row[v] && row[g->value[v].operand[k].of];
    forward->outputs = 0;
    graph_output(forward, x->out_name, x->out);
    for (int v = 0, count = 0; v < g->values; v++) {
        if (!saved[v]) continue;
        const char *name = arena_printf(x->m->arena, "saved_%d", count++);
        struct value given = graph_value(GRAPH_INPUT, g->value[v].rank, g->value[v].axes);
        given.name = name;
        g->value[v] = given; /* its number stays */
        graph_output(forward, name, v);
    }
    graph_sweep(forward);
    x->c->forward = forward;
}
