/* Recognises weights that decay by the same factor from key to key. For query i and key j, such a weight is
   base^(i - j) * f(i) * g(j). */
#include "affine.h"
#include "decay.h"

#include <math.h>

enum { QUERY, KEY, MAX_LINES = 8 };

/* An exponent is the sum of
   - scale * (query * position of the query + key * position of the key), for each line[k]
   - terms[QUERY], which do not depend on the key
   - terms[KEY], which do not depend on the query */
struct exponent {
    struct module *m;
    const struct value *value;
    int lane, stream;
    bool ordered; /* no key comes after the query: abs(query - key) is query - key */
    int lines;
    struct {
        const struct expr *scale;
        double query, key;
    } line[MAX_LINES];
    const struct expr *terms[2];
};

static bool uses(const struct exponent *x, const struct expr *e, int axis)
{
    return expr_uses_axis(e, x->value->operand, axis);
}

static bool independent(const struct exponent *x, const struct expr *e)
{
    return !uses(x, e, x->lane) && !uses(x, e, x->stream);
}

/* Adds factor * scale * e to the terms of the query or key. Returns false if e depends on both. */
static bool add_term(struct exponent *x, const struct expr *e, const struct expr *scale, double factor)
{
    if (expr_is_real(e, 0)) return true;
    if (uses(x, e, x->lane) && uses(x, e, x->stream)) return false;
    const struct expr **terms = &x->terms[uses(x, e, x->stream) ? KEY : QUERY];
    e = expr_mul(x->m, expr_mul(x->m, e, scale), expr_real(x->m, factor));
    *terms = *terms ? expr_add(x->m, *terms, e) : e;
    return true;
}

static bool add_line(struct exponent *x, const struct expr *scale, double query, double key)
{
    int k = 0;
    while (k < x->lines && x->line[k].scale != scale) k++;
    if (k == MAX_LINES) return false;
    if (k == x->lines) x->line[x->lines++].scale = scale;
    x->line[k].query += query;
    x->line[k].key += key;
    return true;
}

/* Splits a form into *query * i + *key * j + a remainder, and returns the remainder. i and j are the positions of
   query and key. */
static const struct expr *take_positions(struct exponent *x, struct form *f, int64_t *query, int64_t *key)
{
    *query = f->weight[x->lane];
    *key = f->weight[x->stream];
    f->weight[x->lane] = f->weight[x->stream] = 0;
    if (x->m->axis[x->lane].source == x->m->axis[x->stream].source) return f->remainder; /* both axes are keys */
    const struct expr *ahead = expr_query_start(x->m, x->lane, x->stream);
    if (*query > 1 || *query < -1) ahead = expr_mul(x->m, ahead, expr_int(x->m, *query < 0 ? -*query : *query));
    if (*query < 0) ahead = expr_neg(x->m, ahead);
    int64_t difference;
    if (*query == 0) return f->remainder;
    return known_difference(x->m, f->remainder, ahead, &difference) ? expr_int(x->m, difference)
                                                                    : expr_sub(x->m, f->remainder, ahead);
}

static bool add_integer(struct exponent *x, const struct expr *e, const struct expr *scale, double factor)
{
    int64_t query, key;
    if (e->op == EXPR_ABS && x->ordered) {
        struct form f = {.remainder = expr_int(x->m, 0)};
        if (!form_add(x->m, &f, e->arg[0], 1)) return false;
        const struct expr *offset = take_positions(x, &f, &query, &key);
        if (query != -key || query == 0 || offset->op != EXPR_INT ||
            (query > 0 ? offset->integer < 0 : offset->integer > 0))
            return false;
        e = query > 0 ? e->arg[0] : expr_neg(x->m, e->arg[0]);
    }
    struct form f = {.remainder = expr_int(x->m, 0)};
    if (!form_add(x->m, &f, e, 1)) return add_term(x, e, scale, factor);
    bool good = add_term(x, take_positions(x, &f, &query, &key), scale, factor);
    for (int a = 0; a < x->m->axes && good; a++)
        if (f.weight[a]) good = add_term(x, expr_index(x->m, a), scale, factor * (double)f.weight[a]);
    for (int k = 0; k < f.terms && good; k++) good = add_term(x, f.term[k].e, scale, factor * (double)f.term[k].times);
    return good && ((query == 0 && key == 0) || add_line(x, scale, factor * (double)query, factor * (double)key));
}

static bool constant(const struct expr *e)
{
    return e->op == EXPR_REAL || e->op == EXPR_INT;
}

static double value_of(const struct expr *e)
{
    return e->op == EXPR_INT ? (double)e->integer : e->real;
}

