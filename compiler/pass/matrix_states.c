/* Moves products of a linear form to matrix units, with operands in bf16 and sums in f32: features times state,
   features times values, and products inside a chunk.
   - Weights inside a chunk that are never negative are rounded to bf16, an error of up to 2^-8 of their size.
   - Other operands are split into two bf16 terms, the rounded number and its error: about 2^-16 of their size. One
     term is not enough if features can be negative, because products may cancel.
   - If rows are divided by a sum of weights of both signs, all products stay in f32.
   - If weights are a power of a product, the product stays in f32, because the power multiplies its error.
     Exception: in a product of a parameter with stored rows, the parameter is split into three terms, which hold all
     digits. */
#include "pass.h"
#include "../analysis/analysis.h"
#include "../cost/cost.h"
#include "../schedule/schedule.h"
#include "../target/target.h"

#include <string.h>

struct states {
    struct loops *l;
    const struct target *target;
    int arrays;            /* the number of arrays, without the copies of this pass */
    bool *non_negative;    /* for each array: whether it is proved that no element is negative */
    bool none_is_negative; /* no weight inside a chunk is negative */
    int *power;            /* for each array: the highest power of the examined product that it contains */
};

/* ---- signs ---- */

static bool of_sequence(const struct loops *l, int axis)
{
    return axis >= 0 && axis_is_sequence(&l->module->axis[axis]);
}

/* Whether operands of one kind are never negative. Sets *any if there are such operands.
   - with `pairs`: weights that are multiplied with values
   - without `pairs`: features that are multiplied with a state */
static bool weights_non_negative(const struct states *x, bool pairs, bool *any)
{
    bool non_negative = true;
    struct stmts w = {.list = x->l->body};
    for (const struct stmt *s; (s = stmts_next(&w));) {
        if (s->op != LOOPS_DOT || x->l->array[s->operand[1].of].kind != ARRAY_TILE) continue;
        if (!of_sequence(x->l, s->axes[1]) || of_sequence(x->l, s->axes[0]) || of_sequence(x->l, s->axis) != pairs)
            continue;
        if (!pairs && x->l->array[s->operand[0].of].kind != ARRAY_TILE) continue;
        *any = true;
        non_negative &= x->non_negative[s->operand[1].of];
    }
    return non_negative;
}

/* Whether a statement sums weights of both signs per row. If such a sum divides the row, the row is sensitive to
   errors. */
static bool sums_signed(const struct states *x)
{
    struct stmts w = {.list = x->l->body};
    for (const struct stmt *s; (s = stmts_next(&w));) {
        if (s->op != LOOPS_MAP || s->rank != 2 || !of_sequence(x->l, s->axes[0]) || !of_sequence(x->l, s->axes[1]))
            continue;
        for (int k = 0; k < s->assigns; k++)
            if (s->assign[k].fold == FOLD_SUM && s->assign[k].to.rank == 1 && s->assign[k].expr->op == EXPR_OPERAND &&
                !x->non_negative[s->operand[s->assign[k].expr->integer].of])
                return true;
    }
    return false;
}

/* ---- powers ---- */

static int power_of(const struct states *x, const struct stmt *s, const struct expr *e)
{
    int power = 0;
    if (e->op == EXPR_OPERAND) return x->power[s->operand[e->integer].of];
    if (e->op == EXPR_MUL) return power_of(x, s, e->arg[0]) + power_of(x, s, e->arg[1]);
    for (int k = 0; k < expr_arity(e->op); k++) {
        const int of_argument = power_of(x, s, e->arg[k]);
        if (of_argument > power) power = of_argument;
    }
    return e->op == EXPR_SQRT ? (power + 1) / 2 : power;
}

/* Finds the highest power of dot's result in each array that later statements write. */
static void raise_powers(struct states *x, const struct stmt *dot)
{
    bool after = false;
    struct stmts w = {.list = x->l->body};
    for (const struct stmt *s; (s = stmts_next(&w));) {
        for (int k = 0; k < s->assigns && after; k++) {
            int *const power = &x->power[s->assign[k].to.of];
            const int made = s->op == LOOPS_MAP   ? power_of(x, s, s->assign[k].expr)
                             : s->op == LOOPS_DOT ? x->power[s->operand[0].of] + x->power[s->operand[1].of]
                                                  : x->power[s->operand[0].of];
            if (s->assign[k].fold == FOLD_SET || made > *power) *power = made;
        }
        after |= s == dot;
    }
}

/* Whether an array depends on the square or a higher power of dot's result. */
static bool is_raised(struct states *x, const struct stmt *dot)
{
    /* The number includes the copies made for other products. */
    const size_t size = (size_t)x->l->arrays * sizeof *x->power;
    bool raised = false;
    x->power = memset(arena_alloc(x->l->module->arena, size), 0, size);
    x->power[dot->assign[0].to.of] = 1;
    raise_powers(x, dot);
    for (int a = 0; a < x->l->arrays; a++) raised |= x->power[a] > 1;
    return raised;
}

