/* Finds finite features and rewrites sums over keys with them. If w(i, j) = <f(i), g(j)>, the sum over j of w(i, j) *
   v[j] is f(i) times the state, the sum over j of g(j) * v[j]. The state is computed once, so the cost is linear in the
   keys. Features of a weight:
   - <a[i], b[j]>: a[i] and b[j]
   - x + y: the features of x, then of y
   - x * y: each feature of x times each of y (tensor product)
   - x * x: products of features k and (k + t) mod n for t = 0 to n / 2. Each stands for two equal products, so one side
     is doubled.
   - a factor of i or j alone multiplies that side
   - base^(i - j): base^(i - e) and base^(e - j), with e the last key before i's chunk. The factors are at most 1.
   The region decides which keys a state covers:
   - All queries see the same keys: one sum.
   - Query i sees keys up to a(i), which never gets smaller: the state is carried over the chunks before that of a(i).
   In that chunk the sum stays quadratic (Kacham, Mirrokni and Zhong, 2024, section 3.1).
   - Query i sees a window of keys: the states of the chunks that are wholly in the window are added up for each chunk,
     because subtracting the keys that leave would lose digits. The sum over the window's other keys stays quadratic.
   - A select on "query and key are in one chunk" gives this chunk another weight (section 3.2).
   A state can sum the solution of a SOLVE. Then its weights of two keys also get features. */
#include "../pass.h"
#include "separate.h"
#include "../../analysis/analysis.h"
#include "../../cost/cost.h"
#include "../../expression/expression.h"
#include "../../schedule/schedule.h"
#include "../../spec/spec.h"

#include <math.h>

/* Estimated FLOPs, for choosing the length of chunks:
   - A_MAP: of computing a weight from an inner product, for a pair
   - A_FUNCTION: of an exponential feature */
static const double A_MAP = 16, A_FUNCTION = 24;
/* The length of a chunk with the delta rule. It is short, because decoding solves the last chunk again in each call. */
enum { CHUNK_OF_SOLVE = 32, CHUNK_OF_STATE = 16 };
/* The length of a chunk of forward if elements decay differently and rows are whole vectors (lower/lower.c). A pair
   then takes no exponentials. */
enum { CHUNK_OF_ELEMENTS = 32 };

/* The name of the axis of chunks. */
static const char CHUNK[] = "chunk";

static const char only_causal[] = "with 'delta', the only masks that are compiled are 'causal', 'document', the "
                                  "query's own block of keys and conditions on keys, combined by 'all'";

/* ---- the regions ---- */

/* ---- the rewriting ---- */

/* The rewriting of one weight. */
struct plan {
    int64_t chunk;               /* the length of a chunk in keys */
    const struct node *features; /* the features of the weight. NULL: it has no finite features */
    /* near: the weight within a chunk. last: the last key that a query sees, or NULL if all queries see the same
       keys. */
    const struct expr *near, *last;
    const struct expr *region; /* the region of the sum, or NULL for all keys */
    struct seen seen;          /* the keys that a query sees */
    /* - reach: the number of chunks that the state covers. 0: all.
       - wait: the number of keys between the state's last key and the query's chunk, a multiple of the chunk. Only if
         the caller keeps the state: it then has the keys that all later queries see.
       - ahead: the number of chunks after the query's chunk that the quadratic sum covers. -1: it covers only a part of
         the query's chunk.
       - near_keys: the number of keys that the quadratic sum covers, on average */
    int64_t reach, wait, ahead;
    double near_keys;
    int users, user[MAX_OPERANDS]; /* the sums that use the weight */
};

/* Inserts v before value *at, which moves by one. Returns the number of v. */
static int insert_before(struct graph *g, int *at, struct value v)
{
    graph_insert(g, *at, v);
    return (*at)++;
}

/* Inserts v before the weight, or if it needs later values, such as those of another sum, before value *at. Returns
   the number of v. */
static int insert_early(struct separation *x, int *at, struct value v)
{
    for (int k = 0; k < v.operands; k++)
        if (v.operand[k].of >= x->weight) return insert_before(x->g, at, v);
    ++*at;
    return insert_before(x->g, &x->weight, v);
}

/* Keys with another id, and hidden keys, have features of 0, but the other factor of a product may be infinite. Makes
   and returns a copy of `other` that is 0 for these keys. */
static int of_shown_too(struct separation *x, const struct ref *other, int64_t chunk, int *at)
{
    struct value own = graph_value(GRAPH_MAP, 0, NULL);
    own.operand[own.operands++] = *other;
    own.expr = separate_if_shown(x, expr_operand(x->m, 0));
    if (x->id[KEY]) own.expr = separate_of_last_id(x, own.expr, chunk);
    uint32_t heads = x->shown ? expr_axes(x->shown) & ~ref_axes(other) : 0; /* query heads may hide different keys */
    for (int k = 0; k < other->rank; k++) {
        const int axis = ref_axis(other, k);
        for (int a = 0; a < x->m->axes && axis_is_sequence(&x->m->axis[axis]); a++)
            if (heads >> a & 1) own.axes[own.rank++] = a;
        if (axis_is_sequence(&x->m->axis[axis])) heads = 0;
        own.axes[own.rank++] = axis;
    }
    if (x->id[KEY]) own.axes[own.rank++] = x->chunk_axis;
    return insert_early(x, at, own);
}

