/* Makes loops by chunks, and loops of states, compute the prefix sums of a decay themselves. Each chunk sums its terms
   from its first key on, into tiles, so that nothing reads the arrays of prefix sums (pass/prefix_sums.c).
   - Only differences of sums are used, so the sum before the chunk can be 0.
   - A second tile has what the first one loses by rounding.
   - A query takes the sum at its position, which must be its last key. A query at no key of the chunk sees no key of
     it, or all of them. It takes the sum at the nearest key. */
#include "lower.h"
#include "../../analysis/analysis.h"

#include <string.h>

struct chunk_sums {
    struct lowering *x;
    struct module *m;
    int keys, queries;
    int elements, position;   /* the axes of the terms */
    int sum, low;             /* the tiles */
    const struct expr *start; /* the chunk's first key */
    const struct expr *next;  /* the next chunk's first key, if the chunk has a number */
    bool slots;               /* the tiles are slots with the sums of whole chunks */
};

/* Returns the terms of the prefix sums, if they only read real arrays. Otherwise returns NULL. */
static const struct value *find_terms(const struct lowering *x)
{
    const struct graph *const source = x->c->sums;
    const struct value *found = NULL;
    struct prefix_sum sum;
    for (int v = 0; source && v < source->values; v++) {
        if (!prefix_sum_of(source, v, &sum)) continue;
        const struct value *const terms = &source->value[sum.terms];
        if (found && found != terms) return NULL;
        found = terms;
    }
    for (int k = 0; found && k < found->operands; k++) {
        const struct value *const of = &source->value[found->operand[k].of];
        if (of->op != GRAPH_PARAM || of->integers || of->rank == 0) return NULL;
    }
    return found;
}

static enum prefix_array prefix_of(const struct chunk_sums *p, const struct ref *r)
{
    const struct array *const a = &p->x->l->array[r->of];
    return a->kind == ARRAY_PARAM ? prefix_array_find(a->name) : PREFIX_ARRAYS;
}

/* Whether r, a row of prefix sums, is at the last key before the chunk. */
static bool is_before(const struct chunk_sums *p, const struct ref *r)
{
    const struct expr *at = r->sub[r->rank - 2];
    int64_t from_first;
    while (at->op == EXPR_MAX || at->op == EXPR_MIN) at = at->arg[0];
    return known_difference(p->m, at, p->start, &from_first) && from_first == -1;
}

/* Returns the row of the tiles for r, a row of prefix sums at or after the chunk's first key. */
static const struct expr *row_of(const struct chunk_sums *p, const struct ref *r, enum prefix_array array)
{
    const struct expr *const last = expr_sub(p->m, expr_hi(p->m, p->keys), expr_int(p->m, 1));
    if (array == PREFIX_OF_KEY || array == PREFIX_OF_KEY_LOW) return r->sub[r->rank - 2];
    if (array == PREFIX_OF_CHUNK || array == PREFIX_OF_CHUNK_LOW) return last;
    const struct expr *const at = expr_query_position(p->m, p->queries, p->keys);
    return expr_max(p->m, expr_lo(p->m, p->keys), expr_min(p->m, at, last));
}

/* Makes statement s read the tiles. A sum before the chunk is 0. */
static void read_tiles(const struct chunk_sums *p, struct stmt *s)
{
    const struct expr *with[MAX_OPERANDS];
    int kept = 0;
    for (int k = 0; k < s->operands; k++) {
        struct ref r = s->operand[k];
        const enum prefix_array array = prefix_of(p, &r);
        if (array != PREFIX_ARRAYS && is_before(p, &r)) {
            with[k] = expr_real(p->m, 0);
            continue;
        }
        if (array != PREFIX_ARRAYS) {
            const bool low = array == PREFIX_OF_KEY_LOW || array == PREFIX_OF_CHUNK_LOW || array == PREFIX_OF_QUERY_LOW;
            struct ref tile = loops_ref(p->x->l, low ? p->low : p->sum);
            tile.sub[0] = p->slots ? expr_index(p->m, p->x->chunk) : row_of(p, &r, array);
            tile.sub[1] = r.sub[r.rank - 1];
            r = tile;
        }
        with[k] = expr_operand(p->m, kept);
        s->operand[kept++] = r;
    }
    if (kept == s->operands && s->op != LOOPS_MAP) return;
    s->operands = kept;
    for (int k = 0; k < s->assigns; k++)
        if (s->assign[k].expr) s->assign[k].expr = expr_bind(p->m, s->assign[k].expr, with);
}

