/* Stores the carried states in the caller's memory, for `extend`. A call adds only full chunks to the states. Queries
   attend directly to the keys of a chunk that is not full. So the bits do not depend on the division into calls. Terms:
   - kept tile: a carried tile in the caller's state
   - slot: a tile with the sum of a chunk, later the state before the chunk
   - fold: the statements that add a slot to its carried tile
   - window: the chunks that have slots at one time. The loop over windows contains the loops that sum, fold and
     read. */
#include "pass.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"

#include <string.h>

static bool not_kept(const void *of, const struct stmt *s, const struct assign *a)
{
    const struct loops *const l = of;
    (void)s;
    return !l->array[a->to.of].kept;
}

/* Splits `fold`, a loop over chunks, at chunk number `full`. Chunks from `full` on are not added to the state. */
static void fold_full(struct loops *l, struct stmt *fold, const struct expr *full)
{
    struct module *const m = l->module;
    struct stmt *const open = stmts_copy(l, fold, fold->next);
    open->next = fold->next;
    stmts_keep_assigns(&open->body, not_kept, l);
    open->from = expr_max(m, fold->from, full);
    fold->to = expr_min(m, fold->to, full);
    fold->next = open;
}

/* Limits loops over keys in list s to the keys of full chunks of `length` keys. If states wait, the keys of a chunk are
   all there before it is full. */
static void sum_full(struct module *m, struct stmt *s, int stream, int chunk, const struct expr *length)
{
    const struct expr *const full = expr_le(m, expr_mul(m, expr_add(m, expr_lo(m, chunk), expr_int(m, 1)), length),
                                            expr_size(m, stream));
    for (struct stmts w = {.list = s}; (s = stmts_next(&w));)
        if (s->op == LOOPS_FOR && s->axis == stream)
            s->to = expr_has(s->to, EXPR_SIZE) ? expr_mul(m, expr_div(m, s->to, length), length)
                                               : expr_select(m, full, s->to, expr_int(m, 0));
}