/* Returns the factor of row f of a state from one chunk to the next, or NULL. It is 0 if another id begins. */
static const struct expr *factor_of_state(struct separation *x, const struct node *features, const struct expr *f,
                                          int64_t length, struct value *state)
{
    const struct expr *const kept = separate_kept(x, features, f, length, state);
    if (!x->id[KEY]) return kept;
    const struct expr *const chunk = expr_index(x->m, x->chunk_axis),
                             *const next = expr_add(x->m, chunk, expr_int(x->m, 1)),
                             *const goes_on = separate_same_id(x, separate_end_before(x, next, length),
                                                               separate_end_before(x, chunk, length));
    return expr_select(x->m, goes_on, kept ? kept : expr_real(x->m, 1), expr_real(x->m, 0));
}

/* Makes the state for `sum`, value *at, which sums the weight or weight * other. The state sums features or
   features * other. */
static int state_of(struct separation *x, const struct value *sum, int key_features, int feature_axis,
                    const struct plan *plan, int *at)
{
    int chunk_axis = x->chunk_axis;
    const struct value *features = &x->g->value[key_features];
    const struct ref *other = NULL;
    for (int k = 0; k < sum->operands; k++)
        if (sum->operand[k].of != x->weight) other = &sum->operand[k];
    int axes[MAX_RANK], rank = 0;
    for (int k = 0; k < x->value->rank; k++) {
        int a = x->value->axes[k];
        bool used = other && ref_uses_axis(other, a);
        for (int f = 0; f < features->rank; f++) used |= features->axes[f] == a;
        if (used && a != x->stream && a != x->lane) axes[rank++] = a;
    }
    if (chunk_axis >= 0) axes[rank++] = chunk_axis;
    axes[rank++] = feature_axis;
    for (int k = 0; other && k < sum->rank; k++)
        if (ref_uses_axis(other, sum->axes[k]) && x->m->axis[sum->axes[k]].source == SIZE_CONSTANT)
            axes[rank++] = sum->axes[k];
    struct value state = graph_value(other ? GRAPH_CONTRACT : GRAPH_REDUCE, rank, axes);
    state.fold = other ? FOLD_SET : FOLD_SUM;
    state.operand[state.operands++] = graph_ref(x->g, key_features, NULL);
    if (other)
        state.operand[state.operands++] = (x->id[KEY] || x->shown) && graph_find_solve(x->g) < 0
                                              ? graph_ref(x->g, of_shown_too(x, other, plan->chunk, at), NULL)
                                              : *other;
    if (chunk_axis >= 0) {
        const struct expr *begin = expr_sub(x->m,
                                            expr_mul(x->m, expr_index(x->m, chunk_axis), expr_int(x->m, plan->chunk)),
                                            expr_int(x->m, plan->wait));
        state.where = expr_lt(x->m, expr_index(x->m, x->stream), begin);
        if (plan->reach) {
            const struct expr *first = expr_sub(x->m, begin, expr_int(x->m, plan->reach * plan->chunk));
            state.where = expr_and(x->m, expr_le(x->m, first, expr_index(x->m, x->stream)), state.where);
        }
        state.keep = factor_of_state(x, plan->features, expr_index(x->m, feature_axis), plan->chunk, &state);
    }
    if (chunk_axis < 0) state.where = plan->region;
    return insert_early(x, at, state);
}

/* Inlines the maps of query and key that the weight reads, such as a weight in its tangent. */
static void inline_pairs(struct graph *g, int weight, int lane, int stream)
{
    struct value *const v = &g->value[weight];
    for (int k = 0; k < v->operands; k++) {
        const struct value *const inner = &g->value[v->operand[k].of];
        if (inner->op == GRAPH_MAP && value_has_axis(inner, lane) && value_has_axis(inner, stream) &&
            graph_inline(g, v, k, inner))
            k = -1;
    }
}

/* Finds the users of the weight. Returns whether all are sums over keys with a common region, *where. */
static bool find_sums(const struct separation *x, struct plan *plan, const struct expr **where)
{
    const struct graph *g = x->g;
    for (int w = 0; w < g->values; w++)
        for (int k = 0; k < g->value[w].operands; k++) {
            if (g->value[w].operand[k].of != x->weight) continue;
            const struct value *user = &g->value[w];
            bool sums = user->op == GRAPH_CONTRACT ||
                        (user->op == GRAPH_REDUCE && user->fold == FOLD_SUM && user->init == 0);
            if (!sums || !graph_is_plain(g, &user->operand[k]) || plan->users == MAX_OPERANDS ||
                (plan->users && user->where != *where))
                return false;
            for (int a = 0; a < user->rank; a++)
                if (user->axes[a] == x->stream) return false;
            *where = user->where;
            plan->user[plan->users++] = w;
        }
    return true;
}

/* Whether forward or gradients have an exponential for each term of an inner product, and can have the terms in the
   lanes. */
static bool decays_in_lanes(const struct separation *x)
{
    const enum dtype dtype = x->c->spec->dtype;
    return x->exponentials && x->sums &&
           (program_is_forward(&x->c->program) || program_is_differentiated(&x->c->program)) &&
           dtype == dtype_of_sums(dtype) &&
           x->c->spec->head_dim % (x->c->target->vector_bytes / dtype_bytes(dtype)) == 0;
}

