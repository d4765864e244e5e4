/* Copies elements at computed subscripts of a parameter into a tile, because lanes must read consecutive addresses.
   Example: a MAP over [j i] reads table[i - j + 127].
   - If subscripts depend only on i - j, the tile is a strip. It has one element for each difference in the current
     ranges.
   - Otherwise the tile has an element per point of the subscripts' axes.
   - For the gradient of such a parameter (differentiate/gather.c), a tile holds the subscripts.
   - A costly function of i - j, such as log1p(c[h] * (i - j)), is also computed once for each difference.
   - A function of a row of a few queries, such as a slope of its head, is computed once for each row, not for each
     vector of lanes.
   - A thread remembers a strip that depends only on the difference and on the head, so it computes each element once
     for all tiles of a head.
   - A thread also remembers some tiles that depend on the query, the key and the head, so it computes them once for
     all sequences of the batch. This serves windows of an image, which are many short sequences.
   - A row at a computed position is also copied if it is no whole number of vectors, or an array of the caller. */
#include "pass.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"

/* Returns the sum of the factors of the indices of axes a and b in e, such as 0 for i - j. Returns NULL if e is not
   linear in both with integer factors. */
static const struct expr *factor_of(struct module *m, const struct expr *e, int a, int b)
{
    const struct expr *of_a, *of_b, *rest;
    if (!expr_linear(m, e, a, &of_a, &rest) || !expr_linear(m, rest, b, &of_b, &rest)) return NULL;
    return of_a->op == EXPR_INT && of_b->op == EXPR_INT ? expr_int(m, of_a->integer + of_b->integer) : NULL;
}

/* Whether e depends on axes a and b only through their difference, as in (i - j) / 2. */
static bool of_difference(struct module *m, const struct expr *e, int a, int b)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        const enum expr_op op = w.e->op;
        w.skip = factor_of(m, w.e, a, b) == expr_int(m, 0);
        if (!w.skip && (op == EXPR_LT || op == EXPR_LE || op == EXPR_EQ || op == EXPR_NE)) {
            const struct expr *const factor = factor_of(m, w.e->arg[0], a, b);
            w.skip = factor && factor == factor_of(m, w.e->arg[1], a, b);
        }
        if (!w.skip && w.e->size == 1) return false;
    }
    return true;
}

struct walk {
    struct loops *l;
    struct stmts at;    /* the current statement, and the loops around it */
    int64_t lanes;      /* the number of elements in a vector */
    int64_t remembered; /* the largest number of elements of a strip that a thread remembers */
    int64_t length;     /* the largest number of queries and of keys, or 0 if there is no limit */
};

/* The elements of a strip. Each stands for a difference (index of `lane`) - (index of `other`). */
struct differences {
    int axis, lane, other; /* `axis`: the axis of the strip, or -1 */
    int64_t extent;
    const struct expr *lowest; /* the smallest difference, which belongs to element 0 */
};

/* Makes the axis of a strip, unless a current range is not consecutive or there are too many axes. */
static struct differences differences_of(const struct walk *x, int lane, int other)
{
    struct module *const m = x->l->module;
    struct differences d = {.axis = -1, .lane = lane, .other = other};
    const struct stmt *const lanes = stmts_over(&x->at, lane), *const others = stmts_over(&x->at, other);
    if (!lanes || !others || lanes->period || others->period) return d;
    /* One more vector, because the last vector of lanes may be incomplete. */
    d.extent = lanes->step + others->step + x->lanes;
    const char *const name = arena_printf(m->arena, "difference_%lld", (long long)d.extent);
    d.axis = module_find_axis(m, name);
    if (d.axis < 0) d.axis = module_axis(m, name, SIZE_CONSTANT, d.extent);
    /* the lowest difference: first index of `lane` - last index of `other` */
    d.lowest = expr_add(m, expr_sub(m, expr_lo(m, lane), expr_hi(m, other)), expr_int(m, 1));
    return d;
}

/* Returns e, which depends on the difference, for an element of the strip. */
static const struct expr *of_strip(struct module *m, const struct differences *d, const struct expr *e)
{
    e = expr_replace(m, e, expr_index(m, d->other), expr_int(m, 0));
    return expr_replace(m, e, expr_index(m, d->lane), expr_add(m, expr_index(m, d->axis), d->lowest));
}

/* Whether e, of statement s, has the same value in other tiles. Its elements are over the axes `own`. Without `own`,
   these are the tiles of a head, apart from the current ranges of a strip. With `own`, they are those of all sequences
   of the batch. */
