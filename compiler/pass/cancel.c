/* Keeps small terms of an exponent accurate next to large ones. Position terms, such as slope * distance, can be
   large but cancel when the row's maximum is subtracted. A stored sum would lose the digits of other terms. So a
   tile stores only the other terms, and its readers compute (position terms - maximum) + other terms. */
#include "pass.h"
#include "../schedule/schedule.h"

#include <math.h>

/* Whether e is a position term: without operands, cheap, and too small to overflow. Sets *changes if e varies over
   the nest of s. */
static bool of_positions(const struct stmt *s, const struct expr *e, bool *changes)
{
    const uint32_t nest = axes_set(s->rank, s->axes);
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        const bool inside = (expr_axes(w.e) & nest) != 0;
        if (w.e->op == EXPR_OPERAND || (w.e->op == EXPR_REAL && !(fabs(w.e->real) < 1e20)) ||
            (inside && expr_effort(w.e->op) > EFFORT_SIMPLE))
            return false;
        *changes |= inside;
    }
    return true;
}

static const struct expr *plus(struct module *m, const struct expr *sum, const struct expr *e, bool negative)
{
    if (sum) return expr_make(m, negative ? EXPR_SUB : EXPR_ADD, sum, e, NULL);
    return negative ? expr_neg(m, e) : e;
}

/* Adds e, or -e if `negative`, term by term: varying position terms to *positions, all others to *others. Empty sums
   are NULL. */
static void split(struct module *m, const struct stmt *s, const struct expr *e, bool negative,
                  const struct expr **positions, const struct expr **others)
{
    bool changes = false;
    if (of_positions(s, e, &changes) && changes)
        *positions = plus(m, *positions, e, negative);
    else if ((e->op == EXPR_ADD || e->op == EXPR_SUB) && !expr_is_exact_difference(e)) {
        split(m, s, e->arg[0], negative, positions, others);
        split(m, s, e->arg[1], negative != (e->op == EXPR_SUB), positions, others);
    } else
        *others = plus(m, *others, e, negative);
}

/* Replaces `leaf` by leaf + positions. leaf - m becomes leaf + (positions - m), so large terms cancel first. */
struct moved {
    struct module *m;
    const struct expr *leaf, *positions;
};

static const struct expr *with_positions(void *of, const struct expr *e)
{
    const struct moved *const x = of;
    if (e == x->leaf) return expr_add(x->m, e, x->positions);
    if (!expr_uses(e, x->leaf)) return e;
    if (e->op != EXPR_SUB || e->arg[0] != x->leaf || expr_uses(e->arg[1], x->leaf)) return NULL;
    return expr_add(x->m, x->leaf, expr_sub(x->m, x->positions, e->arg[1]));
}

/* Whether s, a map or an IF around one, only sets masked elements to an infinity. */
static bool masks(const struct stmt *s, const struct ref *tile)
{
    if (s->op == LOOPS_IF) return s->body && !s->body->next && masks(s->body, tile);
    const struct expr *const e = stmt_mask(s);
    return e && ref_equal(&s->assign[0].to, tile) && e->arg[2]->op == EXPR_REAL && isinf(e->arg[2]->real) &&
           !expr_uses(e->arg[0], e->arg[1]);
}

/* Whether s only reduces the tile to its maximum. */
static bool takes_maximum(const struct stmt *s, const struct ref *tile)
{
    int own = ref_find(s->operand, s->operands, tile);
    return s->assigns == 1 && s->assign[0].fold == FOLD_MAX && own >= 0 && s->assign[0].expr->op == EXPR_OPERAND &&
           s->assign[0].expr->integer == own;
}

/* Whether s starts with tile = f(tile - m), such as exp2(tile - m), where m does not depend on the tile. */
static bool takes_difference(struct module *m, const struct stmt *s, const struct ref *tile)
{
    int own = ref_find(s->operand, s->operands, tile);
    if (own < 0 || s->assign[0].fold != FOLD_SET || !ref_equal(&s->assign[0].to, tile)) return false;
    const struct expr *leaf = expr_operand(m, own), *e = s->assign[0].expr;
    while (e->op == EXPR_MUL || e->op == EXPR_EXP2) e = e->arg[0];
    return e->op == EXPR_SUB && e->arg[0] == leaf && !expr_uses(e->arg[1], leaf);
}

/* Moves the position terms of the tile of *at to its readers. If *at then does nothing, removes it and returns true. */
static bool cancel(struct loops *l, struct stmt **at)
{
    struct module *m = l->module;
    struct stmt *s = *at, *last = s->next;
    if (s->op != LOOPS_MAP || s->assigns == 0) return false;
    struct assign *a = &s->assign[s->assigns - 1];
    const struct expr *positions = NULL, *others = NULL;
    if (a->fold != FOLD_SET || l->array[a->to.of].kind != ARRAY_TILE || a->to.rank != s->rank) return false;
    split(m, s, a->expr, false, &positions, &others);
    if (!positions || !others) return false;
    const struct ref tile = a->to;
    int own = ref_find(s->operand, s->operands, &tile), users = 0, maxima = 0;
    for (; last; last = last->next) {
        if (!stmt_touches(last, tile.of)) continue;
        users++;
        if (masks(last, &tile)) continue;
        if (!stmt_same_nest(s, last)) return false;
        if (!takes_maximum(last, &tile)) break;
        maxima++;
    }
    if (!last || !maxima || !takes_difference(m, last, &tile)) return false;
    for (struct stmt *t = s->next; users > 0; t = t->next) {
        if (!stmt_touches(t, tile.of)) continue;
        users--;
        if (masks(t, &tile)) continue;
        struct moved moved = {m, expr_operand(m, ref_find(t->operand, t->operands, &tile)), positions};
        t->assign[0].expr = expr_map(m, t->assign[0].expr, with_positions, &moved);
    }
    a->expr = others;
    if (own < 0 || others != expr_operand(m, own)) return false;
    if (--s->assigns > 0) return false;
    *at = s->next;
    return true;
}

void pass_cancel(struct compilation *c)
{
    stmts_rewrite(&c->loops->body, cancel, c->loops);
}