/* Returns the reason why no state covers the region, with the part of the mask that is at fault. */
static const char *lost_keys(const struct separation *x, const struct expr *region)
{
    const struct expr *const fault = separate_fault(x, region), *const i = expr_index(
                                                                    x->m,
                                                                    x->lane); /* in messages, the query's position */
    struct text says = {0};
    if (fault->op == EXPR_DRAWN && fault->draw->sorted)
        text_add(&says, "'top', whose best keys change from query to query,");
    else if (fault->op == EXPR_DRAWN && fault->draw->name)
        text_add(&says, "blocks that '%s' lists", fault->draw->name);
    else if (fault->op == EXPR_DRAWN)
        text_add(&says, "blocks that are drawn at random");
    else {
        text_add(&says, "condition '");
        expression_print(expr_replace(x->m, fault, separate_query_position(x), i), NULL, x->m, &says);
        text_add(&says, "'");
    }
    const char *const why = arena_printf(
        x->m->arena,
        "a carried state can gain keys but not lose them, which the mask's %s may need; a state covers "
        "'document', windows of keys or of blocks, and masks that show a query all keys up to one "
        "that never moves back, such as 'causal', 'lengths' or 'j / 64 < i / 64'",
        says.data);
    text_free(&says);
    return why;
}

/* Sets the plan's members for the region `where`. Returns false after separate_none if no state can cover it. */
static bool find_region(struct separation *x, const struct expr *where, struct plan *plan)
{
    x->id[QUERY] = x->id[KEY] = x->shown = NULL;
    const struct expr *const region = separate_without_hidden(x, where ? separate_without_ids(x, where) : NULL);
    if (!separate_find_keys(x, region, &plan->seen))
        return separate_none(x, graph_find_solve(x->g) >= 0 ? only_causal : lost_keys(x, region)) != NULL;
    plan->region = plan->seen.region;
    plan->last = plan->seen.last;
    if (separate_segment(plan->seen.from)) plan->chunk = separate_segment(plan->seen.from);
    if (x->id[KEY]) {
        /* A state sums only keys with the last id before its chunk. Ids never decrease, so no key with the query's
           id is missing. */
        if (!plan->last || !separate_not_ahead(x, plan->last, separate_position_of_id(x)))
            return separate_none(x, "its mask lets a query see later keys that share its id, and no state can be "
                                    "carried for these") != NULL;
        plan->region = expr_and(x->m, plan->region, expr_eq(x->m, x->id[QUERY], x->id[KEY]));
    }
    if (x->shown && plan->last) plan->region = plan->region ? expr_and(x->m, plan->region, x->shown) : x->shown;
    return true;
}

/* Whether the condition is that the key is in `position`'s block of `length` keys. */
static bool says_same_block(const struct separation *x, const struct expr *condition, const struct expr *position,
                            int64_t length)
{
    const struct expr *const size = expr_int(x->m, length), *const of[2] = {position, expr_index(x->m, x->stream)},
                             *number[2];
    for (int k = 0; k < 2; k++)
        number[k] = expr_div(x->m, expr_sub(x->m, of[k], expr_floormod(x->m, of[k], size)), size);
    return condition == expr_eq(x->m, number[0], number[1]) || condition == expr_eq(x->m, number[1], number[0]);
}

/* Whether the plan's state can correct the values of a SOLVE: the mask is causal, perhaps within documents, and the
   features are not exponential. Otherwise returns false after separate_none. */
static bool can_correct(struct separation *x, const struct plan *plan)
{
    if (plan->seen.from || plan->last != separate_query_position(x)) return separate_none(x, only_causal) != NULL;
    return !separate_grows(x, plan->features) ||
           separate_none(x, "a linear form of 'delta' with exponential features is not compiled yet") != NULL;
}

/* Chooses the length of chunks. */
static void choose_chunk(struct separation *x, struct plan *plan)
{
    const double features = (double)plan->features->features, columns = (double)x->c->spec->value_dim + 1,
                 pair = x->exponentials ? A_FUNCTION * features : 2.0 * (double)x->c->spec->head_dim + A_MAP;
    const int64_t window = plan->seen.from ? plan->seen.keys - plan->seen.ahead : 0,
                  best = chunk_length(features, columns, pair + 2 * columns, window),
                  segment = window ? 0 : separate_segment(plan->seen.next);
    if (window) {
        plan->chunk = best;
        return;
    }
    plan->chunk = schedule_knob(
        x->c, "chunk",
        graph_find_solve(x->g) >= 0 ? (program_keeps_state(&x->c->program) ? CHUNK_OF_STATE : CHUNK_OF_SOLVE)
        : decays_in_lanes(x)        ? CHUNK_OF_ELEMENTS
        : segment > 0               ? (best + segment - 1) / segment * segment /* the state has all earlier segments */
                                    : best);
    x->c->separated.chunk_is_free = true;
}

/* Lets the queries of all weights have equal chunks, and all states wait for equally many keys. If a weight that is
   separated already has later chunks, x->again asks for another attempt. Returns false after separate_none if it is
   unknown which chunks are earlier. */
static bool share_chunks(struct separation *x, struct plan *plan)
{
    const bool first = !x->next, later = !first && known_at_most(x->m, x->next, plan->seen.next);
    int64_t more;
    if (graph_find_solve(x->g) >= 0) return true; /* under a causal mask all end at the query */
    if (!first && !later && !known_at_most(x->m, plan->seen.next, x->next))
        return separate_none(x, "its sums end at keys of which it is unknown which are later") != NULL;
    x->again |= !first && ((!later && plan->seen.next != x->next) || plan->wait > x->waits);
    if (!later) {
        x->next = plan->seen.next;
        x->shared = plan->last;
    }
    if (largest_difference(x->m, plan->seen.next, x->next, &more)) plan->near_keys += (double)more;
    plan->seen.next = x->next;
    plan->last = x->last = x->shared;
    plan->wait = x->waits = plan->wait > x->waits ? plan->wait : x->waits;
    return true;
}