static bool is_same(const struct walk *x, const struct stmt *s, const struct expr *e, uint32_t own)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        const enum expr_op op = w.e->op;
        const struct axis *const axis = op == EXPR_INDEX ? &x->l->module->axis[w.e->integer] : NULL;
        const struct ref *const r = op == EXPR_OPERAND ? &s->operand[w.e->integer] : NULL;
        const bool stays = own && (op == EXPR_ID || op == EXPR_ELEMENT);
        w.skip = op == EXPR_START; /* if the caller gives positions, the kernel takes the sequence for a head */
        if (axis ? !(own ? own >> w.e->integer & 1 || axis_is_heads(axis) : !axis_is_sequence(axis))
                 : (expr_is_looked_up(op) && !stays) || (own && (op == EXPR_LO || op == EXPR_HI)) ||
                       (r && x->l->array[r->of].kind != ARRAY_PARAM))
            return false;
        for (int k = 0; r && k < r->rank; k++)
            if (!is_same(x, s, r->sub[k], own)) return false;
    }
    return true;
}

/* Whether the COPY or MAP s fills equal tiles, as is_same tells. */
static bool fills_same(const struct walk *x, const struct stmt *s, uint32_t own)
{
    bool same = s->op == LOOPS_COPY || is_same(x, s, s->assign[0].expr, own);
    for (int n = 0; s->op == LOOPS_COPY && n < s->operand[0].rank; n++)
        same &= is_same(x, s, s->operand[0].sub[n], own);
    return same;
}

/* Makes a thread remember a tile of queries and keys that statement s fills, for a few heads and ranges. */
static void remember_pairs(const struct walk *x, const struct stmt *s, struct array *a)
{
    enum { MOST_BYTES = 1 << 19 }; /* half of a common second-level cache */
    const struct axis *const axis = x->l->module->axis;
    if (a->rank != 2 || axis[a->axes[0]].source == axis[a->axes[1]].source) return;
    for (int k = 0; k < 2; k++) {
        const struct stmt *const loop = stmts_over(&x->at, a->axes[k]);
        if (!axis_is_sequence(&axis[a->axes[k]]) || !loop || loop->period || loop->step != a->extent[k]) return;
    }
    const int64_t places = MOST_BYTES / (a->extent[0] * a->extent[1] * dtype_bytes(a->dtype));
    if (places > 1 && fills_same(x, s, axes_set(2, a->axes))) a->remembered = places;
}

/* Makes a thread remember the tile or the strip that statement s fills, if it can serve later tiles. */
static void remember(const struct walk *x, const struct stmt *s, const struct differences *d)
{
    struct array *const a = &x->l->array[s->assign[0].to.of];
    int others = 0;
    for (int k = 0; k < x->l->arrays; k++) others += x->l->array[k].remembered > 0;
    if (!x->remembered || others == MAX_REMEMBERED) return;
    if (d->axis < 0) {
        remember_pairs(x, s, a);
    } else if (fills_same(x, s, 0)) {
        a->remembered = x->length > 0 && 2 * x->length < x->remembered ? 2 * x->length + d->extent : x->remembered;
        a->lane = d->lane;
        a->other = d->other;
    }
}

/* Makes a statement that fills a tile for the parts of statement s, which have an element at every point of their axes.
   *r then reads the tile. If the parts depend only on a difference, the tile is a strip, and they become those of an
   element of the strip. Returns NULL if the size of a range is unknown. */
static struct stmt *fill(struct walk *x, const struct stmt *s, int op, struct array tile, int parts,
                         const struct expr **part, struct ref *r, struct differences *d)
{
    struct module *const m = x->l->module;
    const int lane = s->axes[s->rank - 1];
    uint32_t used = 0;
    int other = -1;
    for (int k = 0; k < parts; k++) used |= expr_axes(part[k]);
    for (int k = 0; k < s->rank; k++) {
        if (!(used >> s->axes[k] & 1)) continue;
        if (s->axes[k] != lane) other = s->axes[k];
        tile.axes[tile.rank] = s->axes[k];
        tile.extent[tile.rank] = stmts_extent(&x->at, m, s->axes[k]);
        if (!tile.extent[tile.rank++]) return NULL;
    }
    bool differs = tile.rank == 2 && used >> lane & 1;
    for (int k = 0; k < parts && differs; k++) differs = of_difference(m, part[k], lane, other);
    *d = differs ? differences_of(x, lane, other) : (struct differences){.axis = -1};
    if (d->axis >= 0) {
        tile.rank = 1;
        tile.axes[0] = d->axis;
        tile.extent[0] = d->extent;
        for (int k = 0; k < parts; k++) part[k] = of_strip(m, d, part[k]);
    }
    if (!tile.name) tile.name = d->axis >= 0 ? "of_difference" : "of_row";
    struct stmt *const made = stmt_fill(x->l, op, tile);
    *r = made->assign[0].to;
    if (d->axis >= 0) r->sub[0] = expr_sub(m, expr_sub(m, expr_index(m, d->lane), expr_index(m, d->other)), d->lowest);
    return made;
}

