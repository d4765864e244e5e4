/* Whether a program can read keys and values from pages, and its memory for a tile whose rows are on several pages. */
#include "pages.h"

#include <string.h>

bool array_in_pages(const struct loops *l, const struct array *a)
{
    return (a->kind == ARRAY_INPUT || a->kind == ARRAY_PARAM) && axes_have(l->module, a->rank, a->axes, SIZE_N_K);
}

/* Returns whether the reference has the keys of the loop's current range, or a single one of them, for the current
 * head. */
static bool in_range(const struct loops *l, const struct ref *r, int loop)
{
    const struct array *const a = &l->array[r->of];
    bool in = true;
    for (int k = 0; k < a->rank; k++) {
        if (axis_is_heads(&l->module->axis[a->axes[k]])) in &= ref_axis(r, k) == a->axes[k];
        if (l->module->axis[a->axes[k]].source != SIZE_N_K) continue;
        /* the rows of an array's own heads are on a page apart from each other */
        if (k > 0 && l->module->axis[a->axes[k - 1]].source == SIZE_CONSTANT)
            in &= l->module->axis[a->axes[k - 1]].extent == 1;
        in &= loop >= 0 && (r->sub[k] == expr_index(l->module, loop) || r->sub[k] == expr_lo(l->module, loop));
    }
    return in;
}

/* Returns whether all keys that the statements read are in the current range of a loop over keys. `loop` is the axis of
   the loop that contains the statements, or -1. */
static bool reads_ranges(const struct loops *l, const struct stmt *s, int loop)
{
    bool reads = true;
    for (; s; s = s->next) {
        const bool of_keys = s->op == LOOPS_FOR && l->module->axis[s->axis].source == SIZE_N_K;
        for (int k = 0; k < s->operands; k++)
            reads &= !array_in_pages(l, &l->array[s->operand[k].of]) || in_range(l, &s->operand[k], loop);
        reads &= reads_ranges(l, s->body, of_keys ? s->axis : loop);
    }
    return reads;
}

bool loops_read_pages(const struct loops *l)
{
    for (int a = 0; a < l->arrays; a++) /* such an array is read at any position */
        if (l->array[a].by_name && array_in_pages(l, &l->array[a])) return false;
    return axes_with_size(l->module, SIZE_BATCH) && reads_ranges(l, l->body, -1);
}

/* Returns the largest number of keys in a range of the loops over keys that read the array. */
static int64_t most_rows(const struct loops *l, const struct stmt *s, int array)
{
    int64_t most = 0;
    for (; s; s = s->next) {
        const int64_t inner = most_rows(l, s->body, array),
                      own = s->op == LOOPS_FOR && l->module->axis[s->axis].source == SIZE_N_K && stmt_touches(s, array)
                                ? s->step * (s->period && s->apart ? s->period : 1)
                                : 0;
        if (inner > most) most = inner;
        if (own > most) most = own;
    }
    return most;
}

/* Returns the bytes of an array's row. A row of values that are keys has the bytes of a key. */
int64_t pages_row_bytes(const struct compilation *c, const struct array *a)
{
    int64_t elements = 1;
    for (int k = 0; k < a->rank; k++)
        if (c->loops->module->axis[a->axes[k]].source == SIZE_CONSTANT)
            elements *= c->loops->module->axis[a->axes[k]].extent;
    if (a->within.of && c->spec->head_dim > elements) elements = c->spec->head_dim;
    return dtype_row_bytes(a->dtype, elements);
}

int64_t pages_offset(const struct compilation *c, int array)
{
    const struct loops *const l = c->loops;
    int64_t bytes = 0;
    for (int a = 0; a < array; a++)
        if (array_in_pages(l, &l->array[a]))
            bytes += (most_rows(l, l->body, a) * pages_row_bytes(c, &l->array[a]) + 63) / 64 * 64;
    return bytes;
}

bool loops_gather(const struct loops *l)
{
    struct stmts w = {.list = l->body};
    bool any = false;
    while (stmts_next(&w)) any |= w.now->gathers;
    return any;
}

int64_t pages_workspace(const struct compilation *c)
{
    return c->state.paged || loops_gather(c->loops) ? pages_offset(c, c->loops->arrays) : 0;
}
