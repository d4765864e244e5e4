/* Merges two states of a graph by chunks that its values read in the same way.
   - The gradient with respect to a key reads A, which sums later queries, and B, which sums the solution z of the SOLVE
     of gradients over later keys: f(A) + f(B) becomes f(A + B), because f is linear.
   - z depends on A and on its own sum over later keys, which is the same function of B. So the sum A + B is the only
     state that loops need.
   - In forward, A sums the values of keys that the delta rule does not correct, and B those that it writes. */
#include "differentiate.h"
#include "../pass.h"

struct merging {
    struct reversal *x;
    struct graph *g;
    int solve;     /* z */
    int far;       /* the term of the values of z that reads A */
    int state[2];  /* A and B */
    int sum;       /* A + B, or -1 if it is not made yet */
    int *made;     /* for each value: 1 + the number of its copy */
    int *with_sum; /* for each value: 1 + the number of its copy that reads A + B instead of A */
    int known;     /* the number of values that can have copies */
};

/* A value as a multiple of another one: constant * factor. */
struct multiple {
    double constant;
    struct ref factor; /* factor.of is -1 if there is none */
};

static bool multiple_of(const struct merging *p, int v, const struct ref *base, struct multiple *m);

/* Multiplies *m by expression e over the operands of v. One factor of e must lead to `base`. *found tells whether it
   did. */
static bool multiply(const struct merging *p, const struct value *v, const struct expr *e, const struct ref *base,
                     bool *found, struct multiple *m)
{
    if (e->op == EXPR_MUL)
        return multiply(p, v, e->arg[0], base, found, m) && multiply(p, v, e->arg[1], base, found, m);
    if (e->op == EXPR_NEG || (e->op == EXPR_SUB && expr_is_real(e->arg[0], 0))) {
        m->constant = -m->constant;
        return multiply(p, v, e->arg[e->op == EXPR_SUB], base, found, m);
    }
    if (e->op == EXPR_REAL) {
        m->constant *= e->real;
        return true;
    }
    if (e->op != EXPR_OPERAND) return false;
    const struct ref *const r = &v->operand[e->integer];
    if (!*found && (ref_equal(r, base) || (graph_is_plain(p->g, r) && multiple_of(p, r->of, base, m))))
        return *found = true;
    if (m->factor.of >= 0) return false;
    m->factor = *r;
    return true;
}

/* Multiplies *m by v / base, for a value `base` that v reads as it is, or as the reference `base` does. Returns false
   if v is no plain multiple of it. */
static bool multiple_of(const struct merging *p, int v, const struct ref *base, struct multiple *m)
{
    const struct value *const value = &p->g->value[v];
    const struct multiple before = *m;
    bool found = false;
    if (v == base->of) return true;
    if (value->op == GRAPH_MAP && multiply(p, value, value->expr, base, &found, m) && found) return true;
    *m = before;
    return false;
}

/* Whether state B is minus the sum of keys times z that z itself is computed from. In forward, A is subtracted, so B is
   the sum itself. */
static bool is_own_sum(const struct merging *p, int state)
{
    const struct value *const v = &p->g->value[state], *const solve = &p->g->value[p->solve];
    if (v->op != GRAPH_CONTRACT || !is_carried_state(p->x, state)) return false;
    if (!solve->backward) return v->operand[0].of == p->solve || v->operand[1].of == p->solve;
    for (int k = 0; k < 2; k++) {
        struct multiple of_solution = {1, {.of = -1}}, of_keys = of_solution;
        const struct ref solution = graph_ref(p->g, p->solve, NULL);
        if (!multiple_of(p, v->operand[k].of, &solution, &of_solution) ||
            !multiple_of(p, solve->operand[SOLVE_KEYS].of, &v->operand[1 - k], &of_keys))
            continue;
        const bool factors = of_keys.factor.of >= 0 && of_solution.factor.of >= 0;
        return of_keys.constant == -of_solution.constant &&
               (factors ? ref_equal(&of_keys.factor, &of_solution.factor) : of_keys.factor.of == of_solution.factor.of);
    }
    return false;
}

