/* Puts users' expressions into the graph. Comparisons of i and j get j alone on one side. So i - j >= 0 is treated
   like `causal`, and fabs(i - j) <= 8 is treated like `window`. */
#include "builder.h"
#include "../expression/expression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t MAX_CONSTANT = INT64_C(1) << 40;

/* The integer i * (position of the query) + j * (position of the key) + constant. */
struct line {
    int64_t i, j, constant;
};

/* Adds times * e to *out. Returns false if e is not linear in the positions, or if the sum may overflow. */
static bool add_line(const struct expr *e, int64_t times, struct line *out)
{
    if (llabs(times) > 1000) return false;
    switch ((int)e->op) {
    case EXPR_INDEX:
        if (e->integer != NAME_i && e->integer != NAME_j) return false;
        *(e->integer == NAME_i ? &out->i : &out->j) += times;
        return true;
    case EXPR_INT:
        if (e->integer > MAX_CONSTANT || e->integer < -MAX_CONSTANT) return false;
        out->constant += times * e->integer;
        return llabs(out->constant) <= MAX_CONSTANT;
    case EXPR_NEG: return add_line(e->arg[0], -times, out);
    case EXPR_ADD: return add_line(e->arg[0], times, out) && add_line(e->arg[1], times, out);
    case EXPR_SUB: return add_line(e->arg[0], times, out) && add_line(e->arg[1], -times, out);
    case EXPR_MUL:
        return e->arg[1]->op == EXPR_INT && llabs(e->arg[1]->integer) <= 1000 &&
               add_line(e->arg[0], times * e->arg[1]->integer, out);
    default: return false;
    }
}

/* Returns sign * (l->i * (position of the query) + l->constant). */
static const struct expr *query_line(struct builder *x, const struct line *l, int64_t sign)
{
    const struct expr *i = build_query_position(x);
    int64_t factor = sign * l->i;
    if (factor != 1) i = build_mul(x, i, build_integer(x, factor));
    return build_add(x, i, build_integer(x, sign * l->constant));
}

/* Rewrites a <= b, or a < b if `strict`, with j alone on one side. For example, 0 <= i - j becomes j <= i. Returns
   NULL if this is not possible. */
static const struct expr *compare(struct builder *x, const struct expr *a, const struct expr *b, bool strict)
{
    struct module *m = x->m;
    if (a->op == EXPR_ABS && b->op == EXPR_INT && llabs(b->integer) < MAX_CONSTANT) {
        /* |l| <= max becomes l + max >= 0 and max - l >= 0. */
        struct line l = {0, 0, 0};
        int64_t max = b->integer - strict;
        if (!add_line(a->arg[0], 1, &l) || llabs(l.j) != 1 || l.i == 0) return NULL;
        if (x->first_key >= 0 && l.i + l.j != 0) return NULL;
        struct line low = l, high = {-l.i, -l.j, -l.constant}; /* with max added, low >= 0 and high >= 0 */
        low.constant += max;
        high.constant += max;
        const struct line *lines[] = {&low, &high};
        const struct expr *both = NULL, *j = build_index_of(x, x->j);
        for (int k = 0; k < 2; k++) { /* The lower bound of j comes first, as in `window`. */
            const struct line *one = lines[(k == 0) == (low.j == 1) ? 0 : 1];
            const struct expr *bound = one->j < 0 ? build_op2(x, EXPR_LE, j, query_line(x, one, 1))
                                                  : build_op2(x, EXPR_LE, query_line(x, one, -1), j);
            both = both ? expr_make(m, EXPR_AND, both, bound, NULL) : bound;
        }
        return both;
    }
    struct line l = {0, 0, -(int64_t)strict}; /* l = b - a - strict, so the comparison is l >= 0 */
    if (!add_line(b, 1, &l) || !add_line(a, -1, &l) || l.i == 0 || llabs(l.j) != 1) return NULL;
    if (x->first_key >= 0 && l.i + l.j != 0) return NULL;
    const struct expr *j = build_index_of(x, x->j);
    return l.j < 0 ? build_op2(x, EXPR_LE, j, query_line(x, &l, 1)) : build_op2(x, EXPR_LE, query_line(x, &l, -1), j);
}

/* Values for the leaves of the user's expression. s is NULL in angles and in masks without s. */
struct leaves {
    /* element: elements as operands, or integers; by_name: real elements that subscripts read */
    const struct expr *s, *position, *t, *element[MAX_OPERANDS], *by_name[MAX_OPERANDS];
    bool narrow;    /* true if the expression is computed in the type of sums */
    bool subscript; /* true in a subscript, which is computed in doubles */
    bool of_call;   /* true if `position` and j are used as they are, and do not count from first_key */
};

