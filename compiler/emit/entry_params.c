/* Sets the names of templates for parameters. */
#include "entry.h"
#include "definitions.h"
#include "../analysis/analysis.h"
#include "../support/support.h"

#include <string.h>

/* Returns the extents of a parameter as a C initialiser, such as "ATTN_BATCH, 64". */
static const char *extents(struct arena *arena, const struct kernel_array *a)
{
    const char *made = "";
    for (int k = 0; k < a->rank; k++) {
        const struct array_axis *const axis = &a->axis[k];
        const char *const size = array_sizes[axis->size].name;
        made = arena_printf(arena, "%s%s%s%s", made, k ? ", " : "", axis->constant || axis->block ? "" : "ATTN_",
                            axis->block
                                ? arena_printf(arena, "ATTN_BLOCKS(ATTN_%s, %lld)", size, (long long)axis->block)
                            : axis->constant ? array_axis_word(arena, axis)
                                             : size);
    }
    return made;
}

int emit_axis_of_size(const struct kernel_array *a, enum array_size size)
{
    for (int k = 0; k < a->rank; k++)
        if (!a->axis[k].constant && !a->axis[k].block && a->axis[k].size == size) return k;
    return -1;
}

/* Returns C for the stride of an axis in struct call, or "0" if `axis` is -1. */
static const char *stride_of(struct arena *arena, const struct kernel_array *a, int axis)
{
    return axis < 0 ? "0" : arena_printf(arena, "call->at.%s[%d]", a->member, axis);
}

/* Returns statements that set the pointer and the strides of a parameter with rows in struct call. */
static const char *param_rows(struct arena *arena, const struct kernel_array *a)
{
    const int heads = emit_axis_of_size(a, ARRAY_SIZE_HEADS);
    return arena_printf(
        arena,
        "    call->%s = call->params->%s;\n"
        "    call->%s = (struct attn_strides){%s, %s, %s};",
        a->identifier, a->member, a->strides, stride_of(arena, a, emit_axis_of_size(a, ARRAY_SIZE_BATCH)),
        stride_of(arena, a, heads < 0 ? emit_axis_of_size(a, ARRAY_SIZE_KV_HEADS) : heads),
        stride_of(arena, a, emit_axis_of_size(a, a->role == ROLE_PER_QUERY ? ARRAY_SIZE_N_Q : ARRAY_SIZE_N_K)));
}

/* Returns a statement that fills in the strides of an array of the caller in struct call. */
static const char *param_strides(struct arena *arena, const struct kernel_array *a)
{
    return arena_printf(
        arena,
        "    if (!error)\n"
        "        error = fill_strides(call->at.%s, given ? given->%s : NULL, (const int64_t[]){%s}, %d,\n"
        "            params->%s, sizeof *params->%s);",
        a->member, a->member, emit_sizes_of(arena, a), a->rank, a->member, a->member);
}

/* Sets the statements that move the pointers to integers so that they begin at sequence b. */
static void set_integers_of_sequences(struct template_names *t, const struct kernel_arrays *all)
{
    const char *moves = "";
    for (int k = 0; k < all->count; k++) {
        const struct kernel_array *const a = &all->array[k];
        const bool of_batch = a->rank > 0 && !a->axis[0].constant && a->axis[0].size == ARRAY_SIZE_BATCH;
        if (!dtype_is_integer(a->dtype) || a->declared || !of_batch) continue;
        moves = arena_printf(t->arena, "%s%s    g->params.%s += b", moves, *moves ? "\n" : "", a->member);
        for (int n = 1; n < a->rank; n++) {
            const struct array_axis *const axis = &a->axis[n];
            moves = arena_printf(t->arena, "%s * %s%s", moves, axis->constant ? "" : "call->p.",
                                 array_axis_word(t->arena, axis));
        }
        moves = arena_printf(t->arena, "%s;", moves);
    }
    template_set_number(t, "INTEGERS_OF_SEQUENCES", *moves != 0);
    template_set(t, "INTEGERS_FROM_SEQUENCE", moves);
}

