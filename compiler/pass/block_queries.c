/* Groups tiles of queries into blocks that share the work on keys.
   - A tile of queries is small, so that scores fit the L1 cache.
   - Preparing a tile of keys (computing, widening or packing it) takes as long as several queries. So a block prepares
     each tile of keys once.
   - Each tile of queries keeps its sums between tiles of keys. */
#include "pass.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"

struct blocks {
    struct loops *l;
    int axis; /* the axis of queries */
    int64_t step;
    int count;
    struct stmt *tiles[16]; /* the loops over the block's tiles of queries */
};

static bool runs_over(const struct blocks *x, const struct stmt *s)
{
    return s->op == LOOPS_IF || stmt_axes(s) >> x->axis & 1;
}

/* Returns the condition that the region of loop s has points for the current queries and keys. Returns NULL if
   there is no such condition. */
static const struct expr *reached(struct module *m, const struct stmt *s)
{
    struct ranges ranges;
    const struct expr *lo = expr_lo(m, s->axis), *hi = expr_hi(m, s->axis), *any = NULL;
    region_ranges(m, s->where, s->axis, false, &ranges);
    for (int k = 0; k < ranges.count; k++) {
        const struct range *r = &ranges.range[k];
        const struct expr *from = r->from ? expr_lt(m, r->from, hi) : NULL, *to = r->to ? expr_lt(m, lo, r->to) : NULL,
                          *both = from && to ? expr_and(m, from, to)
                                  : from     ? from
                                             : to;
        if (!both) return NULL;
        any = any ? expr_or(m, any, both) : both;
    }
    return any;
}

/* Moves the statements over queries into loops over the block's tiles of queries. Consecutive statements share a
   loop. Returns the new list. `keys`: the innermost loop over keys around s, or NULL. */
static struct stmt *tile_by_tile(struct blocks *x, struct stmt *s, const struct stmt *keys)
{
    struct module *m = x->l->module;
    struct stmt *first = NULL, **end = &first, *tiles = NULL, **inside = NULL;
    for (struct stmt *next; s; s = next) {
        next = s->next;
        s->next = NULL;
        if (s->op != LOOPS_FOR && runs_over(x, s)) {
            if (!tiles) {
                tiles = stmt_new(x->l, LOOPS_FOR);
                tiles->axis = x->axis;
                tiles->from = expr_lo(m, x->axis);
                tiles->to = expr_hi(m, x->axis);
                tiles->step = x->step;
                if (keys && keys->where) tiles->when = reached(m, keys);
                if (x->count < (int)(sizeof x->tiles / sizeof *x->tiles)) x->tiles[x->count] = tiles;
                x->count++;
                inside = &tiles->body;
                *end = tiles;
                end = &tiles->next;
            }
            *inside = s;
            inside = &s->next;
            continue;
        }
        tiles = NULL;
        if (s->op == LOOPS_FOR) s->body = tile_by_tile(x, s->body, axis_is_sequence(&m->axis[s->axis]) ? s : keys);
        *end = s;
        end = &s->next;
    }
    return first;
}

/* Whether tile a need not be stored for each tile of queries in the block. Then at most one loop uses a, and sets
   it first. */
static bool of_one_loop(const struct blocks *x, int a)
{
    int users = 0;
    const struct stmt *user = NULL;
    for (int k = 0; k < x->count; k++)
        if (stmt_touches(x->tiles[k], a)) users++, user = x->tiles[k];
    return users == 0 || (users == 1 && first_sets(user->body, a));
}

/* Whether it pays to process list s in blocks of tiles of queries. It does in two cases:
   - A loop over keys computes values of keys only. A block computes them once.
   - A matrix unit multiplies keys. A block reads each tile of keys while it is in the L1 cache. */
static bool shares(const struct blocks *x, const struct stmt *s, bool keys)
{
    for (; s; s = s->next)
        if (s->op == LOOPS_FOR) {
            if (shares(x, s->body, keys || axis_is_sequence(&x->l->module->axis[s->axis]))) return true;
        } else if ((keys && !runs_over(x, s)) || (s->op == LOOPS_DOT && x->l->array[s->operand[1].of].matrix))
            return true;
    return false;
}

/* Whether list s has loops over keys, and all tiles of queries visit the same keys. */
static bool has_keys(const struct loops *l, const struct stmt *s)
{
    bool keys = false;
    for (; s; s = s->next) {
        if (s->op != LOOPS_FOR) continue;
        if ((s->period && s->phase->op != EXPR_INT) || (s->where && expr_has(s->where, EXPR_DRAWN))) return false;
        keys |= axis_is_sequence(&l->module->axis[s->axis]) || has_keys(l, s->body);
    }
    return keys;
}

static void make_block(struct loops *l, struct stmt *s, int64_t queries)
{
    const int64_t tiles = queries / s->step;
    struct blocks x = {.l = l, .axis = s->axis, .step = s->step};
    if (s->period || s->ordered || tiles < 2 || !shares(&x, s->body, false) || !has_keys(l, s->body)) return;
    /* a tile with queries outside the lanes would have to hold all queries, so there are no blocks */
    for (int a = 0; a < l->arrays; a++)
        if (l->array[a].kind == ARRAY_TILE && axes_set(l->array[a].rank - 1, l->array[a].axes) >> s->axis & 1) return;
    s->body = tile_by_tile(&x, s->body, NULL);
    s->step *= tiles;
    s->block = true;
    for (int a = 0; a < l->arrays; a++) {
        struct array *const tile = &l->array[a];
        const bool lanes = tile->kind == ARRAY_TILE && tile->rank > 0 && tile->axes[tile->rank - 1] == s->axis;
        if (lanes && !of_one_loop(&x, a)) tile->held = tiles;
    }
}

void pass_block_queries(struct compilation *c)
{
    const int64_t queries = c->program.linear                 ? 0
                            : loops_on_matrix_units(c->loops) ? c->target->matrix.block
                                                              : c->tiling.block_q;
    struct stmts w = {.list = queries ? c->loops->body : NULL};
    for (struct stmt *s; (s = stmts_next(&w));)
        if ((w.skip = s->parallel && axis_is_sequence(&c->loops->module->axis[s->axis])))
            make_block(c->loops, s, queries);
}
