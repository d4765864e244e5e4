/* Reads and writes a tile of pairs once where a mask stands between two maps. Such a list
     map score = f(score); if (partly masked) { map score = select(mask, score, -inf) }; map max row_max = score
   becomes
     if (partly masked) { one map for all three }; if (not) { one map for the first and the last }.
   A map that adds numbers, of which -inf hides, compares those that it has loaded with -inf. The others stay finite. */
#include "pass.h"
#include "../schedule/schedule.h"

#include <float.h>
#include <math.h>

/* Whether s only sets each element of a tile. */
static bool sets_tile(const struct loops *l, const struct stmt *s)
{
    const struct assign *const a = &s->assign[0];
    return s->op == LOOPS_MAP && s->assigns == 1 && a->fold == FOLD_SET && l->array[a->to.of].kind == ARRAY_TILE &&
           a->to.rank == s->rank;
}

/* Whether s is an IF around one map that masks the tile that `set` sets. */
static bool masks_tile(const struct loops *l, const struct stmt *s, const struct stmt *set)
{
    const struct stmt *const body = s->op == LOOPS_IF && s->where ? s->body : NULL;
    return body && !body->next && sets_tile(l, body) && stmt_same_nest(body, set) &&
           ref_equal(&body->assign[0].to, &set->assign[0].to) &&
           ref_find(body->operand, body->operands, &set->assign[0].to) >= 0;
}

/* Makes `set` also do what `mask` does to the tile. Returns false if there is no room for the operands. */
static bool add_mask(struct loops *l, struct stmt *set, const struct stmt *mask)
{
    const struct expr *with[MAX_OPERANDS];
    for (int k = 0; k < mask->operands; k++) {
        const bool own = ref_equal(&mask->operand[k], &set->assign[0].to);
        const int number = own ? 0 : ref_add(set->operand, &set->operands, &mask->operand[k]);
        if (number < 0) return false;
        with[k] = own ? set->assign[0].expr : expr_operand(l->module, number);
    }
    set->assign[0].expr = expr_bind(l->module, mask->assign[0].expr, with);
    return true;
}

/* Returns a copy of s alone. */
static struct stmt *alone(struct loops *l, const struct stmt *s)
{
    return stmts_copy(l, s, s->next);
}

/* Rewrites the list that begins with the map *at, if it has this form. */
static bool merge_around_mask(struct loops *l, struct stmt **at)
{
    struct stmt *const set = *at, *before = set;
    if (!sets_tile(l, set)) return false;
    while (before->next && exchangeable_statements(set, before->next)) before = before->next;
    const struct stmt *const test = before->next, *const last = test ? test->next : NULL;
    if (!last || !masks_tile(l, test, set)) return false;
    struct stmt *const masked = alone(l, set), *const whole = alone(l, set);
    if (!add_mask(l, masked, test->body) || !merge_maps(l, masked, last) || !merge_maps(l, whole, last)) return false;
    masked->next = whole->next = NULL;
    struct stmt *const inside = alone(l, test), *const outside = alone(l, test);
    inside->where = expr_not(l->module, test->where);
    inside->body = whole;
    outside->body = masked;
    outside->next = inside;
    inside->next = last->next;
    before->next = outside;
    *at = set->next; /* `before` is another statement, or set, whose next statement is `outside` */
    return true;
}

/* ---- numbers that hide where they are -inf ---- */

static const struct expr *size_from(struct module *m, enum size_source source)
{
    return expr_size(m, axes_first(axes_with_size(m, source)));
}

static const struct expr *row_after(struct module *m, const struct expr *row, const struct expr *size,
                                    const struct expr *sub)
{
    return expr_add(m, expr_mul(m, row, size), sub);
}

