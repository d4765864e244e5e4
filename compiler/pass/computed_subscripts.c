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
    int64_t lanes;      /* the number of elements in a vector */
    int64_t remembered; /* the largest number of elements of a strip that a thread remembers */
    int64_t length;     /* the largest number of queries and of keys, or 0 if there is no limit */
    int depth;
    struct stmt *loop[MAX_LOOPS];
};

/* Returns the innermost loop over the axis, or NULL. */
static const struct stmt *loop_over(const struct walk *x, int axis)
{
    for (int k = x->depth - 1; k >= 0; k--)
        if (x->loop[k]->axis == axis) return x->loop[k];
    return NULL;
}

/* Returns the maximum size of a current range of the axis, or 0 if it is unknown. */
static int64_t width(const struct walk *x, int axis)
{
    const struct stmt *const loop = loop_over(x, axis);
    const struct axis *const a = &x->l->module->axis[axis];
    return loop ? loop->step : a->source == SIZE_CONSTANT || a->source == SIZE_ROWS ? a->extent : 0;
}

/* Adds the tile, and returns a COPY into it. *r then reads the tile at subscript `at`, or along its own axes if `at`
   is NULL. */
static struct stmt *copy_into(struct walk *x, struct array tile, const struct ref *from, struct ref *r,
                              const struct expr *at)
{
    struct loops *const l = x->l;
    const struct array *const array = &l->array[from->of];
    struct stmt *const copy = stmt_new(l, LOOPS_COPY);
    tile.kind = ARRAY_TILE;
    tile.dtype = dtype_is_integer(array->dtype) ? array->dtype : dtype_of_sums(array->dtype);
    tile.offset = -1;
    tile.name = loops_unused_name(l, arena_printf(l->module->arena, "%s_at", array->name));
    copy->rank = tile.rank;
    for (int k = 0; k < tile.rank; k++) copy->axes[k] = tile.axes[k];
    copy->operands = copy->assigns = 1;
    copy->operand[0] = *from;
    const int made = loops_array(l, tile);
    *r = copy->assign[0].to = loops_ref(l, made);
    if (at) r->sub[0] = at;
    return copy;
}

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
    const struct stmt *const lanes = loop_over(x, lane), *const others = loop_over(x, other);
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

/* Returns the subscript of the strip's element for `lane` and `other`. */
static const struct expr *place_in_strip(struct module *m, const struct differences *d)
{
    const struct expr *const difference = expr_sub(m, expr_index(m, d->lane), expr_index(m, d->other));
    return expr_sub(m, difference, d->lowest);
}

/* Whether e has the same value in all tiles of a head, apart from the current ranges of a strip. `map`: the statement
   whose operands e reads, or NULL. */
static bool same_in_head(const struct walk *x, const struct stmt *map, const struct expr *e)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        const struct ref *const r = w.e->op == EXPR_OPERAND ? &map->operand[w.e->integer] : NULL;
        if (w.e->op == EXPR_INDEX ? axis_is_sequence(&x->l->module->axis[w.e->integer])
                                  : expr_is_looked_up(w.e->op) || (r && x->l->array[r->of].kind != ARRAY_PARAM))
            return false;
        for (int k = 0; r && k < r->rank; k++)
            if (!same_in_head(x, map, r->sub[k])) return false;
    }
    return true;
}

static int remembered_arrays(const struct loops *l)
{
    int count = 0;
    for (int a = 0; a < l->arrays; a++) count += l->array[a].remembered > 0;
    return count;
}

/* Makes a thread remember the strip that statement s fills. */
static void remember(const struct walk *x, const struct stmt *s, const struct differences *d)
{
    bool same = x->remembered > 0 && remembered_arrays(x->l) < MAX_REMEMBERED;
    for (int k = 0; k < s->operands && s->op == LOOPS_COPY; k++)
        for (int n = 0; n < s->operand[k].rank; n++) same &= same_in_head(x, s, s->operand[k].sub[n]);
    for (int k = 0; k < s->assigns && s->op == LOOPS_MAP; k++) same &= same_in_head(x, s, s->assign[k].expr);
    if (!same) return;
    struct array *const a = &x->l->array[s->assign[0].to.of];
    a->remembered = x->length > 0 && 2 * x->length < x->remembered ? 2 * x->length + d->extent : x->remembered;
    a->lane = d->lane;
    a->other = d->other;
}

