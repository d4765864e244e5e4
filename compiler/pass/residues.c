/* Splits a loop over keys if its region selects a few keys of every period. Terms:
   - period, phase, run: the loop visits keys j with floormod(j - phase, period) < run. A residue is such a floormod.
   - term: a conjunction of conditions. The region is a union of terms.
   - share: one of the new loops, with its terms. Terms without a period have one loop in common. Each distinct
     period has another loop.
   - plan: a way to split the loop. The cheapest estimate is taken.
   - along: queries one period apart see the same keys, as in a dilated window. Such a plan puts them into one tile.
   - apart: the tiles of a loop hold keys one period apart. Otherwise, they hold neighbouring keys. Loops with a run
     below LONG_RUN are apart. */
#include "pass.h"
#include "../analysis/analysis.h"
#include "../cost/cost.h"
#include "../schedule/schedule.h"

#include <string.h>

enum { MAX_REGION_TERMS = 16, MAX_CONDITIONS = 24, MAX_STRIDE = 1024, LONG_RUN = 16, MIN_TILE = 16 };
/* Costs are estimated for at least LENGTH tokens and PERIODS periods. The fixed cost of a tile equals the cost of
   TILE_OF_KEYS keys, or of TILE_OF_QUERIES queries. */
enum { LENGTH = 8192, HEADS = 8, PERIODS = 128 };
static const double TILE_OF_KEYS = 16, TILE_OF_QUERIES = 4;
/* A plan with shorter tiles of queries than the pass tile chose must cost less than CLEAR_GAIN times the lowest
   cost so far. */
static const double CLEAR_GAIN = 0.9;

/* ---- the region as a union of conjunctions ---- */

struct term {
    int conditions;
    const struct expr *condition[MAX_CONDITIONS];
    struct period period;
};
struct terms {
    int count;
    struct term term[MAX_REGION_TERMS];
};

/* Returns NOT e, with NOT moved inside: 'not (a and b < c)' becomes 'not a or c <= b'. */
static const struct expr *negated(struct module *m, const struct expr *e)
{
    const struct expr *a = e->arg[0], *b = e->arg[1];
    switch ((int)e->op) {
    case EXPR_NOT: return a;
    case EXPR_AND:
    case EXPR_OR: return expr_make(m, e->op == EXPR_AND ? EXPR_OR : EXPR_AND, negated(m, a), negated(m, b), NULL);
    case EXPR_EQ:
    case EXPR_NE: return expr_make(m, e->op == EXPR_EQ ? EXPR_NE : EXPR_EQ, a, b, NULL);
    case EXPR_LE:
    case EXPR_LT:
        if (a->type == TYPE_REAL || b->type == TYPE_REAL) break; /* reals are excluded, because they may be NaN */
        return expr_make(m, e->op == EXPR_LE ? EXPR_LT : EXPR_LE, b, a, NULL);
    default: break;
    }
    return expr_not(m, e);
}

/* Adds t to the terms. Returns false if there is no room. */
static bool add_term(struct terms *all, const struct term *t)
{
    if (all->count == MAX_REGION_TERMS) return false;
    all->term[all->count++] = *t;
    return true;
}

static bool conjoin(struct term *t, const struct expr *e)
{
    for (int k = 0; k < t->conditions; k++)
        if (t->condition[k] == e) return true;
    if (t->conditions == MAX_CONDITIONS) return false;
    t->condition[t->conditions++] = e;
    return true;
}

/* Intersects every term with e. If e is 'a or b', each term becomes two terms. Returns false if there is no room. */
static bool multiply(struct module *m, struct terms *all, const struct expr *e)
{
    if (e->op == EXPR_INT) {
        if (!e->integer) all->count = 0;
        return true;
    }
    if (e->op == EXPR_AND) return multiply(m, all, e->arg[0]) && multiply(m, all, e->arg[1]);
    if (e->op == EXPR_OR) {
        struct terms *other = arena_alloc(m->arena, sizeof *other);
        *other = *all;
        if (!multiply(m, all, e->arg[0]) || !multiply(m, other, e->arg[1])) return false;
        for (int k = 0; k < other->count; k++)
            if (!add_term(all, &other->term[k])) return false;
        return true;
    }
    const struct expr *other = e->op == EXPR_NOT ? negated(m, e->arg[0]) : e;
    if (other->op == EXPR_AND || other->op == EXPR_OR) return multiply(m, all, other);
    for (int k = 0; k < all->count; k++)
        if (!conjoin(&all->term[k], other)) return false;
    return true;
}

