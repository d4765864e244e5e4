/* Lowers a program whose output is the solution u of a SOLVE without features, by blocked substitution. A head has a
   loop over tiles of equations, in the order of the SOLVE. For each tile, the loop
   - computes the sum of u over the keys that are already solved, in a loop over tiles of keys,
   - computes the weights between the tile's keys,
   - solves the triangular system of the tile, which gives its part of u.
   If weights are relative to the maximum of their row, the maximum runs over the tiles, and rescales the sum. */
#include "lower.h"
#include "../../analysis/analysis.h"

#include <string.h>

/* Returns the number of the maximum over keys that value v reads, or -1. */
static int maximum_of(const struct lowering *x, int v)
{
    const struct value *const value = &x->g->value[v];
    for (int k = 0; k < value->operands; k++) {
        const struct value *const of = &x->g->value[value->operand[k].of];
        if (of->op == GRAPH_REDUCE && of->fold == FOLD_MAX && value_has_axis(value, x->stream) &&
            !value_has_axis(of, x->stream) && lower_has_stream(x, of))
            return value->operand[k].of;
    }
    return -1;
}

/* Whether the weights of a SOLVE are other weights, its operand 0, divided by sums of weights over earlier keys, its
   operand 1. The rows of a tile are divided after the loop over earlier keys. */
bool lower_divides_weights(const struct lowering *x, int solve)
{
    const struct value *const weights = &x->g->value[x->g->value[solve].operand[SOLVE_WEIGHTS].of];
    if (!value_divides_rows(weights, x->stream)) return false;
    const struct value *const sum = &x->g->value[weights->operand[1].of];
    return sum->op == GRAPH_REDUCE && sum->fold == FOLD_SUM && lower_of_pairs(x, &x->g->value[sum->operand[0].of]);
}

void lower_split_quotient(struct graph *g)
{
    struct module *const m = g->module;
    const int solve = graph_find_solve(g), at = solve < 0 ? -1 : g->value[solve].operand[SOLVE_WEIGHTS].of;
    if (at < 0 || g->output[0].value != solve || g->value[solve].operands > SOLVE_FEATURES) return;
    const struct value w = g->value[at];
    if (w.op != GRAPH_MAP || w.operands < 3 || (w.expr->op != EXPR_DIV && w.expr->op != EXPR_MUL)) return;
    const struct expr *const by = w.expr->arg[1], *of[MAX_OPERANDS], *with[MAX_OPERANDS];
    struct value product = w;
    int sum = -1, sums = 0;
    product.operands = 0;
    for (int k = 0; k < w.operands; k++) {
        const bool divides = expr_uses(by, expr_operand(m, k));
        if (divides) sum = k, sums++;
        of[k] = divides ? expr_real(m, 0) : expr_operand(m, graph_operand(&product, &w.operand[k]));
        with[k] = expr_operand(m, 1);
    }
    if (sums != 1 || g->value[w.operand[sum].of].op != GRAPH_REDUCE || expr_uses(w.expr->arg[0], expr_operand(m, sum)))
        return;
    product.expr = expr_bind(m, w.expr->arg[0], of);
    graph_insert(g, at, product);
    struct value *const quotient = &g->value[at + 1];
    quotient->operands = 2;
    quotient->operand[0] = graph_ref(g, at, NULL);
    quotient->operand[1] = w.operand[sum];
    quotient->expr = expr_make(m, w.expr->op, expr_operand(m, 0), expr_bind(m, by, with), NULL);
}

/* Returns the SOLVE with undivided weights. */
static struct value undivided(const struct lowering *x, int solve)
{
    struct value v = x->g->value[solve];
    if (lower_divides_weights(x, solve)) v.operand[SOLVE_WEIGHTS] = x->g->value[v.operand[SOLVE_WEIGHTS].of].operand[0];
    return v;
}

void lower_find_maximum(struct lowering *x)
{
    const int maximum = maximum_of(x, undivided(x, x->output).operand[SOLVE_WEIGHTS].of);
    if (maximum >= 0) x->lowered[maximum].running = true;
}

/* Makes the statements of the values that an operand of the SOLVE depends on. Values that `done` marks
   already have statements. */
static void lower_operand(struct lowering *x, const struct ref *operand, bool *done)
{
    bool *const needed = arena_alloc(x->m->arena, (size_t)x->g->values * sizeof *needed);
    graph_mark(x->g, operand->of, needed);
    x->needed = needed;
    for (int v = 0; v < x->g->values; v++) {
        if (needed[v] && !done[v]) lower_value(x, v);
        done[v] |= needed[v];
    }
}

/* The tiles and arrays of the substitution. */
struct substitution {
    const struct value *solve;
    /* the region of the weights if it hides earlier keys, which then have no effect, or NULL */
    const struct expr *hides;
    int axes[2];           /* the equations, and the elements of a value in the lanes */
    int sum, compensation; /* the sum over earlier keys, and 1 + the array of its compensation, or 0 */
    int rescale;           /* the factor for the sum if the maximum has grown, or -1 without a maximum */
    int solution;          /* the array of the output */
    /* If weights are divided: the sums of the weights and their compensation, and the factor of a tile's rows.
       Otherwise -1, 0 and -1. */
    int total, lost, inverse;
};

