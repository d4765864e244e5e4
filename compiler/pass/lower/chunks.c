/* Lowers a graph whose outputs share a loop over chunks (struct graph, by_chunks).
   - A value of pairs or rows is a tile with the rows of one chunk. Its axes need not be those of an output.
   - The keys of a chunk are one tile. Its queries, those whose last key is in the chunk, can be none or several tiles.
     So values of queries are computed in loops over these tiles, and sums over queries are set to 0 before the loop.
   - States are tiles that are updated at the end of a chunk. */
#include "lower.h"
#include "../../analysis/analysis.h"

#include <string.h>

struct by_chunks {
    struct lowering *x;
    const struct graph *g;
    struct module *m;
    int direction;
    int keys, queries; /* the axis of keys that the loop runs over, and the axis of queries or -1 */
    int *last;         /* for each value: the axis in the lanes of its tile, or -1 */
    bool *needed;      /* for each value: whether it has to be computed */
    bool *done;        /* for each value: whether its statements are made */
    bool *kept;        /* for each state: whether another state carries its tile to the next chunk, or it is carried */
    bool *added;       /* for each state: whether the chunk is added to it */
    struct stmt ***at; /* the end of the statements of the chunk */
};

static bool is_sequence(const struct by_chunks *p, int axis)
{
    return axis >= 0 && axis_is_sequence(&p->m->axis[axis]);
}

static bool is_state(const struct by_chunks *p, int v)
{
    return p->x->lowered[v].stage == STATE;
}

/* Whether v is the sum of two states that share its tile. They do not if a SOLVE has a separate state, because then its
   values read one of the two. */
static bool is_merged_state(const struct by_chunks *p, int v)
{
    if (!lower_is_merged(p->x, v)) return false;
    for (int u = 0; u < p->g->values; u++)
        if (p->g->value[u].op == GRAPH_SOLVE && p->g->value[u].operands > SOLVE_KEYS) return false;
    return true;
}

/* Whether v is an array of the caller or of another part. */
static bool is_given(const struct by_chunks *p, int v)
{
    const enum graph_op op = p->g->value[v].op;
    return op == GRAPH_INPUT || op == GRAPH_PARAM || op == GRAPH_TABLE;
}

/* Whether v sums over an axis. */
static bool sums_over(const struct value *v, int axis)
{
    return axis >= 0 && v->op != GRAPH_MAP && (value_operand_axes(v) & ~value_axes(v)) >> axis & 1;
}

static bool of_queries(const struct by_chunks *p, int v)
{
    return p->queries >= 0 && (value_has_axis(&p->g->value[v], p->queries) || sums_over(&p->g->value[v], p->queries));
}

/* ---- the lanes of tiles ---- */

/* Returns the axis of the reader along which operand r has its lanes, or -1. */
static int lanes_of_operand(const struct by_chunks *p, const struct ref *r)
{
    const struct value *const v = &p->g->value[r->of];
    for (int k = 0; k < r->rank; k++)
        if (v->axes[k] == p->last[r->of]) return ref_axis(r, k);
    return -1;
}

/* Returns the axis of v that is best in the lanes, of those that an operand has in its lanes. Elements of rows are
   better than rows, because arrays of the caller have them in the lanes. Returns -1 if there is no such axis. */
static int lanes_of_operands(const struct by_chunks *p, const struct value *v)
{
    int found = -1;
    for (int k = 0; k < v->operands; k++) {
        const int axis = lanes_of_operand(p, &v->operand[k]);
        if (axis < 0 || !value_has_axis(v, axis)) continue;
        if (found < 0 || (is_sequence(p, found) && !is_sequence(p, axis))) found = axis;
    }
    return found;
}

/* Whether r reads elements of rows at other subscripts than those of the reader, as a rotation does. */
static bool reads_elsewhere(const struct by_chunks *p, const struct ref *r)
{
    bool elsewhere = false;
    for (int k = 0; k < r->rank; k++)
        elsewhere |= !is_sequence(p, p->g->value[r->of].axes[k]) && !lower_run_time(p->x, p->g->value[r->of].axes[k]) &&
                     ref_axis(r, k) < 0 && expr_axes(r->sub[k]);
    return elsewhere;
}

