/* What is computed only where a caller wants it: a statement of the gradients runs if one of the outputs is wanted that
   its results go into. */
#include "emit.h"
#include "printer.h"
#include "../schedule/schedule.h"

#include <string.h>

bool emit_is_wanted(const struct emitter *x, const struct array *a)
{
    const enum program_kind program = x->c->program;
    return a->kind == ARRAY_OUTPUT && (program == PROGRAM_GRADIENTS || program == PROGRAM_TOTALS ||
                                       (program == PROGRAM_SAVING && array_of_rows(x->l, a)));
}

/* By array: the outputs that it goes into, as bytes by array. */
struct served {
    const struct emitter *x;
    unsigned char **by;
    bool more;
};

static void serve(struct served *v, const struct stmt *s)
{
    const int arrays = v->x->l->arrays;
    for (; s; s = s->next) {
        serve(v, s->body);
        for (int k = 0; k < s->operands; k++)
            for (int n = 0; n < s->assigns; n++)
                for (int o = 0; o < arrays; o++) {
                    unsigned char *const goes = &v->by[s->operand[k].of][o];
                    v->more |= !*goes && v->by[s->assign[n].to.of][o];
                    *goes |= v->by[s->assign[n].to.of][o];
                }
    }
}

static void find_served(struct emitter *x)
{
    const int arrays = x->l->arrays;
    x->served = arena_alloc(x->m->arena, (size_t)arrays * sizeof *x->served);
    for (int a = 0; a < arrays; a++) {
        x->served[a] = arena_alloc(x->m->arena, (size_t)arrays);
        x->served[a][a] = x->l->array[a].kind == ARRAY_OUTPUT;
    }
    struct served v = {x, x->served, true};
    while (v.more) {
        v.more = false;
        serve(&v, x->l->body);
    }
}

const char *emit_condition(struct emitter *x, const struct stmt *s)
{
    const char *condition = "";
    bool every = true;
    if (x->c->program != PROGRAM_GRADIENTS && x->c->program != PROGRAM_TOTALS && x->c->program != PROGRAM_SAVING)
        return NULL;
    if (!x->served) find_served(x);
    for (int o = 0; o < x->l->arrays; o++) {
        bool goes = false;
        if (x->l->array[o].kind != ARRAY_OUTPUT) continue;
        for (int k = 0; k < s->assigns; k++) goes |= x->served[s->assign[k].to.of][o];
        every &= goes;
        if (!goes) continue;
        if (!emit_is_wanted(x, &x->l->array[o])) return NULL;
        condition = arena_printf(x->m->arena, "%s%s%s", condition, *condition ? " || " : "",
                                 emit_name(x->m->arena, x->l->array[o].name));
    }
    const bool leaves = x->l->array[s->assign[0].to.of].kind == ARRAY_OUTPUT;
    return (every && !leaves) || !*condition ? NULL : condition;
}
