/* Stores the states that are carried from chunk to chunk in the caller's memory. This serves callers that keep the sums
   over the keys so far (`extend`). A call starts from the states of the previous call, and adds only full chunks. While
   the last chunk is not full, queries attend to the keys of this chunk directly. So the same numbers are summed in the
   same order, no matter how a sequence is divided into calls. */
#include "pass.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"

#include <string.h>

/* Removes assignments to kept tiles from statements that process a chunk that is not full. */
static struct stmt *without_kept(const struct loops *l, struct stmt *s)
{
    struct stmt *first = s, **at = &first;
    for (; (s = *at);) {
        int kept = 0;
        for (int k = 0; k < s->assigns; k++)
            if (!l->array[s->assign[k].to.of].kept) s->assign[kept++] = s->assign[k];
        s->assigns = kept;
        s->body = without_kept(l, s->body);
        if (!kept && !s->body)
            *at = s->next;
        else
            at = &s->next;
    }
    return first;
}

/* Copies a list of statements. */
static struct stmt *copy_of(struct loops *l, const struct stmt *s)
{
    struct stmt *first = NULL, **at = &first;
    for (; s; s = s->next, at = &(*at)->next) {
        *at = stmt_new(l, s->op);
        **at = *s;
        (*at)->body = copy_of(l, s->body);
        (*at)->next = NULL;
    }
    return first;
}

/* Splits the loop that folds the slots of a window's chunks. Full chunks are folded. A chunk after the full chunks only
   receives the state before this chunk. */
static void fold_full(struct loops *l, struct stmt *fold, const struct expr *full)
{
    struct module *const m = l->module;
    struct stmt *const open = copy_of(l, fold);
    open->next = fold->next;
    open->body = without_kept(l, open->body);
    open->from = expr_make(m, EXPR_MAX, fold->from, full, NULL);
    fold->to = expr_make(m, EXPR_MIN, fold->to, full, NULL);
    fold->next = open;
}

/* Limits loops over keys to full chunks. */
static void sum_full(struct module *m, struct stmt *s, int stream, const struct expr *length)
{
    for (; s; s = s->next) {
        if (s->op == LOOPS_FOR && s->axis == stream)
            s->to = expr_make(m, EXPR_MUL, expr_make(m, EXPR_DIV, s->to, length, NULL), length, NULL);
        sum_full(m, s->body, stream, length);
    }
}

/* Returns the kept tile (a tile in the caller's state) whose value before the slot's chunk is copied to the slot, or
   -1. */
static int kept_before(const struct loops *l, const struct stmt *s, int slot)
{
    for (; s; s = s->next) {
        const int inside = kept_before(l, s->body, slot);
        if (inside >= 0) return inside;
        int before = -1;
        for (int k = s->op == LOOPS_MAP ? s->assigns - 1 : -1; k >= 0; k--) {
            const struct assign *const a = &s->assign[k];
            if (a->fold != FOLD_SET || a->expr->op != EXPR_OPERAND) continue;
            const int from = s->operand[a->expr->integer].of;
            if (a->to.of == slot) before = from;
            if (a->to.of == before && l->array[from].kept) return from;
        }
    }
    return -1;
}

/* Chooses the place of each kept tile in a head's share of the state. The layout is the same on every target. Tiles
   that queries read come before all other tiles, in the layout of a chunk's slot. */
static void place_kept(struct compilation *c, const struct stmt *folds)
{
    enum { LINE = 64 };
    struct loops *const l = c->loops;
    c->state.slot_is_kept = true;
    for (int slot = 0; slot < l->arrays; slot++) {
        if (!array_has_slots(l, &l->array[slot])) continue;
        const int kept = kept_before(l, folds, slot);
        const int64_t line = LINE / dtype_bytes(l->array[slot].dtype), length = padded_tile(&l->array[slot], line);
        c->state.slot_is_kept &= kept >= 0;
        if (kept < 0) continue; /* the slot is a compensation within one chunk */
        padded_tile(&l->array[kept], line);
        l->array[kept].offset = l->array[slot].offset = l->kept;
        l->kept += length; /* a slot has one axis more than the kept tile, and may be larger */
    }
    l->slot = l->kept;
    for (int a = 0; a < l->arrays; a++) {
        if (!l->array[a].kept || l->array[a].offset >= 0) continue;
        l->array[a].offset = l->kept;
        l->kept += padded_tile(&l->array[a], LINE / dtype_bytes(l->array[a].dtype));
    }
}

static struct stmt *window_of(struct stmt *s)
{
    struct stmt *found = NULL;
    for (; s && !found; s = s->next) found = s->op == LOOPS_FOR && s->window ? s : window_of(s->body);
    return found;
}