/* Returns the condition that the element r of a parameter is not -inf, as a region has it. */
static const struct expr *shown(const struct loops *l, const struct ref *r)
{
    struct module *const m = l->module;
    const struct expr *row = expr_int(m, 0);
    for (int k = 0; k + 1 < r->rank; k++) {
        const int axis = l->array[r->of].axes[k];
        if (m->axis[axis].source == SIZE_ROWS) { /* of members and queries */
            const struct expr *const queries = size_from(m, SIZE_N_Q);
            row = row_after(m, row, size_from(m, SIZE_MEMBERS), expr_div(m, r->sub[k], queries));
            row = row_after(m, row, queries, expr_mod(m, r->sub[k], queries));
        } else
            row = row_after(m, row, expr_size(m, axis), r->sub[k]);
    }
    const struct expr *const id = expr_id(m, EXPR_ID, l->array[r->of].name, row, r->rank ? r->sub[r->rank - 1] : row,
                                          NULL);
    return expr_lt(m, expr_int(m, 0), id);
}

/* Returns the copy that sets the tile, if no other statement does. */
static const struct stmt *copy_to(const struct loops *l, int tile)
{
    const struct stmt *s;
    struct stmts w = {.list = l->body};
    while ((s = stmts_next(&w)) && !stmt_writes(s, tile)) continue;
    return s && s->op == LOOPS_COPY && stmts_writing(l->body, tile) == 1 ? s : NULL;
}

/* Sets *source to the element of a parameter that r reads, itself or in a copy. Returns false if it reads none. */
static bool source_of(const struct loops *l, const struct ref *r, struct ref *source)
{
    *source = *r;
    if (l->array[r->of].kind == ARRAY_PARAM) return true;
    const struct stmt *const copy = l->array[r->of].kind == ARRAY_TILE ? copy_to(l, r->of) : NULL;
    if (!copy || copy->assign[0].to.rank != r->rank) return false;
    *source = copy->operand[0];
    for (int k = 0; k < r->rank; k++) {
        const struct expr *const to = copy->assign[0].to.sub[k];
        if (to == r->sub[k]) continue;
        if (to->op != EXPR_INDEX || l->module->axis[to->integer].source != SIZE_CONSTANT) return false;
        for (int n = 0; n < source->rank; n++) source->sub[n] = expr_replace(l->module, source->sub[n], to, r->sub[k]);
    }
    return l->array[source->of].kind == ARRAY_PARAM;
}

struct limited {
    struct module *m;
    const struct expr *operand;
};

/* Gives the operand a lower limit in its products with a constant. So the lowest numbers, times log2(e), stay finite,
   and a row that sees only them has weights. */
static const struct expr *finite_product(void *of, const struct expr *e)
{
    const struct limited *const x = of;
    if (e->op != EXPR_MUL || e->arg[0] != x->operand || e->arg[1]->op != EXPR_REAL || e->arg[1]->real <= 1) return NULL;
    const double by = e->arg[1]->real, limit = x->m->dtype == DTYPE_F64 ? nextafter(-DBL_MAX / by, 0)
                                                                        : (double)nextafterf((float)(-FLT_MAX / by), 0);
    const struct expr *const least = expr_real(x->m, limit), *const below = expr_lt(x->m, x->operand, least);
    return expr_mul(x->m, expr_select(x->m, below, least, x->operand), e->arg[1]);
}

static void compare_operands(struct loops *l, struct stmt *s)
{
    struct module *const m = l->module;
    for (int k = 0; k < s->operands; k++) {
        struct ref r;
        if (!source_of(l, &s->operand[k], &r) || !l->array[r.of].hides) continue;
        const struct expr *const operand = expr_operand(m, k), *const differs = expr_make(
                                                                   m, EXPR_NE, operand, expr_real(m, -INFINITY), NULL);
        for (int n = 0; n < s->assigns; n++) {
            struct assign *const a = &s->assign[n];
            a->expr = expr_replace(m, a->expr, shown(l, &r), differs);
            if (l->array[r.of].dtype != DTYPE_F16)
                a->expr = expr_map(m, a->expr, finite_product, &(struct limited){m, operand});
        }
    }
}

void pass_masked_maps(struct compilation *c)
{
    stmts_rewrite(&c->loops->body, merge_around_mask, c->loops);
    bool hides = false;
    for (int a = 0; a < c->loops->arrays; a++) hides |= c->loops->array[a].hides;
    struct stmts w = {.list = hides ? c->loops->body : NULL};
    for (struct stmt *s; (s = stmts_next(&w));)
        if (s->op == LOOPS_MAP) compare_operands(c->loops, s);
}
