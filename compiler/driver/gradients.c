/* Answers queries about gradients: the parts for a number of keys, and one graph of all gradients. */
#include "driver.h"
#include "../cost/cost.h"
#include "../pass/pass.h"
#include "../schedule/schedule.h"

#include <string.h>

/* A hook for passes_run. It returns false after the last pass on graphs, which stops the passes. */
static bool while_graph(const struct compilation *c, const struct pass *pass, void *user)
{
    (void)c;
    (void)user;
    return pass->cleanup || pass[1].level == PASS_GRAPH;
}

const struct graph *unit_derivative(const struct unit *p)
{
    static const char *const names[] = {"simplify", "differentiate", "simplify"};
    const struct compilation like = {.target = p->kernel.compilation[0]->target,
                                     .diagnostics = p->kernel.compilation[0]->diagnostics,
                                     .program = {.kind = PROGRAM_UNSAVED}};
    struct compilation *const c = unit_recompile(p, &like);
    for (size_t n = 0; c->graph && n < sizeof names / sizeof *names; n++)
        for (int k = 0; k < pass_count; k++)
            if (strcmp(passes[k].name, names[n]) == 0) passes[k].run(c);
    return c->graph;
}

/* Returns a compilation with all gradients in one graph, after the passes on graphs. Its target, schedule and form
   are those of `part`. */
static const struct compilation *whole_of(const struct unit *p, const struct compilation *part)
{
    struct compilation like = *part, *c;
    like.program.kind = PROGRAM_GRADIENTS;
    like.program.group = 0;
    c = unit_recompile(p, &like);
    if (c->graph) passes_run(c, while_graph, NULL);
    return c;
}

struct call_parts unit_gradients(const struct unit *p, const struct target *t, int64_t keys, bool kept)
{
    const struct compilation *forward = unit_choice(p, t, keys), *chosen[MAX_PARTS] = {NULL};
    const struct compilation **part = arena_alloc(p->arena, (MAX_LISTS + MAX_PARTS) * sizeof *part);
    struct call_parts made = {.part = part};
    const bool rows = kept && forward && program_saves_rows(&forward->program);
    const struct versions *const backward = &p->kernel.of[STEP_BACKWARD];
    for (int k = 0; k < backward->count; k++) {
        const struct version *const v = &backward->version[k];
        if (v->target == t && v->from <= keys) chosen[v->part] = v->c; /* NULL: a version for more keys is idle */
    }
    if (backward->count) unit_add_lists(p, t, false, &made, part);
    for (int n = 0; n < p->kernel.parts; n++)
        if (chosen[n] && !(program_recomputes_saved(&chosen[n]->program) && rows) &&
            !(kept && emission_computes_solution(&p->kernel, chosen[n])))
            part[made.parts++] = chosen[n];
    int last = made.parts - 1;
    while (last > 0 && part[last]->program.of_terms) last--;
    if (made.parts) made.whole = whole_of(p, part[last]);
    return made;
}

size_t unit_saved_bytes(const struct unit *p, const struct target *t, int64_t keys)
{
    const struct compilation *forward = unit_choice(p, t, keys);
    if (forward && forward->program.saves_solution)
        return (size_t)p->spec->value_dim * (size_t)dtype_bytes(dtype_of_sums(p->spec->dtype));
    if (!forward || !program_saves_rows(&forward->program)) return 0;
    return (size_t)(forward->graph->outputs - forward->gradients.results) *
           (size_t)dtype_bytes(dtype_of_sums(p->spec->dtype));
}

const char *unit_part_name(const struct unit *p, const struct compilation *part)
{
    const struct graph *g = part->graph;
    const char *name = "", *const says = program_table[part->program.kind].says;
    if (*says) return says;
    if (emission_computes_solution(&p->kernel, part)) return program_table[PROGRAM_SAVED_ROWS].says;
    for (int o = 0; o < g->outputs; o++) /* skips outputs that later parts read */
        if (g->output[o].name[0] == 'd')
            name = arena_printf(p->arena, "%s%s%s", name, *name ? ", " : "", g->output[o].name);
    return *name ? name : "sums for other parts";
}
