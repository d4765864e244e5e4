/* Prints values and expressions of the graph for people. */
#include "view.h"
#include "../analysis/analysis.h"
#include "../emit/emit.h"
#include "../spec/spec.h"

#include <string.h>

static void print(const struct graph *g, const struct value *v, const struct expr *e, bool inner, struct text *out);

static void print_ref(const struct graph *g, const struct ref *r, struct text *out)
{
    const struct value *of = &g->value[r->of];
    text_add(out, "%s", view_name(g, r->of));
    bool plain = true;
    for (int k = 0; k < r->rank; k++) plain &= ref_axis(r, k) == of->axes[k];
    for (int k = 0; k < r->rank && !plain; k++) {
        text_add(out, "%s", k ? ", " : "[");
        print(g, NULL, r->sub[k], false, out);
    }
    if (!plain) text_add(out, "]");
}

/* Prints (j - floormod(j, 4)) / 4 as floor(j / 4). Returns false if e does not have this form. */
static bool print_block(const struct graph *g, const struct value *v, const struct expr *e, struct text *out)
{
    if (e->op != EXPR_DIV || e->arg[0]->op != EXPR_SUB || e->arg[0]->arg[1]->op != EXPR_FLOORMOD) return false;
    const struct expr *x = e->arg[0]->arg[0], *by = e->arg[1], *rest = e->arg[0]->arg[1];
    if (rest->arg[0] != x || rest->arg[1] != by) return false;
    text_add(out, "floor(");
    print(g, v, x, true, out);
    text_add(out, " / ");
    print(g, v, by, true, out);
    text_add(out, ")");
    return true;
}

static void print(const struct graph *g, const struct value *v, const struct expr *e, bool inner, struct text *out)
{
    const struct module *m = g->module;
    const char *between = expr_infix(e->op);
    switch ((int)e->op) {
    case EXPR_OPERAND: print_ref(g, &v->operand[e->integer], out); return;
    case EXPR_INDEX: text_add(out, "%s", m->axis[e->integer].name); return;
    case EXPR_SIZE: text_add(out, "%s", emit_size(m, (int)e->integer)); return;
    case EXPR_INT: text_add(out, "%lld", (long long)e->integer); return;
    case EXPR_REAL: real_print(e->real, false, out); return;
    default: break;
    }
    if (print_block(g, v, e, out)) return;
    const bool sign = e->op == EXPR_NEG || e->op == EXPR_NOT, chosen = e->op == EXPR_SELECT;
    if (!between && !sign && !chosen) {
        text_add(out, "%s(", expr_name(e->op));
        if (e->name) text_add(out, "%s, ", e->name);
        for (int k = 0; k < 3 && e->arg[k]; k++) {
            if (k) text_add(out, ", ");
            print(g, v, e->arg[k], false, out);
        }
        if (e->draw && e->draw->name)
            text_add(out, "; %s", e->draw->name);
        else if (e->draw)
            text_add(out, "%s; %lld, seed %llu", e->draw->upto ? " up to" : "", (long long)e->draw->count,
                     (unsigned long long)e->draw->seed);
        text_add(out, ")");
        return;
    }
    if (inner) text_add(out, "(");
    if (sign) text_add(out, "%s", e->op == EXPR_NEG ? "-" : "!");
    const bool chain = e->arg[0]->op == e->op &&
                       (e->op == EXPR_ADD || e->op == EXPR_MUL || e->op == EXPR_AND || e->op == EXPR_OR);
    print(g, v, e->arg[0], !chain, out);
    if (chosen) text_add(out, " ? ");
    if (between) text_add(out, " %s ", between);
    if (!sign) print(g, v, e->arg[1], true, out);
    if (chosen) {
        text_add(out, " : ");
        print(g, v, e->arg[2], true, out);
    }
    if (inner) text_add(out, ")");
}

