/* A sum over j of weights that carry a factor exp(l) overflows where l is large, although quotients of such sums do not. This pass subtracts
   from l its maximum M over the region: every such sum is then exp(-M) times what it was, and each map that uses them is corrected by exp(M),
   which cancels in a quotient. The sums are marked as relative to M, so that they may be accumulated while M is still growing
   (the online normaliser of Milakov and Gimelshein, 2018). A maximum over constant axes alone, of one row's features say, is known before its
   sums begin; the factor exp(M) that it leaves behind in their users may be another's exponential. Exponentials become powers of two on the way. */
#include "../compiler.h"

#include <float.h>
#include <math.h>

/* e * constant, with the constant pushed down to where it can merge with others. */
static const struct expr *scaled(struct module *m, const struct expr *e, double by)
{
    switch ((int)e->op) {
    case EXPR_ADD:
    case EXPR_SUB:
        if (e->type == TYPE_REAL) return expr_make(m, e->op, scaled(m, e->arg[0], by), scaled(m, e->arg[1], by), NULL);
        break;
    case EXPR_NEG: return expr_make(m, EXPR_NEG, scaled(m, e->arg[0], by), NULL, NULL);
    case EXPR_MUL:
        if (e->arg[1]->op == EXPR_REAL) return expr_make(m, EXPR_MUL, e->arg[0], expr_real(m, e->arg[1]->real * by), NULL);
        /* slope * distance: into the factor that does not run along the lanes */
        if (e->type == TYPE_REAL && e->arg[0]->type == TYPE_REAL && e->arg[1]->type != TYPE_REAL)
            return expr_make(m, EXPR_MUL, scaled(m, e->arg[0], by), e->arg[1], NULL);
        break;
    default: break;
    }
    return expr_make(m, EXPR_MUL, e, expr_real(m, by), NULL);
}

/* Splits a product into the sum of the exponents (in powers of two) of its exponentials and the rest; either may come out NULL. */
static void split_exponentials(struct module *m, const struct expr *e, const struct expr **exponent, const struct expr **rest)
{
    if (e->op == EXPR_MUL) {
        split_exponentials(m, e->arg[0], exponent, rest);
        split_exponentials(m, e->arg[1], exponent, rest);
    } else if (e->op == EXPR_EXP || e->op == EXPR_EXP2) {
        const struct expr *x = e->op == EXPR_EXP ? scaled(m, e->arg[0], 1 / log(2)) : e->arg[0];
        *exponent = *exponent ? expr_make(m, EXPR_ADD, *exponent, x, NULL) : x;
    } else
        *rest = *rest ? expr_make(m, EXPR_MUL, *rest, e, NULL) : e;
}

/* How an expression over relative sums (operands marked in `relative`) follows from the sums as they were: original = result * U^power,
   U = 2^M. `needs` is set when a term had to be multiplied by 1/U to agree with its neighbours. */
struct scaling {
    struct module *m;
    const bool *relative;
    const struct expr *inverse; /* 1/U */
    bool needs, impossible;
};
struct power {
    const struct expr *e;
    int power;
};

static struct power scale(struct scaling *s, const struct expr *e);

/* a and b to a common power; a constant 0 has any. */
static int agree(struct scaling *s, struct power *a, struct power *b)
{
    if (expr_is_real(a->e, 0)) a->power = b->power;
    if (expr_is_real(b->e, 0)) b->power = a->power;
    struct power *less = a->power < b->power ? a : b, *more = less == a ? b : a;
    for (; less->power < more->power; less->power++) {
        less->e = expr_make(s->m, EXPR_MUL, less->e, s->inverse, NULL);
        s->needs = true;
    }
    return a->power;
}

