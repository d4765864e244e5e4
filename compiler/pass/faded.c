/* Finds loops over tiles of pairs whose weights a decay can make too small to count. Such a loop skips a tile before
   its first product, which gets the mark 'fades' (struct fading in ir/loops.h).
   - The exponent of a weight must be s + (a - b) * c - x. s is an inner product of two vectors, a and b are prefix sums
     of the decay at the query and at the key, and x is a number for each query.
   - By Cauchy and Schwarz, |s| is at most the product of the largest norms of the vectors of the tile.
   - If x does not change in the loop, as in backward, it is the logarithm of the query's sum. So the weight is the
     key's share of the sum.
   - Otherwise x is a running maximum. The query's own key has no decay, so its exponent is at least minus the product
     of norms. The share is then relative to that key.
   - A tile is skipped if each share is below 2^-24 / n_k, or 2^-53 / n_k in f64. All skipped tiles together change a
     sum by less than its last bit. */
#include "pass.h"
#include "../analysis/analysis.h"

#include <string.h>

/* A search for the exponent in the maps after product `dot`. */
struct search {
    const struct loops *l;
    const struct stmt *map;
    const struct ref *product;
    bool decayed; /* the tile of the product already includes the decay */
    struct fading *out;
};

/* Whether e is an operand with the prefix sums, or with a tile that a COPY fills with them. If so, sets *r. */
static bool is_prefix(const struct search *x, const struct expr *e, enum prefix_array array, struct ref *r)
{
    if (e->op != EXPR_OPERAND) return false;
    const char *const name = prefix_array_name(array);
    *r = x->map->operand[e->integer];
    bool found = strcmp(x->l->array[r->of].name, name) == 0;
    struct stmts w = {.list = x->l->body};
    for (const struct stmt *s; !found && (s = stmts_next(&w));)
        found = s->op == LOOPS_COPY && s->assign[0].to.of == r->of &&
                strcmp(x->l->array[s->operand[0].of].name, name) == 0;
    return found;
}

static bool is_product(const struct search *x, const struct expr *e)
{
    return e->op == EXPR_OPERAND && ref_equal(&x->map->operand[e->integer], x->product);
}

/* Whether e is the inner product plus the difference of prefix sums, in two parts, times a constant. */
static bool is_decayed(const struct search *x, const struct expr *e)
{
    struct ref low;
    if (e->op != EXPR_ADD || !is_product(x, e->arg[0]) || e->arg[1]->op != EXPR_MUL) return false;
    const struct expr *const sum = e->arg[1]->arg[0], *const unit = e->arg[1]->arg[1];
    if (unit->op != EXPR_REAL || sum->op != EXPR_ADD || sum->arg[0]->op != EXPR_SUB || sum->arg[1]->op != EXPR_SUB)
        return false;
    x->out->unit = unit->real;
    return is_prefix(x, sum->arg[0]->arg[0], PREFIX_OF_QUERY, &x->out->of_query) &&
           is_prefix(x, sum->arg[0]->arg[1], PREFIX_OF_KEY, &x->out->of_key) &&
           is_prefix(x, sum->arg[1]->arg[0], PREFIX_OF_QUERY_LOW, &low) &&
           is_prefix(x, sum->arg[1]->arg[1], PREFIX_OF_KEY_LOW, &low);
}

/* Whether e has exp2(decayed product - x). */
static bool has_exponent(const struct search *x, const struct expr *e)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        const struct expr *const exponent = w.e->op == EXPR_EXP2 ? w.e->arg[0] : NULL;
        if (!exponent || exponent->op != EXPR_SUB || exponent->arg[1]->op != EXPR_OPERAND ||
            !(x->decayed ? is_product : is_decayed)(x, exponent->arg[0]))
            continue;
        x->out->shift = x->map->operand[exponent->arg[1]->integer];
        return true;
    }
    return false;
}

