/* Makes expressions and arrays of the words that say what these can say. Nothing after the reader knows the words. */
#include "reader.h"
#include "spec.h"

#include <math.h>
#include <string.h>

/* ---- arrays of words ---- */

/* Declares an array, unless it is declared already. An array of the user may not have its name. */
static void declare(struct spec_reader *r, const struct yaml *word, struct user_array array)
{
    struct user_arrays *const all = &r->spec->arrays;
    const struct yaml *const node = yaml_get(r->root, "arrays");
    for (int k = 0; node && node->kind == YAML_MAP && k < node->count; k++)
        if (strcmp(node->key[k]->text, array.name) == 0)
            spec_error(r, node->key[k], "'arrays': this kernel has another array '%s'; choose another name",
                       array.name);
    if (spec_array(r->spec, array.name) >= 0) return;
    array.at = word->at;
    array.learned = true;
    all->array[all->count++] = array;
}

static void declare_of(struct spec_reader *r, const struct yaml *similarity)
{
    const struct yaml *const softmax = yaml_get(similarity, "softmax"), *const bias = yaml_get(softmax, "bias"),
                             *const square = yaml_get(similarity, "polynomial_square"),
                             *const degree = yaml_get(square, "degree"),
                             *const coefficients = yaml_get(square, "coefficients");
    if (bias && (yaml_get(bias, "dense") || (bias->kind == YAML_WORD && strcmp(bias->text, "dense") == 0)))
        declare(
            r, bias,
            (struct user_array){.name = "bias", .rank = 3, .axis = {{EXTENT_H, 1}, {EXTENT_NQ, 1}, {EXTENT_NK, 1}}});
    if (degree && degree->kind == YAML_INT && coefficients && coefficients->kind == YAML_WORD)
        declare(r, coefficients,
                (struct user_array){.name = "coefficients",
                                    .initial = ARRAY_EXPONENTIAL,
                                    .rank = 1,
                                    .axis = {{EXTENT_NUMBER, degree->integer + 1}}});
}

void spec_declare_arrays(struct spec_reader *r)
{
    const struct yaml *const sums = yaml_get(r->root, "sums");
    declare_of(r, yaml_get(r->root, "similarity"));
    for (int k = 0; sums && sums->kind == YAML_MAP && k < sums->count; k++)
        declare_of(r, yaml_get(sums->item[k], "similarity"));
}

/* ---- expressions ---- */

/* An expression that is made for a word. */
struct expansion {
    struct spec_reader *r;
    struct module *m;
    const struct expr *s;
    int elements;
    struct element element[MAX_OPERANDS];
};

static struct expansion begin(struct spec_reader *r)
{
    struct module *const m = expression_module(r->arena);
    return (struct expansion){.r = r, .m = m, .s = expr_operand(m, 0)};
}

/* Returns an element of the array that a word has declared. */
static const struct expr *element(struct expansion *x, const char *name, const struct expr *const *sub, int rank)
{
    struct element *const e = &x->element[x->elements++];
    e->array = &x->r->spec->arrays.array[spec_array(x->r->spec, name)];
    memcpy(e->sub, sub, (size_t)rank * sizeof *sub);
    return expr_operand(x->m, x->elements);
}

static const struct expression *finish(const struct expansion *x, const char *key, struct position at,
                                       const struct expr *value)
{
    struct expression *const made = arena_alloc(x->r->arena, sizeof *made);
    *made = (struct expression){
        .text = key, .key = key, .place = EXPRESSION_PAIR, .at = at, .value = value, .elements = x->elements};
    made->element = arena_alloc(x->r->arena, (size_t)x->elements * sizeof *made->element + 1);
    memcpy(made->element, x->element, (size_t)x->elements * sizeof *made->element);
    for (int k = 0; k < x->elements; k++) made->element[k].at = at;
    for (int name = 0; name < EXPRESSION_NAMES; name++) made->uses[name] = expr_axes(value) >> name & 1;
    return made;
}

/* Returns the soft cap of s: cap * tanh(s / cap). */
static const struct expression *cap(struct spec_reader *r, const struct similarity *o)
{
    const struct expansion x = begin(r);
    const struct expr *const at = expr_real(x.m, o->cap), *const bent = expr_make(x.m, EXPR_TANH,
                                                                                  expr_div(x.m, x.s, at), NULL, NULL);
    return finish(&x, "cap", o->at, expr_mul(x.m, bent, at));
}

/* Returns s minus the ALiBi slope of head h times the distance, for any number H of heads, with n = 2^floor(log2 H).
   - For h < n, the slope is 2^(-8 (h + 1) / n), as for n heads.
   - For h >= n, it is 2^(-8 (2 (h - n) + 1) / (2 n)), which is every second slope of 2 n heads. */
