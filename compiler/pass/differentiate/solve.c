/* The gradient with respect to the operands of a SOLVE, u[t] = rate[t] * (v[t] - sum over j < t of w[t][j] * u[j]).
   Let du be the gradient with respect to u.
   - z[j] = du[j] - sum over t > j of w[t][j] * rate[t] * z[t]. This is a SOLVE of the transposed system, from the
     last key to the first.
   - The gradient with respect to v[t] is rate[t] * z[t].
   - The gradient with respect to rate[t] is <z[t], v[t] - the sum over j>.
   - The gradient with respect to the sum over j is -rate[t] * z[t]. As for any sum over keys, it is passed on to
     the weights of keys in the chunk of t, and to the features of earlier keys. */
#include "differentiate.h"

/* The SOLVE whose gradient is computed. */
struct solution {
    int number, along, rows; /* the number of its value, its sequence, and the axis of its equations */
    int state;               /* the carried state that sums the solution, or -1 */
    /* The parts of the sum over j < t: in the chunk of t, and before this chunk. -1: no such part. */
    int near, far;
};

/* Returns r with the index of the equations instead of the index along the solution. */
static struct ref at_rows(const struct reversal *x, const struct solution *s, struct ref r)
{
    for (int k = 0; k < r.rank; k++)
        r.sub[k] = expr_replace(x->m, r.sub[k], expr_index(x->m, s->along), expr_index(x->m, s->rows));
    return r;
}

/* Returns value v as an operand along the equations. */
static struct ref value_at_rows(const struct reversal *x, const struct solution *s, int v)
{
    return at_rows(x, s, graph_ref(x->g, v, NULL));
}

/* Returns an unfinished value with the axes of the SOLVE, along the equations. */
static struct value like_rows(const struct reversal *x, const struct solution *s, enum graph_op op)
{
    const struct value *const solve = &x->g->value[s->number];
    struct value v = graph_value(op, solve->rank, solve->axes);
    for (int k = 0; k < v.rank; k++)
        if (v.axes[k] == s->along) v.axes[k] = s->rows;
    return v;
}

/* Returns the number of the carried state that sums the solution, or -1. */
static int state_of(const struct reversal *x, int solve)
{
    for (int v = 0; v < x->forward; v++)
        if (is_carried_state(x, v) && x->g->value[v].op == GRAPH_CONTRACT &&
            (x->g->value[v].operand[0].of == solve || x->g->value[v].operand[1].of == solve))
            return v;
    return -1;
}

/* Makes both parts of the sum over j < t, s->near and s->far. */
static void make_sum(struct reversal *x, struct solution *s)
{
    const struct value solve = x->g->value[s->number];
    struct value near = like_rows(x, s, GRAPH_CONTRACT), far = near;
    near.operands = far.operands = 2;
    near.operand[0] = solve.operand[SOLVE_WEIGHTS];
    near.operand[1] = graph_ref(x->g, s->number, NULL);
    const struct expr *const of_key = expr_index(x->m, s->along), *const of_row = expr_index(x->m, s->rows);
    near.where = expr_lt(x->m, of_key, of_row);
    if (solve.where && solve.where != expr_le(x->m, of_key, of_row))
        near.where = expr_and(x->m, solve.where, near.where);
    if (s->state >= 0) {
        const struct value state = x->g->value[s->state];
        const int chunk = reversal_chunk_axis(x, &state);
        const struct expr *const length = expr_int(x->m, x->m->axis[chunk].extent),
                                 *const number = expr_div(x->m, expr_max(x->m, of_row, expr_int(x->m, 0)), length),
                                 *const begins = expr_le(x->m, expr_mul(x->m, number, length), of_key);
        near.where = expr_and(x->m, near.where, begins);
        far.operand[0] = solve.operand[SOLVE_FEATURES];
        far.operand[1] = graph_ref(x->g, s->state, NULL);
        for (int k = 0; k < state.rank; k++)
            if (state.axes[k] == chunk) far.operand[1].sub[k] = number;
        s->far = reversal_append(x, far);
    }
    s->near = reversal_append(x, near);
}

