/* Prints the tables at the end of a kernel, which runtime/call/ reads: its arrays, and its programs for each target.
   The structs are in runtime/kernel/call.h. */
#include "tables.h"
#include "../analysis/analysis.h"
#include "../support/support.h"
#include "../../runtime/attnrt.h"

#include <string.h>

/* ---- the list of arrays ---- */

/* Adds an array, unless the list has it, and returns it. */
static struct table_array *add(struct table_arrays *all, const char *identifier)
{
    const int found = table_array_find(all, identifier);
    if (found >= 0) return &all->array[found];
    all->array = arena_grow(all->arena, all->array, all->count, &all->capacity, sizeof *all->array);
    all->array[all->count] = (struct table_array){.identifier = identifier};
    return &all->array[all->count++];
}

/* Returns whether a call has the array: a caller gives it, or programs of the kernel compute it. */
static bool is_used(const struct emission *p, const struct kernel_array *a)
{
    const bool backward = p->parts > 0, accessed = a->access[ENTRY_FORWARD] != ACCESS_NONE ||
                                                   (backward && a->access[ENTRY_BACKWARD] != ACCESS_NONE);
    const enum prefix_array prefix = prefix_array_find(a->name);
    switch (a->place) {
    case PLACE_PARAMS: return true;
    case PLACE_GRADIENTS: return backward;
    case PLACE_WORKSPACE:
        if (strcmp(a->name, corrected_values[0]) == 0 || strcmp(a->name, corrected_values[1]) == 0)
            return p->of[STEP_CORRECT].count > 0;
        if (a->dtype == DTYPE_I32) return true;
        return backward ||
               (prefix != PREFIX_GRADIENT && prefix != PREFIX_GRADIENT_OF_QUERY && prefix != PREFIX_GRADIENT_OF_KEY);
    case PLACE_ARGUMENT:
    case PLACE_WITHIN:
    case PLACE_PROBLEM: break;
    }
    return accessed;
}

/* Adds the arrays that parts of backward leave for later parts. */
static void add_left(struct table_arrays *all, const struct emitted_file *e, struct arena *arena)
{
    for (int linear = 0; linear < 2; linear++) {
        struct left_array *left;
        const int count = emit_left_arrays(e, linear, arena, &left);
        for (int n = 0; n < count; n++) {
            struct table_array *const to = add(all, left[n].identifier);
            to->left = &left[n];
            to->origin = NULL; /* a later part reads these sums, so they are a left array */
            to->elements = 0;
            to->linear = linear;
        }
    }
}

/* Adds the sums to which tiles of a part add in order. Versions of the part have the same sums. */
static void add_sums_in_order(struct table_arrays *all, const struct emitted_file *e, const struct loops *l)
{
    for (int a = 0; a < l->arrays; a++) {
        const char *const name = emit_identifier(all->arena, e->p->arrays, l->array[a].name);
        if (!l->array[a].sums || l->array[a].kind != ARRAY_OUTPUT || table_array_find(all, name) >= 0) continue;
        struct table_array *const sums = add(all, name);
        sums->origin = "FROM_SUMS";
        sums->elements = emit_row_of_sums(l->module, &l->array[a]);
    }
}

void table_arrays(struct table_arrays *all, const struct emitted_file *e)
{
    struct arena *const arena = e->c[0]->graph->module->arena;
    const struct emission *const p = e->p;
    *all = (struct table_arrays){.arena = arena};
    for (int k = 0; k < p->arrays->count; k++)
        if (is_used(p, &p->arrays->array[k]))
            add(all, p->arrays->array[k].identifier)->of_caller = &p->arrays->array[k];
    for (int k = 0; k < p->saved && p->parts; k++) add(all, arena_printf(arena, "saved_%d", k))->origin = "FROM_SAVED";
    for (int k = 0; k < p->row_sums && p->parts; k++) {
        struct table_array *const rows = add(all, arena_printf(arena, "row_%d", k));
        rows->origin = "FROM_ROW_SUMS";
        rows->elements = p->row_elements[k] > 1 ? p->row_elements[k] : 0;
    }
    for (const struct version *v = NULL; versions_next(&p->of[STEP_BACKWARD], &v);)
        if (emit_in_order(v->c->loops)) add_sums_in_order(all, e, v->c->loops);
    if (p->parts) add_left(all, e, arena);
    if (all->count > ATTN_MAX_ARRAYS)
        diagnostics_error(e->c[0]->diagnostics, e->c[0]->spec->emit_at,
                          "with its gradients, the kernel has %d arrays; the maximum is %d", all->count,
                          ATTN_MAX_ARRAYS);
}