/* Appends the statements that rescale the sum. */
static void rescale(struct lowering *x, const struct substitution *s)
{
    if (s->rescale < 0) return;
    lower_rescale(x, &x->inside, 2, s->axes, s->sum, s->rescale);
    if (s->compensation) lower_rescale(x, &x->inside, 2, s->axes, s->compensation - 1, s->rescale);
}

/* Appends the statements that add the weights of a tile of keys to the sums that divide them. */
static void add_weights(struct lowering *x, const struct substitution *s, int rescale)
{
    const struct value *const quotient = &x->g->value[x->g->value[x->output].operand[SOLVE_WEIGHTS].of],
                              *const sum = &x->g->value[quotient->operand[1].of];
    const int nest[2] = {x->stream, s->axes[0]};
    if (rescale >= 0) lower_rescale(x, &x->inside, 1, s->axes, s->total, rescale);
    if (rescale >= 0 && s->lost) lower_rescale(x, &x->inside, 1, s->axes, s->lost - 1, rescale);
    struct stmt *const add = lower_assign(x, &x->inside, 2, nest, s->total, FOLD_SUM,
                                          expr_select(x->m, sum->where, expr_operand(x->m, 0), expr_real(x->m, 0)));
    add->operand[add->operands++] = lower_ref(x, &sum->operand[0]);
    add->assign[0].compensation = s->lost;
}

/* Appends the statements that divide the weights of the tile's own keys. */
static void divide_weights(struct lowering *x, const struct substitution *s)
{
    const struct value *const quotient = &x->g->value[x->g->value[x->output].operand[SOLVE_WEIGHTS].of];
    const struct expr *const with[2] = {expr_real(x->m, 1), expr_operand(x->m, 0)};
    const struct ref weights = lower_ref(x, &s->solve->operand[SOLVE_WEIGHTS]);
    struct stmt *const inverse = lower_assign(x, &x->inside, 1, s->axes, s->inverse, FOLD_SET,
                                              expr_bind(x->m, quotient->expr, with));
    inverse->operand[inverse->operands++] = loops_ref(x->l, s->total);
    lower_rescale(x, &x->inside, 2, x->l->array[weights.of].axes, weights.of, s->inverse);
}

/* Appends the statement that adds the weights of a tile of keys, times the solution of these keys, to the sum. */
static void add_earlier(struct lowering *x, const struct substitution *s)
{
    struct stmt *const dot = lower_product(x, &x->inside, s->axes, x->stream,
                                           lower_ref(x, &s->solve->operand[SOLVE_WEIGHTS]),
                                           loops_ref(x->l, s->solution), s->sum, FOLD_SUM);
    dot->where = s->hides;
    dot->assign[0].compensation = s->compensation;
}

/* Appends the statements that solve the system of a tile. */
static void solve_tile(struct lowering *x, const struct substitution *s)
{
    const struct expr *const first = expr_operand(x->m, 0), *const second = expr_operand(x->m, 1);
    const int rest = lower_new_tile(x, "rest", 2, s->axes), of_tile[2] = {x->stream, s->axes[1]},
              made = lower_new_tile(x, "solution", 2, of_tile);
    struct stmt *const difference = lower_assign(x, &x->inside, 2, s->axes, rest, FOLD_SET, NULL);
    const struct expr *const sum = s->inverse < 0 ? second : expr_mul(x->m, second, expr_operand(x->m, 2));
    difference->assign[0].expr = expr_sub(x->m, first, sum);
    difference->operands = 2;
    difference->operand[0] = lower_ref(x, &s->solve->operand[SOLVE_VALUES]);
    for (int k = 0; k < difference->operand[0].rank; k++)
        difference->operand[0].sub[k] = expr_replace(x->m, difference->operand[0].sub[k], expr_index(x->m, x->stream),
                                                     expr_index(x->m, x->lane));
    difference->operand[1] = loops_ref(x->l, s->sum);
    if (s->inverse >= 0) difference->operand[difference->operands++] = loops_ref(x->l, s->inverse);
    lower_equations(x, &x->inside, s->solve, s->axes, s->hides != NULL, rest, made);
    lower_copy(x, &x->inside, 2, of_tile, loops_ref(x->l, made), s->solution);
}

/* Appends a loop over keys with the body `inside`. */
static struct stmt *keys_loop(struct lowering *x, const struct expr *from, const struct expr *to, int64_t step,
                              struct stmt *inside)
{
    struct stmt *const loop = lower_loop_over(x, &x->before, x->stream, from, to, step);
    loop->body = inside;
    return loop;
}

/* Appends the loop over tiles of equations. If the SOLVE is backward, the last tile comes first. Returns the loop over
   a tile's equations. */
