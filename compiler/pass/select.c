/* Takes the lists of the best keys out of the program. A separate program, PROGRAM_SELECT, computes a list for each row
   in a sweep over all keys, and stores the lists in the workspace. All other programs read them from there, as they
   read lists of blocks of the caller. So no gradient passes through the choice of keys. */
#include "pass.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"

void pass_select(struct compilation *c)
{
    struct graph *const g = c->graph;
    int list = 0;
    for (int v = 0; v < g->values; v++) {
        if (g->value[v].op != GRAPH_SELECT) continue;
        if (program_selects(&c->program) && list++ == c->program.computed) {
            g->outputs = 0;
            graph_output(g, g->value[v].name, v);
            continue;
        }
        struct value given = graph_value(GRAPH_PARAM, g->value[v].rank, g->value[v].axes);
        given.name = g->value[v].name;
        given.integers = true;
        given.origin = ORIGIN_COMPUTED;
        g->value[v] = given;
    }
    graph_sweep(g);
}
