/* Lists of versions. */
#include "emit.h"
#include "../schedule/schedule.h"
#include "../support/support.h"

#include <string.h>

struct version *versions_add(struct arena *arena, struct versions *list, struct version version)
{
    if ((list->count & (list->count - 1)) == 0) { /* the list is full: its length is 0 or a power of 2 */
        const size_t count = (size_t)list->count;
        struct version *const longer = arena_alloc(arena, (count ? 2 * count : 1) * sizeof *longer);
        if (count) memcpy(longer, list->version, count * sizeof *longer);
        list->version = longer;
    }
    list->version[list->count] = version;
    return &list->version[list->count++];
}

bool versions_next(const struct versions *list, const struct version **v)
{
    for (int k = *v ? (int)(*v - list->version) + 1 : 0; k < list->count; k++)
        if (list->version[k].c) {
            *v = &list->version[k];
            return true;
        }
    return false;
}

bool versions_next_target(const struct versions *list, const struct version **v)
{
    const struct target *const last = *v ? (*v)->target : NULL;
    while (versions_next(list, v))
        if ((*v)->target != last) return true;
    return false;
}

const struct version *versions_find(const struct versions *list, const struct target *t, int64_t keys)
{
    const struct version *found = NULL;
    for (const struct version *v = NULL; versions_next(list, &v);)
        if (v->target == t && v->from <= keys) found = v;
    return found;
}

int versions_code(const struct versions *list, const struct target *t, const struct compilation **code, int count)
{
    for (const struct version *v = NULL; versions_next(list, &v);) {
        /* The first of these functions is called by the second. */
        const struct compilation *const own[] = {v->c->state.few_tokens, v->c, v->few, v->heads, v->fold};
        for (size_t n = 0; n < sizeof own / sizeof *own; n++) {
            bool there = !own[n] || (t && own[n]->target != t);
            for (int k = 0; k < count && !there; k++) there = code[k] == own[n];
            if (!there) code[count++] = own[n];
        }
    }
    return count;
}

/* Returns whether a call runs this code of a version, as attn_call_program chooses. It may return true for several. */
static bool runs(const struct version *v, const struct compilation *c, const struct first_call *call)
{
    enum { MANY_KEYS = 1024 };
    const bool few = call->n_q <= MAX_FEW_QUERIES, heads = few && v->heads && call->members >= MANY_HEADS,
               surely = few && v->few && call->n_q * call->members <= v->few_rows && call->n_k >= MANY_KEYS;
    if (c == v->heads) return heads;
    if (c == v->few) return few && !heads;
    return c != v->c || (!heads && !surely);
}

bool emission_waits(const struct emission *p, const struct compilation *c)
{
    bool found = false;
    for (int step = 0; step < STEPS && p->first.n_q > 0; step++)
        for (const struct version *v = NULL; versions_next(&p->of[step], &v);) {
            const struct version *const chosen = versions_find(&p->of[step], v->target, p->first.n_k);
            if (c != v->c && c != v->few && c != v->heads) continue;
            found = true;
            if ((!chosen || v->from == chosen->from) && runs(v, c, &p->first)) return false;
        }
    return found;
}

bool emission_next_function(const struct emission *p, const struct function_row **f)
{
    *f = *f ? *f + 1 : function_table;
    while (*f < function_table + FUNCTIONS &&
           !((*f)->emit == EMIT_BACKWARD ? p->parts > 0 : (*f)->emit == EMIT_FORWARD || (p->spec->emit & (*f)->emit)))
        ++*f;
    return *f < function_table + FUNCTIONS;
}

const struct compilation *emission_extend(const struct emission *p)
{
    return p->of[STEP_EXTEND].count ? p->of[STEP_EXTEND].version[0].c : NULL;
}

bool emission_computes_solution(const struct emission *p, const struct compilation *part)
{
    return p->saves_solution && part->graph->outputs == 1 && graph_find_output(part->graph, SAVED_SOLUTION) == 0;
}
