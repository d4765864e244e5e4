/* Prints the structs of parameters and of their gradients. */
#include "emit.h"
#include "printer.h"
#include "../analysis/analysis.h"

#include <string.h>

/* Returns whether the parameter is made from a seed. */
static bool is_random(const struct kernel_array *a)
{
    return a->place == PLACE_PARAMS && a->origin != ORIGIN_LEARNED;
}

const struct kernel_array *emit_param_of_ids(const struct kernel_arrays *arrays)
{
    for (int k = 0; k < arrays->count; k++)
        if (arrays->array[k].compared) return &arrays->array[k];
    return NULL;
}

bool emit_has_tiled(const struct kernel_arrays *arrays)
{
    for (int k = 0; k < arrays->count; k++)
        if (arrays->array[k].tiled) return true;
    return false;
}

bool emit_has_random(const struct kernel_arrays *arrays)
{
    for (int k = 0; k < arrays->count; k++)
        if (is_random(&arrays->array[k])) return true;
    return false;
}

/* Prints the members of a struct. Returns whether there are any. */
static bool members(const struct emission *p, enum array_place place, const char *constant, struct text *out)
{
    struct arena *const arena = p->compilation[0]->graph->module->arena;
    bool any = false;
    for (int k = 0; k < p->arrays->count; k++) {
        const struct kernel_array *const a = &p->arrays->array[k];
        if (a->place != place) continue;
        any = true;
        const size_t length = strlen(a->member);
        const bool renamed = a->declared && length && a->member[length - 1] == '_' && strcmp(a->member, a->name) != 0;
        text_add(out, "    %s%s *%s; /* %s%s[%s]%s%s */\n", constant, dtype_c_type(a->dtype), a->member,
                 renamed ? a->name : "", renamed ? " " : "", array_shape_text(arena, a, ", "),
                 is_random(a) ? ", from a seed: " : "", is_random(a) ? origin_name(a->origin) : "");
    }
    return any;
}

const char *emit_strides_member(const struct kernel_arrays *arrays)
{
    const char *name = "strides";
    bool any = false;
    for (int k = 0; k < arrays->count; k++) {
        any |= arrays->array[k].strided;
        if (strcmp(arrays->array[k].member, name) == 0) name = "strides_of_arrays";
    }
    return any ? name : NULL;
}

static void strides_struct(const struct emission *p, struct text *out)
{
    text_add(
        out,
        "/* The strides of arrays, for each axis the distance in elements between neighbours. All 0: the array is\n"
        "   contiguous. An axis with stride 0 repeats the same elements; if all axes do, write ATTN_BROADCAST. */\n"
        "struct %s_strides {\n",
        p->spec->name);
    for (int k = 0; k < p->arrays->count; k++) {
        const struct kernel_array *const a = &p->arrays->array[k];
        if (a->strided)
            text_add(out, "    int64_t %s[%d]; /* [%s] */\n", a->member, a->rank,
                     array_shape_text(p->compilation[0]->graph->module->arena, a, ", "));
    }
    text_add(out, "};\n");
}

void emit_params_struct(const struct emission *p, struct text *out)
{
    struct text list = {0};
    const bool any = members(p, PLACE_PARAMS, "const ", &list);
    const char *const strides = emit_strides_member(p->arrays), *const name = p->spec->name;
    if (strides) {
        strides_struct(p, out);
        text_add(&list, "    const struct %s_strides *%s; /* NULL: all arrays are contiguous */\n", name, strides);
    }
    for (int k = 0; k < p->arrays->count; k++)
        if (p->arrays->array[k].table)
            text_add(
                &list,
                "    const struct attn_mask_tiles *%s; /* from attn_tiles_of_mask. NULL: a call makes the table */\n",
                p->arrays->array[k].table);
    text_add(out, "struct %s_params {\n%s};\n", name,
             any ? list.data : "    int none; /* this variant has no parameters: pass NULL */\n");
    text_free(&list);
}

void emit_gradients_struct(const struct emission *p, struct text *out)
{
    struct text list = {0};
    const bool any = members(p, PLACE_GRADIENTS, "", &list);
    text_add(
        out,
        "\n/* The arrays for gradients with respect to learned parameters. NULL: the gradient is not computed. */\n"
        "struct %s_gradients {\n%s};\n",
        p->spec->name, any ? list.data : "    int none; /* this variant has no learned parameters: pass NULL */\n");
    text_free(&list);
}

const char *emit_runtime_dtype(enum dtype dtype)
{
    static const char *const name[] = {
#define DTYPE(name, text, elements, bytes, c) "ATTN_" #name,
#include "../../ir/dtype.def"
#undef DTYPE
    };
    return name[dtype];
}
