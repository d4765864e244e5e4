/* The roofline model (Williams, Waterman and Patterson, 2009). A call takes the longer of two times: its work at
   peak speed, and its bytes at full bandwidth. An exponential that takes the time of 20 FLOPs counts as 20 FLOPs. */
#include "cost.h"
#include "constants.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../target/target.h"

const char *parts_unit(const struct call_parts *p, bool *on_units)
{
    const struct target *t = p->part[0]->target;
    bool paired = false;
    *on_units = false;
    for (int k = 0; k < p->parts; k++) {
        *on_units |= loops_on_matrix_units(p->part[k]->loops);
        paired |= loops_paired(p->part[k]->loops);
    }
    return *on_units ? target_unit(t, TARGET_MATRIX_UNITS) : paired ? target_unit(t, TARGET_BF16_PRODUCTS) : t->vectors;
}

struct roofline roofline_of(const struct compilation *c, const struct problem_size *size, const struct counts *counts,
                            int threads, int64_t cache)
{
    /* a thread processes whole tiles of queries, so some threads are idle if there are fewer tiles than threads */
    struct roles roles;
    const struct value *result = &c->graph->value[c->graph->output[0].value];
    int64_t tiles = 1, sharing = queries_together(c);
    roles_of(c->graph, 0, &roles);
    for (int k = 0; k < result->rank; k++) {
        const int axis = result->axes[k];
        const int64_t extent = axis_extent(c->graph->module, axis, size);
        if (c->graph->module->axis[axis].source == SIZE_CONSTANT) continue;
        tiles *= axis == roles.lane ? (extent + sharing - 1) / sharing : extent;
    }
    double busy = !c->program.linear && tiles > 0 && tiles < threads ? (double)tiles / threads : 1;
    /* counts->work contains the products on matrix units as vector FLOPs. Subtract them. */
    const double units = counts->units;
    const struct rates table = nominal_rates(c->target, c->spec->dtype);
    const double work = units > 0 ? counts->work - units * table.peak / table.units : counts->work;
    return (struct roofline){.work = work / (PRODUCT_SHARE * busy),
                             .unit_work = units / (PRODUCT_SHARE * busy),
                             .bytes = counts->once <= (double)cache ? 0 : counts->bytes};
}

double roofline_seconds(const struct roofline *r, const struct rates *rates, bool *memory)
{
    double of_work = r->work / rates->peak, of_bytes = r->bytes / rates->bandwidth;
    if (r->unit_work > 0) of_work += r->unit_work / rates->units;
    if (memory) *memory = of_bytes > of_work;
    return of_bytes > of_work ? of_bytes : of_work;
}
