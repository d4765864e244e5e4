/* Prints C for left arrays, which one part of backward leaves in the workspace for later parts. Also prints C for
   gradients of learned parameters, and the calls of the parts. */
#include "printer.h"

#include <string.h>

/* Returns the number of the first array from `from` on that is the gradient of a parameter, or -1. */
static int next_gradient(const struct kernel_arrays *arrays, int from)
{
    while (from < arrays->count && arrays->array[from].place != PLACE_GRADIENTS) from++;
    return from < arrays->count ? from : -1;
}

/* A left array of one form (linear or quadratic). Sums with a row per query are not left arrays, because entry.c
   places them. */
struct left_array {
    const char *name, *identifier; /* the identifier is the name in the emitted C */
    const struct graph *g;         /* the graph of a part that reads the array */
    int v;                         /* the array's value in this graph */
};

/* Returns the graph of a part of backward, for the first target that has the part. Returns NULL if no target has it. */
static const struct graph *graph_of_part(const struct emitted_file *e, bool linear, int part)
{
    for (const struct version *v = NULL; versions_next(&e->p->of[STEP_BACKWARD], &v);)
        if (v->part == part && v->c->program.linear == linear && program_outputs_gradients(&v->c->program))
            return v->c->graph;
    return NULL;
}

/* Returns whether a part of backward outputs an array `name`. */
static bool is_left(const struct emitted_file *e, bool linear, const char *name)
{
    bool left = false;
    for (int part = 0; part < e->p->parts; part++) {
        const struct graph *const g = graph_of_part(e, linear, part);
        left |= g && graph_find_output(g, name) >= 0;
    }
    return left;
}

/* Returns whether the value is a sum with a row per query. */
static bool sums_of_queries(const struct graph *g, const struct value *v)
{
    bool queries = false;
    for (int k = 0; k < v->rank; k++) queries |= g->module->axis[v->axes[k]].source == SIZE_N_Q;
    return v->sums && queries;
}

/* Returns whether a part of backward reads an array `name`. */
static bool is_given(const struct emitted_file *e, bool linear, const char *name)
{
    bool given = false;
    for (int part = 0; part < e->p->parts; part++) {
        const struct graph *const g = graph_of_part(e, linear, part);
        given |= g && graph_find(g, name) >= 0;
    }
    return given;
}

/* Sets *of to the left arrays of the linear or quadratic form, and returns their number. */
static int left_arrays(const struct emitted_file *e, bool linear, struct arena *arena, struct left_array **of)
{
    struct left_array *const left = arena_alloc(arena, (size_t)e->p->parts * MAX_OUTPUTS * sizeof *left);
    int count = 0;
    for (int part = 0; part < e->p->parts; part++) {
        const struct graph *const g = graph_of_part(e, linear, part);
        for (int v = 0; g && v < g->values; v++) {
            const struct value *value = &g->value[v];
            bool before = value->op != GRAPH_INPUT || sums_of_queries(g, value) || !is_left(e, linear, value->name);
            for (int n = 0; n < count && !before; n++) before = strcmp(left[n].name, value->name) == 0;
            if (!before)
                left[count++] = (struct left_array){value->name, emit_identifier(arena, e->p->arrays, value->name), g,
                                                    v};
        }
    }
    *of = left;
    return count;
}

bool emit_has_totals(const struct emitted_file *e, struct arena *arena)
{
    struct left_array *left;
    return e->p->parts && (next_gradient(e->p->arrays, 0) >= 0 || left_arrays(e, false, arena, &left) > 0 ||
                           left_arrays(e, true, arena, &left) > 0);
}

const char *emit_total_members(const struct emitted_file *e, struct arena *arena)
{
    struct left_array *left;
    const struct kernel_arrays *const all = e->p->arrays;
    const char *members = "", *real = emit_real(e->p->spec->dtype);
    for (int k = 0; (k = next_gradient(all, k)) >= 0; k++)
        members = arena_printf(arena, "%s\n    %s *%s;", members, emit_stored(all->array[k].dtype),
                               all->array[k].identifier);
    for (int linear = 0; linear < 2; linear++)
        for (int n = 0, count = left_arrays(e, linear, arena, &left); n < count; n++)
            members = arena_printf(arena,
                                   left[n].g->value[left[n].v].sums ? "%s\n    %s *%s;\n    struct attn_strides %s_at;"
                                                                    : "%s\n    %s *%s;",
                                   members, real, left[n].identifier, left[n].identifier);
    return members;
}

const char *emit_total_values(const struct emitted_file *e, struct arena *arena)
{
    const struct kernel_arrays *const all = e->p->arrays;
    const char *values = "";
    for (int k = 0; (k = next_gradient(all, k)) >= 0; k++)
        values = arena_printf(arena, "%s%s        call->%s = to->%s;", values, *values ? "\n" : "",
                              all->array[k].identifier, all->array[k].member);
    return values;
}

