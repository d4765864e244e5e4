/* Multiplies a product's result by the factor of a row, in place of the row's elements: (f * q) . S becomes f * (q .
   S). Then the product reads rows as they are stored, and the next map of the result takes the factor with it. The
   factor is a decay, which only arrays of the caller and prefix sums determine. A norm stays with the elements, because
   the product of the elements alone may overflow. */
#include "pass.h"
#include "../schedule/schedule.h"

#include <string.h>

/* A map that multiplies elements of rows by a factor of the row. */
struct scaled_rows {
    struct loops *l;
    struct stmt *map;
    int over;    /* the axis of elements */
    int element; /* the operand of the map with the elements, or -1 */
    const struct expr *factor;
};

/* Whether e is a factor of the row: it has one value for all elements, and reads no tile. */
static bool is_of_row(const struct scaled_rows *x, const struct expr *e)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        const struct ref *const r = w.e->op == EXPR_OPERAND ? &x->map->operand[w.e->integer] : NULL;
        if (r ? ref_uses_axis(r, x->over) || x->l->array[r->of].kind == ARRAY_TILE
              : w.e->op == EXPR_INDEX || expr_is_looked_up(w.e->op))
            return false;
    }
    return true;
}

/* Divides e, a product, into the elements and the factor. Returns false if e has another form. */
static bool divide(struct scaled_rows *x, const struct expr *e)
{
    struct module *const m = x->l->module;
    if (e->op == EXPR_OPERAND && x->element < 0) {
        x->element = (int)e->integer;
        return true;
    }
    if (e->op != EXPR_MUL) return false;
    for (int k = 0; k < 2; k++) {
        if (!is_of_row(x, e->arg[k])) continue;
        x->factor = x->factor ? expr_mul(m, x->factor, e->arg[k]) : e->arg[k];
        return divide(x, e->arg[1 - k]);
    }
    return false;
}

/* Whether the subscripts of r are the axes of its array. */
static bool is_plain(const struct loops *l, const struct ref *r)
{
    const struct ref plain = loops_ref(l, r->of);
    return ref_equal(r, &plain);
}

/* Whether `dot` only sets a tile to a product whose rows are tile `rows`, summed over its axis `over`. */
static bool multiplies(const struct loops *l, const struct stmt *dot, int rows, int over)
{
    return dot && dot->op == LOOPS_DOT && dot->operands == 2 && dot->operand[0].of == rows && dot->axis == over &&
           is_plain(l, &dot->operand[0]) && dot->assign[0].fold == FOLD_SET && dot->assign[0].to.of != rows &&
           l->array[dot->assign[0].to.of].kind == ARRAY_TILE;
}

/* Appends a map after `dot` that computes the factors of its rows. Returns their tile. */
static int factors_of_rows(const struct scaled_rows *x, struct stmt *dot)
{
    struct loops *const l = x->l;
    const struct array *const result = &l->array[dot->assign[0].to.of];
    struct array factors = {.name = "row_factor", .dtype = result->dtype, .rank = 1, .axes = {dot->axes[0]}};
    for (int k = 0; k < result->rank; k++)
        if (result->axes[k] == dot->axes[0]) factors.extent[0] = result->extent[k];
    struct stmt *const s = stmt_fill(l, LOOPS_MAP, factors);
    s->assign[0].expr = expr_take(l->module, x->factor, x->map->operand, s->operand, &s->operands);
    s->next = dot->next;
    dot->next = s;
    return s->assign[0].to.of;
}

/* Returns the map after `dot` that reads its result element by element, and the operand of the result, if no other
   statement reads it. Otherwise returns NULL. */
static struct stmt *only_reader(const struct loops *l, const struct stmt *dot, int *operand)
{
    enum { ITSELF_AND_READER = 2 };
    const struct ref *const result = &dot->assign[0].to;
    struct stmt *reader = dot->next;
    while (reader && !stmt_touches(reader, result->of)) reader = reader->next;
    if (!reader || reader->op != LOOPS_MAP || reader->rank != 2 || reader->axes[0] != dot->axes[0] ||
        reader->axes[1] != dot->axes[1] || reader->operands == MAX_OPERANDS ||
        stmts_touching(l->body, result->of) != ITSELF_AND_READER)
        return NULL;
    for (int k = 0; k < reader->assigns; k++)
        if (reader->assign[k].to.of == result->of && reader->assign[k].fold != FOLD_SET) return NULL;
    *operand = -1;
    for (int k = 0; k < reader->operands; k++) {
        if (reader->operand[k].of != result->of) continue;
        if (*operand >= 0 || !ref_equal(&reader->operand[k], result)) return NULL;
        *operand = k;
    }
    return *operand < 0 ? NULL : reader;
}

/* Multiplies the result of `dot` by the factor where its only reader reads it, or else in a new map. */
static void multiply_result(const struct scaled_rows *x, struct stmt *dot)
{
    struct module *const m = x->l->module;
    const struct ref result = dot->assign[0].to;
    int operand;
    struct stmt *reader = only_reader(x->l, dot, &operand);
    const int factors = factors_of_rows(x, dot);
    if (!reader) {
        reader = stmt_new(x->l, LOOPS_MAP);
        reader->rank = 2;
        memcpy(reader->axes, dot->axes, 2 * sizeof *dot->axes);
        reader->operand[operand = reader->operands++] = result;
        reader->assigns = 1;
        reader->assign[0] = (struct assign){result, FOLD_SET, expr_operand(m, 0), 0};
        reader->next = dot->next->next;
        dot->next->next = reader;
    }
    const struct expr *const leaf = expr_operand(m, operand), *const factor = expr_operand(m, reader->operands);
    reader->operand[reader->operands++] = loops_ref(x->l, factors);
    for (int k = 0; k < reader->assigns; k++)
        reader->assign[k].expr = expr_replace(m, reader->assign[k].expr, leaf, expr_mul(m, leaf, factor));
}

/* Moves the factor of the map *at into the result of the only product that reads the map's tile. Returns whether the
   map is removed. */
static bool move_factor(struct loops *l, struct stmt **at)
{
    enum { ITSELF_AND_PRODUCT = 2 };
    struct stmt *const map = *at, *dot = map->next;
    if (map->op != LOOPS_MAP || map->assigns != 1 || map->rank != 2 || map->assign[0].fold != FOLD_SET || map->where)
        return false;
    const struct ref *const to = &map->assign[0].to;
    if (l->array[to->of].kind != ARRAY_TILE || !is_plain(l, to) ||
        stmts_touching(l->body, to->of) != ITSELF_AND_PRODUCT)
        return false;
    while (dot && !stmt_touches(dot, to->of)) dot = dot->next;
    struct scaled_rows x = {l, map, dot ? dot->axis : -1, -1, NULL};
    if (!multiplies(l, dot, to->of, x.over) || !divide(&x, map->assign[0].expr) || !x.factor ||
        !expr_has(x.factor, EXPR_OPERAND))
        return false;
    const struct ref *const rows = &map->operand[x.element];
    if (l->array[rows->of].kind != ARRAY_INPUT || ref_axis(rows, rows->rank - 1) != x.over) return false;
    dot->operand[0] = *rows;
    multiply_result(&x, dot);
    *at = map->next;
    return true;
}

void pass_row_factors(struct compilation *c)
{
    stmts_rewrite(&c->loops->body, move_factor, c->loops);
}
