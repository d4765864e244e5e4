/* Chooses the products of a quadratic form that multiply pairs of bf16 and add in f32. A pair is two neighbours along
   the summed axis. These products qualify:
   - Two inputs as stored: their products are exact in f32.
   - Weights that are never negative, times stored values. Rounding changes a row by up to 2^-8 of its scale, as much as
     storing it as bf16. The sum of weights is not rounded.
   - For gradients: weights, or gradients of scores, times stored elements. The error is up to 2^-8 of the terms' sizes.
   Values computed from inputs, such as normalised queries, stay in f32, because a later power or exponential would
   amplify errors. */
#include "pass.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"
#include "../target/target.h"

bool multiplies_bf16(const struct compilation *c)
{
    enum dtype dtype = (c->loops ? c->loops->module : c->graph->module)->dtype;
    return target_has(c->target, TARGET_BF16_PRODUCTS) && dtype == DTYPE_BF16 && !c->program.linear && !c->program.few;
}

/* Programs with a caller's state stay in f32, because the bits of the state must not depend on the division into
   calls. */
static bool may_use_matrix_units(const struct compilation *c)
{
    const struct program *const program = &c->program;
    return program_is_forward(program) || program_recomputes_saved(program) || program_has_weight_gradients(program);
}

bool multiplies_states(const struct compilation *c)
{
    enum dtype dtype = (c->loops ? c->loops->module : c->graph->module)->dtype;
    return target_has(c->target, TARGET_MATRIX_UNITS) && dtype == DTYPE_BF16 && c->program.linear && !c->program.few &&
           may_use_matrix_units(c) && schedule_knob(c, "units", 1) == 1;
}

bool multiplies_tiles(const struct compilation *c)
{
    return target_has(c->target, TARGET_MATRIX_UNITS) && multiplies_bf16(c) && may_use_matrix_units(c);
}

/* Whether r reads a bf16 input that is contiguous along the axis, and reads it along its own axes. A packed copy has
   the array's axes, so it cannot serve keys that the delta rule reads as equations. */
static bool stored_along(const struct loops *l, const struct ref *r, int axis)
{
    const struct array *a = &l->array[r->of];
    for (int k = 0; k < r->rank; k++)
        if (ref_axis(r, k) >= 0 && ref_axis(r, k) != a->axes[k]) return false;
    return a->kind == ARRAY_INPUT && a->dtype == DTYPE_BF16 && ref_axis(r, r->rank - 1) == axis;
}

/* Returns the reference that replaces *r if it reads the copy. */
static struct ref read_copy(const struct loops *l, const struct ref *r, int copy)
{
    return ref_of_copy(l, r, l->array[r->of].axes, copy);
}

static int64_t step_of(const struct stmts *w, int axis)
{
    const struct stmt *const loop = stmts_over(w, axis);
    return loop ? loop->step : 0;
}

/* If the next statement only multiplies the product by a constant, removes it and puts the constant into `times`.
   Does nothing if the product has other readers. */
static void take_factor(const struct loops *l, struct stmt *dot)
{
    const struct stmt *const map = map_of_product(l, dot);
    if (!map || map->assign[0].expr->arg[1]->real == 0) return;
    dot->times = map->assign[0].expr->arg[1]->real;
    dot->assign[0].to = map->assign[0].to;
    dot->next = map->next;
}

bool pair_inputs(struct loops *l, const struct stmts *w, const struct matrix_unit *unit)
{
    struct stmt *const dot = w->now;
    struct ref *const row = &dot->operand[0], *const lane = &dot->operand[1];
    const struct axis *over = &l->module->axis[dot->axis];
    const int64_t lanes = step_of(w, dot->axes[1]);
    if (!stored_along(l, row, dot->axis) || !stored_along(l, lane, dot->axis)) return false;
    if (over->source != SIZE_CONSTANT || (over->extent % 2 && !unit) || !lanes) return false;
    const enum packing packing = unit ? PACK_MATRIX_PAIRS : PACK_PAIRS;
    *lane = read_copy(l, lane, packed_tile(l, w, lane->of, dot->axes[1], lanes, packing, unit));
    if (!unit) {
        take_factor(l, dot);
        return true;
    }
    if (over->extent % unit->depth) *row = read_copy(l, row, packed_tile(l, w, row->of, -1, 0, PACK_MATRIX_ROWS, unit));
    pad_matrix_result(l, dot, unit);
    defer_factor(l, dot, unit);
    return true;
}

/* Copies the tile of `from`, rounded to bf16, just before the product at *at. Returns the new tile. */
static int add_rounded(struct loops *l, struct stmt **at, const struct ref *from, const char *name, bool paired,
                       const struct matrix_unit *unit)
{
    struct array rounded = l->array[from->of];
    rounded.name = name;
    rounded.dtype = DTYPE_BF16;
    rounded.paired = paired;
    rounded.matrix = unit != NULL;
    if (unit) pad_matrix_operand(&rounded, unit);
    struct stmt *const copy = stmt_fill(l, LOOPS_COPY, rounded);
    copy->operand[copy->operands++] = *from;
    copy->next = *at;
    *at = copy;
    return copy->assign[0].to.of;
}

/* Lets maps that write the tile compute exponentials with low precision, because the tile will be rounded. With
   `all`, these are all maps, otherwise only the last one. */