/* Whether only a tile with rows in the lanes can serve v or a reader of v. */
static bool needs_rows(const struct by_chunks *p, int v)
{
    bool needs = false;
    for (int k = 0; k < p->g->value[v].operands; k++) needs |= reads_elsewhere(p, &p->g->value[v].operand[k]);
    for (int u = v + 1; u < p->g->values && !needs; u++)
        for (int k = 0; k < p->g->value[u].operands; k++)
            needs |= p->g->value[u].operand[k].of == v && reads_elsewhere(p, &p->g->value[u].operand[k]);
    return needs;
}

/* Chooses the axis in the lanes of value v, so that few operands have to be transposed. */
static int choose_lanes(const struct by_chunks *p, int v)
{
    const struct value *const value = &p->g->value[v];
    int found = -1, axis = lower_decayed_elements(p->x, value);
    if (axis >= 0) return axis;
    for (int k = value->rank - 1; k >= 0 && p->x->by_elements && !is_state(p, v) && !is_merged_state(p, v); k--)
        if (axis_is_whole(&p->m->axis[value->axes[k]])) return value->axes[k];
    for (int k = 0; k < value->rank; k++)
        if (is_sequence(p, value->axes[k]) && !is_given(p, v) && needs_rows(p, v)) return value->axes[k];
    if (is_given(p, v) || value->op == GRAPH_SOLVE || is_state(p, v) || is_merged_state(p, v))
        return value->rank ? value->axes[value->rank - 1] : -1;
    if (value->op == GRAPH_MAP) { /* a computed operand of the same rank decides, otherwise rows are in the lanes */
        for (int k = 0; k < value->operands; k++) {
            const int of = value->operand[k].of, lanes = lanes_of_operand(p, &value->operand[k]);
            if (is_given(p, of) || lanes < 0 || !value_has_axis(value, lanes)) continue;
            if (p->g->value[of].rank == value->rank) return lanes;
        }
        for (int k = 0; k < value->rank; k++)
            if (is_sequence(p, value->axes[k])) axis = axis < 0 || value->axes[k] == p->keys ? value->axes[k] : axis;
        if (axis >= 0) return axis;
    }
    found = lanes_of_operands(p, value);
    if (found >= 0) return found;
    for (int k = 0; k < value->rank; k++) {
        const int own = value->axes[k];
        if (lower_run_time(p->x, own) && !is_sequence(p, own)) continue;
        if (axis < 0 || own == p->keys || (is_sequence(p, own) && axis != p->keys)) axis = own;
    }
    return axis;
}

/* Whether each operand of a product can be in the lanes as it is, so that both axes of the result are free to choose.
 */
static bool is_free_product(const struct by_chunks *p, const struct value *v)
{
    int free = 0;
    for (int k = 0; k < v->operands && v->op == GRAPH_CONTRACT; k++) {
        const int lanes = lanes_of_operand(p, &v->operand[k]);
        free += lanes >= 0 && value_has_axis(v, lanes);
    }
    return free == 2;
}

/* Whether both operands of a product have the summed axis in the lanes, so that one of them has to be transposed. */
static bool is_bound_product(const struct by_chunks *p, const struct value *v)
{
    int bound = 0;
    for (int k = 0; k < v->operands && v->op == GRAPH_CONTRACT; k++) {
        const int lanes = lanes_of_operand(p, &v->operand[k]);
        bound += lanes >= 0 && !value_has_axis(v, lanes);
    }
    return bound == 2 && v->rank > 1;
}

/* Counts the readers of v that need each axis in the lanes. Maps over the same axes have the lanes of v, so their
   readers count. */
static void count_votes(const struct by_chunks *p, int v, int *votes)
{
    for (int u = v + 1; u < p->g->values; u++) {
        const struct value *const user = &p->g->value[u];
        for (int k = 0; k < user->operands; k++) {
            const struct ref *const r = &user->operand[k];
            if (r->of != v) continue;
            if (user->op == GRAPH_MAP && user->rank == p->g->value[v].rank && p->last[u] == p->last[v])
                count_votes(p, u, votes);
            for (int n = 0; n < r->rank && user->op != GRAPH_MAP; n++)
                if (ref_axis(r, n) >= 0 && ref_axis(r, n) == p->last[u]) votes[p->g->value[v].axes[n]]++;
        }
    }
}

