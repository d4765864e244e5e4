/* Divides the gradients of a SOLVE into parts that one loop over chunks each can compute.
   - States of earlier keys run from the first chunk on, states of later queries from the last chunk on. A value's
     direction is that of the states that it depends on: 1, -1, or 0 without states.
   - The first part is what forward's solution is made of, r = values - the sum over earlier keys. The solution is
     rate * r, and <z, r> is the gradient with respect to the rate.
   - Values of direction -1 that values of direction 1 need become parts. So the order is r, direction -1, direction 1.
   - Sums over pairs of a chunk have no direction. If direction 1 adds them to others, they join the parts of direction
     -1, which compute most of these pairs anyway. */
#include "differentiate.h"

#include <string.h>

struct chunks {
    struct reversal *x;
    struct graph *g;
    struct module *m;
    int known;      /* the number of values before copies are made */
    int *direction; /* for each known value */
    bool *of_pairs; /* for each known value: whether it depends on pairs of a chunk */
    int *made[2];   /* for each known value: 1 + the number of its copy. [1] is for values of direction 1 */
    int *part;      /* for each known value: 1 + the number of the input that reads it as a part */
    int residual;   /* the input that reads r, or -1 */
    int parts;      /* the number of parts so far */
    /* of_elements: values of pairs have elements, such as a decay for each element. Forward computes these in another
       way, so its solution has other bits, and is not saved. */
    bool of_elements;
    bool failed; /* loops over chunks cannot compute these gradients */
};

/* Returns the number of sequences in a set of axes: 0, 1, or 2 for several. */
static int sequences_in(const struct chunks *p, uint32_t axes)
{
    axes &= axes_of_sequences(p->m);
    return !axes ? 0 : axes_only(axes) >= 0 ? 1 : 2;
}

/* Returns the direction in which the chunks of a carried state run, or 0 if its region is of another kind. */
static int direction_of_state(const struct chunks *p, const struct value *v)
{
    const struct expr *const where = v->where;
    if (!where || where->op != EXPR_LT || where->arg[0]->op != EXPR_INDEX) return 0;
    return axis_is_chunks(&p->m->axis[where->arg[0]->integer]) ? -1 : 1;
}

static void find_direction(struct chunks *p, int v)
{
    const struct value *const value = &p->g->value[v];
    const bool state = is_carried_state(p->x, v), sums = value->op == GRAPH_CONTRACT || value->op == GRAPH_REDUCE;
    const uint32_t own = value_axes(value);
    int *const direction = &p->direction[v];
    p->of_elements |= (own & axes_with_size(p->m, SIZE_CONSTANT)) && sequences_in(p, own) > 1;
    p->of_pairs[v] = sums && sequences_in(p, value_read_axes(value) & ~own) > 0;
    if (v == p->x->solution || v == p->x->residual || reversal_is_saved(p->x, v)) {
        p->of_pairs[v] = false;
        return;
    }
    if (value->op == GRAPH_SOLVE) *direction = value->backward ? -1 : 1;
    if (state) *direction = direction_of_state(p, value);
    p->failed |= state && !*direction;
    for (int k = 0; k < value->operands; k++) {
        const int of = value->operand[k].of, other = p->direction[of];
        p->of_pairs[v] |= p->of_pairs[of] || sequences_in(p, own) > 1;
        if (other && (!*direction || other > *direction)) {
            p->failed |= *direction < 0 && (state || value->op == GRAPH_SOLVE);
            *direction = other;
        }
    }
}

/* Appends an input `name` that reads `made` as a part, and the output that leaves it. */
static int read_part(struct chunks *p, int made, const char *name)
{
    const struct value *const v = &p->g->value[made];
    struct value given = graph_value(GRAPH_INPUT, v->rank, v->axes);
    given.sums = v->rank && p->m->axis[v->axes[v->rank - 1]].source == SIZE_CONSTANT;
    given.name = name ? name : arena_printf(p->m->arena, "linear_part_%d", p->parts);
    p->parts++;
    p->failed |= (value_axes(v) & (axes_with_size(p->m, SIZE_N_Q) | axes_of_chunks(p->m))) != 0;
    p->failed |= sequences_in(p, value_axes(v)) != 1 || p->g->outputs == MAX_OUTPUTS;
    graph_output(p->g, given.name, made);
    return reversal_append(p->x, given);
}

static int copy_of(struct chunks *p, int v, int direction);

/* Returns a value of direction 1 that is equal to v, a value of direction -1. It is a part, or a map of a smaller
   part. */
static int taken(struct chunks *p, int v)
{
    const struct value *const value = &p->g->value[v];
    int only = -1;
    bool cheap = value->op == GRAPH_MAP;
    for (int k = 0; k < value->operands; k++) {
        const int of = value->operand[k].of;
        cheap &= !p->of_pairs[of] || p->direction[of] < 0;
        if (p->direction[of] >= 0) continue;
        cheap &= only < 0 || only == of;
        only = of;
    }
    if (cheap && only >= 0 && graph_constant_elements(p->g, only) <= graph_constant_elements(p->g, v)) {
        struct value map = *value;
        for (int k = 0; k < map.operands; k++) map.operand[k].of = copy_of(p, map.operand[k].of, 1);
        return reversal_append(p->x, map);
    }
    if (!p->part[v]) p->part[v] = 1 + read_part(p, copy_of(p, v, -1), NULL);
    return p->part[v] - 1;
}