static void read_all_tiles(const struct chunk_sums *p, struct stmt *s)
{
    for (; s; s = s->next) {
        read_tiles(p, s);
        read_all_tiles(p, s->body);
    }
}

/* Returns the reference to a tile at the current row, if the tile has rows. */
static struct ref current(const struct chunk_sums *p, int tile)
{
    struct ref r = loops_ref(p->x->l, tile);
    if (r.rank == 2) r.sub[0] = expr_lo(p->m, p->position);
    return r;
}

/* Appends a map over elements that sets a tile to e. The operands of e are `operands` tiles. */
static void set(const struct chunk_sums *p, struct stmt ***at, int tile, const struct expr *e, int operands,
                const int *operand)
{
    struct stmt *const s = lower_assign(p->x, at, 1, &p->elements, tile, FOLD_SET, e);
    s->assign[0].to = current(p, tile);
    s->operands = operands;
    for (int k = 0; k < operands; k++) s->operand[k] = current(p, operand[k]);
}

/* Makes the sums of the chunk's terms, which are in the tile `terms`. */
static void make_sums(const struct chunk_sums *p, int terms, struct stmt ***at)
{
    struct lowering *const x = p->x;
    const struct expr *operand[4];
    for (int k = 0; k < 4; k++) operand[k] = expr_operand(p->m, k);
    const int all = lower_new_tile(x, "log_decay_total", 1, &p->elements),
              rest = lower_new_tile(x, "log_decay_rest", 1, &p->elements),
              next = lower_new_tile(x, "log_decay_next", 1, &p->elements);
    lower_set_constant(x, at, all, 0);
    lower_set_constant(x, at, rest, 0);
    struct stmt **body = &lower_loop_over(x, at, p->position, expr_lo(p->m, p->keys), expr_hi(p->m, p->keys), 1)->body;
    set(p, &body, next, expr_add(p->m, operand[0], operand[1]), 2, (const int[]){all, terms});
    /* all + term = next + error */
    const struct expr *const added = expr_sub(p->m, operand[2], operand[0]),
                             *const error = expr_add(p->m,
                                                     expr_sub(p->m, operand[0], expr_sub(p->m, operand[2], added)),
                                                     expr_sub(p->m, operand[1], added));
    set(p, &body, rest, expr_add(p->m, operand[3], error), 4, (const int[]){all, terms, next, rest});
    set(p, &body, all, operand[0], 1, &next);
    set(p, &body, p->sum, operand[0], 1, &next);
    set(p, &body, p->low, operand[0], 1, &rest);
}

/* Whether the last key of a query is at its position, so that it is in the chunk. */
static bool ends_at_position(const struct chunk_sums *p)
{
    return p->queries >= 0 && p->x->last == expr_of_sequence(p->m, expr_query_position(p->m, p->queries, p->keys));
}

/* Returns the array of a parameter. */
static int array_of(const struct lowering *x, const struct value *v)
{
    for (int k = 0; k < x->l->arrays; k++)
        if (x->l->array[k].kind == ARRAY_PARAM && strcmp(x->l->array[k].name, v->name) == 0) return k;
    struct array a = {.kind = ARRAY_PARAM,
                      .name = v->name,
                      .dtype = v->stored ? v->stored : dtype_of_sums(x->m->dtype),
                      .rank = v->rank,
                      .by_name = v->by_name,
                      .hides = v->hides,
                      .offset = -1};
    memcpy(a.axes, v->axes, sizeof a.axes);
    return loops_array(x->l, a);
}

/* Replaces the index of members by 0, as the sums of keys have it. With a SOLVE, each key/value head has one member. */
static const struct expr *of_first_member(const struct chunk_sums *p, const struct expr *e)
{
    for (int a = 0; a < p->m->axes && p->x->solve >= 0; a++)
        if (p->m->axis[a].source == SIZE_MEMBERS) e = expr_replace(p->m, e, expr_index(p->m, a), expr_int(p->m, 0));
    return e;
}