static bool has_loop(const struct stmt *s, int axis)
{
    bool has = false;
    for (; s && !has; s = s->next) has = (s->op == LOOPS_FOR && s->axis == axis) || has_loop(s->body, axis);
    return has;
}

/* ---- adding one state to another ---- */

/* The sum of the other state takes the place of a chunk's slot. */
static void use_folded(struct loops *l, struct ref *r)
{
    if (!array_has_slots(l, &l->array[r->of])) return;
    r->rank--;
    memmove(r->sub, r->sub + 1, (size_t)r->rank * sizeof *r->sub);
}

static void without_slots(struct loops *l, struct stmt *s)
{
    for (; s; s = s->next) {
        int left = 0;
        for (int k = 0; k < s->assigns; k++)
            if (!array_has_slots(l, &l->array[s->assign[k].to.of])) s->assign[left++] = s->assign[k];
        s->assigns = left;
        for (int k = 0; k < s->operands; k++) use_folded(l, &s->operand[k]);
    }
}

/* Whether a statement uses its n-th operand. */
static bool takes(struct module *m, const struct stmt *s, int n)
{
    bool any = false;
    for (int k = 0; k < s->assigns; k++) any |= expr_uses(s->assign[k].expr, expr_leaf(m, EXPR_OPERAND, n));
    return any;
}

static bool is_read(struct module *m, const struct stmt *s, int array)
{
    bool read = false;
    for (; s; s = s->next)
        for (int n = 0; n < s->operands; n++) read |= s->operand[n].of == array && takes(m, s, n);
    return read;
}

/* Removes assignments to tiles that nothing reads any more, and the references to such tiles. */
static void without_unread(const struct loops *l, struct stmt *first)
{
    for (struct stmt *s = first; s; s = s->next) {
        int left = 0;
        for (int k = 0; k < s->assigns; k++) {
            const int to = s->assign[k].to.of;
            if (l->array[to].kept || is_read(l->module, first, to)) s->assign[left++] = s->assign[k];
        }
        s->assigns = left;
        for (int n = 1; n < s->operands; n++)
            if (!takes(l->module, s, n)) s->operand[n] = s->operand[0];
    }
}

/* The loop whose body, a list, contains the window. */
static struct stmt *head_around(struct stmt *s, const struct stmt *window)
{
    struct stmt *found = NULL;
    for (; s && !found; s = s->next) {
        for (const struct stmt *t = s->body; t && !found; t = t->next) found = t == window ? s : NULL;
        if (!found) found = head_around(s->body, window);
    }
    return found;
}

/* Reduces a head's program to the folds, over whole states. The other state takes the place of a slot. */
static void keep_folds(struct loops *l, struct stmt *head, const struct stmt *folds, const struct stmt *queries)
{
    struct stmt *first = NULL, **at = &first;
    for (; folds != queries; folds = folds->next)
        for (*at = folds->body->body; *at;) at = &(*at)->next;
    without_slots(l, first);
    without_unread(l, first);
    for (int a = 0; a < l->arrays; a++) {
        struct array *const array = &l->array[a];
        if (!array_has_slots(l, array)) continue;
        array->rank--;
        memmove(array->axes, array->axes + 1, (size_t)array->rank * sizeof *array->axes);
        memmove(array->extent, array->extent + 1, (size_t)array->rank * sizeof *array->extent);
        array->shared = array->kept = array->folded = true;
    }
    head->body = first;
    l->slot = 0;
}

void pass_expose_state(struct compilation *c)
{
    if (!program_keeps_state(&c->program)) return;
    if (c->separated.early_chunks) return; /* such a chunk may already be summed when the query comes */
    struct loops *const l = c->loops;
    struct module *const m = l->module;
    struct roles roles;
    roles_of(c->graph, 0, &roles);
    struct stmt *const window = window_of(l->body), *queries = window ? window->body : NULL;
    while (queries && queries->next) queries = queries->next;
    if (!queries || queries == window->body || !has_loop(queries->body, roles.lane)) return; /* nothing is carried */
    for (int a = 0; a < l->arrays; a++) l->array[a].kept = l->array[a].shared;
    const struct expr *const length = expr_int(m, m->axis[window->axis].extent),
                             *const full = expr_make(m, EXPR_DIV, expr_leaf(m, EXPR_SIZE, roles.stream), length, NULL);
    place_kept(c, window->body->next);
    c->state.chunk = length->integer;
    if (program_folds_states(&c->program)) {
        keep_folds(l, head_around(l->body, window), window->body->next, queries);
        return;
    }
    sum_full(m, window->body->body, roles.stream, length);
    for (struct stmt *s = window->body->next; s != queries; s = s->next)
        for (struct stmt *t = s->body; t; t = t->next)
            if (t->op == LOOPS_FOR && t->axis == window->axis) {
                fold_full(l, t, full);
                t = t->next;
            }
}
