/* Prints expressions as C. They are expressions of users, or of a graph. */
#include "expression.h"

/* Returns whether e is the number of a query head: g * members + m. */
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

/* The source of names for expression_print. */
struct names {
    const struct expression *of;
    const struct module *m;
};

static void print(const struct expr *e, const struct names *n, bool inner, struct text *out);

static void print_element(const struct element *e, const struct names *n, struct text *out)
{
    text_add(out, "%s", e->array->name);
    for (int k = 0; k < e->array->rank; k++) {
        text_add(out, "[");
        print(e->sub[k], n, false, out);
        text_add(out, "]");
    }
}

/* If e is x * 1.0, returns x, because C converts arguments to double. Otherwise returns e. */
static const struct expr *unconverted(const struct expr *e)
{
    return e->op == EXPR_MUL && e->arg[0]->type != TYPE_REAL && expr_is_real(e->arg[1], 1) ? e->arg[0] : e;
}

static void print_call(const struct expr *e, const struct names *n, struct text *out)
{
    if (e->op == EXPR_ID && n->of) {
        print_element(&n->of->element[e->arg[0]->integer], n, out);
        return;
    }
    const bool id = e->op == EXPR_ID || e->op == EXPR_ELEMENT,
               converts = e->op != EXPR_ABS && e->op != EXPR_MIN && e->op != EXPR_MAX;
    text_add(out, "%s%s", id ? e->name : function_name(e, n->m), id ? "[" : "(");
    const int first = id && expr_is_real(e->arg[0], 0); /* The array has one row, whose number is not printed. */
    if (e->name && !id) text_add(out, "%s, ", e->name);
    for (int k = first; k < expr_arity(e->op); k++) {
        if (k > first) text_add(out, ", ");
        print(converts ? unconverted(e->arg[k]) : e->arg[k], n, false, out);
    }
    text_add(out, id ? "]" : ")");
}

static void print(const struct expr *e, const struct names *n, bool inner, struct text *out)
{
    const struct expr *a = e->arg[0], *b = e->arg[1];
    const char *between = expr_infix(e->op), *before = inner ? "(" : "", *after = inner ? ")" : "";
    switch ((int)e->op) {
    case EXPR_OPERAND:
        if (e->integer > 0 && n->of)
            print_element(&n->of->element[e->integer - 1], n, out);
        else
            text_add(out, "s");
        return;
    case EXPR_INDEX:
        if (n->m)
            text_add(out, "%s", n->m->axis[e->integer].name);
        else
            text_add(out, "%s", expression_name((enum expression_name)e->integer));
        return;
    case EXPR_SIZE: print_size(n->m, (int)e->integer, out); return;
    case EXPR_INT: text_add(out, "%lld", (long long)e->integer); return;
    case EXPR_REAL: real_print(e->real, true, out); return;
    case EXPR_NEG:
    case EXPR_NOT:
        text_add(out, "%s%s", before, e->op == EXPR_NEG ? "-" : "!");
        print(a, n, true, out);
        text_add(out, "%s", after);
        return;
    case EXPR_TRUNC:
        text_add(out, "(int)");
        print(unconverted(a), n, true, out);
        return;
    case EXPR_SELECT:
        text_add(out, "%s", before);
        print(a, n, true, out);
        text_add(out, " ? ");
        print(b, n, true, out);
        text_add(out, " : ");
        print(e->arg[2], n, true, out);
        text_add(out, "%s", after);
        return;
    default: break;
    }
    if (is_head(e, n->m)) {
        text_add(out, "h");
    } else if (e->op == EXPR_ADD && b->op == EXPR_INT && b->integer < 0 && b->integer != INT64_MIN) {
        text_add(out, "%s", before);
        print(a, n, true, out);
        text_add(out, " - %lld%s", (long long)-b->integer, after);
    } else if (between) {
        text_add(out, "%s", before);
        print(a, n, true, out);
        text_add(out, " %s ", between);
        print(b, n, true, out);
        text_add(out, "%s", after);
    } else {
        print_call(e, n, out);
    }
}

void expression_print(const struct expr *e, const struct expression *of, const struct module *m, struct text *out)
{
    const struct names names = {of, m};
    print(e, &names, false, out);
}