const char *emit_or_name(struct arena *arena, const char *condition, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = strstr(condition, name); at; at = strstr(at + 1, name))
        if ((at == condition || at[-1] == ' ') && (!at[n] || at[n] == ' ')) return condition;
    return arena_printf(arena, "%s%s%s", condition, *condition ? " || " : "", name);
}

/* Returns whether value v is computed from value `of`. */
static bool needs(const struct graph *g, int v, int of, struct arena *arena)
{
    bool *const needed = arena_alloc(arena, (size_t)g->values * sizeof *needed);
    graph_mark(g, v, needed);
    return needed[of];
}

/* Returns a C condition: `condition` is true, or the caller wants a gradient with respect to an array that prefix
   sums are computed from. `call` is the C of struct call with "." or "->". */
static const char *with_prefix_wanted(const struct emitted_file *e, const char *condition, const char *call,
                                      struct arena *arena)
{
    for (const struct version *v = NULL; versions_next(&e->p->of[STEP_BACKWARD], &v);) {
        const struct compilation *const c = v->c;
        for (int o = 0; c->program.of_terms && o < c->graph->outputs; o++) {
            const int array = kernel_array_find(e->p->arrays, c->graph->output[o].name);
            if (array < 0) continue; /* the array has sums of slices */
            condition = emit_or_name(
                arena, condition,
                arena_printf(arena, "%s%s", call, emit_identifier(arena, e->p->arrays, c->graph->output[o].name)));
        }
    }
    return condition;
}

/* Returns a C condition: `condition` is true, or the caller wants a gradient that depends on the left array `name`.
   The gradient may depend on it through other left arrays. */
static const char *with_needs(const struct emitted_file *e, bool linear, const char *condition, const char *name,
                              struct arena *arena)
{
    for (int part = 0; part < e->p->parts; part++) {
        const struct graph *const g = graph_of_part(e, linear, part);
        const int given = g ? graph_find(g, name) : -1;
        for (int o = 0; given >= 0 && o < g->outputs; o++) {
            if (!needs(g, g->output[o].value, given, arena)) continue;
            const char *const made = g->output[o].name;
            condition = prefix_array_find(made) != PREFIX_ARRAYS /* Its array is placed after the left arrays. */
                            ? with_prefix_wanted(e, condition, "call->", arena)
                            : is_given(e, linear, made)
                                  ? with_needs(e, linear, condition, made, arena)
                                  : emit_or_name(
                                        arena, condition,
                                        arena_printf(arena, "call->%s", emit_identifier(arena, e->p->arrays, made)));
        }
    }
    return condition;
}

/* Returns the name of the gradient that sums the left array over query heads. */
static const char *whole_of(const struct left_array *left, struct arena *arena)
{
    int o = 0;
    while (!needs(left->g, left->g->output[o].value, left->v, arena)) o++;
    return left->g->output[o].name;
}

/* Returns whether the left array has a gradient for each query head. */
static bool has_heads(const struct left_array *left)
{
    const struct value *const v = &left->g->value[left->v];
    bool heads = false;
    for (int k = 0; k < v->rank; k++) heads |= left->g->module->axis[v->axes[k]].source == SIZE_MEMBERS;
    return v->sums && heads;
}

/* Returns a statement that sets the strides of an array that one part leaves for another. The array has a row for
   each key and key/value head. */
static const char *rows_value(const struct left_array *left, const char *placed, struct arena *arena)
{
    const struct value *const v = &left->g->value[left->v];
    const long long row = (long long)left->g->module->axis[v->axes[v->rank - 1]].extent;
    return arena_printf(arena,
                        "%s    call->%s_at = (struct attn_strides){(int64_t)bytes_times(bytes_times(%lld, p->n_k), "
                        "p->kv_heads), (int64_t)bytes_times(%lld, p->n_k), %lld};\n",
                        placed, left->identifier, row, row, row);
}

/* Returns statements that set the pointer and strides of a left array that has a gradient for each query head, such
   as dk.
   - If each key/value head has one query head, this gradient is the result. The pointer is then the caller's array.
   - If the caller's array has a 16-bit type, the left array is separate, because the sum is rounded only at the end. */
static const char *heads_value(const struct left_array *left, enum dtype dtype, const char *placed, struct arena *arena)
{
    const struct value *const v = &left->g->value[left->v];
    const char *name = left->identifier, *whole = whole_of(left, arena);
    const long long row = (long long)left->g->module->axis[v->axes[v->rank - 1]].extent;
    placed = arena_printf(arena,
                          "%s        const size_t head = bytes_times(%lld, p->n_k);\n"
                          "        call->%s_at = (struct attn_strides){(int64_t)bytes_times(head, p->heads), "
                          "(int64_t)head, %lld};\n",
                          placed, row, name, row);
    if (dtype_of_sums(dtype) != dtype) return arena_printf(arena, "    {\n%s    }\n", placed);
    return arena_printf(arena,
                        "    if (p->heads == p->kv_heads) { /* each key/value head has one query head */\n"
                        "        call->%s = call->%s;\n        call->%s_at = p->%s;\n    } else {\n%s    }\n",
                        name, whole, name, whole, placed);
}

