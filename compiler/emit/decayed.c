/* Prints sums of products whose terms decay differently (pass/decayed.c) as calls of a function.
   - If queries are in the lanes, the loops run over j, t, l, and all operands are tiles with rows in the lanes
     (runtime/kernel/decayed_lanes.h).
   - If elements are in the lanes, the loops run over the pairs and then over t. Rows are read as they are stored
     (runtime/kernel/decayed_rows.h). */
#include "emit.h"
#include "printer.h"

enum { DECAYED_BLOCK = 8 }; /* the keys of a block in runtime/kernel/decayed_rows.h */

/* Whether r is a tile of reals with the summed axis, whose last axis is `lane`. */
static bool along(const struct emitter *x, const struct ref *r, int over, int lane)
{
    const struct array *const a = &x->l->array[r->of];
    return a->kind == ARRAY_TILE && a->dtype == dtype_of_sums(x->m->dtype) && !a->paired && a->offset >= 0 &&
           r->rank == 2 && ref_axis(r, 0) == over && ref_axis(r, 1) == lane;
}

/* Whether r is rows of reals along `axis`, not along `other`, whose elements are contiguous and summed over. */
static bool has_rows(struct emitter *x, const struct ref *r, int over, int axis, int other)
{
    const struct array *const a = &x->l->array[r->of];
    return a->dtype == dtype_of_sums(x->m->dtype) && !a->paired && !a->matrix &&
           (a->kind != ARRAY_TILE || a->offset >= 0) && ref_axis(r, r->rank - 1) == over && ref_uses_axis(r, axis) &&
           !ref_uses_axis(r, other) && emit_adjacent(x, r, over);
}

/* Whether a[k], for a query, is the row of the array of b[k] at the key that is *after keys after the query's last key.
   If that key is not in the tile, it must be the nearest key's row (pass/lower/chunk_sums.c). */
static bool at_keys(const struct emitter *x, const struct decaying *d, int k, int over, int query, int64_t *after)
{
    const struct ref *const of_query = &d->a[k];
    if (of_query->of != d->b[k].of || of_query->rank != 2 || ref_axis(of_query, 1) != over) return false;
    const struct expr *row = of_query->sub[0];
    while (row->op == EXPR_MAX || row->op == EXPR_MIN) row = row->arg[expr_axes(row->arg[0]) >> query & 1 ? 0 : 1];
    return known_difference(x->m, row, d->last, after);
}

/* Lets the functions of runtime/kernel/decayed_rows.h have room for the keys of r's array. */
static void need_keys(struct emitter *x, const struct ref *r, int key)
{
    const struct array *const a = &x->l->array[r->of];
    for (int k = 0; k < a->rank; k++)
        if (ref_axis(r, k) == key && a->extent[k] > x->decayed_keys)
            x->decayed_keys = (a->extent[k] + DECAYED_BLOCK - 1) / DECAYED_BLOCK * DECAYED_BLOCK;
}

/* The arguments of a call. */
struct call_list {
    struct emitter *x;
    const struct stmt *s;
    int count;
    struct product_argument argument[24];
};
static const char of_size[] = "int64_t ";

static void add(struct call_list *c, const char *name, const char *type, const char *value)
{
    c->argument[c->count++] = (struct product_argument){name, type, value};
}

/* Adds the logarithms of the queries or keys, and the distances of their rows along `axis` if it is not -1. If `log` is
   NULL, the call has none. */
static void add_logs(struct call_list *c, const char *name, const struct ref *log, int axis)
{
    for (int k = 0; k < 2; k++) {
        const bool has = log && k < c->s->decays->logs;
        const char *const own = emit_format(c->x, "%s%s", name, k ? "_low" : "");
        add(c, own, c->x->input, has ? emit_corner(c->x, c->s, &log[k]) : "NULL");
        if (axis >= 0) add(c, emit_format(c->x, "%s_row", own), of_size, has ? emit_step(c->x, &log[k], axis) : "0");
    }
}

/* Returns the arguments that all calls have. */
static struct call_list call_of(struct emitter *x, const struct stmt *s, int query, int key, int over)
{
    const struct decaying *const d = s->decays;
    const bool narrow = x->m->dtype != DTYPE_F64;
    const char *const real = emit_format(x, "const %s ", x->real);
    /* the key of the first query, counted from the first key of the tile */
    const struct expr *const first = expr_sub(
        x->m, expr_replace(x->m, d->last, expr_index(x->m, query), expr_lo(x->m, query)), expr_lo(x->m, key));
    return (struct call_list){x,
                              s,
                              6,
                              {{"lanes", of_size, emit_range(x, query)},
                               {"rows", of_size, emit_range(x, key)},
                               {"steps", of_size, emit_range(x, over)},
                               {"first", of_size, emit_integer(x, first)},
                               {"times", real, emit_number(x, d->times, narrow)},
                               {"scale", real, emit_number(x, d->scale, narrow)}}};
}

