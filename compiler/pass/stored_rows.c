/* Multiplies rows as stored, for example for a norm, and scales and shifts the inner product afterwards. With scales x,
   y, shifts S, T and rows a, b of length D: <x a + S, y b + T> = x y <a, b> + (x sum(a) + D S) T + S y sum(b)
   - Products of stored bf16 are exact, and faster than f32 if the target multiplies bf16.
   - A shift that cancels loses digits. They are many only if a row's mean is much larger than its deviation. */
#include "pass.h"
#include "../schedule/schedule.h"

struct rows {
    struct graph *g;
    int at;  /* the number of the product. New values are inserted before it */
    int sum; /* the axis that the product sums over */
};

/* A row: element * constant * scale + shift, for elements of value `input`. `scale`, `shift`: values without the
   summed axis, or -1. */
struct row {
    int input, scale, shift;
    double constant;
};

static int add(struct rows *x, struct value v)
{
    graph_insert(x->g, x->at, v);
    return x->at++;
}

/* Returns an empty value with the axes of `like` except the summed one. */
static struct value row_value(const struct rows *x, enum graph_op op, const struct value *like)
{
    return value_over(op, like, value_axes(like) & ~AXIS(x->sum));
}

/* Whether e does not vary along the summed axis. */
static bool is_of_row(const struct rows *x, const struct value *v, const struct expr *e)
{
    for (int k = 0; k < v->operands; k++)
        if (expr_uses(e, expr_operand(x->g->module, k)) &&
            (value_has_axis(&x->g->value[v->operand[k].of], x->sum) || !graph_is_plain(x->g, &v->operand[k])))
            return false;
    return !expr_uses(e, expr_index(x->g->module, x->sum));
}

/* Adds a value with one number per row, (before op e), and returns it. If `before` is -1, the number is e, or -e
   for EXPR_SUB. e is an expression of v. */
static int with_number(struct rows *x, int before, enum expr_op op, const struct value *v, const struct expr *e)
{
    struct module *m = x->g->module;
    struct value made = row_value(x, GRAPH_MAP, v);
    if (before >= 0) made.operand[made.operands++] = graph_ref(x->g, before, NULL);
    e = expr_take(m, e, v->operand, made.operand, &made.operands);
    made.expr = before >= 0 ? expr_make(m, op, expr_operand(m, 0), e, NULL) : op == EXPR_SUB ? expr_neg(m, e) : e;
    return add(x, made);
}

static bool read_row(struct rows *x, int of, struct row *row);

/* If e has the form of struct row, fills in *row and adds the values `scale` and `shift` to the graph. Otherwise
   returns false. e is an expression of value `of`. */
static bool read_expr(struct rows *x, int of, const struct expr *e, struct row *row)
{
    const struct value v = x->g->value[of];
    if (e->op == EXPR_OPERAND)
        return graph_is_plain(x->g, &v.operand[e->integer]) && read_row(x, v.operand[e->integer].of, row);
    if (e->op != EXPR_MUL && e->op != EXPR_ADD && e->op != EXPR_SUB) return false;
    const int number = is_of_row(x, &v, e->arg[1]) ? 1 : e->op != EXPR_SUB && is_of_row(x, &v, e->arg[0]) ? 0 : -1;
    if (number < 0 || !read_expr(x, of, e->arg[1 - number], row)) return false;
    if (e->op == EXPR_MUL) {
        if (e->arg[number]->op == EXPR_REAL)
            row->constant *= e->arg[number]->real;
        else
            row->scale = with_number(x, row->scale, EXPR_MUL, &v, e->arg[number]);
        if (row->shift >= 0) row->shift = with_number(x, row->shift, EXPR_MUL, &v, e->arg[number]);
    } else
        row->shift = with_number(x, row->shift, e->op, &v, e->arg[number]);
    return true;
}

static bool read_row(struct rows *x, int of, struct row *row)
{
    const struct value *v = &x->g->value[of];
    if (v->op == GRAPH_PARAM) {
        *row = (struct row){of, -1, -1, 1};
        return !v->integers && value_has_axis(v, x->sum);
    }
    if (v->rank < 2 || v->axes[v->rank - 1] != x->sum) return false;
    if (v->op == GRAPH_MAP) return read_expr(x, of, v->expr, row);
    *row = (struct row){of, -1, -1, 1};
    return v->op == GRAPH_INPUT && !v->sums;
}

/* Adds value `of` as an operand of the map, and returns its leaf. */
static const struct expr *operand(const struct graph *g, struct value *map, int of)
{
    map->operand[map->operands] = graph_ref(g, of, NULL);
    return expr_operand(g->module, map->operands++);
}

static const struct expr *times(const struct graph *g, const struct expr *e, double constant)
{
    return constant == 1 ? e : expr_mul(g->module, e, expr_real(g->module, constant));
}