/* ---- plans ---- */

/* One of a plan's loops over keys. It visits the keys that the period `of` selects, or all keys. */
struct share {
    struct period of;
    uint32_t terms; /* the terms that the loop covers, as bits */
};

struct plan {
    bool along; /* the queries of a tile are `stride` apart */
    int64_t stride;
    int64_t tile_q;
    int shares;
    struct share share[MAX_REGION_TERMS];
};

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t c = a;
    while (c % b) c += a;
    return c;
}

/* Returns the period of the loop for a term with period p.
   - If queries that see the same keys share a tile (`along`), the loop has the period of these keys (p->alike).
   - Otherwise a phase that moves with the query makes the run longer by tile_q - 1, for all queries of a tile.
   - A run above three quarters of the period is not worth it: the loop gets no period. */
static struct period taken(const struct period *p, bool along, int64_t tile_q)
{
    struct period made = *p;
    if (along && p->alike.run > 0) {
        made.with_query = true;
        made.period = p->alike.period;
        made.run = p->alike.run;
        made.phase = p->alike.phase;
        made.exact = p->alike.exact;
    } else if (p->with_query && !along) {
        made.run += tile_q - 1;
        made.exact = false;
    }
    if (p->periodic == 0 || 4 * made.run > 3 * made.period) return (struct period){.periodic = 0};
    return made;
}

/* Fills in the plan. Returns false if no loop has a period, or the stride is too large. */
static bool make_plan(const struct terms *all, bool along, int64_t tile_q, struct plan *plan)
{
    *plan = (struct plan){.along = along, .stride = 1, .tile_q = tile_q};
    for (int iteration = 0; iteration < 2; iteration++) /* first the terms without a period, then the others */
        for (int k = 0; k < all->count; k++) {
            const struct period *own = &all->term[k].period, p = taken(own, along, tile_q);
            if ((p.periodic != 0) != (iteration == 1) || (own->periodic && own->run == 0)) continue;
            int n = 0;
            for (; n < plan->shares; n++) {
                const struct period *q = &plan->share[n].of;
                if (iteration == 0 ? !q->periodic
                                   : q->periodic && q->period == p.period && q->run == p.run && q->phase == p.phase)
                    break;
            }
            if (n == plan->shares) plan->share[plan->shares++] = (struct share){.of = p};
            plan->share[n].terms |= AXIS(k);
            if (along && p.periodic && p.with_query) plan->stride = common_multiple(plan->stride, p.period);
            if (plan->stride > MAX_STRIDE) return false;
        }
    bool periods = plan->shares > 0 && plan->share[plan->shares - 1].of.periodic != 0;
    return periods && (!along || plan->stride > 1);
}

/* Returns the condition under which loop `share` processes a key for the term. The condition omits what the loop's
   period implies, and excludes keys of earlier loops. */
static const struct expr *remaining_condition(struct module *m, const struct terms *all, const struct plan *plan,
                                              int share, int term)
{
    const struct term *t = &all->term[term];
    const struct expr *e = expr_int(m, 1);
    const struct period p = taken(&t->period, plan->along, plan->tile_q);
    bool implied = p.periodic && p.exact;
    for (int k = 0; k < t->conditions; k++)
        if (!implied || !(t->period.periodic >> k & 1)) e = expr_and(m, e, t->condition[k]);
    for (int before = 0; before < share; before++)
        for (int other = 0; other < all->count; other++) {
            if (!(plan->share[before].terms >> other & 1)) continue;
            bool apart = false;
            const struct expr *also = expr_int(m, 1); /* conditions of `other` that are not conditions of t */
            for (int k = 0; k < all->term[other].conditions; k++) {
                bool said = false;
                for (int n = 0; n < t->conditions; n++) said |= t->condition[n] == all->term[other].condition[k];
                if (!said) also = expr_and(m, also, all->term[other].condition[k]);
                for (int n = 0; n < t->conditions; n++)
                    apart |= t->condition[n] == negated(m, all->term[other].condition[k]);
            }
            if (!apart) e = expr_and(m, e, negated(m, also));
        }
    return e;
}

/* ---- loops ---- */

/* Whether the assignment changes anything. A map that only masks changes nothing if everything is in the region. */
static bool changes(const void *of, const struct stmt *s, const struct assign *a)
{
    (void)of;
    return s->op != LOOPS_MAP || a->fold != FOLD_SET || a->expr->op != EXPR_OPERAND ||
           !ref_equal(&s->operand[a->expr->integer], &a->to);
}

