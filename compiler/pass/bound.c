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
        const bool own = (w.e->op == EXPR_LO || w.e->op == EXPR_HI) && w.e->integer == axis,
                   looks_up = expr_is_of_ids(w.e->op) || w.e->op == EXPR_DRAWN;
        if (own || (expr_axes(w.e) >> axis & 1 && (lane == axis || looks_up))) return true;
    }
    return false;
}

/* Whether kernels can gather the rows that loop s reads: its body reads arrays only at its index, and whole rows. If
   `rest` is not NULL, it replaces the loop's region. */
static bool can_gather(const struct loops *l, const struct stmt *s, const struct expr *rest)
{
    const struct expr *const index = expr_index(l->module, s->axis);
    struct stmts w = {.list = s->body};
    for (const struct stmt *t; (t = stmts_next(&w));) {
        const int lane = t->rank ? t->axes[t->rank - 1] : -1;
        const bool tests = only_masks(t, s->where) || (t->where && t->where == s->where);
        if (t->op == LOOPS_FOR || t->op == LOOPS_IF || t->op == LOOPS_SOLVE || (t->where && !tests)) return false;
        if (tests && rest && needs_neighbours(rest, s->axis, lane)) return false;
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
                (t->op == LOOPS_MAP && !tests && needs_neighbours(t->assign[k].expr, s->axis, lane)))
                return false;
    }
    return true;
}

/* Finds a list of the axis's indices in a conjunction. The loops over `single` fix the list. Sets *rest to the other
   conditions. Returns NULL, or the list. */
static const struct expr *list_in(struct module *m, const struct expr *e, int axis, uint32_t single,
                                  const struct expr **rest)
{
    const uint32_t own = AXIS(axis);
    if (e->op == EXPR_DRAWN && e->draw->name && !((expr_axes(e->arg[0]) | expr_axes(e->arg[2])) & ~single) &&
        expr_axes(e->arg[1]) == own) {
        *rest = NULL;
        return e;
    }
    for (int k = 0; k < 2 && e->op == EXPR_AND; k++) {
        const struct expr *const found = list_in(m, e->arg[k], axis, single, rest), *const other = e->arg[1 - k];
        if (found) *rest = *rest ? expr_and(m, *rest, other) : other;
        if (found) return found;
    }
    return NULL;
}

/* Replaces tests of the region in a list of statements. */
static void replace_tests(struct module *m, struct stmt *s, const struct expr *region, const struct expr *by)
{
    for (; s; s = s->next) {
        if (s->op == LOOPS_DOT && s->where == region) s->where = by;
        if (only_masks(s, region)) s->assign[0].expr = expr_replace(m, s->assign[0].expr, region, by);
    }
}

/* If the region of loop s is a list of its indices, lets the loop gather the rows of these. Other conditions of the
   region are bounds of the indices, or stay as tests. */
static bool gather(struct loops *l, struct stmt *s, uint32_t single)
{
    struct module *const m = l->module;
    struct ranges reached = {0}, inside = {0};
    const struct expr *rest = NULL, *const list = single ? list_in(m, s->where, s->axis, single, &rest) : NULL;
    if (!list) return false;
    if (rest) region_ranges(m, rest, s->axis, false, &reached);
    if (rest) region_ranges(m, rest, s->axis, true, &inside);
    const bool bounds = !rest || (plain(&reached) && plain(&inside) && !region_reached(m, rest, s->axis) &&
                                  same_bound(m, reached.range[0].from, inside.range[0].from, single) &&
                                  same_bound(m, reached.range[0].to, inside.range[0].to, single));
    if (!can_gather(l, s, bounds ? NULL : rest)) return false;
    struct ranges listed = {.count = 1, .range = {{.drawn = list}}};
    const struct range *const bound = &reached.range[0];
    if (rest && bounds && bound->from) listed.range[0].from = expr_max(m, expr_int(m, 0), bound->from);
    if (rest && bounds && bound->to) listed.range[0].to = expr_min(m, expr_size(m, s->axis), bound->to);
    set_ranges(l, s, &listed);
    if (bounds)
        drop_tests(&s->body, s->where);
    else
        replace_tests(m, s->body, s->where, rest);
    s->where = NULL;
    s->gathers = true;
    return true;
}

/* Limits loop s to its region. If the new bounds imply the region, removes the tests of the region. `single`: the
   axes of the loops around s that have one index at a time, as bits. 0: the tests stay. */
static void limit(struct loops *l, struct stmt *s, uint32_t single)
{
    struct module *m = l->module;
    struct ranges reached, inside;
    if (gather(l, s, single)) return;
    region_ranges(m, s->where, s->axis, false, &reached);
    if (reached.count == 0) s->to = s->from;
    if (plain(&reached)) {
        if (reached.range[0].from) s->from = expr_max(m, s->from, reached.range[0].from);
        if (reached.range[0].to) s->to = expr_min(m, s->to, reached.range[0].to);
    } else if (reached.count > 0)
        set_ranges(l, s, &reached);
    s->when = region_reached(m, s->where, s->axis);

    region_ranges(m, s->where, s->axis, true, &inside);
    if (single && plain(&reached) && plain(&inside) && !s->when &&
        same_bound(m, reached.range[0].from, inside.range[0].from, single) &&
        same_bound(m, reached.range[0].to, inside.range[0].to, single)) {
        drop_tests(&s->body, s->where);
        s->where = NULL;
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
