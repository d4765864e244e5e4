/* Lowers the transitions of the states of a SOLVE, so that states of two runs of tokens can be joined. A run of tokens
   maps the state S before it to A S + B:
   - B is the state that begins with 0.
   - A is the transition. It is the state that begins with the identity if all values are 0.
   If a state does not sum the solution, its keys do not depend on S. Its transition has a number for each element, the
   product of the factors between chunks. */
#include "lower.h"
#include "../../schedule/schedule.h"

/* Returns a new axis with as many indices as axis `like`. */
static int axis_like(struct lowering *x, const char *name, int like)
{
    const char *const unused = module_find_axis(x->m, name) < 0 ? name
                                                                : arena_printf(x->m->arena, "%s%d", name, x->m->axes);
    return module_axis(x->m, unused, SIZE_CONSTANT, x->m->axis[like].extent);
}

bool lower_sums_solution(const struct lowering *x, const struct value *v)
{
    bool sums = false;
    for (int k = 0; k < v->operands; k++) sums |= v->operand[k].of == x->solve;
    return sums;
}

/* Makes the tile of a transition. */
static int new_transition(struct lowering *x, int state, int column)
{
    const int rank = x->l->array[state].rank, axes[2] = {x->l->array[state].axes[0], column},
              made = column < 0 ? lower_new_tile(x, "transition", rank, x->l->array[state].axes)
                                : lower_new_tile(x, "transition", 2, axes);
    x->l->array[made].shared = true;
    return made;
}

void lower_begin_transitions(struct lowering *x, struct stmt ***at)
{
    int column = -1;
    for (int v = 0; v < x->g->values; v++) {
        struct lowered_value *const own = &x->lowered[v];
        if (own->stage != STATE) continue;
        if (!lower_sums_solution(x, &x->g->value[v])) {
            own->transition = new_transition(x, own->array, -1);
            lower_set_constant(x, at, own->transition, 1);
            continue;
        }
        const int row = x->l->array[own->array].axes[0];
        if (column < 0) column = axis_like(x, "column", row);
        own->transition = new_transition(x, own->array, column);
        const struct expr *const diagonal = expr_eq(x->m, expr_index(x->m, row), expr_index(x->m, column));
        const int axes[2] = {row, column};
        lower_assign(x, at, 2, axes, own->transition, FOLD_SET,
                     expr_select(x->m, diagonal, expr_real(x->m, 1), expr_real(x->m, 0)));
    }
}

int lower_transitions(struct lowering *x, int rows)
{
    int transition = -1;
    for (int v = 0; v < x->g->values; v++)
        if (x->lowered[v].stage == STATE && lower_sums_solution(x, &x->g->value[v]))
            transition = x->lowered[v].transition;
    const struct expr *const shown = lower_shown(x, &x->g->value[x->solve].operand[SOLVE_FEATURES]),
                             *const read = expr_operand(x->m, 0);
    const int earlier = lower_earlier(x, transition, rows), *const axes = x->l->array[earlier].axes,
              nest[2] = {axes[0], axes[1]}, rest = lower_new_tile(x, "rest", 2, nest);
    struct stmt *const s = lower_assign(
        x, &x->end, 2, nest, rest, FOLD_SET,
        expr_neg(x->m, shown ? expr_select(x->m, shown, read, expr_real(x->m, 0)) : read));
    s->operand[s->operands++] = loops_ref(x->l, earlier);
    return lower_system(x, rest);
}

/* ---- joining two states ---- */

/* Copies a tile of rank 2, whose axes get the names row and column. Returns the copy. */
static int copy_as(struct lowering *x, struct stmt ***at, const char *name, int from, int row, int column)
{
    const int axes[2] = {row, column}, made = lower_new_tile(x, name, 2, axes);
    struct stmt *const s = lower_assign(x, at, 2, axes, made, FOLD_SET, expr_operand(x->m, 0));
    s->operand[s->operands] = loops_ref(x->l, from);
    for (int k = 0; k < 2; k++) s->operand[s->operands].sub[k] = expr_index(x->m, axes[k]);
    s->operands++;
    return made;
}

/* Appends array = factor array, or array + factor array, with a matrix `factor`, [row middle]. */
static void multiply(struct lowering *x, struct stmt ***at, int factor, int before, int array, enum fold fold)
{
    lower_product(x, at, x->l->array[array].axes, x->l->array[before].axes[0], loops_ref(x->l, factor),
                  loops_ref(x->l, before), array, fold);
}

/* Appends array = array * factor + added, for each element. Without `added`, it is -1. */
static void multiply_elements(struct lowering *x, struct stmt ***at, int array, int factor, int added)
{
    const struct expr *e = expr_mul(x->m, expr_operand(x->m, 0), expr_operand(x->m, 1));
    if (added >= 0) e = expr_add(x->m, e, expr_operand(x->m, 2));
    struct stmt *const s = lower_assign(x, at, x->l->array[array].rank, x->l->array[array].axes, array, FOLD_SET, e);
    s->operand[s->operands++] = loops_ref(x->l, array);
    s->operand[s->operands++] = loops_ref(x->l, factor);
    if (added >= 0) s->operand[s->operands++] = loops_ref(x->l, added);
}

void lower_join(struct lowering *x, struct stmt ***at)
{
    **at = NULL; /* states keep their contents */
    int *const state = arena_alloc(x->m->arena, 2 * (size_t)x->g->values * sizeof *state),
               *const transition = state + x->g->values;
    for (int part = 0; part < 2; part++) /* the layout of a state has all sums first */
        for (int v = 0; v < x->g->values; v++) {
            if (x->lowered[v].stage != STATE) continue;
            const int like = part ? x->lowered[v].transition : x->lowered[v].array,
                      made = lower_new_tile(x, part ? "second_transition" : "second_state", x->l->array[like].rank,
                                            x->l->array[like].axes);
            struct array *const first = &x->l->array[like], *const second = &x->l->array[made];
            first->kept = second->shared = second->kept = second->folded = true;
            (part ? transition : state)[v] = made;
        }
    for (int v = 0; v < x->g->values; v++) {
        const int own = x->lowered[v].array, moves = x->lowered[v].transition, *const axes = x->l->array[own].axes;
        if (x->lowered[v].stage != STATE) continue;
        if (!lower_sums_solution(x, &x->g->value[v])) {
            multiply_elements(x, at, own, transition[v], state[v]);
            multiply_elements(x, at, moves, transition[v], -1);
            continue;
        }
        const int row = axes[0], lanes = axes[1], column = x->l->array[moves].axes[1],
                  middle = axis_like(x, "middle", row);
        const int factor = copy_as(x, at, "factor", transition[v], row, middle),
                  before = copy_as(x, at, "before", own, middle, lanes),
                  moved = copy_as(x, at, "before", moves, middle, column);
        struct stmt *const s = lower_assign(x, at, 2, x->l->array[own].axes, own, FOLD_SET, expr_operand(x->m, 0));
        s->operand[s->operands++] = loops_ref(x->l, state[v]);
        multiply(x, at, factor, before, own, FOLD_SUM);
        multiply(x, at, factor, moved, moves, FOLD_SET);
    }
}