/* Returns the name of `limits` of struct attn_param. */
static const char *limits_of(const struct spec *spec, const struct kernel_array *a)
{
    if (spec_array(spec, a->name) >= 0) return "ATTN_NO_LIMITS"; /* an array may have the name of an absent feature's */
    if (strcmp(a->name, "document") == 0)
        return mask_requires(spec->mask, MASK_DOCUMENT) ? "ATTN_IDS" : "ATTN_NO_LIMITS";
    if (strcmp(a->name, "blocks") == 0)
        return mask_requires(spec->mask, MASK_BLOCKS) ? "ATTN_LISTS" : "ATTN_MORE_LISTS";
    return strcmp(a->name, "lengths") == 0 && mask_requires(spec->mask, MASK_LENGTHS) ? "ATTN_LENGTHS"
                                                                                      : "ATTN_NO_LIMITS";
}

void emit_set_params(struct template_names *t, const struct emitted_file *e)
{
    const struct kernel_arrays *const all = e->p->arrays;
    const char *missing = "!params", *table = "", *rows = "", *strides = "";
    const struct kernel_array *const ids = emit_param_of_ids(all);
    const char *const member = emit_strides_member(all);
    int params = 0;
    for (int k = 0; k < all->count; k++) {
        const struct kernel_array *const a = &all->array[k];
        if (a->place != PLACE_PARAMS) continue;
        params++;
        missing = arena_printf(t->arena, "%s || !params->%s", missing, a->member);
        table = arena_printf(
            t->arena, "%s%s    {\"%s\", %s, %d, {%s}, offsetof(struct %s_params, %s), %d, %s, %s, %d, %s},", table,
            *table ? "\n" : "", a->name, emit_runtime_dtype(a->dtype), a->rank, a->rank ? extents(t->arena, a) : "0",
            e->p->spec->name, a->member, a->origin != ORIGIN_LEARNED,
            !a->strided ? "ATTN_CONTIGUOUS"
                        : arena_printf(t->arena, "offsetof(struct %s_strides, %s)", e->p->spec->name, a->member),
            a->table ? arena_printf(t->arena, "offsetof(struct %s_params, %s)", e->p->spec->name, a->table) : "0",
            array_grows(a), limits_of(e->p->spec, a));
        if (a->strided)
            strides = arena_printf(t->arena, "%s%s%s", strides, *strides ? "\n" : "", param_strides(t->arena, a));
        if (a->rows) rows = arena_printf(t->arena, "%s%s%s", rows, *rows ? "\n" : "", param_rows(t->arena, a));
    }
    template_set_number(t, "PARAMS", params);
    template_set_number(t, "STRIDED", member != NULL);
    if (member) template_set(t, "STRIDES_MEMBER", member);
    template_set(t, "STRIDE_VALUES", strides);
    template_set(t, "PARAM_ROW_VALUES", rows);
    template_set(t, "PARAM_MISSING", missing);
    template_set(t, "PARAM_TABLE", table);
    template_set(t, "PARAM_POINTER", params ? "param" : "NULL");
    template_set_number(t, "PARAM_COUNT", params);
    template_set_number(t, "IDS", ids != NULL);
    if (ids) {
        template_set(t, "IDS_PARAM", ids->member);
        template_set(t, "IDS_SEQUENCE",
                     ids->strided ? arena_printf(t->arena, "call->at.%s[0]", ids->member) : "p->n_k");
        template_set(t, "IDS_ROW", ids->strided ? arena_printf(t->arena, "call->at.%s[1]", ids->member) : "1");
    }
    bool integers = false, flags = false, own = false, hides = false;
    for (int k = 0; k < all->count; k++) {
        own |= all->array[k].integer_rows;
        hides |= all->array[k].hides;
        integers |= all->array[k].declared && all->array[k].dtype == DTYPE_I32;
        flags |= all->array[k].declared && all->array[k].dtype == DTYPE_U8;
    }
    template_set_number(t, "OWN_PARAMS", own && e->p->spec->emit & EMIT_DECODE);
    bool lists = false;
    for (int k = 0; k < all->count; k++) lists |= emit_has_lists(&all->array[k]);
    template_set_number(t, "HIDES", hides);
    template_set_number(t, "CALLER_MASKS",
                        emit_has_params_of(all, DTYPE_I32) || emit_has_params_of(all, DTYPE_U8) || integers || flags ||
                            hides || lists);
    set_integers_of_sequences(t, all);
}
