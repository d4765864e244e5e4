/* Lowers states: sums each chunk's keys into its slot, and folds a window's slots in order. If queries read the
   state before their chunk, the fold stores this state in the slot. */
#include "lower.h"
#include "../pass.h"
#include "../../analysis/analysis.h"

#include <math.h>
#include <string.h>

/* Replaces the number of the chunk by the number of the next chunk, in s, in statements after s, and inside these
   statements. The keys of chunk c are summed for the queries of chunk c + 1. */
static void name_next_chunk(struct lowering *x, struct stmt *s)
{
    const struct expr *own = expr_index(x->m, x->chunk),
                      *next = lower_chunk_number(x, expr_add(x->m, own, expr_int(x->m, 1)));
    for (; s; s = s->next) {
        for (int k = 0; k < s->assigns; k++)
            if (s->assign[k].expr) s->assign[k].expr = expr_replace(x->m, s->assign[k].expr, own, next);
        /* only arrays of the caller change, because slots stay those of this chunk */
        for (int k = 0; k < s->operands; k++) {
            struct ref *const r = &s->operand[k];
            if (x->l->array[r->of].kind == ARRAY_TILE) continue;
            for (int n = 0; n < r->rank; n++) r->sub[n] = expr_replace(x->m, r->sub[n], own, next);
        }
        name_next_chunk(x, s->body);
    }
}

/* Whether e is a power of prefix sums or of a base whose logarithm is exact. */
static bool is_power(const struct expr *e)
{
    return e->op == EXPR_POW && decay_has_exact_log2(e->arg[0]) &&
           (e->arg[0]->op != EXPR_REAL || expr_is_exact_difference(e->arg[1]));
}

/* Returns 1 - keep, the share that is lost between chunks, in each branch of a select. 1 - e^x is computed as
   -expm1(x). */
static const struct expr *lost(struct module *m, const struct expr *keep)
{
    if (is_power(keep)) {
        const struct expr *const x = expr_mul(m, keep->arg[1], decay_log(m, keep->arg[0]));
        return expr_neg(m, expr_make(m, EXPR_EXPM1, x, NULL, NULL));
    }
    if (keep->op == EXPR_SELECT) return expr_select(m, keep->arg[0], lost(m, keep->arg[1]), lost(m, keep->arg[2]));
    return expr_sub(m, expr_real(m, 1), keep);
}

/* Returns the name of the slots with `word` instead of "state", such as "carried_sum" for "state_sum". */
static const char *name_like(const struct lowering *x, const char *word, const struct array *slots)
{
    static const char state[] = "state";
    const size_t length = sizeof state - 1;
    return strncmp(slots->name, state, length) == 0 ? arena_printf(x->m->arena, "%s%s", word, slots->name + length)
                                                    : word;
}

/* Returns the chunk that follows the current chunk of the loop. */
static const struct expr *next_chunk(const struct lowering *x)
{
    const struct expr *const own = expr_index(x->m, x->chunk);
    return lower_chunk_number(x, expr_add(x->m, own, expr_int(x->m, 1)));
}

/* The factor `keep`, for carried = carried * times + (slot - carried * loss). Either loss is 0, or times is 1. */
struct carry {
    const struct expr *times, *loss;
};

/* Returns e with decays as powers of 2, which are faster. */
static const struct expr *powers_of_2(struct module *m, const struct expr *e)
{
    if (e->op == EXPR_SELECT) return expr_select(m, e->arg[0], powers_of_2(m, e->arg[1]), powers_of_2(m, e->arg[2]));
    if (!is_power(e)) return e;
    return expr_exp2(m, expr_mul(m, e->arg[1], decay_log2(m, e->arg[0])));
}

static struct carry carry_of(struct module *m, const struct expr *keep)
{
    const struct expr *const faster = powers_of_2(m, keep), *const little = expr_lt(m, faster, expr_real(m, 0.5));
    return (struct carry){expr_select(m, little, faster, expr_real(m, 1)),
                          expr_select(m, little, expr_real(m, 0), lost(m, keep))};
}