static void make_coarse(struct stmt *body, const struct stmt *end, int tile, bool all)
{
    struct stmt *last = NULL;
    for (struct stmt *s = body; s != end; s = s->next) {
        if (!stmt_writes(s, tile)) continue;
        last = s;
        if (all && s->op == LOOPS_MAP && s->assigns == 1 && expr_has(s->assign[0].expr, EXPR_EXP2)) s->coarse = true;
    }
    if (!last || last->op != LOOPS_MAP || last->assigns != 1) return;
    if (!all) last->coarse = true;
    const struct expr *e = last->assign[0].expr;
    for (int k = 0; k < 2 && e->op == EXPR_MUL; k++)
        if (e->arg[k]->op == EXPR_OPERAND && !expr_has(e->arg[1 - k], EXPR_OPERAND) &&
            last->operand[e->arg[k]->integer].of != tile)
            make_coarse(body, last, last->operand[e->arg[k]->integer].of, all);
}

/* Handles products that sum over the lanes for each key, such as dv[j] = sum over i of w[j][i] * dout[i]. Copies
   both operands. Returns false for other products. */
static bool pair_across(struct loops *l, const struct stmts *w, const struct matrix_unit *unit)
{
    struct stmt *const dot = w->now;
    const struct ref row = dot->operand[0], values = dot->operand[1];
    const struct array *tile = &l->array[row.of], *to = &l->array[dot->assign[0].to.of];
    const struct axis *lanes = &l->module->axis[dot->axes[1]];
    if (!to->sums || to->kind != ARRAY_OUTPUT || dot->operands != 2 || dot->assign[0].fold != FOLD_SUM) return false;
    if (tile->kind != ARRAY_TILE || tile->dtype != DTYPE_F32 || tile->rank != 2 || ref_axis(&row, 1) != dot->axis)
        return false;
    if (!stored_along(l, &values, dot->axes[1]) || lanes->source != SIZE_CONSTANT || !step_of(w, dot->axis))
        return false;
    dot->operand[0] = loops_ref(l, add_rounded(l, w->at, &row, "weight_rows", false, unit));
    dot->operand[1] = read_copy(
        l, &values,
        packed_tile(l, w, values.of, dot->axes[1], lanes->extent, unit ? PACK_MATRIX_PAIRS : PACK_PAIRS, unit));
    return true;
}

bool pair_weights(struct loops *l, const struct stmts *w, const struct matrix_unit *unit, bool any)
{
    struct stmt *const dot = w->now, *const body = stmts_first(w);
    const struct ref row = dot->operand[0], weights = dot->operand[1];
    const struct array *tile = &l->array[weights.of];
    const int64_t step = step_of(w, dot->axis);
    if (!stored_along(l, &row, dot->axes[0]) || !step) return false;
    if (tile->kind != ARRAY_TILE || tile->dtype != DTYPE_F32 || tile->rank != 2 || ref_axis(&weights, 0) != dot->axis)
        return false;
    if (!any && !never_negative_after(body, dot, &weights)) return false;
    /* The weights are rounded just before the product. */
    const int made = add_rounded(l, w->at, &weights, "weight_pairs", true, unit);
    const int64_t elements = l->module->axis[dot->axes[0]].extent;
    const int values = unit ? packed_tile(l, w, row.of, dot->axis, step, PACK_MATRIX_ROWS, unit)
                            : packed_tile(l, w, row.of, dot->axes[0], elements, PACK_PAIRS, NULL);
    dot->operand[0] = read_copy(l, &row, values);
    dot->operand[1] = loops_ref(l, made);
    make_coarse(body, *w->at, weights.of, any);
    if (unit) {
        pad_matrix_result(l, dot, unit);
        dot->assign[0].compensation = 0; /* a matrix unit adds without compensation */
    }
    return true;
}

/* Whether the runs of keys fill at least half a tile in periodic loops. */
static bool fills_tiles(const struct stmts *w, const struct matrix_unit *unit)
{
    for (int f = 0; f < w->loops; f++)
        if (w->loop[f]->period && !w->loop[f]->apart && w->loop[f]->run < unit->keys / 2) return false;
    return true;
}

/* Programs that recompute saved values must get the bits of forward. So sums of weights use exponentials with low
   precision, as in forward. */
static void sum_as_rounded(const struct loops *l, struct stmt *body)
{
    struct stmts w = {.list = body};
    for (struct stmt *s; (s = stmts_next(&w));) {
        if (s->op != LOOPS_MAP || s->assigns != 1 || s->assign[0].fold != FOLD_SUM || s->rank != 2) continue;
        const struct expr *e = s->assign[0].expr;
        if (e->op != EXPR_OPERAND)
            s->coarse = expr_sign(e, NULL) >= 0;
        else if (l->array[s->operand[e->integer].of].kind == ARRAY_TILE &&
                 never_negative_after(stmts_first(&w), s, &s->operand[e->integer]))
            make_coarse(stmts_first(&w), s, s->operand[e->integer].of, false);
    }
}

void pass_bf16_pairs(struct compilation *c)
{
    struct loops *const l = c->loops;
    const bool gradients = program_has_weight_gradients(&c->program), tiles = multiplies_tiles(c);
    if (!multiplies_bf16(c)) return;
    struct stmts w = {.place = &l->body};
    for (struct stmt *s; (s = stmts_next(&w));) {
        const struct matrix_unit *const units = &c->target->matrix, *const unit = tiles && fills_tiles(&w, units)
                                                                                      ? units
                                                                                      : NULL;
        if (s->op == LOOPS_DOT && !pair_inputs(l, &w, unit) && !(gradients && pair_across(l, &w, unit)))
            pair_weights(l, &w, unit, gradients);
    }
    if (program_recomputes_saved(&c->program)) sum_as_rounded(c->loops, c->loops->body);
}
