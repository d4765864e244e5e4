/* Prints prefetches of the caller's rows for kernels by chunks in which only maps and copies read and write them
   (pass/lower/chunk_sums.c). Each row of a chunk prefetches the same row of the next chunk. */
#include "emit.h"
#include "printer.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"

#include <string.h>

bool emit_own_sums(const struct compilation *c)
{
    const struct loops *const l = c->loops;
    if (!program_is_forward(&c->program) || !c->sums) return false;
    for (int a = 0; a < l->arrays; a++)
        for (const struct stmt *s = prefix_array_find(l->array[a].name) != PREFIX_ARRAYS ? l->body : NULL; s;
             s = s->next)
            if (stmt_touches(s, a)) return false;
    return true;
}

const char *emit_row_ahead(struct emitter *x, const struct stmt *s, const struct ref *r)
{
    const struct array *const a = &x->l->array[r->of];
    if (!emit_own_sums(x->c) || a->kind == ARRAY_TILE || a->kind == ARRAY_TABLE || s->rank != 2 || r->rank < 2 ||
        dtype_is_integer(a->dtype) || dtype_is_narrow(a->dtype))
        return NULL;
    const int row = s->axes[0], lane = s->axes[1];
    if (!axis_is_sequence(&x->m->axis[row]) || x->m->axis[lane].source != SIZE_CONSTANT || !ref_uses_axis(r, row) ||
        ref_axis(r, r->rank - 1) != lane || !emit_adjacent(x, r, lane))
        return NULL;
    return arena_printf(x->m->arena, "__builtin_prefetch(%s + (%s) * %s, %d, 2);", emit_address(x, r),
                        emit_range(x, row), emit_step(x, r, row), a->kind == ARRAY_OUTPUT);
}