/* Returns the map a * b over the axes of `like`. */
static int product(struct reversal *x, const struct value *like, struct ref a, struct ref b)
{
    struct value map = graph_value(GRAPH_MAP, like->rank, like->axes);
    const struct expr *const first = reversal_operand(x, &map, a);
    return reversal_map(x, &map, expr_mul(x->m, first, reversal_operand(x, &map, b)));
}

/* Sets the factor `keep` of a SOLVE to that of a state, whose operands of `keep` become operands of the SOLVE. */
static void take_keep(struct reversal *x, struct value *solve, const struct value *state)
{
    const struct expr *with[MAX_OPERANDS];
    for (int k = 0; k < state->operands && state->keep; k++) {
        with[k] = expr_operand(x->m, k < 2 ? k : solve->operands);
        if (k >= 2) solve->operand[solve->operands++] = state->operand[k];
    }
    if (state->keep) solve->keep = expr_bind(x->m, state->keep, with);
}

/* Returns the keys of a SOLVE: the features that a state sums, times the rate. */
static struct ref scaled_keys(struct reversal *x, struct ref features, struct ref rate)
{
    struct value like = graph_value(GRAPH_MAP, 0, NULL);
    for (int k = 0; k < features.rank; k++) like.axes[like.rank++] = ref_axis(&features, k);
    for (int k = 0; k < rate.rank; k++) {
        const int axis = ref_axis(&rate, k);
        if (axis >= 0 && !value_has_axis(&like, axis)) like.axes[like.rank++] = axis;
    }
    return graph_ref(x->g, product(x, &like, features, rate), NULL);
}

static struct ref rate_of_one(struct reversal *x, int axis)
{
    return graph_ref(x->g, graph_map(x->g, 1, &axis, 0, NULL, expr_real(x->m, 1)), NULL);
}

/* Whether r differs among the members of a key/value head, but the SOLVE does not. */
static bool differs_among_members(const struct reversal *x, const struct solution *s, const struct ref *r)
{
    for (int k = 0; k < r->rank; k++) {
        const int axis = ref_axis(r, k);
        if (axis >= 0 && x->m->axis[axis].source == SIZE_MEMBERS && !value_has_axis(&x->g->value[s->number], axis))
            return true;
    }
    return false;
}

/* Makes z, which has the axes of the SOLVE along the equations. `du` is the gradient with respect to the solution. */
static int solve_transposed(struct reversal *x, const struct solution *s, int du)
{
    const struct value solve = x->g->value[s->number];
    const struct ref rate = at_rows(x, s, solve.operand[SOLVE_RATE]), weights = solve.operand[SOLVE_WEIGHTS];
    struct value z = like_rows(x, s, GRAPH_SOLVE);
    z.backward = true;
    z.where = solve.where;
    z.operands = SOLVE_FEATURES;
    z.operand[SOLVE_WEIGHTS] = graph_ref(x->g, product(x, &x->g->value[weights.of], weights, rate), NULL);
    z.operand[SOLVE_VALUES] = value_at_rows(x, s, du);
    z.operand[SOLVE_RATE] = rate_of_one(x, s->rows);
    if (s->state >= 0) {
        const struct state_gather read = {
            s->far, 1, {product(x, &x->g->value[s->far], value_at_rows(x, s, du), rate), -1, NULL}};
        struct value after;
        struct ref keys;
        if (!reversal_state_after(x, s->state, &read, &after, &keys)) return -1;
        if (differs_among_members(x, s, &keys)) {
            reversal_fail(x, "the delta rule with keys that differ among the heads of a key/value head");
            return -1;
        }
        z.operand[SOLVE_FEATURES] = keys;
        z.operand[SOLVE_KEYS] = scaled_keys(x, after.operand[0], rate);
        z.operands = SOLVE_KEYS + 1;
        take_keep(x, &z, &after);
    }
    return reversal_append(x, z);
}

