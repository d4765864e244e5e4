/* This file prints SOLVE statements as calls of an emitted function (embedded/product.c). */
#include "emit.h"
#include "printer.h"

void emit_solve(struct emitter *x, const struct stmt *s)
{
    const struct ref *to = &s->assign[0].to, *weights = &s->operand[0], *rest = &s->operand[1], *rate = &s->operand[2];
    struct arena *arena = x->m->arena;
    const char *t = x->m->axis[s->axes[0]].name, *l = x->m->axis[s->axes[1]].name, *j = x->m->axis[s->axis].name,
               *name = emit_array(x, to), *size = "int64_t ", *numbers = arena_printf(arena, "const %s *", x->real);
    emit_line(x, "/* %s[%s][%s] = %s[%s] * (%s[%s][%s] - sum over %s < %s of %s * %s[%s][%s]) */", name, t, l,
              emit_array(x, rate), t, emit_array(x, rest), t, l, j, t, emit_array(x, weights), name, j, l);
    const struct product_argument argument[] = {
        {"lanes", size, arena_printf(arena, "%lld", (long long)emit_most_lanes(x, to))},
        {"rows", size, emit_range(x, s->axes[0])},
        {"w", numbers, emit_corner(x, s, weights)},
        {"w_row", size, emit_step(x, weights, s->axes[0])},
        {"w_step", size, emit_step(x, weights, s->axis)},
        {"rate", numbers, emit_corner(x, s, rate)},
        {"rate_step", size, emit_step(x, rate, s->axis)},
        {"x", numbers, emit_corner(x, s, rest)},
        {"x_row", size, emit_step(x, rest, s->axes[0])},
        {"u", arena_printf(arena, "%s *", x->real), emit_corner(x, s, to)},
        {"u_row", size, emit_step(x, to, s->axis)},
    };
    emit_product_call(x, "solve", argument, (int)(sizeof argument / sizeof *argument));
}
