/* Questions about expressions, and rewriting. A caller says what holds for one expression. These functions do the
   recursion. */
#include "expr_query.h"

bool expr_any(const struct expr *e, expr_question *ask, const void *of)
{
    if (!e) return false;
    const enum answer answer = ask(of, e);
    for (int k = 0; k < expr_arity(e->op) && answer == ANSWER_ARGUMENTS; k++)
        if (expr_any(e->arg[k], ask, of)) return true;
    return answer == ANSWER_YES;
}

bool expr_all(const struct expr *e, expr_question *ask, const void *of)
{
    if (!e) return true;
    const enum answer answer = ask(of, e);
    for (int k = 0; k < expr_arity(e->op) && answer == ANSWER_ARGUMENTS; k++)
        if (!expr_all(e->arg[k], ask, of)) return false;
    return answer != ANSWER_NO;
}

void expr_each(const struct expr *e, expr_visit *visit, void *to)
{
    if (!e || !visit(to, e)) return;
    for (int k = 0; k < expr_arity(e->op); k++) expr_each(e->arg[k], visit, to);
}

uint32_t expr_bits(const struct expr *e, expr_bits_of *bits, const void *of)
{
    bool arguments = true;
    uint32_t all = bits(of, e, &arguments);
    for (int k = 0; k < expr_arity(e->op) && arguments; k++) all |= expr_bits(e->arg[k], bits, of);
    return all;
}

/* ---- rewriting ---- */

const struct expr *expr_map(struct module *m, const struct expr *e, expr_rewrite *rewrite, void *of)
{
    const struct expr *const made = rewrite(of, e), *arg[3] = {NULL, NULL, NULL};
    if (made) return made;
    for (int k = 0; k < expr_arity(e->op); k++) arg[k] = expr_map(m, e->arg[k], rewrite, of);
    return expr_with_args(m, e, arg);
}

const struct expr *expr_map_up(struct module *m, const struct expr *e, expr_rewrite *rewrite, void *of)
{
    const struct expr *arg[3] = {NULL, NULL, NULL};
    for (int k = 0; k < expr_arity(e->op); k++) arg[k] = expr_map_up(m, e->arg[k], rewrite, of);
    e = expr_with_args(m, e, arg);
    const struct expr *const made = rewrite(of, e);
    return made ? made : e;
}

/* The argument of a rewrite: replaces `from` by `to`, or the operands. */
struct replacement {
    const struct expr *from, *to;
    const struct expr *const *operand;
};

static const struct expr *replaced(void *of, const struct expr *e)
{
    const struct replacement *const r = of;
    if (e == r->from) return r->to;
    return e->id <= r->from->id ? e : NULL; /* an expression is made after its arguments */
}

const struct expr *expr_replace(struct module *m, const struct expr *e, const struct expr *from, const struct expr *to)
{
    return expr_map(m, e, replaced, &(struct replacement){from, to, NULL});
}

static const struct expr *bound(void *of, const struct expr *e)
{
    const struct replacement *const r = of;
    return e->op == EXPR_OPERAND ? r->operand[e->integer] : expr_has(e, EXPR_OPERAND) ? NULL : e;
}

const struct expr *expr_bind(struct module *m, const struct expr *e, const struct expr *const *with)
{
    return expr_map(m, e, bound, &(struct replacement){.operand = with});
}

/* ---- what is in an expression ---- */

bool expr_reads_ids(const struct expr *e)
{
    return expr_has_one(e, EXPR_BIT(EXPR_ID) | EXPR_BIT(EXPR_MIN_ID) | EXPR_BIT(EXPR_MAX_ID) | EXPR_BIT(EXPR_ANY_ID) |
                               EXPR_BIT(EXPR_ELEMENT));
}

static enum answer is_part(const void *of, const struct expr *e)
{
    const struct expr *const part = of;
    return e == part ? ANSWER_YES : e->id < part->id ? ANSWER_NO : ANSWER_ARGUMENTS;
}

bool expr_uses(const struct expr *e, const struct expr *part)
{
    return expr_any(e, is_part, part);
}

static enum answer is_id_along(const void *of, const struct expr *e)
{
    const uint32_t *const axes = of;
    if (!(e->axes & *axes)) return ANSWER_NO;
    return e->op == EXPR_ID || e->op == EXPR_ELEMENT ? ANSWER_YES : ANSWER_ARGUMENTS;
}

