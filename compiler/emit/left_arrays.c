/* Finds left arrays, which one part of backward leaves in the workspace for later parts, and the gradients that need
   them. */
#include "tables.h"

#include <string.h>

int table_array_find(const struct table_arrays *all, const char *identifier)
{
    for (int k = 0; k < all->count; k++)
        if (strcmp(all->array[k].identifier, identifier) == 0) return k;
    return -1;
}

const struct compilation *emit_ordered_part(const struct emitted_file *e)
{
    for (const struct version *v = NULL; versions_next(&e->p->of[STEP_BACKWARD], &v);)
        if (emit_in_order(v->c->loops)) return v->c;
    return NULL;
}

/* Returns the graph of a part of backward, for the first target that has the part. Returns NULL if no target has it. */
static const struct graph *graph_of_part(const struct emitted_file *e, bool linear, int part)
{
    for (const struct version *v = NULL; versions_next(&e->p->of[STEP_BACKWARD], &v);)
        if (v->part == part && v->c->program.linear == linear && program_outputs_gradients(&v->c->program))
            return v->c->graph;
    return NULL;
}

static bool is_output(const struct graph *g, const char *name)
{
    for (int o = 0; g && o < g->outputs; o++)
        if (strcmp(g->output[o].name, name) == 0) return true;
    return false;
}

/* Returns whether a part of backward outputs an array `name`. */
static bool is_left(const struct emitted_file *e, bool linear, const char *name)
{
    bool left = false;
    for (int part = 0; part < e->p->parts; part++) left |= is_output(graph_of_part(e, linear, part), name);
    return left;
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

int emit_left_arrays(const struct emitted_file *e, bool linear, struct arena *arena, struct left_array **of)
{
    struct left_array *const left = arena_alloc(arena, (size_t)e->p->parts * MAX_OUTPUTS * sizeof *left);
    int count = 0;
    for (int part = 0; part < e->p->parts; part++) {
        const struct graph *const g = graph_of_part(e, linear, part);
        for (int v = 0; g && v < g->values; v++) {
            const struct value *value = &g->value[v];
            const bool in_order = value->sums && (axes_have(g->module, value->rank, value->axes, SIZE_N_Q) ||
                                                  name_is_sum_in_order(value->name));
            bool before = value->op != GRAPH_INPUT || in_order || !is_left(e, linear, value->name);
            for (int n = 0; n < count && !before; n++) before = strcmp(left[n].name, value->name) == 0;
            if (!before)
                left[count++] = (struct left_array){value->name, emit_identifier(arena, e->p->arrays, value->name), g,
                                                    v};
        }
    }
    *of = left;
    return count;
}

/* Returns whether value v is computed from value `of`. */
static bool needs(const struct graph *g, int v, int of, struct arena *arena)
{
    bool *const needed = arena_alloc(arena, (size_t)g->values * sizeof *needed);
    graph_mark(g, v, needed);
    return needed[of];
}

/* Marks the output `name` of a part, if it is an array of the kernel. */
static void want(const struct emitted_file *e, const struct table_arrays *all, const char *name, struct arena *arena,
                 bool *wanted)
{
    const int array = table_array_find(all, emit_identifier(arena, e->p->arrays, name));
    if (array >= 0) wanted[array] = true;
}

void emit_prefix_wanted(const struct emitted_file *e, const struct table_arrays *all, bool *wanted)
{
    for (const struct version *v = NULL; versions_next(&e->p->of[STEP_BACKWARD], &v);) {
        const struct graph *const g = v->c->graph;
        for (int o = 0; v->c->program.of_terms && o < g->outputs; o++)
            if (kernel_array_find(e->p->arrays, g->output[o].name) >= 0) /* others have sums of slices */
                want(e, all, g->output[o].name, g->module->arena, wanted);
    }
}

/* Marks the gradients that depend on the left array `name`, perhaps through other left arrays. */
static void want_needing(const struct emitted_file *e, bool linear, const char *name, const struct table_arrays *all,
                         struct arena *arena, bool *wanted)
{
    for (int part = 0; part < e->p->parts; part++) {
        const struct graph *const g = graph_of_part(e, linear, part);
        const int given = g ? graph_find(g, name) : -1;
        for (int o = 0; given >= 0 && o < g->outputs; o++) {
            const char *const made = g->output[o].name;
            if (!needs(g, g->output[o].value, given, arena)) continue;
            if (prefix_array_find(made) != PREFIX_ARRAYS) /* its array is placed after the left arrays */
                emit_prefix_wanted(e, all, wanted);
            else if (is_given(e, linear, made))
                want_needing(e, linear, made, all, arena, wanted);
            else
                want(e, all, made, arena, wanted);
        }
    }
}

void emit_left_wanted(const struct emitted_file *e, bool linear, const struct left_array *left,
                      const struct table_arrays *all, bool *wanted)
{
    want_needing(e, linear, left->name, all, left->g->module->arena, wanted);
}

const char *emit_left_whole(const struct emitted_file *e, const struct left_array *left, struct arena *arena)
{
    const struct value *const v = &left->g->value[left->v];
    int o = 0;
    if (!v->sums || !axes_have(left->g->module, v->rank, v->axes, SIZE_MEMBERS)) return NULL;
    while (!needs(left->g, left->g->output[o].value, left->v, arena)) o++;
    return emit_identifier(arena, e->p->arrays, left->g->output[o].name);
}
