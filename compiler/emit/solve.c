/* Prints SCAN statements, and SOLVE statements as calls of a function (runtime/kernel/solve.h). */
#include "emit.h"
#include "printer.h"

/* Returns the address of the first element that the call reads or writes. If the equations are solved backward, it
   is the element of the last equation. Otherwise it is the corner of r. `step` is the distance between equations. */
static const char *first_of(struct emitter *x, const struct stmt *s, const struct ref *r, const char *step)
{
    const char *const corner = emit_corner(x, s, r);
    if (!s->backward) return corner;
    return emit_format(x, "%s + (%s - 1) * (%s)", corner, emit_range(x, s->axes[0]), step);
}

/* Returns the step from an equation to the equation that is solved next. */
static const char *next_of(struct emitter *x, const struct stmt *s, const char *step)
{
    return s->backward ? emit_format(x, "-(%s)", step) : step;
}

void emit_solve(struct emitter *x, const struct stmt *s)
{
    const struct ref *to = &s->assign[0].to, *weights = &s->operand[0], *rest = &s->operand[1], *rate = &s->operand[2];
    const char *t = x->m->axis[s->axes[0]].name, *l = x->m->axis[s->axes[1]].name, *j = x->m->axis[s->axis].name,
               *name = emit_array(x, to), *size = "int64_t ";
    const char *const w_row = emit_step(x, weights, s->axes[0]), *const w_step = emit_step(x, weights, s->axis),
                      *const rate_step = emit_step(x, rate, s->axis), *const x_row = emit_step(x, rest, s->axes[0]),
                      *const u_row = emit_step(x, to, s->axis);
    const char *const lanes = x->cut[s->axes[1]]
                                  ? emit_format(x, "round_up(%s, %d)", emit_range(x, s->axes[1]), x->lanes)
                                  : emit_whole(x, emit_most_lanes(x, to));
    emit_line(x, "/* %s[%s][%s] = %s[%s] * (%s[%s][%s] - sum over %s %s %s of %s * %s[%s][%s]) */", name, t, l,
              emit_array(x, rate), t, emit_array(x, rest), t, l, j, s->backward ? ">" : "<", t, emit_array(x, weights),
              name, j, l);
    const struct product_argument argument[] = {
        {"lanes", size, lanes},
        {"first", size, s->resumes ? emit_format(x, "%s_new - %s0", t, t) : "0"},
        {"rows", size, emit_range(x, s->axes[0])},
        {"w", x->input, first_of(x, s, weights, emit_format(x, "%s + %s", w_row, w_step))},
        {"w_row", size, next_of(x, s, w_row)},
        {"w_step", size, next_of(x, s, w_step)},
        {"rate", x->input, first_of(x, s, rate, rate_step)},
        {"rate_step", size, next_of(x, s, rate_step)},
        {"x", x->input, first_of(x, s, rest, x_row)},
        {"x_row", size, next_of(x, s, x_row)},
        {"u", x->output, first_of(x, s, to, u_row)},
        {"u_row", size, next_of(x, s, u_row)},
    };
    emit_product_call(x, s->hides ? "solve_hiding" : "solve", argument, (int)(sizeof argument / sizeof *argument));
}

void emit_scan(struct emitter *x, const struct stmt *s)
{
    const char *const t = x->m->axis[s->axes[0]].name, *const lane = x->m->axis[s->axes[1]].name,
                      *const first = emit_first(x, s->axes[0]), *const end = emit_end(x, s->axes[0]),
                      *const tile = emit_address(x, &s->operand[0]), *const carried = emit_address(x, &s->operand[1]);
    emit_line(x, "/* %s[%s] = the sum of %s over %s %s */", emit_array(x, &s->operand[0]), t,
              emit_array(x, &s->operand[0]), s->backward ? "later" : "earlier", t);
    emit_line(x, "for (int64_t %s = %s; %s < %s; %s += %d) {", lane, emit_first(x, s->axes[1]), lane,
              emit_end(x, s->axes[1]), lane, x->lanes);
    emit_line(x, "    vec_%s sum = load_%s(%s);", x->suffix, x->suffix, carried);
    if (s->backward)
        emit_line(x, "    for (int64_t %s = %s - 1; %s >= %s; %s--) {", t, end, t, first, t);
    else
        emit_line(x, "    for (int64_t %s = %s; %s < %s; %s++) {", t, first, t, end, t);
    emit_line(x, "        const vec_%s term = load_%s(%s);", x->suffix, x->suffix, tile);
    emit_line(x, "        store_%s(%s, sum);", x->suffix, tile);
    emit_line(x, "        sum += term;");
    emit_line(x, "    }");
    emit_line(x, "    store_%s(%s, sum);", x->suffix, carried);
    emit_line(x, "}");
}
