/* Builds running sums along the keys of a row, such as those of stick-breaking attention (Tan et al., 2024) and of
   contextual positions (Golovneva et al., 2024). */
#include "builder.h"

/* Returns what the running sum adds for each pair. Pairs that the mask hides because of s add 0. */
static int summand(struct builder *x, const struct running_sum *o, int s)
{
    int pair[5];
    const int rank = build_pair(x, pair);
    struct operands operands = {0};
    const struct expr *const score = o->sum->uses[NAME_s] ? build_read(x, &operands, graph_ref(x->g, s, NULL))
                                                          : build_real(x, 0),
                             *const e = build_expression(x, o->sum, score, &operands);
    return build_shown(x, graph_map(x->g, rank, pair, operands.count, operands.ref, e), s, x->q, x->k);
}

void build_running(struct builder *x)
{
    const struct spec *const spec = x->spec;
    const struct user_arrays *const all = &spec->arrays;
    for (int k = 0; k < all->named; k++)
        if (all->array[all->count + k].type == ARRAY_RUNNING) x->named[k] = -1;
    if (!spec->runnings) return;
    const int drawn = x->drawn, s = build_inner(x, x->q, x->k);
    const struct expr *const region = build_region(x);
    x->drawn = drawn;
    for (int n = 0; n < spec->runnings; n++) {
        const struct running_sum *const o = &spec->running[n];
        const int own = summand(x, o, s);
        const struct value v = x->g->value[own];
        const int later = graph_scan(x->g, v.rank, v.axes, graph_ref(x->g, own, NULL), true, region),
                  both[] = {later, own};
        x->named[o->name - all->array - all->count] = !o->own ? later
                                                              : build_map_over(x, &v, v.rank, 2, both,
                                                                               build_add(x, build_operand(x, 0),
                                                                                         build_operand(x, 1)));
    }
}