/* Decides which keys the state of a chunk has. Returns false after separate_none if it has none. */
static bool place_state(struct separation *x, struct plan *plan)
{
    struct module *const m = x->m;
    const struct expr *const own = separate_query_position(x), *const from = plan->seen.from;
    int64_t early = 0, late = 0;
    plan->ahead = plan->seen.ahead ? (plan->seen.ahead - 1) / plan->chunk : -1;
    plan->near_keys = plan->ahead < 0 ? (double)plan->chunk / 2 : (double)(plan->ahead + 1) * (double)plan->chunk;
    if (program_keeps_state(&x->c->program) && plan->last != own &&
        largest_difference(m, separate_start_of_chunk(x, own, plan->chunk), plan->seen.next, &early)) {
        plan->wait = early > 0 ? (early + plan->chunk - 1) / plan->chunk * plan->chunk : 0;
        plan->last = own;
        plan->seen.next = plan->wait ? own : plan->seen.next;
    }
    if (!share_chunks(x, plan)) return false;
    if (!from) return true;
    const struct expr *const begin = separate_start_of_chunk(x, plan->seen.next, plan->chunk);
    plan->reach = largest_difference(m, from, begin, &late) ? (-late - plan->wait) / plan->chunk : 0;
    if (plan->reach < 1) return separate_none(x, "its window is too short for sums of whole chunks") != NULL;
    if (plan->reach > MAX_RECENT)
        return separate_none(x, arena_printf(m->arena, "its window has more than %d chunks, and each needs a state",
                                             MAX_RECENT)) != NULL;
    if (known_at_most(m, expr_sub(m, begin, expr_int(m, plan->wait + plan->reach * plan->chunk)), from))
        plan->seen.from = NULL; /* the window begins with the state's first key */
    else
        plan->near_keys = (double)(plan->seen.keys - plan->reach * plan->chunk);
    return true;
}

/* Fills in the plan. Returns false, with x->c->reason, if features cannot replace the weight. */
static bool make_plan(struct separation *x, struct plan *plan)
{
    const struct expr *where = NULL, *const whole = x->value->expr;
    *plan = (struct plan){.chunk = x->c->spec->block, .ahead = -1};
    x->exponentials = false;
    if (!find_sums(x, plan, &where) || !plan->users) return false;
    x->c->reason = NULL;
    const bool carried = find_region(x, where, plan);
    if (!carried) { /* go on with the region of 'causal', so that all reasons are reported */
        *plan = (struct plan){.chunk = x->c->spec->block, .ahead = -1, .last = separate_query_position(x)};
        x->id[QUERY] = x->id[KEY] = x->shown = NULL;
    }
    x->last = plan->last;
    x->decays = 0;
    x->sums = false;
    plan->near = whole;
    const struct expr *far = separate_for_earlier(x, whole);
    /* The weight is "same chunk ? near : far", as for 'local: exact'. */
    if (plan->last && plan->chunk && far->op == EXPR_SELECT) {
        const struct expr *const own = separate_query_position(x);
        const bool in_chunk = says_same_block(x, far->arg[0], plan->last, plan->chunk),
                   in_block = !in_chunk && says_same_block(x, far->arg[0], own, plan->chunk) &&
                              separate_not_ahead(x, plan->last,
                                                 own); /* the query's block is the query's chunk, or a later block */
        if (in_chunk || in_block) {
            if (!plan->seen.ahead && in_chunk && whole->arg[0] == far->arg[0]) plan->near = whole->arg[1];
            far = far->arg[2];
        } else if (!carried)
            return false;
        else if (separate_uses_axis(x, far->arg[0], x->lane) && separate_uses_axis(x, far->arg[0], x->stream))
            return separate_none(
                       x, "the block with a different weight (as in 'local: exact') must be the query's chunk, but "
                          "under this mask it is not") != NULL;
    }
    plan->features = separate_find(x, far);
    if (plan->features && plan->features->features > MAX_FEATURES) return separate_too_many(x) != NULL;
    if (!carried) return false;
    if (plan->features && x->sums && !plan->last)
        return separate_none(x, "no state can be carried for a decay under this mask") != NULL;
    if (plan->features && graph_find_solve(x->g) >= 0 && !can_correct(x, plan)) return false;
    if (plan->features && x->id[KEY] && separate_grows(x, plan->features))
        return separate_none(x, "exponential features with ids are not compiled yet") != NULL;
    if (plan->features && x->shown && !separate_can_hide(x, plan->features))
        return separate_none(x,
                             "exponential feature maps with a mask that hides keys from all queries are not compiled "
                             "yet") != NULL;
    if (plan->features && plan->features->kind == NODE_FACTOR && !plan->last && x->c->spec->emit & EMIT_BACKWARD &&
        x->c->spec->algorithm == ALGORITHM_AUTO && separate_grows(x, plan->features))
        return separate_none(x, "gradients of its linear form overflow if an exponent is large; if none is, force it "
                                "with 'algorithm: linear'") != NULL;
    for (int k = 0; k < x->decays && plan->features; k++)
        plan->near = expr_replace(x->m, plan->near, x->decay[k], x->written[k]);
    const int chunks = module_find_axis(x->m, CHUNK);
    if (plan->features && x->c->separated.features && (plan->last != NULL) != (chunks >= 0))
        return separate_none(x, "a state of all keys and one of earlier keys are not computed in the same loops") !=
               NULL;
    if (plan->features && plan->last && chunks >= 0) { /* all weights share the chunks */
        const int64_t length = x->m->axis[chunks].extent;
        if (plan->chunk && plan->chunk != length)
            return separate_none(x, "the chunks of its weights have different lengths") != NULL;
        plan->chunk = length;
    }
    if (plan->features && plan->chunk == 0) choose_chunk(x, plan);
    if (plan->features && plan->last && !place_state(x, plan)) return false;
    if (plan->features && graph_find_solve(x->g) < 0 && x->c->separated.features &&
        (plan->last != NULL) != (x->next != NULL))
        return separate_none(x, "one of its sums has a state of all keys, another one has chunks") != NULL;
    return plan->features != NULL;
}

