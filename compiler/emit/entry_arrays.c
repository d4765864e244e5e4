/* Sets the names of templates for the arrays of callers: arguments, and members of struct call. */
#include "entry.h"
#include "definitions.h"
#include "../analysis/analysis.h"
#include "../support/support.h"

#include <string.h>

/* Returns the next argument of the entry point, from array *from on, and advances *from. Returns NULL after the last
   argument. */
static const struct kernel_array *next_argument(const struct kernel_arrays *all, enum entry entry, int *from)
{
    for (; *from < all->count; ++*from)
        if (all->array[*from].place == PLACE_ARGUMENT && all->array[*from].access[entry] != ACCESS_NONE)
            return &all->array[(*from)++];
    return NULL;
}

/* Like emit_array_arguments. If `appends`, the arguments are those of extend. */
static const char *arguments_of(struct arena *arena, const struct kernel_arrays *arrays, enum entry entry, bool appends)
{
    const struct kernel_array *before = NULL;
    const char *list = "";
    for (int k = 0; k < arrays->count;) {
        const struct kernel_array *const a = next_argument(arrays, entry, &k);
        if (!a) break;
        list = arena_printf(arena, "%s%s%s%s *%s", list,
                            !before                                     ? ""
                            : a->access[entry] != before->access[entry] ? ",\n    "
                                                                        : ", ",
                            a->access[entry] == ACCESS_READ ? "const " : "",
                            emit_stored(appends ? a->appended : a->dtype), a->member);
        before = a;
    }
    return list;
}

const char *emit_array_arguments(struct arena *arena, const struct kernel_arrays *arrays, enum entry entry)
{
    return arguments_of(arena, arrays, entry, false);
}

const char *emit_appended_arguments(struct arena *arena, const struct kernel_arrays *arrays)
{
    return arguments_of(arena, arrays, ENTRY_FORWARD, true);
}

const char *emit_array_shapes(struct arena *arena, const struct kernel_arrays *arrays)
{
    const struct kernel_array *a;
    const char *list = "";
    for (int k = 0; (a = next_argument(arrays, ENTRY_FORWARD, &k));)
        list = arena_printf(arena, "%s%s%s [%s]", list, *list ? "  " : "", a->name, array_shape_text(arena, a, ","));
    return list;
}

bool emit_is_param_of_rows(const struct kernel_array *a)
{
    return a->place == PLACE_PARAMS && a->rows;
}

/* Returns whether the kernel computes the array. Gradients are computed only in backward. */
static bool is_computed(const struct emission *p, const struct kernel_array *a, bool backward)
{
    if (strcmp(a->name, corrected_values) == 0) return p->of[STEP_CORRECT].count > 0;
    const enum prefix_array array = prefix_array_find(a->name);
    const bool gradient = array == PREFIX_GRADIENT || array == PREFIX_GRADIENT_OF_QUERY ||
                          array == PREFIX_GRADIENT_OF_KEY;
    return a->place == PLACE_WORKSPACE && (backward || !gradient);
}

/* Returns whether the array is a part of an argument of the entry points. struct call has its pointer and strides. */
static bool is_read_within(const struct kernel_array *a)
{
    return a->place == PLACE_WITHIN && a->access[ENTRY_FORWARD] == ACCESS_READ;
}

const char *emit_call_members(struct arena *arena, const struct emission *p, bool backward)
{
    const struct kernel_arrays *const arrays = p->arrays;
    const char *members = "";
    for (int k = 0; k < arrays->count; k++) {
        const struct kernel_array *const a = &arrays->array[k];
        const enum array_access forward = a->access[ENTRY_FORWARD],
                                last = backward ? a->access[ENTRY_BACKWARD] : ACCESS_NONE;
        const bool written = forward > ACCESS_READ || last > ACCESS_READ;
        if (is_computed(p, a, backward))
            members = arena_printf(arena, "%s%s%s *%s; /* [%s] */\n    struct attn_strides %s;", members,
                                   *members ? "\n    " : "", emit_stored(a->dtype), a->identifier,
                                   array_shape_text(arena, a, ","), a->strides);
        if (a->place != PLACE_ARGUMENT && a->place != PLACE_PROBLEM && !emit_is_param_of_rows(a) && !is_read_within(a))
            continue;
        if (forward == ACCESS_NONE && last == ACCESS_NONE) continue;
        members = arena_printf(arena, "%s%s%s%s *%s;", members, *members ? "\n    " : "", written ? "" : "const ",
                               emit_stored(a->dtype), a->identifier);
        if (a->place == PLACE_PROBLEM)
            members = arena_printf(arena, "%s /* [%s], or NULL */", members, array_shape_text(arena, a, ","));
        if (emit_is_param_of_rows(a))
            members = arena_printf(arena, "%s\n    struct attn_strides %s;", members, a->strides);
    }
    if (emit_strides_member(arrays))
        members = arena_printf(arena,
                               "%s\n    struct %s_strides at; /* of all arrays, with contiguous ones filled in */",
                               members, p->spec->name);
    return members;
}