/* Adds <z, v - the sum over j> to the gradient with respect to the rate. */
static void give_rate(struct reversal *x, const struct solution *s, int z)
{
    const struct value solve = x->g->value[s->number];
    const struct ref rate = at_rows(x, s, solve.operand[SOLVE_RATE]);
    if (!x->active[rate.of]) return;
    struct value left = like_rows(x, s, GRAPH_MAP), sum = graph_value(GRAPH_CONTRACT, 0, NULL);
    const struct expr *e = reversal_operand(x, &left, at_rows(x, s, solve.operand[SOLVE_VALUES]));
    e = expr_sub(x->m, e, reversal_value(x, &left, s->near));
    if (s->far >= 0) e = expr_sub(x->m, e, reversal_value(x, &left, s->far));
    const int rest = reversal_map(x, &left, e);
    x->residual = rest;
    for (int k = 0; k < rate.rank; k++)
        if (ref_axis(&rate, k) >= 0) sum.axes[sum.rank++] = ref_axis(&rate, k);
    sum.operands = 2;
    sum.operand[0] = graph_ref(x->g, z, NULL);
    sum.operand[1] = graph_ref(x->g, rest, NULL);
    reversal_give_back(x, &rate, (struct gradient_term){reversal_append(x, sum), -1, NULL});
}

void reverse_solve(struct reversal *x, int number, struct gradient_term t)
{
    struct solution solution = {.number = number, .state = state_of(x, number), .near = -1, .far = -1}, *s = &solution;
    const struct value solve = x->g->value[number];
    graph_solve_axes(x->m, &solve, &s->along, &s->rows);
    if (solve.operands <= SOLVE_FEATURES) s->state = -1;
    x->active[number] = false; /* z already has the solution's gradient, so the rules below must add nothing to it */
    make_sum(x, s);
    const int z = x->failed ? -1 : solve_transposed(x, s, reversal_plain(x, t).value);
    if (z < 0) return;
    x->solution = number;
    x->transposed = z;
    const struct value like = like_rows(x, s, GRAPH_MAP);
    const struct ref rate = at_rows(x, s, solve.operand[SOLVE_RATE]),
                     values = at_rows(x, s, solve.operand[SOLVE_VALUES]);
    const int given = product(x, &like, graph_ref(x->g, z, NULL), rate);
    reversal_give_back(x, &values, (struct gradient_term){given, -1, NULL});
    give_rate(x, s, z);
    struct value negative = like;
    const struct expr *const e = expr_sub(x->m, expr_real(x->m, 0), reversal_value(x, &negative, given));
    const struct gradient_term of_sum = {reversal_map(x, &negative, e), -1, NULL};
    reversal_contract_rule(x, s->near, of_sum);
    if (s->far >= 0) reversal_contract_rule(x, s->far, of_sum);
}

bool reversal_has_solution_state(const struct reversal *x)
{
    return x->g->value[x->solution].operands > SOLVE_FEATURES && state_of(x, x->solution) >= 0;
}

int reversal_residual_system(struct reversal *x)
{
    const struct value solve = x->g->value[x->solution], state = x->g->value[state_of(x, x->solution)];
    const struct ref rate = solve.operand[SOLVE_RATE], weights = solve.operand[SOLVE_WEIGHTS];
    struct value r = solve;
    int along, rows;
    graph_solve_axes(x->m, &solve, &along, &rows);
    r.operand[SOLVE_WEIGHTS] = graph_ref(x->g, product(x, &x->g->value[weights.of], weights, rate), NULL);
    r.operand[SOLVE_RATE] = rate_of_one(x, along);
    r.operand[SOLVE_KEYS] = scaled_keys(x, state.operand[state.operand[0].of == x->solution], rate);
    r.operands = SOLVE_KEYS + 1;
    take_keep(x, &r, &state);
    return reversal_append(x, r);
}
