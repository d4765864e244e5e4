/* Takes the triangular system of the delta rule out of the quadratic form. A separate program,
   PROGRAM_CORRECT_VALUES, solves the system for all keys, and stores the solution in the workspace
   (lower/substitute.c). All other programs read the solution from there in place of the values. In the linear form, the
   states sum the solution chunk by chunk, and the system stays (lower/solve.c). A tangent has a second system, which
   reads the solution of the first one. */
#include "pass.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"

void pass_correct_values(struct compilation *c)
{
    struct graph *const g = c->graph;
    int system = 0;
    if (program_is_differentiated(&c->program)) return;
    for (int v = 0; v < g->values; v++) {
        if (g->value[v].op != GRAPH_SOLVE || g->value[v].operands > SOLVE_FEATURES) continue;
        const char *const name = corrected_values[system];
        if (program_corrects_values(&c->program) && system == c->program.computed) {
            g->outputs = 0;
            graph_output(g, name, v);
            break;
        }
        struct value given = graph_value(GRAPH_INPUT, g->value[v].rank, g->value[v].axes);
        given.name = name;
        given.sums = true;
        g->value[v] = given;
        system++;
    }
    graph_sweep(g);
}
