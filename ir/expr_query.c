/* Questions about expressions, and rewriting. A caller says what holds for one expression. These functions do the
   recursion. */
#include "expr_query.h"

/* The smallest argument is next. So an argument that waits is no smaller than what is visited before it, and the number
   of those that wait grows only with the logarithm of the size. */
bool exprs_next(struct exprs *w)
{
    const int arity = !w->e || w->skip ? 0 : expr_arity(w->e->op), first = w->waiting;
    const struct expr *const of = w->e;
    if (!of && w->of) w->wait[w->waiting++] = w->of;
    w->skip = false;
    for (int k = 0; k < arity; k++) {
        int at = first + k;
        for (; at > first && w->wait[at - 1]->size <= of->arg[k]->size; at--) w->wait[at] = w->wait[at - 1];
        w->wait[at] = of->arg[k];
        w->waiting++;
    }
    w->e = w->waiting ? w->wait[--w->waiting] : NULL;
    return w->e != NULL;
}

const struct expr *expr_find(const struct expr *e, expr_question *ask, void *of)
{
    const enum answer answer = ask(of, e);
    const struct expr *found = answer == ANSWER_YES ? e : NULL;
    for (int k = 0; k < expr_arity(e->op) && answer == ANSWER_ARGUMENTS && !found; k++)
        found = expr_find(e->arg[k], ask, of);
    return found;
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
    return e->id <= r->from->id ? e : NULL;
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
    return expr_has_one(e, EXPR_OF_IDS);
}

bool expr_looks_up(const struct expr *e)
{
    return expr_has_one(e, EXPR_LOOKED_UP);
}

bool expr_uses(const struct expr *e, const struct expr *part)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        if (w.e == part) return true;
        w.skip = w.e->id < part->id; /* an expression is made after its arguments */
    }
    return false;
}

bool expr_ids_along(const struct expr *e, uint32_t axes)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        w.skip = !(w.e->axes & axes);
        if (!w.skip && (w.e->op == EXPR_ID || w.e->op == EXPR_ELEMENT)) return true;
    }
    return false;
}

/* Returns the name of the integer parameter that e itself reads, without its arguments. Returns NULL if it reads
   none. */
static const char *read_here(const struct expr *e)
{
    return e->op == EXPR_DRAWN ? e->draw->name : e->op == EXPR_LISTED ? NULL : e->name;
}

const char *expr_unknown_ids(const struct expr *e, bool (*known)(const void *program, const char *name),
                             const void *program)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);)
        if (read_here(w.e) && !known(program, read_here(w.e))) return read_here(w.e);
    return NULL;
}

uint32_t expr_operands(const struct expr *e, const struct environment *env)
{
    uint32_t bits = 0;
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        const struct expr *const *const arg = w.e->arg;
        if (w.e->op == EXPR_OPERAND) bits |= AXIS(w.e->integer);
        w.skip = env && w.e->op == EXPR_SELECT;
        if (w.skip) bits |= expr_operands(arg[0], env) | expr_operands(arg[expr_eval_int(arg[0], env) ? 1 : 2], env);
    }
    return bits;
}

bool expr_lists_along(const struct expr *e, int axis)
{
    for (struct exprs w = {.of = e}; exprs_next(&w) && axis >= 0;)
        if (w.e->op == EXPR_DRAWN && w.e->draw->name &&
            (expr_axes(w.e->arg[0]) | (w.e->draw->sorted ? expr_axes(w.e->arg[1]) : 0)) >> axis & 1)
            return true;
    return false;
}

/* ---- references ---- */

bool ref_equal(const struct ref *a, const struct ref *b)
{
    if (a->of != b->of || a->rank != b->rank) return false;
    for (int k = 0; k < a->rank; k++)
        if (a->sub[k] != b->sub[k]) return false;
    return true;
}

int ref_find(const struct ref *refs, int count, const struct ref *r)
{
    for (int k = 0; k < count; k++)
        if (ref_equal(&refs[k], r)) return k;
    return -1;
}

int ref_add(struct ref *refs, int *count, const struct ref *r)
{
    const int found = ref_find(refs, *count, r);
    if (found >= 0 || *count == MAX_OPERANDS) return found;
    refs[*count] = *r;
    return (*count)++;
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
    return axis >= 0 && (ref_axes(r) >> axis & 1);
}

bool ref_computes_with(const struct ref *r, int axis)
{
    for (int k = 0; k < r->rank; k++)
        if (axis >= 0 && ref_axis(r, k) < 0 && (expr_axes(r->sub[k]) >> axis & 1)) return true;
    return false;
}

uint32_t expr_axes_read(const struct expr *e, const struct ref *operand)
{
    uint32_t axes = expr_axes(e);
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        if (w.e->op == EXPR_OPERAND) axes |= ref_axes(&operand[w.e->integer]);
        w.skip = !expr_has(w.e, EXPR_OPERAND);
    }
    return axes;
}

bool expr_uses_axis(const struct expr *e, const struct ref *operand, int axis)
{
    return expr_axes_read(e, operand) >> axis & 1;
}

const struct expr *expr_take(struct module *m, const struct expr *e, const struct ref *from, struct ref *to, int *count)
{
    const struct expr *with[MAX_OPERANDS];
    const uint32_t read = expr_operands(e, NULL);
    for (int k = 0; k < MAX_OPERANDS; k++) {
        if (!(read >> k & 1)) continue;
        const int number = ref_add(to, count, &from[k]);
        if (number < 0) return NULL;
        with[k] = expr_operand(m, number);
    }
    return expr_bind(m, e, with);
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
        *slope = expr_mul(m, slopes[of], e->arg[!of]);
    } else {
        *slope = expr_make(m, e->op, slopes[0], slopes[1], NULL);
    }
    return true;
}