/* Puts `lanes` into the lanes of v and of maps over the same axes that have the lanes of v. */
static void set_lanes(struct by_chunks *p, int v, int lanes)
{
    const int before = p->last[v];
    p->last[v] = lanes;
    for (int u = v + 1; u < p->g->values; u++)
        for (int k = 0; k < p->g->value[u].operands; k++)
            if (p->g->value[u].operand[k].of == v && p->g->value[u].op == GRAPH_MAP &&
                p->g->value[u].rank == p->g->value[v].rank && p->last[u] == before)
                set_lanes(p, u, lanes);
}

/* Turns products of pairs whose operands both are bound, if their readers need another axis in the lanes. */
static void turn_bound_products(struct by_chunks *p)
{
    for (int v = 0; v < p->g->values && !p->x->by_elements; v++) {
        const struct value *const value = &p->g->value[v];
        int votes[MAX_AXES] = {0}, best = p->last[v];
        if (is_state(p, v) || graph_is_output(p->g, v) || best < 0 || !is_bound_product(p, value)) continue;
        count_votes(p, v, votes);
        for (int k = 0; k < value->rank; k++)
            if (is_sequence(p, value->axes[k]) && votes[value->axes[k]] > votes[best]) best = value->axes[k];
        if (best != p->last[v]) set_lanes(p, v, best);
    }
}

/* Whether computed operands of a map have different axes in the lanes, so that one of them has to be transposed. */
static bool is_mixed_map(const struct by_chunks *p, const struct value *v)
{
    int lanes = -1;
    bool mixed = false;
    for (int k = 0; k < v->operands && v->op == GRAPH_MAP; k++) {
        const int of = v->operand[k].of, own = lanes_of_operand(p, &v->operand[k]);
        if (is_given(p, of) || own < 0 || p->g->value[of].rank != v->rank || !value_has_axis(v, own)) continue;
        mixed |= lanes >= 0 && own != lanes;
        lanes = own;
    }
    return mixed;
}

/* Turns maps of given arrays, mixed maps, and free products, if more of their readers need another axis in the lanes.
 */
static void turn_lanes(struct by_chunks *p)
{
    for (int v = p->g->values - 1; v >= 0; v--) {
        const struct value *const value = &p->g->value[v];
        int votes[MAX_AXES] = {0}, best = p->last[v];
        bool turns = !p->x->by_elements && !is_state(p, v) && !graph_is_output(p->g, v) && !needs_rows(p, v) &&
                     (value->op == GRAPH_MAP || is_free_product(p, value));
        for (int k = 0; k < value->operands && value->op == GRAPH_MAP && !is_mixed_map(p, value); k++)
            turns &= is_given(p, value->operand[k].of) || p->g->value[value->operand[k].of].rank < value->rank;
        for (int u = v + 1; u < p->g->values && turns; u++)
            for (int k = 0; k < p->g->value[u].operands; k++) {
                const struct ref *const r = &p->g->value[u].operand[k];
                for (int n = 0; n < r->rank && r->of == v; n++)
                    if (ref_axis(r, n) >= 0 && ref_axis(r, n) == p->last[u]) votes[value->axes[n]]++;
            }
        const int own = value->op == GRAPH_MAP ? lanes_of_operands(p, value) : -1; /* needs no transposition */
        if (turns && own >= 0 && best >= 0 && votes[own] && votes[own] == votes[best]) best = own;
        for (int k = 0; k < value->rank && turns; k++)
            if (votes[value->axes[k]] > votes[best]) best = value->axes[k];
        if (turns && best >= 0) p->last[v] = best;
    }
}

/* ---- statements of values ---- */

/* Appends a list to another one. */
static void join(struct stmt ***at, struct stmt *list)
{
    **at = list;
    while (**at) *at = &(**at)->next;
}