/* Returns statements that place a left array, if a wanted gradient needs it. Without a gradient that may be wanted, the
   array stays NULL. */
static const char *left_value(const struct emitted_file *e, bool linear, const struct left_array *left,
                              struct arena *arena)
{
    const char *const wanted = with_needs(e, linear, "", left->name, arena), *const real = emit_real(e->p->spec->dtype);
    if (!*wanted) return "";
    const struct module *const m = left->g->module;
    const struct value *const value = &left->g->value[left->v];
    const char *const indent = has_heads(left) ? "        " : "    ";
    int64_t elements = 1;
    for (int k = 0; k < value->rank; k++)
        if (axis_is_counted(&m->axis[value->axes[k]])) elements *= m->axis[value->axes[k]].extent;
    const char *bytes = arena_printf(arena, "%lld * sizeof(%s)", (long long)elements, real);
    for (int k = 0; k < value->rank; k++) {
        const struct axis *axis = &m->axis[value->axes[k]];
        const bool of_heads = axis->source == SIZE_KV_HEADS && k + 1 < value->rank &&
                              m->axis[value->axes[k + 1]].source == SIZE_MEMBERS;
        const char *size = axis->source == SIZE_MEMBERS ? "heads" : size_name(axis->source);
        if (!axis_is_counted(axis) && !of_heads) bytes = arena_printf(arena, "bytes_times(%s, p->%s)", bytes, size);
    }
    const char *const placed = arena_printf(arena,
                                            "%sif (%s) call->%s = (%s *)(void *)(left + at);\n"
                                            "%sat = bytes_plus(at, whole_lines(%s));\n",
                                            indent, wanted, left->identifier, real, indent, bytes);
    if (has_heads(left)) return heads_value(left, e->p->spec->dtype, placed, arena);
    return value->sums ? rows_value(left, placed, arena) : placed;
}

/* Returns statements that place the left arrays. Left arrays of the two forms share memory, because a call runs one
   form. */
const char *emit_left_values(const struct emitted_file *e, struct arena *arena)
{
    struct left_array *left;
    const char *values = "";
    for (int linear = 0; linear < 2; linear++) {
        for (int n = 0, count = left_arrays(e, linear, arena, &left); n < count; n++)
            values = arena_printf(arena, "%s%s", values, left_value(e, linear, &left[n], arena));
        values = arena_printf(arena, "%s    if (at > most) most = at;\n%s", values, linear ? "" : "    at = 0;\n");
    }
    return values;
}

/* Returns statements that run before the part of backward for gradients of parameters. They skip a gradient that is
   already in the caller's array (heads_value). */
static const char *before_totals(const struct emitted_file *e, struct arena *arena)
{
    struct left_array *left;
    const char *statements = "";
    for (int linear = 0; linear < 2 && dtype_of_sums(e->p->spec->dtype) == e->p->spec->dtype; linear++)
        for (int n = 0, count = left_arrays(e, linear, arena, &left); n < count; n++)
            if (has_heads(&left[n]))
                statements = arena_printf(arena, "%s        if (left.%s == left.%s) left.%s = NULL;\n", statements,
                                          whole_of(&left[n], arena), left[n].identifier, whole_of(&left[n], arena));
    return statements;
}

const char *emit_prefix_wanted(const struct emitted_file *e, struct arena *arena)
{
    return with_prefix_wanted(e, "", "call.", arena);
}

const char *emit_part_calls(const struct emitted_file *e, struct arena *arena)
{
    const char *calls = "", *const before = before_totals(e, arena);
    bool summed = !*emit_prefix_wanted(e, arena);
    for (int part = 0; part < e->p->parts; part++) {
        bool totals = false, saved = false, solution = false, of_terms = false;
        for (const struct version *v = NULL; versions_next(&e->p->of[STEP_BACKWARD], &v);) {
            const struct compilation *const c = v->c;
            if (v->part != part) continue;
            totals |= program_adds_totals(&c->program);
            saved |= program_recomputes_saved(&c->program);
            solution |= emission_computes_solution(e->p, c);
            of_terms |= c->program.of_terms;
        }
        if (of_terms && !summed)
            calls = arena_printf(
                arena, "%s\n    if (!error) error = make_prefix_gradients(&call, threads, work, bytes);", calls);
        summed |= of_terms;
        calls = arena_printf(arena,
                             totals && *before
                                 ? "%s%s    if (!error%s) {\n        struct call left = call;\n%s        error = "
                                   "run_part(%d, &left, threads, work);\n    }"
                                 : "%s%s    if (!error%s) %serror = run_part(%d, &call, threads, work);",
                             calls, part ? "\n" : "",
                             saved      ? " && !kept"
                             : solution ? " && !solved"
                                        : "",
                             totals ? before : "", part);
    }
    return calls;
}
