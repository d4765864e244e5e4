/* Prints sums of products whose terms decay differently as calls of a function:
   w[j][l] += sum over t of x[t][l] * y[t][j] * exp2(scale * (a[t][l] - b[t][j])), for keys j at or before query l.
   - If queries are in the lanes, the loops run over j, t, l, and all operands are tiles with rows in the lanes
     (runtime/kernel/decayed_lanes.h).
   - If elements are in the lanes, the loops run over the pairs and then over t. Rows are read as they are stored
     (runtime/kernel/decayed_rows.h). */
#include "emit.h"
#include "printer.h"

#include <string.h>

enum { MAX_FACTORS = 6, MAX_LOGS = 2, DECAYED_BLOCK = 8 }; /* the keys of a block in runtime/kernel/decayed_rows.h */

/* The parts of such a sum. The lists have the operands' numbers. A logarithm can be a sum of two numbers. */
struct decayed {
    int key, query, over; /* the axes */
    const struct expr *factor[MAX_FACTORS];
    int factors, x, y, a[MAX_LOGS], b[MAX_LOGS], of_lanes, of_rows;
    const struct expr *difference;
    double times, scale; /* times: the product of constant factors */
};

static bool list_factors(struct decayed *d, const struct expr *e)
{
    if (e->op == EXPR_MUL) return list_factors(d, e->arg[0]) && list_factors(d, e->arg[1]);
    if (d->factors == MAX_FACTORS) return false;
    d->factor[d->factors++] = e;
    return true;
}

/* Lists the operands of a sum. Those of the queries must be added, those of the keys subtracted. */
static bool list_logs(struct decayed *d, const struct stmt *s, const struct expr *e, bool negative)
{
    if (e->op == EXPR_ADD || e->op == EXPR_SUB)
        return list_logs(d, s, e->arg[0], negative) && list_logs(d, s, e->arg[1], negative != (e->op == EXPR_SUB));
    if (e->op != EXPR_OPERAND) return false;
    int *const list = negative ? d->b : d->a, *const count = negative ? &d->of_rows : &d->of_lanes;
    if (*count == MAX_LOGS || ref_uses_axis(&s->operand[e->integer], negative ? d->query : d->key)) return false;
    list[(*count)++] = (int)e->integer;
    return true;
}

/* Whether operand o is a tile of reals with the summed axis, whose last axis is `lane`. */
static bool along(const struct emitter *x, const struct stmt *s, int o, int lane)
{
    const struct ref *const r = &s->operand[o];
    const struct array *const a = &x->l->array[r->of];
    return a->kind == ARRAY_TILE && a->dtype == dtype_of_sums(x->m->dtype) && !a->paired && a->offset >= 0 &&
           r->rank == 2 && ref_axis(r, 0) == s->axes[1] && ref_axis(r, 1) == lane;
}

static bool find_factors(struct decayed *d, const struct stmt *s)
{
    d->x = d->y = -1;
    d->times = d->scale = 1;
    for (int k = 0; k < d->factors; k++) {
        const struct expr *const f = d->factor[k];
        if (f->op == EXPR_REAL)
            d->times *= f->real;
        else if (f->op == EXPR_EXP2 && !d->difference)
            d->difference = f->arg[0];
        else if (f->op == EXPR_OPERAND) {
            int *const to = ref_uses_axis(&s->operand[f->integer], d->key) ? &d->y : &d->x;
            if (*to >= 0) return false;
            *to = (int)f->integer;
        } else
            return false;
    }
    if (d->difference && d->difference->op == EXPR_MUL && d->difference->arg[1]->op == EXPR_REAL) {
        d->scale = d->difference->arg[1]->real;
        d->difference = d->difference->arg[0];
    }
    return d->difference && d->x >= 0 && d->y >= 0;
}

/* Returns the last key of each query, as an expression of the query, or NULL. */
static const struct expr *last_key(struct module *m, const struct decayed *d, const struct expr *region)
{
    if (region->op == EXPR_AND) {
        const struct expr *const first = last_key(m, d, region->arg[0]);
        return first ? first : last_key(m, d, region->arg[1]);
    }
    const struct expr *const key = expr_leaf(m, EXPR_INDEX, d->key), *const query = expr_leaf(m, EXPR_INDEX, d->query);
    if (region->op != EXPR_LE || region->arg[0] != key || expr_uses(region->arg[1], key)) return NULL;
    const struct expr *const next = expr_make(m, EXPR_ADD, query, expr_int(m, 1), NULL);
    int64_t step;
    const bool consecutive = known_difference(m, expr_replace(m, region->arg[1], query, next), region->arg[1], &step) &&
                             step == 1;
    return consecutive ? region->arg[1] : NULL;
}