/* Sets the roles of axes for the statements of value v. */
static void take_roles(struct by_chunks *p, int v)
{
    struct lowering *const x = p->x;
    const struct value *const value = &p->g->value[v];
    x->lane = is_sequence(p, p->last[v]) ? p->last[v] : -1;
    x->stream = -1;
    for (int k = 0; k < value->rank; k++)
        if (is_sequence(p, value->axes[k]) && value->axes[k] != x->lane) x->stream = value->axes[k];
    for (int a = 0; a < p->m->axes; a++)
        if (is_sequence(p, a) && sums_over(value, a)) x->stream = a;
    x->whole_chunk = x->stream != p->queries || !sums_over(value, x->stream);
}

/* Makes the system of a chunk's keys. */
static void lower_chunk_system(struct by_chunks *p, int v)
{
    struct lowering *const x = p->x;
    const struct value *const solve = &p->g->value[v];
    int along, rows;
    graph_solve_axes(p->m, solve, &along, &rows);
    x->solve = v;
    x->stream = along;
    x->lane = rows;
    int from_state = -1; /* without keys, the values contain the sum over other chunks */
    if (x->lowered[v].carried >= 0) from_state = lower_earlier(x, x->lowered[v].carried, rows);
    x->lowered[v].array = lower_system(x, lower_rest(x, rows, solve->axes[solve->rank - 1], from_state));
}

/* Makes the statements of value v at *at. Initial values of sums are set at *begin. */
static void lower_in_chunk(struct by_chunks *p, int v, struct stmt ***begin, struct stmt ***at)
{
    struct lowering *const x = p->x;
    struct stmt **before = lower_new_list(x), **inside = lower_new_list(x), **end = lower_new_list(x);
    x->before = before;
    x->inside = inside;
    x->end = end;
    take_roles(p, v);
    if (p->g->value[v].op == GRAPH_SOLVE)
        lower_chunk_system(p, v);
    else
        lower_value(x, v);
    join(begin, *before);
    join(at, *inside);
    join(at, *end);
    p->done[v] = true;
    if (!sums_over(&p->g->value[v], p->queries)) lower_copy_value(p->x, v, at);
}

/* Whether all operands of v are computed. Sums over queries of the current loop are not complete: `summing` marks them.
 */
static bool is_ready(const struct by_chunks *p, int v, const bool *summing)
{
    const struct value *const value = &p->g->value[v];
    if (!p->needed[v] || p->done[v] || is_given(p, v) || is_state(p, v) || is_merged_state(p, v)) return false;
    for (int k = 0; k < value->operands; k++) {
        const int of = value->operand[k].of;
        if (is_given(p, of) || is_state(p, of) || is_merged_state(p, of)) continue;
        if (!p->done[of] || summing[of]) return false;
    }
    return true;
}

/* Marks values of queries that v needs as not computed, because an earlier loop over queries has computed them. */
static void compute_again(struct by_chunks *p, int v)
{
    const struct value *const value = &p->g->value[v];
    for (int k = 0; k < value->operands; k++) {
        const int of = value->operand[k].of;
        if (is_given(p, of) || is_state(p, of) || !value_has_axis(&p->g->value[of], p->queries)) continue;
        p->done[of] = false;
        compute_again(p, of);
    }
}

/* Returns the number of the current chunk. */
static const struct expr *own_chunk(const struct by_chunks *p)
{
    const struct expr *const length = expr_int(p->m, p->m->axis[p->x->chunk].extent);
    return expr_div(p->m, expr_lo(p->m, p->keys), length);
}

/* Makes the loop over the tiles of a chunk's queries. */
static struct stmt *query_loop(struct by_chunks *p)
{
    struct lowering *const x = p->x;
    const struct expr *from, *to;
    lower_chunk_range(x, p->queries, x->last, &from, &to);
    const struct expr *const chunk = expr_lo(p->m, x->chunk), *const number = own_chunk(p);
    from = expr_replace(p->m, from, chunk, number);
    to = expr_replace(p->m, to, chunk, number);
    return lower_loop_over(x, p->at, p->queries, from, to, x->c->tiling.tile_q);
}

/* ---- states ---- */

/* Makes the statements that carry a state to the next chunk. */
static void keep_state(struct by_chunks *p, const struct value *v, int array)
{
    struct stmt **const begin = *p->at;
    lower_keep_state(p->x, v, array, p->at);
    lower_name_chunk(p->x, *begin, p->keys, p->direction < 0 ? -1 : 0);
}