/* Whether a statement only masks the product: select(region, s, -inf). */
static bool masks(struct search *x, const struct stmt *s)
{
    x->map = s;
    return stmt_mask(s) && ref_equal(&s->assign[0].to, x->product);
}

/* Looks for the exponent of the weights in the statements after the inner product. A map in an IF may also mask what it
   sets, and another IF has the same map without the mask (pass/masked_maps.c). */
static bool exponent_after(struct search *x, const struct stmt *dot)
{
    for (const struct stmt *s = dot->next; s; s = s->next) {
        const bool in_if = s->op == LOOPS_IF && s->body && !s->body->next;
        const struct stmt *const one = in_if ? s->body : s;
        if (masks(x, one)) continue;
        if (one->op != LOOPS_MAP && (s->op != LOOPS_DOT || s->assign[0].to.of == x->product->of)) return false;
        for (int k = 0; one->op == LOOPS_MAP && k < one->assigns; k++) {
            const struct assign *const a = &one->assign[k];
            const struct expr *const e = in_if && a->expr->op == EXPR_SELECT ? a->expr->arg[1] : a->expr;
            if (has_exponent(x, e)) return true;
            if (a->to.of != x->product->of) continue;
            if ((x->decayed && !in_if) || a->fold != FOLD_SET || !is_decayed(x, e)) return false;
            x->decayed = true;
        }
    }
    return false;
}

/* Whether the region always holds. In e, the position of the query is in place of the key's. */
static bool always_holds(struct module *m, const struct expr *e)
{
    int64_t difference;
    if (e->op == EXPR_INT) return e->integer != 0;
    if (e->op == EXPR_AND) return always_holds(m, e->arg[0]) && always_holds(m, e->arg[1]);
    if (e->op == EXPR_OR) return always_holds(m, e->arg[0]) || always_holds(m, e->arg[1]);
    return (e->op == EXPR_LE || e->op == EXPR_LT) && known_difference(m, e->arg[1], e->arg[0], &difference) &&
           difference >= (e->op == EXPR_LT);
}

/* Describes the test of the tiles of a loop, whose first product is `dot`. Returns false if it skips none. */
static bool fades(const struct compilation *c, const struct stmt *loop, const struct stmt *dot, struct fading *out)
{
    const struct loops *const l = c->loops;
    struct module *const m = l->module;
    struct search x = {.l = l, .product = &dot->assign[0].to, .out = out};
    if (!loop->where || loop->period || !stmt_may_fade(l, dot) || !exponent_after(&x, dot)) return false;
    out->running = stmts_writing(loop->body, out->shift.of) > 0;
    if (!out->running) return true;
    const int keys = dot->axes[0], queries = dot->axes[1];
    return m->axis[keys].source == SIZE_N_K && l->array[dot->operand[0].of].kind == ARRAY_INPUT &&
           !c->state.read_first &&
           always_holds(m, expr_replace(m, loop->where, expr_index(m, keys), expr_query_position(m, queries, keys)));
}

void pass_faded(struct compilation *c)
{
    struct stmts w = {.list = c->loops->body};
    if (schedule_knob(c, "faded", 1) == 0) return;
    for (const struct stmt *loop; (loop = stmts_next(&w));) {
        struct fading found = {.unit = 0};
        struct stmt *dot = loop->op == LOOPS_FOR ? loop->body : NULL;
        while (dot && dot->op != LOOPS_DOT && dot->op != LOOPS_FOR) dot = dot->next;
        if (!dot || !fades(c, loop, dot, &found)) continue;
        struct fading *const fading = arena_alloc(c->loops->module->arena, sizeof *fading);
        *fading = found;
        dot->fades = fading;
    }
}

const char *knob_faded(const struct knob_case *x, struct tune_knob *knob)
{
    if (!x->quadratic || !loops_fade(x->quadratic->loops))
        return "it has no loop over tiles whose weights a decay can make too small, or no bound of the weights is "
               "known";
    knob_set_values(knob, 1, 1, (const int64_t[]){0});
    return NULL;
}
