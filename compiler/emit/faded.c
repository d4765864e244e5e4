/* Finds loops over tiles of pairs whose weights a decay can make too small to count, and prints the test that skips
   such a tile.
   - The exponent of a weight must be s + (a - b) * c - x. s is an inner product of two vectors, a and b are prefix sums
     of the decay at the query and at the key, and x is a number for each query.
   - By Cauchy and Schwarz, |s| is at most the product of the largest norms of the vectors of the tile.
   - If x does not change in the loop, as in backward, it is the logarithm of the query's sum. So the weight is the
     key's share of the sum.
   - Otherwise x is a running maximum. The query's own key has no decay, so its exponent is at least minus the product
   of norms. The share is then relative to that key.
   - A tile is skipped if each share is below 2^-24 / n_k, or 2^-53 / n_k in f64. All skipped tiles together change a
   sum by less than its last bit. */
#include "emit.h"
#include "printer.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"

#include <string.h>

/* Returns whether r refers to the prefix sums, or to a tile with a copy of them. */
static bool is_prefix(const struct loops *l, const struct ref *r, enum prefix_array array)
{
    const char *const name = l->array[r->of].name, *const wanted = prefix_array_name(array);
    const size_t length = strlen(wanted);
    return strcmp(name, wanted) == 0 ||
           (l->array[r->of].kind == ARRAY_TILE && strncmp(name, wanted, length) == 0 &&
            (strcmp(name + length, "_tile") == 0 || strncmp(name + length, "_tile_", 6) == 0));
}

/* Returns operand number k of the map if e is an operand, or NULL. */
static const struct ref *operand_of(const struct stmt *map, const struct expr *e)
{
    return e->op == EXPR_OPERAND ? &map->operand[e->integer] : NULL;
}

/* Returns whether e is a difference of the prefix sums, or of their low parts. */
static bool is_difference(const struct loops *l, const struct stmt *map, const struct expr *e, bool low,
                          struct faded *out)
{
    if (e->op != EXPR_SUB) return false;
    const struct ref *const a = operand_of(map, e->arg[0]), *const b = operand_of(map, e->arg[1]);
    if (!a || !b || !is_prefix(l, a, low ? PREFIX_OF_QUERY_LOW : PREFIX_OF_QUERY) ||
        !is_prefix(l, b, low ? PREFIX_OF_KEY_LOW : PREFIX_OF_KEY))
        return false;
    if (!low) out->of_query = *a, out->of_key = *b;
    return true;
}

/* Returns whether e is the inner product `product` plus the difference of prefix sums times a constant. */
static bool is_decayed(const struct loops *l, const struct stmt *map, const struct expr *e, const struct ref *product,
                       struct faded *out)
{
    if (e->op != EXPR_ADD || e->arg[1]->op != EXPR_MUL || e->arg[1]->arg[1]->op != EXPR_REAL) return false;
    const struct ref *const s = operand_of(map, e->arg[0]);
    const struct expr *const sum = e->arg[1]->arg[0];
    out->unit = e->arg[1]->arg[1]->real;
    return s && ref_equal(s, product) && sum->op == EXPR_ADD && is_difference(l, map, sum->arg[0], false, out) &&
           is_difference(l, map, sum->arg[1], true, out);
}

static bool writes(const struct stmt *s, int array)
{
    for (; s; s = s->next) {
        for (int k = 0; k < s->assigns; k++)
            if (s->assign[k].to.of == array) return true;
        if (writes(s->body, array)) return true;
    }
    return false;
}

/* Finds exp2(decayed - x) in e, and sets x. `plain`: the reference of the inner product, which may already include the
   decay. */
static bool find_exponent(const struct loops *l, const struct stmt *map, const struct expr *e,
                          const struct ref *product, bool decayed, struct faded *out)
{
    if (e->op == EXPR_EXP2 && e->arg[0]->op == EXPR_SUB) {
        const struct expr *const from = e->arg[0]->arg[0];
        const struct ref *const x = operand_of(map, e->arg[0]->arg[1]), *const s = operand_of(map, from);
        if (x && (decayed ? s && ref_equal(s, product) : is_decayed(l, map, from, product, out))) {
            out->shift = *x;
            return true;
        }
    }
    for (int k = 0; k < expr_arity(e->op); k++)
        if (find_exponent(l, map, e->arg[k], product, decayed, out)) return true;
    return false;
}

