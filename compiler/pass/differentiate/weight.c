/* Answers two questions about weights:
   - Which can be divided by their row's sum without overflow? exp(x) / sum is exp(x - log(sum)), and
     x^p / sum is (x / sum^(1/p))^p. For this, exp(a) * exp(b) becomes exp(a + b).
   - Which maxima cancel? In exp(x - M) / sum over j of exp(x[j] - M), the gradient of M is 0. This gradient is left
     out, because rounded terms would not cancel. */
#include "differentiate.h"
#include "../pass.h"
#include "../../analysis/analysis.h"

#include <math.h>

/* ---- weights divided by their row's sum ---- */

static bool contains(const struct expr *e, const struct expr *part)
{
    return expr_uses(e, part);
}

/* Returns an exponential factor of e that is no constant and occurs once, or NULL. */
static const struct expr *exponential_factor(const struct expr *e)
{
    if (e->op == EXPR_EXP || e->op == EXPR_EXP2) return expr_has(e, EXPR_OPERAND) || expr_axes(e) ? e : NULL;
    if (e->op != EXPR_MUL) return NULL;
    for (int k = 0; k < 2; k++) {
        const struct expr *found = exponential_factor(e->arg[k]);
        if (found && !contains(e->arg[1 - k], found)) return found;
    }
    return NULL;
}

/* Splits product e into exp(exponent) * others. Missing parts are NULL. Returns the number of exponentials. */
static int split_product(struct module *m, const struct expr *e, const struct expr **exponent,
                         const struct expr **others)
{
    if (e->op == EXPR_MUL)
        return split_product(m, e->arg[0], exponent, others) + split_product(m, e->arg[1], exponent, others);
    const bool exponential = e->op == EXPR_EXP;
    const struct expr **const part = exponential ? exponent : others, *const factor = exponential ? e->arg[0] : e;
    *part = *part ? expr_make(m, exponential ? EXPR_ADD : EXPR_MUL, *part, factor, NULL) : factor;
    return exponential;
}

void join_exponentials(struct graph *g)
{
    struct module *m = g->module;
    for (int v = 0; v < g->values; v++) {
        const struct expr *exponent = NULL, *others = NULL;
        if (g->value[v].op != GRAPH_MAP || split_product(m, g->value[v].expr, &exponent, &others) < 2) continue;
        exponent = expr_exp(m, exponent);
        g->value[v].expr = others ? expr_mul(m, exponent, others) : exponent;
    }
}

/* Whether the exponent of weight v is x - M, with a maximum M, so it cannot overflow. */
static bool is_bounded(const struct reversal *x, const struct value *v, const struct expr *exponent)
{
    if (exponent->op != EXPR_SUB || exponent->arg[1]->op != EXPR_OPERAND) return false;
    const struct value *shift = &x->g->value[v->operand[exponent->arg[1]->integer].of];
    return shift->op == GRAPH_REDUCE && shift->fold == FOLD_MAX;
}

/* Returns the power factor of the weight that may overflow. `whole` is NULL if there is none, in a linear form, or
   if the weight has no room for more operands. */
static struct power_factor power_factor(const struct reversal *x, const struct value *weight)
{
    const bool room = weight->operands + 3 <= MAX_OPERANDS; /* there is room for a divisor, a sign and a gradient */
    return x->c->program.linear || !room ? (struct power_factor){NULL, NULL, 1} : overflowing_power(x->m, weight);
}

bool takes_divisor(const struct reversal *x, int weight, int by)
{
    const struct value *v = &x->g->value[weight];
    if (by < 0 || v->op != GRAPH_MAP) return false;
    uint32_t axes = reversal_axes(x, weight), rows = reversal_axes(x, by);
    if ((rows & ~axes) || rows == axes) return false;
    const struct expr *found = exponential_factor(v->expr);
    return found ? !is_bounded(x, v, found->arg[0]) : power_factor(x, v).whole != NULL;
}

/* Returns e, or 0 if the divisor is 0. */
static const struct expr *unless_zero(struct module *m, const struct expr *divisor, const struct expr *e)
{
    const struct expr *zero = expr_real(m, 0);
    return expr_select(m, expr_eq(m, divisor, zero), zero, e);
}

/* Returns -1 for a negative e, otherwise 1. */
static const struct expr *sign_of(struct module *m, const struct expr *e)
{
    return expr_select(m, expr_lt(m, e, expr_real(m, 0)), expr_real(m, -1), expr_real(m, 1));
}

