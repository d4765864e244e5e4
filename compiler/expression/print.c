/* The user's expression as the compiler understood it, as C. */
#include "expression.h"

#include <string.h>

static void print(const struct expr *e, bool inner, struct text *out)
{
    const struct expr *a = e->arg[0], *b = e->arg[1];
    const char *between = expr_infix(e->op), *before = inner ? "(" : "", *after = inner ? ")" : "";
    switch ((int)e->op) {
    case EXPR_OPERAND: text_add(out, "s"); return;
    case EXPR_INDEX: text_add(out, "%c", "ijh"[e->integer]); return;
    case EXPR_INT: text_add(out, "%lld", (long long)e->integer); return;
    case EXPR_REAL: real_print(e->real, true, out); return;
    case EXPR_NEG:
    case EXPR_NOT:
        text_add(out, "%s%s", before, e->op == EXPR_NEG ? "-" : "!");
        print(a, true, out);
        text_add(out, "%s", after);
        return;
    case EXPR_SELECT:
        text_add(out, "%s", before);
        print(a, true, out);
        text_add(out, " ? ");
        print(b, true, out);
        text_add(out, " : ");
        print(e->arg[2], true, out);
        text_add(out, "%s", after);
        return;
    default: break;
    }
    if (e->op == EXPR_ADD && b->op == EXPR_INT && b->integer < 0 && b->integer != INT64_MIN) {
        text_add(out, "%s", before);
        print(a, true, out);
        text_add(out, " - %lld%s", (long long)-b->integer, after);
    } else if (between) {
        text_add(out, "%s", before);
        print(a, true, out);
        text_add(out, " %s ", between);
        print(b, true, out);
        text_add(out, "%s", after);
    } else {
        text_add(out, "%s(",
                 e->op == EXPR_ABS   ? "fabs"
                 : e->op == EXPR_MIN ? "fmin"
                 : e->op == EXPR_MAX ? "fmax"
                                     : expr_name(e->op));
        print(a, false, out);
        if (b) text_add(out, ", ");
        if (b) print(b, false, out);
        text_add(out, ")");
    }
}

void expression_print(const struct expr *e, struct text *out)
{
    print(e, false, out);
}
