/* The roofline (Williams, Waterman and Patterson, 2009): a call takes as long as its work at the peak, or as its bytes
   at the bandwidth, whichever is longer. Work is that of the cost model, so that an exponential counts as much as it
   takes. */
#include "cost.h"
#include "constants.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"
#include "../target/target.h"

double nominal_peak(const struct target *t, enum dtype dtype)
{
    return NOMINAL_VECTOR_UNITS * PRODUCT_COST * (double)t->vector_bytes / dtype_bytes(dtype_of_sums(dtype));
}

double nominal_bandwidth(void)
{
    return NOMINAL_BANDWIDTH;
}

struct roofline roofline_of(const struct compilation *c, const struct problem_size *size, const struct counts *counts,
                            int threads, int64_t cache)
{
    /* without a state to share, a thread has whole tiles of the lanes: where they are few, some threads have none */
    struct roles roles;
    const struct value *result = &c->graph->value[c->graph->output[0].value];
    int64_t tiles = 1;
    roles_of(c->graph, 0, &roles);
    for (int k = 0; k < result->rank; k++) {
        const int axis = result->axes[k];
        const int64_t extent = axis_extent(c->graph->module, axis, size);
        if (c->graph->module->axis[axis].source == SIZE_CONSTANT) continue;
        tiles *= axis == roles.lane ? (extent + c->tile_q - 1) / c->tile_q : extent;
    }
    double busy = !c->linear && tiles > 0 && tiles < threads ? (double)tiles / threads : 1;
    return (struct roofline){.work = counts->work / (PRODUCT_SHARE * busy),
                             .bytes = counts->once <= (double)cache ? 0 : counts->bytes};
}

double roofline_seconds(const struct roofline *r, double peak, double bandwidth, bool *memory)
{
    double of_work = r->work / peak, of_bytes = r->bytes / bandwidth;
    if (memory) *memory = of_bytes > of_work;
    return of_bytes > of_work ? of_bytes : of_work;
}
