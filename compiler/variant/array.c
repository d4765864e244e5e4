/* Puts the arrays that a spec declares into the graph: a parameter for each array, and references to its elements. */
#include "builder.h"

#include <string.h>

/* Returns the axes of the parameter. Axis H of query heads is the two axes of key/value heads and their members. */
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

/* Returns the subscript limited to the indices of the axis. */
static const struct expr *clamped(struct builder *x, const struct expr *at, int axis)
{
    const struct axis *const a = &x->m->axis[axis];
    const struct expr *const last = a->source == SIZE_CONSTANT
                                        ? build_integer(x, a->extent - 1)
                                        : build_sub(x, build_size_of(x, axis), build_integer(x, 1));
    if (at->op == EXPR_INT && a->source == SIZE_CONSTANT)
        return build_integer(x, at->integer < 0 ? 0 : at->integer < a->extent ? at->integer : a->extent - 1);
    if (at->op == EXPR_INDEX && x->m->axis[at->integer].source == a->source && a->source != SIZE_CONSTANT) return at;
    return build_op2(x, EXPR_MAX, build_op2(x, EXPR_MIN, at, last), build_integer(x, 0));
}

/* Reports that a subscript of an axis of batches or heads is not the plain name. */
static void refuse(struct builder *x, const struct user_array *a, const char *axis, const char *name)
{
    diagnostics_error(x->diagnostics, x->at, "'%s': a subscript of an axis %s other than '%s' is not compiled yet",
                      a->name, axis, name);
}

struct ref build_element(struct builder *x, const struct user_array *a, const struct expr *const *at)
{
    static const enum initial initial[] = {
        [ARRAY_ZEROS] = INITIAL_ZEROS, [ARRAY_ONES] = INITIAL_ONES, [ARRAY_NORMAL] = INITIAL_NORMAL};
    int axes[MAX_RANK];
    const enum initial start = a->learned ? initial[a->initial] : INITIAL_GIVEN;
    const int rank = axes_of(x, a, axes), array = build_param(x, a->name, start, rank, axes);
    struct ref r = graph_ref(x->g, array, NULL);
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
