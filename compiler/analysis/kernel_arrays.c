/* Makes the table of a kernel's arrays: the arrays of every kernel (kernel_arrays.def), other outputs, parameters,
   gradients of parameters. */
#include "computed_arrays.h"
#include "kernel_arrays.h"

#include <stddef.h>
#include <string.h>

const struct array_size_row array_sizes[ARRAY_SIZES] = {
#define ARRAY_SIZE(name, word, letter) {#name, word, letter},
#include "array_sizes.def"
#undef ARRAY_SIZE
};

const char *array_role_name(enum array_role role)
{
#define ARRAY_ROLE(name, text) text,
    static const char *const names[] = {ARRAY_ROLES};
#undef ARRAY_ROLE
    return names[role];
}

enum { SHARING_OWN, SHARING_SHARED };

static const struct fixed_array {
    const char *name;
    enum quantity quantity;
    enum array_access access[ENTRIES];
    enum array_size heads, length;
    size_t elements; /* the offset in struct spec of the size of a row */
    const char *key;
    bool shared;
    const char *gradient_of;
} fixed[FIXED_ARRAYS] = {
#define ARRAY(name, quantity, forward, backward, heads, length, elements, sharing, gradient_of) \
    {#name, \
     QUANTITY_##quantity, \
     {ACCESS_##forward, ACCESS_##backward}, \
     ARRAY_SIZE_##heads, \
     ARRAY_SIZE_##length, \
     offsetof(struct spec, elements), \
     #elements, \
     SHARING_##sharing, \
     gradient_of},
#include "../spec/kernel_arrays.def"
#undef ARRAY
};

/* Words of C++ and of C23 that are no words of C11, each between blanks. NAME.h is also for these languages. */
static const char
    words_of_cpp[] = " alignas alignof and and_eq asm bitand bitor bool catch char16_t char32_t char8_t class co_await"
                     " co_return co_yield compl concept const_cast consteval constexpr constinit decltype delete"
                     " dynamic_cast explicit export false friend mutable namespace new noexcept not not_eq nullptr"
                     " operator or or_eq private protected public reinterpret_cast requires static_assert static_cast"
                     " template this thread_local throw true try typeid typename typeof typeof_unqual using virtual"
                     " wchar_t xor xor_eq ";

/* Returns the name in C of an array, such as features_w for features.w. A word of C++ gets a `_` at its end. */
static const char *identifier_of(struct arena *arena, const char *name)
{
    if (strstr(words_of_cpp, arena_printf(arena, " %s ", name))) return arena_printf(arena, "%s_", name);
    char *made = arena_copy(arena, name);
    for (char *c = made; *c; c++)
        if (*c == '.') *c = '_';
    return made;
}

/* Sets the axes of an array from its value. The axes of key/value heads and of their members become one axis of
   query heads. */
static void set_axes(struct kernel_array *a, const struct module *m, const struct value *v)
{
    for (int k = 0; k < v->rank; k++) {
        const struct axis *const axis = &m->axis[v->axes[k]];
        struct array_axis *const to = &a->axis[a->rank++];
        switch (axis->source) {
        case SIZE_CONSTANT: *to = (struct array_axis){.constant = true, .extent = axis->extent}; break;
        case SIZE_BATCH: to->size = ARRAY_SIZE_BATCH; break;
        case SIZE_KV_HEADS:
            to->size = ARRAY_SIZE_KV_HEADS;
            if (k + 1 < v->rank && m->axis[v->axes[k + 1]].source == SIZE_MEMBERS) {
                to->size = ARRAY_SIZE_HEADS;
                k++;
            }
            break;
        case SIZE_N_Q: to->size = ARRAY_SIZE_N_Q; break;
        case SIZE_ALL_KEYS:
        case SIZE_N_K: to->size = ARRAY_SIZE_N_K; break;
        case SIZE_HEADS: to->size = ARRAY_SIZE_HEADS; break;
        case SIZE_QUERY_BLOCKS:
        case SIZE_KEY_BLOCKS:
            to->size = axis->source == SIZE_KEY_BLOCKS ? ARRAY_SIZE_N_K : ARRAY_SIZE_N_Q;
            to->block = axis->extent;
            break;
        case SIZE_MEMBERS:
        case SIZE_CHUNKS:
        case SIZE_QUERY_CHUNKS:
        case SIZE_UNITS:
        case SIZE_FIRST_KEY:
        case SIZE_SINK_MODE:
        case SIZE_ROWS: to->constant = true; break; /* no array of a caller has this axis */
        }
    }
}

bool array_grows(const struct kernel_array *a)
{
    return a->rows || a->integer_rows;
}

bool array_has_size(const struct kernel_array *a, enum array_size size)
{
    for (int k = 0; k < a->rank; k++)
        if (!a->axis[k].constant && !a->axis[k].block && a->axis[k].size == size) return true;
    return false;
}

static enum array_role role_of(const struct kernel_array *a)
{
    const bool queries = array_has_size(a, ARRAY_SIZE_N_Q), keys = array_has_size(a, ARRAY_SIZE_N_K);
    if (queries || keys) return queries && keys ? ROLE_PER_PAIR : queries ? ROLE_PER_QUERY : ROLE_PER_KEY;
    if (array_has_size(a, ARRAY_SIZE_BATCH)) return ROLE_PER_SEQUENCE;
    return array_has_size(a, ARRAY_SIZE_HEADS) || array_has_size(a, ARRAY_SIZE_KV_HEADS) ? ROLE_PER_HEAD : ROLE_SHARED;
}

static bool is_of_tokens(const struct array_axis *axis)
{
    return !axis->constant && (axis->size == ARRAY_SIZE_N_Q || axis->size == ARRAY_SIZE_N_K);
}

int array_axis_of_heads(const struct kernel_array *a)
{
    for (int k = 0; k < a->rank; k++)
        if (a->axis[k].constant ? k + 2 < a->rank && is_of_tokens(&a->axis[k + 1]) && a->axis[k + 2].constant
                                : a->axis[k].size == ARRAY_SIZE_HEADS || a->axis[k].size == ARRAY_SIZE_KV_HEADS)
            return k;
    return -1;
}

int64_t array_own_heads(const struct kernel_array *a)
{
    const int heads = array_axis_of_heads(a);
    return heads >= 0 && a->axis[heads].constant ? a->axis[heads].extent : 0;
}

/* Whether the axes are, in this order: batch (optional), heads (optional), queries or keys, a constant axis
   (optional). Heads may be a constant number. */
static bool rows_of_tokens(const struct kernel_array *a)
{
    int k = 0;
    if (k < a->rank && !a->axis[k].constant && !a->axis[k].block && a->axis[k].size == ARRAY_SIZE_BATCH) k++;
    if (k < a->rank && array_axis_of_heads(a) == k) k++;
    if (k == a->rank || !is_of_tokens(&a->axis[k])) return false;
    k++;
    return k == a->rank || (k + 1 == a->rank && a->axis[k].constant);
}

static void describe(struct kernel_array *a, struct arena *arena)
{
    a->member = identifier_of(arena, a->name);
    a->identifier = a->declared ? arena_printf(arena, "%s_array", a->member) : a->member;
    a->role = role_of(a);
    a->learned = a->place == PLACE_PARAMS && a->origin == ORIGIN_LEARNED && !dtype_is_integer(a->dtype);
    a->rows = !dtype_is_integer(a->dtype) && !a->hides && rows_of_tokens(a);
    a->integer_rows = a->declared && dtype_is_integer(a->dtype) && rows_of_tokens(a);
    a->strided = a->declared && a->place == PLACE_PARAMS && a->rank > 0;
}

int kernel_array_find(const struct kernel_arrays *all, const char *name)
{
    for (int a = 0; a < all->count; a++)
        if (strcmp(all->array[a].name, name) == 0) return a;
    return -1;
}

int kernel_array_of(const struct kernel_arrays *all, enum quantity quantity)
{
    int a = 0;
    while (all->array[a].quantity != quantity) a++;
    return a;
}

int kernel_gradient_of(const struct kernel_arrays *all, int array)
{
    for (int a = 0; a < all->count; a++)
        if (all->array[a].gradient_of == array) return a;
    return -1;
}

/* Returns the name of the array that contains this array, or NULL. If an array contains another one, its gradient
   contains the gradient of the other one. */
static const char *within_of(const struct graph *g, const struct fixed_array *a)
{
    const int v = graph_find(g, a->gradient_of ? a->gradient_of : a->name);
    if (v < 0 || !g->value[v].within.of) return NULL;
    return a->gradient_of ? arena_printf(g->module->arena, "d%s", g->value[v].within.of) : g->value[v].within.of;
}

/* Returns the type of the array's elements in memory. */
static enum dtype type_of(const struct spec *spec, const struct fixed_array *a)
{
    return a->gradient_of                  ? spec->dtype
           : a->quantity == QUANTITY_KEY   ? spec_type_of_keys(spec)
           : a->quantity == QUANTITY_VALUE ? spec_type_of_values(spec)
                                           : spec->dtype;
}

/* Adds an array with the axes of value v. */
static struct kernel_array *add_array(struct kernel_arrays *all, const char *name, enum array_place place,
                                      enum dtype dtype, const struct graph *g, int v)
{
    struct kernel_array *const a = &all->array[all->count++];
    *a = (struct kernel_array){.name = name, .place = place, .dtype = dtype, .gradient_of = -1};
    set_axes(a, g->module, &g->value[v]);
    return a;
}

static void add_fixed(struct kernel_arrays *all, const struct spec *spec, const struct graph *source)
{
    for (int k = 0; k < FIXED_ARRAYS; k++) {
        struct kernel_array *const a = &all->array[all->count];
        const int64_t elements = *(const int64_t *)(const void *)((const char *)spec + fixed[k].elements);
        *a = (struct kernel_array){.name = fixed[k].name,
                                   .quantity = fixed[k].quantity,
                                   .place = PLACE_ARGUMENT,
                                   .access = {fixed[k].access[0], fixed[k].access[1]},
                                   .dtype = type_of(spec, &fixed[k]),
                                   .appended = spec->dtype,
                                   .rank = 4,
                                   .axis = {{.size = ARRAY_SIZE_BATCH},
                                            {.size = fixed[k].heads},
                                            {.size = fixed[k].length},
                                            {.constant = true, .extent = elements, .key = fixed[k].key}}};
        a->within = within_of(source, &fixed[k]);
        if (a->within) a->place = PLACE_WITHIN;
        a->shared = fixed[k].shared && !spec->values_are_keys; /* values that are keys have as many heads as keys */
        a->gradient_of = fixed[k].gradient_of ? kernel_array_find(all, fixed[k].gradient_of) : -1;
        all->count++;
    }
}

/* Whether a region reads elements of the integer parameter. `compared`: two elements with each other. */
static bool read_in_region(const struct graph *g, const char *name, bool compared)
{
    for (int v = 0; v < g->values; v++)
        for (struct exprs w = {.of = g->value[v].where}; exprs_next(&w);) {
            const struct expr *const a = compared ? w.e->arg[0] : w.e, *const b = compared ? w.e->arg[1] : w.e;
            if ((!compared || w.e->op == EXPR_EQ) && a->op == EXPR_ID && b->op == EXPR_ID &&
                strcmp(a->name, name) == 0 && strcmp(b->name, name) == 0)
                return true;
        }
    return false;
}

/* Whether a region asks which pairs the parameter shows, and the parameter's last two axes are queries or keys. */
static bool is_tiled(const struct graph *g, const struct value *param)
{
    if ((!param->bytes && !param->hides) || param->rank < 2) return false;
    for (int k = param->rank - 2; k < param->rank; k++) {
        const enum size_source source = g->module->axis[param->axes[k]].source;
        if (source != SIZE_N_Q && source != SIZE_N_K) return false;
    }
    return read_in_region(g, param->name, false);
}

/* Returns whether calls treat the array like one of `arrays:`. In a spec that decodes, they also do so for `document`:
   its ids come with the new tokens. */
static bool like_declared(const struct spec *spec, const char *name)
{
    return spec_array(spec, name) >= 0 || (spec->emit & EMIT_DECODE && strcmp(name, "document") == 0) ||
           spec_has_tangent(spec, name);
}

/* Whether only the terms of prefix sums read the parameter with value number `param`. */
static bool only_in_terms(const struct graph *g, int param)
{
    bool *const terms = arena_alloc(g->module->arena, (size_t)g->values * sizeof *terms), only = false;
    struct prefix_sum found;
    if (g->value[param].by_name) return false;
    for (int v = 0; v < g->values; v++)
        if (prefix_sum_of(g, v, &found)) only = terms[found.terms] = true;
    for (int v = 0; v < g->values; v++)
        for (int k = 0; k < g->value[v].operands; k++) only &= g->value[v].operand[k].of != param || terms[v];
    return only;
}

/* Adds the arrays of prefix sums, and of their gradients, if the graph has prefix sums. */
static void add_prefix_sums(struct kernel_arrays *all, const struct spec *spec, const struct graph *source)
{
    int of[2] = {-1, -1};
    struct prefix_sum found;
    for (int v = 0; v < source->values; v++)
        if (prefix_sum_of(source, v, &found)) of[found.of_query] = v;
    for (int n = 0; n < PREFIX_ARRAYS && of[0] >= 0 && of[1] >= 0; n++) {
        const enum prefix_array array = (enum prefix_array)n;
        const bool query = array == PREFIX_OF_QUERY || array == PREFIX_OF_QUERY_LOW ||
                           array == PREFIX_GRADIENT_OF_QUERY;
        add_array(all, prefix_array_name(array), PLACE_WORKSPACE, dtype_of_sums(spec->dtype), source, of[query]);
    }
}

/* Adds the array of corrected values for each SOLVE of the graph. */
static void add_corrected_values(struct kernel_arrays *all, const struct spec *spec, const struct graph *source)
{
    int system = 0;
    for (int v = 0; v < source->values; v++)
        if (source->value[v].op == GRAPH_SOLVE)
            add_array(all, corrected_values[system++], PLACE_WORKSPACE, dtype_of_sums(spec->dtype), source, v);
}

/* Adds the lists of the best keys. */
static void add_lists(struct kernel_arrays *all, const struct graph *source)
{
    for (int v = 0; v < source->values; v++)
        if (source->value[v].op == GRAPH_SELECT)
            add_array(all, source->value[v].name, PLACE_WORKSPACE, DTYPE_I32, source, v);
}

/* Returns a name for the table of a mask's tiles. No array has the same name. */
static const char *name_of_table(struct arena *arena, const struct kernel_arrays *all, const struct kernel_array *mask)
{
    const char *name = arena_printf(arena, "%s_tiles", mask->member);
    for (int k = 0; k < all->count; k++)
        if (strcmp(all->array[k].member, name) == 0) name = arena_printf(arena, "%s_of_mask", name), k = -1;
    return name;
}

const struct kernel_arrays *kernel_arrays(const struct spec *spec, const struct graph *source)
{
    struct arena *const arena = source->module->arena;
    struct kernel_arrays *const all = arena_alloc(arena, sizeof *all);
    const enum dtype real = dtype_of_sums(spec->dtype);
    all->array = arena_alloc(
        arena, (size_t)(FIXED_ARRAYS + PREFIX_ARRAYS + MAX_SYSTEMS + source->outputs + 2 * source->values) *
                   sizeof *all->array);
    add_fixed(all, spec, source);
    for (int o = 1; o < source->outputs; o++) {
        struct kernel_array *const a = add_array(all, source->output[o].name, PLACE_PROBLEM, real, source,
                                                 source->output[o].value);
        a->access[ENTRY_FORWARD] = ACCESS_WANTED;
        if (role_of(a) == ROLE_PER_PAIR) a->dtype = spec->dtype;
    }
    for (int v = 0; v < source->values; v++) {
        const struct value *const value = &source->value[v];
        if (value->op != GRAPH_PARAM) continue;
        const enum dtype integer = value->bytes ? DTYPE_U8 : DTYPE_I32, stored = value->stored ? value->stored : real;
        struct kernel_array *const a = add_array(all, value->name, PLACE_PARAMS, value->integers ? integer : stored,
                                                 source, v);
        a->access[ENTRY_FORWARD] = a->access[ENTRY_BACKWARD] = ACCESS_READ;
        a->declared = like_declared(spec, value->name);
        a->compared = graph_numbers_keys(source, value) && read_in_region(source, value->name, true);
        a->of_terms = !value->integers && only_in_terms(source, v);
        a->tiled = is_tiled(source, value);
        a->hides = value->hides;
        a->origin = value->origin;
        a->initial = value->initial;
    }
    add_prefix_sums(all, spec, source);
    add_corrected_values(all, spec, source);
    add_lists(all, source);
    for (int n = FIXED_ARRAYS; n < all->count; n++) all->array[n].appended = all->array[n].dtype;
    for (int n = 0; n < all->count; n++) describe(&all->array[n], arena);
    for (int n = 0; n < all->count; n++)
        if (all->array[n].tiled && all->array[n].dtype == DTYPE_U8)
            all->array[n].table = name_of_table(arena, all, &all->array[n]);
    for (int n = 0, given = all->count; n < given; n++) {
        if (!all->array[n].learned) continue;
        struct kernel_array *const a = &all->array[all->count++];
        *a = all->array[n];
        a->name = arena_printf(arena, "d%s", all->array[n].name);
        a->identifier = arena_printf(arena, "d%s", all->array[n].identifier);
        a->place = PLACE_GRADIENTS;
        a->access[ENTRY_FORWARD] = ACCESS_NONE;
        a->access[ENTRY_BACKWARD] = ACCESS_WANTED;
        a->gradient_of = n;
        a->dtype = a->appended = real;
        a->learned = a->rows = a->strided = a->tiled = a->hides = false;
        a->table = NULL;
    }
    return all;
}

int64_t array_row_elements(const struct kernel_array *a)
{
    return a->rank && a->axis[a->rank - 1].constant ? a->axis[a->rank - 1].extent : 1;
}

const char *array_axis_word(struct arena *arena, const struct array_axis *axis)
{
    const char *const word = array_sizes[axis->size].word;
    if (axis->block) return arena_printf(arena, "%s/%lld", word, (long long)axis->block);
    return axis->constant ? arena_printf(arena, "%lld", (long long)axis->extent) : word;
}

const char *array_shape_text(struct arena *arena, const struct kernel_array *a, const char *between)
{
    const char *made = "";
    for (int k = 0; k < a->rank; k++) {
        const struct array_axis *const axis = &a->axis[k];
        const char *const letter = array_sizes[axis->size].letter;
        made = arena_printf(arena, "%s%s%s", made, k ? between : "",
                            axis->block      ? arena_printf(arena, "ceil(%s / %lld)", letter, (long long)axis->block)
                            : axis->constant ? array_axis_word(arena, axis)
                                             : letter);
    }
    return made;
}