/* Inserts the prefix sums at the ends of chunks, before all weights. They have no gradients, because chunk ends do
   not affect the result. */
static void read_at_chunks(struct separation *x)
{
    static const enum prefix_array of[] = {PREFIX_OF_KEY_LOW, PREFIX_OF_KEY},
                                   made[] = {PREFIX_OF_CHUNK_LOW, PREFIX_OF_CHUNK};
    /* without a decay, nothing may read the low parts */
    x->at_chunks = graph_find(x->g, prefix_array_name(PREFIX_OF_KEY_LOW)) < 0
                       ? -1
                       : graph_find(x->g, prefix_array_name(PREFIX_OF_KEY));
    for (int k = 0; k < 2 && x->at_chunks >= 0; k++) {
        struct value v = x->g->value[graph_find(x->g, prefix_array_name(of[k]))];
        v.name = prefix_array_name(made[k]);
        v.origin = ORIGIN_COMPUTED;
        graph_insert(x->g, ++x->at_chunks, v);
    }
}

/* Sets x->before and x->end. Returns the number of a query's chunk. */
static const struct expr *set_chunk_ends(struct separation *x, const struct plan *plan)
{
    const struct expr *const size = expr_int(x->m, plan->chunk), *const one = expr_int(x->m, 1 + plan->wait),
                             *const own = expr_index(x->m, x->chunk_axis),
                             *const number = expr_div(x->m, expr_max(x->m, x->last, expr_int(x->m, 0)), size);
    x->wait = plan->wait;
    x->before = plan->wait ? expr_le(x->m, number, expr_int(x->m, plan->wait / plan->chunk))
                           : expr_eq(x->m, number, expr_int(x->m, 0));
    x->end[QUERY] = expr_sub(x->m, expr_mul(x->m, number, size), one);
    x->end[KEY] = expr_sub(x->m, expr_mul(x->m, own, size), one);
    return number;
}

/* ---- the delta rule ---- */

/* Adds to the SOLVE a description of the state that sums the solution: the features of keys, and the factor of the
   state. The gradient of the SOLVE needs this description. Returns false if features would have too many operands. */
static bool describe_state(struct separation *x, const struct node *features, int feature_axis, const struct plan *plan,
                           int solve)
{
    const int keys = separate_feature_map(x, features, KEY, feature_axis, plan->chunk);
    if (keys < 0) return false;
    struct value *const v = &x->g->value[solve + 1];
    v->operand[v->operands++] = graph_ref(x->g, keys, NULL);
    v->keep = factor_of_state(x, features, expr_index(x->m, feature_axis), plan->chunk, v);
    return true;
}

/* Whether the weights or values of a SOLVE are divided by a sum over keys. */
static bool divides_weights(const struct graph *g, int solve)
{
    bool *const needed = arena_alloc(g->module->arena, (size_t)g->values * sizeof *needed), divides = false;
    graph_mark(g, g->value[solve].operand[SOLVE_WEIGHTS].of, needed);
    graph_mark(g, g->value[solve].operand[SOLVE_VALUES].of, needed);
    for (int v = 0; v < g->values; v++)
        divides |= needed[v] && g->value[v].op == GRAPH_REDUCE &&
                   (value_operand_axes(&g->value[v]) & ~value_axes(&g->value[v]) & axes_of_sequences(g->module));
    return divides;
}

/* Whether the graph has several SOLVEs, as that of a tangent has, or weights of a SOLVE that are divided by sums. */
static bool sums_several(const struct graph *g)
{
    const int solves = graph_count(g, GRAPH_SOLVE);
    return solves > 1 || (solves && divides_weights(g, graph_find_solve(g)));
}

/* Whether loops compute the values of a chunk of such a graph in any order, and each SOLVE describes its state. A
   caller's state has the sums of one loop over the keys (pass/lower/solve.c). */
static bool needs_loops_by_chunks(const struct separation *x)
{
    return !program_keeps_state(&x->c->program) && sums_several(x->g);
}

/* Whether the only carried state that sums solution v is that of the features of keys `keys`. */
static bool is_summed_with(const struct graph *g, int v, int keys)
{
    int states = 0, equal = 0;
    for (int u = v + 1; u < g->values; u++) {
        const struct value *const sum = &g->value[u];
        if (sum->op != GRAPH_CONTRACT || !(value_axes(sum) & axes_of_chunks(g->module))) continue;
        for (int k = 0; k < 2; k++) {
            if (sum->operand[k].of != v) continue;
            states++;
            equal += graph_value_equal(&g->value[sum->operand[1 - k].of], &g->value[keys]);
        }
    }
    return states == 1 && equal == 1;
}

/* Gives the SOLVEs after the first one its features and its state, unless the graph has this state. Returns false if
   their weights differ. */
