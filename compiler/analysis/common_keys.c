/* Finds whether a program for few queries can sum the keys of pages that several sequences share once, for the queries
   of all these sequences. This needs that the sums over keys before all queries do not depend on the sequences, except
   for the tiles that are made of the queries beforehand. They may depend on the position and head of each row:
   - With a plain causal mask, and weights that depend on neither, the statements of the program are used as they are.
   - Otherwise the statements are copied. The copy is only for chunks of keys that all rows see, so it tests no region.
     Positions and heads are looked up for each row. */
#include "affine.h"
#include "pages.h"
#include "region.h"

struct common {
    const struct loops *l;
    struct module *m;
    int stream, rows; /* the axes of keys and rows */
    /* region: keys up to the query's position; outside: a tile has keys after the first query; end: the end of the keys
       that queries see */
    const struct expr *region, *outside, *end;
    /* number, member: of a row's query; start: the position of query 0. `begin` and `chunk_end` bound the keys of a
       chunk. */
    const struct expr *number, *member, *start, *begin, *chunk_end;
    bool copied; /* the statements are copies, which look up positions and heads */
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
    const int batch = axis_of(m, SIZE_BATCH), query = axis_of(m, SIZE_N_Q), rows = axis_of(m, SIZE_ROWS),
              chunk = axis_of(m, SIZE_CHUNKS);
    x->stream = axis_of(m, SIZE_N_K);
    x->rows = rows;
    if (batch < 0 || query < 0 || rows < 0 || x->stream < 0 || chunk < 0) return false;
    const struct expr *const queries = expr_size(m, query),
                             *const otherwise = expr_sub(m, expr_size(m, x->stream), queries),
                             *const start = expr_make(m, EXPR_START, expr_index(m, batch), otherwise, NULL),
                             *const of_tile = expr_of_sequence(m, start),
                             *const number = expr_mod(m, expr_index(m, rows), queries);
    x->region = expr_le(m, expr_index(m, x->stream), expr_add(m, number, start));
    x->outside = expr_lt(m, expr_add(m, of_tile, expr_int(m, 1)), expr_hi(m, x->stream));
    x->end = expr_add(m, queries, of_tile);
    x->number = number;
    x->member = expr_div(m, expr_index(m, rows), queries);
    x->start = start;
    const struct expr *const first = expr_lo(m, chunk), *const keys = expr_int(m, m->axis[chunk].extent);
    x->begin = expr_mul(m, first, keys);
    x->chunk_end = expr_mul(m, expr_add(m, first, expr_int(m, 1)), keys);
    return true;
}

/* Returns whether a copied statement looks the expression up for each row. */
static bool looked_up(const struct common *x, const struct expr *e)
{
    return e->op == EXPR_START && e->arg[0] == expr_index(x->m, x->rows);
}

/* Returns whether the expression is the same for the queries of all sequences, or is looked up for each row. */
static bool same_for_all(const struct common *x, const struct expr *e)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        const enum expr_op op = w.e->op;
        w.skip = looked_up(x, w.e);
        if (w.skip) continue;
        if (op == EXPR_START || op == EXPR_ELEMENT || op == EXPR_DRAWN || w.e->name) return false;
        if (op != EXPR_INDEX && op != EXPR_LO && op != EXPR_HI && op != EXPR_SIZE) continue;
        const enum size_source source = x->m->axis[w.e->integer].source;
        if (source != SIZE_CONSTANT && source != SIZE_KV_HEADS && source != SIZE_CHUNKS &&
            !(source == SIZE_N_K && op != EXPR_SIZE) && !(source == SIZE_MEMBERS && op == EXPR_SIZE))
            return false;
    }
    return true;
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
            same &= fixed || (x->copied && a->kind == ARRAY_PARAM && (source == SIZE_HEADS || source == SIZE_MEMBERS));
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

/* ---- statements for keys that all rows see ---- */

static bool has_looked_up(const struct common *x, const struct expr *e)
{
    bool has = false;
    for (struct exprs w = {.of = e}; exprs_next(&w);) has |= looked_up(x, w.e);
    return has;
}

/* Replaces positions and heads of a row by what is looked up for it, and the region by true. */
static const struct expr *copied(const struct common *x, const struct expr *e, const struct expr *region)
{
    const struct expr *const of[] = {x->start, x->number, x->member}, *const row = expr_index(x->m, x->rows);
    if (!e) return NULL;
    e = expr_replace(x->m, e, region, expr_int(x->m, 1));
    for (int k = 0; k < 3; k++)
        e = expr_replace(x->m, e, of[k], expr_make(x->m, EXPR_START, row, expr_int(x->m, k), NULL));
    return e;
}

