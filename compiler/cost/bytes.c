/* Counts the bytes that a call moves between memory and the processor. */
#include "count.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"

#include <string.h>

/* Returns the number of points along the run-time axes among `axes`. */
static double points_of(const struct module *m, const struct problem_size *size, int rank, const int *axes)
{
    double count = 1;
    for (int k = 0; k < rank; k++)
        if (m->axis[axes[k]].source != SIZE_CONSTANT) count *= (double)axis_extent(m, axes[k], size);
    return count;
}

static bool array_has(const struct array *a, int axis)
{
    for (int k = 0; k < a->rank; k++)
        if (a->axes[k] == axis) return true;
    return false;
}

/* Whether array n is an array of the caller that was not counted yet. */
static bool is_moved(const struct loops *l, int n)
{
    const struct array *a = &l->array[n];
    if ((a->kind != ARRAY_INPUT && a->kind != ARRAY_OUTPUT && a->kind != ARRAY_PARAM) || a->within.of) return false;
    for (int k = 0; k < n; k++)
        if (l->array[k].kind == a->kind && strcmp(l->array[k].name, a->name) == 0) return false;
    return true;
}

/* Returns the bytes of an array for each point of its run-time axes. */
static double bytes_a_point(const struct module *m, const struct array *a)
{
    double bytes = dtype_bytes(a->dtype);
    if (dtype_is_packed(a->dtype)) return (double)dtype_row_bytes(a->dtype, m->axis[a->axes[a->rank - 1]].extent);
    for (int k = 0; k < a->rank; k++)
        if (m->axis[a->axes[k]].source == SIZE_CONSTANT) bytes *= (double)m->axis[a->axes[k]].extent;
    return bytes;
}

double bytes_moved(const struct compilation *c, const struct problem_size *size, double visited, int64_t cache)
{
    const struct loops *l = c->loops;
    const struct module *m = c->graph->module;
    const struct value *result = &c->graph->value[c->graph->output[0].value];
    const double lanes = points_of(m, size, result->rank, result->axes),
                 own = loops_gather(l) ? visited / (double)size->members : visited, /* heads share gathered rows */
        streamed = own < visited ? own : visited / (double)queries_together(c);
    double row = 0, bytes = 0;
    struct roles roles;
    roles_of(c->graph, 0, &roles);
    for (int n = 0; n < l->arrays; n++)
        if (is_moved(l, n) && l->array[n].kind == ARRAY_INPUT && array_has(&l->array[n], roles.stream))
            row += bytes_a_point(m, &l->array[n]);
    const bool again = lanes > 0 && visited / lanes * row > (double)cache;
    for (int n = 0; n < l->arrays; n++) {
        const struct array *a = &l->array[n];
        if (!is_moved(l, n)) continue;
        const bool stream = array_has(a, roles.stream);
        double points = points_of(m, size, a->rank, a->axes);
        if (stream && array_has(a, roles.lane))
            points = visited;
        else if (stream && a->kind == ARRAY_INPUT && again && streamed > points)
            points = streamed;
        else if (stream && !c->program.linear && own < points) /* with few queries, the loops can skip some keys */
            points = own;
        bytes += points * bytes_a_point(m, a);
    }
    return bytes;
}