/* Adds the product of features and vectors, both with an axis `along` of rows, to a state at *at. */
static void add_to_state(struct by_chunks *p, const struct value *v, int array, const struct ref *features,
                         const struct ref *vectors, int along, struct stmt ***at)
{
    struct lowering *const x = p->x;
    const int *const axes = x->l->array[array].axes;
    if (v->op == GRAPH_REDUCE) {
        const int nest[2] = {axes[0], along};
        struct stmt *const s = lower_assign(x, at, 2, nest, array, FOLD_SUM, expr_operand(x->m, 0));
        s->operand[s->operands++] = lower_ref(x, features);
        return;
    }
    const bool swapped = !ref_uses_axis(features, axes[0]);
    const struct ref shown = lower_if_shown(x, features, lower_ref(x, vectors), along, axes[!swapped], at),
                     lanes = lower_turned(x, at, swapped ? lower_ref(x, features) : shown, along, axes[1]);
    lower_product(x, at, axes, along, swapped ? shown : lower_ref(x, features), lanes, array, FOLD_SUM);
}

/* Returns the sequence that a state sums over. */
static int summed_sequence(const struct by_chunks *p, const struct value *v)
{
    for (int a = 0; a < p->m->axes; a++)
        if (is_sequence(p, a) && sums_over(v, a)) return a;
    return -1;
}

/* Whether values of this chunk that are not computed yet read the tile of state v. */
static bool is_read_later(const struct by_chunks *p, int v)
{
    const int array = p->x->lowered[v].array;
    bool later = false;
    for (int u = 0; u < p->g->values && !later; u++) {
        if (!p->needed[u] || p->done[u] || is_state(p, u) || is_merged_state(p, u)) continue;
        for (int k = 0; k < p->g->value[u].operands; k++) {
            const int of = p->g->value[u].operand[k].of;
            later |= (is_state(p, of) || is_merged_state(p, of)) && p->x->lowered[of].array == array;
        }
    }
    return later;
}

/* Carries states that sum over queries to the next chunk, if all values that read them are computed. Then the next loop
   over queries can add to them. */
static void carry_read_states(struct by_chunks *p)
{
    for (int v = 0; v < p->g->values; v++) {
        const struct value *const value = &p->g->value[v];
        if (!is_state(p, v) || p->kept[v] || !sums_over(value, p->queries) || is_read_later(p, v)) continue;
        keep_state(p, value, p->x->lowered[v].array);
        p->kept[v] = true;
    }
}

/* Adds rows of features and vectors to state v at *at. */
static void add_rows(struct by_chunks *p, int v, struct stmt ***at)
{
    const struct value *const value = &p->g->value[v];
    add_to_state(p, value, p->x->lowered[v].array, &value->operand[0], &value->operand[graph_summed(value) - 1],
                 summed_sequence(p, value), at);
}

/* Whether a loop over queries can add to state v: the state is carried, and the rows are computed. */
static bool can_add(const struct by_chunks *p, int v, const bool *summing)
{
    const struct value *const value = &p->g->value[v];
    bool can = p->kept[v] && !p->added[v] && sums_over(value, p->queries);
    for (int k = 0; k < graph_summed(value) && can; k++) {
        const int of = value->operand[k].of;
        can = is_given(p, of) || (p->done[of] && !summing[of]);
    }
    return can;
}

/* ---- values, as operands become ready ---- */

/* Makes a loop over queries with all values of queries that can be computed. Returns false if there are none. */
static bool lower_queries(struct by_chunks *p, bool *summing)
{
    struct lowering *const x = p->x;
    struct stmt **body = lower_new_list(x), **const first = body;
    bool any = false;
    memset(summing, 0, (size_t)p->g->values * sizeof *summing);
    for (int v = 0; v < p->g->values; v++)
        if (of_queries(p, v) && p->needed[v] && !p->done[v] && !is_state(p, v)) compute_again(p, v);
    carry_read_states(p);
    for (int v = 0; v < p->g->values; v++) {
        if (is_state(p, v) && can_add(p, v, summing)) {
            add_rows(p, v, &body);
            p->added[v] = any = true;
        }
        if (!of_queries(p, v) || !is_ready(p, v, summing)) continue;
        summing[v] = sums_over(&p->g->value[v], p->queries);
        lower_in_chunk(p, v, summing[v] ? p->at : &body, &body);
        any = true;
    }
    if (any) query_loop(p)->body = *first;
    for (int v = 0; v < p->g->values && any; v++)
        if (summing[v]) lower_copy_value(p->x, v, p->at);
    memset(summing, 0, (size_t)p->g->values * sizeof *summing);
    return any;
}

