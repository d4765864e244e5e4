/* Notes which pairs need their weight, for weights whose terms decay differently, such as
   sum over d of q[d] * k[d] * exp(a[d] - b[d]). A pair of a key and an earlier query has a growing factor, which the
   printer can avoid (emit/decayed.c) because nothing uses the weight. */
#include "pass.h"
#include "../analysis/analysis.h"

/* Whether s adds products with exponentials, over its middle or last axis, to a tile of pairs. */
static bool sums_decayed(const struct loops *l, const struct stmt *s)
{
    const struct assign *const a = &s->assign[0];
    return stmt_sums_pairs(s) && !s->where && !a->compensation && l->array[a->to.of].kind == ARRAY_TILE &&
           expr_has(a->expr, EXPR_EXP2);
}

/* If s only masks the tile, returns the region that it keeps. */
static const struct expr *kept_by(const struct stmt *s, const struct ref *tile)
{
    const struct expr *const e = stmt_mask(s);
    return e && s->operands == 1 && ref_equal(&s->assign[0].to, tile) && e->arg[2]->op != EXPR_OPERAND ? e->arg[0]
                                                                                                       : NULL;
}

/* Whether s sets another tile to the numbers of this one, multiplied by numbers of rows. */
static bool scales(const struct stmt *s, const struct ref *tile)
{
    const struct assign *const a = &s->assign[0];
    bool only = s->op == LOOPS_MAP && s->assigns == 1 && a->fold == FOLD_SET && a->to.of != tile->of && !s->where &&
                a->expr->op == EXPR_MUL && s->operands == 2 && a->to.rank == 2;
    for (int k = 0; k < 2 && only; k++) {
        const bool of_tile = s->operand[k].of == tile->of;
        only = a->expr->arg[k]->op == EXPR_OPERAND && ref_axis(&a->to, k) == ref_axis(tile, k) &&
               (of_tile ? ref_equal(&s->operand[k], tile) : s->operand[k].rank == 1);
    }
    return only && s->operand[0].of != s->operand[1].of;
}

/* Returns the region of pairs whose sums later statements use, or NULL if it is not known. `made` statements, up to s,
   make the sums. */
static const struct expr *used_by(const struct loops *l, const struct stmt *s, const int made)
{
    const struct ref *const tile = &s->assign[0].to;
    const struct stmt *user = s->next;
    while (user && !stmt_touches(user, tile->of)) user = user->next;
    if (!user) return NULL;
    if (scales(user, tile)) return stmts_touching(l->body, tile->of) == made + 1 ? used_by(l, user, 1) : NULL;
    if (user->op != LOOPS_SOLVE) return kept_by(user, tile);
    int solves = 0;
    for (const struct stmt *t = user; t; t = t->next) {
        if (t->op != LOOPS_SOLVE || t->operand[0].of != tile->of || t->backward != user->backward) continue;
        const int first = ref_axis(tile, 0), second = ref_axis(tile, 1);
        solves += (t->axis == first && t->axes[0] == second) || (t->axis == second && t->axes[0] == first);
    }
    const int earlier = user->backward ? user->axes[0] : user->axis,
              later = user->backward ? user->axis : user->axes[0];
    return solves > 0 && stmts_touching(l->body, tile->of) == made + solves
               ? expr_le(l->module, expr_index(l->module, earlier), expr_index(l->module, later))
               : NULL;
}

void pass_needed_pairs(struct compilation *c)
{
    struct stmts w = {.list = c->loops->body};
    for (struct stmt *s; (s = stmts_next(&w));)
        if (sums_decayed(c->loops, s)) s->where = used_by(c->loops, s, 2);
}
