/* Gradients of values that are read at computed positions of a constant axis. Feature f of a power reads x[s(f)]. So
   the gradient of x[d] sums over all f with s(f) = d.
   - s(f) = d is solved as f = g(d, t), with t over new axes, the free axes. The sum over t visits each feature once.
   - Example: for s(f) = f % n, f = t * n + d.
   - Without a solution, the sum runs over every f, in the region s(f) = d. */
#include "differentiate.h"

enum { MAX_FREE = 4, MAX_KNOWN = 3 * MAX_FREE };

/* An attempt to solve s(f) = d. */
struct solution {
    struct reversal *x;
    int axis;                 /* the axis of f */
    uint32_t taken;           /* axes that t may not use, as bits */
    int free, of[MAX_FREE];   /* the free axes */
    const struct expr *valid; /* the condition that g(d, t) is a feature. NULL: it always is */
    int known;                /* the number of known equalities: from[k], a quotient or remainder of f, equals to[k] */
    const struct expr *from[MAX_KNOWN], *to[MAX_KNOWN];
};

/* Returns the value of an integer expression at the given index of each axis. */
static int64_t at(const struct expr *e, const int64_t *index)
{
    const struct environment env = {.index = index};
    return expr_eval_int(e, &env);
}

/* Returns a constant axis of this extent that is not taken, and takes it. Makes one if needed. Returns -1 if there
   is no room. */
static int spare_axis(struct solution *s, int64_t extent)
{
    struct module *m = s->x->m;
    for (int n = 0;; n++) {
        const char *name = arena_printf(m->arena, n ? "t%lld_%d" : "t%lld", (long long)extent, n);
        int axis = module_find_axis(m, name);
        if (axis < 0) axis = module_axis(m, name, SIZE_CONSTANT, extent);
        if (axis < 0) return -1;
        if (m->axis[axis].source != SIZE_CONSTANT || m->axis[axis].extent != extent || (s->taken >> axis & 1)) continue;
        s->taken |= AXIS(axis);
        return axis;
    }
}

/* Returns 1 + the maximum of e over all f. */
static int64_t range_of(const struct solution *s, const struct expr *e)
{
    int64_t index[MAX_AXES] = {0}, max = 0;
    for (int64_t f = 0; f < s->x->m->axis[s->axis].extent; f++) {
        index[s->axis] = f;
        max = at(e, index) >= max ? at(e, index) + 1 : max;
    }
    return max;
}

/* Returns the index of a new free axis, or 0 if the extent is 1. Returns NULL if there is no room. */
static const struct expr *free_index(struct solution *s, int64_t extent)
{
    if (extent == 1) return expr_int(s->x->m, 0);
    int axis = s->free < MAX_FREE ? spare_axis(s, extent) : -1;
    if (axis < 0) return NULL;
    s->of[s->free++] = axis;
    return expr_index(s->x->m, axis);
}

/* Records that the quotient or remainder op(u, by) equals `to`. */
static void note(struct solution *s, enum expr_op op, const struct expr *u, const struct expr *by,
                 const struct expr *to)
{
    s->from[s->known] = expr_make(s->x->m, op, u, by, NULL);
    s->to[s->known++] = to;
}

/* Solves e = target for f, with e an expression in f. Returns NULL if there is no solution. Inverts from the
   outside in: u / n = q gives u = q * n + t, and u % n = r gives u = t * n + r. */