/* Makes the statements of all values, as operands become ready. */
static void lower_all(struct by_chunks *p)
{
    bool *const summing = arena_alloc(p->m->arena, (size_t)p->g->values * sizeof *summing), more = true;
    while (more) {
        more = false;
        for (int v = 0; v < p->g->values; v++) {
            if (of_queries(p, v) || !is_ready(p, v, summing)) continue;
            lower_in_chunk(p, v, p->at, p->at);
            more = true;
        }
        more |= p->queries >= 0 && lower_queries(p, summing);
    }
}

/* ---- the end of a chunk ---- */

/* Adds the chunk to all states that sum over queries, or to all others. */
static void add_chunk(struct by_chunks *p, bool queries)
{
    struct stmt **body = lower_new_list(p->x), **const first = body;
    bool *const none = arena_alloc(p->m->arena, (size_t)p->g->values * sizeof *none);
    bool any = false;
    for (int v = 0; v < p->g->values; v++) {
        const struct value *const value = &p->g->value[v];
        if (!is_state(p, v) || p->added[v] || (summed_sequence(p, value) == p->queries) != queries) continue;
        if (queries) compute_again(p, v);
        for (int u = 0; u < v && queries; u++)
            if (of_queries(p, u) && is_ready(p, u, none)) lower_in_chunk(p, u, &body, &body);
        add_rows(p, v, queries ? &body : p->at);
        any = true;
    }
    if (queries && any) query_loop(p)->body = *first;
}

/* Whether the sum over earlier keys that solve v needs is a state of the graph. It sums the solution, so it comes after
   v. */
static bool reads_later_state(const struct value *v)
{
    return v->op == GRAPH_SOLVE && v->operands == SOLVE_KEYS;
}

/* Lets states share the tile of their sum. The values of a SOLVE whose state has a share read the tile. */
static void share_tiles(struct by_chunks *p)
{
    struct lowered_value *const lowered = p->x->lowered;
    for (int v = 0; v < p->g->values; v++) {
        const struct value *const value = &p->g->value[v];
        if (!is_merged_state(p, v)) continue;
        lowered[v].array = lowered[value->operand[1].of].array = lowered[value->operand[0].of].array;
    }
    for (int v = 0; v < p->g->values; v++) {
        const struct value *const state = &p->g->value[v];
        for (int k = 0; k < state->operands && is_state(p, v) && !p->kept[v] && state->op == GRAPH_CONTRACT; k++)
            if (reads_later_state(&p->g->value[state->operand[k].of]))
                lowered[state->operand[k].of].carried = lowered[v].array;
    }
}

/* Makes the tiles of states. They are 0 before the first chunk. */
static void begin_states(struct by_chunks *p, struct stmt ***at)
{
    struct lowering *const x = p->x;
    for (int v = 0; v < p->g->values; v++) {
        const struct value *const value = &p->g->value[v];
        int axes[MAX_RANK], rank = 0;
        if (value->op == GRAPH_SOLVE) x->lowered[v].carried = -1;
        if (value->op == GRAPH_SOLVE && value->operands > SOLVE_KEYS) {
            const struct ref *const keys = &value->operand[SOLVE_KEYS];
            axes[rank++] = ref_axis(keys, keys->rank - 1);
            axes[rank++] = value->axes[value->rank - 1];
        } else if (is_state(p, v)) {
            for (int k = 0; k < value->rank; k++)
                if (!lower_run_time(x, value->axes[k])) axes[rank++] = value->axes[k];
        } else
            continue;
        if (p->kept[v]) continue;
        const int array = lower_new_tile(x, "state", rank, axes);
        *(is_state(p, v) ? &x->lowered[v].array : &x->lowered[v].carried) = array;
        x->l->array[array].carried = true;
        lower_set_constant(x, at, array, 0);
    }
}

