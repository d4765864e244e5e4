/* Chooses the rows of the caller that kernels by chunks prefetch.
   - A product with a state takes long. Meanwhile, it prefetches the rows that statements before the next such product
     read and write.
   - Rows that no product prefetches, and that only maps and copies read and write (pass/lower/chunk_sums.c): each row
   of a chunk prefetches the same row of the next chunk. */
#include "pass.h"
#include "../analysis/analysis.h"

static uint32_t rows_of_map(const struct loops *l, const struct stmt *s)
{
    const bool folds = s->rank > 0 && !ref_uses_axis(&s->assign[0].to, s->axes[s->rank - 1]);
    uint32_t ahead = 0;
    for (int k = 0; k < s->operands; k++) {
        /* A row that is read again has been prefetched by the sum over its elements. */
        bool again = !folds && stmts_touching(l->body, s->operand[k].of) > 1;
        for (int o = 0; o < k; o++) again |= ref_equal(&s->operand[o], &s->operand[k]);
        if (!again && stmt_reads_row(l, s, &s->operand[k])) ahead |= AXIS(k);
    }
    return ahead;
}

enum { MIN_STATE = 4096 }; /* the fewest elements of a state whose product takes long enough */

/* Whether s multiplies rows of tokens by a state. */
static bool multiplies_state(const struct loops *l, const struct stmt *s)
{
    if (s->op != LOOPS_DOT || s->operands != 2 || s->where || s->assign[0].fold != FOLD_SET) return false;
    for (int k = 0; k < 2; k++) {
        const struct array *const a = &l->array[s->operand[k].of], *const other = &l->array[s->operand[1 - k].of];
        int64_t elements = 1, constant = 0;
        for (int n = 0; n < a->rank; n++)
            if (l->module->axis[a->axes[n]].source == SIZE_CONSTANT)
                elements *= l->module->axis[a->axes[n]].extent, constant++;
        if (constant == 2 && elements >= MIN_STATE && a->kind == ARRAY_TILE && !a->paired && !a->matrix &&
            !other->paired && !other->matrix)
            return true;
    }
    return false;
}

/* Adds the rows of a token among the elements r of an array of the caller, if the loops w go over tokens. `turns`: how
   many turns of the loop later the rows are needed. Returns whether r has such rows. */
static bool add_rows(const struct loops *l, struct coming *coming, const struct stmts *w, const struct stmts *own,
                     const struct ref *r, int turns)
{
    struct module *const m = l->module;
    const struct array *const a = &l->array[r->of];
    const int column = r->rank > 1 ? ref_axis(r, r->rank - 1) : -1;
    if (a->kind == ARRAY_TILE || a->kind == ARRAY_TABLE || dtype_is_integer(a->dtype) || dtype_is_narrow(a->dtype) ||
        column < 0 || m->axis[column].source != SIZE_CONSTANT)
        return false;
    for (int k = 0; k + 1 < r->rank; k++) /* the product is not in a later loop over heads */
        if (ref_axis(r, k) >= 0 && !axis_is_sequence(&m->axis[ref_axis(r, k)]) && stmts_over(w, ref_axis(r, k)))
            return false;
    for (int k = 0; k + 1 < r->rank; k++) {
        const int axis = ref_axis(r, k);
        if (axis < 0 || !axis_is_sequence(&m->axis[axis])) continue;
        const struct stmt *const around = stmts_over(own, axis), *const loop = around ? around : stmts_over(w, axis);
        if (!loop || loop->parallel) return false;
        for (int n = 0; n < coming->count; n++)
            if (coming->rows[n].of == r->of) return true;
        if (coming->count == MAX_COMING) return false;
        const struct expr *const from = around ? expr_lo(m, axis) : loop->from;
        coming->step = loop->step;
        coming->axis[coming->count] = axis;
        coming->first[coming->count] = expr_add(m, from, expr_int(m, turns * loop->step));
        coming->rows[coming->count++] = *r;
        return true;
    }
    return false;
}

/* Whether a statement before the current one of w, in the loops over tokens around it, touches array a. */
static bool touched_before(const struct loops *l, const struct stmts *w, int a)
{
    for (int k = 0; k <= w->depth; k++) {
        const struct stmt *const end = k < w->depth ? w->around[k] : w->now;
        const struct stmt *const loop = k > 0 ? w->around[k - 1] : NULL;
        if (!loop || loop->op != LOOPS_FOR || !axis_is_sequence(&l->module->axis[loop->axis]) || loop->parallel)
            continue;
        for (const struct stmt *s = loop->body; s != end; s = s->next)
            if (stmt_touches(s, a)) return true;
    }
    return false;
}

/* Adds the rows that a list needs before `end` and before the next product with a state, which ends the search. */
static bool add_list(const struct loops *l, struct coming *coming, const struct stmts *own, struct stmt *list,
                     const struct stmt *end, int turns)
{
    static const struct coming none;
    struct stmts w = {.list = list};
    for (struct stmt *s; (s = stmts_next(&w)) && s != end;) {
        if (multiplies_state(l, s)) return true;
        for (int k = 0; k < s->operands + s->assigns; k++) {
            const struct ref *const r = k < s->operands ? &s->operand[k] : &s->assign[k - s->operands].to;
            if ((turns == 0 && touched_before(l, own, r->of)) || !add_rows(l, coming, &w, own, r, turns)) continue;
            if (s->op != LOOPS_MAP) s->coming = &none;
            s->ahead = 0;
        }
    }
    return false;
}

/* Adds the rows that statements after the current product of w need: in the rest of its loops over tokens, and then in
   the next turn of the outermost one. */
static void fetch_meanwhile(struct compilation *c, const struct stmts *w)
{
    struct loops *const l = c->loops;
    struct coming *const coming = arena_alloc(l->module->arena, sizeof *coming);
    const struct stmt *outermost = NULL;
    bool found = false;
    coming->count = 0;
    for (int k = w->depth; k >= 0 && !found; k--) {
        const struct stmt *const after = k == w->depth ? w->now : w->around[k];
        if (k < w->depth &&
            (after->op != LOOPS_FOR || !axis_is_sequence(&l->module->axis[after->axis]) || after->parallel))
            break;
        if (k < w->depth) outermost = after;
        found = add_list(l, coming, w, after->next, NULL, 0);
    }
    if (outermost && !found) add_list(l, coming, w, outermost->body, w->now, chunk_direction(c->graph, 0) < 0 ? -1 : 1);
    if (coming->count) w->now->coming = coming;
}

void pass_rows_ahead(struct compilation *c)
{
    struct stmts w = {.list = prefix_sums_are_own(c) ? c->loops->body : NULL};
    for (struct stmt *s; (s = stmts_next(&w));) {
        if (s->op == LOOPS_COPY)
            s->ahead = (stmt_reads_row(c->loops, s, &s->operand[0]) ? 1 : 0) |
                       (stmt_reads_row(c->loops, s, &s->assign[0].to) ? AHEAD_OF_RESULT : 0);
        if (s->op == LOOPS_MAP) s->ahead = rows_of_map(c->loops, s);
    }
    w = (struct stmts){.list = c->separated.features > 0 && !program_keeps_state(&c->program) ? c->loops->body : NULL};
    for (struct stmt *s; (s = stmts_next(&w));)
        if (multiplies_state(c->loops, s)) fetch_meanwhile(c, &w);
}