/* Normalises a weight that is a power x^p: multiplies x by |sum|^(-1/p). An odd power's base also gets the sum's
   sign. An even power is multiplied by this sign. */
static struct normalised normalise_power(struct reversal *x, int weight, int by)
{
    struct module *m = x->m;
    const struct value v = x->g->value[weight];
    const struct power_factor power = power_factor(x, &v);
    const bool positive = value_never_negative(x->g, by), odd = power.degree % 2 != 0;
    struct value row = graph_value(GRAPH_MAP, x->g->value[by].rank, x->g->value[by].axes), whole = v;
    const struct expr *sum = reversal_value(x, &row, by), *one = expr_real(m, 1), *e;
    e = positive ? sum : expr_abs(m, sum);
    e = expr_pow(m, e, expr_real(m, 1 / (double)power.degree));
    e = expr_div(m, positive || !odd ? one : sign_of(m, sum), e);
    const int inverse = reversal_map(x, &row, unless_zero(m, sum, e));
    e = expr_mul(m, power.base, reversal_value(x, &whole, inverse));
    e = expr_replace(m, v.expr, power.whole, expr_power(m, e, power.degree));
    if (!positive && !odd) { /* an even power loses its base's sign */
        const int sign = reversal_map(x, &row, sign_of(m, sum));
        e = expr_mul(m, e, reversal_value(x, &whole, sign));
    }
    whole.expr = e;
    return (struct normalised){NULL, -1, reversal_append(x, whole)};
}

/* Whether value v is a sum of exponentials alone, which is 0 only for a row without keys. */
static bool sums_exponentials(const struct graph *g, int v)
{
    const struct value *const sum = &g->value[v];
    const struct expr *const e = sum->expr;
    if (sum->op == GRAPH_MAP) /* such as exp(x), or a sum over keys + exp(x) */
        return e->op == EXPR_EXP || e->op == EXPR_EXP2 ||
               (e->op == EXPR_ADD && e->arg[0]->op == EXPR_OPERAND && e->arg[1]->op == EXPR_EXP &&
                sums_exponentials(g, sum->operand[e->arg[0]->integer].of));
    return sum->op == GRAPH_REDUCE && sum->fold == FOLD_SUM && sums_exponentials(g, sum->operand[0].of);
}

/* Returns log2(|sum|) of each row. For a sum of 0, returns 0 if the row has no keys, otherwise a number so large that
   quotients by the sum are 0. */
static int logarithm_of(struct reversal *x, int by, bool positive)
{
    static const double HUGE_LOGARITHM = 1e30;
    struct module *m = x->m;
    struct value row = graph_value(GRAPH_MAP, x->g->value[by].rank, x->g->value[by].axes);
    const struct expr *sum = reversal_value(x, &row, by), *const zero = expr_real(m, 0), *e;
    e = expr_log(m, positive ? sum : expr_abs(m, sum));
    e = expr_mul(m, e, expr_real(m, 1 / log(2)));
    return reversal_map(
        x, &row,
        expr_select(m, expr_eq(m, sum, zero), sums_exponentials(x->g, by) ? zero : expr_real(m, HUGE_LOGARITHM), e));
}

/* Returns the factor exp(x) of product e, or NULL. */
static const struct expr *factor_of_product(const struct expr *e)
{
    if (e->op == EXPR_NEG) return factor_of_product(e->arg[0]);
    if (e->op != EXPR_MUL) return exponential_factor(e);
    const struct expr *const found = factor_of_product(e->arg[0]);
    return found ? found : factor_of_product(e->arg[1]);
}

const struct expr *reversal_divide_exponential(struct reversal *x, struct value *map, const struct expr *e, int by)
{
    struct module *m = x->m;
    const struct expr *const found = factor_of_product(e);
    if (!found || is_bounded(x, map, found->arg[0]) || !value_never_negative(x->g, by)) return NULL;
    const int logarithm = logarithm_of(x, by, true);
    const struct expr *exponent = found->arg[0];
    if (found->op == EXPR_EXP) exponent = expr_scaled(m, exponent, 1 / log(2));
    exponent = expr_sub(m, exponent, reversal_value(x, map, logarithm));
    return expr_replace(m, e, found, expr_exp2(m, exponent));
}