/* Returns a copy of the body of `loop`. Region `where` replaces that of the loop. */
static struct stmt *copy_body(struct loops *l, const struct stmt *loop, const struct expr *where)
{
    struct stmt *body = stmts_copy(l, loop->body, NULL);
    struct stmts w = {.list = body};
    for (struct stmt *s; (s = stmts_next(&w));)
        for (int k = 0; k < s->assigns; k++)
            if (s->assign[k].expr) s->assign[k].expr = expr_replace(l->module, s->assign[k].expr, loop->where, where);
    stmts_keep_assigns(&body, changes, NULL);
    return body;
}

/* Replaces the tiles `own` in a list by new ones. */
static void use_new_tiles(struct loops *l, struct stmt *body, const bool *own, int arrays)
{
    for (int a = 0; a < arrays; a++) {
        if (!own[a]) continue;
        struct array copy = l->array[a];
        copy.name = loops_unused_name(l, copy.name);
        stmts_rename(body, a, loops_array(l, copy));
    }
}

/* A loop over keys, *at, and the loop over queries around it. */
struct place {
    struct stmt *queries, **at;
};

static bool find_place(struct loops *l, struct place *out)
{
    const struct axis *const axis = l->module->axis;
    struct stmts w = {.place = &l->body};
    for (struct stmt *s; (s = stmts_next(&w));) {
        if (s->op != LOOPS_FOR || !axis_is_sequence(&axis[s->axis]) || !s->where || s->period || s->backward)
            continue; /* residues would come out of order */
        *out = (struct place){NULL, w.at};
        for (int k = 0; k < w.loops; k++)
            if (axis_is_sequence(&axis[w.loop[k]->axis])) out->queries = w.loop[k];
        if (out->queries && out->queries->axis != s->axis) return true;
    }
    return false;
}

static void apply(struct loops *l, const struct place *p, const struct terms *all, const struct plan *plan)
{
    struct module *m = l->module;
    struct stmt *loop = *p->at, *after = loop->next, **end = p->at;
    const int arrays = l->arrays;
    bool *const own = arena_alloc(m->arena, (size_t)arrays * sizeof *own); /* tiles that only the loop uses */
    for (int a = 0; a < arrays; a++) {
        const int inside = stmts_touching(loop->body, a);
        own[a] = l->array[a].kind == ARRAY_TILE && inside > 0 && inside == stmts_touching(l->body, a);
    }
    for (int n = 0; n < plan->shares; n++) {
        const struct share *share = &plan->share[n];
        const struct expr *where = expr_int(m, 0);
        for (int k = 0; k < all->count; k++)
            if (share->terms >> k & 1) where = expr_or(m, where, remaining_condition(m, all, plan, n, k));
        if (where->op == EXPR_INT && !where->integer) continue;
        struct stmt *made = stmt_new(l, LOOPS_FOR);
        *made = *loop;
        made->where = where->op == EXPR_INT ? NULL : where;
        made->body = copy_body(l, loop, where);
        if (end != p->at) use_new_tiles(l, made->body, own, arrays);
        if (share->of.periodic) {
            made->period = share->of.period;
            made->run = share->of.run;
            made->phase = share->of.phase;
            made->apart = share->of.run < LONG_RUN;
        }
        *end = made;
        end = &made->next;
    }
    *end = after;
    for (int a = 0; a < l->arrays; a++)
        for (int k = 0; k < l->array[a].rank; k++)
            if (l->array[a].axes[k] == p->queries->axis && l->array[a].extent[k] > plan->tile_q)
                l->array[a].extent[k] = plan->tile_q;
    p->queries->step = plan->tile_q;
    if (plan->stride == 1) return;
    p->queries->period = p->queries->run = plan->stride;
    p->queries->phase = expr_int(m, 0);
    p->queries->apart = true;
}

/* Returns the estimated cost of the plan's loops, in pairs. If `plan` is NULL, returns the cost of the current
   loops. */
