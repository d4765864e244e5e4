/* Puts the arrays of a spec into the graph, as parameters and references to elements. */
#include "builder.h"

#include <string.h>

/* The axes of an array, as bits, that are read at indices other than the current batch entry and heads. */
struct computed {
    const struct user_array *array;
    uint32_t axes;
};

/* Returns the name that the subscript of an axis usually is. Returns EXPRESSION_NAMES if the axis has no such name. */
static enum expression_name own_name(const struct user_axis *axis)
{
    return axis->extent == EXTENT_B   ? NAME_b
           : axis->extent == EXTENT_H ? NAME_h
           : axis->extent == EXTENT_G ? NAME_g
                                      : EXPRESSION_NAMES;
}

static void find_computed(void *user, const struct expression *e)
{
    struct computed *const found = user;
    for (int n = 0; n < e->elements; n++)
        for (int k = 0; k < e->element[n].array->rank && e->element[n].array == found->array; k++) {
            const struct expr *const at = e->element[n].sub[k];
            const enum expression_name own = own_name(&found->array->axis[k]);
            if (own != EXPRESSION_NAMES && (at->op != EXPR_INDEX || at->integer != own))
                found->axes |= UINT32_C(1) << k;
        }
}

static uint32_t computed_axes(const struct builder *x, const struct user_array *a)
{
    struct computed found = {.array = a};
    spec_expressions(x->spec, find_computed, &found);
    return found.axes;
}

/* Returns an axis that only arrays have. Makes the axis if it does not exist. */
static int own_axis(struct builder *x, const char *name, enum size_source source, int64_t extent)
{
    const int axis = module_find_axis(x->m, name);
    return axis >= 0 ? axis : module_axis(x->m, name, source, extent);
}

/* Returns the axis of a sequence or of its blocks. */
static int sequence_axis(struct builder *x, const struct user_axis *axis, int whole, enum size_source blocks)
{
    if (axis->number <= 1) return whole;
    return own_axis(x, arena_printf(x->m->arena, "%s_%lld", size_name(blocks), (long long)axis->number), blocks,
                    axis->number);
}

/* Returns the constant axis of D or E, or the axis of blocks of D or E. */
static int constant_axis(struct builder *x, const struct user_array *a, int k, int whole)
{
    const int64_t by = a->axis[k].number, extent = (x->m->axis[whole].extent + by - 1) / by;
    return by <= 1 ? whole : build_axis(x, arena_printf(x->m->arena, "%s_axis_%d", a->name, k + 1), extent);
}

/* Returns the axes of the parameter. Axis H of query heads becomes the two axes of key/value heads and of their
   members. An axis that is read at computed indices is a separate axis, because a task has only one index of the
   other axes. */
static int axes_of(struct builder *x, const struct user_array *a, int *axes)
{
    const uint32_t computed = computed_axes(x, a);
    int rank = 0;
    for (int k = 0; k < a->rank; k++) {
        const bool own = computed >> k & 1;
        switch (a->axis[k].extent) {
        case EXTENT_NUMBER:
            axes[rank++] = build_axis(x, arena_printf(x->m->arena, "%s_axis_%d", a->name, k + 1), a->axis[k].number);
            break;
        case EXTENT_B: axes[rank++] = own ? own_axis(x, "entry", SIZE_BATCH, 0) : x->b; break;
        case EXTENT_H:
            axes[rank++] = own ? own_axis(x, "head", SIZE_HEADS, 0) : x->kv;
            if (!own) axes[rank++] = x->member;
            break;
        case EXTENT_G: axes[rank++] = own ? own_axis(x, "kv_head", SIZE_KV_HEADS, 0) : x->kv; break;
        case EXTENT_NQ: axes[rank++] = sequence_axis(x, &a->axis[k], x->queries, SIZE_QUERY_BLOCKS); break;
        case EXTENT_NK: axes[rank++] = sequence_axis(x, &a->axis[k], x->j, SIZE_KEY_BLOCKS); break;
        case EXTENT_D: axes[rank++] = constant_axis(x, a, k, x->d); break;
        case EXTENT_E: axes[rank++] = constant_axis(x, a, k, x->e); break;
        }
    }
    return rank;
}

