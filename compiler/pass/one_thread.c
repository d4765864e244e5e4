/* If one thread processes a whole head, it needs no slots (pass/expose_state.c). Queries of a chunk read the carried
   state, and then the product that sums the chunk adds to the state. A state thus goes through the caches once per
   chunk, instead of four times. Terms, decays and compensation stay, so the bits do not change. */
#include "pass.h"
#include "../analysis/analysis.h"

enum { SUMMED_AT_ONCE = 192 }; /* a product sums up to this number of elements in registers */

/* The tiles of one state:
   - slot: the sum of a chunk
   - carried: the sum of all earlier chunks
   - compensation: the rounding error of `carried`
   - before: `carried` before the chunk
   - kept, lost: the shares of the rows of `carried` that a decay keeps and takes, or -1 */
struct state {
    int slot, carried, compensation, before, kept, lost;
    const struct stmt *shares; /* the map that sets `kept` and `lost`, or NULL */
    struct stmt *dot;          /* the product that sums a whole chunk in one step, or NULL */
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

/* Returns the array that e reads, if e is one element of it, or -1. */
static int taken(const struct stmt *s, const struct expr *e)
{
    return e->op == EXPR_OPERAND ? s->operand[e->integer].of : -1;
}

/* Returns the array of the factor of each row by which e multiplies array `own`, or -1 if e is no such product. */
static int share_of(const struct stmt *s, const struct expr *e, int own)
{
    for (int k = 0; k < s->operands; k++) {
        const int factor = s->operand[k].of == own ? factor_in(s, e, k) : -1;
        if (factor >= 0) return s->operand[factor].of;
    }
    return -1;
}

/* Reads the decay of a state, if the assignments at a decay it:
   - carried *= kept
   - compensation *= kept
   - carried += slot - carried * lost, with compensation */
static bool read_decay(const struct stmt *s, const struct assign *a, struct state *made)
{
    if (a[0].to.of != made->carried || a[1].fold != FOLD_SET || a[1].to.of != made->compensation ||
        a[2].to.of != made->carried || a[2].expr->op != EXPR_SUB)
        return false;
    made->kept = share_of(s, a[0].expr, made->carried);
    made->lost = share_of(s, a[2].expr->arg[1], made->carried);
    return made->kept >= 0 && made->lost >= 0 && share_of(s, a[1].expr, made->compensation) == made->kept;
}

/* Adds the states that statement s folds to x. Returns false if s folds none. A state has three assignments, or five if
   it decays:
   - before = carried
   - carried += slot, with compensation, or the assignments of read_decay
   - slot = before */
static bool read_fold(struct folding *x, const struct stmt *s, const struct stmt *shares)
{
    for (int k = 0; k < s->assigns; k++) {
        const struct assign *const a = &s->assign[k];
        const bool decays = k + 4 < s->assigns && a[1].fold == FOLD_SET;
        const struct assign *const sum = a + (decays ? 3 : 1), *const last = sum + 1;
        if ((k += decays ? 4 : 2) >= s->assigns || x->states == MAX_ASSIGNS * 2) return false;
        const struct expr *const slot = decays ? sum->expr->arg[0] : sum->expr;
        struct state made = {last->to.of,
                             sum->to.of,
                             a->to.of == last->to.of ? -1 : sum->compensation - 1,
                             a->to.of,
                             -1,
                             -1,
                             decays ? shares : NULL,
                             NULL};
        if (a->fold != FOLD_SET || sum->fold != FOLD_SUM || last->fold != FOLD_SET || made.compensation < 0 ||
            (decays && !read_decay(s, a + 1, &made)))
            return false;
        if (taken(s, a->expr) != made.carried || taken(s, slot) != made.slot || taken(s, last->expr) != made.before)
            return false;
        x->state[x->states++] = made;
    }
    return true;
}

/* Whether s only sets tiles of one row, which may be the shares of a decay. */
static bool sets_shares(const struct stmt *s)
{
    bool sets = s->rank == 1;
    for (int k = 0; k < s->assigns; k++) sets &= s->assign[k].fold == FOLD_SET && !s->assign[k].compensation;
    return sets;
}

static bool read_folds(struct folding *x, struct stmt *list)
{
    struct stmts w = {.list = list};
    const struct stmt *shares = NULL;
    for (const struct stmt *s; (s = stmts_next(&w));) {
        if (s->body) continue;
        if (s->op != LOOPS_MAP) return false;
        const int first = x->states;
        if (!read_fold(x, s, shares)) {
            x->states = first;
            if (!sets_shares(s)) return false;
            shares = s;
        }
    }
    for (int k = 0; k < x->states; k++) {
        const struct state *const state = &x->state[k];
        if (state->kept >= 0 && !(state->shares && stmt_writes(state->shares, state->kept) &&
                                  stmt_writes(state->shares, state->lost) && !stmt_reads(state->shares, state->kept)))
            return false;
    }
    return true;
}

/* Whether queries read other tiles in slots than states. */
static bool reads_more(const struct folding *x, const struct stmt *queries)
{
    for (int a = 0; a < x->l->arrays; a++) {
        const struct array *const array = &x->l->array[a];
        bool in_slot = array->kind == ARRAY_TILE && array->rank > 0 && array->axes[0] == queries->axis;
        for (int k = 0; k < x->states; k++) in_slot &= x->state[k].slot != a;
        if (in_slot && stmt_touches(queries, a)) return true;
    }
    return false;
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

/* Whether a product may come after the statements that follow it: they only write other slots. */
static bool can_end(const struct loops *l, const struct stmt *dot)
{
    const int chunks = l->array[dot->assign[0].to.of].axes[0];
    for (const struct stmt *s = dot->next; s; s = s->next)
        for (int k = 0; k < s->assigns || s->body; k++) {
            const struct array *const to = s->body ? NULL : &l->array[s->assign[k].to.of];
            if (!to || to->rank == 0 || to->axes[0] != chunks) return false;
        }
    return true;
}

/* Returns the bytes of a share of a decay in a slot, where tiles begin at multiples of 64. */
static int64_t share_bytes(const struct array *share)
{
    enum { LINE = 64 };
    return (share->extent[0] * dtype_bytes(share->dtype) + LINE - 1) / LINE * LINE;
}

/* Whether the slot of a state has room for both shares of its decay. */
static bool holds_shares(const struct loops *l, const struct state *state)
{
    const struct array *const slot = &l->array[state->slot];
    return 2 * share_bytes(&l->array[state->kept]) <=
           slot->extent[1] * (slot->extent[2] + slot->gap) * dtype_bytes(slot->dtype);
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
            if (s->assign[0].to.of == x->state[k].slot &&
                (x->state[k].kept < 0 || (can_end(x->l, s) && holds_shares(x->l, &x->state[k]))))
                x->state[k].dot = s;
    }
}

/* Whether an assignment of a fold stays, which then uses no slot. If a product adds to `carried` directly, it also
   decays it. */
static bool adds_slot(const void *of, const struct stmt *s, const struct assign *a)
{
    const struct folding *const x = of;
    (void)s;
    for (int n = 0; n < x->states; n++) {
        const struct state *const state = &x->state[n];
        const int to = a->to.of;
        if (!state->dot &&
            (to == state->carried || to == state->compensation || to == state->kept || to == state->lost))
            return true;
    }
    return false;
}

static bool is_share(const void *of, const struct stmt *s, const struct assign *a)
{
    const struct state *const state = of;
    (void)s;
    return a->to.of == state->kept || a->to.of == state->lost;
}

/* Lets the product of a state multiply it by what a decay keeps. The product moves to the end of its list, because the
   shares of the decay may depend on what comes after it. The slot, which has no sums, stores the shares. */
static void take_decay(struct loops *l, struct stmt **list, const struct state *state)
{
    struct stmts w = {.place = list};
    while (stmts_next(&w) != state->dot) continue;
    struct stmt **end = w.at, *shares = stmts_copy(l, state->shares, state->shares->next);
    stmts_keep_assigns(&shares, is_share, state);
    for (int k = 0; k < shares->assigns; k++) {
        struct array share = l->array[shares->assign[k].to.of];
        const struct array *const slot = &l->array[state->slot];
        const int64_t bytes = share_bytes(&share);
        share.name = loops_unused_name(l, share.name);
        share.rank = 2;
        share.axes[1] = share.axes[0], share.extent[1] = share.extent[0];
        share.axes[0] = slot->axes[0], share.extent[0] = slot->extent[0];
        share.offset = slot->offset + k * bytes;
        const int own = loops_array(l, share);
        const int operand = shares->assign[k].to.of == state->kept ? 2 : 3;
        state->dot->operand[operand] = shares->assign[k].to = loops_ref(l, own);
    }
    state->dot->operands = 4;
    *end = state->dot->next;
    while (*end) end = &(*end)->next;
    *end = shares;
    shares->next = state->dot;
    state->dot->next = NULL;
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
    if (!queries || chunk > SUMMED_AT_ONCE || reads_more(&x, queries)) return;
    for (int k = 0; k < x.states; k++)
        if (!has_slot_layout(l, &x.state[k])) return;
    struct stmt *own = stmts_copy(l, keys, keys->next), *folds = stmts_copy(l, fold, queries);
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
        if (x.state[k].kept >= 0) take_decay(l, &own->body, &x.state[k]);
        any = true;
    }
    if (!any) return;
    c->one_thread.keys = own;
    stmts_keep_assigns(&folds, adds_slot, &x);
    c->one_thread.folds = folds;
}
