/* Prints C for the minimum and maximum of the ids in a range of positions. They tell whether a tile is empty or
   full. */
#include "emit.h"
#include "printer.h"

/* Returns the axes whose current range the expression depends on, as bits. */
static uint32_t range_axes(const struct expr *e)
{
    uint32_t axes = 0;
    for (struct exprs w = {.of = e}; exprs_next(&w);)
        axes |= w.e->op == EXPR_LO || w.e->op == EXPR_HI ? AXIS(w.e->integer) : 0;
    return axes;
}

uint32_t emit_loop_axes(const struct stmt *list)
{
    uint32_t axes = 0;
    struct stmts w = {.list = (struct stmt *)list};
    for (const struct stmt *s; (s = stmts_next(&w));) axes |= s->op == LOOPS_FOR ? AXIS(s->axis) : 0;
    return axes;
}

/* Declares the minimum and maximum of ids for each MIN_ID and MAX_ID in `e`, once per range. Skips ranges that
   depend on an axis in `moving`, because a later loop changes it. */
static void declare(struct emitter *x, const struct expr *e, uint32_t moving)
{
    if (!e) return;
    for (int k = 0; k < expr_arity(e->op); k++) declare(x, e->arg[k], moving);
    if ((e->op != EXPR_MIN_ID && e->op != EXPR_MAX_ID) || range_axes(e) & moving || emit_known_ids(x, e) < x->ids ||
        x->ids == MAX_ID_RANGES)
        return;
    const char *of = "";
    for (int a = 0; a < x->m->axes; a++)
        if (range_axes(e->arg[1]) >> a & 1) of = x->m->axis[a].name;
    emit_line(x, "const struct ids ids_%d = %s;%s%s%s", x->ids, emit_ids_in_range(x, e),
              *of ? " /* of the tile of " : "", of, *of ? " */" : "");
    x->id[x->ids++] = e;
}

void emit_ids(struct emitter *x, const struct stmt *loop, bool inside)
{
    struct stmt alone = *loop;
    alone.next = NULL;
    const uint32_t moving = emit_loop_axes(inside ? loop->body : &alone);
    struct stmts w = {.list = &alone};
    for (const struct stmt *s; (s = stmts_next(&w));) {
        declare(x, s->op == LOOPS_FOR ? s->from : NULL, moving);
        declare(x, s->op == LOOPS_FOR ? s->to : NULL, moving);
        declare(x, s->op == LOOPS_IF ? s->where : NULL, moving);
        declare(x, s->when, moving);
        for (int k = 0; k < s->ranges; k++) {
            declare(x, s->range[k].from, moving);
            declare(x, s->range[k].to, moving);
        }
    }
}