/* Returns whether e is `leaf` + *constant, and sets *constant. */
static bool is_shifted(const struct expr *e, const struct expr *leaf, int64_t *constant)
{
    *constant = 0;
    if (e == leaf) return true;
    if ((e->op != EXPR_ADD && e->op != EXPR_SUB) || e->arg[0] != leaf || e->arg[1]->op != EXPR_INT) return false;
    *constant = e->op == EXPR_ADD ? e->arg[1]->integer : -e->arg[1]->integer;
    return true;
}

/* Returns the subscript limited to the axis. A limit that the subscript cannot exceed is left out. */
static const struct expr *clamped(struct builder *x, const struct expr *at, int axis)
{
    const struct axis *const a = &x->m->axis[axis];
    const struct expr *const last = a->source == SIZE_CONSTANT
                                        ? build_integer(x, a->extent - 1)
                                        : build_sub(x, build_size_of(x, axis), build_integer(x, 1));
    if (at->op == EXPR_INT && a->source == SIZE_CONSTANT)
        return build_integer(x, at->integer < 0 ? 0 : at->integer < a->extent ? at->integer : a->extent - 1);
    const enum size_source divided = a->source == SIZE_QUERY_BLOCKS ? SIZE_N_Q : SIZE_N_K;
    if ((a->source == SIZE_QUERY_BLOCKS || a->source == SIZE_KEY_BLOCKS) && at->op == EXPR_DIV &&
        at->arg[0]->op == EXPR_INDEX && x->m->axis[at->arg[0]->integer].source == divided &&
        at->arg[1]->op == EXPR_INT && at->arg[1]->integer == a->extent)
        return at;
    if (at->op == EXPR_INDEX && x->m->axis[at->integer].source == a->source &&
        (a->source != SIZE_CONSTANT || x->m->axis[at->integer].extent <= a->extent))
        return at;
    int64_t shift;
    const bool key = axis == x->j && is_shifted(at, build_index_of(x, x->j), &shift), before_end = key && shift <= 0,
               from_start = key && shift >= 0;
    if (!before_end) at = build_op2(x, EXPR_MIN, at, last);
    return from_start ? at : build_op2(x, EXPR_MAX, at, build_integer(x, 0));
}

/* Returns an EXPR_ID or EXPR_ELEMENT of the element. */
static const struct expr *named_element(struct builder *x, const struct user_array *a, const struct ref *r,
                                        enum expr_op op)
{
    const struct value *const v = &x->g->value[r->of];
    const struct expr *row = build_integer(x, 0);
    for (int k = 0; k + 1 < r->rank; k++)
        row = build_add(x, build_mul(x, row, build_size_of(x, v->axes[k])), r->sub[k]);
    return expr_id(x->m, op, a->name, row, r->rank ? r->sub[r->rank - 1] : row, NULL);
}

int build_array(struct builder *x, const struct user_array *a)
{
    static const enum initial initial[] = {[ARRAY_ZEROS] = INITIAL_ZEROS,
                                           [ARRAY_ONES] = INITIAL_ONES,
                                           [ARRAY_NORMAL] = INITIAL_NORMAL,
                                           [ARRAY_EXPONENTIAL] = INITIAL_EXPONENTIAL};
    int axes[MAX_RANK];
    const int rank = axes_of(x, a, axes);
    if (array_is_real(a)) {
        const int param = build_param(x, a->name, a->learned ? initial[a->initial] : INITIAL_GIVEN, rank, axes);
        x->g->value[param].stored = array_stored(a);
        return param;
    }
    const int v = graph_find(x->g, a->name);
    return v >= 0 ? v : graph_ids(x->g, a->name, rank, axes, a->type == ARRAY_BOOL);
}