static struct power scale(struct scaling *s, const struct expr *e)
{
    if (e->op == EXPR_OPERAND) return (struct power){e, s->relative[e->integer] ? 1 : 0};
    int arity = expr_arity(e->op);
    if (arity == 0) return (struct power){e, 0};
    struct power arg[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
    bool relative = false;
    for (int k = 0; k < arity; k++) {
        arg[k] = scale(s, e->arg[k]);
        relative |= arg[k].power != 0;
    }
    int power = 0;
    if (relative) switch ((int)e->op) {
        case EXPR_NEG: power = arg[0].power; break;
        case EXPR_ADD:
        case EXPR_SUB: power = agree(s, &arg[0], &arg[1]); break;
        case EXPR_MUL: power = arg[0].power + arg[1].power; break;
        case EXPR_DIV: power = arg[0].power - arg[1].power; break;
        case EXPR_EQ:
        case EXPR_NE:
        case EXPR_LT:
        case EXPR_LE: agree(s, &arg[0], &arg[1]); break;
        case EXPR_SELECT: power = agree(s, &arg[1], &arg[2]); break;
        default: s->impossible = true;
        }
    return (struct power){expr_make(s->m, e->op, arg[0].e, arg[1].e, arg[2].e), power};
}

/* Whether map v is a weight that this pass can treat: it has an exponential factor and is used only by sums over one region, whose users are maps. */
struct plan {
    int weight, sums, sum[MAX_OPERANDS];
    bool running; /* the sums run over run-time axes: the maximum is still growing while they do */
    const struct expr *exponent, *rest, *where;
};

/* Whether the sum runs over a run-time axis of the weight. */
static bool sums_at_run_time(const struct graph *g, const struct value *sum, const struct value *weight)
{
    for (int a = 0; a < weight->rank; a++) {
        bool kept = g->module->axis[weight->axes[a]].source == SIZE_CONSTANT;
        for (int k = 0; k < sum->rank; k++) kept |= sum->axes[k] == weight->axes[a];
        if (!kept) return true;
    }
    return false;
}

/* Whether r runs along its value's own axis wherever that is one of `axes`. */
static bool plain_along(const struct graph *g, const struct ref *r, int rank, const int *axes)
{
    for (int k = 0; k < r->rank; k++)
        for (int a = 0; a < rank; a++)
            if (g->value[r->of].axes[k] == axes[a] && ref_axis(r, k) != axes[a]) return false;
    return true;
}

static bool make_plan(const struct graph *g, int v, struct plan *plan)
{
    const struct value *weight = &g->value[v];
    if (weight->op != GRAPH_MAP || v == g->output) return false;
    *plan = (struct plan){.weight = v};
    split_exponentials(g->module, weight->expr, &plan->exponent, &plan->rest);
    if (!plan->exponent) return false;
    for (int w = 0; w < g->values; w++)
        for (int k = 0; k < g->value[w].operands; k++) {
            const struct value *user = &g->value[w];
            if (user->operand[k].of != v) continue;
            bool sum = (user->op == GRAPH_CONTRACT || (user->op == GRAPH_REDUCE && user->fold == FOLD_SUM)) && user->online < 0;
            if (!sum || w == g->output || plan->sums == MAX_OPERANDS || (plan->sums && user->where != plan->where)) return false;
            bool running = sums_at_run_time(g, user, weight);
            if (plan->sums && running != plan->running) return false;
            plan->running = running;
            plan->where = user->where;
            plan->sum[plan->sums++] = w;
        }
    for (int w = 0; w < g->values; w++)
        for (int k = 0; k < g->value[w].operands; k++)
            for (int s = 0; s < plan->sums; s++)
                if (g->value[w].operand[k].of == plan->sum[s] && g->value[w].op != GRAPH_MAP) return false;
    return plan->sums > 0;
}

/* The axes of the maximum: those of the weight that the sum with the fewest axes keeps. */
static int kept_axes(const struct graph *g, const struct plan *plan, int *axes)
{
    const struct value *weight = &g->value[plan->weight];
    int rank = 0;
    for (int a = 0; a < weight->rank; a++) {
        bool kept = true;
        for (int s = 0; s < plan->sums; s++) {
            const struct value *sum = &g->value[plan->sum[s]];
            bool has = false;
            for (int k = 0; k < sum->rank; k++) has |= sum->axes[k] == weight->axes[a];
            kept &= has;
        }
        if (kept) axes[rank++] = weight->axes[a];
    }
    return rank;
}

/* Rewrites a copy of the graph by the plan, with `init` as the least value of M; NULL when some user of the sums does not scale.
   Sets *inverse when some map needs 2^-M itself. */
static struct graph *rewrite(const struct graph *old, const struct plan *plan, double init, bool *inverse)
{
    struct module *m = old->module;
    struct graph *g = graph_copy(old);
    int axes[MAX_RANK], rank = kept_axes(old, plan, axes), exponent = plan->weight, maximum = exponent + 1;