/* Finds z, A and B. */
static bool find_states(struct merging *p, bool backward)
{
    int solves = 0;
    for (int v = 0; v < p->g->values; v++)
        if (p->g->value[v].op == GRAPH_SOLVE && p->g->value[v].backward == backward &&
            p->g->value[v].operands > (backward ? SOLVE_KEYS : SOLVE_FEATURES))
            p->solve = v, solves++;
    if (solves != 1) return false;
    const struct value *const solve = &p->g->value[p->solve],
                              *const values = &p->g->value[solve->operand[SOLVE_VALUES].of];
    if (values->op != GRAPH_MAP || backward == (values->expr->op == EXPR_NEG) ||
        !reversal_is_sum(backward ? values->expr : values->expr->arg[0]))
        return false;
    for (int k = 0; k < values->operands; k++) {
        const struct value *const far = &p->g->value[values->operand[k].of];
        for (int n = 0; n < 2 && far->op == GRAPH_CONTRACT; n++)
            if (is_carried_state(p->x, far->operand[n].of) &&
                far->operand[1 - n].of == solve->operand[SOLVE_FEATURES].of) {
                p->far = values->operand[k].of;
                p->state[0] = far->operand[n].of;
            }
    }
    for (int v = p->solve; v < p->g->values && p->state[0] >= 0; v++)
        if (is_own_sum(p, v)) p->state[1] = v;
    if (p->state[1] < 0) return false;
    const struct value *const a = &p->g->value[p->state[0]], *const b = &p->g->value[p->state[1]];
    bool same = a->rank == b->rank && a->keep == b->keep && a->operands == b->operands;
    for (int k = 0; k < a->rank && same; k++) same = a->axes[k] == b->axes[k];
    for (int k = 2; k < a->operands && same; k++) same = ref_equal(&a->operand[k], &b->operand[k]);
    return same;
}

/* Whether e is operand k times a factor that does not depend on it. */
static bool is_linear(const struct expr *e, const struct expr *operand)
{
    if (e == operand) return true;
    if (e->op == EXPR_NEG) return is_linear(e->arg[0], operand);
    if (e->op != EXPR_MUL) return false;
    const bool first = expr_uses(e->arg[0], operand);
    return !(first && expr_uses(e->arg[1], operand)) && is_linear(e->arg[!first], operand);
}

/* Whether v and w are the same linear function of A and B. */
static bool alike(const struct merging *p, int v, int w)
{
    const struct value *const a = &p->g->value[v], *const b = &p->g->value[w];
    int other = -1;
    if (v == p->state[0] && w == p->state[1]) return true;
    if (v == w || a->op != b->op || a->rank != b->rank || a->operands != b->operands || a->where != b->where ||
        a->expr != b->expr || a->keep || b->keep || a->op == GRAPH_SOLVE || !a->operands)
        return false;
    for (int k = 0; k < a->rank; k++)
        if (a->axes[k] != b->axes[k]) return false;
    for (int k = 0; k < a->operands; k++) {
        struct ref r = a->operand[k];
        if (ref_equal(&r, &b->operand[k])) continue;
        r.of = b->operand[k].of;
        if (other >= 0 || !ref_equal(&r, &b->operand[k])) return false;
        other = k;
    }
    const bool linear = other >= 0 && (a->op != GRAPH_MAP || is_linear(a->expr, expr_operand(p->x->m, other)));
    return linear && (a->op != GRAPH_REDUCE || a->fold == FOLD_SUM) &&
           alike(p, a->operand[other].of, b->operand[other].of);
}

static int copy_of(struct merging *p, int v);

/* Returns the copy of v that reads A + B instead of A. */
static int copy_with_sum(struct merging *p, int v)
{
    struct value copy = p->g->value[v];
    if (p->with_sum[v]) return p->with_sum[v] - 1;
    if (v == p->state[0]) {
        struct value sum = graph_value(GRAPH_MAP, copy.rank, copy.axes);
        const int a = copy_of(p, p->state[0]), b = copy_of(p, p->state[1]);
        const struct expr *const first = reversal_value(p->x, &sum, a);
        p->sum = reversal_map(p->x, &sum, expr_add(p->x->m, first, reversal_value(p->x, &sum, b)));
        p->with_sum[v] = p->sum + 1;
        return p->sum;
    }
    bool changed = false;
    for (int k = 0; k < copy.operands; k++) {
        const int of = copy.operand[k].of;
        copy.operand[k].of = copy_with_sum(p, of);
        changed |= p->with_sum[of] && p->with_sum[of] != p->made[of];
    }
    p->with_sum[v] = 1 + (changed ? reversal_append(p->x, copy) : copy_of(p, v));
    return p->with_sum[v] - 1;
}