/* Returns the COPY for operand *r of statement s, which then reads the new tile. */
static struct stmt *copy_of(struct walk *x, const struct stmt *s, struct ref *r)
{
    struct differences d;
    struct ref from = *r;
    const struct array *const a = &x->l->array[from.of];
    const struct array tile = {.dtype = dtype_is_integer(a->dtype) ? a->dtype : dtype_of_sums(a->dtype),
                               .name = arena_printf(x->l->module->arena, "%s_at", a->name)};
    struct stmt *const copy = fill(x, s, LOOPS_COPY, tile, from.rank, from.sub, r, &d);
    if (!copy) return NULL;
    copy->operand[copy->operands++] = from;
    remember(x, copy, &d);
    return copy;
}

/* ---- subscripts that are compared with the number of each element ---- */

/* Looks in statement s for a subscript that is costly and compared with an index of a constant axis. */
struct compared {
    const struct walk *x;
    const struct stmt *s;
    const struct expr *subscript, *index;
};

static enum answer is_compared(void *of, const struct expr *e)
{
    struct compared *const c = of;
    struct module *const m = c->x->l->module;
    const uint32_t all = axes_set(c->s->rank, c->s->axes), constant = all & axes_with_size(m, SIZE_CONSTANT);
    for (int k = 0; k < 2 && e->op == EXPR_EQ; k++) {
        const struct expr *const i = e->arg[k], *const other = e->arg[1 - k];
        const uint32_t used = expr_axes(other);
        if (i->op != EXPR_INDEX || !(constant >> i->integer & 1) || other->type != TYPE_INT || (used & constant) ||
            !(used & all) || other->size == 1 || expr_has(other, EXPR_OPERAND))
            continue;
        c->subscript = other;
        c->index = i;
        return ANSWER_YES;
    }
    return ANSWER_ARGUMENTS;
}

/* Replaces e in the assignments of statement *at by an element of a tile. With `index`, replaces it only where it is
   compared with `index`. Inserts and returns the MAP that fills the tile. Returns NULL if the size of a range is
   unknown. */
static struct stmt *store_instead(struct walk *x, struct stmt **at, const struct expr *e, const struct expr *index)
{
    struct module *const m = x->l->module;
    struct stmt *const s = *at;
    const struct array tile = {.dtype = dtype_of_sums(m->dtype), .name = e->type != TYPE_REAL ? "subscript" : NULL};
    struct differences d;
    struct ref r;
    const struct expr *part = e, *const stored = expr_operand(m, s->operands);
    struct stmt *const map = fill(x, s, LOOPS_MAP, tile, 1, &part, &r, &d);
    if (!map) return NULL;
    map->assign[0].expr = expr_take(m, part, s->operand, map->operand, &map->operands);
    remember(x, map, &d);
    s->operand[s->operands++] = r;
    for (int n = 0; n < s->assigns; n++) {
        const struct expr **const to = &s->assign[n].expr;
        *to = expr_replace(m, *to, index ? expr_eq(m, e, index) : e, index ? expr_eq(m, stored, index) : stored);
        if (index) *to = expr_replace(m, *to, expr_eq(m, index, e), expr_eq(m, stored, index));
    }
    map->next = s;
    *at = map;
    return map;
}

/* Replaces a compared subscript in assignment k of statement *at by an element of a tile. Inserts and returns the
   MAP that fills the tile, or NULL. */
static struct stmt *store_compared(struct walk *x, struct stmt **at, int k)
{
    struct stmt *const s = *at;
    struct compared found = {.x = x, .s = s};
    if (s->operands == MAX_OPERANDS || !expr_find(s->assign[k].expr, is_compared, &found)) return NULL;
    return store_instead(x, at, found.subscript, found.index);
}

/* ---- functions of a difference ---- */

/* The two axes of the points of a MAP whose difference matters. */
struct pair {
    struct module *m;
    const struct stmt *map;
    uint32_t axes; /* all axes of the MAP */
    int lane, other;
};