/* Returns whether a statement only masks the product: select(region, s, -inf). */
static bool masks(const struct stmt *s, const struct ref *product)
{
    const struct expr *const e = s->op == LOOPS_MAP && s->assigns == 1 ? s->assign[0].expr : NULL;
    return e && e->op == EXPR_SELECT && s->assign[0].to.of == product->of && e->arg[1]->op == EXPR_OPERAND &&
           ref_equal(&s->operand[e->arg[1]->integer], product);
}

/* Looks for the exponent of the weights in the statements after the inner product. A map in an IF may also mask what it
   sets, and another IF has the same map without the mask (pass/masked_maps.c). */
static bool exponent_after(const struct loops *l, const struct stmt *dot, struct faded *out)
{
    const struct ref *const product = &dot->assign[0].to;
    bool decayed = false;
    for (const struct stmt *s = dot->next; s; s = s->next) {
        const bool in_if = s->op == LOOPS_IF && s->body && !s->body->next;
        const struct stmt *const one = in_if ? s->body : s;
        if (masks(one, product)) continue;
        if (one->op != LOOPS_MAP) {
            if (s->op != LOOPS_DOT || s->assign[0].to.of == product->of) return false;
            continue;
        }
        for (int k = 0; k < one->assigns; k++) {
            const struct assign *const a = &one->assign[k];
            const struct expr *const e = in_if && a->expr->op == EXPR_SELECT ? a->expr->arg[1] : a->expr;
            if (find_exponent(l, one, e, product, decayed, out)) return true;
            if (a->to.of != product->of) continue;
            if ((decayed && !in_if) || a->fold != FOLD_SET || !is_decayed(l, one, e, product, out)) return false;
            decayed = true;
        }
    }
    return false;
}

/* Returns whether the region always holds. In e, the position of the query is in place of the key's. */
static bool contains_own(struct module *m, const struct expr *e)
{
    int64_t difference;
    switch ((int)e->op) {
    case EXPR_INT: return e->integer != 0;
    case EXPR_AND: return contains_own(m, e->arg[0]) && contains_own(m, e->arg[1]);
    case EXPR_OR: return contains_own(m, e->arg[0]) || contains_own(m, e->arg[1]);
    case EXPR_LE: return known_difference(m, e->arg[1], e->arg[0], &difference) && difference >= 0;
    case EXPR_LT: return known_difference(m, e->arg[1], e->arg[0], &difference) && difference > 0;
    default: return false;
    }
}

static int axis_from(const struct module *m, enum size_source source)
{
    for (int a = 0; a < m->axes; a++)
        if (m->axis[a].source == source) return a;
    return -1;
}

bool emit_fades(const struct compilation *c, const struct stmt *loop, struct faded *out)
{
    const struct loops *const l = c->loops;
    struct module *const m = l->module;
    const struct stmt *dot = loop->body;
    *out = (struct faded){0};
    while (dot && dot->op != LOOPS_DOT && dot->op != LOOPS_FOR) dot = dot->next;
    if (!loop->where || loop->period || !dot || dot->op != LOOPS_DOT || dot->assign[0].fold != FOLD_SET ||
        dot->operands != 2 || dot->times != 0 || schedule_knob(c, "faded", 1) == 0)
        return false;
    const enum dtype real = dtype_of_sums(c->spec->dtype);
    for (int k = 0; k < 2; k++)
        if (l->array[dot->operand[k].of].dtype != real || l->array[dot->operand[k].of].paired) return false;
    out->dot = dot;
    const int queries = axis_from(m, SIZE_N_Q), keys = axis_from(m, SIZE_N_K);
    if (keys < 0 || queries < 0) return false;
    out->queries = dot->axes[0] == queries ? 0 : 1;
    if (dot->axes[out->queries] != queries || dot->axes[1 - out->queries] != keys ||
        m->axis[dot->axis].source != SIZE_CONSTANT || !exponent_after(l, dot, out))
        return false;
    out->running = writes(loop->body, out->shift.of);
    if (!out->running) return true;
    const struct expr *const own = expr_query_position(m, queries, keys);
    return out->queries == 1 && l->array[dot->operand[0].of].kind == ARRAY_INPUT && !c->state.read_first &&
           contains_own(m, expr_replace(m, loop->where, expr_leaf(m, EXPR_INDEX, keys), own));
}

