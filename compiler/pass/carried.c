/* Marks the sums that all threads of a head carry from chunk to chunk: those that the loops between the first loop over
   a window's chunks and the second one assign. A call can begin with the sums over the tokens of other calls instead of
   zeros. Later loops of a window fold sums of slices, which are no states. (array.carried in ir/loops.h) */
#include "pass.h"

void pass_carried(struct compilation *c)
{
    struct loops *const l = c->loops;
    const struct stmt *const window = stmts_window(l->body);
    for (const struct stmt *s = window ? window->body->next : NULL; s && s->axis != window->axis; s = s->next)
        for (int a = 0; a < l->arrays; a++) l->array[a].carried |= l->array[a].shared && stmts_writing(s->body, a) > 0;
}
