/* A region that takes a few keys of every period is not met tile by tile: the loop over keys becomes one loop for what
   has no period and one for each period there is, which runs over the keys of that alone. Where the keys move with the
   query (a dilated window), queries that lie a period apart share a tile, as they see the same keys. Runs of several
   keys are tiles by themselves; shorter ones are met residue by residue. Of the ways to do so the one is taken whose
   loops visit the least. */
#include "pass.h"
#include "../analysis/analysis.h"
#include "../cost/cost.h"
#include "../schedule/schedule.h"

#include <string.h>

enum { MAX_REGION_TERMS = 16, MAX_CONDITIONS = 24, MAX_STRIDE = 1024, LONG_RUN = 16, MIN_TILE = 16 };
/* Where the ways are compared, and what a tile takes besides its pairs: one of keys, in keys; one of queries, in
   queries, whose products are short. */
enum { LENGTH = 8192 };
static const double TILE_OF_KEYS = 16, TILE_OF_QUERIES = 10;
/* For less than this gain tiles are not cut shorter. */
static const double CLEAR_GAIN = 0.8;

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

/* The same with what is negated as far inside as can be. */
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
        if (a->type == TYPE_REAL || b->type == TYPE_REAL) break; /* of which one may be no number */
        return expr_make(m, e->op == EXPR_LE ? EXPR_LT : EXPR_LE, b, a, NULL);
    default: break;
    }
    return expr_make(m, EXPR_NOT, e, NULL, NULL);
}

/* False where there is no room. */
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

/* Every term of `all` and of the expression. */
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

/* ---- what a way makes of it ---- */

/* A loop over some of the keys: those of one period, or (period 0) all. */
struct share {
    struct period of;
    uint32_t terms; /* as bits */
};