void table_enumerators(const struct table_arrays *all, struct text *out)
{
    struct text line = {0};
    text_add(out, "/* the numbers of the arrays of a call */\nenum {");
    for (int k = 0; k < all->count; k++) {
        const char *const comma = k + 1 < all->count ? "," : "";
        if (!k || line.length + strlen(all->array[k].identifier) > 110) {
            text_add(out, "%s\n   ", line.data ? line.data : "");
            line.length = 0;
        }
        text_add(&line, " ARRAY_%s%s", all->array[k].identifier, comma);
    }
    text_add(out, "%s\n};\n\n", line.data ? line.data : "");
    text_free(&line);
}

/* ---- the table of arrays ---- */

static const char *access_name(enum array_access access)
{
    static const char *const names[] = {"ACCESS_NONE", "ACCESS_READ", "ACCESS_WRITTEN", "ACCESS_WANTED"};
    return names[access];
}

const char *table_list(struct arena *arena, const struct table_arrays *all, const bool *set)
{
    const char *list = "";
    for (int k = 0; k < all->count; k++)
        if (set[k]) list = arena_printf(arena, "%sARRAY_%s, ", list, all->array[k].identifier);
    return *list ? arena_printf(arena, "(const uint16_t[]){%sNO_ARRAY}", list) : NULL;
}

const char *table_statistics(const struct spec *spec)
{
    static const char *const kind[] = {[STATISTICS_ABSENT] = "ATTN_NO_STATISTICS",
                                       [STATISTICS_LOGARITHMS] = "ATTN_LOGARITHMS",
                                       [STATISTICS_DENOMINATORS] = "ATTN_DENOMINATORS",
                                       [STATISTICS_UNDIVIDED] = "ATTN_UNDIVIDED"};
    return kind[spec_statistics(spec)];
}

/* Returns the number of the array among the arguments of an entry. */
static int argument_number(const struct kernel_arrays *arrays, const struct kernel_array *a, enum entry entry)
{
    int number = 0;
    for (const struct kernel_array *b = arrays->array; b < a; b++)
        number += b->place == PLACE_ARGUMENT && b->access[entry] != ACCESS_NONE;
    return number;
}

static int axis_of_size(const struct kernel_array *a, enum array_size size)
{
    for (int k = 0; k < a->rank; k++)
        if (!a->axis[k].constant && !a->axis[k].block && a->axis[k].size == size) return k;
    return -1;
}

/* Returns the name of `limits` of struct attn_param. */
static const char *limits_of(const struct spec *spec, const struct kernel_array *a)
{
    if (spec_array(spec, a->name) >= 0) return "ATTN_NO_LIMITS"; /* an array may have the name of an absent feature's */
    static const struct {
        const char *name, *required, *otherwise;
    } limits[] = {{"document", "ATTN_IDS", "ATTN_NO_LIMITS"},
                  {"blocks", "ATTN_LISTS", "ATTN_MORE_LISTS"},
                  {"lengths", "ATTN_LENGTHS", "ATTN_NO_LIMITS"}};
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++)
        if (strcmp(a->name, limits[k].name) == 0)
            return mask_requires_param(spec->mask, a->name) ? limits[k].required : limits[k].otherwise;
    return "ATTN_NO_LIMITS";
}

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
    return a->rank ? made : "0";
}

