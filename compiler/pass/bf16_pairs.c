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

/* Array `tile` is a copy of r's array. Returns a reference to the element of `tile` that r reads in its array. */
static struct ref ref_of_copy(const struct loops *l, const struct ref *r, int tile)
{
    const struct array *from = &l->array[r->of], *to = &l->array[tile];
    struct ref made = {.of = tile, .rank = to->rank};
    for (int t = 0; t < to->rank; t++)
        for (int f = 0; f < from->rank; f++)
            if (from->axes[f] == to->axes[t]) made.sub[t] = r->sub[f];
    return made;
}

static int64_t step_of(struct stmt *const *loops, int depth, int axis)
{
    int64_t step = 0;
    for (int f = 0; f < depth; f++)
        if (loops[f]->axis == axis) step = loops[f]->step;
    return step;
}

/* If the next statement only multiplies the product by a constant, removes it and puts the constant into `times`.
   Does nothing if the product has other readers. */
static void take_factor(struct loops *l, struct stmt *dot)
{
    const struct stmt *map = dot->next;
    int made = dot->assign[0].to.of;
    if (!map || map->op != LOOPS_MAP || map->assigns != 1 || map->operands != 1 || map->rank != 2 ||
        dot->assign[0].fold != FOLD_SET)
        return;
    const struct expr *e = map->assign[0].expr;
    bool product = map->assign[0].fold == FOLD_SET && e->op == EXPR_MUL && e->arg[0]->op == EXPR_OPERAND &&
                   e->arg[1]->op == EXPR_REAL;
    bool all = map->axes[0] == dot->axes[0] && map->axes[1] == dot->axes[1] &&
               ref_equal(&map->operand[0], &dot->assign[0].to);
    struct ref there = map->assign[0].to;
    there.of = made;
    if (!product || !all || !ref_equal(&there, &dot->assign[0].to) || e->arg[1]->real == 0 ||
        stmts_touching(l->body, made) != 2)
        return;
    dot->times = e->arg[1]->real;
    dot->assign[0].to = map->assign[0].to;
    dot->next = map->next;
}

/* `dot` multiplies two inputs. Copies the second one as pairs of elements. A matrix unit may also need a padded copy
   of the first. */
bool pair_inputs(struct loops *l, struct stmt *dot, struct stmt **loops, int depth, const struct matrix_unit *unit)
{
    const struct axis *over = &l->module->axis[dot->axis];
    int64_t lanes = step_of(loops, depth, dot->axes[1]);
    if (!stored_along(l, &dot->operand[0], dot->axis) || !stored_along(l, &dot->operand[1], dot->axis)) return false;
    if (over->source != SIZE_CONSTANT || (over->extent % 2 && !unit) || !lanes) return false;
    int tile = packed_tile(l, loops, depth, dot->operand[1].of, dot->axes[1], lanes,
                           unit ? PACK_MATRIX_PAIRS : PACK_PAIRS, unit);
    dot->operand[1] = ref_of_copy(l, &dot->operand[1], tile);
    if (!unit) {
        take_factor(l, dot);
        return true;
    }
    if (over->extent % unit->depth) {
        tile = packed_tile(l, loops, depth, dot->operand[0].of, -1, 0, PACK_MATRIX_ROWS, unit);
        dot->operand[0] = ref_of_copy(l, &dot->operand[0], tile);
    }
    pad_matrix_result(&l->array[dot->assign[0].to.of], unit);
    defer_factor(l, dot, unit);
    return true;
}