/* Whether a MAP or COPY makes e equal for all sequences of the batch. Its tile is over the axes `own`, as bits. */
static bool same_in_batch(const struct walk *x, const struct stmt *s, const struct expr *e, uint32_t own)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        const enum expr_op op = w.e->op;
        const struct ref *const r = op == EXPR_OPERAND ? &s->operand[w.e->integer] : NULL;
        const bool element = op == EXPR_ID || op == EXPR_ELEMENT;
        w.skip = op == EXPR_START; /* if the caller gives positions, the kernel takes the sequence for a head */
        if (op == EXPR_INDEX ? !(own >> w.e->integer & 1) && !axis_is_heads(&x->l->module->axis[w.e->integer])
                             : (expr_is_looked_up(op) && !element) || op == EXPR_LO || op == EXPR_HI ||
                                   (r && x->l->array[r->of].kind != ARRAY_PARAM))
            return false;
        for (int k = 0; r && k < r->rank; k++)
            if (!same_in_batch(x, s, r->sub[k], own)) return false;
    }
    return true;
}

/* Makes a thread remember the tile of queries and keys that statement s fills, for a few heads and ranges. */
static void remember_tile(const struct walk *x, const struct stmt *s)
{
    enum { MOST_BYTES = 1 << 19 }; /* half of a common second-level cache */
    struct array *const a = &x->l->array[s->assign[0].to.of];
    uint32_t own = 0;
    if (a->rank != 2 || x->remembered == 0 || remembered_arrays(x->l) == MAX_REMEMBERED) return;
    for (int k = 0; k < 2; k++) {
        const struct stmt *const loop = loop_over(x, a->axes[k]);
        if (!axis_is_sequence(&x->l->module->axis[a->axes[k]]) || !loop || loop->period || loop->step != a->extent[k])
            return;
        own |= UINT32_C(1) << a->axes[k];
    }
    if (x->l->module->axis[a->axes[0]].source == x->l->module->axis[a->axes[1]].source) return;
    for (int n = 0; s->op == LOOPS_COPY && n < s->operand[0].rank; n++)
        if (!same_in_batch(x, s, s->operand[0].sub[n], own)) return;
    if (s->op == LOOPS_MAP && !same_in_batch(x, s, s->assign[0].expr, own)) return;
    const int64_t places = MOST_BYTES / (a->extent[0] * a->extent[1] * dtype_bytes(a->dtype));
    if (places > 1) a->remembered = places;
}

/* Makes the strip for *r, whose subscripts depend on the difference. Returns the COPY into it, or NULL. */
static struct stmt *strip(struct walk *x, struct ref *r, int lane, int other)
{
    struct module *const m = x->l->module;
    const struct differences d = differences_of(x, lane, other);
    if (d.axis < 0) return NULL;
    struct ref from = *r;
    for (int k = 0; k < r->rank; k++) from.sub[k] = of_strip(m, &d, r->sub[k]);
    const struct array tile = {.rank = 1, .axes = {d.axis}, .extent = {d.extent}};
    struct stmt *const copy = copy_into(x, tile, &from, r, place_in_strip(m, &d));
    remember(x, copy, &d);
    return copy;
}

