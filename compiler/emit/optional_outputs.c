/* Finds the outputs that depend on each statement. Gradients and saved numbers are optional. If only optional
   outputs depend on a statement, it runs only if the caller wants one of them. A carried state can also be such an
   output (outer.c). */
#include "emit.h"
#include "printer.h"
#include "../schedule/schedule.h"

#include <string.h>

bool emit_is_wanted(const struct emitter *x, const struct array *a)
{
    const struct program *const program = &x->c->program;
    return a->kind == ARRAY_OUTPUT &&
           (program_outputs_gradients(program) || (!program_is_backward(program) && array_of_rows(x->l, a)) ||
            (program->saves_solution && a->sums));
}

/* The outputs that depend on statement `s`: outputs[k] is true for an array k that is one of them. */
struct served {
    const struct stmt *s;
    unsigned char *outputs;
    bool gives;            /* a carried state depends on the statement */
    const char *condition; /* what emit_condition has returned */
    struct served *next;
};

/* A data-flow analysis that goes backward. by[a * arrays + k] is true if output k depends on array a at the current
   statement. */
struct walk {
    struct emitter *x;
    size_t arrays;
    unsigned char *by;
};

/* Sets to[k] for each k with from[k] set. Returns whether this changes `to`. */
static bool join(unsigned char *to, const unsigned char *from, size_t count)
{
    bool more = false;
    for (size_t k = 0; k < count; k++) {
        more |= from[k] && !to[k];
        to[k] |= from[k];
    }
    return more;
}

/* Returns whether the assignment overwrites a whole tile. */
static bool replaces(const struct emitter *x, const struct assign *a)
{
    const struct ref own = loops_ref(x->l, a->to.of);
    return a->fold == FOLD_SET && x->l->array[a->to.of].kind == ARRAY_TILE &&
           !array_has_slots(x->l, &x->l->array[own.of]) && ref_equal(&own, &a->to);
}

/* Returns the outputs that depend on the statement, or NULL if they have not been found. */
static struct served *served_by(struct emitter *x, const struct stmt *s)
{
    struct served *known = x->served;
    while (known && known->s != s) known = known->next;
    return known;
}

/* Analyses a list of statements from its end. */
static void walk(struct walk *w, const struct stmt *s)
{
    struct emitter *x = w->x;
    if (!s) return;
    walk(w, s->next);
    if (s->body) { /* The body can run any number of times, so this repeats until nothing changes. */
        unsigned char *const after = arena_alloc(x->m->arena, w->arrays * w->arrays);
        do {
            memcpy(after, w->by, w->arrays * w->arrays);
            walk(w, s->body);
        } while (join(w->by, after, w->arrays * w->arrays), join(after, w->by, w->arrays * w->arrays));
        return;
    }
    struct served *own = served_by(x, s);
    if (!own) {
        own = arena_alloc(x->m->arena, sizeof *own);
        *own = (struct served){s, arena_alloc(x->m->arena, w->arrays), false, NULL, x->served};
        x->served = own;
    }
    for (int k = s->assigns - 1; k >= 0; k--) {
        const struct assign *a = &s->assign[k];
        unsigned char *const to = w->by + (size_t)a->to.of * w->arrays, *const outputs = arena_alloc(x->m->arena,
                                                                                                     w->arrays);
        (void)join(outputs, to, w->arrays);
        if (x->l->array[a->to.of].kind == ARRAY_OUTPUT) outputs[a->to.of] = 1;
        if (replaces(x, a)) memset(to, 0, w->arrays);
        for (int o = 0; o < s->operands; o++)
            if (s->op != LOOPS_MAP || expr_uses(a->expr, expr_operand(x->m, o)))
                (void)join(w->by + (size_t)s->operand[o].of * w->arrays, outputs, w->arrays);
        if (a->compensation) (void)join(w->by + (size_t)(a->compensation - 1) * w->arrays, outputs, w->arrays);
        (void)join(own->outputs, outputs, w->arrays);
    }
}

static void find_served(struct emitter *x)
{
    const size_t arrays = (size_t)x->l->arrays;
    struct walk w = {x, arrays, arena_alloc(x->m->arena, arrays * arrays)};
    for (int a = 0; a < x->l->arrays; a++) w.by[(size_t)a * arrays + (size_t)a] = emit_outer_state(x, a);
    walk(&w, x->l->body);
}

/* Returns the condition of a statement that has the same one, or NULL. */
static const char *known_condition(const struct emitter *x, const struct served *served)
{
    for (const struct served *other = x->served; other; other = other->next) {
        bool same = other->condition && other->gives == served->gives;
        for (int o = 0; o < x->l->arrays && same; o++)
            same = emit_outer_state(x, o) || other->outputs[o] == served->outputs[o];
        if (same) return other->condition;
    }
    return NULL;
}

const char *emit_condition(struct emitter *x, const struct stmt *s)
{
    const char *condition = "";
    bool every = true, any = false;
    for (int o = 0; o < x->l->arrays; o++) any |= emit_is_wanted(x, &x->l->array[o]);
    if (!any) return NULL;
    if (!x->served) find_served(x);
    struct served *const served = served_by(x, s);
    if (!served || served->condition) return served ? served->condition : NULL;
    for (int o = 0; o < x->l->arrays; o++) {
        if (x->l->array[o].kind != ARRAY_OUTPUT && !emit_outer_state(x, o)) continue;
        const bool goes = served->outputs[o];
        every &= goes;
        const bool state = emit_outer_state(x, o);
        if (!goes || (state && served->gives)) continue;
        if (!state && !emit_is_wanted(x, &x->l->array[o])) return NULL;
        condition = emit_format(x, "%s%s%s", condition, *condition ? " || " : "",
                                state ? "call->gives" : emit_local(x, x->l->array[o].name));
        served->gives |= state;
    }
    const bool leaves = x->l->array[s->assign[0].to.of].kind == ARRAY_OUTPUT;
    if ((every && !leaves) || !*condition) return NULL;
    const char *const known = known_condition(x, served); /* equal conditions have one pointer */
    return served->condition = known ? known : condition;
}