static int loops_in(const struct compilation *c, const struct stmt *s)
{
    struct faded found;
    int n = 0;
    for (; s; s = s->next) n += (s->op == LOOPS_FOR && emit_fades(c, s, &found)) + loops_in(c, s->body);
    return n;
}

int emit_faded_loops(const struct compilation *c)
{
    return loops_in(c, c->loops->body);
}

bool emit_any_fades(const struct compilation *const *c, int compilations)
{
    for (int k = 0; k < compilations; k++)
        if (emit_faded_loops(c[k])) return true;
    return false;
}

const char *knob_faded(const struct knob_case *x, struct tune_knob *knob)
{
    if (!x->quadratic || !emit_faded_loops(x->quadratic))
        return "it has no loop over tiles whose weights a decay can make too small, or no bound of the weights is "
               "known";
    knob_set_values(knob, 1, 1, (const int64_t[]){0});
    return NULL;
}

/* Returns C for the numbers of an array in the current range of its axis: their address, count and distance. */
static const char *numbers(struct emitter *x, const struct stmt *s, const struct ref *r, int axis)
{
    return arena_printf(x->m->arena, "%s, %s, %s", emit_corner(x, s, r), emit_range(x, axis), emit_step(x, r, axis));
}

void emit_faded(struct emitter *x, const struct faded *faded)
{
    const struct stmt *const dot = faded->dot;
    struct arena *const arena = x->m->arena;
    const int queries = dot->axes[faded->queries], keys = dot->axes[1 - faded->queries];
    const long long elements = (long long)x->m->axis[dot->axis].extent;
    const char *norm[2], *other, *before = "", *const gap = arena_printf(arena, "%s_gap", x->m->axis[keys].name);
    for (int k = 0; k < 2; k++) {
        const struct ref *const r = &dot->operand[k];
        const char *const step = emit_step(x, r, dot->axes[k]), *const stride = emit_step(x, r, dot->axis);
        const bool rows = emit_adjacent(x, r, dot->axis);
        if (!rows && !emit_adjacent(x, r, dot->axes[k])) return;
        norm[k] = arena_printf(arena, "max_norm_of_%s(%s, %s, %s, %lld)", rows ? "rows" : "columns",
                               emit_corner(x, dot, r), emit_range(x, dot->axes[k]), rows ? step : stride, elements);
    }
    other = norm[0];
    if (faded->running) { /* the queries' own keys */
        struct module *const m = x->m;
        struct ref own = dot->operand[0];
        const struct expr *const start = expr_query_start(m, queries, keys),
                                 *const first = expr_make(
                                     m, EXPR_MAX, expr_make(m, EXPR_ADD, expr_leaf(m, EXPR_LO, queries), start, NULL),
                                     expr_int(m, 0), NULL),
                                 *const end = expr_make(m, EXPR_ADD, expr_leaf(m, EXPR_HI, queries), start, NULL);
        before = arena_printf(arena, "%s <= n_k && ", emit_integer_text(x, end, false)); /* else some have no own key */
        for (int k = 0; k < own.rank; k++) {
            const int axis = ref_axis(&own, k);
            if (axis == keys) own.sub[k] = first;
            if (axis == dot->axis) own.sub[k] = expr_int(m, 0);
        }
        other = arena_printf(arena, "(%s + max_norm_of_rows(%s, %s, %s, %lld))", norm[0], emit_address(x, &own),
                             emit_integer(x, expr_make(m, EXPR_SUB, end, first, NULL)),
                             emit_step(x, &dot->operand[0], keys), elements);
    }
    emit_line(x, "/* skips the tile if the decay makes all its weights too small to change a sum */");
    emit_line(x, "const double %s = max_gap(%s, %s, %.17g)%s;", gap, numbers(x, dot, &faded->of_query, queries),
              numbers(x, dot, &faded->of_key, keys), faded->unit,
              faded->running ? "" : arena_printf(arena, " - min_of(%s)", numbers(x, dot, &faded->shift, queries)));
    emit_line(x, "if (%sfades(%s, n_k) && fades(%s + %s * %s, n_k)) continue;", before, gap, gap, norm[1], other);
}