struct way {
    bool along; /* queries of a tile are a period apart: */
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

/* The period as the loop takes it: of queries that are neighbours each has its own keys, and all of them are met. */
static struct period taken(const struct period *p, bool along, int64_t tile_q)
{
    struct period made = *p;
    if (p->with_query && !along) {
        made.run += tile_q - 1;
        made.exact = false;
    }
    if (p->periodic == 0 || 4 * made.run > 3 * made.period) return (struct period){.periodic = 0};
    return made;
}

/* False where no loop would have a period. */
static bool plan(const struct terms *all, bool along, int64_t tile_q, struct way *way)
{
    *way = (struct way){.along = along, .stride = 1, .tile_q = tile_q};
    for (int iteration = 0; iteration < 2; iteration++) /* what has no period comes first */
        for (int k = 0; k < all->count; k++) {
            const struct period *own = &all->term[k].period, p = taken(own, along, tile_q);
            if ((p.periodic != 0) != (iteration == 1) || (own->periodic && own->run == 0)) continue;
            int n = 0;
            for (; n < way->shares; n++) {
                const struct period *q = &way->share[n].of;
                if (iteration == 0 ? !q->periodic
                                   : q->periodic && q->period == p.period && q->run == p.run && q->phase == p.phase)
                    break;
            }
            if (n == way->shares) way->share[way->shares++] = (struct share){.of = p};
            way->share[n].terms |= UINT32_C(1) << k;
            if (along && p.periodic && p.with_query) way->stride = common_multiple(way->stride, p.period);
            if (way->stride > MAX_STRIDE) return false;
        }
    bool periods = way->shares > 0 && way->share[way->shares - 1].of.periodic != 0;
    return periods && (!along || way->stride > 1);
}

/* What a term asks of the keys that its loop runs over, and that no loop before it has taken them. */
static const struct expr *left_to_ask(struct module *m, const struct terms *all, const struct way *way, int share,
                                      int term)
{
    const struct term *t = &all->term[term];
    const struct expr *e = expr_int(m, 1);
    const struct period p = taken(&t->period, way->along, way->tile_q);
    bool implied = p.periodic && p.exact;
    for (int k = 0; k < t->conditions; k++)
        if (!implied || !(t->period.periodic >> k & 1)) e = expr_make(m, EXPR_AND, e, t->condition[k], NULL);
    for (int before = 0; before < share; before++)
        for (int other = 0; other < all->count; other++) {
            if (!(way->share[before].terms >> other & 1)) continue;
            const struct expr *also = expr_int(m, 1); /* of the other term, what this one does not say anyway */
            for (int k = 0; k < all->term[other].conditions; k++) {
                bool said = false;
                for (int n = 0; n < t->conditions; n++) said |= t->condition[n] == all->term[other].condition[k];
                if (!said) also = expr_make(m, EXPR_AND, also, all->term[other].condition[k], NULL);
            }
            e = expr_make(m, EXPR_AND, e, negated(m, also), NULL);
        }
    return e;
}

/* ---- loops ---- */

/* Copies of a loop's statements, for another region: with tiles of their own where only these statements have a word of
   them. */
struct copying {
    struct loops *l;
    const struct expr *from, *to;
    int arrays;
    bool *own;
    int *tile; /* by array: its copy, or itself */
};

static struct ref copied_ref(const struct copying *x, struct ref r)
{
    r.of = x->tile[r.of];
    return r;
}

static struct stmt *copy_body(const struct copying *x, const struct stmt *s)
{
    struct stmt *first = NULL, **end = &first;
    for (; s; s = s->next) {
        struct stmt *copy = stmt_new(x->l, s->op);
        *copy = *s;
        copy->next = NULL;
        copy->body = copy_body(x, s->body);
        for (int k = 0; k < s->operands; k++) copy->operand[k] = copied_ref(x, s->operand[k]);
        bool nothing = s->op == LOOPS_MAP;
        for (int k = 0; k < s->assigns; k++) {
            struct assign *a = &copy->assign[k];
            a->to = copied_ref(x, a->to);
            if (a->compensation) a->compensation = copied_ref(x, (struct ref){.of = a->compensation - 1}).of + 1;
            if (a->expr) a->expr = expr_replace(x->l->module, a->expr, x->from, x->to);
            nothing &= a->fold == FOLD_SET && a->expr && a->expr->op == EXPR_OPERAND &&
                       ref_equal(&copy->operand[a->expr->integer], &a->to);
        }
        if (nothing) continue; /* it set elements to themselves, as all are in the region */
        *end = copy;
        end = &copy->next;
    }
    return first;
}

static struct copying copying_of(struct loops *l, const struct stmt *loop)
{
    struct copying x = {.l = l, .from = loop->where, .arrays = l->arrays};
    x.own = arena_alloc(l->module->arena, (size_t)l->arrays * sizeof *x.own);
    x.tile = arena_alloc(l->module->arena, (size_t)l->arrays * sizeof *x.tile);
    for (int a = 0; a < x.arrays; a++) {
        int inside = stmts_touching(loop->body, a);
        x.own[a] = l->array[a].kind == ARRAY_TILE && inside > 0 && inside == stmts_touching(l->body, a);
        x.tile[a] = a;
    }
    return x;
}

static void new_tiles(struct copying *x)
{
    for (int a = 0; a < x->arrays; a++) {
        if (!x->own[a]) continue;
        struct array copy = x->l->array[a];
        copy.name = loops_unused_name(x->l, copy.name);
        x->tile[a] = loops_array(x->l, copy);
    }
}

/* The loop over queries around the one over keys, where it runs over all of them; `at` is where that of the keys
   stands. */
struct place {
    struct stmt *queries, **at;
};

static bool find_place(struct module *m, struct stmt **at, struct stmt *queries, struct place *out)
{
    for (; *at; at = &(*at)->next) {
        struct stmt *s = *at;
        if (s->op != LOOPS_FOR) continue;
        enum size_source source = m->axis[s->axis].source;
        if (source == SIZE_N_K && queries && s->where && s->period == 0) {
            *out = (struct place){queries, at};
            return true;
        }
        if (find_place(m, &s->body, source == SIZE_N_Q ? s : queries, out)) return true;
    }
    return false;
}

static void apply(struct loops *l, const struct place *p, const struct terms *all, const struct way *way)
{
    struct module *m = l->module;
    struct stmt *loop = *p->at, *after = loop->next, **end = p->at;
    struct copying x = copying_of(l, loop);
    for (int n = 0; n < way->shares; n++) {
        const struct share *share = &way->share[n];
        const struct expr *where = expr_int(m, 0);
        for (int k = 0; k < all->count; k++)
            if (share->terms >> k & 1) where = expr_make(m, EXPR_OR, where, left_to_ask(m, all, way, n, k), NULL);
        if (where->op == EXPR_INT && !where->integer) continue;
        if (end != p->at) new_tiles(&x);
        x.to = where;
        struct stmt *made = stmt_new(l, LOOPS_FOR);
        *made = *loop;
        made->where = where->op == EXPR_INT ? NULL : where;
        made->body = copy_body(&x, loop->body);
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
            if (l->array[a].axes[k] == p->queries->axis && l->array[a].extent[k] > way->tile_q)
                l->array[a].extent[k] = way->tile_q;
    p->queries->step = way->tile_q;
    if (way->stride == 1) return;
    p->queries->period = p->queries->run = way->stride;
    p->queries->phase = expr_int(m, 0);
    p->queries->apart = true;
}

/* What the loops would do, in pairs. */
static double cost_of(const struct compilation *c, const struct terms *all, const struct way *way)
{
    struct compilation tried = *c;
    struct visited visited;
    struct place p;
    double tile = (double)c->tile_q;
    tried.loops = loops_copy(c->loops);
    if (way && find_place(tried.loops->module, &tried.loops->body, NULL, &p)) {
        apply(tried.loops, &p, all, way);
        tile = (double)way->tile_q;
    }
    pass_bound(&tried);
    count_visits(tried.loops, &(struct problem_size){1, 1, 1, LENGTH, LENGTH}, NULL, &visited);
    return (visited.pairs + TILE_OF_KEYS * visited.tiles) * (1 + TILE_OF_QUERIES / tile);
}

/* The terms of the region, and whether one of them has a period. */
static bool find_terms(struct module *m, const struct expr *where, int query_axis, int key_axis, struct terms *all)
{
    /* lists of what is drawn, and tiles that share an id, are of neighbours */
    if (expr_has(where, EXPR_DRAWN) || expr_reads_ids(where)) return false;
    all->count = 1;
    if (!multiply(m, all, where)) return false;
    bool any = false;
    for (int k = 0; k < all->count; k++) {
        struct term *t = &all->term[k];
        conjunction_period(m, query_axis, key_axis, t->conditions, t->condition, &t->period);
        any |= t->period.periodic != 0;
    }
    return any;
}

bool region_repeats(struct module *m, const struct expr *where, int query_axis, int key_axis)
{
    return find_terms(m, where, query_axis, key_axis, arena_alloc(m->arena, sizeof(struct terms)));
}

void pass_residues(struct compilation *c)
{
    struct module *m = c->loops->module;
    struct place p;
    if (!find_place(m, &c->loops->body, NULL, &p)) return;
    struct terms *all = arena_alloc(m->arena, sizeof *all);
    if (!find_terms(m, (*p.at)->where, p.queries->axis, (*p.at)->axis, all)) return;
    /* queries are told apart, and their tiles cut shorter, where one loop runs over all of them */
    bool whole = p.queries->parallel && p.queries->from == expr_int(m, 0) &&
                 p.queries->to == expr_leaf(m, EXPR_SIZE, p.queries->axis);
    int64_t tile_q = p.queries->step,
            shortest = whole && schedule_knob(c, "tile_q", 0) == 0 && tile_q > MIN_TILE ? MIN_TILE : tile_q;
    struct way *best = NULL, *way = arena_alloc(m->arena, sizeof *way);
    double min = cost_of(c, all, NULL);
    for (; tile_q >= shortest; tile_q /= 2)
        for (int along = 0; along < 1 + whole; along++) {
            if (!plan(all, along, tile_q, way)) continue;
            double cost = cost_of(c, all, way);
            if (cost >= (tile_q < c->tile_q ? CLEAR_GAIN : 1) * min) continue;
            min = cost;
            best = way;
            way = arena_alloc(m->arena, sizeof *way);
        }
    if (!best) return;
    apply(c->loops, &p, all, best);
    c->tile_q = best->tile_q;
}