/* Copies the expressions of a statement. Returns false if lanes would look up rows. */
static bool copy_expressions(const struct common *x, struct stmt *s, const struct expr *region)
{
    const bool in_lanes = s->rank > 0 && s->axes[s->rank - 1] == x->rows;
    bool possible = true;
    for (int k = 0; k < s->operands; k++)
        for (int n = 0; n < s->operand[k].rank; n++) {
            s->operand[k].sub[n] = copied(x, s->operand[k].sub[n], region);
            possible &= !in_lanes || !has_looked_up(x, s->operand[k].sub[n]);
        }
    for (int k = 0; k < s->assigns; k++) {
        s->assign[k].expr = copied(x, s->assign[k].expr, region);
        possible &= !in_lanes || !has_looked_up(x, s->assign[k].expr);
    }
    return possible;
}

/* Removes from the list *at all tests of the region, for which `partial` is false in tiles inside it, and lets loops
   over keys visit a whole chunk. Returns false if that is not possible. */
static bool without_tests(const struct common *x, struct stmt **at, const struct expr *region,
                          const struct expr *partial)
{
    const struct expr *const whole = expr_not(x->m, partial);
    while (*at) {
        struct stmt *const s = *at, *last = s->body;
        if (s->ranges || s->period || s->block || (s->where && s->op != LOOPS_IF && s->where != region)) return false;
        if (s->op == LOOPS_IF && s->where == partial) {
            *at = s->next;
            continue;
        }
        if (s->op == LOOPS_IF) {
            if (s->where != whole || !last) return false;
            while (last->next) last = last->next;
            last->next = s->next;
            *at = s->body;
            continue;
        }
        s->where = s->when = NULL;
        if (s->op == LOOPS_FOR && s->axis == x->stream) {
            const struct expr *const from = s->from;
            if (from != x->begin && !(from->op == EXPR_MAX && (from->arg[0] == x->begin || from->arg[1] == x->begin)))
                return false;
            s->from = x->begin;
            s->to = expr_min(x->m, expr_size(x->m, x->stream), x->chunk_end);
        }
        if (!copy_expressions(x, s, region) || !without_tests(x, &s->body, region, partial)) return false;
        at = &s->next;
    }
    return true;
}

/* Returns the region of the loops over keys in the list, or NULL if they have none or several. */
static const struct expr *region_of(const struct common *x, const struct stmt *s)
{
    const struct expr *found = NULL;
    for (; s; s = s->next) {
        const struct expr *const own = s->op == LOOPS_FOR && s->axis == x->stream ? s->where : region_of(x, s->body);
        if (found && own && own != found) return NULL;
        if (own) found = own;
    }
    return found;
}

/* Returns the region without its cases that read integers of a key. */
static const struct expr *without_integers(const struct common *x, const struct expr *e)
{
    if (e->op == EXPR_AND || e->op == EXPR_OR)
        return expr_make(x->m, e->op, without_integers(x, e->arg[0]), without_integers(x, e->arg[1]), NULL);
    return expr_ids_along(e, AXIS(x->stream)) ? expr_int(x->m, 0) : e;
}

/* Whether e depends on the head of a row. */
static bool names_head(const struct common *x, const struct expr *e)
{
    bool names = false;
    for (struct exprs w = {.of = e}; exprs_next(&w);)
        names |= w.e == x->member || (w.e->op == EXPR_INDEX && axis_is_heads(&x->m->axis[w.e->integer]));
    return names;
}

/* Sets out->keys to a copy of the loop over chunks `keys`, for chunks that all rows see, and the bounds of the keys
   that the rows of a sequence see. Returns false if that is not possible. */
static bool copy_keys(struct common *x, const struct stmt *keys, struct common_keys *out)
{
    const struct expr *const region = region_of(x, keys), *partial = NULL;
    struct ranges inside, seen;
    if (!region || names_head(x, region)) return false; /* the bounds are those of all heads of a sequence */
    region_ranges(x->m, region, x->stream, true, &inside);
    region_ranges(x->m, without_integers(x, region), x->stream, true, &seen);
    if (inside.count != 1 || inside.range[0].drawn || seen.count != 1 || seen.range[0].drawn) return false;
    /* the test of a tile, as the pass bound makes it */
    const struct expr *const from = inside.range[0].from, *const to = inside.range[0].to;
    if (from) partial = expr_lt(x->m, expr_lo(x->m, x->stream), from);
    if (to) {
        const struct expr *const after = expr_lt(x->m, to, expr_hi(x->m, x->stream));
        partial = partial ? expr_or(x->m, partial, after) : after;
    }
    if (!partial) return false;
    struct loops memory = {.module = x->m}; /* a statement needs no more of the program */
    struct stmt *const made = stmts_copy(&memory, keys, keys->next);
    x->copied = true;
    if (!without_tests(x, &made->body, region, partial) || !same_statements(x, made->body)) return false;
    out->keys = made;
    out->from = seen.range[0].from;
    out->to = seen.range[0].to;
    return true;
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
    if (!window || !find_causal(&x) || !find_tiles(&x, window, out)) return false;
    if (!same_statements(&x, window->body) &&
        (!window->body || !same_statements(&x, window->body->next) || !copy_keys(&x, window->body, out)))
        return false;
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