static double cost_of(const struct compilation *c, const struct terms *all, const struct plan *plan)
{
    struct loops *const tried = loops_copy(c->loops);
    struct visited visited;
    struct place p;
    double tile = (double)c->tiling.tile_q;
    if (plan && find_place(tried, &p)) {
        apply(tried, &p, all, plan);
        tile = (double)plan->tile_q;
    }
    bound_loops(c, tried);
    int64_t length = LENGTH;
    double cost = 0;
    for (int k = 0; k < all->count; k++)
        if (PERIODS * all->term[k].period.period > length) length = PERIODS * all->term[k].period.period;
    /* Half the length is tried, too, because a mask may end at a position. */
    for (int divisor = 1; divisor <= 2; divisor++) {
        const int64_t n = length / divisor;
        const double all_keys = (double)n;
        struct ids ids = {0}; /* the estimate assumes that integers allow all keys of a sequence */
        for (int a = 0; a < tried->arrays; a++)
            if (dtype_is_integer(tried->array[a].dtype) || tried->array[a].hides)
                ids_add(&ids, tried->array[a].name, &all_keys, 1, 1, false);
        for (int k = 0; k < ids.arrays; k++) ids.array[k].repeats = true;
        count_visits(tried, &(struct problem_size){1, HEADS, 1, n, n}, &ids, &visited);
        cost += visited.pairs + TILE_OF_KEYS * visited.tiles;
    }
    return cost * (1 + TILE_OF_QUERIES / tile);
}

/* Splits term t into a term for positions p >= 0 of the query and a term for p < 0. Does so if more conditions are
   then periodic for p >= 0. Positions below 0 occur if there are more queries than keys. */
static void tell_signs_apart(struct module *m, int lane_axis, int stream_axis, struct terms *all, struct term *t)
{
    const bool swapped = m->axis[stream_axis].source == SIZE_N_Q;
    const int query_axis = swapped ? stream_axis : lane_axis, key_axis = swapped ? lane_axis : stream_axis;
    const struct expr *zero = expr_int(m, 0), *position = expr_query_position(m, query_axis, key_axis);
    struct term after = *t, before = *t;
    if (!conjoin(&after, expr_le(m, zero, position))) return;
    conjunction_period(m, lane_axis, stream_axis, after.conditions, after.condition, &after.period);
    if (!(after.period.periodic & ~t->period.periodic) ||
        !conjoin(&before, negated(m, after.condition[t->conditions])) || all->count == MAX_REGION_TERMS)
        return;
    conjunction_period(m, lane_axis, stream_axis, before.conditions, before.condition, &before.period);
    add_term(all, &before);
    *t = after;
}

/* Finds the region's terms and their periods. Returns whether a term has a period. */
static bool find_terms(struct module *m, const struct expr *where, int lane_axis, int stream_axis, struct terms *all)
{
    /* keys that drawn blocks or ids select have no period */
    if (expr_has(where, EXPR_DRAWN) || expr_ids_along(where, AXIS(lane_axis) | AXIS(stream_axis))) return false;
    all->count = 1;
    if (!multiply(m, all, where)) return false;
    bool any = false;
    for (int k = 0, terms = all->count; k < terms; k++) {
        struct term *t = &all->term[k];
        conjunction_period(m, lane_axis, stream_axis, t->conditions, t->condition, &t->period);
        tell_signs_apart(m, lane_axis, stream_axis, all, t);
        any |= t->period.periodic != 0;
    }
    return any;
}

bool region_repeats(struct module *m, const struct expr *where, int lane_axis, int stream_axis)
{
    return find_terms(m, where, lane_axis, stream_axis, arena_alloc(m->arena, sizeof(struct terms)));
}

void pass_residues(struct compilation *c)
{
    struct module *m = c->loops->module;
    struct place p;
    if (program_selects(&c->program) || !find_place(c->loops, &p)) return; /* candidates come in the order of keys */
    struct terms *all = arena_alloc(m->arena, sizeof *all);
    if (!find_terms(m, (*p.at)->where, p.queries->axis, (*p.at)->axis, all)) return;
    /* queries may be regrouped if one loop runs over all of them */
    bool whole = p.queries->parallel && p.queries->from == expr_int(m, 0) &&
                 p.queries->to == expr_size(m, p.queries->axis);
    int64_t tile_q = p.queries->step,
            shortest = whole && schedule_knob(c, "tile_q", 0) == 0 && tile_q > MIN_TILE ? MIN_TILE : tile_q;
    struct plan *best = NULL, *plan = arena_alloc(m->arena, sizeof *plan);
    double min = cost_of(c, all, NULL);
    for (; tile_q >= shortest; tile_q /= 2)
        for (int along = 0; along < 1 + whole; along++) {
            if (!make_plan(all, along, tile_q, plan)) continue;
            double cost = cost_of(c, all, plan);
            if (cost >= (tile_q < c->tiling.tile_q ? CLEAR_GAIN : 1) * min) continue;
            min = cost;
            best = plan;
            plan = arena_alloc(m->arena, sizeof *plan);
        }
    if (!best) return;
    apply(c->loops, &p, all, best);
    c->tiling.tile_q = best->tile_q;
}
