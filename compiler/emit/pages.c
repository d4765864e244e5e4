/* Prints how products of few queries read rows of keys and values: in memory, or in pages. */
#include "emit.h"
#include "printer.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"
#include "../target/target.h"

#include <string.h>

bool emit_is_along(const struct emitter *x, const struct stmt *s)
{
    const struct ref *const lane = &s->operand[1];
    return x->l->array[lane->of].kind != ARRAY_TILE && ref_axis(lane, lane->rank - 1) == s->axis;
}

bool emit_is_fetched(const struct emitter *x, const struct stmt *s)
{
    const struct array *const lane = &x->l->array[s->operand[1].of];
    const bool adds = s->assign[0].fold == FOLD_SUM && s->operands != 3 && !s->assign[0].compensation;
    return x->c->program.few && adds && lane->kind == ARRAY_INPUT && !lane->sums;
}

/* Whether the expression reads an element of the array `name` along one of the axes `keys`, which are bits. */
static bool names_keys(const struct expr *e, const char *name, uint32_t keys)
{
    bool names = false;
    for (struct exprs w = {.of = e}; exprs_next(&w);)
        names |= w.e->op == EXPR_ELEMENT && strcmp(w.e->name, name) == 0 && expr_axes(w.e) & keys;
    return names;
}

bool emit_reads_keys(const struct emitter *x, const struct stmt *s, int array)
{
    const struct array *const a = &x->l->array[array];
    uint32_t keys = 0;
    struct stmt alone = *s;
    struct stmts w = {.list = &alone};
    bool reads = false;
    alone.next = NULL;
    for (int k = 0; k < x->m->axes && a->by_name; k++) keys |= x->m->axis[k].source == SIZE_N_K ? AXIS(k) : 0;
    for (const struct stmt *t; (t = stmts_next(&w));) {
        for (int k = 0; k < t->operands; k++) {
            const struct ref *const r = &t->operand[k];
            reads |= r->of == array && emit_is_of_key(x, r);
            for (int n = 0; n < r->rank && keys; n++) reads |= names_keys(r->sub[n], a->name, keys);
        }
        for (int k = 0; k < t->assigns && keys; k++) reads |= names_keys(t->assign[k].expr, a->name, keys);
    }
    return reads;
}

/* Returns whether statement s is a product that can read the array's rows of the axis in parts, in their order. */
static bool reads_parts(const struct emitter *x, const struct stmt *s, int array, int axis)
{
    if (s->op != LOOPS_DOT || s->operand[1].of != array || s->operand[0].of == array || x->l->array[array].paired ||
        x->l->array[array].matrix)
        return false;
    /* byte_tile prefetches rows that follow in memory */
    if (emit_is_along(x, s) && x->l->array[array].dtype == DTYPE_Q4_0 && x->c->target->byte_products) return false;
    return emit_is_along(x, s) ? s->axes[1] == axis : emit_is_fetched(x, s) && s->axis == axis;
}

/* Returns the index of a task's sequence, or "" if a task has all sequences. */
static const char *sequence_of_task(const struct emitter *x)
{
    const char *batch = "";
    for (int k = 0; k < x->m->axes; k++)
        if (x->m->axis[k].source == SIZE_BATCH && x->task_axis[k]) batch = x->m->axis[k].name;
    return batch;
}

bool emit_in_parts(const struct emitter *x, int array)
{
    bool parts = x->in_pages && x->c->program.few;
    for (const struct stmt *s = parts ? x->in_pages->body : NULL; s; s = s->next)
        parts &= !emit_reads_keys(x, s, array) || reads_parts(x, s, array, x->in_pages->axis);
    return parts;
}

const char *emit_paged_rows(const struct emitter *x, int array, int64_t parts)
{
    const struct array *const a = &x->l->array[array];
    const char *const axis = x->m->axis[x->in_pages->axis].name, *const name = emit_local(x, a->name),
                      *const type = dtype_c_type(a->dtype);
    return arena_printf(
        x->m->arena, "(const %s *)paged_rows(call, %s, %s, %s_row * (int64_t)sizeof(%s), %s0, %s1, %lld, %s + %lld)",
        type, sequence_of_task(x), name, name, type, axis, axis, (long long)parts, x->phases ? "share->work" : "work",
        (long long)(x->l->workspace - pages_workspace(x->c) + pages_offset(x->c, array)));
}

