/* Finds how far from its own position a query reads keys. Decoding must not read later keys. It stores an earlier
   key while a loop can still read it. */
#include "affine.h"
#include "reach.h"
#include "region.h"
#include "roles.h"
#include "../schedule/schedule.h"

#include <string.h>

/* ---- keys after the query ---- */

/* Whether a <= b for all sizes. Returns false if that is unknown. */
static bool at_most(struct module *m, const struct expr *a, const struct expr *b)
{
    const struct expr *ends = a->arg[0];
    if (a->op == EXPR_ADD && (ends->op == EXPR_MIN || ends->op == EXPR_MAX)) /* min(x, y) + c = min(x + c, y + c) */
        a = expr_make(m, ends->op, expr_add(m, ends->arg[0], a->arg[1]), expr_add(m, ends->arg[1], a->arg[1]), NULL);
    if (a->op == EXPR_MIN) return at_most(m, a->arg[0], b) || at_most(m, a->arg[1], b);
    if (a->op == EXPR_MAX) return at_most(m, a->arg[0], b) && at_most(m, a->arg[1], b);
    if (a->op == EXPR_SELECT)
        return (expr_is_real(a->arg[2], 0) || at_most(m, a->arg[2], b)) && at_most(m, a->arg[1], b);
    return known_at_most(m, a, b);
}

bool sums_keys_of_query(const struct module *m, const struct value *v, int lane, int stream)
{
    if (lane < 0 || stream < 0) return false;
    const uint32_t others = axes_of_sequences(m) & ~AXIS(lane);
    return (v->op == GRAPH_REDUCE || v->op == GRAPH_CONTRACT) && !value_has_axis(v, stream) &&
           !(value_axes(v) & others) && value_operand_axes(v) >> stream & 1;
}

/* Whether v reads keys after the query, or that is unknown. `v` is a sum over keys, or a list of the best of them. */
static bool reads_ahead(struct module *m, const struct value *v, const struct roles *roles)
{
    const struct expr *const from = expr_lo(m, roles->lane), *const to = expr_hi(m, roles->lane),
                             *const own = expr_add(m, from, expr_int(m, 1)),
                             *const start = expr_of_sequence(m, expr_query_start(m, roles->lane, roles->stream)),
                             *const end = expr_add(m, own, start);
    struct ranges seen;
    if (!v->where) return true;
    region_ranges(m, v->where, roles->stream, false, &seen);
    for (int k = 0; k < seen.count; k++) {
        const struct expr *const upto = seen.range[k].to;
        if (upto && upto->op == EXPR_INT && upto->integer <= 0) continue; /* no key */
        if (!upto || !at_most(m, expr_replace(m, upto, to, own), end)) return true;
    }
    return false;
}

bool looks_ahead(const struct graph *g)
{
    struct roles roles;
    bool ahead = roles_of(g, 0, &roles) != NULL;
    for (int v = 0; v < g->values && !ahead; v++)
        ahead = sums_keys_of_query(g->module, &g->value[v], roles.lane, roles.stream) &&
                reads_ahead(g->module, &g->value[v], &roles);
    return ahead;
}

/* ---- the length of a sequence ---- */

/* The query's index and position, and the last key. In a state, no query is after the last key. */
struct in_state {
    struct module *m;
    const struct expr *query, *position, *last;
};

/* Replaces the query's position by its index. A position that is limited to the keys is the position itself. */
static const struct expr *of_query(void *of, const struct expr *e)
{
    const struct in_state *const x = of;
    int64_t ahead;
    if (e == x->position) return x->query;
    const bool limited = e->op == EXPR_MIN && e->arg[1] == x->last &&
                         known_difference(x->m, e->arg[0], x->position, &ahead) && ahead <= 0;
    return limited ? expr_map(x->m, e->arg[0], of_query, of) : NULL;
}

static bool has_size(const struct module *m, const struct expr *e);

/* Returns whether the number of a row of integers has a size other than those that the number counts rows with. */
static bool has_size_in_row(const struct module *m, const struct expr *e)
{
    if (e->op == EXPR_ADD) return has_size_in_row(m, e->arg[0]) || has_size_in_row(m, e->arg[1]);
    if (e->op == EXPR_MUL && e->arg[0]->op == EXPR_SIZE) return has_size_in_row(m, e->arg[1]);
    if (e->op == EXPR_MUL && e->arg[1]->op == EXPR_SIZE) return has_size_in_row(m, e->arg[0]);
    return has_size(m, e);
}

static bool has_size(const struct module *m, const struct expr *e)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        const bool read = w.e->op == EXPR_ID || w.e->op == EXPR_ELEMENT;
        if (w.e->op == EXPR_SIZE && axis_is_sequence(&m->axis[w.e->integer])) return true;
        /* the last operand of a draw is the number of blocks, which draws with `upto` do not use */
        const bool listed = w.e->op == EXPR_DRAWN && w.e->draw->sorted; /* it is the number of a row of lists */
        if (listed && has_size_in_row(m, w.e->arg[2])) return true;
        w.skip = read || listed || (w.e->op == EXPR_DRAWN && w.e->draw->upto);
        if (w.skip && ((read ? has_size_in_row : has_size)(m, w.e->arg[0]) || has_size(m, w.e->arg[1]))) return true;
    }
    return false;
}