/* Returns C for the key of the first query, counted from the first key of the tile. */
static const char *key_of_first(struct emitter *x, const struct decayed *d, const struct expr *last)
{
    const struct expr *const query = expr_leaf(x->m, EXPR_INDEX, d->query);
    return emit_integer(x,
                        expr_make(x->m, EXPR_SUB, expr_replace(x->m, last, query, expr_leaf(x->m, EXPR_LO, d->query)),
                                  expr_leaf(x->m, EXPR_LO, d->key), NULL));
}

/* Finds the parts of the sum. Returns the last key of each query, or NULL if the sum has another form. */
static const struct expr *find_parts(const struct emitter *x, const struct stmt *s, struct decayed *d)
{
    const struct expr *const last = last_key(x->m, d, s->where);
    const bool found = last && !emit_apart(x, d->key) && !emit_apart(x, d->query) &&
                       list_factors(d, s->assign[0].expr) && find_factors(d, s) &&
                       list_logs(d, s, d->difference, false) && d->of_lanes == d->of_rows;
    return found ? last : NULL;
}

/* Whether operand o is rows of reals along `axis`, whose elements are contiguous and summed over. */
static bool has_rows(struct emitter *x, const struct stmt *s, const struct decayed *d, int o, int axis)
{
    const struct ref *const r = &s->operand[o];
    const struct array *const a = &x->l->array[r->of];
    return a->dtype == dtype_of_sums(x->m->dtype) && !a->paired && !a->matrix &&
           (a->kind != ARRAY_TILE || a->offset >= 0) && ref_axis(r, r->rank - 1) == d->over && ref_uses_axis(r, axis) &&
           !ref_uses_axis(r, axis == d->key ? d->query : d->key) && emit_adjacent(x, r, d->over);
}

/* Whether operand a, for a query, is the row of the array of operand b at the key that is *after keys after the query's
   last key. If that key is not in the tile, it must be the nearest key's row (pass/lower/chunk_sums.c). */
static bool at_keys(const struct emitter *x, const struct stmt *s, const struct decayed *d, const struct expr *last,
                    int a, int b, int64_t *after)
{
    const struct ref *const of_query = &s->operand[a], *const of_key = &s->operand[b];
    if (of_query->of != of_key->of || of_query->rank != 2 || ref_axis(of_query, 1) != d->over) return false;
    const struct expr *row = of_query->sub[0];
    while (row->op == EXPR_MAX || row->op == EXPR_MIN) row = row->arg[expr_axes(row->arg[0]) >> d->query & 1 ? 0 : 1];
    return known_difference(x->m, row, last, after);
}

/* Like emit_decayed, with the axis of elements in the lanes. */
static bool emit_decayed_rows(struct emitter *x, const struct stmt *s)
{
    const struct expr *last = NULL;
    struct decayed d = {0};
    for (int query = 0; query < 2 && !last; query++) {
        d = (struct decayed){.key = s->axes[1 - query], .query = s->axes[query], .over = s->axes[2]};
        last = find_parts(x, s, &d);
    }
    if (!last || x->m->axis[d.over].source != SIZE_CONSTANT || x->m->axis[d.over].extent % x->lanes) return false;
    bool rows = has_rows(x, s, &d, d.x, d.query) && has_rows(x, s, &d, d.y, d.key), same = true;
    int64_t after = 0;
    for (int k = 0; k < d.of_lanes; k++) same &= at_keys(x, s, &d, last, d.a[k], d.b[k], &after);
    for (int k = 0; k < d.of_lanes; k++)
        rows = rows && (same || has_rows(x, s, &d, d.a[k], d.query)) && has_rows(x, s, &d, d.b[k], d.key);
    if (!rows) return false;

    const struct ref *const to = &s->assign[0].to, *const of = s->operand;
    struct arena *const arena = x->m->arena;
    const bool low = d.of_lanes > 1, narrow = x->m->dtype != DTYPE_F64;
    const char *const size = "int64_t ", *const numbers = arena_printf(arena, "const %s *", x->real),
                      *const real = arena_printf(arena, "const %s ", x->real);
    const struct product_argument argument[] = {
        {"lanes", size, emit_range(x, d.query)},
        {"rows", size, emit_range(x, d.key)},
        {"steps", size, emit_range(x, d.over)},
        {"first", size, key_of_first(x, &d, last)},
        {"times", real, emit_number(x, d.times, narrow)},
        {"scale", real, emit_number(x, d.scale, narrow)},
        {"x", numbers, emit_corner(x, s, &of[d.x])},
        {"x_row", size, emit_step(x, &of[d.x], d.query)},
        {"a", numbers, same ? "NULL" : emit_corner(x, s, &of[d.a[0]])},
        {"a_row", size, same ? "0" : emit_step(x, &of[d.a[0]], d.query)},
        {"a_low", numbers, low && !same ? emit_corner(x, s, &of[d.a[1]]) : "NULL"},
        {"a_low_row", size, low && !same ? emit_step(x, &of[d.a[1]], d.query) : "0"},
        {"y", numbers, emit_corner(x, s, &of[d.y])},
        {"y_row", size, emit_step(x, &of[d.y], d.key)},
        {"b", numbers, emit_corner(x, s, &of[d.b[0]])},
        {"b_row", size, emit_step(x, &of[d.b[0]], d.key)},
        {"b_low", numbers, low ? emit_corner(x, s, &of[d.b[1]]) : "NULL"},
        {"b_low_row", size, low ? emit_step(x, &of[d.b[1]], d.key) : "0"},
        {"after", size, arena_printf(arena, "%lld", same ? (long long)after : 0)},
        {"w", arena_printf(arena, "%s *", x->real), emit_corner(x, s, to)},
        {"w_query", size, emit_step(x, to, d.query)},
        {"w_key", size, emit_step(x, to, d.key)},
    };
    const struct array *const w = &x->l->array[to->of];
    for (int k = 0; k < w->rank; k++)
        if (ref_axis(to, k) == d.key && w->extent[k] > x->decayed_keys)
            x->decayed_keys = (w->extent[k] + DECAYED_BLOCK - 1) / DECAYED_BLOCK * DECAYED_BLOCK;
    emit_line(x, "/* %s[%s][%s] += sum over %s of %s * %s * a decay, for %s up to the query's last key */",
              emit_array(x, to), x->m->axis[s->axes[0]].name, x->m->axis[s->axes[1]].name, x->m->axis[d.over].name,
              emit_array(x, &of[d.y]), emit_array(x, &of[d.x]), x->m->axis[d.key].name);
    emit_product_call(x, "decayed_rows", argument, (int)(sizeof argument / sizeof *argument));
    return true;
}