/* Returns C for a call of paged_row or paged_after. */
static const char *paged_address(const struct emitter *x, const char *function, int array, const char *at,
                                 const char *more)
{
    const struct array *const a = &x->l->array[array];
    const char *const name = emit_local(x, a->name), *const type = dtype_c_type(a->dtype);
    return emit_format(x, "(const %s *)%s(call, %s, %s, %s_row * (int64_t)sizeof(%s), %s, %s%s)", type, function,
                       sequence_of_task(x), name, name, type, at, emit_size(x->m, x->in_pages->axis), more);
}

const char *emit_paged_row(const struct emitter *x, int array, const char *at)
{
    return paged_address(x, "paged_row", array, at, "");
}

const char *emit_paged_after(const struct emitter *x, int array, const char *at)
{
    return paged_address(x, "paged_after", array, at,
                         emit_format(x, ", %d", emit_early_for_several(x->c->target, x->l->array[array].dtype)));
}

bool emit_is_gathered(struct emitter *x, const struct stmt *s)
{
    const struct array *const a = &x->l->array[s->operand[0].of], *const lane = &x->l->array[s->operand[1].of];
    return s->op == LOOPS_DOT && !s->where && s->operands <= 3 && !x->c->state.paged && array_in_pages(x->l, a) &&
           dtype_c_type(a->dtype) == emit_real(x->m->dtype) && lane->kind == ARRAY_TILE && !lane->paired &&
           !lane->matrix;
}

/* Returns whether a statement of the loop needs a copy of the rows that it gathers from the array. */
static bool copies_rows(struct emitter *x, const struct stmt *loop, int array)
{
    struct stmts w = {.list = loop->body};
    for (const struct stmt *s; (s = stmts_next(&w));)
        if (stmt_reads(s, array) && !(emit_is_gathered(x, s) && s->operand[1].of != array)) return true;
    return false;
}

/* Declares pointers to copies of the rows of a tile's indices. */
static void gather_rows(struct emitter *x, const struct stmt *s)
{
    const char *const axis = x->m->axis[s->axis].name, *const work = x->phases ? "share->work" : "work";
    for (int k = 0; k < x->l->arrays; k++) {
        const struct array *const array = &x->l->array[k];
        if (!array_in_pages(x->l, array) || !emit_reads_keys(x, s, k) || !copies_rows(x, s, k)) continue;
        const char *const name = emit_local(x, array->name), *const type = dtype_c_type(array->dtype);
        const int64_t bytes = pages_row_bytes(x->c, array);
        const char *const rows = arena_printf(
            x->m->arena, "%s, %s_row * (int64_t)sizeof(%s), %lld, %s_list, %s0, %s1, %s + %lld)", name, name, type,
            (long long)bytes, axis, axis, axis, work,
            (long long)(x->l->workspace - pages_workspace(x->c) + pages_offset(x->c, k)));
        if (x->c->state.paged)
            emit_line(x, "const %s *const gathered_%s = call->pages ? gathered_pages(call, %s, %s : gathered(%s;", type,
                      name, sequence_of_task(x), rows, rows);
        else
            emit_line(x, "const %s *const gathered_%s = gathered(%s;", type, name, rows);
        emit_line(x, "const int64_t %s_row = %lld / (int64_t)sizeof(%s);", name, (long long)bytes, type);
    }
}

void emit_find_pages(struct emitter *x, const struct stmt *s)
{
    if (s->gathers) {
        gather_rows(x, s);
        return;
    }
    if (!x->c->state.paged || x->m->axis[s->axis].source != SIZE_N_K) return;
    x->in_pages = s;
    for (int k = 0; k < x->l->arrays; k++) {
        const struct array *const array = &x->l->array[k];
        if (!array_in_pages(x->l, array) || !emit_reads_keys(x, s, k)) continue;
        const char *const name = emit_local(x, array->name);
        const bool parts = emit_in_parts(x, k);
        emit_line(x, "const %s *%spaged_%s = !call->pages ? %s : %s;", dtype_c_type(array->dtype),
                  parts ? "" : "const ", name, name,
                  emit_paged_rows(x, k, parts ? emit_rows_at_once(x->c->target, array->dtype) : 0));
        if (parts)
            emit_line(x, "const %s *const after_%s = call->pages ? %s : NULL;", dtype_c_type(array->dtype), name,
                      emit_paged_after(x, k, emit_format(x, "%s1", x->m->axis[s->axis].name)));
    }
}