static bool depends(struct in_state *x, const struct expr *e)
{
    return e && has_size(x->m, expr_map(x->m, e, of_query, x));
}

int integer_arrays(const struct graph *g)
{
    int count = 0;
    for (int v = 0; v < g->values; v++) count += g->value[v].integers;
    return count;
}

bool depends_on_length(const struct graph *g)
{
    struct module *const m = g->module;
    struct roles roles;
    if (roles_of(g, 0, &roles)) return true;
    struct in_state x = {m, expr_index(m, roles.lane), expr_query_position(m, roles.lane, roles.stream),
                         expr_sub(m, expr_size(m, roles.stream), expr_int(m, 1))};
    for (const struct value *v = g->value; v < g->value + g->values; v++) {
        for (int k = 0; k < v->operands; k++)
            for (int s = 0; s < v->operand[k].rank; s++)
                if (depends(&x, v->operand[k].sub[s])) return true;
        if (depends(&x, v->expr) || depends(&x, v->where)) return true;
        if (v->op == GRAPH_SELECT && reads_ahead(m, v, &roles)) return true;
    }
    return false;
}

/* ---- keys before the query ---- */

enum { UNKNOWN = -1, POSITIONS = 4096, FAR = 1 << 20, TILES = 3 };

/* The sizes and ranges for which bounds of loops are evaluated. known: whether every bound so far could be
   evaluated */
struct reading {
    const struct loops *l;
    int lane, stream, chunk;
    int64_t size[MAX_AXES], lo[MAX_AXES], hi[MAX_AXES], index[MAX_AXES];
    bool known;
};

static int64_t bound(struct reading *x, const struct expr *e)
{
    const struct environment env = {.index = x->index, .size = x->size, .lo = x->lo, .hi = x->hi};
    if (expr_reads_ids(e) || expr_has(e, EXPR_DRAWN)) x->known = false;
    return x->known ? expr_eval_int(e, &env) : 0;
}

/* Returns the first key that the loops in list s read, or INT64_MAX. */
static int64_t first_key(struct reading *x, const struct stmt *s)
{
    int64_t first = INT64_MAX;
    for (; s; s = s->next) {
        if (s->op != LOOPS_FOR || s->axis != x->stream) {
            const int64_t inside = first_key(x, s->body);
            if (inside < first) first = inside;
            continue;
        }
        const int64_t from = bound(x, s->from), to = bound(x, s->to);
        for (int k = 0; k < (s->ranges ? s->ranges : 1); k++) {
            int64_t begin = from, end = to;
            if (s->ranges) {
                const int64_t a = bound(x, s->range[k].from), b = bound(x, s->range[k].to);
                x->known &= !s->range[k].drawn;
                begin = a > begin ? a : begin;
                end = b < end ? b : end;
            }
            if (begin < end && begin < first) first = begin;
        }
    }
    return first;
}

/* Tries tiles of `tile` queries at POSITIONS positions. Returns the maximum number of keys that a tile reads before
   the chunk of its first query. */
static int64_t back_from(struct reading *x, const struct stmt *body, int64_t position, int64_t tile)
{
    int64_t max = 0;
    for (int64_t p = position; p < position + POSITIONS && x->known; p++) {
        x->size[x->lane] = x->hi[x->lane] = tile;
        x->size[x->stream] = p + tile;
        const int64_t length = x->l->module->axis[x->chunk].extent, begin = p / length * length;
        x->size[x->chunk] = (p + tile + length - 1) / length;
        x->lo[x->chunk] = p / length;
        x->hi[x->chunk] = p / length + 1;
        const int64_t first = first_key(x, body);
        if (first < begin && begin - first > max) max = begin - first;
    }
    return max;
}

int64_t keys_read_back(const struct compilation *c)
{
    struct roles roles;
    if (roles_of(c->graph, 0, &roles)) return UNKNOWN;
    if (graph_find_solve(c->graph) >= 0) return 0; /* with a SOLVE, a query reads no key before its chunk */
    const struct stmt *body = c->loops->body;
    struct reading *const x = arena_alloc(c->loops->module->arena, sizeof *x);
    *x = (struct reading){.l = c->loops, .lane = roles.lane, .stream = roles.stream, .known = true};
    for (int a = 0; a < c->loops->module->axes; a++) {
        x->size[a] = axis_is_counted(&c->loops->module->axis[a]) ? c->loops->module->axis[a].extent : 1;
        x->hi[a] = 1;
    }
    while (!body->window) body = body->next ? body->next : body->body;
    x->chunk = body->axis;
    for (body = body->body; body->next;) body = body->next;
    const int64_t tiles[TILES] = {1, 7, c->tiling.tile_q};
    int64_t max = 0;
    for (int t = 0; t < TILES; t++) {
        const int64_t near = back_from(x, body, 0, tiles[t]), far = back_from(x, body, FAR, tiles[t]),
                      further = back_from(x, body, 2 * FAR + 1, tiles[t]);
        if (!x->known || far != further || near > far || far > FAR / 2) return UNKNOWN;
        if (far > max) max = far;
    }
    return max;
}
