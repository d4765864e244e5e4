/* Prints the values of a graph as formulas, for people. */
#include "emit.h"

#include <string.h>

const char *formula_name(const struct graph *g, int v)
{
    const struct value *value = &g->value[v];
    return value->name ? value->name : arena_printf(g->module->arena, "x%d", v);
}

/* Precedences as in C, from low to high. Names and numbers have the highest precedence. */
enum {
    BINDS_CHOICE = 1,
    BINDS_OR,
    BINDS_AND,
    BINDS_EQUAL,
    BINDS_LESS,
    BINDS_SUM,
    BINDS_PRODUCT,
    BINDS_UNARY,
    BINDS_CALL
};

static int binding_of(const struct expr *e)
{
    switch ((int)e->op) {
    case EXPR_SELECT: return BINDS_CHOICE;
    case EXPR_OR: return BINDS_OR;
    case EXPR_AND: return BINDS_AND;
    case EXPR_EQ:
    case EXPR_NE: return BINDS_EQUAL;
    case EXPR_LT:
    case EXPR_LE: return BINDS_LESS;
    case EXPR_ADD:
    case EXPR_SUB: return BINDS_SUM;
    case EXPR_MUL:
    case EXPR_DIV:
    case EXPR_MOD: return BINDS_PRODUCT;
    case EXPR_NEG:
    case EXPR_NOT: return BINDS_UNARY;
    default: return BINDS_CALL;
    }
}

/* Returns a if e is (a - a mod n) / n = floor(a / n), otherwise NULL. */
static const struct expr *floored(const struct expr *e)
{
    if (e->op != EXPR_DIV || e->arg[0]->op != EXPR_SUB) return NULL;
    const struct expr *a = e->arg[0]->arg[0], *remainder = e->arg[0]->arg[1];
    return remainder->op == EXPR_FLOORMOD && remainder->arg[0] == a && remainder->arg[1] == e->arg[1] ? a : NULL;
}

static void formula(const struct graph *g, const struct value *v, const struct expr *e, int binding, struct text *out);

static void reference(const struct graph *g, const struct ref *r, struct text *out)
{
    text_add(out, "%s", formula_name(g, r->of));
    if (graph_is_plain(g, r)) return;
    for (int k = 0; k < r->rank; k++) {
        text_add(out, k ? ", " : "[");
        formula(g, NULL, r->sub[k], BINDS_CHOICE, out);
    }
    if (r->rank) text_add(out, "]");
}

static void call(const struct graph *g, const struct value *v, const struct expr *e, struct text *out)
{
    text_add(out, "%s(%s%s", e->op == EXPR_FLOORMOD ? "mod" : expr_name(e->op), e->name ? e->name : "",
             e->name ? ", " : "");
    for (int k = 0; k < 3 && e->arg[k]; k++) {
        if (k) text_add(out, ", ");
        formula(g, v, e->arg[k], BINDS_CHOICE, out);
    }
    if (e->draw && e->draw->name)
        text_add(out, ", in %s", e->draw->name);
    else if (e->draw)
        text_add(out, ", %lld%s, seed %llu", (long long)e->draw->count, e->draw->upto ? " up to" : "",
                 (unsigned long long)e->draw->seed);
    text_add(out, ")");
}