/* Finds the axes of the terms. */
static void find_axes(struct chunk_sums *p, const struct value *terms)
{
    p->elements = p->position = -1;
    for (int k = 0; terms && k < terms->rank; k++) {
        const int axis = terms->axes[k];
        if (axis_is_whole(&p->m->axis[axis])) p->elements = axis;
        if (axis_is_sequence(&p->m->axis[axis])) p->position = axis;
    }
}

/* Makes *list read the tiles. Puts statements that compute them before it. */
static void sum_before(struct chunk_sums *p, const struct value *terms, struct stmt **list)
{
    struct lowering *const x = p->x;
    const int axes[2] = {p->keys, p->elements}, of_terms = lower_new_tile(x, "log_decay", 2, axes);
    p->sum = lower_new_tile(x, "log_decay_sum", 2, axes);
    p->low = lower_new_tile(x, "log_decay_sum_low", 2, axes);
    read_all_tiles(p, *list);

    struct stmt **const made = lower_new_list(x), **at = made;
    struct stmt *const s = lower_assign(x, &at, 2, axes, of_terms, FOLD_SET, terms->expr);
    const int from[2] = {p->position, terms->axes[terms->rank - 1]};
    s->operands = terms->operands;
    for (int k = 0; k < terms->operands; k++) {
        s->operand[k] = terms->operand[k];
        s->operand[k].of = array_of(x, &x->c->sums->value[terms->operand[k].of]);
    }
    for (int a = 0; a < 2; a++) {
        const struct expr *const old = expr_index(p->m, from[a]), *const own = expr_index(p->m, axes[a]);
        for (int k = 0; k < s->operands; k++)
            for (int n = 0; n < s->operand[k].rank; n++)
                s->operand[k].sub[n] = of_first_member(p, expr_replace(p->m, s->operand[k].sub[n], old, own));
        s->assign[0].expr = of_first_member(p, expr_replace(p->m, s->assign[0].expr, old, own));
    }
    make_sums(p, of_terms, &at);
    *at = *list;
    *list = *made;
}

void lower_chunk_sums(struct lowering *x, struct stmt *loop, int keys, int queries)
{
    struct chunk_sums sums = {.x = x, .m = x->m, .keys = keys, .queries = queries, .start = expr_lo(x->m, keys)},
                      *const p = &sums;
    const struct value *const terms = find_terms(x);
    find_axes(p, terms);
    if (p->elements >= 0 && p->position >= 0 && ends_at_position(p)) sum_before(p, terms, &loop->body);
}

/* Whether e is the index of an element. */
static bool is_element(const struct chunk_sums *p, const struct expr *e)
{
    const struct axis *const axis = e->op == EXPR_INDEX ? &p->m->axis[e->integer] : NULL;
    return axis && axis_is_whole(axis) && axis->extent == p->m->axis[p->elements].extent;
}

/* Whether the tiles have the row r of prefix sums, which s reads. */
static bool has_row(const struct chunk_sums *p, const struct stmt *s, const struct ref *r)
{
    const enum prefix_array array = prefix_of(p, r);
    const struct expr *at = r->rank > 1 ? r->sub[r->rank - 2] : NULL;
    int64_t from_first;
    if (array == PREFIX_ARRAYS) return true;
    if (!at || !is_element(p, r->sub[r->rank - 1]) || (s->op != LOOPS_MAP && s->op != LOOPS_DOT)) return false;
    if (array == PREFIX_OF_QUERY || array == PREFIX_OF_QUERY_LOW)
        return at == expr_index(p->m, p->queries) && ends_at_position(p);
    if (array == PREFIX_OF_KEY || array == PREFIX_OF_KEY_LOW) return at == expr_index(p->m, p->keys);
    while (at->op == EXPR_MAX || at->op == EXPR_MIN) at = at->arg[0];
    return (known_difference(p->m, at, p->start, &from_first) || known_difference(p->m, at, p->next, &from_first)) &&
           from_first == -1;
}

/* Whether the tiles have all rows that statements read. */
static bool have_rows(const struct chunk_sums *p, const struct stmt *s)
{
    bool all = true;
    for (; s && all; s = s->next) {
        for (int k = 0; k < s->operands && all; k++) all = has_row(p, s, &s->operand[k]);
        all = all && have_rows(p, s->body);
    }
    return all;
}

/* Finds the sums of the current chunk of states. Returns their terms, or NULL if they read other values than real
   arrays. */