static const struct expr *solve(struct solution *s, const struct expr *e, const struct expr *target)
{
    if (e == expr_index(s->x->m, s->axis)) return target;
    if (!e->arg[1] || e->arg[2] || e->arg[1]->op != EXPR_INT || s->known > MAX_KNOWN - 3) return NULL;
    const struct expr *u = e->arg[0], *by = e->arg[1], *t, *value;
    int64_t range = 0, count = by->integer;
    switch ((int)e->op) {
    case EXPR_ADD: return solve(s, u, expr_sub(s->x->m, target, by));
    case EXPR_MIN: return solve(s, u, target);
    case EXPR_MAX: return count == 0 ? solve(s, u, target) : NULL;
    case EXPR_DIV:
        if (count <= 0) return NULL;
        range = range_of(s, u);
        t = free_index(s, count);
        if (!t) return NULL;
        value = expr_add(s->x->m, expr_mul(s->x->m, target, by), t);
        note(s, EXPR_DIV, u, by, target);
        note(s, EXPR_MOD, u, by, t);
        break;
    case EXPR_MOD: {
        if (count <= 0) return NULL;
        /* If (w % n + h) % n = r and h depends on t = w / n only, then w % n = (r - h) mod n. Features of powers have
           this form (separate/power.c). */
        const struct expr *const w = u->op == EXPR_ADD && u->arg[0]->op == EXPR_MOD && u->arg[0]->arg[1] == by
                                         ? u->arg[0]->arg[0]
                                         : NULL,
                                 *const block = w ? expr_div(s->x->m, w, by) : NULL;
        const bool rotated = w &&
                             !(expr_axes(expr_replace(s->x->m, u->arg[1], block, expr_int(s->x->m, 0))) >> s->axis & 1);
        if (rotated) u = w;
        range = range_of(s, u);
        t = free_index(s, (range + count - 1) / count);
        if (!t) return NULL;
        const struct expr *const turn = rotated ? expr_replace(s->x->m, e->arg[0]->arg[1], block, t) : NULL,
                                 *const remainder = rotated
                                                        ? expr_floormod(s->x->m, expr_sub(s->x->m, target, turn), by)
                                                        : target;
        value = expr_add(s->x->m, expr_mul(s->x->m, t, by), remainder);
        if (rotated) note(s, EXPR_MOD, e->arg[0], by, target);
        note(s, EXPR_DIV, u, by, t);
        note(s, EXPR_MOD, u, by, remainder);
        break;
    }
    default: return NULL;
    }
    if (range % count) {
        const struct expr *const inside = expr_lt(s->x->m, value, expr_int(s->x->m, range));
        s->valid = s->valid ? expr_and(s->x->m, s->valid, inside) : inside;
    }
    return solve(s, u, value);
}

/* Whether e is 0 at this index of f for all operands. In a select by f, only the chosen branch counts. */
static bool vanishes(const struct solution *s, const struct expr *e, const int64_t *index)
{
    switch ((int)e->op) {
    case EXPR_REAL: return e->real == 0;
    case EXPR_NEG:
    case EXPR_DIV: return vanishes(s, e->arg[0], index);
    case EXPR_MUL: return vanishes(s, e->arg[0], index) || vanishes(s, e->arg[1], index);
    case EXPR_ADD:
    case EXPR_SUB: return vanishes(s, e->arg[0], index) && vanishes(s, e->arg[1], index);
    case EXPR_SELECT:
        if (expr_axes(e->arg[0]) == AXIS(s->axis) && !expr_has(e->arg[0], EXPR_OPERAND) &&
            !expr_has(e->arg[0], EXPR_SIZE) && !expr_reads_ids(e->arg[0]))
            return vanishes(s, e->arg[at(e->arg[0], index) ? 1 : 2], index);
        return vanishes(s, e->arg[1], index) && vanishes(s, e->arg[2], index);
    default: return false;
    }
}

/* Tests f = g(d, t) at every d and t in s->valid. `sub` is s(f), `target` the axis of d, e the summand.
   - s(g(d, t)) must be d.
   - No two points may give the same f.
   - e must be 0 at every f that is not reached. */