static const struct expr *value_of(struct builder *x, enum expression_name name, const struct leaves *leaves)
{
    switch (name) {
    case NAME_s: return leaves->s;
    case NAME_i: return leaves->of_call ? leaves->position : build_whole_position(x, leaves->position);
    case NAME_j: {
        const struct expr *const j = build_index_of(x, x->j);
        return leaves->of_call ? j : build_add(x, j, build_size_of(x, x->first_key_of_j));
    }
    case NAME_h: return build_head(x);
    case NAME_g: return build_index_of(x, x->kv);
    case NAME_b: return build_index_of(x, x->b);
    case NAME_row: return build_index_of(x, x->i);
    case NAME_t: return leaves->of_call ? leaves->t : build_whole_position(x, leaves->t);
    case NAME_d: return build_index_of(x, x->d);
    case NAME_e: return build_index_of(x, x->e);
    case NAME_x: return x->term < 0 ? build_integer(x, 0) : build_index_of(x, x->term);
    case NAME_B: return build_size_of(x, x->b);
    case NAME_H: return build_mul(x, build_size_of(x, x->kv), build_size_of(x, x->member));
    case NAME_G: return build_size_of(x, x->kv);
    case NAME_Nq: return build_size_of(x, x->queries);
    case NAME_Nk: return build_all_keys(x);
    case NAME_D: return build_integer(x, x->spec->head_dim);
    case NAME_E: return build_integer(x, x->spec->value_dim);
    case NAME_INFINITY: /* a number after reading */
    case EXPRESSION_NAMES: break;
    }
    return NULL;
}

/* Whether e is an integer that depends on the difference of i and j, but not on i or j alone. */
static bool is_of_difference(const struct expr *e)
{
    struct line l = {0, 0, 0};
    return e->type == TYPE_INT && add_line(e, 1, &l) && l.i != 0 && l.i + l.j == 0;
}

/* Whether e says that two integers are equal, or are not, and they differ by a difference of i and j. */
static bool is_of_distance(const struct expr *e)
{
    struct line l = {0, 0, 0};
    return (e->op == EXPR_EQ || e->op == EXPR_NE) && e->arg[0]->type != TYPE_REAL && e->arg[1]->type != TYPE_REAL &&
           add_line(e->arg[0], 1, &l) && add_line(e->arg[1], -1, &l) && l.i != 0 && l.i + l.j == 0;
}

/* Whether argument k of e is a difference of positions in an exponent. */
static bool is_exponent(const struct expr *e, int k)
{
    if (e->op != EXPR_POW || k != 1) return false;
    const struct expr *const to = e->arg[1];
    const bool is_converted = to->op == EXPR_MUL && expr_is_real(to->arg[1], 1); /* to a real number */
    return is_of_difference(is_converted ? to->arg[0] : to);
}

static const struct expr *copy(struct builder *x, const struct expr *e, const struct leaves *given)
{
    struct leaves own = *given, *const leaves = &own;
    own.of_call |= x->first_key < 0 || is_of_distance(e) || (is_of_difference(e) && x->first_key_of_j == x->first_key);
    switch ((int)e->op) {
    case EXPR_ID: return leaves->element[e->arg[0]->integer];
    case EXPR_OPERAND:
        if (e->integer == 0) return leaves->s;
        return (leaves->subscript ? leaves->by_name : leaves->element)[e->integer - 1];
    case EXPR_INDEX: return value_of(x, (enum expression_name)e->integer, leaves);
    case EXPR_INT: return build_integer(x, e->integer);
    case EXPR_REAL:
        /* Constants in masks, angles and subscripts are doubles. */
        return leaves->narrow && !leaves->subscript && !isinf(e->real) ? build_real(x, e->real)
                                                                       : expr_real(x->m, e->real);
    case EXPR_LT:
    case EXPR_LE:
        if (e->arg[0]->type != TYPE_REAL && e->arg[1]->type != TYPE_REAL) {
            const struct expr *better = compare(x, e->arg[0], e->arg[1], e->op == EXPR_LT);
            if (better) return better;
        }
        break;
    default: break;
    }
    const struct expr *arg[3] = {NULL, NULL, NULL};
    for (int k = 0; k < expr_arity(e->op); k++) {
        struct leaves of_arg = own;
        of_arg.of_call |= is_exponent(e, k);
        arg[k] = copy(x, e->arg[k], &of_arg);
    }
    return expr_make(x->m, e->op, arg[0], arg[1], arg[2]);
}

struct naming {
    bool features; /* weights may have features, which have a position, not a difference */
    bool names;
};

/* Whether e names positions other than in a difference in an exponent, which becomes a decay. */
static bool names_positions(const struct expr *e, bool features)
{
    bool names = false;
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        names |= w.e->op == EXPR_INDEX && (w.e->integer == NAME_i || w.e->integer == NAME_j);
        const bool exponent = is_exponent(w.e, 1);
        w.skip = exponent || (!features && is_of_difference(w.e));
        if (exponent) names |= names_positions(w.e->arg[0], features);
    }
    return names;
}

static void visit_weight(void *user, const struct expression *e)
{
    struct naming *const x = user;
    const bool of_weight = e->place == EXPRESSION_PAIR || e->place == EXPRESSION_TERM ||
                           (e->place == EXPRESSION_MASK && e->uses[NAME_s]);
    x->names |= of_weight && names_positions(e->value, x->features);
    for (int k = 0; of_weight && k < e->elements; k++)
        for (int n = 0; n < e->element[k].array->rank; n++)
            if (e->element[k].sub[n]->op != EXPR_INDEX) /* the array has a row for each new token */
                x->names |= names_positions(e->element[k].sub[n], x->features);
}