/* Makes a statement before s, at `at`, that computes carry->times and carry->loss. Returns them as operands of s. */
static struct carry carry_from_tiles(struct lowering *x, const struct value *v, const struct carry *carry,
                                     struct stmt **at, struct stmt *s)
{
    struct stmt *made = stmt_new(x->l, LOOPS_MAP);
    const struct expr *with[MAX_OPERANDS] = {NULL}, *const chunk = expr_index(x->m, x->chunk);
    uint32_t used = expr_axes(carry->times);
    for (int k = graph_summed(v); k < v->operands; k++) {
        struct ref r = lower_ref(x, &v->operand[k]);
        for (int n = 0; n < r.rank && x->after; n++) r.sub[n] = expr_replace(x->m, r.sub[n], chunk, next_chunk(x));
        with[k] = expr_operand(x->m, made->operands);
        used |= ref_axes(&r);
        made->operand[made->operands++] = r;
    }
    for (int k = 0; k < graph_summed(v); k++) with[k] = expr_operand(x->m, k);
    for (int k = 0; k < s->rank; k++)
        if (used >> s->axes[k] & 1) made->axes[made->rank++] = s->axes[k];
    if (!made->rank) made->axes[made->rank++] = s->axes[0];
    const struct expr *const factor[2] = {carry->times, carry->loss}, *of[2];
    for (int k = 0; k < 2; k++) {
        const int tile = lower_new_tile(x, k ? "lost_share" : "kept_share", made->rank, made->axes);
        made->assign[made->assigns++] = (struct assign){loops_ref(x->l, tile), FOLD_SET,
                                                        expr_bind(x->m, factor[k], with), 0};
        of[k] = expr_operand(x->m, s->operands);
        s->operand[s->operands++] = loops_ref(x->l, tile);
    }
    made->next = s;
    *at = made;
    return (struct carry){of[0], of[1]};
}

/* Returns the carried sum of v, operand 0 of statement s, times `keep`. A statement at *at computes the factor. A
   factor near 1 is applied by subtraction, which is more accurate. */
static const struct expr *times_kept(struct lowering *x, const struct value *v, struct stmt **at, struct stmt *s)
{
    const struct expr *const carried = expr_operand(x->m, 0);
    struct carry carry = carry_of(x->m, v->keep);
    carry = carry_from_tiles(x, v, &carry, at, s);
    return expr_sub(x->m, expr_mul(x->m, carried, carry.times), expr_mul(x->m, carried, carry.loss));
}

/* Returns the condition without which a state is lost, or NULL. *keep becomes the state's factor where the condition
   holds. The condition is selected, because 0 * infinity is NaN. */
static const struct expr *goes_on_if(const struct expr **keep)
{
    const struct expr *const whole = *keep;
    if (!whole || whole->op != EXPR_SELECT || !expr_is_real(whole->arg[2], 0)) return NULL;
    *keep = whole->arg[1];
    return whole->arg[0];
}

void lower_keep_state(struct lowering *x, const struct value *v, int array, struct stmt ***at)
{
    struct value own = *v;
    const struct expr *const goes_on = goes_on_if(&own.keep);
    struct stmt **const begin = *at, *s;
    if (!v->keep) return;
    s = lower_assign(x, at, x->l->array[array].rank, x->l->array[array].axes, array, FOLD_SET, NULL);
    s->operand[s->operands++] = loops_ref(x->l, array);
    const struct expr *const e = v->operands > graph_summed(v) ? times_kept(x, &own, begin, s)
                                                               : expr_mul(x->m, expr_operand(x->m, 0), own.keep);
    s->assign[0].expr = goes_on ? expr_select(x->m, goes_on, e, expr_real(x->m, 0)) : e;
}

/* Returns the factor of a state from the current chunk of the loop to the next one, or NULL. */
static const struct expr *keep_of(const struct lowering *x, const struct value *v)
{
    return v->keep && x->after ? expr_replace(x->m, v->keep, expr_index(x->m, x->chunk), next_chunk(x)) : v->keep;
}

