/* Lets a product that adds to a sum also multiply the sum by what is kept of it. Such a list
     map S = S * kept - S * lost; dot S += a * b
   becomes
     dot S = S * kept - S * lost + a * b
   if `kept` and `lost` have one number for each row. So a large S is read and written once less. */
#include "pass.h"
#include "../schedule/schedule.h"

int factor_in(const struct stmt *s, const struct expr *e, int own)
{
    if (e->op != EXPR_MUL || e->arg[0]->op != EXPR_OPERAND || e->arg[1]->op != EXPR_OPERAND) return -1;
    const int side = e->arg[0]->integer == own, factor = (int)e->arg[side]->integer;
    if (e->arg[1 - side]->integer != own || factor == own) return -1;
    const struct ref *const r = &s->operand[factor];
    return ref_uses_axis(r, s->axes[0]) && !ref_uses_axis(r, s->axes[1]) ? factor : -1;
}

/* If the map at *at and the product after it have this form, makes the product do both. */
static bool take_map(struct loops *l, struct stmt **at)
{
    const struct stmt *const map = *at;
    struct stmt *const dot = map->next;
    if (map->op != LOOPS_MAP || !dot || dot->op != LOOPS_DOT || map->where || map->rank != 2 ||
        map->axes[0] != dot->axes[0] || map->axes[1] != dot->axes[1] || map->assigns != 1 ||
        map->assign[0].fold != FOLD_SET || dot->assign[0].fold != FOLD_SUM || dot->assign[0].compensation ||
        dot->operands != 2 || !ref_equal(&map->assign[0].to, &dot->assign[0].to))
        return false;
    const struct array *const lane = &l->array[dot->operand[1].of];
    const struct expr *const e = map->assign[0].expr;
    if (lane->paired || lane->matrix || lane->kind != ARRAY_TILE || dot->where || e->op != EXPR_SUB) return false;
    for (int k = 0; k < map->operands; k++) {
        if (!ref_equal(&map->operand[k], &map->assign[0].to)) continue;
        const int kept = factor_in(map, e->arg[0], k), lost = factor_in(map, e->arg[1], k);
        if (kept < 0 || lost < 0) return false;
        dot->operand[dot->operands++] = map->operand[kept];
        dot->operand[dot->operands++] = map->operand[lost];
        *at = dot;
        return true;
    }
    return false;
}

void pass_kept_rows(struct compilation *c)
{
    stmts_rewrite(&c->loops->body, take_map, c->loops);
}
