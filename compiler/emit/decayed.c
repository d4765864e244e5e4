/* Prints sums of products whose terms decay differently as calls of a function (embedded/product.c):
   w[j][l] += sum over t of x[t][l] * y[t][j] * exp2(scale * (a[t][l] - b[t][j])), for keys j at or before query l. */
#include "emit.h"
#include "printer.h"

#include <string.h>

enum { MAX_FACTORS = 6, MAX_LOGS = 2 };

/* The parts of such a sum. The lists have the operands' numbers. A logarithm can be a sum of two numbers. */
struct decayed {
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
    if (*count == MAX_LOGS || ref_uses_axis(&s->operand[e->integer], s->axes[negative ? 2 : 0])) return false;
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
            int *const to = ref_uses_axis(&s->operand[f->integer], s->axes[0]) ? &d->y : &d->x;
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

/* Returns the last key of the query of each lane, as an expression of the lane, or NULL. */
static const struct expr *last_key(struct module *m, const struct stmt *s, const struct expr *region)
{
    if (region->op == EXPR_AND) {
        const struct expr *const first = last_key(m, s, region->arg[0]);
        return first ? first : last_key(m, s, region->arg[1]);
    }
    const struct expr *const key = expr_leaf(m, EXPR_INDEX, s->axes[0]), *const lane = expr_leaf(m, EXPR_INDEX,
                                                                                                 s->axes[2]);
    if (region->op != EXPR_LE || region->arg[0] != key || expr_uses(region->arg[1], key)) return NULL;
    const struct expr *const next = expr_make(m, EXPR_ADD, lane, expr_int(m, 1), NULL);
    int64_t step;
    const bool consecutive = known_difference(m, expr_replace(m, region->arg[1], lane, next), region->arg[1], &step) &&
                             step == 1;
    return consecutive ? region->arg[1] : NULL;
}

/* Returns C for the key of lane 0, counted from the first key of the tile. */
static const char *key_of_first(struct emitter *x, const struct stmt *s, const struct expr *last)
{
    const struct expr *const lane = expr_leaf(x->m, EXPR_INDEX, s->axes[2]);
    return emit_integer(x,
                        expr_make(x->m, EXPR_SUB, expr_replace(x->m, last, lane, expr_leaf(x->m, EXPR_LO, s->axes[2])),
                                  expr_leaf(x->m, EXPR_LO, s->axes[0]), NULL));
}

bool emit_decayed(struct emitter *x, const struct stmt *s)
{
    struct decayed d = {0};
    const int row = s->axes[0], over = s->axes[1], lane = s->axes[2];
    const struct expr *const last = last_key(x->m, s, s->where);
    if (!last || emit_apart(x, row) || emit_apart(x, lane) || !list_factors(&d, s->assign[0].expr) ||
        !find_factors(&d, s) || !list_logs(&d, s, d.difference, false) || d.of_lanes != d.of_rows)
        return false;
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
        {"first", size, key_of_first(x, s, last)},
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
        if (strcmp(emit_step(x, &of[d.a[k]], over), emit_step(x, &of[d.x], over)) != 0 ||
            strcmp(emit_step(x, &of[d.b[k]], over), emit_step(x, &of[d.y], over)) != 0)
            return false;
    emit_line(x, "/* %s[%s][%s] += sum over %s of %s * %s * a decay, for %s up to the query's last key */",
              emit_array(x, to), x->m->axis[row].name, x->m->axis[lane].name, x->m->axis[over].name,
              emit_array(x, &of[d.y]), emit_array(x, &of[d.x]), x->m->axis[row].name);
    emit_product_call(x, "decayed", argument, (int)(sizeof argument / sizeof *argument));
    return true;
}
