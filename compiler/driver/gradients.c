/* What a unit has of gradients: the parts that run for a number of keys, and all of them as one graph. */
#include "driver.h"
#include "../cost/cost.h"
#include "../pass/pass.h"
#include "../schedule/schedule.h"

/* The last pass on graphs is the last one that is needed. */
static bool while_graph(const struct compilation *c, const struct pass *pass, void *user)
{
    (void)c;
    (void)user;
    return pass->cleanup || pass[1].level == PASS_GRAPH;
}

/* All gradients in one graph, where parts compute for themselves what they share. */
static const struct compilation *whole_of(const struct unit *p, const struct compilation *part)
{
    struct compilation like = *part, *c;
    like.program = PROGRAM_GRADIENTS;
    like.group = 0;
    c = unit_recompile(p, &like);
    if (c->graph) passes_run(c, while_graph, NULL);
    return c;
}

struct program unit_gradients(const struct unit *p, const struct target *t, int64_t keys, bool kept)
{
    const struct compilation *forward = unit_choice(p, t, keys), *chosen[MAX_PARTS] = {NULL};
    const struct compilation **part = arena_alloc(p->arena, MAX_PARTS * sizeof *part);
    struct program made = {.part = part};
    kept &= forward && forward->program == PROGRAM_SAVING;
    for (int k = 0; k < p->backwards; k++)
        if (p->backward[k].target == t && p->backward[k].from <= keys) chosen[p->backward[k].part] = p->backward[k].c;
    for (int n = 0; n < p->parts; n++)
        if (chosen[n] && !(chosen[n]->program == PROGRAM_SAVED && kept)) part[made.parts++] = chosen[n];
    if (made.parts) made.whole = whole_of(p, part[made.parts - 1]);
    return made;
}

size_t unit_saved_bytes(const struct unit *p, const struct target *t, int64_t keys)
{
    const struct compilation *forward = unit_choice(p, t, keys);
    if (!forward || forward->program != PROGRAM_SAVING) return 0;
    return (size_t)(forward->graph->outputs - 1) * (size_t)dtype_bytes(dtype_of_sums(p->spec->dtype));
}

const char *unit_part_name(const struct unit *p, const struct compilation *part)
{
    const struct graph *g = part->graph;
    const char *name = "";
    if (part->program == PROGRAM_SAVED) return "what is saved";
    if (part->program == PROGRAM_ROW_SUMS) return "sums of rows";
    for (int o = 0; o < g->outputs; o++) /* beside gradients it may leave sums to other parts */
        if (g->output[o].name[0] == 'd')
            name = arena_printf(p->arena, "%s%s%s", name, *name ? ", " : "", g->output[o].name);
    return *name ? name : "sums for other parts";
}
