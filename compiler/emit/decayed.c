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

    struct arena *const arena = m->arena;
    const bool low = d->logs > 1, narrow = m->dtype != DTYPE_F64;
    const char *const size = "int64_t ", *const numbers = arena_printf(arena, "const %s *", x->real),
                      *const real = arena_printf(arena, "const %s ", x->real);
    const struct expr *const first = expr_sub(m, expr_replace(m, d->last, expr_index(m, query), expr_lo(m, query)),
                                              expr_lo(m, key));
    const struct product_argument argument[] = {
        {"lanes", size, emit_range(x, query)},
        {"rows", size, emit_range(x, key)},
        {"steps", size, emit_range(x, over)},
        {"first", size, emit_integer(x, first)},
        {"times", real, emit_number(x, d->times, narrow)},
        {"scale", real, emit_number(x, d->scale, narrow)},
        {"p", numbers, emit_corner(x, s, &d->x)},
        {"p_query", size, emit_step(x, &d->x, query)},
        {"p_key", size, emit_step(x, &d->x, key)},
        {"y", numbers, emit_corner(x, s, &d->y)},
        {"y_row", size, emit_step(x, &d->y, s->axes[1])},
        {"a", numbers, emit_corner(x, s, &d->a[0])},
        {"a_row", size, emit_step(x, &d->a[0], query)},
        {"a_low", numbers, low ? emit_corner(x, s, &d->a[1]) : "NULL"},
        {"a_low_row", size, low ? emit_step(x, &d->a[1], query) : "0"},
        {"b", numbers, emit_corner(x, s, &d->b[0])},
        {"b_row", size, emit_step(x, &d->b[0], key)},
        {"b_low", numbers, low ? emit_corner(x, s, &d->b[1]) : "NULL"},
        {"b_low_row", size, low ? emit_step(x, &d->b[1], key) : "0"},
        {"to", arena_printf(arena, "%s *", x->real), emit_corner(x, s, to)},
        {"to_row", size, emit_step(x, to, s->axes[0])},
    };
    need_keys(x, &d->x, key);
    emit_line(x, "/* %s[%s][%s] += sum over %s of %s * %s * a decay */", emit_array(x, to), m->axis[s->axes[0]].name,
              m->axis[over].name, m->axis[s->axes[1]].name, emit_array(x, &d->x), emit_array(x, &d->y));
    emit_product_call(x, keys ? "decayed_keys" : "decayed_queries", argument,
                      (int)(sizeof argument / sizeof *argument));
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

    struct arena *const arena = m->arena;
    const bool low = d->logs > 1, narrow = m->dtype != DTYPE_F64;
    const char *const size = "int64_t ", *const numbers = arena_printf(arena, "const %s *", x->real),
                      *const real = arena_printf(arena, "const %s ", x->real);
    /* the key of the first query, counted from the first key of the tile */
    const struct expr *const first = expr_sub(m, expr_replace(m, d->last, expr_index(m, query), expr_lo(m, query)),
                                              expr_lo(m, key));
    const struct product_argument argument[] = {
        {"lanes", size, emit_range(x, query)},
        {"rows", size, emit_range(x, key)},
        {"steps", size, emit_range(x, over)},
        {"first", size, emit_integer(x, first)},
        {"times", real, emit_number(x, d->times, narrow)},
        {"scale", real, emit_number(x, d->scale, narrow)},
        {"x", numbers, emit_corner(x, s, &d->x)},
        {"x_row", size, rows ? emit_step(x, &d->x, query) : NULL},
        {"a", numbers, same ? "NULL" : emit_corner(x, s, &d->a[0])},
        {"a_row", size,
         !rows  ? NULL
         : same ? "0"
                : emit_step(x, &d->a[0], query)},
        {"a_low", numbers, low && !same ? emit_corner(x, s, &d->a[1]) : "NULL"},
        {"a_low_row", size,
         !rows          ? NULL
         : low && !same ? emit_step(x, &d->a[1], query)
                        : "0"},
        {"x_step", size, rows ? NULL : emit_step(x, &d->x, over)},
        {"y", numbers, emit_corner(x, s, &d->y)},
        {"y_row", size, rows ? emit_step(x, &d->y, key) : NULL},
        {"b", numbers, emit_corner(x, s, &d->b[0])},
        {"b_row", size, rows ? emit_step(x, &d->b[0], key) : NULL},
        {"b_low", numbers, low ? emit_corner(x, s, &d->b[1]) : "NULL"},
        {"b_low_row", size,
         !rows ? NULL
         : low ? emit_step(x, &d->b[1], key)
               : "0"},
        {"y_step", size, rows ? NULL : emit_step(x, &d->y, over)},
        {"after", size, rows ? arena_printf(arena, "%lld", same ? (long long)after : 0) : NULL},
        {"w", arena_printf(arena, "%s *", x->real), emit_corner(x, s, to)},
        {rows ? "w_query" : "w_row", size, emit_step(x, to, rows ? query : key)},
        {"w_key", size, rows ? emit_step(x, to, key) : NULL},
    };
    if (rows) need_keys(x, to, key);
    emit_line(x, "/* %s[%s][%s] += sum over %s of %s * %s * a decay, for %s up to the query's last key */",
              emit_array(x, to), m->axis[s->axes[0]].name, m->axis[last].name, m->axis[over].name, emit_array(x, &d->y),
              emit_array(x, &d->x), m->axis[key].name);
    emit_product_call(x, rows ? "decayed_rows" : "decayed", argument, (int)(sizeof argument / sizeof *argument));
    return true;
}