int table_params(const struct emission *p, struct text *out)
{
    struct arena *const arena = p->compilation[0]->graph->module->arena;
    const char *const name = p->spec->name;
    int params = 0;
    for (int k = 0; k < p->arrays->count; k++) {
        const struct kernel_array *const a = &p->arrays->array[k];
        if (a->place != PLACE_PARAMS) continue;
        if (!params++) text_add(out, "static const struct attn_param param[] = {\n");
        text_add(out, "    {\"%s\", %s, %d, {%s}, offsetof(struct %s_params, %s), %d, %s, %s, %d, %s},\n", a->name,
                 emit_runtime_dtype(a->dtype), a->rank, extents(arena, a), name, a->member, a->origin != ORIGIN_LEARNED,
                 a->strided ? arena_printf(arena, "offsetof(struct %s_strides, %s)", name, a->member)
                            : "ATTN_CONTIGUOUS",
                 a->table ? arena_printf(arena, "offsetof(struct %s_params, %s)", name, a->table) : "0", array_grows(a),
                 limits_of(p->spec, a));
    }
    if (params) text_add(out, "};\n\n");
    return params;
}

/* Prints the members of a row that say where a caller passes the array. */
static void place_of_caller(const struct emission *p, const struct kernel_array *a, int params, int *masks,
                            struct text *out)
{
    const char *const name = p->spec->name;
    const bool of_queries = a->role == ROLE_PER_QUERY;
    switch (a->place) {
    case PLACE_ARGUMENT:
        text_add(out, ", .argument = {%d, %d}, .strides = offsetof(struct attn_problem, %s)",
                 argument_number(p->arrays, a, ENTRY_FORWARD), argument_number(p->arrays, a, ENTRY_BACKWARD), a->name);
        break;
    case PLACE_WITHIN:
        text_add(out, ", .origin = FROM_ARRAY, .of = ARRAY_%s, .strides = offsetof(struct attn_problem, %s)", a->within,
                 a->name);
        break;
    case PLACE_PROBLEM:
        text_add(out,
                 ", .origin = FROM_PROBLEM, .member = offsetof(struct attn_problem, %s), .strides = offsetof(struct "
                 "attn_problem, %s_at), .elements = %lld",
                 a->member, a->member, (long long)array_row_elements(a));
        if (axis_of_size(a, ARRAY_SIZE_N_K) >= 0) text_add(out, ", .sizes = 1 << -ATTN_N_K");
        if (strcmp(a->name, "statistics") == 0) text_add(out, ", .statistics = %s", table_statistics(p->spec));
        break;
    case PLACE_GRADIENTS:
        text_add(out, ", .origin = FROM_GRADIENTS, .member = offsetof(struct %s_gradients, %s)", name, a->member);
        break;
    case PLACE_WORKSPACE:
        text_add(out, ", .origin = %s", a->dtype == DTYPE_I32 ? "FROM_LISTS" : "FROM_LIBRARY");
        if (a->dtype != DTYPE_I32) break;
        text_add(out, ", .elements = %lld, .sizes = ", (long long)array_row_elements(a));
        for (int k = 0, any = 0; k < a->rank; k++)
            if (!a->axis[k].constant)
                text_add(out, "%s1 << -ATTN_%s", any++ ? " | " : "", array_sizes[a->axis[k].size].name);
        break;
    case PLACE_PARAMS:
        text_add(out, ", .origin = FROM_PARAMS, .param = %d, .axis = {%d, %d, %d}", params,
                 axis_of_size(a, ARRAY_SIZE_BATCH), array_axis_of_heads(a),
                 axis_of_size(a, of_queries ? ARRAY_SIZE_N_Q : ARRAY_SIZE_N_K));
        if (a->rows) text_add(out, ", .has_rows = 1");
        if (a->integer_rows) text_add(out, ", .integer_rows = 1");
        if (dtype_is_integer(a->dtype) && !a->declared && a->rank > 0 && !a->axis[0].constant &&
            a->axis[0].size == ARRAY_SIZE_BATCH)
            text_add(out, ", .of_sequences = 1");
        if (a->tiled) text_add(out, ", .mask = %d", ++*masks);
        if (a->origin == ORIGIN_NORMAL) text_add(out, ", .random = RANDOM_NORMAL");
        if (a->origin == ORIGIN_ORTHOGONAL) text_add(out, ", .random = RANDOM_ORTHOGONAL");
        break;
    }
}

