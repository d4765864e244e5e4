/* Narrows a loop over j whose body does nothing outside a region of pairs (i, j).
   - It runs only over j that the region can contain for the current i. So fully masked tiles are skipped.
   - If the region compares ids, tiles without a common id are skipped.
   - The region is tested only in tiles that are partly outside. */
#include "pass.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"

#include <string.h>

/* Whether the union is one range without drawn blocks. */
static bool plain(const struct ranges *r)
{
    return r->count == 1 && !r->range[0].drawn;
}

/* Stores the ranges in statement s. Missing bounds become 0 and the axis's size. */
static void set_ranges(struct loops *l, struct stmt *s, const struct ranges *r)
{
    struct range *kept = arena_alloc(l->module->arena, (size_t)r->count * sizeof *kept);
    for (int k = 0; k < r->count; k++) {
        kept[k] = r->range[k];
        if (!kept[k].from) kept[k].from = expr_int(l->module, 0);
        if (!kept[k].to) kept[k].to = expr_size(l->module, s->axis);
    }
    s->ranges = r->count;
    s->range = kept;
}

/* Whether s is a map that only masks elements outside the region. */
static bool only_masks(const struct stmt *s, const struct expr *region)
{
    const struct expr *const e = stmt_mask(s);
    return e && e->arg[0] == region;
}

/* `condition` is an IF that holds if the tile has points outside the region. Makes the statements in *at test the
   region only then:
   - A map that only masks moves into a copy of the IF.
   - A product over the region gets the condition as its `when`, or its ranges. */
static void guard(struct loops *l, struct stmt **at, const struct expr *region, const struct stmt *condition)
{
    for (; *at; at = &(*at)->next) {
        struct stmt *s = *at;
        if (s->op == LOOPS_DOT && s->where == region) {
            s->when = condition->where;
            s->ranges = s->axis == condition->axis ? condition->ranges : 0;
            s->range = condition->range;
        }
        if (!only_masks(s, region)) continue;
        struct stmt *test = stmt_new(l, LOOPS_IF);
        *test = *condition;
        test->body = s;
        test->next = s->next;
        s->next = NULL;
        *at = test;
    }
}

/* Removes tests of the region from the list *at. */
static void drop_tests(struct stmt **at, const struct expr *region)
{
    while (*at) {
        struct stmt *const s = *at;
        if (s->op == LOOPS_DOT && s->where == region) s->where = NULL;
        if (only_masks(s, region))
            *at = s->next;
        else
            at = &s->next;
    }
}

/* Whether two bounds are equal inside loops over `single`, which have one index at a time. */
static bool same_bound(struct module *m, const struct expr *a, const struct expr *b, uint32_t single)
{
    int64_t difference;
    if (!a || !b) return a == b;
    for (int axis = 0; axis < m->axes; axis++) {
        if (!(single >> axis & 1)) continue;
        const struct expr *const hi = expr_hi(m, axis), *next = expr_add(m, expr_lo(m, axis), expr_int(m, 1));
        a = expr_replace(m, a, hi, next);
        b = expr_replace(m, b, hi, next);
    }
    return known_difference(m, a, b, &difference) && difference == 0;
}

/* Whether expression e of a statement with these lanes needs to know that the indices of an axis are neighbours. */
static bool needs_neighbours(const struct expr *e, int axis, int lane)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        const bool own = (w.e->op == EXPR_LO || w.e->op == EXPR_HI) && w.e->integer == axis;
        if (own || (expr_axes(w.e) >> axis & 1 && (lane == axis || expr_is_of_ids(w.e->op)))) return true;
    }
    return false;
}

/* Whether kernels can gather the rows that loop s reads: its body reads arrays only at its index, and whole rows. */
static bool can_gather(const struct loops *l, const struct stmt *s)
{
    const struct expr *const index = expr_index(l->module, s->axis);
    struct stmts w = {.list = s->body};
    for (const struct stmt *t; (t = stmts_next(&w));) {
        if (t->op == LOOPS_FOR || t->op == LOOPS_IF || t->op == LOOPS_SOLVE || t->where) return false;
        for (int k = 0; k < t->operands; k++) {
            const struct array *const a = &l->array[t->operand[k].of];
            for (int n = 0; n < a->rank && a->kind != ARRAY_TILE; n++) {
                const struct expr *const sub = t->operand[k].sub[n];
                const bool key = a->axes[n] == s->axis;
                if (key ? sub != index || !array_of_elements(l, a) : needs_neighbours(sub, s->axis, s->axis))
                    return false;
            }
        }
        for (int k = 0; k < t->assigns; k++)
            if (l->array[t->assign[k].to.of].kind != ARRAY_TILE ||
                (t->op == LOOPS_MAP && needs_neighbours(t->assign[k].expr, s->axis, t->axes[t->rank - 1])))
                return false;
    }
    return true;
}

