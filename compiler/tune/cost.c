/* What the cost model expects of a schedule: the work of its form, and what tiles add to it. It ranks candidates;
   measurement decides. */
#include "result.h"
#include "space.h"
#include "../cost/cost.h"
#include "../driver/driver.h"
#include "../host/host.h"
#include "../schedule/schedule.h"
#include "../target/target.h"

#include <math.h>

static const double MOVE = 3; /* FLOPs that a core could do while an element comes from the second-level cache */
static const double BROADCAST = 0.15; /* of a multiply-add: what a load beside it costs */
static const double OUTSIDE = 0.25;   /* more work for every time that the tiles exceed that cache */

double point_loads(const struct target *t, const struct tune_space *s, const struct tune_point *p)
{
    struct knob knob[MAX_KNOBS];
    for (int k = 0; k < s->knobs; k++)
        knob[k] = (struct knob){.name = s->knob[k].name, .value = s->knob[k].value[p->at[k]]};
    const struct register_block block = schedule_block(t, &(struct schedule){.knob = knob, .knobs = s->knobs});
    return 1 + BROADCAST * (double)(block.rows + block.vectors) * 4 / (double)(block.rows * block.vectors);
}

double schedule_cycles(const struct unit *p, const struct target *t, const struct tune_shape *shape, int64_t document)
{
    const struct compilation *forward = unit_choice(p, t, shape->length);
    if (!forward) return INFINITY;
    const struct program program = shape->backward ? unit_gradients(p, t, shape->length, true)
                                                   : (struct program){forward, &forward, 1};
    if (!program.parts) return INFINITY;
    const struct problem_size size = {shape->batch, shape->kv_heads, shape->heads / shape->kv_heads, shape->length,
                                      shape->length};
    struct counts counts;
    struct roofline roofline;
    count_parts(&program, &size, document, shape->threads, machine_cache(), &counts, &roofline);
    double D = (double)p->spec->head_dim, E = (double)p->spec->value_dim, bytes = 0, q = INFINITY;
    for (int k = 0; k < program.parts; k++) {
        bytes = fmax(bytes, (double)loops_bytes(program.part[k]->loops));
        q = fmin(q, (double)queries_together(program.part[k]));
    }
    /* sums come and go once for every tile of keys, keys once for every tile of queries */
    double moved = (counts.tiles * 2 * E + counts.visited * (D + E) / q) * MOVE;
    double over = bytes / (double)t->l2_bytes;
    roofline.work = (roofline.work + moved) * (1 + OUTSIDE * fmax(0, over - 1));
    const struct rates rates = nominal_rates(t, p->spec->dtype);
    return roofline_seconds(&roofline, &rates, NULL);
}