/* Whether the map v has a factor exp(x), where x varies along a sequence, but not over features, and is not bounded. */
static bool has_growing_factor(const struct reversal *x, int v)
{
    const struct value *const map = &x->g->value[v];
    const struct expr *const found = map->op == GRAPH_MAP ? exponential_factor(map->expr) : NULL;
    if (!found || is_bounded(x, map, found->arg[0]) || !isinf(expr_range(found->arg[0], NULL).high)) return false;
    const uint32_t axes = reversal_axes_within(x, map, found->arg[0]);
    return !(axes & axes_with_size(x->m, SIZE_CONSTANT)) && (axes & axes_of_sequences(x->m));
}

bool reversal_has_growing_factors(const struct reversal *x, bool *overflows)
{
    bool growing = false, possible = true, of_sums = false;
    for (int v = 0; v < x->forward; v++) {
        const struct value *const value = &x->g->value[v];
        bool state = is_carried_state(x, v);
        possible &= value->op != GRAPH_SOLVE && !value->keep;
        for (int k = 0; k < value->operands; k++) state |= is_carried_state(x, value->operand[k].of);
        for (int k = 0; k < value->operands && value->op != GRAPH_MAP; k++) {
            const uint32_t sequences = reversal_axes(x, value->operand[k].of) & axes_of_sequences(x->m);
            if ((sequences & (sequences - 1)) || !has_growing_factor(x, value->operand[k].of)) continue;
            growing |= state;
            of_sums = true;
        }
    }
    *overflows = of_sums && !(growing && possible);
    return growing && possible;
}

/* Returns e, in `map`, times the sign of the sum `by`, whose logarithm is of its absolute value. The sign is computed
   for each row, because the sum may overflow. */
static const struct expr *times_sign(struct reversal *x, struct value *map, const struct expr *e, int by)
{
    struct value row = graph_value(GRAPH_MAP, x->g->value[by].rank, x->g->value[by].axes);
    const struct expr *const sum = reversal_value(x, &row, by);
    const int sign = reversal_map(x, &row, unless_zero(x->m, sum, sign_of(x->m, sum)));
    return expr_mul(x->m, e, reversal_value(x, map, sign));
}

const struct expr *reversal_times_inverse(struct reversal *x, struct value *map, const struct expr *e, int by)
{
    struct module *m = x->m;
    const bool positive = value_never_negative(x->g, by);
    const struct expr *const logarithm = reversal_value(x, map, logarithm_of(x, by, positive));
    const struct expr *const inverse = expr_exp2(m, expr_neg(m, logarithm));
    if (!positive) e = times_sign(x, map, e, by);
    return expr_mul(m, e, inverse);
}

/* Whether a factor of the product e other than its exponential may be 0. */
static bool can_be_zero(struct module *m, const struct expr *e, const struct expr *exponential)
{
    const struct expr_range range = expr_range(expr_replace(m, e, exponential, expr_real(m, 1)), NULL);
    return range.low <= 0 && range.high >= 0 && !expr_has(e, EXPR_RANDOM);
}

struct normalised normalise_weight(struct reversal *x, int weight, int by)
{
    static const double MAX_EXPONENT = 100; /* a weight divided by the sum of its row is about 1 or less */
    struct module *m = x->m;
    const struct value v = x->g->value[weight];
    struct normalised out = {exponential_factor(v.expr), -1, -1};
    if (!out.exponential) return normalise_power(x, weight, by);
    const bool positive = value_never_negative(x->g, by);
    const double per_bit = 1 / log(2);
    const int logarithm = logarithm_of(x, by, positive);
    const struct expr *e;
    struct value factor = v;
    const struct expr *exponent = out.exponential->arg[0];
    if (out.exponential->op == EXPR_EXP) exponent = expr_scaled(m, exponent, per_bit);
    e = expr_sub(m, exponent, reversal_value(x, &factor, logarithm));
    /* A weight of 0 may have an exponential beyond f32. */
    if (v.expr != out.exponential && can_be_zero(m, v.expr, out.exponential))
        e = expr_min(m, e, expr_real(m, MAX_EXPONENT));
    e = expr_exp2(m, e);
    if (!positive) e = times_sign(x, &factor, e, by);
    out.factor = reversal_map(x, &factor, e);
    out.weight = out.factor;
    if (v.expr == out.exponential) return out;
    struct value whole = v;
    e = reversal_value(x, &whole, out.factor);
    out.weight = reversal_map(x, &whole, expr_replace(m, v.expr, out.exponential, e));
    return out;
}