/* ---- operands ---- */

static bool is_number(const struct loops *l, const struct ref *r)
{
    return l->array[r->of].dtype == DTYPE_F32 && !l->array[r->of].sums;
}

static bool is_stored(const struct loops *l, const struct ref *r)
{
    return l->array[r->of].kind == ARRAY_INPUT && l->array[r->of].dtype == DTYPE_BF16;
}

/* Whether the array is a private tile of rank 2. */
static bool is_own(const struct array *a)
{
    return a->kind == ARRAY_TILE && a->rank == 2 && !a->shared;
}

static int place_of(const struct ref *r, int axis)
{
    for (int k = 0; k < r->rank; k++)
        if (ref_axis(r, k) == axis) return k;
    return -1;
}

/* Returns the statement after which tile a is copied for `dot`: the last statement before `dot` that writes a, in
   the innermost list. Returns NULL if there is none, or if a later statement writes a. */
static struct stmt *made_last(struct loops *l, const struct stmts *w, int a)
{
    for (int d = w->loops; d >= 0; d--) {
        struct stmt *last = NULL, *s = d > 0 ? w->loop[d - 1]->body : l->body,
                    *end = d == w->loops ? w->now : w->loop[d];
        for (; s != end; s = s->next)
            if (stmt_writes(s, a) || stmts_writing(s->body, a)) last = s;
        if (stmts_writing(end->next, a)) return NULL;
        while (last && last->next != end && last->next->op == LOOPS_MAP)
            last = last->next; /* the fuse pass merges these maps */
        if (last) return last;
    }
    return NULL;
}

/* Returns a copy of r's tile in two bf16 terms. An existing copy is reused. `transposed`: with exchanged axes. */
static int copy_tile(struct loops *l, const struct stmts *w, const struct ref *r, bool paired, bool transposed,
                     const struct matrix_unit *unit)
{
    struct stmt *const last = made_last(l, w, r->of);
    const struct array *const a = &l->array[r->of];
    struct array made = *a;
    for (int k = 0; k < 2 && transposed; k++) {
        made.axes[k] = a->axes[1 - k];
        made.extent[k] = a->extent[1 - k];
    }
    for (struct stmt *s = last->next; s && s->op == LOOPS_COPY; s = s->next) {
        const struct array *there = &l->array[s->assign[0].to.of];
        if (s->operand[0].of == r->of && there->terms == 2 && there->paired == paired && there->axes[0] == made.axes[0])
            return s->assign[0].to.of;
    }
    made.name = arena_printf(l->module->arena, "%s_%s", made.name, paired ? "pairs" : "rows");
    made.dtype = DTYPE_BF16;
    made.paired = paired;
    made.matrix = true;
    made.terms = 2;
    pad_matrix_operand(&made, unit);
    struct stmt *const copy = stmt_fill(l, LOOPS_COPY, made);
    copy->operand[copy->operands++] = loops_ref(l, r->of);
    copy->next = last->next;
    last->next = copy;
    return copy->assign[0].to.of;
}

/* Whether operand r can be copied to bf16. It must be a private tile with the axes `other` and `summed`. If `rows`,
   r is the first operand, and may also be a state or a parameter. */
static bool copies(const struct loops *l, const struct ref *r, int other, int summed, bool rows,
                   const struct matrix_unit *unit)
{
    const struct array *a = &l->array[r->of];
    if (!is_number(l, r) || a->rank < 2 || place_of(r, other) < 0 || place_of(r, summed) < 0) return false;
    if (is_own(a)) return true;
    if (a->kind == ARRAY_TILE) return rows && (a->rank == 2 || axis_is_chunks(&l->module->axis[a->axes[0]]));
    const struct axis *last = &l->module->axis[a->axes[a->rank - 1]];
    return rows && a->kind == ARRAY_PARAM && last->source == SIZE_CONSTANT && last->extent % unit->rows == 0;
}

/* Makes the product read its first operand as rows along the summed axis. */
static void copy_rows(struct loops *l, const struct stmts *w, int terms, const struct matrix_unit *unit)
{
    struct ref *const r = &w->now->operand[0];
    const struct array *a = &l->array[r->of];
    const int *const axes = a->axes, sum = place_of(r, w->now->axis);
    if (is_own(a)) {
        *r = ref_of_copy(l, r, axes, copy_tile(l, w, r, false, sum == 0, unit));
        return;
    }
    const int64_t extent = a->kind == ARRAY_TILE ? a->extent[sum] : l->module->axis[axes[sum]].extent;
    const int made = packed_tile(l, w, r->of, axes[sum], extent, PACK_MATRIX_ROWS, unit);
    if (terms > l->array[made].terms) l->array[made].terms = terms;
    *r = ref_of_copy(l, r, l->array[r->of].axes, made);
}

