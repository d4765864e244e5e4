/* Takes the triangular system of the delta rule out of the quadratic form. A separate program,
   PROGRAM_CORRECT_VALUES, solves the system for all keys, and stores the solution in the workspace
   (lower/substitute.c). All other programs read the solution from there in place of the values. In the linear form, the
   states sum the solution chunk by chunk, and the system stays (lower/solve.c). */
#include "pass.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"

void pass_correct_values(struct compilation *c)
{
    struct graph *const g = c->graph;
    const int solve = graph_find_solve(g);
    if (solve < 0 || g->value[solve].operands > SOLVE_FEATURES || program_is_differentiated(&c->program)) return;
    if (program_corrects_values(&c->program)) {
        g->outputs = 0;
        graph_output(g, corrected_values, solve);
    } else {
        struct value given = graph_value(GRAPH_INPUT, g->value[solve].rank, g->value[solve].axes);
        given.name = corrected_values;
        given.sums = true;
        g->value[solve] = given;
    }
    graph_sweep(g);
}