/* Makes the statements that fold a slot: carried = keep * carried + slot. If queries read earlier states, the old
   `carried` replaces the slot.
   - Sums relative to a maximum are rescaled when the maximum grows.
   - If keep >= 1/2: carried += slot - (1 - keep) * carried. In f32, rounding keep = 1 - 2^-20 would change 1 - keep
     by a few percent, for every chunk. */
static void fold_state(struct lowering *x, int number)
{
    const struct value *v = &x->g->value[number];
    struct lowered_value *own = &x->lowered[number];
    const struct array *slot = &x->l->array[own->array];
    int rank = slot->rank - 1, axes[MAX_RANK], online = v->online;
    for (int k = 0; k < rank; k++) axes[k] = slot->axes[k + 1];
    bool maximum = v->op == GRAPH_REDUCE && v->fold == FOLD_MAX;
    int carried = lower_new_tile(x, name_like(x, "carried", slot), rank, axes);
    x->l->array[carried].shared = true;
    own->carried = carried;
    lower_set_constant(x, &x->begin, carried, v->op == GRAPH_REDUCE ? v->init : 0);
    int compensation = lower_new_compensation(x, !maximum, carried, &x->begin),
        old = lower_new_tile(x, name_like(x, "before", slot), rank, axes);

    const struct expr *of[4], *sum;
    for (int k = 0; k < 4; k++) of[k] = expr_operand(x->m, k);
    struct stmt **const before_fold = x->fold, *s = lower_assign(x, &x->fold, rank, axes, old, FOLD_SET, of[0]);
    s->operands = 4;
    s->operand[0] = loops_ref(x->l, carried);
    s->operand[1] = loops_ref(x->l, own->array);
    s->operand[2] = s->operand[3] = loops_ref(x->l, old);
    sum = of[1];
    const struct expr *times = expr_real(x->m, 1);
    if (online >= 0) {
        s->operand[2] = loops_ref(x->l, x->lowered[online].keep);
        s->operand[3] = loops_ref(x->l, x->lowered[online].take);
        times = of[2];
        sum = expr_mul(x->m, of[1], of[3]);
    }
    const struct expr *keep = keep_of(x, v), *const goes_on = goes_on_if(&keep), *const zero = expr_real(x->m, 0);
    if (keep) {
        struct carry carry = carry_of(x->m, keep);
        if (v->operands > graph_summed(v)) carry = carry_from_tiles(x, v, &carry, before_fold, s);
        times = expr_mul(x->m, times, carry.times);
        if (!expr_is_real(carry.loss, 0)) sum = expr_sub(x->m, sum, expr_mul(x->m, of[0], carry.loss));
    }
    if (goes_on || !expr_is_real(times, 1)) {
        const struct expr *stays_of = expr_mul(x->m, of[0], times);
        if (goes_on) stays_of = expr_select(x->m, goes_on, stays_of, zero);
        s->assign[s->assigns++] = (struct assign){loops_ref(x->l, carried), FOLD_SET, stays_of, 0};
        if (compensation) {
            s->operand[s->operands++] = loops_ref(x->l, compensation - 1);
            const struct expr *const lost_part = expr_operand(x->m, s->operands - 1);
            const struct expr *left = expr_mul(x->m, lost_part, times);
            if (goes_on) left = expr_select(x->m, goes_on, left, zero);
            s->assign[s->assigns++] = (struct assign){loops_ref(x->l, compensation - 1), FOLD_SET, left, 0};
        }
    }
    s->assign[s->assigns++] = (struct assign){loops_ref(x->l, carried), maximum ? FOLD_MAX : FOLD_SUM, sum,
                                              compensation};
    if (own->running) {
        own->keep = lower_new_tile(x, "carried_factor", rank, axes);
        own->take = lower_new_tile(x, "slot_factor", rank, axes);
        s->assign[s->assigns++] = (struct assign){loops_ref(x->l, own->keep), FOLD_SET,
                                                  lower_moved(x, own, of[2], of[0]), 0};
        s->assign[s->assigns++] = (struct assign){loops_ref(x->l, own->take), FOLD_SET,
                                                  lower_moved(x, own, of[1], of[0]), 0};
    }
    int stays = s->operands++;
    s->operand[stays] = loops_ref(x->l, old);
    if (x->prefix) s->assign[s->assigns++] = (struct assign){s->operand[1], FOLD_SET, expr_operand(x->m, stays), 0};
}

