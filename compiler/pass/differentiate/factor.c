/* Moves a factor f[j] of the stream's rows from vectors x[j] to pairs. Otherwise vectors are scaled again for each tile
   of lanes. An example of f[j] is the inverse of a row's sum of weights.
   - sum over j of w[i][j] * (f[j] * x[j]) becomes sum over j of (w[i][j] * f[j]) * x[j].
   - <y[i], f[j] * x[j]> becomes f[j] * <y[i], x[j]>. */
#include "differentiate.h"
#include "../../analysis/analysis.h"

/* The operands of a map factor[j] * vector[j] over the stream. */
struct scaled {
    struct ref vector, factor;
};

static bool whole(const struct graph *g, const struct ref *r)
{
    for (int k = 0; k < r->rank; k++)
        if (ref_axis(r, k) != g->value[r->of].axes[k]) return false;
    return true;
}

static bool is_number_of_row(const struct graph *g, const struct ref *r)
{
    for (int k = 0; k < r->rank; k++)
        if (g->module->axis[ref_axis(r, k)].source == SIZE_CONSTANT) return false;
    return true;
}

static bool scales_stream(const struct graph *g, const struct roles *roles, int v, struct scaled *out)
{
    const struct value *value = &g->value[v];
    if (value->op != GRAPH_MAP || value->operands != 2 || value->expr->op != EXPR_MUL ||
        !value_has_axis(value, roles->stream) || value_has_axis(value, roles->lane))
        return false;
    const struct expr *const *arg = value->expr->arg;
    if (arg[0]->op != EXPR_OPERAND || arg[1]->op != EXPR_OPERAND || arg[0] == arg[1]) return false;
    if (!whole(g, &value->operand[0]) || !whole(g, &value->operand[1])) return false;
    for (int k = 0; k < 2; k++) {
        out->factor = value->operand[k];
        out->vector = value->operand[1 - k];
        if (is_number_of_row(g, &out->factor) && !is_number_of_row(g, &out->vector) && out->vector.rank == value->rank)
            return true;
    }
    return false;
}

/* Returns the operand of `user`, 0 or 1, that is v. Returns -1 if the factor of v cannot move to the pairs of
   `user`. */
static int operand_of(const struct graph *g, const struct roles *roles, const struct value *user, int v)
{
    const int at = user->operand[0].of == v ? 0 : 1;
    if (user->op != GRAPH_CONTRACT || user->online >= 0 || user->keep || user->operand[1 - at].of == v ||
        !whole(g, &user->operand[at]) || !whole(g, &user->operand[1 - at]))
        return -1;
    const struct value *other = &g->value[user->operand[1 - at].of];
    const bool makes_pairs = value_has_axis(user, roles->lane) && value_has_axis(user, roles->stream) && !user->where,
               sums_pairs = value_has_axis(other, roles->lane) && value_has_axis(other, roles->stream);
    return makes_pairs != sums_pairs ? at : -1;
}

/* Returns the map r * factor over the axes of `like`. */
static struct value scaled_by(struct graph *g, const struct value *like, struct ref r, struct ref factor)
{
    struct value map = graph_value(GRAPH_MAP, like->rank, like->axes);
    map.operands = 2;
    map.operand[0] = r;
    map.operand[1] = factor;
    map.expr = expr_mul(g->module, expr_operand(g->module, 0), expr_operand(g->module, 1));
    return map;
}

static void move_factor(struct graph *g, const struct roles *roles, int v, const struct scaled *s)
{
    for (int w = v + 1; w < g->values; w++) {
        const struct value user = g->value[w];
        int at = -1;
        for (int k = 0; k < user.operands; k++)
            if (user.operand[k].of == v) at = k;
        if (at < 0) continue;
        const struct value pairs = g->value[user.operand[1 - at].of];
        if (value_has_axis(&pairs, roles->lane) && value_has_axis(&pairs, roles->stream)) {
            graph_insert(g, w, scaled_by(g, &pairs, user.operand[1 - at], s->factor));
            g->value[w + 1].operand[1 - at] = graph_ref(g, w, NULL);
            g->value[w + 1].operand[at] = s->vector;
        } else {
            struct value plain = user;
            plain.operand[at] = s->vector;
            graph_insert(g, w, plain);
            g->value[w + 1] = scaled_by(g, &user, graph_ref(g, w, NULL), s->factor);
        }
        w++;
    }
}

void reversal_move_factors(struct graph *g)
{
    struct roles roles;
    if (roles_of(g, 0, &roles) || roles.stream < 0 || roles.chunk >= 0) return;
    for (int v = 0; v < g->values; v++) {
        struct scaled s;
        if (!scales_stream(g, &roles, v, &s) || graph_is_output(g, v)) continue;
        bool all = true;
        for (int w = v + 1; w < g->values; w++)
            for (int k = 0; k < g->value[w].operands; k++)
                all &= g->value[w].operand[k].of != v || operand_of(g, &roles, &g->value[w], v) >= 0;
        if (all) move_factor(g, &roles, v, &s);
    }
    graph_sweep(g);
}
