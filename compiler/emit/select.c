/* Prints SELECT and LIST statements as calls of functions (runtime/kernel/select.h). */
#include "emit.h"
#include "printer.h"

/* Prints a call of `function` with the candidates and what is known of them, and two more arguments. */
static void call(struct emitter *x, const struct stmt *s, const char *function, const struct ref *best,
                 const struct ref *known, int lane, const struct product_argument *more, int count)
{
    struct arena *const arena = x->m->arena;
    struct ref first = *best, above = *known; /* their first elements and rows */
    first.sub[1] = above.sub[0] = expr_int(x->m, 0);
    const char *const size = "int64_t ", *const numbers = arena_printf(arena, "%s *", x->real);
    struct product_argument argument[10] = {
        {"lanes", size, emit_range(x, lane)},
        {"count", size, arena_printf(arena, "%lld", (long long)s->count)},
        {"block", size, arena_printf(arena, "%lld", (long long)s->keys_of_block)},
        {"best", numbers, emit_corner(x, s, &first)},
        {"best_row", size, emit_step(x, best, lane)},
        {"known", numbers, emit_corner(x, s, &above)},
        {"known_row", size, emit_step(x, known, ref_axis(known, 0))},
    };
    for (int k = 0; k < count; k++) argument[7 + k] = more[k];
    emit_product_call(x, function, argument, 7 + count);
}

void emit_select(struct emitter *x, const struct stmt *s)
{
    const struct ref *const values = &s->operand[0];
    const char *const key = x->m->axis[s->axes[0]].name;
    const struct product_argument more[] = {
        {"value", emit_format(x, "const %s *", x->real), emit_corner(x, s, values)},
        {"value_row", "int64_t ", emit_step(x, values, s->axes[0])},
        {"keys", "struct attn_range ", emit_format(x, "(struct attn_range){%s0, %s1}", key, key)}};
    emit_line(x, "/* adds the keys of the tile to the candidates of each row */");
    call(x, s, "select", &s->assign[0].to, &s->assign[1].to, s->axes[1], more, 3);
}

void emit_list_of_keys(struct emitter *x, const struct stmt *s)
{
    const struct ref *const to = &s->assign[0].to;
    const struct expr *row = expr_int(x->m, 0); /* the number of the first list */
    for (int k = 0; k < to->rank - 1; k++)
        row = expr_add(x->m, expr_mul(x->m, row, expr_size(x->m, ref_axis(to, k))),
                       ref_axis(to, k) == s->axes[0] ? expr_lo(x->m, s->axes[0]) : to->sub[k]);
    const struct product_argument more[] = {{"list", "int32_t *",
                                             emit_format(x, "(int32_t *)call->array[ARRAY_%s].at + (%s) * %lld",
                                                         emit_array(x, to), emit_integer(x, row), (long long)s->count)},
                                            {"share", "const struct share *", "share"},
                                            {"own", "int64_t ", emit_format(x, "%lld", (long long)x->l->workspace)}};
    emit_line(x, "/* the numbers of the best candidates of each row, of all threads */");
    call(x, s, "select_list", &s->operand[0], &s->operand[1], s->axes[0], more, 3);
}