/* Whether each operation of e has the same value for all points with the same difference. */
static bool repeats_along(const struct pair *p, const struct expr *e)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);)
        if (w.e->op == EXPR_OPERAND && ref_axes(&p->map->operand[w.e->integer]) & p->axes) return false;
    return !expr_looks_up(e);
}

/* Whether e contains a costly operation on both axes of the pair. Operations on one axis run outside a loop. */
static bool is_costly(const struct pair *p, const struct expr *e)
{
    const uint32_t both = AXIS(p->lane) | AXIS(p->other);
    bool costly = false;
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        w.skip = (expr_axes(w.e) & both) != both;
        costly |= !w.skip && expr_effort(w.e->op) >= EFFORT_SLOW;
    }
    return costly;
}

/* Whether a strip can hold e, and saves costly work. */
static bool fits_strip(const struct pair *p, const struct expr *e)
{
    const uint32_t both = AXIS(p->lane) | AXIS(p->other);
    return e->type == TYPE_REAL && (expr_axes(e) & p->axes) == both && is_costly(p, e) && repeats_along(p, e) &&
           of_difference(p->m, e, p->lane, p->other);
}

static enum answer is_function_of_difference(void *of, const struct expr *e)
{
    return fits_strip(of, e) ? ANSWER_YES : ANSWER_ARGUMENTS;
}

/* Returns a smaller part of `found` that occurs in e again outside `found`, so that one strip serves all places. If
   there is none, returns `found`. */
static const struct expr *shared_part(struct module *m, const struct pair *p, const struct expr *e,
                                      const struct expr *found)
{
    const struct expr *const others = expr_replace(m, e, found, expr_real(m, 0)), *part = found;
    for (bool deeper = true; deeper;) {
        deeper = false;
        for (int k = 0; k < expr_arity(part->op) && !deeper; k++)
            if (fits_strip(p, part->arg[k])) part = part->arg[k], deeper = true;
        if (deeper && expr_uses(others, part)) return part;
    }
    return found;
}

/* Replaces a function of a difference in the assignments of statement *at by an element of a strip. Inserts and returns
   the MAP that fills the strip, or NULL. */
static struct stmt *store_function(struct walk *x, struct stmt **at, int k)
{
    struct module *const m = x->l->module;
    struct stmt *const s = *at;
    struct pair p = {.m = m, .map = s, .axes = axes_set(s->rank, s->axes), .lane = s->axes[s->rank - 1]};
    const struct expr *e = NULL;
    for (int a = 0; a + 1 < s->rank && !e; a++) {
        p.other = s->axes[a];
        e = expr_find(s->assign[k].expr, is_function_of_difference, &p);
    }
    if (!e || s->operands == MAX_OPERANDS || differences_of(x, p.lane, p.other).axis < 0) return NULL;
    return store_instead(x, at, shared_part(m, &p, s->assign[k].expr, e), NULL);
}

/* ---- functions of a row ---- */

/* Whether e reads only arrays that the kernel does not write. */
static bool reads_inputs(const struct loops *l, const struct stmt *s, const struct expr *e)
{
    const uint32_t read = expr_operands(e, NULL);
    bool inputs = !expr_looks_up(e);
    for (int k = 0; k < s->operands; k++) {
        const enum array_kind kind = l->array[s->operand[k].of].kind;
        inputs &= !(read >> k & 1) || kind == ARRAY_PARAM || kind == ARRAY_INPUT;
    }
    return inputs;
}

/* Whether e calls a function of one of the axes. */
static bool calls_function(const struct stmt *s, const struct expr *e, uint32_t axes)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        w.skip = !(expr_axes_read(w.e, s->operand) & axes);
        if (!w.skip && expr_effort(w.e->op) == EFFORT_FUNCTION) return true;
    }
    return false;
}

struct of_rows {
    const struct loops *l;
    const struct stmt *s;
};

/* Whether e calls a function of the row, and is equal for all lanes. The angle of sin and cos stays, because it is a
   double. */
static enum answer is_function_of_row(void *of, const struct expr *e)
{
    const struct of_rows *const x = of;
    const struct stmt *const s = x->s;
    const uint32_t row = UINT32_C(1) << s->axes[0], lane = UINT32_C(1) << s->axes[1];
    if (e->type == TYPE_REAL && !(expr_axes_read(e, s->operand) & lane) && calls_function(s, e, row) &&
        reads_inputs(x->l, s, e))
        return ANSWER_YES;
    return e->op == EXPR_SIN || e->op == EXPR_COS ? ANSWER_NO : ANSWER_ARGUMENTS;
}