/* Prints an expression, in parentheses if its precedence is below `binding`. */
static void formula(const struct graph *g, const struct value *v, const struct expr *e, int binding, struct text *out)
{
    const struct module *m = g->module;
    const struct expr *dividend = floored(e);
    const int own = dividend ? BINDS_CALL : binding_of(e);
    if (own < binding) text_add(out, "(");
    if (dividend) {
        text_add(out, "floor(");
        formula(g, v, dividend, BINDS_PRODUCT, out);
        text_add(out, " / ");
        formula(g, v, e->arg[1], BINDS_UNARY, out);
        text_add(out, ")");
    } else if (e->op == EXPR_REAL)
        real_print(e->real, false, out);
    else if (e->op == EXPR_INT)
        text_add(out, "%lld", (long long)e->integer);
    else if (e->op == EXPR_OPERAND)
        reference(g, &v->operand[e->integer], out);
    else if (e->op == EXPR_INDEX)
        text_add(out, "%s", m->axis[e->integer].name);
    else if (e->op == EXPR_SIZE)
        text_add(out, "%s", emit_size(m, (int)e->integer));
    else if (e->op == EXPR_START)
        text_add(out, "query_start");
    else if (e->op == EXPR_SELECT) {
        formula(g, v, e->arg[0], own + 1, out);
        text_add(out, " ? ");
        formula(g, v, e->arg[1], own + 1, out);
        text_add(out, " : ");
        formula(g, v, e->arg[2], own, out);
    } else if (own == BINDS_UNARY) {
        text_add(out, e->op == EXPR_NEG ? "-" : "!");
        formula(g, v, e->arg[0], own, out);
    } else if (expr_infix(e->op)) {
        /* The right operand of +, && and || needs no parentheses. */
        const bool regroups = e->op == EXPR_ADD || e->op == EXPR_AND || e->op == EXPR_OR;
        formula(g, v, e->arg[0], own, out);
        text_add(out, " %s ", expr_infix(e->op));
        formula(g, v, e->arg[1], own + !regroups, out);
    } else
        call(g, v, e, out);
    if (own < binding) text_add(out, ")");
}

/* Prints the formula of a sum, such as "sum over j of x4 * v". */
static void sum_formula(const struct graph *g, const struct value *v, struct text *out)
{
    int over = 0;
    text_add(out, v->op == GRAPH_REDUCE && v->fold == FOLD_MAX ? "max over " : "sum over ");
    for (int a = 0; a < g->module->axes; a++) {
        bool summed = false;
        for (int k = 0; k < v->operands; k++) summed |= ref_uses_axis(&v->operand[k], a);
        if (summed && !value_has_axis(v, a)) text_add(out, "%s%s", over++ ? ", " : "", g->module->axis[a].name);
    }
    text_add(out, " of ");
    for (int k = 0; k < v->operands; k++) {
        if (k) text_add(out, " * ");
        reference(g, &v->operand[k], out);
    }
    if (!v->where) return;
    text_add(out, " if ");
    formula(g, NULL, v->where, BINDS_CHOICE, out);
}

/* Prints the formula of a SCAN, such as "sum over later j of x4". */
static void scan_formula(const struct graph *g, const struct value *v, struct text *out)
{
    text_add(out, "sum over %s %s of ", v->backward ? "later" : "earlier", g->module->axis[v->axes[v->rank - 1]].name);
    reference(g, &v->operand[0], out);
    if (v->where) text_add(out, " if ");
    if (v->where) formula(g, NULL, v->where, BINDS_CHOICE, out);
}

/* Prints the equations of a SOLVE, such as "u with u[t] = r * (v - sum over j < t of w * u[j])". */
static void solve_formula(const struct graph *g, const struct value *v, struct text *out)
{
    int along, rows;
    graph_solve_axes(g->module, v, &along, &rows);
    const char *const t = g->module->axis[rows].name, *const j = g->module->axis[along].name;
    text_add(out, "u with u[%s] = ", t);
    reference(g, &v->operand[SOLVE_RATE], out);
    text_add(out, " * (");
    reference(g, &v->operand[SOLVE_VALUES], out);
    text_add(out, " - sum over %s < %s of ", j, t);
    reference(g, &v->operand[SOLVE_WEIGHTS], out);
    text_add(out, " * u[%s]", j);
    if (v->where) text_add(out, " if ");
    if (v->where) formula(g, NULL, v->where, BINDS_CHOICE, out);
    text_add(out, ")");
}

void formula_value(const struct graph *g, const struct value *v, struct text *out)
{
    switch (v->op) {
    case GRAPH_MAP: formula(g, v, v->expr, BINDS_CHOICE, out); break;
    case GRAPH_REDUCE:
    case GRAPH_CONTRACT: sum_formula(g, v, out); break;
    case GRAPH_SCAN: scan_formula(g, v, out); break;
    case GRAPH_SOLVE: solve_formula(g, v, out); break;
    default: break;
    }
}

void formula_mask(const struct graph *g, const struct value *v, struct text *out)
{
    formula(g, v, v->where, BINDS_CHOICE, out);
}