static const struct expression *alibi(struct spec_reader *r, const struct similarity *o)
{
    const struct expansion x = begin(r);
    struct module *const m = x.m;
    const struct expr *const h = expr_index(m, NAME_h), *const one = expr_real(m, 1), *const two = expr_real(m, 2),
                             *const heads = expr_add(m, expr_index(m, NAME_H), expr_real(m, 0.5)),
                             *const log2_heads = expr_mul(m, expr_log(m, heads), expr_real(m, 1 / log(2))),
                             *const n = expr_exp2(m, expr_make(m, EXPR_FLOOR, log2_heads, NULL, NULL)),
                             *const low = expr_div(m, expr_add(m, h, one), n),
                             *const high = expr_div(m, expr_add(m, expr_mul(m, expr_sub(m, h, n), two), one),
                                                    expr_mul(m, n, two)),
                             *const power = expr_select(m, expr_lt(m, h, n), low, high),
                             *const slope = expr_exp2(m, expr_mul(m, power, expr_real(m, -8))),
                             *const i = expr_index(m, NAME_i), *const j = expr_index(m, NAME_j);
    return finish(&x, "bias", o->at, expr_sub(m, x.s, expr_mul(m, slope, expr_abs(m, expr_sub(m, i, j)))));
}

/* Returns s + bias[h][row][j]. */
static const struct expression *dense(struct spec_reader *r, const struct similarity *o)
{
    struct expansion x = begin(r);
    const struct expr *const sub[] = {expr_index(x.m, NAME_h), expr_index(x.m, NAME_row), expr_index(x.m, NAME_j)};
    return finish(&x, "bias", o->at, expr_add(x.m, x.s, element(&x, "bias", sub, 3)));
}

/* Returns ((s + alpha) / beta)^degree. */
static const struct expression *polynomial(struct spec_reader *r, const struct similarity *o)
{
    const struct expansion x = begin(r);
    const struct expr *const scaled = expr_mul(x.m, x.s, expr_real(x.m, 1 / o->beta)), *const base = expr_add(
                                                                                           x.m, scaled,
                                                                                           expr_real(x.m, o->alpha /
                                                                                                              o->beta));
    return finish(&x, "polynomial", o->at, expr_power(x.m, base, o->degree));
}

/* Returns (a0 + a1 s + … + am s^m)^2, by Horner's scheme. */
static const struct expression *polynomial_square(struct spec_reader *r, const struct similarity *o)
{
    struct expansion x = begin(r);
    const struct expr *sum = NULL;
    for (int64_t t = o->degree; t >= 0; t--) {
        const struct expr *const sub = expr_int(x.m, t), *const a = o->coefficients
                                                                        ? expr_real(x.m, o->coefficients[t])
                                                                        : element(&x, "coefficients", &sub, 1);
        sum = sum ? expr_add(x.m, expr_mul(x.m, sum, x.s), a) : a;
    }
    return finish(&x, "polynomial_square", o->at, expr_mul(x.m, sum, sum));
}

void spec_expand(struct spec_reader *r, struct spec *sum)
{
    struct similarity *const o = &sum->similarity;
    if (diagnostics_errors(r->d) > r->before) return;
    switch (o->kind) {
    case SIMILARITY_SOFTMAX:
        if (o->has_cap) o->step[o->steps++] = cap(r, o);
        if (o->bias != BIAS_NONE) o->step[o->steps++] = o->bias == BIAS_ALIBI ? alibi(r, o) : dense(r, o);
        break;
    case SIMILARITY_POLYNOMIAL: o->weight = polynomial(r, o); break;
    case SIMILARITY_POLYNOMIAL_SQUARE: o->weight = polynomial_square(r, o); break;
    case SIMILARITY_POLYSKETCH:
    case SIMILARITY_LINEAR:
    case SIMILARITY_CUSTOM: break;
    }
    if (o->kind == SIMILARITY_POLYNOMIAL || o->kind == SIMILARITY_POLYNOMIAL_SQUARE) o->kind = SIMILARITY_CUSTOM;
    if (o->modify) o->step[o->steps++] = o->modify;
    if (o->weight) o->step[o->steps++] = o->weight;
    if (o->kind != SIMILARITY_SOFTMAX || sum->normalize != NORMALIZE_SUM || sum->sum_plus <= 0) return;
    const struct expansion x = begin(r); /* the logarithm of the constant is a logit */
    sum->normalize = NORMALIZE_SINK;
    sum->sink = finish(&x, "sum_plus", o->at, expr_real(x.m, log(sum->sum_plus)));
}