/* Prints the members of a row of an array that one part of backward leaves for another one. */
static void place_of_left(const struct emitted_file *e, const struct table_arrays *all, const struct table_array *of,
                          struct text *out)
{
    struct arena *const arena = e->c[0]->graph->module->arena;
    const struct left_array *const left = of->left;
    const struct module *const m = left->g->module;
    const struct value *const v = &left->g->value[left->v];
    bool *const wanted = arena_alloc(arena, (size_t)all->count * sizeof *wanted);
    int64_t elements = 1;
    const char *sizes = "";
    emit_left_wanted(e, of->linear, left, all, wanted);
    const char *const list = table_list(arena, all, wanted);
    for (int k = 0; k < v->rank; k++) {
        const struct axis *const axis = &m->axis[v->axes[k]];
        const bool of_heads = axis->source == SIZE_KV_HEADS && k + 1 < v->rank &&
                              m->axis[v->axes[k + 1]].source == SIZE_MEMBERS;
        if (axis_is_counted(axis))
            elements *= axis->extent;
        else if (!of_heads)
            sizes = arena_printf(arena, "%s%s1 << -ATTN_%s", sizes, *sizes ? " | " : "",
                                 axis->source == SIZE_MEMBERS || axis->source == SIZE_HEADS ? "HEADS"
                                 : axis->source == SIZE_BATCH                               ? "BATCH"
                                 : axis->source == SIZE_KV_HEADS                            ? "KV_HEADS"
                                 : axis->source == SIZE_N_Q                                 ? "N_Q"
                                                                                            : "N_K");
    }
    text_add(out, ", .origin = FROM_LEFT, .elements = %lld", (long long)elements);
    if (*sizes) text_add(out, ", .sizes = %s", sizes);
    if (list) text_add(out, ", .wanted = %s", list);
    if (of->linear) text_add(out, ", .linear = 1");
    if (v->sums) text_add(out, ", .sums = 1");
    const char *const whole = emit_left_whole(e, left, arena);
    if (whole) text_add(out, ", .whole = ARRAY_%s", whole);
}

void table_rows(const struct emitted_file *e, const struct table_arrays *all, struct text *out)
{
    int params = 0, masks = 0;
    text_add(out, "static const struct array array[] = {\n");
    for (int k = 0; k < all->count; k++) {
        const struct table_array *const of = &all->array[k];
        const struct kernel_array *const a = of->of_caller;
        text_add(out, "    {.name = \"%s\"", a ? a->name : of->identifier);
        if (of->origin) text_add(out, ", .origin = %s", of->origin);
        if (of->elements) text_add(out, ", .elements = %lld", (long long)of->elements);
        if (of->left) place_of_left(e, all, of, out);
        if (a) {
            text_add(out, ", .access = {%s, %s}, .dtype = %s", access_name(a->access[ENTRY_FORWARD]),
                     access_name(e->p->parts ? a->access[ENTRY_BACKWARD] : ACCESS_NONE), emit_runtime_dtype(a->dtype));
            if (a->appended != a->dtype) text_add(out, ", .appended = %s", emit_runtime_dtype(a->appended));
            if (a->role == ROLE_PER_QUERY || a->role == ROLE_PER_KEY || a->place == PLACE_PROBLEM)
                text_add(out, ", .rows = %s", a->role == ROLE_PER_KEY ? "ROWS_OF_KEYS" : "ROWS_OF_QUERIES");
            place_of_caller(e->p, a, params, &masks, out);
            params += a->place == PLACE_PARAMS;
        }
        text_add(out, "},\n");
    }
    text_add(out, "};\n\n");
}

