/* Prints, parses and checks the ranges of a statement. A FOR visits their union. An IF or DOT tests whether the
   union contains the current range. */
#include "loops.h"

#include <string.h>

void ranges_print(const struct loops *l, const struct stmt *s, struct text *out)
{
    for (int k = 0; k < s->ranges; k++) {
        text_add(out, " [");
        expr_print(l->module, s->range[k].from, NULL, NULL, l, out);
        text_add(out, ", ");
        expr_print(l->module, s->range[k].to, NULL, NULL, l, out);
        text_add(out, ")");
        if (!s->range[k].drawn) continue;
        text_add(out, " ");
        expr_print(l->module, s->range[k].drawn, NULL, NULL, l, out);
    }
}

void ranges_read(struct reader *r, struct stmt *s)
{
    struct range range[MAX_RANGES];
    do {
        if (s->ranges == MAX_RANGES) {
            reader_error(r, "there can be no more than %d ranges", MAX_RANGES);
            return;
        }
        struct range *made = &range[s->ranges++];
        reader_expect(r, "[");
        made->from = reader_expr(r);
        reader_expect(r, ",");
        made->to = reader_expr(r);
        reader_expect(r, ")");
        made->drawn = reader_at(r, expr_name(EXPR_DRAWN)) ? reader_expr(r) : NULL;
    } while (reader_at(r, "["));
    struct range *kept = arena_alloc(r->module->arena, (size_t)s->ranges * sizeof *kept);
    memcpy(kept, range, (size_t)s->ranges * sizeof *kept);
    s->range = kept;
}

const char *ranges_check(struct module *m, const struct stmt *s)
{
    const struct allowed bounds = {.ranges = true}, points = {.ranges = true, .index = UINT32_MAX};
    if (s->ranges < 0 || s->ranges > MAX_RANGES) return "there are too many ranges";
    for (int k = 0; k < s->ranges; k++) {
        const struct range *r = &s->range[k];
        const struct expr *bound[2] = {r->from, r->to};
        for (int n = 0; n < 2; n++) {
            const char *wrong = expr_check(m, bound[n], &bounds);
            if (wrong) return wrong;
            if (bound[n]->type != TYPE_INT) return "a bound is not an integer";
            /* The bounds of an IF or DOT may use LO and HI of its axis. */
            if (s->op != LOOPS_FOR) continue;
            if (expr_uses(bound[n], expr_lo(m, s->axis)) || expr_uses(bound[n], expr_hi(m, s->axis)))
                return arena_printf(m->arena, "a bound uses the range of '%s' itself", m->axis[s->axis].name);
        }
        if (!r->drawn) continue;
        const char *wrong = expr_check(m, r->drawn, &points);
        if (wrong) return wrong;
        if (r->drawn->op != EXPR_DRAWN) return "only 'drawn' can restrict a range";
        uint32_t own = AXIS(s->axis);
        if ((expr_axes(r->drawn->arg[0]) | expr_axes(r->drawn->arg[2])) & own || expr_axes(r->drawn->arg[1]) & ~own)
            return arena_printf(m->arena, "the draw must select indices of '%s' for indices of the other axes",
                                m->axis[s->axis].name);
    }
    return NULL;
}
