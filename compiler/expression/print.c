/* Prints expressions as C. Users see their own expression as the compiler understood it, and expressions of a graph. */
#include "expression.h"

#include <string.h>

/* Whether e is the number of a query head: g * members + m. */
static bool is_head(const struct expr *e, const struct module *m)
{
    const struct expr *a = e->arg[0], *b = e->arg[1];
    return m && e->op == EXPR_ADD && a->op == EXPR_MUL && b->op == EXPR_INDEX && a->arg[0]->op == EXPR_INDEX &&
           a->arg[1]->op == EXPR_SIZE && a->arg[1]->integer == b->integer &&
           m->axis[b->integer].source == SIZE_MEMBERS && m->axis[a->arg[0]->integer].source == SIZE_KV_HEADS;
}

static const char *function_name(const struct expr *e, const struct module *m)
{
    const bool plain = m && (e->op == EXPR_MIN || e->op == EXPR_MAX);
    return expr_is_for_users(e->op) && !plain ? expr_c_function(e->op) : expr_name(e->op);
}

static void print_size(const struct module *m, int axis, struct text *out)
{
    const struct axis *a = &m->axis[axis];
    if (axis_is_counted(a))
        text_add(out, "%lld", (long long)a->extent);
    else
        text_add(out, "%s", size_name(a->source));
}

static void print(const struct expr *e, const struct module *m, bool inner, struct text *out);

/* Returns e without a conversion to double, written as e * 1.0. In C, an argument is converted implicitly. */
static const struct expr *unconverted(const struct expr *e)
{
    return e->op == EXPR_MUL && e->arg[0]->type != TYPE_REAL && expr_is_real(e->arg[1], 1) ? e->arg[0] : e;
}

static void print_call(const struct expr *e, const struct module *m, struct text *out)
{
    const bool id = e->op == EXPR_ID, converts = e->op != EXPR_ABS && e->op != EXPR_MIN && e->op != EXPR_MAX;
    text_add(out, "%s%s", id ? e->name : function_name(e, m), id ? "[" : "(");
    if (e->op == EXPR_MIN_ID || e->op == EXPR_MAX_ID) text_add(out, "%s, ", e->name);
    for (int k = 0; k < expr_arity(e->op); k++) {
        if (k) text_add(out, ", ");
        print(converts ? unconverted(e->arg[k]) : e->arg[k], m, false, out);
    }
    text_add(out, id ? "]" : ")");
}

static void print(const struct expr *e, const struct module *m, bool inner, struct text *out)
{
    const struct expr *a = e->arg[0], *b = e->arg[1];
    const char *between = expr_infix(e->op), *before = inner ? "(" : "", *after = inner ? ")" : "";
    switch ((int)e->op) {
    case EXPR_OPERAND: text_add(out, "s"); return;
    case EXPR_INDEX:
        if (m)
            text_add(out, "%s", m->axis[e->integer].name);
        else
            text_add(out, "%c", "ijh"[e->integer]);
        return;
    case EXPR_SIZE: print_size(m, (int)e->integer, out); return;
    case EXPR_INT: text_add(out, "%lld", (long long)e->integer); return;
    case EXPR_REAL: real_print(e->real, true, out); return;
    case EXPR_NEG:
    case EXPR_NOT:
        text_add(out, "%s%s", before, e->op == EXPR_NEG ? "-" : "!");
        print(a, m, true, out);
        text_add(out, "%s", after);
        return;
    case EXPR_SELECT:
        text_add(out, "%s", before);
        print(a, m, true, out);
        text_add(out, " ? ");
        print(b, m, true, out);
        text_add(out, " : ");
        print(e->arg[2], m, true, out);
        text_add(out, "%s", after);
        return;
    default: break;
    }
    if (is_head(e, m)) {
        text_add(out, "h");
    } else if (e->op == EXPR_ADD && b->op == EXPR_INT && b->integer < 0 && b->integer != INT64_MIN) {
        text_add(out, "%s", before);
        print(a, m, true, out);
        text_add(out, " - %lld%s", (long long)-b->integer, after);
    } else if (between) {
        text_add(out, "%s", before);
        print(a, m, true, out);
        text_add(out, " %s ", between);
        print(b, m, true, out);
        text_add(out, "%s", after);
    } else {
        print_call(e, m, out);
    }
}

void expression_print(const struct expr *e, const struct module *m, struct text *out)
{
    print(e, m, false, out);
}