static struct stmt *tiles_loop(struct lowering *x, bool backward, struct stmt ***at)
{
    const int64_t step = x->c->tiling.tile_q;
    const struct expr *first = expr_int(x->m, 0), *const all = expr_size(x->m, x->lane);
    for (int a = 0; a < x->m->axes && program_corrects_new_values(&x->c->program); a++)
        if (x->m->axis[a].source == SIZE_N_Q) first = expr_max(x->m, first, expr_sub(x->m, all, expr_size(x->m, a)));
    if (!backward) return lower_loop_over(x, at, x->lane, first, all, step);
    x->chunk = module_axis(x->m, arena_printf(x->m->arena, "tile%d", x->m->axes), SIZE_CHUNKS, step);
    return lower_chunks(x, x->lane, at);
}

/* Returns the region that masks the weights of the SOLVE. A sum that has the same weights, such as that of other
   values, may see fewer keys. The SOLVE reads weights of earlier keys only, so this region is right for both. */
static const struct expr *region_of_weights(const struct lowering *x, const struct value *solve)
{
    for (int v = 0; v < x->g->values; v++) {
        const struct value *const value = &x->g->value[v];
        for (int k = 0; k < value->operands && value->op == GRAPH_CONTRACT && value->where; k++)
            if (value->operand[k].of == solve->operand[SOLVE_WEIGHTS].of) return value->where;
    }
    return solve->where;
}

void lower_substitution(struct lowering *x, struct stmt **at)
{
    const struct value solve = undivided(x, x->output);
    const bool divides = lower_divides_weights(x, x->output);
    struct substitution substitution = {.solve = &solve, .rescale = -1, .total = -1, .inverse = -1},
                        *const s = &substitution;
    const int64_t step = x->c->tiling.tile_q;
    bool *const done = arena_alloc(x->m->arena, (size_t)x->g->values * sizeof *done);
    s->axes[0] = x->lane;
    s->axes[1] = s->solve->axes[s->solve->rank - 1];
    s->solution = lower_output(x, 0);
    x->l->array[s->solution].sums = true;
    x->l->array[s->solution].dtype = dtype_of_sums(x->m->dtype);
    for (int k = 0; k < s->solve->rank; k++) {
        if (!lower_run_time(x, s->solve->axes[k]) || s->solve->axes[k] == x->stream) continue;
        struct stmt *const loop = lower_loop_over(x, &at, s->solve->axes[k], expr_int(x->m, 0),
                                                  expr_size(x->m, s->solve->axes[k]), 1);
        loop->parallel = true;
        at = &loop->body;
    }
    struct stmt *const tiles = tiles_loop(x, s->solve->backward, &at);
    struct stmt **const inside = lower_new_list(x), **const of_tile = lower_new_list(x);
    x->before = &tiles->body;
    x->inside = inside;
    struct stmt **const end = x->end = lower_new_list(x);
    s->sum = lower_new_tile(x, "earlier", 2, s->axes);
    lower_set_constant(x, &x->before, s->sum, 0);
    s->compensation = lower_new_compensation(x, true, s->sum, &x->before);
    if (divides) {
        s->total = lower_new_tile(x, "weights_sum", 1, s->axes);
        s->inverse = lower_new_tile(x, "inverse", 1, s->axes);
        lower_set_constant(x, &x->before, s->total, 0);
        s->lost = lower_new_compensation(x, true, s->total, &x->before);
    }
    lower_operand(x, &s->solve->operand[SOLVE_WEIGHTS], done);
    if (divides)
        lower_operand(
            x, &x->g->value[x->g->value[x->g->value[x->output].operand[SOLVE_WEIGHTS].of].operand[1].of].operand[0],
            done);
    struct value masked = *s->solve;
    masked.where = region_of_weights(x, s->solve);
    lower_apply_region(x, &masked, SOLVE_WEIGHTS, 0);
    if (lower_hides(x, s->solve, x->lane)) s->hides = masked.where;
    const int maximum = maximum_of(x, s->solve->operand[SOLVE_WEIGHTS].of);
    if (maximum >= 0) s->rescale = x->lowered[maximum].rescale;
    rescale(x, s);
    if (divides) add_weights(x, s, s->rescale);
    lower_operand(x, &s->solve->operand[SOLVE_VALUES], done);
    *of_tile = stmts_copy(x->l, *inside, NULL);
    add_earlier(x, s);
    x->inside = of_tile;
    while (*x->inside) x->inside = &(*x->inside)->next;
    *x->inside = *end; /* values that are computed from sums over all earlier keys */
    while (*x->inside) x->inside = &(*x->inside)->next;
    lower_operand(x, &s->solve->operand[SOLVE_RATE], done);
    if (divides) divide_weights(x, s);
    solve_tile(x, s);
    const struct expr *const first = expr_lo(x->m, x->lane), *const last = expr_hi(x->m, x->lane);
    struct stmt *const others = s->solve->backward
                                    ? keys_loop(x, last, expr_size(x->m, x->stream), x->c->tiling.tile_k, *inside)
                                    : keys_loop(x, expr_int(x->m, 0), first, x->c->tiling.tile_k, *inside);
    others->where = s->solve->where;
    keys_loop(x, first, last, step, *of_tile); /* every equation is solved, even if its row sees no key */
}