/* Whether loops over the axes `single`, which have one index at a time, fix the list of a range. */
static bool fixes_list(const struct ranges *r, uint32_t single)
{
    const struct expr *const drawn = r->count == 1 ? r->range[0].drawn : NULL;
    return drawn && drawn->draw->name && !((expr_axes(drawn->arg[0]) | expr_axes(drawn->arg[2])) & ~single);
}

/* Limits loop s to its region. If the new bounds imply the region, removes the tests of the region. `single`: the
   axes of the loops around s that have one index at a time, as bits. 0: the tests stay. */
static void limit(struct loops *l, struct stmt *s, uint32_t single)
{
    struct module *m = l->module;
    struct ranges reached, inside;
    region_ranges(m, s->where, s->axis, false, &reached);
    if (reached.count == 0) s->to = s->from;
    if (plain(&reached)) {
        if (reached.range[0].from) s->from = expr_max(m, s->from, reached.range[0].from);
        if (reached.range[0].to) s->to = expr_min(m, s->to, reached.range[0].to);
    } else if (reached.count > 0)
        set_ranges(l, s, &reached);
    s->when = region_reached(m, s->where, s->axis);

    region_ranges(m, s->where, s->axis, true, &inside);
    const bool listed = fixes_list(&reached, single);
    if (single && (listed || plain(&reached)) && inside.count == 1 && inside.range[0].drawn == reached.range[0].drawn &&
        !s->when && same_bound(m, reached.range[0].from, inside.range[0].from, single) &&
        same_bound(m, reached.range[0].to, inside.range[0].to, single)) {
        drop_tests(&s->body, s->where);
        s->where = NULL;
        s->gathers = listed && can_gather(l, s);
        return;
    }
    struct stmt *condition = stmt_new(l, LOOPS_IF);
    condition->axis = s->axis;
    if (plain(&inside)) {
        const struct expr *lo = expr_lo(m, s->axis), *hi = expr_hi(m, s->axis), *partial = NULL;
        if (inside.range[0].from) partial = expr_lt(m, lo, inside.range[0].from);
        const struct expr *const after = inside.range[0].to ? expr_lt(m, inside.range[0].to, hi) : NULL;
        if (after) partial = partial ? expr_or(m, partial, after) : after;
        condition->where = partial;
    } else if (inside.count > 0)
        set_ranges(l, condition, &inside);
    if (condition->where || condition->ranges) guard(l, &s->body, s->where, condition);
}

/* Returns the axes of the loops around the statement that have one index at a time, as bits. */
static uint32_t single_around(const struct stmts *w)
{
    uint32_t single = 0;
    for (int k = 0; k < w->loops; k++)
        if (w->loop[k]->step == 1 && !w->loop[k]->period && !w->loop[k]->window)
            single |= UINT32_C(1) << w->loop[k]->axis;
    return single;
}

/* Whether e depends on the current ranges inside a sequence. */
static bool varies(const struct expr *e)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        if (w.e->op == EXPR_LO || w.e->op == EXPR_HI || w.e->op == EXPR_INDEX) return true;
        w.skip = w.e->op == EXPR_START;
    }
    return false;
}

/* Makes the loop over windows skip the first chunks if no query sees their keys. */
static void skip_chunks(struct loops *l, int stream)
{
    struct module *const m = l->module;
    struct stmt *const window = stmts_window(l->body);
    const struct expr *first = NULL; /* the first key that a loop reads. Each region has a loop */
    for (struct stmt *keys = window ? stmts_loop(window->body, stream) : NULL; keys; keys = keys->next) {
        if (keys->op != LOOPS_FOR || keys->axis != stream) continue;
        if (keys->ranges || keys->from->op != EXPR_MAX || varies(keys->from->arg[1])) return;
        first = first ? expr_min(m, first, keys->from->arg[1]) : keys->from->arg[1];
    }
    if (first)
        window->from = expr_div(m, expr_max(m, first, expr_int(m, 0)), expr_int(m, m->axis[window->axis].extent));
}

void bound_loops(const struct compilation *c, struct loops *l)
{
    struct roles roles;
    struct stmts w = {.list = l->body};
    for (struct stmt *s; (s = stmts_next(&w));)
        if (s->op == LOOPS_FOR && s->where) limit(l, s, c->program.by_heads ? single_around(&w) : 0);
    if (c->program.few && !roles_of(c->graph, 0, &roles)) skip_chunks(l, roles.stream);
}

void pass_bound(struct compilation *c)
{
    bound_loops(c, c->loops);
}