/* Returns a condition in C: whether an output begins where another array of the entry point begins. */
static const char *shared_arrays(struct arena *arena, const struct kernel_arrays *arrays, enum entry entry)
{
    const char *shared = "";
    for (int k = 0; k < arrays->count; k++)
        for (int n = 0; n < arrays->count; n++) {
            const struct kernel_array *const output = &arrays->array[k], *const other = &arrays->array[n];
            const enum array_access first = output->access[entry], second = other->access[entry];
            /* of two outputs, the second finds the first */
            if (k == n || first <= ACCESS_READ || second == ACCESS_NONE || (second > ACCESS_READ && n > k) ||
                output->place != PLACE_ARGUMENT || other->place != PLACE_ARGUMENT)
                continue;
            shared = arena_printf(arena, "%s%s(%s && (const void *)%s == %s)", shared, *shared ? " ||\n        " : "",
                                  output->member, output->member, other->member);
        }
    return shared;
}

void emit_set_arrays(struct template_names *t, const struct kernel_arrays *arrays, enum entry entry)
{
    const char *values = "", *any = "", *cast = "", *of_queries = "", *of_keys = "", *unused = "", *new_values = "",
               *names = "", *unwritten = "", *new_cast = "", *word = entry == ENTRY_FORWARD ? "ARRAY" : "GRADIENT";
    for (int k = 0; k < arrays->count; k++) {
        const struct kernel_array *const a = &arrays->array[k];
        const enum array_access access = a->access[entry];
        if ((a->place != PLACE_ARGUMENT && a->place != PLACE_WITHIN) || access == ACCESS_NONE) continue;
        const char *name = a->member, *comma = *values ? ", " : "", *constant = access == ACCESS_READ ? "const " : "",
                   *stored = emit_stored(a->dtype);
        /* The argument is const. The member is not, because forward writes the array. */
        const bool writable = access == ACCESS_READ && a->access[ENTRY_FORWARD] > ACCESS_READ;
        const char *const appended = a->appended == a->dtype
                                         ? ""
                                         : arena_printf(t->arena, "(const %s *)(const void *)", stored);
        any = arena_printf(t->arena, "%s%s%svoid *%s", any, *any ? ", " : "", constant, name);
        if (a->place == PLACE_WITHIN) { /* Functions that are the same for all kernels have this argument. */
            unused = arena_printf(t->arena, "%s%s    (void)%s;", unused, *unused ? "\n" : "", name);
            if (access == ACCESS_READ) {
                values = arena_printf(t->arena, "%s%s.%s = %s", values, comma, name, a->within);
                new_values = arena_printf(t->arena, "%s%s.%s = %s%s", new_values, comma, name, appended, a->within);
            }
            continue;
        }
        values = arena_printf(t->arena, "%s%s.%s = %s%s", values, comma, name,
                              writable ? arena_printf(t->arena, "(%s *)", stored) : "", name);
        new_values = arena_printf(t->arena, "%s%s.%s = %s%s", new_values, comma, name, appended, name);
        new_cast = arena_printf(t->arena, "%s%s(%s%s *)%s", new_cast, *cast ? ", " : "", constant,
                                emit_stored(a->appended), name);
        cast = arena_printf(t->arena, "%s%s(%s%s *)%s", cast, *cast ? ", " : "", constant, stored, name);
        names = arena_printf(t->arena, "%s%s%s", names, *names ? ", " : "", name);
        if (access == ACCESS_WANTED)
            unwritten = arena_printf(t->arena, "%s%s        call.%s = (%s *)workspace;", unwritten,
                                     *unwritten ? "\n" : "", name, stored);
        const char **const missing = a->role == ROLE_PER_QUERY ? &of_queries : &of_keys;
        if (access != ACCESS_WANTED)
            *missing = arena_printf(t->arena, "%s%s!%s", *missing, **missing ? " || " : "", name);
    }
    for (int k = 0; k < arrays->count; k++) { /* outputs that are members of struct attn_problem */
        const struct kernel_array *const a = &arrays->array[k];
        if (a->place == PLACE_PROBLEM && a->access[entry] != ACCESS_NONE) {
            const char *const value = arena_printf(t->arena, ",\n        .%s = (%s *)problem->%s", a->member,
                                                   emit_stored(a->dtype), a->member);
            values = arena_printf(t->arena, "%s%s", values, value);
            new_values = arena_printf(t->arena, "%s%s", new_values, value);
        }
    }
    if (entry == ENTRY_FORWARD) {
        template_set(t, "APPENDED_ARGUMENTS", emit_appended_arguments(t->arena, arrays));
        template_set(t, "APPENDED_VALUES", new_values);
        template_set(t, "APPENDED_ANY_VALUES", new_cast);
    }
    template_set(t, arena_printf(t->arena, "%s_ARGUMENTS", word), emit_array_arguments(t->arena, arrays, entry));
    template_set(t, arena_printf(t->arena, "%s_VALUES", word), values);
    template_set(t, arena_printf(t->arena, "%s_ANY_ARGUMENTS", word), any);
    template_set(t, arena_printf(t->arena, "%s_NAMES", word), names);
    if (entry == ENTRY_BACKWARD) template_set(t, "GRADIENTS_UNUSED", unwritten);
    template_set(t, arena_printf(t->arena, "%s_ANY_VALUES", word), cast);
    template_set(t, arena_printf(t->arena, "%s_ANY_UNUSED", word), unused);
    template_set(t, arena_printf(t->arena, "%s_SHARED", word), shared_arrays(t->arena, arrays, entry));
    template_set(t, arena_printf(t->arena, "%s_OF_QUERIES_MISSING", word), of_queries);
    template_set(t, arena_printf(t->arena, "%s_OF_KEYS_MISSING", word), of_keys);
}