bool expr_ids_along(const struct expr *e, uint32_t axes)
{
    return expr_any(e, is_id_along, &axes);
}

/* ---- references ---- */

bool ref_equal(const struct ref *a, const struct ref *b)
{
    if (a->of != b->of || a->rank != b->rank) return false;
    for (int k = 0; k < a->rank; k++)
        if (a->sub[k] != b->sub[k]) return false;
    return true;
}

int ref_axis(const struct ref *r, int k)
{
    return r->sub[k]->op == EXPR_INDEX ? (int)r->sub[k]->integer : -1;
}

uint32_t ref_axes(const struct ref *r)
{
    uint32_t axes = 0;
    for (int k = 0; k < r->rank; k++) axes |= expr_axes(r->sub[k]);
    return axes;
}

bool ref_uses_axis(const struct ref *r, int axis)
{
    return ref_axes(r) >> axis & 1;
}

bool ref_computes_with(const struct ref *r, int axis)
{
    for (int k = 0; k < r->rank; k++)
        if (ref_axis(r, k) < 0 && expr_axes(r->sub[k]) >> axis & 1) return true;
    return false;
}

struct along {
    const struct ref *operand;
    int axis;
};

static enum answer runs_along(const void *of, const struct expr *e)
{
    const struct along *const x = of;
    if (e->op == EXPR_OPERAND && ref_uses_axis(&x->operand[e->integer], x->axis)) return ANSWER_YES;
    return e->axes >> x->axis & 1 ? ANSWER_YES : expr_has(e, EXPR_OPERAND) ? ANSWER_ARGUMENTS : ANSWER_NO;
}

bool expr_uses_axis(const struct expr *e, const struct ref *operand, int axis)
{
    return expr_any(e, runs_along, &(struct along){operand, axis});
}

/* ---- sums, products and linear expressions ---- */

/* Appends the terms of e, or of -e, to the `count` terms. Returns their number, or -1 if there are too many. */
static int add_terms(const struct expr *e, bool minus, struct expr_term *term, int count, int max)
{
    if (e->op == EXPR_ADD || e->op == EXPR_SUB || e->op == EXPR_NEG) {
        count = add_terms(e->arg[0], minus != (e->op == EXPR_NEG), term, count, max);
        return count < 0 || e->op == EXPR_NEG ? count
                                              : add_terms(e->arg[1], minus != (e->op == EXPR_SUB), term, count, max);
    }
    if (count == max) return -1;
    term[count] = (struct expr_term){e, minus};
    return count + 1;
}

int expr_terms(const struct expr *e, struct expr_term *term, int max)
{
    return add_terms(e, false, term, 0, max);
}

int expr_factors(const struct expr *e, const struct expr **factor, int max)
{
    if (e->op == EXPR_MUL) {
        const int left = expr_factors(e->arg[0], factor, max);
        const int right = left < 0 ? -1 : expr_factors(e->arg[1], factor + left, max - left);
        return right < 0 ? -1 : left + right;
    }
    if (max == 0) return -1;
    *factor = e;
    return 1;
}

bool expr_linear(struct module *m, const struct expr *e, int axis, const struct expr **slope, const struct expr **rest)
{
    const struct expr *slopes[2] = {NULL, NULL}, *rests[2] = {NULL, NULL};
    const bool has = e->axes >> axis & 1;
    if (!has || e->op == EXPR_INDEX) {
        *slope = expr_int(m, has);
        *rest = has ? expr_int(m, 0) : e;
        return true;
    }
    if (e->op != EXPR_ADD && e->op != EXPR_SUB && e->op != EXPR_NEG && e->op != EXPR_MUL) return false;
    for (int k = 0; k < expr_arity(e->op); k++)
        if (!expr_linear(m, e->arg[k], axis, &slopes[k], &rests[k])) return false;
    *rest = expr_make(m, e->op, rests[0], rests[1], NULL);
    if (e->op == EXPR_MUL) {
        const int of = !expr_is_real(slopes[1], 0);
        if (!expr_is_real(slopes[!of], 0)) return false;
        *slope = expr_make(m, EXPR_MUL, slopes[of], e->arg[!of], NULL);
    } else {
        *slope = expr_make(m, e->op, slopes[0], slopes[1], NULL);
    }
    return true;
}
