/* Finds whether a program for few queries can sum the keys of pages that several sequences share once, for the queries
   of all these sequences. This needs that the sums over keys before all queries do not depend on
   - the positions of the queries, so the region may only compare them with the position of the key,
   - the sequences, heads and numbers of the queries, except for the tiles that are made of them beforehand. */
#include "analysis.h"

struct common {
    const struct loops *l;
    struct module *m;
    int stream; /* the axis of keys */
    /* region: keys up to the query's position; outside: a tile has keys after the first query; end: the end of the keys
       that queries see */
    const struct expr *region, *outside, *end;
};

static int axis_of(const struct module *m, enum size_source source)
{
    int axis = -1;
    for (int a = 0; a < m->axes; a++)
        if (m->axis[a].source == source) axis = a;
    return axis;
}

/* Sets the expressions of a causal mask, as the passes make them for rows of queries. Returns false if the program has
   no such rows. */
static bool find_causal(struct common *x)
{
    struct module *const m = x->m;
    const int batch = axis_of(m, SIZE_BATCH), query = axis_of(m, SIZE_N_Q), rows = axis_of(m, SIZE_ROWS);
    x->stream = axis_of(m, SIZE_N_K);
    if (batch < 0 || query < 0 || rows < 0 || x->stream < 0) return false;
    const struct expr *const queries = expr_leaf(m, EXPR_SIZE, query),
                             *const otherwise = expr_make(m, EXPR_SUB, expr_leaf(m, EXPR_SIZE, x->stream), queries,
                                                          NULL),
                             *const start = expr_make(m, EXPR_START, expr_leaf(m, EXPR_INDEX, batch), otherwise, NULL),
                             *const of_tile = expr_of_sequence(m, start),
                             *const number = expr_make(m, EXPR_MOD, expr_leaf(m, EXPR_INDEX, rows), queries, NULL);
    x->region = expr_make(m, EXPR_LE, expr_leaf(m, EXPR_INDEX, x->stream), expr_make(m, EXPR_ADD, number, start, NULL),
                          NULL);
    x->outside = expr_make(m, EXPR_LT, expr_make(m, EXPR_ADD, of_tile, expr_int(m, 1), NULL),
                           expr_leaf(m, EXPR_HI, x->stream), NULL);
    x->end = expr_make(m, EXPR_ADD, queries, of_tile, NULL);
    return true;
}

/* Returns whether the expression is the same for the queries of all sequences. */
static bool same_for_all(const struct common *x, const struct expr *e)
{
    if (!e) return true;
    if (e->op == EXPR_START || e->op == EXPR_ELEMENT || e->op == EXPR_DRAWN || e->name) return false;
    if (e->op == EXPR_INDEX || e->op == EXPR_LO || e->op == EXPR_HI || e->op == EXPR_SIZE) {
        const enum size_source source = x->m->axis[e->integer].source;
        return source == SIZE_CONSTANT || source == SIZE_KV_HEADS || source == SIZE_CHUNKS ||
               (source == SIZE_N_K && e->op != EXPR_SIZE);
    }
    bool same = true;
    for (int k = 0; k < expr_arity(e->op); k++) same &= same_for_all(x, e->arg[k]);
    return same;
}

/* Returns whether a bound of a loop gives the same keys for all queries that come after these keys. */
static bool same_bound(const struct common *x, const struct expr *e)
{
    if (e && (e->op == EXPR_MIN || e->op == EXPR_MAX)) return same_bound(x, e->arg[0]) && same_bound(x, e->arg[1]);
    const bool size = e && e->op == EXPR_SIZE && x->m->axis[e->integer].source != SIZE_N_Q;
    return size || e == x->end || same_for_all(x, e);
}

/* Returns whether the reference reads the same rows of keys or the same parameters for all sequences, or is a tile with
   an element for each index of its axes. */
