/* Finds the running sum that is a decay: a sum of numbers of keys over all keys after j up to the query, which a
   softmax logit adds, or whose exponential is a factor of the weight. A decay has a linear form. */
#include "reader.h"
#include "spec.h"

/* Whether all keys between a key that a query sees and the query are visible, too. */
static bool shows_keys_between(const struct mask *mask)
{
    const bool all = mask && mask->kind == MASK_ALL;
    bool shows = true, ends = false;
    for (int k = 0; mask && k < (all ? mask->parts : 1); k++) {
        const struct mask *const part = all ? mask->part[k] : mask;
        const bool window = part->kind == MASK_WINDOW && part->dilation == 1;
        ends |= part->kind == MASK_CAUSAL || (window && part->right == 0);
        shows &= part->kind == MASK_CAUSAL || window || part->kind == MASK_BLOCK_WINDOW;
    }
    return shows && ends;
}

/* The running sum in a logarithm, and what multiplies it. */
struct term {
    const struct expr *sum;
    double times;
};

/* Whether e is x->times * x->sum and terms without it, or, if `weight`, has the exponential of that as a factor. */
static bool find(struct term *x, const struct expr *e, bool weight)
{
    const bool first = e->arg[0] && expr_uses(e->arg[0], x->sum), second = e->arg[1] && expr_uses(e->arg[1], x->sum);
    if (e == x->sum || first == second) return e == x->sum && !weight;
    const struct expr *const with = e->arg[first ? 0 : 1], *const other = e->arg[first ? 1 : 0];
    const bool divides = e->op == EXPR_DIV && first, scales = (e->op == EXPR_MUL || divides) && other->op == EXPR_REAL;
    if (weight) return e->op == EXPR_EXP ? find(x, with, false) : (e->op == EXPR_MUL || divides) && find(x, with, true);
    if (scales) x->times = divides ? x->times / other->real : x->times * other->real;
    if (e->op == EXPR_NEG || (e->op == EXPR_SUB && second)) x->times = -x->times;
    return (scales || e->op == EXPR_NEG || e->op == EXPR_ADD || e->op == EXPR_SUB) && find(x, with, false);
}

/* Whether expressions read the running sum, or one of its real arrays, whose gradient would have two parts. */
struct readings {
    const struct expression *sum;
    const struct user_array *name;
    bool any;
};

static void look(void *user, const struct expression *e)
{
    struct readings *const x = user;
    for (int k = 0; k < e->elements && e != x->sum; k++) {
        const struct user_array *const a = e->element[k].array;
        x->any |= a == x->name;
        for (int n = 0; n < x->sum->elements; n++) x->any |= a == x->sum->element[n].array && array_is_real(a);
    }
}

/* Whether the sum is of numbers of keys, whose arrays no other expression reads. The weight alone reads the sum. */
static bool is_apart(const struct spec *spec, const struct running_sum *o, const struct expression *weight)
{
    const struct expression *const e = o->sum;
    struct readings x = {.sum = e, .name = o->name};
    spec_expressions(spec, look, &x);
    x.name = NULL;
    look(&x, weight);
    x.any |= e->uses[NAME_s] || e->uses[NAME_i] || e->uses[NAME_row] || e->uses[NAME_Nq];
    for (int k = 0; k < e->elements; k++) x.any |= e->element[k].array->type >= ARRAY_SCORE;
    return !x.any;
}

/* Returns the operand of the weight that is the running sum. Returns NULL if there is none, or a subscript has it. */
static const struct expr *operand_of(const struct expression *weight, const struct user_array *name)
{
    int64_t number = 0;
    const struct expr *found = NULL;
    for (int k = 0; k < weight->elements; k++)
        if (weight->element[k].array == name) number = k + 1;
    for (struct exprs w = {.of = weight->value}; exprs_next(&w);)
        if (number && w.e->op == EXPR_OPERAND && w.e->integer == number) found = w.e;
    for (int k = 0; k < weight->elements; k++)
        for (int n = 0; n < weight->element[k].array->rank; n++)
            if (expr_operands(weight->element[k].sub[n], NULL) >> number & 1) found = NULL;
    return found;
}

/* Writes the position t for the key j. */
static const struct expr *at_position(void *of, const struct expr *e)
{
    return e->op == EXPR_INDEX && e->integer == NAME_j ? expr_index(of, NAME_t) : NULL;
}

/* Returns `times` times the number of a key, as the logarithm of a decay. */
static const struct expression *decay_of(struct arena *arena, struct module *m, const struct expression *sum,
                                         double times)
{
    struct expression *const made = arena_copy_bytes(arena, sum, sizeof *sum);
    made->element = arena_copy_bytes(arena, sum->element, (size_t)sum->elements * sizeof *sum->element);
    made->place = EXPRESSION_DECAY;
    made->value = expr_mul(m, expr_map(m, sum->value, at_position, m), expr_real(m, times));
    for (int k = 0; k < sum->elements; k++)
        for (int n = 0; n < sum->element[k].array->rank; n++)
            made->element[k].sub[n] = expr_map(m, sum->element[k].sub[n], at_position, m);
    made->uses[NAME_t] = made->uses[NAME_j];
    made->uses[NAME_j] = false;
    return made;
}

void spec_find_decay(struct spec_reader *r)
{
    struct spec *const spec = r->spec;
    const struct expression **const at = spec->similarity.weight ? &spec->similarity.weight : &spec->similarity.modify;
    const struct running_sum *const o = spec->running;
    if (diagnostics_errors(r->d) > r->before || spec->runnings != 1 || o->own || !*at || spec->decay || spec->rate ||
        spec->linformer || yaml_get(r->root, "sums") || !shows_keys_between(spec->mask) || !is_apart(spec, o, *at))
        return;
    struct term x = {.sum = operand_of(*at, o->name), .times = 1};
    if (!x.sum || !find(&x, (*at)->value, spec->similarity.kind != SIMILARITY_SOFTMAX)) return;
    struct module *const m = expression_module(r->arena);
    struct expression *const weight = arena_copy_bytes(r->arena, *at, sizeof *weight);
    weight->value = expr_replace(m, weight->value, x.sum, expr_real(m, 0));
    weight->exponentials = 0;
    *at = weight;
    spec->decay = decay_of(r->arena, m, o->sum, x.times);
    spec->runnings = 0;
}
