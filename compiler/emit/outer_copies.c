/* Prints copies of outer sums (outer.c) to carried states, and back. */
#include "printer.h"
#include "task.h"

/* Returns the place of a state in the outer sums of a task, in bytes. */
static long long place_of(const struct emitter *x, int array)
{
    int64_t at = 0;
    for (int before = 0; before < array; before++)
        if (emit_outer_state(x, before)) at += emit_outer_array_bytes(&x->l->array[before]);
    return (long long)at;
}

void emit_outer_copies(const struct emitter *x, bool takes, const char *piece, struct text *out)
{
    const struct loops *const l = x->l;
    const char *copies = "";
    for (int a = 0; a < l->arrays; a++) {
        if (!emit_outer_state(x, a)) continue;
        const long long own = (long long)l->array[a].offset, bytes = (long long)emit_outer_array_bytes(&l->array[a]);
        copies = emit_format(x,
                             takes ? "%s%s            memcpy(share->shared + %lld, outer + %lld, %lld);"
                                   : "%s%s            memcpy(outer + %lld, share->shared + %lld, %lld);",
                             copies, *copies ? "\n" : "", takes ? own : place_of(x, a), takes ? place_of(x, a) : own,
                             bytes);
    }
    task_piece(
        piece,
        (const struct piece_word[]){{"COPIES", .text = copies}, {"OUTER_BYTES", .number = place_of(x, l->arrays)}, {0}},
        out);
}

/* ---- states that a thread carries ---- */

static bool is_alone(const struct emitter *x)
{
    return x->outer && !x->phases;
}

void emit_take_outer(struct emitter *x, const struct stmt *s)
{
    for (int k = 0; k < s->assigns && is_alone(x) && s->op == LOOPS_MAP && s->operands == 0; k++) {
        const int number = s->assign[k].to.of;
        const struct array *const a = &x->l->array[number];
        if (!a->carried || s->assign[k].fold != FOLD_SET) continue;
        emit_line(x, "if (outer) memcpy(%s, outer + %lld, %lld);", emit_local(x, a->name), place_of(x, number),
                  (long long)emit_outer_array_bytes(a));
    }
}

void emit_begin_outer(struct emitter *x)
{
    if (is_alone(x))
        emit_line(x, "unsigned char *const outer = outer_sums(call, task, %lld);", (long long)emit_outer_bytes(x->l));
}

void emit_give_outer(struct emitter *x)
{
    if (!is_alone(x)) return;
    emit_line(x, "if (outer && call->gives) {");
    for (int a = 0; a < x->l->arrays; a++) {
        if (!emit_outer_state(x, a)) continue;
        emit_line(x, "    memcpy(outer + %lld, %s, %lld);", place_of(x, a), emit_local(x, x->l->array[a].name),
                  (long long)emit_outer_array_bytes(&x->l->array[a]));
    }
    emit_line(x, "}");
}