bool weight_names_positions(const struct spec *spec)
{
    struct naming x = {.features = spec_may_be_linear(spec), .names = spec->graph}; /* nothing is known of a graph */
    spec_expressions(spec, visit_weight, &x);
    return x.names;
}

/* Whether e compares real element k with -inf. */
static bool compares_element(const struct expr *e, int k)
{
    bool compares = false;
    for (struct exprs w = {.of = e}; exprs_next(&w);) compares |= w.e->op == EXPR_ID && w.e->arg[0]->integer == k;
    return compares;
}

/* Whether the expression, or a subscript of another element, compares real element k with -inf. */
static bool hides(const struct expression *e, int k)
{
    bool compares = compares_element(e->value, k);
    for (int n = k + 1; n < e->elements; n++)
        for (int a = 0; a < e->element[n].array->rank; a++) compares |= compares_element(e->element[n].sub[a], k);
    return compares;
}

/* Whether a subscript of another element depends on real element k. */
static bool in_subscript(const struct expression *e, int k)
{
    for (int n = k + 1; n < e->elements; n++)
        for (int a = 0; a < e->element[n].array->rank; a++)
            if (expr_operands(e->element[n].sub[a], NULL) >> (k + 1) & 1) return true;
    return false;
}

/* Whether the subscript depends on the pair: on s, a score or a running sum. */
static bool is_of_pair(const struct expression *e, const struct expr *sub)
{
    const uint32_t read = expr_operands(sub, NULL);
    bool pair = read & 1;
    for (int k = 0; k < e->elements; k++) pair |= (read >> (k + 1) & 1) && e->element[k].array->type >= ARRAY_SCORE;
    return pair;
}

/* Whether a subscript that depends on the pair reads element k. */
static bool in_subscript_of_pair(const struct expression *e, int k)
{
    bool reads = false;
    for (int n = k + 1; n < e->elements; n++)
        for (int a = 0; a < e->element[n].array->rank; a++)
            reads |= is_of_pair(e, e->element[n].sub[a]) && (expr_operands(e->element[n].sub[a], NULL) >> (k + 1) & 1);
    return reads;
}

/* Copies the expression. Elements of arrays become operands. */
static const struct expr *with_elements(struct builder *x, const struct expression *e, struct leaves *leaves,
                                        struct operands *operands)
{
    x->at = e->at;
    for (int k = 0; k < e->elements; k++) {
        const struct element *const element = &e->element[k];
        const struct expr *at[MAX_RANK];
        bool of_pair[MAX_RANK] = {false}, any = false;
        leaves->subscript = true;
        for (int n = 0; n < element->array->rank; n++) {
            const struct expr *const sub = element->sub[n];
            struct line l = {0, 0, 0};
            /* a call has the rows of its keys only */
            struct leaves own = *leaves;
            own.of_call |= element->array->axis[n].extent == EXTENT_NK &&
                           ((sub->op == EXPR_INDEX && sub->integer == NAME_t) || (add_line(sub, 1, &l) && l.i == 0));
            of_pair[n] = is_of_pair(e, sub);
            any |= of_pair[n];
            own.subscript &= !of_pair[n];
            at[n] = copy(x, sub, &own);
        }
        leaves->subscript = false;
        const bool real = array_is_real(element->array);
        if (any) {
            leaves->element[k] = build_element_of_pair(x, operands, element->array, at, of_pair);
            continue;
        }
        if (real && element->array->type < ARRAY_SCORE && in_subscript(e, k) && !in_subscript_of_pair(e, k))
            leaves->by_name[k] = build_element_by_name(x, element->array, at);
        if (real && hides(e, k))
            leaves->element[k] = build_is_not_hidden(x, element->array, at);
        else if (!real || (expr_operands(e->value, NULL) >> (k + 1) & 1) || in_subscript_of_pair(e, k))
            leaves->element[k] = build_element(x, operands, element->array, at);
    }
    return copy(x, e->value, leaves);
}

const struct expr *build_expression(struct builder *x, const struct expression *e, const struct expr *s,
                                    struct operands *operands)
{
    struct leaves leaves = {.s = s, .position = build_query_position(x), .narrow = s != NULL};
    return with_elements(x, e, &leaves, operands);
}

const struct expr *build_output(struct builder *x, struct operands *operands)
{
    struct leaves leaves = {.position = build_query_position(x), .narrow = true};
    return with_elements(x, x->spec->output, &leaves, operands);
}

const struct expr *build_at_position(struct builder *x, const struct expression *e, const struct expr *position,
                                     struct operands *operands)
{
    struct leaves leaves = {.position = position, .t = position, .narrow = true};
    return with_elements(x, e, &leaves, operands);
}

const struct expr *build_angle(struct builder *x, const struct expression *e, const struct expr *position, int pair,
                               struct operands *operands)
{
    struct leaves leaves = {.position = position, .t = build_index_of(x, pair), .of_call = true};
    return with_elements(x, e, &leaves, operands);
}