    struct value value = g->value[plan->weight];
    value.expr = plan->exponent;
    graph_insert(g, exponent, value);
    value = graph_value(GRAPH_REDUCE, rank, axes);
    value.fold = FOLD_MAX;
    value.init = init;
    value.where = plan->where;
    value.operands = 1;
    value.operand[0] = graph_ref(g, exponent, NULL);
    graph_insert(g, maximum, value);

    struct value *weight = &g->value[maximum + 1];
    if (weight->operands + 2 > MAX_OPERANDS) return NULL;
    const struct expr *l = expr_leaf(m, EXPR_OPERAND, weight->operands), *M = expr_leaf(m, EXPR_OPERAND, weight->operands + 1);
    weight->operand[weight->operands++] = graph_ref(g, exponent, NULL);
    weight->operand[weight->operands++] = graph_ref(g, maximum, NULL);
    weight->expr = expr_make(m, EXPR_EXP2, expr_make(m, EXPR_SUB, l, M, NULL), NULL, NULL);
    if (plan->rest) weight->expr = expr_make(m, EXPR_MUL, weight->expr, plan->rest, NULL);

    for (int s = 0; s < plan->sums && plan->running; s++) g->value[plan->sum[s] + 2].online = maximum;
    for (int v = maximum + 2; v < g->values; v++) {
        struct value *user = &g->value[v];
        bool relative[MAX_OPERANDS] = {false}, any = false;
        for (int k = 0; k < user->operands; k++)
            for (int s = 0; s < plan->sums; s++)
                if (user->operand[k].of == plan->sum[s] + 2) {
                    if (!plain_along(g, &user->operand[k], rank, axes)) return NULL;
                    relative[k] = any = true;
                }
        if (!any) continue;
        if (user->operands == MAX_OPERANDS) return NULL;
        M = expr_leaf(m, EXPR_OPERAND, user->operands);
        user->operand[user->operands++] = graph_ref(g, maximum, NULL);
        struct scaling s = {.m = m, .relative = relative, .inverse = expr_make(m, EXPR_EXP2, expr_make(m, EXPR_NEG, M, NULL, NULL), NULL, NULL)};
        struct power result = scale(&s, user->expr);
        if (s.impossible) return NULL;
        *inverse |= s.needs || result.power < 0;
        if (result.power) {
            const struct expr *power = expr_make(m, EXPR_MUL, M, expr_real(m, result.power), NULL);
            result.e = expr_make(m, EXPR_MUL, result.e, expr_make(m, EXPR_EXP2, power, NULL, NULL), NULL);
        }
        user->expr = result.e;
    }
    return g;
}

void pass_stabilise(struct compilation *c)
{
    for (int v = 0; v < c->graph->values; v++) {
        struct plan plan;
        bool inverse = false;
        if (!make_plan(c->graph, v, &plan)) continue;
        struct graph *made = rewrite(c->graph, &plan, -DBL_MAX, &inverse);
        /* 2^-M must not overflow: M then starts at 0 */
        if (made && inverse) made = rewrite(c->graph, &plan, 0, &inverse);
        if (!made) continue;
        c->graph = made;
        v += 2;
    }
}
