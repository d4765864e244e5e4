/* If one thread processes a whole head, it needs no slots (pass/expose_state.c). Queries of a chunk read the carried
   state, and then the product that sums the chunk adds to the state. A state thus goes through the caches once per
   chunk, instead of four times. Terms and compensation stay, so the bits do not change. */
#include "pass.h"
#include "../analysis/analysis.h"

enum { SUMMED_AT_ONCE = 192 }; /* a product sums up to this number of elements in registers */

/* The tiles of one state:
   - slot: the sum of a chunk
   - carried: the sum of all earlier chunks
   - compensation: the rounding error of `carried`
   - before: `carried` before the chunk */
struct state {
    int slot, carried, compensation, before;
    struct stmt *dot; /* the product that sums a whole chunk in one step, or NULL */
};

struct folding {
    struct loops *l;
    int states;
    struct state state[MAX_ASSIGNS * 2];
};

static struct stmt *window_of(struct stmt *s)
{
    while (s && !s->window) s = s->op == LOOPS_FOR && !s->next && s->parallel ? s->body : s->next;
    return s;
}

/* Returns the array that assignment a copies. Returns -1 if a is more than a copy. */
static int taken(const struct stmt *s, const struct assign *a)
{
    return a->expr->op == EXPR_OPERAND ? s->operand[a->expr->integer].of : -1;
}

/* Adds the states that statement s folds to x. Returns false if s folds none. A state has three assignments:
   - before = carried
   - carried += slot, with compensation
   - slot = before */
static bool read_fold(struct folding *x, const struct stmt *s)
{
    if (s->op != LOOPS_MAP || s->assigns % 3) return false;
    for (int k = 0; k < s->assigns; k += 3) {
        const struct assign *a = &s->assign[k];
        const struct state made = {
            .slot = a[2].to.of, .carried = a[1].to.of, .compensation = a[1].compensation - 1, .before = a[0].to.of};
        if (a[0].fold != FOLD_SET || a[1].fold != FOLD_SUM || a[2].fold != FOLD_SET || made.compensation < 0)
            return false;
        if (taken(s, &a[0]) != made.carried || taken(s, &a[1]) != made.slot || taken(s, &a[2]) != made.before)
            return false;
        if (x->states == MAX_ASSIGNS * 2) return false;
        x->state[x->states++] = made;
    }
    return true;
}

static bool read_folds(struct folding *x, struct stmt *list)
{
    struct stmts w = {.list = list};
    for (const struct stmt *s; (s = stmts_next(&w));)
        if (!s->body && !read_fold(x, s)) return false;
    return true;
}

/* Whether the carried tile has the layout of a slot, so that queries can read it. */
static bool has_slot_layout(const struct loops *l, const struct state *state)
{
    const struct array *slot = &l->array[state->slot], *carried = &l->array[state->carried];
    if (slot->offset != carried->offset || slot->gap != carried->gap || slot->rank != carried->rank + 1) return false;
    for (int k = 0; k < carried->rank; k++)
        if (slot->axes[k + 1] != carried->axes[k] || slot->extent[k + 1] != carried->extent[k]) return false;
    return carried->dtype == slot->dtype;
}

/* Finds the product in a list that sums a whole chunk of each state. A loop around it takes a whole chunk. */
static void find_products(struct folding *x, struct stmt *list, int64_t chunk)
{
    struct stmts w = {.list = list};
    for (struct stmt *s; (s = stmts_next(&w));) {
        bool at_once = false;
        for (int k = 0; k < w.loops; k++)
            at_once |= axis_is_sequence(&x->l->module->axis[w.loop[k]->axis]) && w.loop[k]->step >= chunk;
        if (s->op != LOOPS_DOT || !at_once || s->assign[0].fold != FOLD_SET || s->operands != 2 || s->where ||
            s->times != 0 || x->l->array[s->operand[0].of].matrix)
            continue;
        for (int k = 0; k < x->states; k++)
            if (s->assign[0].to.of == x->state[k].slot) x->state[k].dot = s;
    }
}

/* Whether an assignment of a fold stays, which then uses no slot. If a product adds to `carried` directly, 'carried +=
   slot' is removed. */
static bool adds_slot(const void *of, const struct stmt *s, const struct assign *a)
{
    const struct folding *const x = of;
    bool adds = false;
    (void)s;
    for (int n = 0; n < x->states && a->fold == FOLD_SUM; n++)
        adds |= x->state[n].carried == a->to.of && !x->state[n].dot;
    return adds;
}

void pass_one_thread(struct compilation *c)
{
    struct loops *l = c->loops;
    struct folding x = {.l = l};
    const struct stmt *window = window_of(l->body), *keys = window ? window->body : NULL, *queries = NULL, *fold = NULL;
    if (!keys || l->kept || c->program.few) return;
    const int64_t chunk = l->module->axis[window->axis].extent;
    for (const struct stmt *s = keys->next; s; s = s->next) {
        if (queries) return;
        if (s->axis == window->axis)
            queries = s;
        else if (!read_folds(&x, s->body))
            return;
        else if (!fold)
            fold = s;
    }
    if (!queries || chunk > SUMMED_AT_ONCE) return;
    for (int k = 0; k < x.states; k++)
        if (!has_slot_layout(l, &x.state[k])) return;
    struct stmt *const own = stmts_copy(l, keys, keys->next), *folds = stmts_copy(l, fold, queries);
    find_products(&x, own->body, chunk);
    bool any = false;
    for (int k = 0; k < x.states; k++) {
        struct stmt *const dot = x.state[k].dot;
        if (!dot) continue;
        struct ref *const to = &dot->assign[0].to;
        to->of = x.state[k].carried;
        for (int n = 0; n + 1 < to->rank; n++) to->sub[n] = to->sub[n + 1];
        to->rank--;
        dot->assign[0].fold = FOLD_SUM;
        dot->assign[0].compensation = x.state[k].compensation + 1;
        any = true;
    }
    if (!any) return;
    c->one_thread.keys = own;
    stmts_keep_assigns(&folds, adds_slot, &x);
    c->one_thread.folds = folds;
}
