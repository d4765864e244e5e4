/* Prints C for the minimum and maximum of the ids in a range of positions. They tell whether a tile is empty or
   full. */
#include "emit.h"
#include "printer.h"

/* Returns the axes whose current range the expression depends on, as bits. */
static uint32_t range_axes(const struct expr *e)
{
    uint32_t axes = e->op == EXPR_LO || e->op == EXPR_HI ? UINT32_C(1) << e->integer : 0;
    for (int k = 0; k < expr_arity(e->op); k++) axes |= range_axes(e->arg[k]);
    return axes;
}

uint32_t emit_loop_axes(const struct stmt *s)
{
    uint32_t axes = 0;
    for (; s; s = s->next) axes |= emit_loop_axes(s->body) | (s->op == LOOPS_FOR ? UINT32_C(1) << s->axis : 0);
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

/* Calls `declare` for all conditions and bounds of s, of the statements after s, and of the statements inside them. */
static void declare_all(struct emitter *x, const struct stmt *s, uint32_t moving)
{
    for (; s; s = s->next) {
        const struct expr *part[4] = {s->op == LOOPS_FOR ? s->from : NULL, s->op == LOOPS_FOR ? s->to : NULL,
                                      s->op == LOOPS_IF ? s->where : NULL, s->when};
        for (int k = 0; k < 4; k++) declare(x, part[k], moving);
        for (int k = 0; k < s->ranges; k++) {
            declare(x, s->range[k].from, moving);
            declare(x, s->range[k].to, moving);
        }
        declare_all(x, s->body, moving);
    }
}

void emit_ids(struct emitter *x, const struct stmt *s, bool inside)
{
    struct stmt alone = *s;
    alone.next = NULL;
    declare_all(x, &alone, emit_loop_axes(inside ? s->body : &alone));
}