/* Returns the COPY for operand *r of statement s, which then reads the new tile. */
static struct stmt *copy_of(struct walk *x, const struct stmt *s, struct ref *r, int lane)
{
    const uint32_t used = ref_axes(r);
    struct array tile = {.rank = 0};
    int other = -1;
    bool plain = false;
    for (int k = 0; k < s->rank; k++) {
        const int axis = s->axes[k];
        if (!(used >> axis & 1)) continue;
        if (axis != lane) other = axis;
        tile.axes[tile.rank] = axis;
        tile.extent[tile.rank++] = width(x, axis);
    }
    for (int k = 0; k < r->rank; k++) plain |= other >= 0 && !of_difference(x->l->module, r->sub[k], lane, other);
    struct stmt *const made = tile.rank == 2 && !plain ? strip(x, r, lane, other) : NULL;
    const struct ref from = *r;
    if (made) return made;
    struct stmt *const copy = copy_into(x, tile, &from, r, NULL);
    remember_tile(x, copy);
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
    uint32_t constant = 0, all = 0;
    for (int k = 0; k < c->s->rank; k++) {
        all |= UINT32_C(1) << c->s->axes[k];
        if (c->x->l->module->axis[c->s->axes[k]].source == SIZE_CONSTANT) constant |= UINT32_C(1) << c->s->axes[k];
    }
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

/* Adds the operands of s that the MAP uses to the MAP. */
static void take_operands(struct module *m, struct stmt *map, const struct stmt *s)
{
    for (int n = 0; n < s->operands; n++) {
        const struct expr *const operand = expr_operand(m, n);
        if (!expr_uses(map->assign[0].expr, operand)) continue;
        map->assign[0].expr = expr_replace(m, map->assign[0].expr, operand, expr_operand(m, map->operands));
        map->operand[map->operands++] = s->operand[n];
    }
}

/* Returns a MAP that stores the part e of statement s in a new tile, which *r reads. The tile is a strip if e depends
   only on a difference. Returns NULL if the size of a range is unknown. */
static struct stmt *store_part(struct walk *x, const struct stmt *s, const struct expr *e, struct ref *r)
{
    struct loops *const l = x->l;
    struct module *const m = l->module;
    const int lane = s->axes[s->rank - 1];
    struct array tile = {.kind = ARRAY_TILE, .dtype = dtype_of_sums(m->dtype), .offset = -1};
    int other = -1;
    for (int k = 0; k < s->rank; k++) {
        if (!(expr_axes(e) >> s->axes[k] & 1)) continue;
        if (s->axes[k] != lane) other = s->axes[k];
        tile.axes[tile.rank] = s->axes[k];
        tile.extent[tile.rank] = width(x, s->axes[k]);
        if (!tile.extent[tile.rank++]) return NULL;
    }
    struct differences d = {.axis = -1};
    if (tile.rank == 2 && other >= 0 && expr_axes(e) >> lane & 1 && of_difference(m, e, lane, other))
        d = differences_of(x, lane, other);
    if (d.axis >= 0) {
        tile = (struct array){
            .kind = ARRAY_TILE, .dtype = tile.dtype, .offset = -1, .rank = 1, .axes = {d.axis}, .extent = {d.extent}};
        e = of_strip(m, &d, e);
    }
    tile.name = loops_unused_name(l, e->type != TYPE_REAL ? "subscript" : d.axis >= 0 ? "of_difference" : "of_row");
    struct stmt *const map = stmt_new(l, LOOPS_MAP);
    map->rank = tile.rank;
    for (int k = 0; k < tile.rank; k++) map->axes[k] = tile.axes[k];
    map->assigns = 1;
    *r = loops_ref(l, loops_array(l, tile));
    map->assign[0] = (struct assign){.to = *r, .fold = FOLD_SET, .expr = e};
    take_operands(m, map, s);
    if (d.axis < 0) {
        remember_tile(x, map);
        return map;
    }
    r->sub[0] = place_in_strip(m, &d);
    remember(x, map, &d);
    return map;
}

/* Replaces a compared subscript in assignment k of statement *at by an element of a tile. Inserts and returns the
   MAP that fills the tile, or NULL. */
static struct stmt *store_compared(struct walk *x, struct stmt **at, int k)
{
    struct module *const m = x->l->module;
    struct stmt *const s = *at;
    struct compared found = {.x = x, .s = s};
    struct ref r;
    if (s->operands == MAX_OPERANDS || !expr_find(s->assign[k].expr, is_compared, &found)) return NULL;
    const struct expr *const e = found.subscript, *const index = found.index;
    struct stmt *const map = store_part(x, s, e, &r);
    if (!map) return NULL;
    const struct expr *const stored = expr_eq(m, expr_operand(m, s->operands), index);
    s->operand[s->operands++] = r;
    for (int n = 0; n < s->assigns; n++) {
        const struct expr *const changed = expr_replace(m, s->assign[n].expr, expr_eq(m, e, index), stored);
        s->assign[n].expr = expr_replace(m, changed, expr_eq(m, index, e), stored);
    }
    map->next = s;
    *at = map;
    return map;
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

/* Replaces e in the assignments of statement *at by an element of a tile. Inserts and returns the MAP that fills the
   tile, or NULL. */
static struct stmt *store_instead(struct walk *x, struct stmt **at, const struct expr *e)
{
    struct module *const m = x->l->module;
    struct stmt *const s = *at;
    struct ref r;
    struct stmt *const map = store_part(x, s, e, &r);
    if (!map) return NULL;
    const struct expr *const stored = expr_operand(m, s->operands);
    s->operand[s->operands++] = r;
    for (int n = 0; n < s->assigns; n++) s->assign[n].expr = expr_replace(m, s->assign[n].expr, e, stored);
    map->next = s;
    *at = map;
    return map;
}

/* Replaces a function of a difference in the assignments of statement *at by an element of a strip. Inserts and returns
   the MAP that fills the strip, or NULL. */
static struct stmt *store_function(struct walk *x, struct stmt **at, int k)
{
    struct module *const m = x->l->module;
    struct stmt *const s = *at;
    struct pair p = {.m = m, .map = s, .lane = s->axes[s->rank - 1]};
    const struct expr *e = NULL;
    for (int a = 0; a < s->rank; a++) p.axes |= UINT32_C(1) << s->axes[a];
    for (int a = 0; a + 1 < s->rank && !e; a++) {
        p.other = s->axes[a];
        e = expr_find(s->assign[k].expr, is_function_of_difference, &p);
    }
    if (!e || s->operands == MAX_OPERANDS || differences_of(x, p.lane, p.other).axis < 0) return NULL;
    return store_instead(x, at, shared_part(m, &p, s->assign[k].expr, e));
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
    int outer = x->depth;
    if (expr_has(e, EXPR_LO) || expr_has(e, EXPR_HI)) return NULL;
    while (outer > 0 && !(expr_axes_read(e, map->operand) >> x->loop[outer - 1]->axis & 1)) outer--;
    for (; outer < x->depth; outer++)
        for (struct stmt *s = outer ? x->loop[outer - 1]->body : x->l->body; s && s != x->loop[outer]; s = s->next)
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
    struct stmt *const map = e ? store_instead(x, at, e) : NULL, *const before = map ? preparing_loop(x, map) : NULL;
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
    const struct axis *const axis = &l->module->axis[lane];
    bool row = false; /* whether r reads a row at a computed position */
    if (a->kind != ARRAY_PARAM || !ref_uses_axis(r, lane)) return false;
    if (ref_computes_with(r, lane)) return true;
    for (int k = 0; k < r->rank; k++)
        row |= ref_axis(r, k) < 0 && l->module->axis[a->axes[k]].source != SIZE_CONSTANT && r->sub[k]->op != EXPR_INT;
    const bool vectors = ref_axis(r, r->rank - 1) == lane && axis->source == SIZE_CONSTANT && axis->extent % lanes == 0;
    const bool adjacent = prefix_array_find(a->name) != PREFIX_ARRAYS; /* elements of the caller may be apart */
    return row && !(vectors && adjacent);
}

static void walk(struct walk *x, struct stmt **body)
{
    for (struct stmt **at = body; *at; at = &(*at)->next) {
        struct stmt *const s = *at;
        if (s->op == LOOPS_FOR && x->depth < MAX_LOOPS) {
            x->loop[x->depth++] = s;
            walk(x, &s->body);
            x->depth--;
        } else if (s->body)
            walk(x, &s->body);
        if (s->op != LOOPS_MAP || s->rank == 0) continue;
        const int lane = s->axes[s->rank - 1];
        for (int k = 0; k < s->assigns; k++) {
            for (struct stmt *map; (map = store_compared(x, at, k));) at = &map->next;
            for (struct stmt *map; (map = store_function(x, at, k));) at = &map->next;
            for (struct stmt **place; (place = store_of_rows(x, at, k));) at = place;
        }
        for (int k = 0; k < s->operands; k++) {
            const struct ref *const r = &s->operand[k];
            if (!copies_elements(x->l, r, lane, x->lanes)) continue;
            struct stmt *const copy = copy_of(x, s, &s->operand[k], lane);
            copy->next = *at;
            *at = copy;
            at = &copy->next;
        }
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
                     .lanes = c->target->vector_bytes / dtype_bytes(dtype_of_sums(c->spec->dtype)),
                     .remembered = remembered_elements(c),
                     .length = c->spec->max_length};
    walk(&x, &c->loops->body);
}