static bool share_features(struct graph *g)
{
    const struct value first = g->value[graph_find_solve(g)];
    bool same = true;
    for (int v = 0; v < g->values; v++) {
        struct value *const other = &g->value[v];
        if (other->op != GRAPH_SOLVE) continue;
        same &= ref_equal(&other->operand[SOLVE_WEIGHTS], &first.operand[SOLVE_WEIGHTS]);
        for (int k = SOLVE_FEATURES; k < first.operands; k++) other->operand[k] = first.operand[k];
        const bool summed = is_summed_with(g, v, first.operand[SOLVE_KEYS].of);
        other->operands = summed ? SOLVE_KEYS : first.operands;
        other->keep = summed ? NULL : first.keep;
    }
    return g->by_chunks = same;
}

/* Sets the axes over sequences and heads of a value that sums the weight. */
static void set_outer(struct separation *x, const struct value *sum)
{
    x->outer = 0;
    for (int k = 0; k < sum->rank; k++)
        if (sum->axes[k] != x->lane && sum->axes[k] != x->stream && x->m->axis[sum->axes[k]].source != SIZE_CONSTANT)
            x->outer |= UINT32_C(1) << sum->axes[k];
}

/* Adds to the SOLVE of the graph the features of its rows as queries. Returns false after separate_none if the weights
   of two keys do not have the features that the states sum. */
static bool correct(struct separation *x, const struct plan *plan)
{
    struct separation own = *x;
    int solve = graph_find_solve(x->g), along;
    if (solve < 0) return true;
    graph_solve_axes(x->m, &x->g->value[solve], &along, &own.lane);
    own.weight = x->g->value[solve].operand[SOLVE_WEIGHTS].of;
    if (x->g->value[own.weight].op == GRAPH_CONTRACT || x->g->value[own.weight].op == GRAPH_REDUCE) {
        solve += graph_map_summed(x->g, own.weight);
        own.weight = x->g->value[solve].operand[SOLVE_WEIGHTS].of;
    }
    if (x->g->value[own.weight].op != GRAPH_MAP) return false;
    inline_pairs(x->g, own.weight, own.lane, own.stream);
    struct value *weight = arena_alloc(x->m->arena, sizeof *weight);
    *weight = x->g->value[own.weight];
    own.value = weight;
    own.decays = 0;
    own.sums = false;
    set_outer(&own, &x->g->value[solve]);
    own.last = separate_query_position(&own);
    const struct expr *far = weight->expr;
    if (far->op == EXPR_SELECT && says_same_block(&own, far->arg[0], own.last, plan->chunk)) far = far->arg[2];
    const struct node *const features = separate_find(&own, far);
    const bool several = needs_loops_by_chunks(x);
    if (!features || (features->features != plan->features->features && !several))
        return separate_none(x, "the weight of two keys has other features than that of a query and a key") != NULL;
    const int feature_axis = module_constant_axis(x->m, "f", features->features);
    set_chunk_ends(&own, plan);
    for (int k = 0; k < own.decays; k++)
        x->g->value[own.weight].expr = expr_replace(x->m, x->g->value[own.weight].expr, own.decay[k], own.written[k]);
    const int old = own.weight, map = separate_feature_map(&own, features, QUERY, feature_axis, plan->chunk);
    if (map < 0) return false;
    solve += own.weight - old;
    if (own.id[KEY]) /* rows read 0 in place of a state with another id */
        x->g->value[map].expr = expr_select(x->m, separate_same_id(&own, own.last, own.end[QUERY]),
                                            x->g->value[map].expr, expr_real(x->m, 0));
    x->g->value[solve].operand[SOLVE_FEATURES] = graph_ref(x->g, map, NULL);
    x->g->value[solve].operands = SOLVE_FEATURES + 1;
    if (!several && !program_is_differentiated(&x->c->program)) return true;
    if (!describe_state(&own, features, feature_axis, plan, solve)) return false;
    return !several || program_is_differentiated(&x->c->program) || share_features(x->g);
}

/* Whether the factor of a state has room for its operands, which follow one or two that are summed. */
static bool has_room(struct separation *x, const struct plan *plan, int feature_axis)
{
    struct value state = graph_value(GRAPH_CONTRACT, 0, NULL);
    state.operands = 2;
    separate_kept(x, plan->features, expr_index(x->m, feature_axis), plan->chunk, &state);
    return !x->full;
}

/* Whether a sum over keys has another factor with an axis of query heads, such as values of each head. */
static bool has_other_heads(const struct separation *x)
{
    bool has = false;
    for (int v = 0; v < x->g->values; v++) {
        const struct value *const sum = &x->g->value[v];
        for (int k = 0; k < sum->operands && sum->op == GRAPH_CONTRACT && !value_has_axis(sum, x->stream); k++)
            for (int a = 0; a < x->m->axes; a++)
                has |= x->m->axis[a].source == SIZE_MEMBERS && ref_uses_axis(&sum->operand[k], a) &&
                       ref_uses_axis(&sum->operand[k], x->stream) && !ref_uses_axis(&sum->operand[k], x->lane);
    }
    return has;
}

/* Returns the condition that a key before the chunk's end is not in the state of chunk `number`. A window can begin
   before the state's first key. */
static const struct expr *outside_state(const struct separation *x, const struct plan *plan, const struct expr *number)
{
    struct module *const m = x->m;
    const struct expr *const j = expr_index(m, x->stream), *const from = plan->seen.from,
                             *const end = expr_sub(m, expr_mul(m, number, expr_int(m, plan->chunk)),
                                                   expr_int(m, plan->wait)),
                             *const begin = expr_sub(m, end, expr_int(m, plan->reach * plan->chunk)),
                             *const after = expr_le(m, end, j);
    return !from ? after : expr_or(m, after, expr_and(m, expr_le(m, from, j), expr_lt(m, j, begin)));
}