static bool is_solution(const struct solution *s, const struct expr *sub, const struct expr *f, int target,
                        const struct expr *e)
{
    const struct module *m = s->x->m;
    int64_t index[MAX_AXES] = {0}, extent = m->axis[s->axis].extent, points = m->axis[target].extent;
    char *visited = arena_alloc(m->arena, (size_t)extent);
    for (int k = 0; k < s->free; k++) points *= m->axis[s->of[k]].extent;
    for (int64_t n = 0; n < points; n++) {
        int64_t remainder = n;
        index[target] = remainder % m->axis[target].extent;
        remainder /= m->axis[target].extent;
        for (int k = 0; k < s->free; k++) {
            index[s->of[k]] = remainder % m->axis[s->of[k]].extent;
            remainder /= m->axis[s->of[k]].extent;
        }
        if (s->valid && !at(s->valid, index)) continue;
        int64_t there = at(f, index);
        if (there < 0 || there >= extent || visited[there]) return false;
        visited[there] = 1;
        index[s->axis] = there;
        if (at(sub, index) != index[target]) return false;
        index[s->axis] = 0;
    }
    for (int64_t n = 0; n < extent; n++) {
        index[s->axis] = n;
        if (!visited[n] && !vanishes(s, e, index)) return false;
    }
    return true;
}

/* Returns the only constant axis that a subscript is computed from, or -1. A plain index or number gives -1. */
static int computed_from(const struct reversal *x, const struct expr *sub)
{
    if (sub->op == EXPR_INDEX || sub->op == EXPR_INT || expr_has(sub, EXPR_SIZE) || expr_reads_ids(sub) ||
        expr_has(sub, EXPR_DRAWN))
        return -1;
    for (int a = 0; a < x->m->axes; a++)
        if (expr_axes(sub) == AXIS(a) && x->m->axis[a].source == SIZE_CONSTANT) return a;
    return -1;
}

/* Evaluates a condition at all indices of its constant axes. Returns 1 if it always holds, 0 if never, otherwise -1. */
static int outcome(const struct module *m, const struct expr *c)
{
    enum { MAX_POINTS = 1 << 16 };
    int64_t index[MAX_AXES] = {0}, points = 1;
    uint32_t axes = expr_axes(c);
    int found = -1;
    if (c->type == TYPE_REAL || expr_has(c, EXPR_OPERAND) || expr_has(c, EXPR_SIZE) || expr_has(c, EXPR_DRAWN) ||
        expr_reads_ids(c))
        return -1;
    for (int a = 0; a < m->axes; a++) {
        if (!(axes >> a & 1)) continue;
        if (m->axis[a].source != SIZE_CONSTANT || (points *= m->axis[a].extent) > MAX_POINTS) return -1;
    }
    for (int64_t n = 0; n < points; n++) {
        int64_t remainder = n;
        for (int a = 0; a < m->axes; a++) {
            if (!(axes >> a & 1)) continue;
            index[a] = remainder % m->axis[a].extent;
            remainder /= m->axis[a].extent;
        }
        int holds = at(c, index) != 0;
        if (found >= 0 && holds != found) return -1;
        found = holds;
    }
    return found;
}

/* A select, minimum or maximum with the same choice everywhere becomes that choice. */
static const struct expr *settled(void *m, const struct expr *e)
{
    const bool selects = e->op == EXPR_SELECT, bounds = (e->op == EXPR_MIN || e->op == EXPR_MAX) && e->type == TYPE_INT;
    const struct expr *arg[3] = {NULL, NULL, NULL};
    if (e->draw || e->name) return e;
    if (!selects && !bounds) return NULL;
    for (int k = 0; k < 2 + selects; k++) arg[k] = expr_map(m, e->arg[k], settled, m);
    const int first = outcome(m, selects ? arg[0] : expr_le(m, arg[e->op == EXPR_MAX], arg[e->op == EXPR_MIN]));
    return first >= 0 ? arg[selects + !first] : expr_make(m, e->op, arg[0], arg[1], arg[2]);
}

/* Writes e in terms of d and t: first known quotients and remainders, then the index f = g(d, t). */
static const struct expr *substitute(const struct solution *s, const struct expr *e, const struct expr *f)
{
    for (int k = 0; k < s->known; k++) e = expr_replace(s->x->m, e, s->from[k], s->to[k]);
    return expr_map(s->x->m, expr_replace(s->x->m, e, expr_index(s->x->m, s->axis), f), settled, s->x->m);
}

