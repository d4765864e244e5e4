/* Prints, parses and checks the ranges of a statement. A FOR visits their union. An IF or DOT tests whether the
   union contains the current range. */
#include "loops.h"

void ranges_text(struct format *f, struct stmt *s)
{
    struct range range[MAX_RANGES];
    int count = 0;
    do {
        if (count == MAX_RANGES) {
            reader_error(f->reader, "there can be no more than %d ranges", MAX_RANGES);
            return;
        }
        struct range *const r = &range[count];
        *r = f->out ? s->range[count] : (struct range){.drawn = NULL};
        count++;
        format_mark(f, " [");
        format_expr(f, &r->from);
        format_mark(f, ",");
        format_expr(f, &r->to);
        format_mark(f, ")");
        if (f->out ? r->drawn != NULL : reader_at(f->reader, expr_name(EXPR_DRAWN))) format_expr(f, &r->drawn);
    } while (f->out ? count < s->ranges : reader_at(f->reader, "["));
    if (f->out) return;
    s->ranges = count;
    s->range = arena_copy_bytes(f->reader->module->arena, range, (size_t)count * sizeof *range);
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