static const struct value *find_sums(struct chunk_sums *p, struct lowering *x)
{
    const struct expr *const chunk = expr_index(x->m, x->chunk), *const next = expr_add(x->m, chunk, expr_int(x->m, 1)),
                             *const length = expr_int(x->m, x->m->axis[x->chunk].extent);
    *p = (struct chunk_sums){.x = x,
                             .m = x->m,
                             .keys = x->stream,
                             .queries = x->lane,
                             .start = expr_mul(x->m, chunk, length),
                             .next = expr_mul(x->m, next, length)};
    const struct value *const terms = find_terms(x);
    find_axes(p, terms);
    return p->elements < 0 || p->position < 0 ? NULL : terms;
}

/* Makes the slots of a whole chunk's sums, at the end of a list. `low`: of what they lose by rounding. */
static int leave_sum(const struct chunk_sums *p, struct stmt ***at, bool low)
{
    struct lowering *const x = p->x;
    const int axes[2] = {x->chunk, p->elements},
              slot = lower_new_tile(x, low ? "state_decay_low" : "state_decay", 2, axes);
    struct stmt *const s = lower_assign(x, at, 1, &p->elements, slot, FOLD_SET, expr_operand(p->m, 0));
    s->assign[0].to.sub[0] = expr_index(p->m, x->chunk);
    s->operand[s->operands++] = loops_ref(x->l, low ? p->low : p->sum);
    s->operand[0].sub[0] = expr_sub(p->m, expr_hi(p->m, p->keys), expr_int(p->m, 1));
    return slot;
}

void lower_sums_of_states(struct lowering *x, struct stmt *keys, struct stmt *fold)
{
    struct chunk_sums sums, *const p = &sums;
    const struct value *const terms = find_sums(p, x);
    if (!terms || !have_rows(p, keys->body) || !have_rows(p, fold)) return;
    sum_before(p, terms, &keys->body);
    struct stmt **end = &keys->body;
    while (*end) end = &(*end)->next;
    const int sum = leave_sum(p, &end, false), low = leave_sum(p, &end, true);
    p->sum = sum;
    p->low = low;
    p->slots = true;
    read_all_tiles(p, fold);
}

/* Appends statements that set the outputs that *s and later statements copy to 0, and copy them. */
static void copy_zeros(struct lowering *x, const struct stmt *s, struct stmt ***at)
{
    for (; s; s = s->next) {
        copy_zeros(x, s->body, at);
        if (s->op != LOOPS_COPY || x->l->array[s->assign[0].to.of].kind != ARRAY_OUTPUT) continue;
        lower_set_constant(x, at, s->operand[0].of, 0);
        lower_copy(x, at, s->rank, s->axes, s->operand[0], s->assign[0].to.of);
    }
}

/* Returns a statement that sets all rows to 0 if there are no keys, because a loop over keys from `first` then does
   not. Sizes of axes are folded as if they were at least 1, so it compares with `first`. */
static struct stmt *without_keys(struct lowering *x, const struct expr *first, const struct stmt *body)
{
    struct stmt *const empty = stmt_new(x->l, LOOPS_IF), **at = &empty->body;
    empty->axis = x->lane;
    empty->where = expr_le(x->m, expr_size(x->m, x->stream), first);
    at = &lower_loop_over(x, &at, x->lane, expr_int(x->m, 0), expr_size(x->m, x->lane), x->c->tiling.tile_q)->body;
    copy_zeros(x, body, &at);
    return empty;
}

struct stmt *lower_over_chunk(struct lowering *x, struct stmt *body)
{
    struct chunk_sums sums, *const p = &sums;
    const struct value *const terms = find_sums(p, x);
    const int64_t length = x->m->axis[x->chunk].extent;
    const struct expr *const from = expr_mul(x->m, expr_lo(x->m, x->chunk), expr_int(x->m, length)),
                             *const end = expr_add(x->m, from, expr_int(x->m, length));
    struct stmt **at = lower_new_list(x);
    struct stmt *const loop = lower_loop_over(x, &at, x->stream, from, expr_min(x->m, expr_size(x->m, x->stream), end),
                                              length);
    loop->body = body;
    if (terms && have_rows(p, body)) sum_before(p, terms, &loop->body);
    struct stmt *const empty = without_keys(x, from, body);
    empty->next = loop;
    return empty;
}