/* Prints a sum of rows over keys or queries. */
static bool emit_decayed_sum(struct emitter *x, const struct stmt *s)
{
    const struct decaying *const d = s->decays;
    const struct ref *const to = &s->assign[0].to;
    struct module *const m = x->m;
    const int over = s->axes[2];
    const bool keys = expr_axes(d->last) >> s->axes[0] & 1; /* it sums over keys */
    const int query = s->axes[!keys], key = s->axes[keys];
    const struct array *const pairs = &x->l->array[d->x.of];
    bool fits = !emit_apart(x, key) && !emit_apart(x, query) && m->axis[over].extent % x->lanes == 0 &&
                along(x, to, s->axes[0], over) && pairs->kind == ARRAY_TILE && pairs->offset >= 0 && d->x.rank == 2 &&
                pairs->dtype == dtype_of_sums(m->dtype) && !pairs->paired && !pairs->matrix &&
                has_rows(x, &d->y, over, s->axes[1], s->axes[0]);
    for (int k = 0; k < d->logs; k++)
        fits = fits && has_rows(x, &d->a[k], over, query, key) && has_rows(x, &d->b[k], over, key, query);
    if (!fits) return false;

    struct call_list call = call_of(x, s, query, key, over), *const c = &call;
    add(c, "p", x->input, emit_corner(x, s, &d->x));
    add(c, "p_query", of_size, emit_step(x, &d->x, query));
    add(c, "p_key", of_size, emit_step(x, &d->x, key));
    add(c, "y", x->input, emit_corner(x, s, &d->y));
    add(c, "y_row", of_size, emit_step(x, &d->y, s->axes[1]));
    add_logs(c, "a", d->a, query);
    add_logs(c, "b", d->b, key);
    add(c, "to", x->output, emit_corner(x, s, to));
    add(c, "to_row", of_size, emit_step(x, to, s->axes[0]));
    need_keys(x, &d->x, key);
    emit_line(x, "/* %s[%s][%s] += sum over %s of %s * %s * a decay */", emit_array(x, to), m->axis[s->axes[0]].name,
              m->axis[over].name, m->axis[s->axes[1]].name, emit_array(x, &d->x), emit_array(x, &d->y));
    emit_product_call(x, keys ? "decayed_keys" : "decayed_queries", c->argument, c->count);
    return true;
}

bool emit_decayed(struct emitter *x, const struct stmt *s)
{
    const struct decaying *const d = s->decays;
    if (stmt_sums_elements(x->m, s)) return emit_decayed_sum(x, s);
    const struct ref *const to = &s->assign[0].to;
    struct module *const m = x->m;
    const bool rows = ref_axis(to, 1) == s->axes[1];
    const int over = s->axes[rows ? 2 : 1], last = s->axes[rows ? 1 : 2],
              key = ref_uses_axis(&d->y, s->axes[0]) ? s->axes[0] : last, query = key == last ? s->axes[0] : last;
    bool fits = !emit_apart(x, key) && !emit_apart(x, query), same = rows;
    int64_t after = 0;
    if (rows) {
        fits = fits && m->axis[over].source == SIZE_CONSTANT && m->axis[over].extent % x->lanes == 0 &&
               has_rows(x, &d->x, over, query, key) && has_rows(x, &d->y, over, key, query);
        for (int k = 0; k < d->logs; k++) same &= at_keys(x, d, k, over, query, &after);
        for (int k = 0; k < d->logs; k++)
            fits = fits && (same || has_rows(x, &d->a[k], over, query, key)) && has_rows(x, &d->b[k], over, key, query);
    } else {
        fits = fits && along(x, &d->x, over, query) && along(x, &d->y, over, key);
        for (int k = 0; k < d->logs; k++) /* one stride must do for the numbers of the queries, and one for the keys */
            fits = fits && along(x, &d->a[k], over, query) && along(x, &d->b[k], over, key) &&
                   emit_steps_equal(x, &d->a[k], &d->x, over) && emit_steps_equal(x, &d->b[k], &d->y, over);
    }
    if (!fits) return false;

    struct call_list call = call_of(x, s, query, key, over), *const c = &call;
    add(c, "x", x->input, emit_corner(x, s, &d->x));
    if (rows) add(c, "x_row", of_size, emit_step(x, &d->x, query));
    add_logs(c, "a", same ? NULL : d->a, rows ? query : -1);
    if (!rows) add(c, "x_step", of_size, emit_step(x, &d->x, over));
    add(c, "y", x->input, emit_corner(x, s, &d->y));
    if (rows) add(c, "y_row", of_size, emit_step(x, &d->y, key));
    add_logs(c, "b", d->b, rows ? key : -1);
    if (!rows) add(c, "y_step", of_size, emit_step(x, &d->y, over));
    if (rows) add(c, "after", of_size, emit_format(x, "%lld", same ? (long long)after : 0));
    add(c, "w", x->output, emit_corner(x, s, to));
    add(c, rows ? "w_query" : "w_row", of_size, emit_step(x, to, rows ? query : key));
    if (rows) add(c, "w_key", of_size, emit_step(x, to, key));
    if (rows) need_keys(x, to, key);
    emit_line(x, "/* %s[%s][%s] += sum over %s of %s * %s * a decay, for %s up to the query's last key */",
              emit_array(x, to), m->axis[s->axes[0]].name, m->axis[last].name, m->axis[over].name, emit_array(x, &d->y),
              emit_array(x, &d->x), m->axis[key].name);
    emit_product_call(x, rows ? "decayed_rows" : "decayed", c->argument, c->count);
    return true;
}
