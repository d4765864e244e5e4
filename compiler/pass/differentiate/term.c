/* Helpers for the rules of reverse mode. They report errors, build maps, and find axes of values. */
#include "differentiate.h"
#include "../../spec/spec.h"

#include <string.h>

static void fail_at(struct reversal *x, struct position at, const char *what)
{
    if (!x->failed) diagnostics_error(x->c->diagnostics, at, "the gradient of %s is not compiled yet", what);
    x->failed = true;
}

void reversal_fail(struct reversal *x, const char *what)
{
    fail_at(x, NO_POSITION, what);
}

void reversal_fail_array(struct reversal *x, int v, const char *what)
{
    const struct user_arrays none = {0}, *const all = x->c->spec ? &x->c->spec->arrays : &none;
    const char *const name = x->g->value[v].name;
    struct position at = {0, 0};
    for (int k = 0; k < all->count && name; k++)
        if (strcmp(all->array[k].name, name) == 0) at = all->array[k].at;
    const bool first = !x->failed && at.line;
    fail_at(x, at, what);
    if (first)
        diagnostics_note(x->c->diagnostics, at,
                         "an array of 'type: int' has no gradient, so it may be read at any subscript");
}

/* ---- building values ---- */

int reversal_append(struct reversal *x, struct value v)
{
    graph_insert(x->g, x->g->values, v);
    return x->g->values - 1;
}

const struct expr *reversal_operand(struct reversal *x, struct value *map, struct ref r)
{
    int number = graph_operand(map, &r);
    if (number < 0) reversal_fail(x, "too many operands");
    return expr_operand(x->m, number < 0 ? 0 : number);
}

const struct expr *reversal_value(struct reversal *x, struct value *map, int v)
{
    return reversal_operand(x, map, graph_ref(x->g, v, NULL));
}

uint32_t reversal_axes(const struct reversal *x, int v)
{
    return value_axes(&x->g->value[v]);
}

uint32_t reversal_axes_within(const struct reversal *x, const struct value *v, const struct expr *e)
{
    uint32_t bits = expr_axes(e);
    for (int k = 0; k < v->operands; k++)
        if (expr_uses(e, expr_operand(x->m, k))) bits |= ref_axes(&v->operand[k]);
    return bits;
}

int reversal_map(struct reversal *x, struct value *map, const struct expr *e)
{
    struct value made = graph_value(GRAPH_MAP, 0, NULL);
    const struct expr *with[MAX_OPERANDS];
    uint32_t used = reversal_axes_within(x, map, e);
    for (int k = 0; k < map->operands; k++) {
        with[k] = expr_operand(x->m, k);
        if (expr_uses(e, with[k])) with[k] = expr_operand(x->m, graph_operand(&made, &map->operand[k]));
    }
    for (int k = 0; k < map->rank; k++)
        if (used >> map->axes[k] & 1) made.axes[made.rank++] = map->axes[k];
    made.expr = expr_bind(x->m, e, with);
    return reversal_append(x, made);
}

int reversal_chunk_axis(const struct reversal *x, const struct value *v)
{
    return axes_first(value_axes(v) & axes_of_chunks(x->m));
}

bool is_carried_state(const struct reversal *x, int v)
{
    const struct value *value = &x->g->value[v];
    return (value->op == GRAPH_CONTRACT || value->op == GRAPH_REDUCE) && reversal_chunk_axis(x, value) >= 0;
}

bool reversal_is_saved(const struct reversal *x, int v)
{
    return v < x->forward &&
           reversal_axes(x, v) == (reversal_axes(x, x->given_out) & ~axes_with_size(x->m, SIZE_CONSTANT));
}

bool reversal_is_sum(const struct expr *e)
{
    return e->op == EXPR_ADD ? reversal_is_sum(e->arg[0]) && reversal_is_sum(e->arg[1]) : e->op == EXPR_OPERAND;
}
