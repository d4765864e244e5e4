/* Prints C for the arrays that a spec declares. Callers may give a stride for each axis of such an array. So the
   strides are variables in the emitted C.
   An expression has one number for a row of an array of integers. This file divides the number into subscripts of
   the axes. */
#include "printer.h"

#include <stdlib.h>

const char *emit_local(const struct emitter *x, const char *name)
{
    return emit_identifier(x->m->arena, x->arrays, name);
}

const struct kernel_array *emit_entry(const struct emitter *x, const char *name)
{
    const int k = x->arrays ? kernel_array_find(x->arrays, name) : -1;
    return k >= 0 ? &x->arrays->array[k] : NULL;
}

bool emit_is_gradient_of_param(const struct emitter *x, const struct array *a)
{
    const struct kernel_array *const of = emit_entry(x, a->name);
    return of && of->place == PLACE_GRADIENTS;
}

bool emit_of_rows(const struct emitter *x, const struct array *a)
{
    return array_of_rows(x->l, a) && !emit_is_gradient_of_param(x, a);
}

const struct kernel_array *emit_strided_rows(const struct emitter *x, const struct array *a)
{
    const bool table = a->kind == ARRAY_PARAM || (a->kind == ARRAY_OUTPUT && emit_of_rows(x, a)) ||
                       prefix_array_find(a->name) != PREFIX_ARRAYS;
    const struct kernel_array *const of = table ? emit_entry(x, a->name) : NULL;
    return of && of->rows ? of : NULL;
}

const struct kernel_array *emit_strided(const struct emitter *x, const struct array *a)
{
    const struct kernel_array *const of = a->kind == ARRAY_PARAM ? emit_entry(x, a->name) : NULL;
    return of && of->strided ? of : NULL;
}

static enum size_source source_of(const struct emitter *x, const struct array *a, int k)
{
    return x->m->axis[a->axes[k]].source;
}

bool emit_axis_of_heads(const struct emitter *x, const struct array *a, int k)
{
    return k + 1 < a->rank && source_of(x, a, k) == SIZE_KV_HEADS &&
           (source_of(x, a, k + 1) == SIZE_MEMBERS || source_of(x, a, k + 1) == SIZE_ROWS);
}

int emit_axis_of_caller(const struct emitter *x, const struct array *a, int k)
{
    int number = k;
    for (int n = 0; n < k; n++) number -= emit_axis_of_heads(x, a, n) && source_of(x, a, n + 1) == SIZE_MEMBERS;
    return number;
}

const char *emit_stride_of_caller(const struct emitter *x, const struct array *a, int k)
{
    const char *const name = emit_local(x, a->name);
    const char *stride = emit_format(x, "%s_stride_%d", name, emit_axis_of_caller(x, a, k));
    const struct kernel_array *const rows = emit_strided_rows(x, a);
    if (rows) {
        const enum size_source source = source_of(x, a, k);
        const bool own = array_own_heads(rows) && emit_axis_of_caller(x, a, k) == array_axis_of_heads(rows),
                   head = own || source == SIZE_KV_HEADS || source == SIZE_MEMBERS || source == SIZE_HEADS,
                   row = axis_is_sequence(&x->m->axis[a->axes[k]]) || source == SIZE_ROWS;
        if (source == SIZE_BATCH || head || row)
            stride = emit_format(x, "%s_%s", name, row ? "row" : head ? "head" : "batch");
    }
    return emit_axis_of_heads(x, a, k) ? emit_format(x, "members * %s", stride) : stride;
}

bool emit_has_dropped(const struct emitter *x, const struct array *a)
{
    return x->c->state.read_first && axes_have(x->m, a->rank, a->axes, SIZE_N_K) &&
           ((a->kind == ARRAY_INPUT && array_of_elements(x->l, a)) || emit_strided_rows(x, a));
}

bool emit_is_of_key(const struct emitter *x, const struct ref *r)
{
    bool key = false;
    for (int k = 0; k < r->rank; k++)
        for (struct exprs w = {.of = r->sub[k]}; source_of(x, &x->l->array[r->of], k) == SIZE_N_K && exprs_next(&w);)
            key |= (w.e->op == EXPR_INDEX || w.e->op == EXPR_LO || w.e->op == EXPR_HI) &&
                   x->m->axis[w.e->integer].source == SIZE_N_K;
    return key;
}

