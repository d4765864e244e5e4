/* Prepares products for matrix units: pads tiles to tile registers (16 rows of 64 bytes), and defers constant
   factors. */
#include "pass.h"
#include "../schedule/schedule.h"

/* ---- shapes ---- */

static void round_extent(struct array *a, int k, int64_t to)
{
    a->extent[k] = (a->extent[k] + to - 1) / to * to;
}

void pad_matrix_operand(struct array *a, const struct matrix_unit *unit)
{
    round_extent(a, 0, a->paired ? unit->depth : unit->rows);
    round_extent(a, 1, a->paired ? unit->rows : unit->depth);
}

void pad_matrix_result(struct loops *l, const struct stmt *dot, const struct matrix_unit *unit)
{
    struct array *const a = &l->array[dot->assign[0].to.of];
    for (int k = 0; k < a->rank; k++)
        if (ref_axis(&dot->assign[0].to, k) == dot->axes[0]) round_extent(a, k, unit->rows);
}

/* ---- factors ---- */

/* Whether s only replaces elements by 0 or an infinity, so that a positive factor may move past s. */
static bool masks(const struct stmt *s, const struct ref *tile)
{
    const struct expr *const e = stmt_mask(s);
    return e && ref_equal(&s->assign[0].to, tile) && e->arg[2]->op == EXPR_REAL &&
           e->arg[2]->real * 2 == e->arg[2]->real && !expr_uses(e->arg[0], e->arg[1]);
}

static bool sets(const struct stmt *s, const struct ref *tile)
{
    for (int k = 0; k < s->assigns; k++)
        if (s->assign[k].to.of == tile->of) return true;
    return false;
}

/* Whether s is a map that accesses only the tile's current element, and sets it with FOLD_SET. */
static bool at_point(const struct stmt *s, const struct ref *tile)
{
    for (int k = 0; k < s->operands; k++)
        if (s->operand[k].of == tile->of && !ref_equal(&s->operand[k], tile)) return false;
    for (int k = 0; k < s->assigns; k++)
        if (s->assign[k].compensation == tile->of + 1 ||
            (s->assign[k].to.of == tile->of && (s->assign[k].fold != FOLD_SET || !ref_equal(&s->assign[k].to, tile))))
            return false;
    return s->op == LOOPS_MAP;
}

const struct stmt *map_of_product(const struct loops *l, const struct stmt *dot)
{
    const struct stmt *const map = dot->next;
    const struct ref *const product = &dot->assign[0].to;
    if (!map || map->op != LOOPS_MAP || map->assigns != 1 || map->operands != 1 || map->rank != 2 ||
        dot->assign[0].fold != FOLD_SET || map->assign[0].fold != FOLD_SET || stmts_touching(l->body, product->of) != 2)
        return NULL;
    const struct expr *const e = map->assign[0].expr;
    struct ref there = map->assign[0].to;
    there.of = product->of;
    const bool scales = e->op == EXPR_MUL && e->arg[0]->op == EXPR_OPERAND && e->arg[1]->op == EXPR_REAL;
    return scales && map->axes[0] == dot->axes[0] && map->axes[1] == dot->axes[1] && ref_equal(&there, product) &&
                   ref_equal(&map->operand[0], product)
               ? map
               : NULL;
}

void defer_factor(struct loops *l, struct stmt *dot, const struct matrix_unit *unit)
{
    struct module *m = l->module;
    const struct stmt *const map = map_of_product(l, dot);
    if (!map || !(map->assign[0].expr->arg[1]->real > 0)) return;
    const struct expr *const factor = map->assign[0].expr->arg[1];
    const struct ref tile = map->assign[0].to;
    struct stmt *end = map->next; /* the next statement that sets the tile */
    for (; end; end = end->next) {
        if (!stmt_touches(end, tile.of) || masks(end, &tile)) continue;
        if (end->body || !at_point(end, &tile)) return;
        if (sets(end, &tile)) break;
    }
    for (struct stmt *s = map->next; s; s = s == end ? NULL : s->next) {
        if (!stmt_touches(s, tile.of) || masks(s, &tile)) continue;
        for (int k = 0; k < s->operands; k++) {
            const struct expr *leaf = expr_operand(m, k), *whole = expr_mul(m, leaf, factor);
            if (s->operand[k].of != tile.of) continue;
            for (int n = 0; n < s->assigns; n++) s->assign[n].expr = expr_replace(m, s->assign[n].expr, leaf, whole);
        }
    }
    dot->assign[0].to = tile;
    pad_matrix_result(l, dot, unit);
    dot->next = map->next;
}