/* Replaces each sum of the weight:
   - without chunks, by `far`: the query's features times the state
   - with chunks, by `near` + `far`: the quadratic sum over the query's chunk, and the state before it */
static bool rewrite(struct separation *x, struct plan *plan)
{
    struct module *m = x->m;
    const int feature_axis = module_constant_axis(m, "f", plan->features->features);
    int chunk_axis = plan->last ? module_find_axis(m, CHUNK) : -1;
    if (plan->last && chunk_axis < 0) chunk_axis = module_axis(m, CHUNK, SIZE_CHUNKS, plan->chunk);
    x->chunk_axis = chunk_axis;
    const struct expr *number = NULL;
    if (plan->last) {
        number = set_chunk_ends(x, plan);
        x->c->separated.early_chunks |= plan->last != separate_query_position(x);
    }
    int old = x->weight;
    struct value *weight = arena_alloc(m->arena, sizeof *weight); /* a copy, because graph_insert moves values */
    *weight = *x->value;
    x->value = weight;
    set_outer(x, &x->g->value[plan->user[0]]);
    int query = separate_feature_map(x, plan->features, QUERY, feature_axis, plan->chunk),
        key = query < 0 ? -1 : separate_feature_map(x, plan->features, KEY, feature_axis, plan->chunk);
    if (key < 0 || (plan->last && !has_room(x, plan, feature_axis)))
        return separate_none(x, "its features, or the decays of their sums, have too many factors") != NULL;
    struct separated_form *const form = &x->c->separated;
    const bool by_head = axes_have(m, x->g->value[key].rank, x->g->value[key].axes, SIZE_MEMBERS);
    if (form->features && by_head != x->by_head && plan->last) /* the states of a chunk are summed by the same loops */
        return separate_none(x, "only some of the kernel's weights have features of keys that differ by query head") !=
               NULL;
    x->by_head = by_head;
    /* the weights of one SOLVE share one state */
    const bool shares = graph_find_solve(x->g) >= 0 && !sums_several(x->g);
    form->features = plan->features->features + (shares ? 0 : form->features);
    form->reach = plan->reach > form->reach ? plan->reach : form->reach;
    form->near_keys = fmax(form->near_keys, plan->near_keys);
    x->g->value[x->weight].expr = plan->near;
    for (int u = 0; u < plan->users; u++) {
        const int user = plan->user[u] + (x->weight - old), before = x->weight;
        int at = user;
        struct value sum = x->g->value[at];
        const int state = state_of(x, &sum, key, feature_axis, plan, &at);
        sum = x->g->value[at];
        struct value far = graph_value(GRAPH_CONTRACT, sum.rank, sum.axes);
        far.operands = 2;
        far.operand[0] = graph_ref(x->g, query, NULL);
        far.operand[1] = graph_ref(x->g, state, NULL);
        for (int k = 0; k < far.operand[1].rank && chunk_axis >= 0; k++)
            if (ref_axis(&far.operand[1], k) == chunk_axis) far.operand[1].sub[k] = number;
        const int inserted = at - user - (x->weight - before) + (plan->last ? 2 : 0);
        for (int later = u + 1; later < plan->users; later++) plan->user[later] += inserted;
        if (!plan->last) {
            x->g->value[at] = far;
            continue;
        }
        int distant = insert_before(x->g, &at, far);
        struct value near = x->g->value[at];
        near.where = expr_and(m, plan->region, outside_state(x, plan, number));
        int close = insert_before(x->g, &at, near);
        struct value both = graph_value(GRAPH_MAP, sum.rank, sum.axes);
        both.operands = 2;
        both.operand[0] = graph_ref(x->g, close, NULL);
        both.operand[1] = graph_ref(x->g, distant, NULL);
        /* The sum of the state counts as 0 if the state has another id. */
        const struct expr *earlier = expr_operand(m, 1);
        if (x->id[KEY])
            earlier = expr_select(m, separate_same_id(x, separate_position_of_id(x), x->end[QUERY]), earlier,
                                  expr_real(m, 0));
        both.expr = expr_add(x->m, expr_operand(m, 0), earlier);
        x->g->value[at] = both;
    }
    return true;
}

/* Lets weights of pairs read no other weights of pairs. `rows`: the axis of queries, or of the first of two keys. */
static void open_weights(struct separation *x, int rows)
{
    for (int v = 0; v < x->g->values; v++) {
        const struct value *const pair = &x->g->value[v];
        if (!value_has_axis(pair, rows) || !value_has_axis(pair, x->stream)) continue;
        if (pair->op == GRAPH_CONTRACT || pair->op == GRAPH_REDUCE) v += graph_map_summed(x->g, v);
        if (x->g->value[v].op == GRAPH_MAP) inline_pairs(x->g, v, rows, x->stream);
    }
    graph_sweep(x->g);
}

/* Whether a weight has a random factor. Then nothing is separated, because loops visit all pairs anyway. */
static bool draws_pairs(const struct graph *g)
{
    bool draws = false;
    for (int v = 0; v < g->values; v++) draws |= g->value[v].expr && expr_has(g->value[v].expr, EXPR_RANDOM);
    return draws;
}

/* Splits the weight by a choice between two formulas, if one of these has features. Returns false, without changes, if
   there is no such choice. */