/* ---- rows of integers ---- */

/* Returns the size of the first axis whose size comes from `source`. */
static const struct expr *size_from(const struct emitter *x, enum size_source source)
{
    int axis = 0;
    while (x->m->axis[axis].source != source) axis++;
    return expr_size(x->m, axis);
}

int emit_levels_of(const struct emitter *x, const struct array *a, struct axis_of_caller *level)
{
    int count = 0;
    for (int k = 0; k < a->rank; k++) {
        if (source_of(x, a, k) != SIZE_ROWS) {
            level[count++] = (struct axis_of_caller){expr_size(x->m, a->axes[k]), emit_stride_of_caller(x, a, k)};
            continue;
        }
        const int queries = emit_axis_of_caller(x, a, k);
        const char *const name = emit_local(x, a->name);
        level[count++] = (struct axis_of_caller){size_from(x, SIZE_MEMBERS),
                                                 emit_format(x, "%s_stride_%d", name, queries - 1)};
        level[count++] = (struct axis_of_caller){size_from(x, SIZE_N_Q), emit_format(x, "%s_stride_%d", name, queries)};
    }
    return count;
}

/* The division of a row's number by a size: number = rest * size + sub + constant. */
struct division {
    struct module *m;
    const struct expr *size, *rest, *sub;
    int64_t constant;
};

static bool is_size(const struct division *d, const struct expr *e)
{
    if (e == d->size) return true;
    return e->op == EXPR_SIZE && d->size->op == EXPR_SIZE &&
           d->m->axis[e->integer].source == d->m->axis[d->size->integer].source;
}

/* Adds or subtracts e. Terms that are multiples of the size go to `rest`. */
static void divide(struct division *d, const struct expr *e, bool minus)
{
    const enum expr_op op = minus ? EXPR_SUB : EXPR_ADD;
    if (e->op == EXPR_ADD || e->op == EXPR_SUB || e->op == EXPR_NEG) {
        divide(d, e->arg[0], minus != (e->op == EXPR_NEG));
        if (e->op != EXPR_NEG) divide(d, e->arg[1], minus != (e->op == EXPR_SUB));
        return;
    }
    const struct expr *factor = NULL;
    if (is_size(d, e) && e->op != EXPR_INT) factor = expr_int(d->m, 1);
    for (int k = 1; k >= 0 && e->op == EXPR_MUL && !factor; k--)
        if (is_size(d, e->arg[k])) factor = e->arg[1 - k];
    if (e->op == EXPR_INT)
        d->constant += minus ? -e->integer : e->integer;
    else if (factor)
        d->rest = expr_make(d->m, op, d->rest, factor, NULL);
    else
        d->sub = expr_make(d->m, op, d->sub, e, NULL);
}

int emit_subscripts_of_row(const struct emitter *x, const struct array *a, const struct expr *row,
                           struct axis_of_caller *level, const struct expr **sub)
{
    struct module *const m = x->m;
    const int count = emit_levels_of(x, a, level), axes = count > 1 ? count - 1 : 0;
    for (int k = axes - 1; k > 0; k--) {
        if (expr_is_real(level[k].size, 1)) {
            sub[k] = expr_int(m, 0);
            continue;
        }
        struct division d = {m, level[k].size, expr_int(m, 0), expr_int(m, 0), 0};
        divide(&d, row, false);
        if (d.size->op == EXPR_INT && d.size->integer > 0) {
            int64_t whole = d.constant / d.size->integer;
            if (d.constant % d.size->integer < 0) whole--;
            d.rest = expr_add(m, d.rest, expr_int(m, whole));
            d.constant -= whole * d.size->integer;
        }
        if (expr_is_real(d.sub, 0) && d.constant < 0) { /* size - 1 is the last subscript */
            d.sub = d.size;
            d.rest = expr_sub(m, d.rest, expr_int(m, 1));
        }
        sub[k] = expr_add(m, d.sub, expr_int(m, d.constant));
        row = d.rest;
    }
    if (axes) sub[0] = row;
    return axes;
}

const char *emit_last_stride(const struct emitter *x, const struct array *a)
{
    struct axis_of_caller level[2 * MAX_RANK];
    return a->rank ? level[emit_levels_of(x, a, level) - 1].stride : "1";
}