/* Finds the assignment in a list that copies a kept tile to tile `slot`. Returns the kept tile, or -1. */
static int kept_before(const struct loops *l, struct stmt *list, int slot)
{
    struct stmts w = {.list = list};
    for (const struct stmt *s; (s = stmts_next(&w));) {
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

/* Places the tile at the end of a state, which then ends after it. */
static void place_at(struct array *tile, int64_t *end)
{
    enum { LINE = 64 };
    tile->offset = *end;
    *end += padded_tile(tile, LINE / dtype_bytes(tile->dtype));
}

/* Chooses the offset of each kept tile in a head's state. Tiles that queries read come first, with the layout of a
   slot. */
static void place_kept(struct compilation *c, struct stmt *folds)
{
    struct loops *const l = c->loops;
    c->state.slot_is_kept = true;
    for (int slot = 0; slot < l->arrays; slot++) {
        if (!array_has_slots(l, &l->array[slot])) continue;
        const int kept = kept_before(l, folds, slot);
        int64_t end = l->kept;
        place_at(&l->array[slot], &end); /* the slot can be larger than the kept tile */
        c->state.slot_is_kept &= kept >= 0;
        if (kept < 0) { /* the slot holds a compensation within one chunk, so it is not kept */
            l->array[slot].offset = -1;
            continue;
        }
        place_at(&l->array[kept], &l->kept);
        l->kept = end;
    }
    l->slot = l->kept;
    for (int a = 0; a < l->arrays; a++)
        if (l->array[a].kept && l->array[a].offset < 0) place_at(&l->array[a], &l->kept);
}

/* ---- adding one state to another ---- */

/* The second state replaces the slots. It has no axis of chunks, so a chunk's subscript is removed from r. */
static void use_folded(struct loops *l, struct ref *r)
{
    if (!array_has_slots(l, &l->array[r->of])) return;
    r->rank--;
    memmove(r->sub, r->sub + 1, (size_t)r->rank * sizeof *r->sub);
}

static bool is_no_slot(const void *of, const struct stmt *s, const struct assign *a)
{
    const struct loops *const l = of;
    (void)s;
    return !array_has_slots(l, &l->array[a->to.of]);
}

/* Whether an assignment of s uses operand n. */
static bool takes(struct module *m, const struct stmt *s, int n)
{
    bool any = false;
    for (int k = 0; k < s->assigns; k++) any |= expr_uses(s->assign[k].expr, expr_operand(m, n));
    return any;
}

static bool is_read(struct module *m, const struct stmt *s, int array)
{
    bool read = false;
    for (; s; s = s->next)
        for (int n = 0; n < s->operands; n++) read |= s->operand[n].of == array && takes(m, s, n);
    return read;
}

struct folds {
    const struct loops *l;
    struct stmt *first;
};

static bool is_needed(const void *of, const struct stmt *s, const struct assign *a)
{
    const struct folds *const x = of;
    (void)s;
    return x->l->array[a->to.of].kept || is_read(x->l->module, x->first, a->to.of);
}

/* Returns the loop that directly contains `window`. */
static struct stmt *head_around(const struct loops *l, const struct stmt *window)
{
    struct stmts w = {.list = l->body};
    while (stmts_next(&w) != window) continue;
    return w.around[w.depth - 1];
}

/* Reduces a head's program to its folds, which add a second state. The slots become tiles of the second state. Operands
   that no assignment uses become copies of the first operand. */
static void keep_folds(struct loops *l, struct stmt *head, const struct stmt *folds, const struct stmt *queries)
{
    struct folds x = {.l = l};
    struct stmt **at = &x.first;
    for (; folds != queries; folds = folds->next)
        for (*at = folds->body->body; *at;) at = &(*at)->next;
    stmts_keep_assigns(&x.first, is_no_slot, l);
    for (struct stmt *s = x.first; s; s = s->next)
        for (int k = 0; k < s->operands; k++) use_folded(l, &s->operand[k]);
    stmts_keep_assigns(&x.first, is_needed, &x); /* removes assignments to tiles that are neither read nor kept */
    for (struct stmt *s = x.first; s; s = s->next)
        for (int n = 1; n < s->operands; n++)
            if (!takes(l->module, s, n)) s->operand[n] = s->operand[0];
    for (int a = 0; a < l->arrays; a++) {
        struct array *const array = &l->array[a];
        if (!array_has_slots(l, array)) continue;
        array->rank--;
        memmove(array->axes, array->axes + 1, (size_t)array->rank * sizeof *array->axes);
        memmove(array->extent, array->extent + 1, (size_t)array->rank * sizeof *array->extent);
        array->shared = array->kept = array->folded = true;
    }
    head->body = x.first;
    l->slot = 0;
}

/* ---- the states of a SOLVE: one loop over chunks, without windows and slots (pass/lower/solve.c) ---- */

/* Places the states of the SOLVE in the caller's state, and the solutions after them. A second state has the same
   layout, without solutions. */
static void place_states(struct loops *l, bool solutions)
{
    int64_t second = 0;
    struct stmts w = {.list = solutions ? l->body : NULL};
    for (int a = 0; a < l->arrays; a++) {
        struct array *const state = &l->array[a];
        if (!state->shared) continue;
        state->kept = true;
        place_at(state, state->folded ? &second : &l->kept);
    }
    for (const struct stmt *s; (s = stmts_next(&w));) {
        struct array *const solution = s->op == LOOPS_SOLVE ? &l->array[s->assign[0].to.of] : NULL;
        if (!solution) continue;
        solution->solved = true;
        place_at(solution, &l->kept);
    }
}

/* Returns the first product of list s that multiplies a state, or NULL. */
static struct stmt *product_with_state(const struct loops *l, struct stmt *s)
{
    while (s && !(s->op == LOOPS_DOT && l->array[s->operand[0].of].kept && s->assign[0].fold == FOLD_SET)) s = s->next;
    return s;
}

/* Moves what the queries of a chunk need before they are multiplied with the state to a loop ahead of the keys. A
   product of one key and one query can then read the state once (pass/resume.c). *keys is the loop over the chunk's
   keys. A new token is both a query and a key, so the queries of a chunk are a single tile if it has as many rows. */
static void prepare_queries_first(struct loops *l, struct stmt **keys, int64_t chunk)
{
    struct stmt *const queries = (*keys)->next;
    if (!queries || queries->op != LOOPS_FOR || queries->step < chunk || queries->ranges || queries->period ||
        queries->where || queries->when)
        return;
    struct stmt *const product = product_with_state(l, queries->body);
    if (!product || product == queries->body) return;
    for (const struct stmt *s = queries->body; s != product; s = s->next) {
        if (s->body) return;
        for (int a = 0; a < l->arrays; a++)
            if (stmt_touches(*keys, a) && (stmt_writes(s, a) || (stmt_reads(s, a) && l->array[a].kind == ARRAY_TILE)))
                return;
    }
    struct stmt *const first = stmt_new(l, LOOPS_FOR), *last = queries->body;
    *first = *queries;
    while (last->next != product) last = last->next;
    last->next = NULL;
    queries->body = product;
    first->next = *keys;
    *keys = first;
}

/* Stores the states of the SOLVE in the caller's state. The loops then add only full chunks to these states. The state
   also stores the solution of the last chunk, so that later calls solve only the equations of new tokens. */
static void expose_corrected(struct compilation *c, int stream)
{
    struct loops *const l = c->loops;
    struct module *const m = l->module;
    place_states(l, !program_folds_states(&c->program));
    if (program_folds_states(&c->program)) return;
    struct stmt *const chunks = stmts_loop(l->body, stream), **adds = &chunks->body;
    while (*adds && (*adds)->op == LOOPS_FOR) adds = &(*adds)->next;
    struct stmt *const full = stmt_new(l, LOOPS_IF);
    full->where = expr_le(m, expr_int(m, chunks->step), expr_sub(m, expr_hi(m, stream), expr_lo(m, stream)));
    full->body = *adds;
    *adds = full;
    if (chunks->body->op == LOOPS_FOR) prepare_queries_first(l, &chunks->body, chunks->step);
    c->state.chunk = chunks->step;
}

void pass_expose_state(struct compilation *c)
{
    if (!program_keeps_state(&c->program)) return;
    if (c->separated.early_chunks) return; /* the state may contain chunks that a query must not see */
    struct loops *const l = c->loops;
    struct module *const m = l->module;
    struct roles roles;
    roles_of(c->graph, 0, &roles);
    if (graph_find_solve(c->graph) >= 0) {
        expose_corrected(c, roles.stream);
        return;
    }
    struct stmt *const window = stmts_window(l->body), *queries = window ? window->body : NULL;
    while (queries && queries->next) queries = queries->next;
    if (!queries || queries == window->body || !stmts_loop(queries->body, roles.lane)) return; /* no state is carried */
    for (int a = 0; a < l->arrays; a++) l->array[a].kept = l->array[a].shared;
    const struct expr *const length = expr_int(m, m->axis[window->axis].extent), *const full = expr_div(
                                                                                     m, expr_size(m, roles.stream),
                                                                                     length);
    place_kept(c, window->body->next);
    c->state.chunk = length->integer;
    if (program_folds_states(&c->program)) {
        keep_folds(l, head_around(l, window), window->body->next, queries);
        return;
    }
    sum_full(m, window->body->body, roles.stream, window->axis, length);
    for (struct stmt *s = window->body->next; s != queries; s = s->next)
        for (struct stmt *t = s->body; t; t = t->next)
            if (t->op == LOOPS_FOR && t->axis == window->axis) {
                fold_full(l, t, full);
                t = t->next;
            }
}