/* Returns the reach of a state: the number of chunks that it covers before a query's chunk. 0: all. With x->after,
   these are the chunks after a key's chunk. */
static int64_t reach_of(const struct lowering *x, const struct value *state)
{
    if (!x->prefix || !state->where || state->where->op != EXPR_AND) return 0;
    if (x->after) {
        const struct expr *own = state->where->arg[1]->arg[1],
                          *first = expr_replace(x->m, state->where->arg[0]->arg[0], own, expr_int(x->m, 0));
        return -first->integer;
    }
    const struct expr *first = expr_replace(x->m, state->where->arg[0]->arg[0], expr_index(x->m, x->chunk),
                                            expr_int(x->m, 0));
    return (-first->integer - lower_wait(x, state)) / x->m->axis[x->chunk].extent;
}

/* Makes the statements that fold a slot, for a state of the last `reach` chunks. The sums of these chunks are added
   up again each time, because subtracting would not be exact. The factor `keep` carries each to the next chunk. */
static void fold_recent(struct lowering *x, int number, int64_t reach)
{
    const struct value *v = &x->g->value[number];
    struct lowered_value *own = &x->lowered[number];
    const struct array *slot = &x->l->array[own->array];
    bool maximum = v->op == GRAPH_REDUCE && v->fold == FOLD_MAX;
    double none = v->op == GRAPH_REDUCE ? v->init : 0;
    int rank = slot->rank, axes[MAX_RANK] = {module_constant_axis(x->m, "back", reach)}, online = v->online;
    for (int k = 1; k < rank; k++) axes[k] = slot->axes[k];
    int recent = lower_new_tile(x, name_like(x, "recent", slot), rank, axes),
        before = lower_new_tile(x, name_like(x, "before", slot), rank - 1, axes + 1);
    x->l->array[recent].shared = true;
    own->carried = before;
    lower_set_constant(x, &x->begin, recent, none);
    lower_set_constant(x, &x->fold, before, none);
    const struct expr *of[2] = {expr_operand(x->m, 0), expr_operand(x->m, 1)};
    struct stmt *s = lower_assign(x, &x->fold, rank, axes, before, maximum ? FOLD_MAX : FOLD_SUM,
                                  online < 0 ? of[0] : expr_mul(x->m, of[0], of[1]));
    s->operand[s->operands++] = loops_ref(x->l, recent);
    if (online >= 0) s->operand[s->operands++] = loops_ref(x->l, x->lowered[online].take);
    if (own->running) {
        own->take = lower_new_tile(x, "slot_factor", rank, axes);
        s = lower_assign(x, &x->fold, rank, axes, own->take, FOLD_SET, lower_moved(x, own, of[0], of[1]));
        s->operand[s->operands++] = loops_ref(x->l, recent);
        s->operand[s->operands++] = loops_ref(x->l, before);
    }
    if (v->keep) {
        struct value kept = *v;
        kept.keep = keep_of(x, v);
        lower_keep_state(x, &kept, recent, &x->fold);
    }
    s = lower_assign(x, &x->fold, rank - 1, axes + 1, recent, FOLD_SET, of[0]);
    s->assign[0].to.sub[0] = expr_mod(x->m, expr_index(x->m, x->chunk), expr_int(x->m, reach));
    s->operand[s->operands++] = loops_ref(x->l, own->array);
    s->operand[s->operands++] = loops_ref(x->l, before);
    s->assign[s->assigns++] = (struct assign){s->operand[0], FOLD_SET, of[1], 0};
}