/* Makes the product read its second operand as pairs along the summed axis. */
static void copy_pairs(struct loops *l, const struct stmts *w, const struct matrix_unit *unit)
{
    struct ref *const r = &w->now->operand[1];
    const int lanes = w->now->axes[1];
    const int made = is_stored(l, r)
                         ? packed_tile(l, w, r->of, lanes, stmts_extent(w, l->module, lanes), PACK_MATRIX_PAIRS, unit)
                         : copy_tile(l, w, r, true, false, unit);
    *r = ref_of_copy(l, r, l->array[r->of].axes, made);
}

/* ---- products ---- */

static int64_t times(int64_t extent, int64_t of)
{
    return (extent + of - 1) / of;
}

/* Whether the matrix unit needs less than two thirds of the cycles of vectors. It computes `products` bf16 products
   for each f32 product. The cycles of copies count, too. */
static bool gains(const struct states *x, const struct stmts *w, int products)
{
    const struct module *const m = x->l->module;
    const struct matrix_unit *unit = &x->target->matrix;
    /* f32 multiply-adds per cycle on vectors */
    const int64_t pairs = (int64_t)(nominal_peak(x->target, DTYPE_F32) / 2);
    const int64_t rows = stmts_extent(w, m, w->now->axes[0]), lanes = stmts_extent(w, m, w->now->axes[1]),
                  sum = stmts_extent(w, m, w->now->axis), sums = times(rows, unit->rows) * times(lanes, unit->rows),
                  steps = times(sum, unit->depth);
    const int64_t on_matrix_units = sums * (products * steps * unit->product_cycles + unit->load_cycles +
                                            unit->store_cycles) +
                                    (rows + lanes) * sum * products / pairs * 2;
    return rows > 0 && lanes > 0 && sum > 0 && 3 * on_matrix_units < 2 * rows * lanes * sum / pairs;
}

static void pair_state(struct states *x, const struct stmts *w)
{
    struct loops *l = x->l;
    struct stmt *const dot = w->now;
    const struct matrix_unit *unit = &x->target->matrix;
    struct ref *row = &dot->operand[0], *lane = &dot->operand[1];
    const bool stored = is_stored(l, lane) && place_of(lane, dot->axes[1]) >= 0;
    const struct array *to = &l->array[dot->assign[0].to.of];
    if (dot->operands != 2 || dot->where || to->kind != ARRAY_TILE || to->dtype != DTYPE_F32 || dot->rank != 2) return;
    if (!copies(l, row, dot->axes[0], dot->axis, true, unit)) return;
    if (!stored && (!copies(l, lane, dot->axes[1], dot->axis, false, unit) || place_of(lane, dot->axes[1]) != 1))
        return;
    if ((is_own(&l->array[row->of]) && !made_last(l, w, row->of)) || (!stored && !made_last(l, w, lane->of))) return;
    const bool raised = is_raised(x, dot), exact = stored && l->array[row->of].kind == ARRAY_PARAM;
    const int terms = raised ? 3 : 2;
    if (!gains(x, w, stored ? terms : 3) || (raised && !exact)) return;
    copy_rows(l, w, terms, unit);
    copy_pairs(l, w, unit);
    dot->assign[0].compensation = 0;
    pad_matrix_result(l, dot, unit);
}

static void pair_products(struct states *x)
{
    struct stmts w = {.place = &x->l->body};
    for (struct stmt *s; (s = stmts_next(&w));) {
        if (s->op != LOOPS_DOT) continue;
        const struct matrix_unit *const unit = &x->target->matrix;
        const bool of_queries = of_sequence(x->l, s->axes[0]);
        const bool paired = !of_queries && s->where && x->none_is_negative && gains(x, &w, 1) &&
                            pair_weights(x->l, &w, unit, true);
        if (!paired && !(of_queries && pair_inputs(x->l, &w, unit))) pair_state(x, &w);
    }
}

const char *knob_units(const struct knob_case *x, struct tune_knob *knob)
{
    if (!x->linear || x->linear->spec->dtype != DTYPE_BF16 || !target_unit(x->target, TARGET_MATRIX_UNITS))
        return "it has no linear form in bf16 for a target with matrix units";
    return knob_set_values(knob, 1, 1, (const int64_t[]){0});
}

void pass_matrix_states(struct compilation *c)
{
    struct states x = {.l = c->loops, .target = c->target};
    bool any = false;
    if (!multiplies_states(c)) return;
    struct arena *arena = c->loops->module->arena;
    x.arrays = c->loops->arrays;
    x.non_negative = arena_alloc(arena, (size_t)x.arrays * sizeof *x.non_negative);
    for (int a = 0; a < x.arrays; a++) x.non_negative[a] = tile_never_negative(c->loops, a);
    x.none_is_negative = weights_non_negative(&x, true, &any);
    if (!any) x.none_is_negative = weights_non_negative(&x, false, &any) && any;
    if (x.none_is_negative || !sums_signed(&x)) pair_products(&x);
}