/* Returns the loop whose threads prepare all rows of queries before the current loops over keys, or NULL if there is
   none or the MAP depends on such a loop. */
static struct stmt *preparing_loop(const struct walk *x, const struct stmt *map)
{
    const struct expr *const e = map->assign[0].expr;
    struct stmt *const *const loop = x->at.loop;
    int outer = x->at.loops;
    if (expr_has(e, EXPR_LO) || expr_has(e, EXPR_HI)) return NULL;
    while (outer > 0 && !(expr_axes_read(e, map->operand) >> loop[outer - 1]->axis & 1)) outer--;
    for (; outer < x->at.loops; outer++)
        for (struct stmt *s = outer ? loop[outer - 1]->body : x->l->body; s && s != loop[outer]; s = s->next)
            if (s->op == LOOPS_FOR && s->parallel && s->axis == map->axes[0] && s->body) return s;
    return NULL;
}

/* For rows of a few queries: computes a function of the row in the assignments of statement *at once for each row, not
   for each vector of lanes. If threads prepare rows before the loops over keys, the MAP that stores it in a tile is
   there, otherwise before *at. Returns the place of the statement, or NULL if there is no such function. */
static struct stmt **store_of_rows(struct walk *x, struct stmt **at, int k)
{
    struct stmt *const s = *at;
    if (s->rank != 2 || s->where || s->operands == MAX_OPERANDS || x->l->module->axis[s->axes[0]].source != SIZE_ROWS)
        return NULL;
    const struct expr *const e = expr_find(s->assign[k].expr, is_function_of_row, &(struct of_rows){x->l, s});
    struct stmt *const map = e ? store_instead(x, at, e, NULL) : NULL, *const before = map ? preparing_loop(x, map)
                                                                                           : NULL;
    if (!map || !before) return map ? &map->next : NULL;
    struct stmt **end = &before->body;
    while (*end) end = &(*end)->next;
    *at = s;
    *end = map;
    map->next = NULL;
    x->l->array[map->assign[0].to.of].shared = true;
    return at;
}

bool copies_elements(const struct loops *l, const struct ref *r, int lane, int64_t lanes)
{
    const struct array *const a = &l->array[r->of];
    bool row = false; /* whether r reads a row at a computed position */
    if (a->kind != ARRAY_PARAM || !ref_uses_axis(r, lane)) return false;
    if (ref_computes_with(r, lane)) return true;
    for (int k = 0; k < r->rank; k++)
        row |= ref_axis(r, k) < 0 && l->module->axis[a->axes[k]].source != SIZE_CONSTANT && r->sub[k]->op != EXPR_INT;
    const bool adjacent = prefix_array_find(a->name) != PREFIX_ARRAYS; /* elements of the caller may be apart */
    return row && !(adjacent && ref_in_vectors(l, r, lane, lanes));
}

/* Stores parts of MAP s, and copies elements that it reads. */
static void store_parts(struct walk *x, struct stmt *s)
{
    struct stmt **at = x->at.at;
    for (int k = 0; k < s->assigns; k++) {
        for (struct stmt *map; (map = store_compared(x, at, k));) at = &map->next;
        for (struct stmt *map; (map = store_function(x, at, k));) at = &map->next;
        for (struct stmt **place; (place = store_of_rows(x, at, k));) at = place;
    }
    for (int k = 0; k < s->operands; k++) {
        if (!copies_elements(x->l, &s->operand[k], s->axes[s->rank - 1], x->lanes)) continue;
        struct stmt *const copy = copy_of(x, s, &s->operand[k]);
        if (!copy) continue;
        copy->next = *at;
        *at = copy;
        at = &copy->next;
    }
}

/* Returns the largest number of elements of a strip that a thread remembers. In programs whose threads share a head,
   and for few queries, it remembers none. */
static int64_t remembered_elements(const struct compilation *c)
{
    enum { MOST = 1 << 16 };
    return c->program.few || c->program.by_heads || stmts_window(c->loops->body) ? 0 : MOST;
}

void pass_computed_subscripts(struct compilation *c)
{
    struct walk x = {.l = c->loops,
                     .at = {.place = &c->loops->body},
                     .lanes = c->target->vector_bytes / dtype_bytes(dtype_of_sums(c->spec->dtype)),
                     .remembered = remembered_elements(c),
                     .length = c->spec->max_length};
    for (struct stmt *s; (s = stmts_next(&x.at));)
        if (s->op == LOOPS_MAP && s->rank > 0) store_parts(&x, s);
}