static bool same_operand(const struct common *x, const struct ref *r)
{
    const struct array *const a = &x->l->array[r->of];
    bool same = !a->by_name && !a->kept && !a->folded && !a->solved && !a->remembered && !a->held;
    for (int k = 0; k < a->rank; k++) {
        const enum size_source source = x->m->axis[a->axes[k]].source;
        const bool fixed = source == SIZE_CONSTANT || source == SIZE_KV_HEADS || source == SIZE_CHUNKS ||
                           (a->kind == ARRAY_TILE && (source == SIZE_ROWS || source == SIZE_N_K));
        if (array_in_pages(x->l, a))
            same &= fixed || source == SIZE_BATCH || source == SIZE_N_K;
        else
            same &= fixed;
        same &= ref_axis(r, k) == a->axes[k] || same_for_all(x, r->sub[k]);
    }
    return same;
}

static bool same_statements(const struct common *x, const struct stmt *s)
{
    bool same = true;
    for (; s && same; s = s->next) {
        if (s->op == LOOPS_IF && !s->ranges && s->where == x->outside) continue; /* no common key is after a query */
        same = s->op == LOOPS_FOR || s->op == LOOPS_MAP || s->op == LOOPS_DOT || s->op == LOOPS_COPY;
        same &= !s->ranges && !s->period && !s->block && (!s->where || s->where == x->region);
        if (s->op == LOOPS_FOR)
            same &= !s->when && same_bound(x, s->from) && same_bound(x, s->to) && same_statements(x, s->body);
        else
            same &= !s->where || s->op == LOOPS_MAP || s->when == x->outside;
        for (int k = 0; k < s->operands; k++) same &= same_operand(x, &s->operand[k]);
        for (int k = 0; k < s->assigns; k++)
            same &= same_operand(x, &s->assign[k].to) && same_for_all(x, s->assign[k].expr);
    }
    return same;
}

static bool read_in(const struct stmt *s, int array)
{
    bool read = false;
    for (; s && !read; s = s->next) read = stmt_reads(s, array) || read_in(s->body, array);
    return read;
}

/* Adds the tiles that the statements read and that all threads of a head share. Returns false if the elements of a
   query are not in one row. */
static bool find_tiles(const struct common *x, const struct stmt *s, struct common_keys *out)
{
    bool by_rows = true;
    for (int a = 0; a < x->l->arrays; a++) {
        const struct array *const tile = &x->l->array[a];
        if (tile->kind != ARRAY_TILE || !tile->shared || array_has_slots(x->l, tile) || tile->offset < 0) continue;
        if (!read_in(s, a)) continue;
        by_rows &= tile->rank > 0 && x->m->axis[tile->axes[0]].source == SIZE_ROWS && !tile->paired && !tile->matrix &&
                   out->tiles < MAX_COMMON_TILES;
        for (int k = 1; k < tile->rank; k++) by_rows &= x->m->axis[tile->axes[k]].source == SIZE_CONSTANT;
        if (by_rows) out->tile[out->tiles++] = a;
    }
    return by_rows;
}

bool common_keys_of(const struct loops *l, struct common_keys *out)
{
    struct common x = {.l = l, .m = l->module};
    const struct stmt *window = l->body;
    *out = (struct common_keys){0};
    while (window && window->op == LOOPS_FOR && window->parallel && !window->next) window = window->body;
    while (window && !(window->op == LOOPS_FOR && window->window)) window = window->next;
    if (!window || !find_causal(&x) || !same_statements(&x, window->body) || !find_tiles(&x, window, out)) return false;
    out->chunk = l->module->axis[window->axis].extent;
    for (int k = 0; k < out->tiles; k++) {
        const struct array *const tile = &l->array[out->tile[k]];
        int64_t elements = 1;
        for (int n = 1; n < tile->rank; n++) elements *= tile->extent[n] + (n + 1 == tile->rank ? tile->gap : 0);
        out->bytes[k] = dtype_row_bytes(tile->dtype, elements);
        out->row += out->bytes[k];
    }
    out->row = (out->row + 63) / 64 * 64;
    return out->tiles > 0;
}
