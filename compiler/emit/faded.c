/* Prints the test that skips a tile whose weights a decay makes too small to count (pass/faded.c). */
#include "printer.h"

/* Returns C for the numbers of an array in the current range of its axis: their address, count and distance. */
static const char *numbers(struct emitter *x, const struct stmt *s, const struct ref *r, int axis)
{
    return arena_printf(x->m->arena, "%s, %s, %s", emit_corner(x, s, r), emit_range(x, axis), emit_step(x, r, axis));
}

void emit_faded(struct emitter *x, const struct stmt *dot)
{
    const struct fading *const faded = dot->fades;
    struct arena *const arena = x->m->arena;
    const bool keys_first = x->m->axis[dot->axes[0]].source == SIZE_N_K;
    const int queries = dot->axes[keys_first], keys = dot->axes[!keys_first];
    const long long elements = (long long)x->m->axis[dot->axis].extent;
    const char *norm[2], *other, *before = "", *const gap = arena_printf(arena, "%s_gap", x->m->axis[keys].name);
    for (int k = 0; k < 2; k++) {
        const struct ref *const r = &dot->operand[k];
        const char *const step = emit_step(x, r, dot->axes[k]), *const stride = emit_step(x, r, dot->axis);
        const bool rows = emit_adjacent(x, r, dot->axis);
        if (!rows && !emit_adjacent(x, r, dot->axes[k])) return;
        norm[k] = arena_printf(arena, "max_norm_of_%s(%s, %s, %s, %lld)", rows ? "rows" : "columns",
                               emit_corner(x, dot, r), emit_range(x, dot->axes[k]), rows ? step : stride, elements);
    }
    other = norm[0];
    if (faded->running) { /* the queries' own keys */
        struct module *const m = x->m;
        struct ref own = dot->operand[0];
        const struct expr *const start = expr_query_start(m, queries, keys),
                                 *const first = expr_max(m, expr_add(m, expr_lo(m, queries), start), expr_int(m, 0)),
                                 *const end = expr_add(m, expr_hi(m, queries), start);
        before = arena_printf(arena, "%s <= n_k && ", emit_integer_text(x, end, false)); /* else some have no own key */
        for (int k = 0; k < own.rank; k++) {
            const int axis = ref_axis(&own, k);
            if (axis == keys) own.sub[k] = first;
            if (axis == dot->axis) own.sub[k] = expr_int(m, 0);
        }
        other = arena_printf(arena, "(%s + max_norm_of_rows(%s, %s, %s, %lld))", norm[0], emit_address(x, &own),
                             emit_integer(x, expr_sub(m, end, first)), emit_step(x, &dot->operand[0], keys), elements);
    }
    emit_line(x, "/* skips the tile if the decay makes all its weights too small to change a sum */");
    emit_line(x, "const double %s = max_gap(%s, %s, %.17g)%s;", gap, numbers(x, dot, &faded->of_query, queries),
              numbers(x, dot, &faded->of_key, keys), faded->unit,
              faded->running ? "" : arena_printf(arena, " - min_of(%s)", numbers(x, dot, &faded->shift, queries)));
    emit_line(x, "if (%sfades(%s, n_k) && fades(%s + %s * %s, n_k)) continue;", before, gap, gap, norm[1], other);
}