/* Makes a parallel loop around `body` over `axis`, the first axis of states. An iteration takes AT_A_TIME elements,
   or ROWS_AT_A_TIME rows if `axis` is x->rows. */
static void states_loop(struct lowering *x, struct stmt ***at, int axis, struct stmt *body)
{
    enum { AT_A_TIME = 32, ROWS_AT_A_TIME = 16 }; /* multiples of a vector, so that threads share no vector */
    const int64_t step = axis == x->rows ? ROWS_AT_A_TIME : AT_A_TIME;
    struct stmt *loop = lower_loop_over(x, at, axis, expr_int(x->m, 0), expr_size(x->m, axis), step);
    loop->parallel = true;
    loop->body = body;
}

/* Handles the states whose first axis is `axis`. Adds loops to the lists *begin (initial values) and *fold. Returns
   false if there are none. */
static bool fold_states(struct lowering *x, int axis, struct stmt ***begin, struct stmt ***fold)
{
    struct stmt **begins = lower_new_list(x), **folds = lower_new_list(x), *first = NULL;
    bool any = false;
    x->begin = begins;
    x->fold = folds;
    for (int v = 0; v < x->g->values; v++) {
        if (x->lowered[v].stage != STATE || x->l->array[x->lowered[v].array].axes[1] != axis) continue;
        int64_t reach = reach_of(x, &x->g->value[v]);
        if (reach)
            fold_recent(x, v, reach);
        else
            fold_state(x, v);
        any = true;
    }
    if (!any) return false;
    states_loop(x, begin, axis, *begins);
    struct stmt **inner = &first;
    lower_loop_over(x, &inner, x->chunk, expr_lo(x->m, x->chunk), expr_hi(x->m, x->chunk), 1)->body = *folds;
    states_loop(x, fold, axis, first);
    return true;
}

/* Handles the sums over a slice's rows whose first axis is `axis`. The slice is a head. */
static void slice_sums(struct lowering *x, int axis, struct stmt ***begin, struct stmt ***fold)
{
    struct stmt **begins = lower_new_list(x), **folds = lower_new_list(x), *first = NULL, **inner = &first;
    x->begin = begins;
    x->fold = folds;
    for (int v = 0; v < x->g->values; v++) {
        struct lowered_value *own = &x->lowered[v];
        const int slots = own->array;
        if (!lower_has_slices(x, &x->g->value[v]) || !array_has_slots(x->l, &x->l->array[slots]) ||
            x->l->array[slots].axes[1] != axis)
            continue;
        const struct array slot = x->l->array[slots];
        own->array = lower_new_tile(x, name_like(x, "carried", &slot), slot.rank - 1, slot.axes + 1);
        x->l->array[own->array].shared = true;
        lower_set_constant(x, &x->begin, own->array, 0);
        const int compensation = lower_new_compensation(x, true, own->array, &x->begin);
        struct stmt *sum = lower_assign(x, &x->fold, slot.rank - 1, slot.axes + 1, own->array, FOLD_SUM,
                                        expr_operand(x->m, 0));
        sum->operand[sum->operands++] = loops_ref(x->l, slots);
        sum->assign[0].compensation = compensation;
    }
    if (!*begins) return;
    states_loop(x, begin, axis, *begins);
    lower_loop_over(x, &inner, x->chunk, expr_lo(x->m, x->chunk), expr_hi(x->m, x->chunk), 1)->body = *folds;
    states_loop(x, fold, axis, first);
}

/* Copies carried tiles to outputs: sums of slices with `of_slices`, otherwise states. */
static void copy_states(struct lowering *x, bool of_slices, struct stmt ***leave)
{
    struct stmt *all = NULL, **at = &all;
    lower_copy_outputs(x, of_slices, &at);
    for (int a = 0; a < x->m->axes; a++) {
        struct stmt *copies = NULL, **end = &copies;
        for (struct stmt **s = &all; *s;) {
            struct stmt *copy = *s;
            if (x->l->array[copy->operand[0].of].axes[0] != a) {
                s = &copy->next;
                continue;
            }
            *s = copy->next;
            copy->next = NULL;
            *end = copy;
            end = &copy->next;
        }
        if (copies) states_loop(x, leave, a, copies);
    }
}

