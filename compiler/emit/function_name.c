/* This file makes the names of the functions of a compilation, and the names and sizes of arrays and axes in C. */
#include "emit.h"
#include "printer.h"
#include "../schedule/schedule.h"

const char *emit_form(const struct compilation *c)
{
    struct arena *arena = c->graph->module->arena;
    const char *name = arena_printf(arena, "%s%s", c->program.linear ? "linear_" : "",
                                    c->program.of_terms ? "terms_" : ""),
               *const fixed = program_function(&c->program);
    if (fixed && c->program.rows)
        return arena_printf(arena, "%s_%s", fixed, emit_name(arena, c->spec->arrays.array[c->program.rows - 1].name));
    if (fixed && c->program.computed) return arena_printf(arena, "%s_%d", fixed, c->program.computed + 1);
    if (fixed) return fixed;
    if (program_adds_totals(&c->program)) return arena_printf(arena, "%stotals%d", name, c->program.group);
    bool sums = false, any = false;
    for (int o = 0; o < c->graph->outputs; o++) {
        const struct value *const v = &c->graph->value[c->graph->output[o].value];
        const bool of_units = axes_have(c->graph->module, v->rank, v->axes,
                                        SIZE_UNITS); /* a sum for each slice of rows */
        sums |= of_units;
        if (of_units) continue;
        name = arena_printf(arena, "%s%s%s", name, any ? "_" : "", emit_name(arena, c->graph->output[o].name));
        any = true;
    }
    return !sums ? name : arena_printf(arena, any ? "%s_sums%d" : "%ssums%d", name, c->program.group);
}

const char *emit_function(const struct compilation *c, const char *part)
{
    struct arena *arena = c->graph->module->arena;
    const char *from = c->schedule && c->schedule->from ? arena_printf(arena, "_from%lld", (long long)c->schedule->from)
                                                        : "";
    return arena_printf(arena, "%s_%s%s_%s", c->spec->name, part, from, emit_suffix(c));
}

const char *emit_suffix(const struct compilation *c)
{
    if (c->registers.rows == DEFAULT_ROWS && c->registers.vectors == schedule_max_vectors(c->target, DEFAULT_ROWS))
        return c->target->suffix;
    return arena_printf(c->graph->module->arena, "%s_%dx%d", c->target->suffix, c->registers.rows,
                        c->registers.vectors);
}

const char *emit_size(const struct module *m, int axis)
{
    const struct axis *a = &m->axis[axis];
    const long long block = (long long)a->extent;
    if (a->source == SIZE_QUERY_BLOCKS || a->source == SIZE_KEY_BLOCKS)
        return arena_printf(m->arena, "((%s + %lld) / %lld)",
                            size_name(a->source == SIZE_KEY_BLOCKS ? SIZE_N_K : SIZE_N_Q), block - 1, block);
    return axis_is_counted(a) ? arena_printf(m->arena, "%lld", (long long)a->extent) : size_name(a->source);
}

const char *emit_identifier(struct arena *arena, const struct kernel_arrays *arrays, const char *name)
{
    const int k = arrays ? kernel_array_find(arrays, name) : -1;
    return k >= 0 ? arrays->array[k].identifier : emit_name(arena, name);
}

const char *emit_name(struct arena *arena, const char *name)
{
    char *made = arena_copy(arena, name);
    for (char *c = made; *c; c++)
        if (*c == '.') *c = '_';
    return made;
}
