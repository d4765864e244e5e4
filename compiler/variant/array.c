/* Puts the arrays of a spec into the graph, as parameters and references to elements. */
#include "builder.h"

#include <string.h>

/* Returns the axes of the parameter. Axis H becomes key/value heads and their members. */
static int axes_of(struct builder *x, const struct user_array *a, int *axes)
{
    int rank = 0;
    for (int k = 0; k < a->rank; k++) switch (a->axis[k].extent) {
        case EXTENT_NUMBER:
            axes[rank++] = build_axis(x, arena_printf(x->m->arena, "%s_%d", a->name, k + 1), a->axis[k].number);
            break;
        case EXTENT_B: axes[rank++] = x->b; break;
        case EXTENT_H:
            axes[rank++] = x->kv;
            axes[rank++] = x->member;
            break;
        case EXTENT_G: axes[rank++] = x->kv; break;
        case EXTENT_NQ: axes[rank++] = x->queries; break;
        case EXTENT_NK: axes[rank++] = x->j; break;
        case EXTENT_D: axes[rank++] = x->d; break;
        case EXTENT_E: axes[rank++] = x->e; break;
        }
    return rank;
}

/* Whether e is `leaf` + *constant. */
static bool is_shifted(const struct expr *e, const struct expr *leaf, int64_t *constant)
{
    *constant = 0;
    if (e == leaf) return true;
    if ((e->op != EXPR_ADD && e->op != EXPR_SUB) || e->arg[0] != leaf || e->arg[1]->op != EXPR_INT) return false;
    *constant = e->op == EXPR_ADD ? e->arg[1]->integer : -e->arg[1]->integer;
    return true;
}

/* Returns the subscript limited to the axis. Limits that cannot be exceeded are left out. */
static const struct expr *clamped(struct builder *x, const struct expr *at, int axis)
{
    const struct axis *const a = &x->m->axis[axis];
    const struct expr *const last = a->source == SIZE_CONSTANT
                                        ? build_integer(x, a->extent - 1)
                                        : build_sub(x, build_size_of(x, axis), build_integer(x, 1));
    if (at->op == EXPR_INT && a->source == SIZE_CONSTANT)
        return build_integer(x, at->integer < 0 ? 0 : at->integer < a->extent ? at->integer : a->extent - 1);
    if (at->op == EXPR_INDEX && x->m->axis[at->integer].source == a->source &&
        (a->source != SIZE_CONSTANT || x->m->axis[at->integer].extent <= a->extent))
        return at;
    int64_t shift;
    const bool key = axis == x->j && is_shifted(at, build_index_of(x, x->j), &shift), before_end = key && shift <= 0,
               from_start = key && shift >= 0;
    const bool query = axis == x->j && is_shifted(at, build_query_position(x), &shift) && shift <= 0;
    if (!before_end && !query) at = build_op2(x, EXPR_MIN, at, last);
    return from_start ? at : build_op2(x, EXPR_MAX, at, build_integer(x, 0));
}

/* Reports that a subscript of batches or heads is not the plain name. */
static void refuse(struct builder *x, const struct user_array *a, const char *axis, const char *name)
{
    diagnostics_error(x->diagnostics, x->at, "'%s': a subscript of an axis %s other than '%s' is not compiled yet",
                      a->name, axis, name);
}

/* Returns the element of an array of integers or truth values. */
static const struct expr *integer_element(struct builder *x, const struct user_array *a, const struct ref *r)
{
    const struct value *const v = &x->g->value[r->of];
    const struct expr *row = build_integer(x, 0);
    for (int k = 0; k + 1 < r->rank; k++)
        row = build_add(x, build_mul(x, row, build_size_of(x, v->axes[k])), r->sub[k]);
    return expr_id(x->m, EXPR_ID, a->name, row, r->rank ? r->sub[r->rank - 1] : row, NULL);
}

/* Returns the parameter of an array. */
static int parameter_of(struct builder *x, const struct user_array *a)
{
    static const enum initial initial[] = {
        [ARRAY_ZEROS] = INITIAL_ZEROS, [ARRAY_ONES] = INITIAL_ONES, [ARRAY_NORMAL] = INITIAL_NORMAL};
    int axes[MAX_RANK];
    const int rank = axes_of(x, a, axes);
    if (a->type == ARRAY_REAL)
        return build_param(x, a->name, a->learned ? initial[a->initial] : INITIAL_GIVEN, rank, axes);
    const int v = graph_find(x->g, a->name);
    return v >= 0 ? v : graph_ids(x->g, a->name, rank, axes, a->type == ARRAY_BOOL);
}

/* Makes a reference to an element. at[k]: subscript k over the graph's axes. */
static struct ref reference(struct builder *x, const struct user_array *a, const struct expr *const *at)
{
    struct ref r = graph_ref(x->g, parameter_of(x, a), NULL);
    const int *const axes = x->g->value[r.of].axes;
    for (int k = 0, n = 0; k < a->rank; k++, n++) switch (a->axis[k].extent) {
        case EXTENT_H:
            if (at[k] != build_head(x)) refuse(x, a, "H", "h");
            n++;
            if (x->of_keys) r.sub[n] = build_integer(x, 0);
            break;
        case EXTENT_G:
            if (at[k] != build_index_of(x, x->kv)) refuse(x, a, "G", "g");
            break;
        case EXTENT_B:
            if (at[k] != build_index_of(x, x->b)) refuse(x, a, "B", "b");
            break;
        case EXTENT_NUMBER:
        case EXTENT_NQ:
        case EXTENT_NK:
        case EXTENT_D:
        case EXTENT_E: r.sub[n] = clamped(x, at[k], axes[n]); break;
        }
    return r;
}

const struct expr *build_element(struct builder *x, struct operands *operands, const struct user_array *a,
                                 const struct expr *const *at)
{
    const struct ref r = reference(x, a, at);
    return a->type == ARRAY_REAL ? build_read(x, operands, r) : integer_element(x, a, &r);
}