/* Replaces subscript s of r, which depends on sequences, by its axis's index: table[i - j + 7] becomes table[t].
   The element that was read gets e, and all others get 0. Returns the new e. */
static const struct expr *one_hot(struct reversal *x, struct value *map, const struct expr *e, struct ref *r, int s,
                                  uint32_t *axes)
{
    const int target = x->g->value[r->of].axes[s];
    if (x->m->axis[target].source != SIZE_CONSTANT || (*axes >> target & 1) || map->rank == MAX_RANK) {
        reversal_fail_array(x, r->of, "an array that is read at computed subscripts along an axis of run-time size");
        return e;
    }
    const struct expr *const index = expr_index(x->m, target);
    e = expr_select(x->m, expr_eq(x->m, r->sub[s], index), e, expr_real(x->m, 0));
    r->sub[s] = index;
    *axes |= AXIS(target);
    map->axes[map->rank++] = target;
    return e;
}

const struct expr *reversal_scatter(struct reversal *x, struct value *map, const struct expr *e, struct ref *r,
                                    uint32_t *axes, const struct expr **where)
{
    for (int s = 0; s < r->rank; s++) {
        int f = computed_from(x, r->sub[s]), target = x->g->value[r->of].axes[s];
        if (f < 0 && ref_axis(r, s) < 0 && r->sub[s]->op != EXPR_INT) {
            e = one_hot(x, map, e, r, s, axes);
            continue;
        }
        if (f < 0) continue;
        uint32_t elsewhere = *where ? expr_axes(*where) : 0;
        for (int k = 0; k < r->rank; k++)
            if (k != s) elsewhere |= expr_axes(r->sub[k]);
        if (elsewhere >> f & 1) return e; /* f is also used elsewhere: give up, and reading_of reports it */
        struct solution try = {.x = x, .axis = f, .taken = *axes | elsewhere};
        if (try.taken >> target & 1) target = spare_axis(&try, x->m->axis[target].extent);
        if (target < 0) return e;
        try.taken |= AXIS(target);
        const struct expr *index = expr_index(x->m, target), *sub = r->sub[s], *found = solve(&try, sub, index);
        r->sub[s] = index;
        *axes |= AXIS(target);
        const bool room = map->rank - value_has_axis(map, f) + 1 + try.free <= MAX_RANK;
        if (!found || !room || !is_solution(&try, sub, found, target, e)) {
            const struct expr *there = expr_eq(x->m, sub, index);
            *where = *where ? expr_and(x->m, *where, there) : there;
            if (map->rank == MAX_RANK) {
                reversal_fail(x, "a value read at computed positions");
                return e;
            }
            map->axes[map->rank++] = target;
            continue;
        }
        /* without try.valid, g(d, t) may exceed the axis, so it is clamped */
        const struct expr *inside = !try.valid ? found
                                               : expr_min(x->m, found, expr_int(x->m, x->m->axis[f].extent - 1));
        for (int k = 0; k < map->operands; k++)
            for (int a = 0; a < map->operand[k].rank; a++)
                map->operand[k].sub[a] = substitute(&try, map->operand[k].sub[a], inside);
        e = substitute(&try, e, inside);
        if (try.valid) e = expr_map(x->m, expr_select(x->m, try.valid, e, expr_real(x->m, 0)), settled, x->m);
        int rank = 0;
        for (int k = 0; k < map->rank; k++)
            if (map->axes[k] != f) map->axes[rank++] = map->axes[k];
        map->rank = rank;
        *axes &= ~AXIS(f);
        map->axes[map->rank++] = target;
        for (int k = 0; k < try.free; k++) {
            map->axes[map->rank++] = try.of[k];
            *axes |= UINT32_C(1) << try.of[k];
        }
    }
    return e;
}