/* Returns the copy of v in which sums have one term for A + B instead of two. */
static int copy_of(struct merging *p, int v)
{
    struct value copy = p->g->value[v];
    if (v >= p->known || (!copy.operands && copy.op != GRAPH_MAP)) return v;
    if (p->made[v]) return p->made[v] - 1;
    const struct expr *with[MAX_OPERANDS];
    bool merged[MAX_OPERANDS] = {false}, any = false;
    for (int k = 0; k < copy.operands; k++) with[k] = expr_operand(p->x->m, k);
    for (int k = 0; copy.op == GRAPH_MAP && reversal_is_sum(copy.expr) && k < copy.operands; k++)
        for (int n = 0; n < copy.operands; n++) {
            struct ref r = copy.operand[k];
            r.of = copy.operand[n].of;
            if (merged[k] || merged[n] || !ref_equal(&r, &copy.operand[n]) || !alike(p, copy.operand[k].of, r.of))
                continue;
            with[n] = expr_real(p->x->m, 0);
            merged[k] = merged[n] = any = true;
            copy.operand[k].of = copy_with_sum(p, copy.operand[k].of);
        }
    for (int k = 0; k < copy.operands; k++)
        if (!merged[k]) copy.operand[k].of = copy_of(p, copy.operand[k].of);
    int number;
    if (any) {
        struct value sum = graph_value(GRAPH_MAP, copy.rank, copy.axes);
        for (int k = 0; k < copy.operands; k++)
            if (!expr_is_real(with[k], 0)) with[k] = reversal_operand(p->x, &sum, copy.operand[k]);
        number = reversal_map(p->x, &sum, expr_bind(p->x->m, copy.expr, with));
    } else {
        if (v == p->solve) {
            copy.operands = SOLVE_FEATURES + 1;
            copy.keep = NULL;
        }
        number = reversal_append(p->x, copy);
    }
    p->made[v] = number + 1;
    return number;
}

/* Whether only A + B, and the values of z, read the states. */
static bool is_merged(const struct merging *p)
{
    const struct graph *const g = p->g;
    bool *const needed = arena_alloc(g->module->arena, (size_t)g->values * sizeof *needed), merged = p->sum >= 0;
    const int a = p->made[p->state[0]] - 1, b = p->made[p->state[1]] - 1, far = p->made[p->far] - 1,
              values = p->made[g->value[p->solve].operand[SOLVE_VALUES].of] - 1;
    for (int o = 0; o < g->outputs; o++) graph_mark(g, g->output[o].value, needed);
    for (int v = 0; v < g->values && merged; v++)
        for (int k = 0; k < g->value[v].operands && needed[v]; k++) {
            const int of = g->value[v].operand[k].of;
            if (of == a) merged &= v == p->sum || v == far;
            if (of == b) merged &= v == p->sum;
            if (of == far) merged &= v == values;
            if (of == values) merged &= g->value[v].op == GRAPH_SOLVE;
        }
    return merged;
}

void merge_states(struct compilation *c, struct graph *g)
{
    struct reversal reversal = {.c = c, .g = g, .m = g->module}, *x = &reversal;
    const int known = g->values, outputs = g->outputs;
    struct merging merging = {.x = x, .g = g, .solve = -1, .far = -1, .state = {-1, -1}, .sum = -1, .known = known},
                   *p = &merging;
    int *const before = arena_alloc(x->m->arena, (size_t)outputs * sizeof *before);
    if (!find_states(p, program_is_differentiated(&c->program))) return;
    p->made = arena_alloc(x->m->arena, 4 * (size_t)known * sizeof *p->made); /* copies can be twice as many */
    p->with_sum = p->made + 2 * known;
    for (int o = 0; o < outputs; o++) before[o] = g->output[o].value;
    for (int o = 0; o < outputs; o++) g->output[o].value = copy_of(p, before[o]);
    if (is_merged(p)) return;
    g->values = known;
    for (int o = 0; o < outputs; o++) g->output[o].value = before[o];
}

void pass_merge_states(struct compilation *c)
{
    if (program_is_differentiated(&c->program)) return;
    merge_states(c, c->graph);
    graph_sweep(c->graph);
}