static bool add(struct exponent *x, const struct expr *e, const struct expr *scale, double factor)
{
    if (independent(x, e)) return add_term(x, e, scale, factor);
    const struct expr *a = e->arg[0], *b = e->arg[1];
    bool multiple = e->op == EXPR_MUL && !constant(b) && (independent(x, a) || independent(x, b));
    if (e->type != TYPE_REAL && !multiple) return add_integer(x, e, scale, factor);
    switch ((int)e->op) {
    case EXPR_ADD: return add(x, a, scale, factor) && add(x, b, scale, factor);
    case EXPR_SUB: return add(x, a, scale, factor) && add(x, b, scale, -factor);
    case EXPR_NEG: return add(x, a, scale, -factor);
    case EXPR_MUL:
        if (constant(b)) return add(x, a, scale, factor * value_of(b));
        if (independent(x, b)) return add(x, a, expr_mul(x->m, scale, b), factor);
        if (independent(x, a)) return add(x, b, expr_mul(x->m, scale, a), factor);
        break;
    case EXPR_DIV:
        if (constant(b)) return add(x, a, scale, factor / value_of(b));
        if (independent(x, b)) return add(x, a, expr_div(x->m, scale, b), factor);
        break;
    default: break;
    }
    return add_term(x, e, scale, factor);
}

const struct expr *decay_log2(struct module *m, const struct expr *base)
{
    switch ((int)base->op) {
    case EXPR_REAL: return expr_real(m, log2(base->real));
    case EXPR_EXP2: return base->arg[0];
    case EXPR_EXP: return expr_mul(m, base->arg[0], expr_real(m, 1 / log(2)));
    case EXPR_POW: return expr_mul(m, base->arg[1], decay_log2(m, base->arg[0]));
    default: return expr_mul(m, expr_log(m, base), expr_real(m, 1 / log(2)));
    }
}

const struct expr *decay_log(struct module *m, const struct expr *base)
{
    if (base->op == EXPR_EXP) return base->arg[0];
    return base->op == EXPR_REAL ? expr_real(m, log(base->real))
                                 : expr_mul(m, decay_log2(m, base), expr_real(m, log(2)));
}

bool decay_has_exact_log2(const struct expr *base)
{
    return base->op == EXPR_EXP || base->op == EXPR_EXP2 || (base->op == EXPR_REAL && base->real > 0) ||
           (base->op == EXPR_POW && decay_has_exact_log2(base->arg[0]));
}

const char *decay_of(struct module *m, const struct value *weight, int lane, int stream, bool ordered,
                     const struct expr *e, struct decay *out)
{
    struct exponent exponent = {.m = m, .value = weight, .lane = lane, .stream = stream, .ordered = ordered},
                    *x = &exponent;
    const struct expr *one = expr_real(m, 1), *base = e->op == EXPR_POW ? e->arg[0] : NULL;
    const char *what = arena_printf(m->arena, "%s(…) of query and key has no finite features", expr_name(e->op));
    if (e->op != EXPR_POW && e->op != EXPR_EXP && e->op != EXPR_EXP2) return what;
    if ((base && !independent(x, base)) || !add(x, e->arg[base ? 1 : 0], one, 1)) return what;
    const struct expr *rate = NULL; /* the exponent grows by `rate` per position */
    for (int k = 0; k < x->lines; k++) {
        if (x->line[k].query != -x->line[k].key) return what;
        const struct expr *part = expr_mul(x->m, x->line[k].scale, expr_real(m, x->line[k].query));
        rate = rate ? expr_add(x->m, rate, part) : part;
    }
    if (!rate) return what;
    out->base = !base                   ? expr_make(x->m, e->op, rate, NULL, NULL)
                : expr_is_real(rate, 1) ? base
                                        : expr_pow(x->m, base, rate);
    for (int side = 0; side < 2; side++) {
        const struct expr *terms = x->terms[side];
        out->factor[side] = !terms ? one
                            : base ? expr_pow(x->m, base, terms)
                                   : expr_make(x->m, e->op, terms, NULL, NULL);
    }
    struct expr_range range = expr_range(out->base, NULL);
    if (range.low >= 0 && range.high <= 1) return NULL;
    if (range.low > 1) return "no state can be carried for a weight that grows with the distance between query and key";
    return base && !expr_has(base, EXPR_EXP)
               ? "no state can be carried for a weight that may grow with the distance between query and key; with a "
                 "base that is known to be from 0 to 1, such as 'clamp(…, 0, 1)', it has a linear form"
               : "no state can be carried for a weight that may grow with the distance between query and key; with a "
                 "rate that is known not to be negative, such as 'fabs(…)', it has a linear form";
}