bool emit_decayed(struct emitter *x, const struct stmt *s)
{
    const int row = s->axes[0], over = s->axes[1], lane = s->axes[2];
    if (s->assign[0].to.rank == 2 && ref_axis(&s->assign[0].to, 1) == s->axes[1]) return emit_decayed_rows(x, s);
    struct decayed d = {.key = row, .query = lane, .over = over};
    const struct expr *const last = find_parts(x, s, &d);
    if (!last) return false;
    bool tiles = along(x, s, d.x, lane) && along(x, s, d.y, row);
    for (int k = 0; k < d.of_lanes; k++) tiles = tiles && along(x, s, d.a[k], lane) && along(x, s, d.b[k], row);
    if (!tiles) return false;

    const struct ref *const to = &s->assign[0].to, *const of = s->operand;
    struct arena *const arena = x->m->arena;
    const bool low = d.of_lanes > 1;
    const char *const size = "int64_t ", *const numbers = arena_printf(arena, "const %s *", x->real),
                      *const real = arena_printf(arena, "const %s ", x->real);
    const bool narrow = x->m->dtype != DTYPE_F64;
    const struct product_argument argument[] = {
        {"lanes", size, emit_range(x, lane)},
        {"rows", size, emit_range(x, row)},
        {"steps", size, emit_range(x, over)},
        {"first", size, key_of_first(x, &d, last)},
        {"times", real, emit_number(x, d.times, narrow)},
        {"scale", real, emit_number(x, d.scale, narrow)},
        {"x", numbers, emit_corner(x, s, &of[d.x])},
        {"a", numbers, emit_corner(x, s, &of[d.a[0]])},
        {"a_low", numbers, low ? emit_corner(x, s, &of[d.a[1]]) : "NULL"},
        {"x_step", size, emit_step(x, &of[d.x], over)},
        {"y", numbers, emit_corner(x, s, &of[d.y])},
        {"b", numbers, emit_corner(x, s, &of[d.b[0]])},
        {"b_low", numbers, low ? emit_corner(x, s, &of[d.b[1]]) : "NULL"},
        {"y_step", size, emit_step(x, &of[d.y], over)},
        {"w", arena_printf(arena, "%s *", x->real), emit_corner(x, s, to)},
        {"w_row", size, emit_step(x, to, row)},
    };
    for (int k = 0; k < d.of_lanes; k++) /* one stride must do for the numbers of the queries, and one for the keys */
        if (!emit_steps_equal(x, &of[d.a[k]], &of[d.x], over) || !emit_steps_equal(x, &of[d.b[k]], &of[d.y], over))
            return false;
    emit_line(x, "/* %s[%s][%s] += sum over %s of %s * %s * a decay, for %s up to the query's last key */",
              emit_array(x, to), x->m->axis[row].name, x->m->axis[lane].name, x->m->axis[over].name,
              emit_array(x, &of[d.y]), emit_array(x, &of[d.x]), x->m->axis[row].name);
    emit_product_call(x, "decayed", argument, (int)(sizeof argument / sizeof *argument));
    return true;
}