/* Makes the loops for all sums of slices, and copies the sums to outputs at *leave. */
static void all_slice_sums(struct lowering *x, struct stmt ***begin, struct stmt ***fold, struct stmt ***leave)
{
    uint32_t firsts = 0;
    for (int v = 0; v < x->g->values; v++)
        if (lower_has_slices(x, &x->g->value[v])) firsts |= UINT32_C(1) << x->l->array[x->lowered[v].array].axes[1];
    for (int a = 0; a < x->m->axes; a++)
        if (firsts >> a & 1) slice_sums(x, a, begin, fold);
    copy_states(x, true, leave);
}

void lower_states(struct lowering *x, struct stmt **at)
{
    bool open[MAX_AXES] = {false};
    const struct value *out = &x->g->value[x->output];
    struct stmt **before = lower_new_list(x), **inside = lower_new_list(x), **begin = lower_new_list(x),
                **fold = lower_new_list(x);
    const struct expr *zero = expr_int(x->m, 0), *end = expr_size(x->m, x->stream);
    for (int v = 0; v < x->g->values; v++) { /* threads divide a state along a constant axis */
        const struct value *state = &x->g->value[v];
        bool cut = x->lowered[v].stage != STATE;
        for (int k = 0; k < state->rank; k++) cut |= !lower_run_time(x, state->axes[k]);
        if (cut) continue;
        diagnostics_error(x->c->diagnostics, NO_POSITION,
                          "a sum over keys whose result is a single number is not compiled yet");
        return;
    }
    for (int k = 0; k < out->rank; k++) { /* make loops over axes of heads that all states have */
        bool of_head = true, of_slice = false;
        for (int v = 0; v < x->g->values; v++) {
            const struct value *value = &x->g->value[v];
            of_head &= x->lowered[v].stage != STATE || value_has_axis(value, out->axes[k]);
            of_slice |= lower_has_slices(x, value) && value_has_axis(value, out->axes[k]);
        }
        if (!lower_run_time(x, out->axes[k]) || (!of_head && !of_slice) || out->axes[k] == x->slices) continue;
        struct stmt *loop = lower_loop_over(x, &at, out->axes[k], zero, expr_size(x->m, out->axes[k]), 1);
        loop->parallel = open[out->axes[k]] = true;
        at = &loop->body;
    }
    if (x->slices >= 0) { /* with states, each head is one slice */
        struct stmt *loop = lower_loop_over(x, &at, x->slices, zero, expr_size(x->m, x->slices), 1);
        loop->parallel = true;
        at = &loop->body;
        for (int a = 0; a < x->m->axes; a++)
            if (!x->prefix || (open[a] && (x->within >> a & 1))) {
                diagnostics_error(x->c->diagnostics, NO_POSITION,
                                  "a gradient with respect to a parameter is not compiled yet for these states");
                return;
            }
    }
    x->before = before;
    x->inside = inside;
    x->end = lower_new_list(x);
    struct stmt **const prepared = x->prepare = x->rows >= 0 ? lower_new_list(x) : NULL;
    lower_values(x, STATE);
    x->prepare = NULL;
    name_next_chunk(x, *before);
    name_next_chunk(x, *inside);
    struct stmt **begin_end = begin, **fold_end = fold;
    if (prepared && *prepared) { /* one thread computes the row values in `prepared` for a head */
        struct stmt *loop = lower_loop_over(x, &begin_end, x->rows, zero, expr_size(x->m, x->rows),
                                            x->m->axis[x->rows].extent);
        loop->parallel = true;
        loop->body = *prepared;
    }
    for (int a = 0; a < x->m->axes; a++) fold_states(x, a, &begin_end, &fold_end);
    struct stmt **const states = at, *first_window = NULL;
    at = &first_window;
    struct stmt *window = lower_loop_over(x, &at, x->chunk, zero, expr_size(x->m, x->chunk), 1);
    window->window = true;
    /* the range of positions that the current chunk sums */
    const struct expr *chunk = expr_lo(x->m, x->chunk), *length = expr_int(x->m, x->m->axis[x->chunk].extent);
    const struct expr *first = expr_lo(x->m, x->chunk), *last = expr_hi(x->m, x->chunk);
    const struct expr *from = expr_mul(x->m, chunk, length);
    const struct expr *to = expr_min(x->m, end, expr_mul(x->m, expr_add(x->m, chunk, expr_int(x->m, 1)), length));
    if (x->after) lower_chunk_range(x, x->stream, x->stream_last, &from, &to);
    for (int v = 0; v < x->g->values; v++) { /* all states wait for the same number of keys */
        const int64_t wait = x->lowered[v].stage == STATE ? lower_wait(x, &x->g->value[v]) : 0;
        if (!wait) continue;
        from = expr_max(x->m, expr_sub(x->m, from, expr_int(x->m, wait)), zero);
        to = expr_sub(x->m, expr_mul(x->m, expr_add(x->m, chunk, expr_int(x->m, 1)), length), expr_int(x->m, wait));
        break;
    }
    const struct expr *seen = NULL;
    for (int v = 0; v < x->g->values && !x->prefix; v++) { /* skip keys that no query sees */
        const struct expr *where = x->lowered[v].stage == STATE ? x->g->value[v].where : NULL;
        if (!where || where == seen || x->rows >= 0) continue;
        seen = where;
        const struct expr *const bound = where->op == EXPR_LT ? expr_of_sequence(x->m, where->arg[1]) : NULL;
        if (!bound || where->arg[0] != expr_index(x->m, x->stream) || expr_has(bound, EXPR_INDEX)) {
            diagnostics_error(x->c->diagnostics, NO_POSITION, "a state over this region is not compiled yet");
            return;
        }
        to = expr_min(x->m, to, bound);
    }
    if (lower_has_padding(x)) { /* keys that the last query does not see are padding */
        const struct expr *const one = expr_int(x->m, 1), *const all = expr_sub(x->m, expr_size(x->m, x->lane), one),
                                 *const seen_last = expr_replace(x->m, x->last, expr_index(x->m, x->lane), all);
        to = expr_min(x->m, to, expr_add(x->m, seen_last, one));
    }
    struct stmt **in_window = &window->body, *keys = lower_loop_over(x, &in_window, x->chunk, first, last, 1);
    keys->parallel = true;
    if (x->rows >= 0)
        lower_regions(x, *inside, from, to);
    else {
        struct stmt *const stream = lower_stream_loop(x, &x->before, from, to);
        stream->body = *inside;
        if (x->whole_chunk) lower_sums_of_states(x, stream, *fold);
    }
    keys->body = *before;
    *in_window = *fold;
    while (*in_window) in_window = &(*in_window)->next;
    for (int v = 0; v < x->g->values && !x->prefix; v++)
        if (x->lowered[v].stage == STATE) x->lowered[v].array = x->lowered[v].carried;
    struct stmt *body = x->lane >= 0 || x->rows >= 0 ? lower_query_body(x) : NULL;
    if (x->rows >= 0)
        states_loop(x, &at, x->rows, body);
    else if (x->lane < 0)
        copy_states(x, false, &at);
    else if (x->prefix) {
        struct stmt *queries = lower_loop_over(x, &in_window, x->chunk, first, last, 1), **in_chunk = &queries->body;
        queries->parallel = true;
        *in_chunk = *x->opened;
        while (*in_chunk) in_chunk = &(*in_chunk)->next;
        lower_query_loops(x, &in_chunk, open, false, body);
        if (x->whole_chunk) queries->body = lower_over_chunk(x, queries->body);
        if (x->slices >= 0) all_slice_sums(x, &begin_end, &in_window, &at);
    } else
        lower_query_loops(x, &at, open, true, body);
    *states = *begin;
    struct stmt **last_begin = states;
    while (*last_begin) last_begin = &(*last_begin)->next;
    *last_begin = first_window;
}