/* ---- the arrays of a state ---- */

static bool has_rows_of_keys(const struct kernel_array *a)
{
    return array_grows(a) && a->role == ROLE_PER_KEY && a->access[ENTRY_FORWARD] == ACCESS_READ;
}

/* Returns the member of an array's row about the program that prepares its rows. */
static int prepared_part(const struct emission *p, const struct kernel_array *a)
{
    const bool key = a->quantity == QUANTITY_KEY;
    const int rows = key ? 0 : spec_array(p->spec, a->name) + 1;
    for (const struct version *v = NULL; versions_next(&p->of[STEP_PREPARE], &v);)
        if (v->part == rows && (rows || key)) return rows + 1;
    return 0;
}

/* Prints the row of an array whose rows come from the caller. */
static void given_row(const struct emission *p, const struct kernel_array *a, struct text *out)
{
    const long long elements = (long long)array_row_elements(a);
    const struct array_axis *const last = a->rank > 0 ? &a->axis[a->rank - 1] : NULL;
    const int axis = array_axis_of_heads(a);
    const char *const heads = a->shared ? "1"
                              : array_own_heads(a) > 1
                                  ? array_axis_word(p->compilation[0]->graph->module->arena, &a->axis[axis])
                              : array_has_size(a, ARRAY_SIZE_KV_HEADS) ? "ATTN_KV_HEADS"
                              : array_has_size(a, ARRAY_SIZE_HEADS)    ? "ATTN_HEADS"
                                                                       : "0";
    text_add(
        out, "    {ARRAY_%s, %lld, %s, %d, %lld, %d},\n", a->identifier,
        (long long)(dtype_is_packed(a->dtype) ? dtype_row_bytes(a->dtype, elements) : elements * dtype_bytes(a->dtype)),
        heads, last && a->strided && last->constant && last->extent != 1 ? (int)dtype_bytes(a->dtype) : 0,
        a->appended != a->dtype ? elements : 0, prepared_part(p, a));
}

static void computed_row(const struct kernel_array *a, struct text *out)
{
    text_add(out, "    {ARRAY_%s, %lld, ATTN_HEADS, 0, 0, 0},\n", a->identifier,
             (long long)(array_row_elements(a) * dtype_bytes(a->dtype)));
}

void table_kept(const struct emission *p, struct kept_counts *counts, struct text *out)
{
    const bool prepared = p->of[STEP_PREPARE].count > 0, corrects = p->of[STEP_APPEND].count > 0;
    const struct kernel_arrays *const arrays = p->arrays;
    int count = 0, sums = 0;
    text_add(out, "static const struct kept_array kept_array[] = {\n");
    for (int k = 0; k < arrays->count; k++) {
        const struct kernel_array *const a = &arrays->array[k];
        if (!has_rows_of_keys(a) || a->of_terms || (a->place == PLACE_WITHIN && !prepared)) continue;
        given_row(p, a, out);
        count++;
    }
    const int corrected = corrects ? kernel_array_find(arrays, corrected_values[0]) : -1;
    if (corrected >= 0) computed_row(&arrays->array[corrected], out);
    count += corrected >= 0;
    for (int k = 0; k < arrays->count; k++) {
        const enum prefix_array found = prefix_array_find(arrays->array[k].name);
        if (found != PREFIX_OF_KEY && found != PREFIX_OF_KEY_LOW) continue;
        computed_row(&arrays->array[k], out);
        sums++;
    }
    *counts = (struct kept_counts){.kept = count + sums, .given = count + sums, .sums = count};
    for (int k = 0; k < arrays->count; k++) {
        if (!has_rows_of_keys(&arrays->array[k]) || !arrays->array[k].of_terms) continue;
        given_row(p, &arrays->array[k], out);
        counts->given++;
    }
    text_add(out, "};\n\n");
}
