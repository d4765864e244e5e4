/* Checks expressions, axes and references of both IRs. */
#include "reader.h"

#include <string.h>

static const char *leaf_check(struct module *m, const struct expr *e, const struct allowed *allowed)
{
    if (e->op == EXPR_OPERAND) {
        if (allowed->operands == 0) return "this expression must not read values";
        if (e->integer < 0 || e->integer >= allowed->operands)
            return arena_printf(m->arena, "operand number %lld does not exist; there are %d operands",
                                (long long)e->integer, allowed->operands);
        return NULL;
    }
    if (e->op == EXPR_REAL || e->op == EXPR_INT) return NULL;
    if (e->integer < 0 || e->integer >= m->axes)
        return arena_printf(m->arena, "axis number %lld does not exist", (long long)e->integer);
    const char *name = m->axis[e->integer].name;
    if (e->op == EXPR_INDEX && !(allowed->index >> e->integer & 1))
        return arena_printf(m->arena, "axis '%s' cannot be used here", name);
    if ((e->op == EXPR_LO || e->op == EXPR_HI) && !allowed->ranges)
        return arena_printf(m->arena, "%s(%s) stands where there are no ranges", expr_name(e->op), name);
    return NULL;
}

const char *expr_check(struct module *m, const struct expr *e, const struct allowed *allowed)
{
    if (!e) return "an expression is missing";
    if ((int)e->op < 0 || e->op >= EXPR_OPS)
        return arena_printf(m->arena, "an expression has operation number %d", (int)e->op);
    if (e->op == EXPR_DRAWN && (!e->draw || e->draw->count < 1)) return "a draw lacks its parameters";
    if (expr_is_of_ids(e->op) && !e->name) return "an id expression does not name its parameter";
    if (e->op == EXPR_LISTED && (!e->name || *e->name != LIST_START)) return "a list is missing";
    int arity = expr_arity(e->op);
    if (arity == 0) return leaf_check(m, e, allowed);
    for (int k = 0; k < arity; k++) {
        const char *wrong = expr_check(m, e->arg[k], allowed);
        if (wrong) return wrong;
        if (expr_integer_only(e->op, k) && e->arg[k]->type == TYPE_REAL)
            return arena_printf(m->arena, "argument %d of %s is real", k + 1, expr_name(e->op));
    }
    return NULL;
}

const char *where_check(struct module *m, const struct expr *e, const struct allowed *allowed)
{
    const char *wrong = expr_check(m, e, allowed);
    if (wrong) return wrong;
    bool constant = e->op == EXPR_INT && (e->integer == 0 || e->integer == 1);
    return e->type == TYPE_BOOL || constant ? NULL : "the condition is not a truth value";
}

const char *axes_check(struct module *m, int rank, const int *axes)
{
    if (rank < 0 || rank > MAX_RANK) return arena_printf(m->arena, "it has %d axes; the maximum is %d", rank, MAX_RANK);
    for (int k = 0; k < rank; k++) {
        if (axes[k] < 0 || axes[k] >= m->axes) return arena_printf(m->arena, "axis number %d does not exist", axes[k]);
        for (int j = 0; j < k; j++)
            if (axes[j] == axes[k]) return arena_printf(m->arena, "axis '%s' occurs twice", m->axis[axes[k]].name);
    }
    return NULL;
}

const char *module_check(struct module *m)
{
    if (!name_is_plain(m->name)) return "the program's name must have only letters, digits, '_' and '.'";
    if (dtype_is_integer(m->dtype)) return "a program cannot compute in integers";
    if (m->axes > MAX_AXES) return "too many axes";
    for (int a = 0; a < m->axes; a++) {
        const char *name = m->axis[a].name;
        if (!name_is_plain(name) || strcmp(name, "inf") == 0 || strcmp(name, "nan") == 0)
            return arena_printf(m->arena, "'%s' cannot name an axis", name ? name : "");
        if (module_find_axis(m, name) != a) return arena_printf(m->arena, "two axes are called '%s'", name);
        if (axis_is_whole(&m->axis[a]) && m->axis[a].extent < 1)
            return arena_printf(m->arena, "the extent of axis '%s' must be at least 1", name);
    }
    return NULL;
}

const char *ref_check(struct module *m, const struct ref *r, int rank, const int *axes, const struct allowed *allowed)
{
    if (r->rank != rank) return arena_printf(m->arena, "it has %d subscripts for %d axes", r->rank, rank);
    struct allowed subscripts = *allowed;
    subscripts.operands = 0;
    for (int k = 0; k < rank; k++) {
        const char *wrong = expr_check(m, r->sub[k], &subscripts);
        if (wrong) return wrong;
        if (r->sub[k]->type != TYPE_INT) return arena_printf(m->arena, "subscript %d is not an integer", k + 1);
        int along = ref_axis(r, k);
        if (along < 0) continue;
        const struct axis *from = &m->axis[along], *to = &m->axis[axes[k]];
        if (from->source != to->source)
            return arena_printf(m->arena, "subscript %d runs along '%s', which is not as long as '%s'", k + 1,
                                from->name, to->name);
        if (axis_is_whole(from) && from->extent > to->extent)
            return arena_printf(m->arena, "subscript %d runs along '%s', which is longer than '%s'", k + 1, from->name,
                                to->name);
    }
    return NULL;
}