const char *view_name(const struct graph *g, int number)
{
    const struct value *v = &g->value[number];
    return v->name ? v->name : arena_printf(g->module->arena, "v%d", number);
}

void view_expr(const struct graph *g, const struct value *v, const struct expr *e, struct text *out)
{
    print(g, v, e, false, out);
}

void view_value(const struct graph *g, const struct value *v, struct text *out)
{
    switch (v->op) {
    case GRAPH_INPUT: text_add(out, "input"); break;
    case GRAPH_PARAM:
        if (v->integers)
            text_add(out, "parameter, integers");
        else if (v->origin == ORIGIN_LEARNED)
            text_add(out, "parameter");
        else
            text_add(out, "parameter from a seed: %s", origin_name(v->origin));
        break;
    case GRAPH_TABLE: text_add(out, "table of constants"); break;
    case GRAPH_MAP: view_expr(g, v, v->expr, out); break;
    case GRAPH_CONTRACT:
    case GRAPH_REDUCE: {
        uint32_t over = 0;
        for (int k = 0; k < v->operands; k++) over |= ref_axes(&v->operand[k]);
        text_add(out, "%s over", v->op == GRAPH_REDUCE && v->fold == FOLD_MAX ? "max" : "sum");
        const char *before = " ";
        for (int axis = 0; axis < g->module->axes; axis++)
            if (over & 1U << axis && !value_has_axis(v, axis)) {
                text_add(out, "%s%s", before, g->module->axis[axis].name);
                before = ", ";
            }
        text_add(out, " of ");
        for (int k = 0; k < v->operands; k++) {
            if (k) text_add(out, " * ");
            print_ref(g, &v->operand[k], out);
        }
        break;
    }
    case GRAPH_SOLVE:
        text_add(out, "solution of 1/");
        print_ref(g, &v->operand[SOLVE_RATE], out);
        text_add(out, " + ");
        print_ref(g, &v->operand[SOLVE_WEIGHTS], out);
        text_add(out, " below the diagonal, for ");
        print_ref(g, &v->operand[SOLVE_VALUES], out);
        break;
    }
}

/* Names that functions of NAME.py and of the package attnc use for something else. */
static const char *const python_names[] = {"batch",       "capacity", "data",  "foldable", "gradients",
                                           "query_start", "rewind",   "saved", "self",     "start",
                                           "threads",     "wanted",   NULL};

static bool is_python_name(const struct unit *p, const struct kernel_array *of, const char *name)
{
    const char *const gradient = arena_printf(p->arena, "d%s", name);
    bool used = python_is_keyword(name) || python_is_keyword(gradient);
    for (const char *const *other = python_names; *other; other++) used |= strcmp(name, *other) == 0;
    if (spec_array(p->spec, of->name) >= 0) {
        used |= strcmp(name, "seed") == 0 || strcmp(name, "statistics") == 0;
        /* arguments of a state's extend(), which takes the rows of such arrays */
        used |= array_grows(of) && (strcmp(name, "lengths") == 0 || strcmp(name, "cu_seqlens") == 0);
    }
    for (int k = 0; k < p->kernel.arrays->count; k++) {
        const struct kernel_array *const a = &p->kernel.arrays->array[k];
        if (a->place == PLACE_PARAMS && strcmp(a->name, of->name) != 0)
            used |= strcmp(a->name, name) == 0 || strcmp(a->name, gradient) == 0;
    }
    return used;
}

const char *view_python_argument(const struct unit *p, const struct kernel_array *a)
{
    /* The member may already have a `_`, because of a keyword of C++. */
    const char *name = a->declared && !name_is_tangent(a->name) ? a->name : a->member;
    while (is_python_name(p, a, name)) name = arena_printf(p->arena, "%s_", name);
    return name;
}

size_t view_length(const char *text)
{
    size_t n = strlen(text);
    while (n > 0 && strchr(" \t\r\n", text[n - 1])) n--;
    return n;
}