/* Adds a value with the sum over the row of constant * scale * element, plus the shift if `shifted`. Returns the
   value. */
static int sum_of_row(struct rows *x, const struct row *row, bool shifted)
{
    const struct graph *g = x->g;
    struct module *m = g->module;
    const struct value input = g->value[row->input];
    struct value sum = row_value(x, GRAPH_REDUCE, &input), made = row_value(x, GRAPH_MAP, &input);
    sum.fold = FOLD_SUM;
    sum.operands = 1;
    sum.operand[0] = graph_ref(g, row->input, NULL);
    made.expr = times(g, operand(g, &made, add(x, sum)), row->constant);
    if (row->scale >= 0) made.expr = expr_mul(m, made.expr, operand(g, &made, row->scale));
    if (shifted && row->shift >= 0) {
        const struct expr *all = times(g, operand(g, &made, row->shift), (double)m->axis[x->sum].extent);
        made.expr = expr_add(m, made.expr, all);
    }
    return add(x, made);
}

static void rewrite(struct rows *x, const struct row *a, const struct row *b)
{
    struct graph *g = x->g;
    struct module *m = g->module;
    struct value product = g->value[x->at], pair = graph_value(GRAPH_MAP, product.rank, product.axes);
    product.operand[0] = graph_ref(g, a->input, NULL);
    product.operand[1] = graph_ref(g, b->input, NULL);
    const int of_stored = add(x, product), sum_a = b->shift >= 0 ? sum_of_row(x, a, true) : -1,
              sum_b = a->shift >= 0 ? sum_of_row(x, b, false) : -1;
    const struct expr *e = times(g, operand(g, &pair, of_stored), a->constant * b->constant);
    if (b->scale >= 0) e = expr_mul(m, e, operand(g, &pair, b->scale));
    if (a->scale >= 0) e = expr_mul(m, e, operand(g, &pair, a->scale));
    if (b->shift >= 0) e = expr_add(m, e, expr_mul(m, operand(g, &pair, sum_a), operand(g, &pair, b->shift)));
    if (a->shift >= 0) e = expr_add(m, e, expr_mul(m, operand(g, &pair, a->shift), operand(g, &pair, sum_b)));
    pair.expr = e;
    g->value[x->at] = pair;
}

static bool is_changed(const struct row *row)
{
    return row->scale >= 0 || row->shift >= 0 || row->constant != 1;
}

/* Whether the product multiplies rows of two sequences. On matrix units (multiplies_states), rows of a sequence times
   a parameter also count. */
static bool is_of_rows(const struct compilation *c, const struct value *v)
{
    const struct graph *g = c->graph;
    int sequences = 0, params = 0;
    for (int k = 0; k < v->rank; k++) sequences += axis_is_sequence(&g->module->axis[v->axes[k]]);
    for (int k = 0; k < 2; k++) params += g->value[v->operand[k].of].op == GRAPH_PARAM;
    return params ? params == 1 && sequences == 1 && multiplies_states(c) : sequences == 2;
}

/* Whether each axis of the product is an axis of an input. False if only a norm depends on the head. */
static bool have_axes(const struct graph *g, const struct value *product, const struct row *a, const struct row *b)
{
    for (int k = 0; k < product->rank; k++)
        if (!value_has_axis(&g->value[a->input], product->axes[k]) &&
            !value_has_axis(&g->value[b->input], product->axes[k]))
            return false;
    return true;
}

void pass_stored_rows(struct compilation *c)
{
    struct graph *g = c->graph;
    if (!multiplies_bf16(c) && !multiplies_states(c)) return;
    for (int v = 0; v < g->values; v++) {
        const struct value *product = &g->value[v];
        if (product->op != GRAPH_CONTRACT || product->operands != 2 || product->where || product->online >= 0 ||
            !is_of_rows(c, product) || !graph_is_plain(g, &product->operand[0]) ||
            !graph_is_plain(g, &product->operand[1]))
            continue;
        const int side = g->value[product->operand[0].of].op == GRAPH_PARAM;
        const struct value *rows = &g->value[product->operand[side].of];
        struct rows x = {g, v, rows->rank ? rows->axes[rows->rank - 1] : -1};
        struct row a, b;
        const int of_a = product->operand[0].of, of_b = product->operand[1].of;
        if (x.sum < 0 || g->module->axis[x.sum].source != SIZE_CONSTANT || value_has_axis(product, x.sum)) continue;
        if (g->module->axis[x.sum].extent == 1) continue; /* one element equals its mean, so all digits would cancel */
        if (read_row(&x, of_a, &a) && read_row(&x, of_b, &b) && (is_changed(&a) || is_changed(&b)) &&
            have_axes(g, &g->value[x.at], &a, &b))
            rewrite(&x, &a, &b);
        v = x.at;
    }
}