static bool split_by_choice(struct separation *x)
{
    const struct separation before = *x;
    struct compilation *const c = x->c;
    const struct separated_form form = c->separated;
    const char *const reason = c->reason;
    struct graph *const whole = graph_copy(x->g);
    bool any = false;
    struct plan plan = {0};
    const struct expr *where = NULL;
    if (!find_sums(x, &plan, &where) || !separate_split_by_choice(x, false)) return false;
    for (int k = 0; k < 2; k++) {
        struct separation trial = before;
        trial.g = x->g;
        trial.weight += k;
        trial.value = &trial.g->value[trial.weight];
        any |= make_plan(&trial, &plan);
    }
    c->separated = form;
    c->reason = reason;
    if (any) return true;
    *x->g = *whole;
    x->value = before.value;
    return false;
}

/* Separates each weight that has finite features. x->lane is the axis of queries, `rows` that of a SOLVE or -1. Sets
   *done to the last plan. *lost: the reason why the last weight without features has none. Returns false if the weights
   of a SOLVE have different features. */
static bool separate_weights(struct separation *x, int rows, struct plan *done, const char **lost)
{
    struct compilation *const c = x->c;
    struct plan plan = {0};
    const int queries = x->lane;
    const bool solves = graph_find_solve(x->g) >= 0, several = sums_several(x->g);
    bool failed = false;
    *done = plan;
    *lost = NULL;
    for (int v = 0; v < x->g->values && !failed; v++) {
        const struct value *value = &x->g->value[v];
        x->lane = value_has_axis(value, queries) ? queries : rows;
        if (!value_has_axis(value, x->stream) || x->lane < 0 || !value_has_axis(value, x->lane)) continue;
        if (value->op == GRAPH_CONTRACT || value->op == GRAPH_REDUCE)
            v += graph_map_summed(x->g, v); /* makes a map, which simplify removes if it is unused */
        value = &x->g->value[v];
        if (value->op != GRAPH_MAP) continue;
        inline_pairs(x->g, v, x->lane, x->stream);
        x->weight = v;
        x->value = value;
        if (!solves) separate_split_by_region(x);
        if (!make_plan(x, &plan)) {
            if (!solves && split_by_choice(x)) {
                v--;
                continue;
            }
            if (plan.users) *lost = c->reason;
            failed = solves && plan.users; /* one state sums the keys of all weights */
            continue;
        }
        /* a state with more than MAX_CHOSEN features does not fit the caches, so the user must request it */
        if (c->spec->algorithm == ALGORITHM_AUTO && plan.features->features > MAX_CHOSEN && !solves) {
            separate_none(
                x,
                arena_printf(
                    x->m->arena,
                    "it would have %lld features, too many to choose automatically; force it with 'algorithm: linear'",
                    (long long)plan.features->features));
            continue;
        }
        failed = solves && !several && done->features && done->features->features != plan.features->features;
        if (failed) break;
        failed = !rewrite(x, &plan) && solves;
        *done = plan;
        v = x->weight;
    }
    x->lane = queries;
    return !failed;
}

/* Splits weights that are an exponential for some pairs alone. The sum of these pairs is then relative to a maximum. */
static void split_exponentials(struct separation *x)
{
    for (int v = 0; v < x->g->values && graph_find_solve(x->g) < 0; v++) {
        struct plan plan = {0};
        const struct expr *where = NULL;
        x->weight = v;
        x->value = &x->g->value[v];
        if (x->value->op == GRAPH_MAP && value_has_axis(x->value, x->lane) && value_has_axis(x->value, x->stream) &&
            find_sums(x, &plan, &where) && plan.users)
            separate_split_by_choice(x, true);
    }
}

void pass_separate(struct compilation *c)
{
    struct separation separation = {.c = c, .g = c->graph, .m = c->graph->module}, *x = &separation;
    struct roles roles;
    roles_of(c->graph, 0, &roles);
    x->lane = roles.lane;
    x->stream = roles.stream;
    if (x->lane < 0 || x->stream < 0) return;
    if (!c->program.linear) {
        split_exponentials(x);
        return;
    }
    const int solve = graph_find_solve(c->graph);
    const bool solves = solve >= 0;
    int along, rows = -1;
    if (solves) graph_solve_axes(x->m, &c->graph->value[solve], &along, &rows);
    const bool scans = graph_find_scan(c->graph) >= 0, draws = scans || draws_pairs(c->graph);
    if (draws)
        separate_none(x, scans ? "a running sum along the keys depends on each pair of a query and a key"
                               : "it draws a random number for each pair");
    x->apart = has_other_heads(x);
    if (sums_several(x->g)) {
        open_weights(x, rows);
        open_weights(x, x->lane);
    }
    read_at_chunks(x);
    struct graph *const before = graph_copy(c->graph);
    struct plan done = {0};
    const char *lost = NULL;
    bool failed = !draws && !separate_weights(x, rows, &done, &lost);
    if (x->again) {
        x->again = false;
        x->g = c->graph = graph_copy(before);
        c->separated = (struct separated_form){0};
        failed = !separate_weights(x, rows, &done, &lost);
    }
    if (c->separated.features && !failed) failed = !correct(x, &done);
    if (failed) {
        c->graph = before; /* give up, because the weights of two keys do not have the features of the state */
        c->separated.features = 0;
    }
    graph_sweep(c->graph);
    if (c->separated.features) {
        c->reason = lost;
        return;
    }
    if (!c->reason) c->reason = "no weight of a query and a key is only summed over keys";
    if (c->spec->algorithm != ALGORITHM_LINEAR || !graph_has_pairs(c->graph)) return;
    diagnostics_error(c->diagnostics, c->spec->algorithm_at, "there is no linear form: %s", c->reason);
}