static void update_states(struct by_chunks *p)
{
    for (int v = 0; v < p->g->values; v++) {
        const struct value *const value = &p->g->value[v];
        if (is_state(p, v) && !p->kept[v]) keep_state(p, value, p->x->lowered[v].array);
        if (value->op == GRAPH_SOLVE && value->operands > SOLVE_KEYS) keep_state(p, value, p->x->lowered[v].carried);
    }
    add_chunk(p, true);
    add_chunk(p, false);
    for (int v = 0; v < p->g->values; v++) {
        const struct value *const value = &p->g->value[v];
        int along, rows;
        if (value->op != GRAPH_SOLVE || value->operands <= SOLVE_KEYS) continue;
        graph_solve_axes(p->m, value, &along, &rows);
        const struct ref solution = graph_ref(p->g, v, NULL);
        add_to_state(p, value, p->x->lowered[v].carried, &value->operand[SOLVE_KEYS], &solution, along, p->at);
    }
}

/* ---- the loops ---- */

/* Marks v and the values of a chunk that it needs. */
static void mark(struct by_chunks *p, int v)
{
    if (p->needed[v]) return;
    p->needed[v] = true;
    for (int k = 0; k < p->g->value[v].operands; k++) mark(p, p->g->value[v].operand[k].of);
}

/* Notes how the queries name their chunk, if `number` is such a formula. */
static void find_chunk_of_queries(struct by_chunks *p, const struct expr *number)
{
    struct lowering *const x = p->x;
    if (p->queries < 0 || x->last || !number || !(expr_axes(number) >> p->queries & 1)) return;
    x->chunk_of = number;
    x->last = expr_of_sequence(p->m, (number->op == EXPR_DIV ? number->arg[0] : number)->arg[0]);
}

/* Finds the axes of keys and queries, states, and inlined maps. */
static void classify(struct by_chunks *p)
{
    struct lowering *const x = p->x;
    int *const users = arena_alloc(p->m->arena, (size_t)p->g->values * sizeof *users);
    for (int v = 0; v < p->g->values; v++) {
        const struct value *const value = &p->g->value[v];
        for (int k = 0; k < value->operands; k++) users[value->operand[k].of]++;
        for (int k = 0; k < value->rank; k++) {
            const int axis = value->axes[k];
            if (p->m->axis[axis].source == SIZE_N_Q) p->queries = axis;
            if (p->keys < 0 && p->m->axis[axis].source == SIZE_N_K && value->op == GRAPH_INPUT) p->keys = axis;
        }
    }
    for (int v = 0; v < p->g->values; v++) {
        const struct value *const value = &p->g->value[v];
        const bool sums = value->op == GRAPH_CONTRACT || value->op == GRAPH_REDUCE;
        x->lowered[v].stage = sums && value_has_axis(value, x->chunk) ? STATE : INSIDE;
        if (is_state(p, v)) find_chunk_of_queries(p, value->where->arg[1]);
        for (int k = 0; k < value->operands; k++)
            for (int n = 0; n < value->operand[k].rank; n++)
                if (p->g->value[value->operand[k].of].axes[n] == x->chunk &&
                    (is_state(p, value->operand[k].of) || is_merged_state(p, value->operand[k].of)))
                    find_chunk_of_queries(p, value->operand[k].sub[n]);
        const bool whole = !value->where || lower_decayed_elements(x, value) >= 0;
        const int of = value->op == GRAPH_REDUCE && whole ? value->operand[0].of : -1;
        if (of >= 0 && !is_state(p, v) && p->g->value[of].op == GRAPH_MAP && users[of] == 1)
            x->lowered[of].inlined = true;
    }
    for (int v = 0; v < p->g->values; v++) p->last[v] = choose_lanes(p, v);
    turn_lanes(p);
    turn_bound_products(p);
    for (int o = 0; o < p->g->outputs; o++) mark(p, p->g->output[o].value);
}