const char *emit_sizes_of(struct arena *arena, const struct kernel_array *a)
{
    const char *sizes = "";
    for (int k = 0; k < a->rank; k++) {
        const struct array_axis *const axis = &a->axis[k];
        const char *const word = array_sizes[axis->size].word;
        sizes = arena_printf(arena, "%s%s%s", sizes, k ? ", " : "",
                             axis->block      ? arena_printf(arena, "(p->%s + %lld) / %lld", word,
                                                             (long long)axis->block - 1, (long long)axis->block)
                             : axis->constant ? array_axis_word(arena, axis)
                                              : arena_printf(arena, "p->%s", word));
    }
    return sizes;
}

void emit_set_tiles(struct template_names *t, const struct kernel_arrays *arrays)
{
    const char *names = "", *values = "";
    int tables = 0, of_callers = 0;
    for (int k = 0; k < arrays->count; k++) {
        const struct kernel_array *const a = &arrays->array[k];
        if (!a->tiled) continue;
        of_callers += a->table != NULL;
        names = arena_printf(t->arena, "%s%s%s", names, tables ? ", " : "", a->member);
        values = arena_printf(t->arena,
                              "%s%s    bytes = bytes_plus(bytes, set_table(&call->mask_tiles[%d], call->params ? "
                              "call->params->%s : NULL, %s, %s, %d, "
                              "(const int64_t[]){%s}, call->at.%s, at ? at + bytes : NULL));",
                              values, tables ? "\n" : "", tables, a->member, emit_runtime_dtype(a->dtype),
                              a->table ? arena_printf(t->arena, "call->params ? call->params->%s : NULL", a->table)
                                       : "NULL",
                              a->rank - 2, emit_sizes_of(t->arena, a), a->member);
        tables++;
    }
    template_set_number(t, "TILES", tables);
    template_set_number(t, "TABLES", of_callers);
    template_set(t, "TILED_NAMES", names);
    template_set(t, "TILE_VALUES", values);
}