/* Makes a reference to an element. Its subscript k is at[k], an expression over the graph's axes. */
static struct ref reference(struct builder *x, const struct user_array *a, const struct expr *const *at)
{
    struct ref r = graph_ref(x->g, build_array(x, a), NULL);
    const int *const axes = x->g->value[r.of].axes;
    const uint32_t computed = computed_axes(x, a);
    for (int k = 0, n = 0; k < a->rank; k++, n++) switch (a->axis[k].extent) {
        case EXTENT_B:
        case EXTENT_G:
            if (computed >> k & 1) r.sub[n] = clamped(x, at[k], axes[n]);
            break;
        case EXTENT_H:
            if (computed >> k & 1) {
                r.sub[n] = clamped(x, at[k], axes[n]);
                break;
            }
            n++;
            if (x->of_keys) r.sub[n] = build_integer(x, 0);
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
    if (a->type == ARRAY_SCORE && x->of_keys) {
        diagnostics_error(x->diagnostics, x->at, "the weight of two keys in 'delta' has no score '%s'", a->name);
        return build_real(x, 0);
    }
    const struct user_arrays *const all = &x->spec->arrays;
    if (a->type >= ARRAY_SCORE) {
        const int v = x->named[a - all->array - all->count];
        if (v >= 0) return build_read(x, operands, graph_ref(x->g, v, NULL));
        diagnostics_error(x->diagnostics, x->at,
                          a->type == ARRAY_RUNNING ? "'%s' is a running sum of another sum, or a later one of this sum"
                                                   : "the 'sum' of a score reads scores before it, but '%s' is not",
                          a->name);
        return build_real(x, 0);
    }
    const struct ref r = reference(x, a, at);
    return array_is_real(a) ? build_read(x, operands, r) : named_element(x, a, &r, EXPR_ID);
}

const struct expr *build_element_of_pair(struct builder *x, struct operands *operands, const struct user_array *a,
                                         const struct expr *const *at, const bool *of_pair)
{
    int pair[MAX_RANK];
    const struct expr *fixed[MAX_RANK], *is_there = NULL;
    const int rank = build_pair(x, pair);
    int all = rank;
    struct operands of = {0};
    for (int k = 0; k < a->rank; k++) fixed[k] = of_pair[k] ? build_integer(x, 0) : at[k];
    struct ref element = reference(x, a, fixed);
    const struct value array = x->g->value[element.of];
    for (int k = 0, n = 0; k < a->rank; k++, n++) {
        if (a->axis[k].extent == EXTENT_H && array.axes[n] == x->kv) n++;
        if (!of_pair[k]) continue;
        /* the name of the axis is that of the array, because several elements may be read */
        const int axis = build_axis(x, arena_printf(x->m->arena, "%s_at_%d", a->name, k + 1),
                                    x->m->axis[array.axes[n]].extent);
        const struct expr *const whole = build_mul(x, clamped(x, at[k], array.axes[n]), build_real(x, 1));
        const int place = graph_map(x->g, rank, pair, operands->count, operands->ref, whole);
        value_drop_operands(x->m, &x->g->value[place]);
        const struct expr *const from = build_sub(x, build_read(x, &of, graph_ref(x->g, place, NULL)),
                                                  build_mul(x, build_index_of(x, axis), build_real(x, 1))),
                                 *const here = build_op2(x, EXPR_LT, build_op1(x, EXPR_ABS, from), build_real(x, 0.5));
        is_there = is_there ? build_op2(x, EXPR_AND, is_there, here) : here;
        element.sub[n] = build_index_of(x, axis);
        pair[all++] = axis;
    }
    const struct expr *const one = build_choose(x, is_there, build_read(x, &of, element), build_real(x, 0));
    const int hot = graph_map(x->g, all, pair, of.count, of.ref, one);
    return build_read(
        x, operands,
        graph_ref(x->g, graph_reduce(x->g, FOLD_SUM, 0, rank, pair, graph_ref(x->g, hot, NULL), NULL), NULL));
}

const struct expr *build_element_by_name(struct builder *x, const struct user_array *a, const struct expr *const *at)
{
    const struct ref r = reference(x, a, at);
    x->g->value[r.of].by_name = true;
    return named_element(x, a, &r, EXPR_ELEMENT);
}

const struct expr *build_is_not_hidden(struct builder *x, const struct user_array *a, const struct expr *const *at)
{
    const struct ref r = reference(x, a, at);
    x->g->value[r.of].hides = true;
    return named_element(x, a, &r, EXPR_ID);
}