/* Replaces the chunk of each row, such as max(j, 0) / length, by the chunk of the loop. */
static void name_chunk_of_rows(struct by_chunks *p, struct stmt *s)
{
    const struct expr *const length = expr_int(p->m, p->m->axis[p->x->chunk].extent), *const number = own_chunk(p);
    for (int a = 0; a < p->m->axes; a++) {
        if (p->m->axis[a].source != SIZE_N_K || !is_sequence(p, a)) continue;
        const struct expr *const row = expr_max(p->m, expr_index(p->m, a), expr_int(p->m, 0));
        lower_replace(p->x, s, expr_div(p->m, row, length), number);
    }
    if (p->x->chunk_of) lower_replace(p->x, s, p->x->chunk_of, number);
}

/* Makes the loops over batches and heads, and over chunks. Sets p->at. */
static struct stmt *open_loops(struct by_chunks *p, struct stmt ***at)
{
    struct lowering *const x = p->x;
    const struct expr *const zero = expr_int(p->m, 0), *const length = expr_int(p->m, p->m->axis[x->chunk].extent);
    uint32_t used = 0; /* without axes of arrays that are only read at computed subscripts */
    for (int v = 0; v < p->g->values; v++)
        if (p->g->value[v].op != GRAPH_INPUT && p->g->value[v].op != GRAPH_PARAM)
            used |= (value_operand_axes(&p->g->value[v]) | value_axes(&p->g->value[v]));
    for (int a = 0; a < p->m->axes; a++) {
        if (!(used >> a & 1) || !lower_run_time(x, a) || is_sequence(p, a) || a == x->chunk) continue;
        struct stmt *const loop = lower_loop_over(x, at, a, zero, expr_size(p->m, a), 1);
        loop->parallel = p->m->axis[a].source != SIZE_MEMBERS; /* states have no axis of members */
        x->outer |= AXIS(a);
        *at = &loop->body;
    }
    for (int v = 0; v < p->g->values; v++) /* states that share the tile of another state */
        if (is_merged_state(p, v)) p->kept[p->g->value[v].operand[1].of] = true;
    begin_states(p, at);
    share_tiles(p);
    struct stmt *loop = lower_loop_over(x, at, x->chunk, zero, expr_size(p->m, x->chunk), 1);
    struct lowering in_order = *x;
    in_order.after = p->direction < 0;
    const struct expr *const number = lower_chunk_number(&in_order, expr_lo(p->m, x->chunk)),
                             *const from = expr_mul(p->m, number, length), *const to = expr_add(p->m, from, length);
    struct stmt **body = &loop->body;
    loop = lower_loop_over(x, &body, p->keys, from, expr_min(p->m, to, expr_size(p->m, p->keys)),
                           p->m->axis[x->chunk].extent);
    for (int a = 0; a < p->m->axes; a++) {
        if (!(used >> a & 1) || a == p->keys || a == p->queries || !is_sequence(p, a)) continue;
        body = &loop->body;
        loop = lower_loop_over(x, &body, a, expr_lo(p->m, p->keys), expr_hi(p->m, p->keys),
                               p->m->axis[x->chunk].extent);
    }
    return loop;
}

void lower_by_chunks(struct lowering *x, struct stmt **at)
{
    const size_t values = (size_t)x->g->values;
    struct arena *const arena = x->m->arena;
    bool *const bools = arena_alloc(arena, 4 * values * sizeof *bools);
    struct by_chunks chunks = {.x = x,
                               .g = x->g,
                               .m = x->m,
                               .direction = chunk_direction(x->g, 0),
                               .keys = -1,
                               .queries = -1,
                               .last = arena_alloc(arena, values * sizeof *chunks.last),
                               .needed = bools,
                               .done = bools + values,
                               .kept = bools + 2 * values,
                               .added = bools + 3 * values},
                     *p = &chunks;
    x->needed = p->needed;
    x->last_axis = p->last;
    for (int a = 0; a < x->m->axes; a++)
        if (axis_is_chunks(&x->m->axis[a])) x->chunk = a;
    classify(p);
    struct stmt *const loop = open_loops(p, &at);
    struct stmt **body = &loop->body;
    p->at = &body;
    lower_all(p);
    update_states(p);
    name_chunk_of_rows(p, loop->body);
    lower_name_chunk(x, loop->body, p->keys, p->direction);
    if (x->by_elements) lower_chunk_sums(x, loop, p->keys, p->queries);
}
