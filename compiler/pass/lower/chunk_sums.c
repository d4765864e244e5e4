/* Makes loops by chunks compute the prefix sums of a decay themselves. Each chunk sums its terms from its first key on,
   into tiles, so that nothing reads the arrays of prefix sums (pass/prefix_sums.c).
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
    int elements, position; /* the axes of the terms */
    int sum, low;           /* the tiles */
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
    return known_difference(p->m, at, expr_leaf(p->m, EXPR_LO, p->keys), &from_first) && from_first == -1;
}

/* Returns the row of the tiles for r, a row of prefix sums at or after the chunk's first key. */
static const struct expr *row_of(const struct chunk_sums *p, const struct ref *r, enum prefix_array array)
{
    const struct expr *const last = expr_make(p->m, EXPR_SUB, expr_leaf(p->m, EXPR_HI, p->keys), expr_int(p->m, 1),
                                              NULL);
    if (array == PREFIX_OF_KEY || array == PREFIX_OF_KEY_LOW) return r->sub[r->rank - 2];
    if (array == PREFIX_OF_CHUNK || array == PREFIX_OF_CHUNK_LOW) return last;
    const struct expr *const at = expr_query_position(p->m, p->queries, p->keys);
    return expr_make(p->m, EXPR_MAX, expr_leaf(p->m, EXPR_LO, p->keys), expr_make(p->m, EXPR_MIN, at, last, NULL),
                     NULL);
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
            tile.sub[0] = row_of(p, &r, array);
            tile.sub[1] = r.sub[r.rank - 1];
            r = tile;
        }
        with[k] = expr_leaf(p->m, EXPR_OPERAND, kept);
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

static const struct expr *binary(const struct chunk_sums *p, enum expr_op op, const struct expr *a,
                                 const struct expr *b)
{
    return expr_make(p->m, op, a, b, NULL);
}

/* Returns the reference to a tile at the current row, if the tile has rows. */
static struct ref current(const struct chunk_sums *p, int tile)
{
    struct ref r = loops_ref(p->x->l, tile);
    if (r.rank == 2) r.sub[0] = expr_leaf(p->m, EXPR_LO, p->position);
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
    for (int k = 0; k < 4; k++) operand[k] = expr_leaf(p->m, EXPR_OPERAND, k);
    const int all = lower_new_tile(x, "log_decay_total", 1, &p->elements),
              rest = lower_new_tile(x, "log_decay_rest", 1, &p->elements),
              next = lower_new_tile(x, "log_decay_next", 1, &p->elements);
    lower_set_constant(x, at, all, 0);
    lower_set_constant(x, at, rest, 0);
    struct stmt **body = &lower_loop_over(x, at, p->position, expr_leaf(p->m, EXPR_LO, p->keys),
                                          expr_leaf(p->m, EXPR_HI, p->keys), 1)
                              ->body;
    set(p, &body, next, binary(p, EXPR_ADD, operand[0], operand[1]), 2, (const int[]){all, terms});
    /* all + term = next + error */
    const struct expr *const added = binary(p, EXPR_SUB, operand[2], operand[0]),
                             *const error = binary(
                                 p, EXPR_ADD, binary(p, EXPR_SUB, operand[0], binary(p, EXPR_SUB, operand[2], added)),
                                 binary(p, EXPR_SUB, operand[1], added));
    set(p, &body, rest, binary(p, EXPR_ADD, operand[3], error), 4, (const int[]){all, terms, next, rest});
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
                      .dtype = dtype_of_sums(x->m->dtype),
                      .rank = v->rank,
                      .by_name = v->by_name,
                      .offset = -1};
    memcpy(a.axes, v->axes, sizeof a.axes);
    return loops_array(x->l, a);
}

/* Replaces the index of members by 0, as the sums of keys have it. With a SOLVE, each key/value head has one member. */
static const struct expr *of_first_member(const struct chunk_sums *p, const struct expr *e)
{
    for (int a = 0; a < p->m->axes; a++)
        if (p->m->axis[a].source == SIZE_MEMBERS)
            e = expr_replace(p->m, e, expr_leaf(p->m, EXPR_INDEX, a), expr_int(p->m, 0));
    return e;
}

void lower_chunk_sums(struct lowering *x, struct stmt *loop, int keys, int queries)
{
    struct chunk_sums sums = {.x = x, .m = x->m, .keys = keys, .queries = queries, .elements = -1, .position = -1},
                      *const p = &sums;
    const struct value *const terms = find_terms(x);
    for (int k = 0; terms && k < terms->rank; k++) {
        const int axis = terms->axes[k];
        if (axis_is_whole(&x->m->axis[axis])) p->elements = axis;
        if (axis_is_sequence(&x->m->axis[axis])) p->position = axis;
    }
    if (p->elements < 0 || p->position < 0 || !ends_at_position(p)) return;
    const int axes[2] = {keys, p->elements};
    const int of_terms = lower_new_tile(x, "log_decay", 2, axes);
    p->sum = lower_new_tile(x, "log_decay_sum", 2, axes);
    p->low = lower_new_tile(x, "log_decay_sum_low", 2, axes);
    read_all_tiles(p, loop->body);

    struct stmt **const list = lower_new_list(x), **at = list;
    struct stmt *const s = lower_assign(x, &at, 2, axes, of_terms, FOLD_SET, terms->expr);
    const struct expr *const position = expr_leaf(p->m, EXPR_INDEX, p->position), *const key = expr_leaf(
                                                                                      p->m, EXPR_INDEX, keys);
    s->operands = terms->operands;
    for (int k = 0; k < terms->operands; k++) {
        s->operand[k] = terms->operand[k];
        s->operand[k].of = array_of(x, &x->c->sums->value[terms->operand[k].of]);
        for (int n = 0; n < s->operand[k].rank; n++)
            s->operand[k].sub[n] = of_first_member(p, expr_replace(p->m, s->operand[k].sub[n], position, key));
    }
    s->assign[0].expr = of_first_member(p, expr_replace(p->m, s->assign[0].expr, position, key));
    make_sums(p, of_terms, &at);
    *at = loop->body;
    loop->body = *list;
}