/* Copies the tile of `from`, rounded to bf16, just before the product at *at. Returns the new tile. */
static int add_rounded(struct loops *l, struct stmt **at, const struct ref *from, const char *name, bool paired,
                       const struct matrix_unit *unit)
{
    struct array rounded = l->array[from->of];
    rounded.name = loops_unused_name(l, name);
    rounded.dtype = DTYPE_BF16;
    rounded.paired = paired;
    rounded.matrix = unit != NULL;
    if (unit) pad_matrix_operand(&rounded, unit);
    const int made = loops_array(l, rounded);
    struct stmt *copy = stmt_new(l, LOOPS_COPY);
    copy->rank = 2;
    copy->operands = copy->assigns = 1;
    copy->operand[0] = *from;
    copy->assign[0].to = loops_ref(l, made);
    for (int k = 0; k < 2; k++) copy->axes[k] = rounded.axes[k];
    copy->next = *at;
    *at = copy;
    return made;
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
static bool pair_across(struct loops *l, struct stmt **at, struct stmt **loops, int depth,
                        const struct matrix_unit *unit)
{
    struct stmt *dot = *at;
    const struct ref row = dot->operand[0], values = dot->operand[1];
    const struct array *tile = &l->array[row.of], *to = &l->array[dot->assign[0].to.of];
    const struct axis *lanes = &l->module->axis[dot->axes[1]];
    if (!to->sums || to->kind != ARRAY_OUTPUT || dot->operands != 2 || dot->assign[0].fold != FOLD_SUM) return false;
    if (tile->kind != ARRAY_TILE || tile->dtype != DTYPE_F32 || tile->rank != 2 || ref_axis(&row, 1) != dot->axis)
        return false;
    if (!stored_along(l, &values, dot->axes[1]) || lanes->source != SIZE_CONSTANT || !step_of(loops, depth, dot->axis))
        return false;
    const int rounded = add_rounded(l, at, &row, "weight_rows", false, unit),
              pairs = packed_tile(l, loops, depth, values.of, dot->axes[1], lanes->extent,
                                  unit ? PACK_MATRIX_PAIRS : PACK_PAIRS, unit);
    dot->operand[0] = loops_ref(l, rounded);
    dot->operand[1] = ref_of_copy(l, &values, pairs);
    return true;
}

/* Makes the product at *at read rounded weights. The product sums values times weights over the keys of a tile. The
   weights are rounded just before the product. `any`: weights may be negative. */
bool pair_weights(struct loops *l, struct stmt *body, struct stmt **at, struct stmt **loops, int depth,
                  const struct matrix_unit *unit, bool any)
{
    struct stmt *dot = *at;
    const struct ref row = dot->operand[0], weights = dot->operand[1];
    const struct array *tile = &l->array[weights.of];
    if (!stored_along(l, &row, dot->axes[0]) || !step_of(loops, depth, dot->axis)) return false;
    if (tile->kind != ARRAY_TILE || tile->dtype != DTYPE_F32 || tile->rank != 2 || ref_axis(&weights, 0) != dot->axis)
        return false;
    if (!any && !never_negative_after(body, dot, &weights)) return false;
    const int made = add_rounded(l, at, &weights, "weight_pairs", true, unit);
    int values = unit ? packed_tile(l, loops, depth, row.of, dot->axis, step_of(loops, depth, dot->axis),
                                    PACK_MATRIX_ROWS, unit)
                      : packed_tile(l, loops, depth, row.of, dot->axes[0], l->module->axis[dot->axes[0]].extent,
                                    PACK_PAIRS, NULL);
    dot->operand[0] = ref_of_copy(l, &row, values);
    dot->operand[1] = loops_ref(l, made);
    make_coarse(body, *at, weights.of, any);
    if (unit) {
        pad_matrix_result(&l->array[dot->assign[0].to.of], unit);
        dot->assign[0].compensation = 0; /* a matrix unit adds without compensation */
    }
    return true;
}

/* Whether the runs of keys fill at least half a tile in periodic loops. */
static bool fills_tiles(struct stmt *const *loops, int depth, const struct matrix_unit *unit)
{
    for (int f = 0; f < depth; f++)
        if (loops[f]->period && !loops[f]->apart && loops[f]->run < unit->keys / 2) return false;
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
        const struct matrix_unit *unit = tiles && fills_tiles(w.loop, w.loops, &c->target->matrix) ? &c->target->matrix
                                                                                                   : NULL;
        if (s->op == LOOPS_DOT && !pair_inputs(l, s, w.loop, w.loops, unit) &&
            !(gradients && pair_across(l, w.at, w.loop, w.loops, unit)))
            pair_weights(l, stmts_first(&w), w.at, w.loop, w.loops, unit, gradients);
    }
    if (program_recomputes_saved(&c->program)) sum_as_rounded(c->loops, c->loops->body);
}