/* Returns the copy of v, a sum of direction 1. The terms that direction -1 can compute become one part. */
static int copy_of_sum(struct chunks *p, int v)
{
    struct value all = p->g->value[v], before = graph_value(GRAPH_MAP, all.rank, all.axes), after = before;
    const struct expr *with[MAX_OPERANDS], *without[MAX_OPERANDS];
    bool any = false;
    for (int k = 0; k < all.operands; k++) {
        struct ref r = all.operand[k];
        const bool first = p->direction[r.of] < 0 || (!p->direction[r.of] && p->of_pairs[r.of]);
        const bool here = first && !(value_axes(&p->g->value[r.of]) & axes_with_size(p->m, SIZE_N_Q));
        any |= here;
        r.of = copy_of(p, r.of, here ? -1 : 1);
        const struct expr *const read = reversal_operand(p->x, here ? &before : &after, r), *const none = expr_real(
                                                                                                p->m, 0);
        with[k] = here ? read : none;
        without[k] = here ? none : read;
    }
    const struct expr *e = expr_bind(p->m, all.expr, without);
    if (any) {
        before.expr = expr_bind(p->m, all.expr, with);
        const int part = read_part(p, reversal_append(p->x, before), NULL);
        e = expr_add(p->m, e, reversal_value(p->x, &after, part));
    }
    after.expr = e;
    return reversal_append(p->x, after);
}

/* Returns the input that reads r. */
static int residual(struct chunks *p)
{
    if (p->residual < 0)
        p->residual = read_part(p, reversal_residual_system(p->x), p->of_elements ? NULL : SAVED_SOLUTION);
    return p->residual;
}

/* Returns the number of a copy of v that a loop of this direction can compute. The copy follows its operands. */
static int copy_of(struct chunks *p, int v, int direction)
{
    int *const made = &p->made[direction > 0][v];
    struct value copy = p->g->value[v];
    if (*made) return *made - 1;
    p->failed |= direction < 0 && p->direction[v] > 0;
    if (p->failed || (!copy.operands && copy.op != GRAPH_MAP)) return v;
    int number;
    if (v == p->x->solution) {
        struct ref rate = copy.operand[SOLVE_RATE];
        struct value map = graph_value(GRAPH_MAP, copy.rank, copy.axes);
        rate.of = copy_of(p, rate.of, direction);
        const struct expr *const r = reversal_value(p->x, &map, residual(p));
        map.expr = expr_mul(p->m, r, reversal_operand(p->x, &map, rate));
        number = reversal_append(p->x, map);
    } else if (v == p->x->residual) {
        copy.operands = 1;
        copy.operand[0] = graph_ref(p->g, residual(p), NULL);
        for (int k = 0; k < copy.rank; k++) copy.operand[0].sub[k] = expr_index(p->m, copy.axes[k]);
        copy.expr = expr_operand(p->m, 0);
        number = reversal_append(p->x, copy);
    } else if (direction > 0 && p->direction[v] < 0)
        number = taken(p, v);
    else if (p->direction[v] > 0 && copy.op == GRAPH_MAP && reversal_is_sum(copy.expr))
        number = copy_of_sum(p, v);
    else {
        for (int k = 0; k < copy.operands; k++) copy.operand[k].of = copy_of(p, copy.operand[k].of, direction);
        number = reversal_append(p->x, copy);
    }
    *made = number + 1;
    return number;
}

/* Whether v is a sum over sequences or heads, such as the gradient with respect to a rate that they share. Tasks of a
   loop over chunks are heads, which cannot add to the same elements. */
static bool is_shared(const struct reversal *x, const struct value *v)
{
    return !(value_axes(v) & axes_with_size(x->m, SIZE_BATCH)) ||
           !(value_axes(v) & axes_with_size(x->m, SIZE_KV_HEADS));
}

bool reversal_cut_by_chunks(struct reversal *x, int *count)
{
    struct graph *const g = x->g;
    const int known = g->values, gradients = g->outputs;
    struct arena *const arena = x->m->arena;
    int *const ints = arena_alloc(arena, 4 * (size_t)known * sizeof *ints), result[MAX_OUTPUTS];
    bool *const bools = arena_alloc(arena, 2 * (size_t)known * sizeof *bools), *const needed = bools + known;
    struct chunks chunks = {.x = x,
                            .g = g,
                            .m = x->m,
                            .known = known,
                            .direction = ints,
                            .made = {ints + known, ints + 2 * known},
                            .part = ints + 3 * known,
                            .of_pairs = bools,
                            .residual = -1},
                  *p = &chunks;
    if (!reversal_has_solution_state(x)) return false;
    for (int o = 0; o < gradients; o++) {
        if (is_shared(x, &g->value[g->output[o].value])) return false;
        graph_mark(g, g->output[o].value, needed);
    }
    for (int v = 0; v < known; v++) {
        if (!needed[v]) continue;
        if (reversal_is_total(x->m, &g->value[v])) return false; /* slices of totals are sums over other rows */
        find_direction(p, v);
    }
    for (int o = 0; o < gradients && !p->failed; o++) {
        const int v = g->output[o].value;
        result[o] = copy_of(p, v, p->direction[v] > 0 ? 1 : -1);
    }
    if (p->failed) {
        g->values = known;
        g->outputs = gradients;
        return false;
    }
    for (int o = 0; o < gradients; o++) g->output[o].value = result[o];
    *count = p->parts;
    return g->by_chunks = true;
}
