/* Predicts the time of a schedule with the cost model. A search uses the prediction to decide which candidates to
   measure first. */
#include "run.h"
#include "../host/host.h"

#include <math.h>

static const double MOVE = 3; /* FLOPs that a core could do while one element is loaded from the second-level cache */
static const double BROADCAST = 0.15; /* the cost of a broadcast load, relative to a multiply-add */
static const double OUTSIDE = 0.25;   /* penalty for tiles that exceed the second-level cache. Example: tiles of 3
                                         times its size cost 2 * OUTSIDE = 50% more */

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
    const struct problem_size size = {shape->batch, shape->kv_heads, shape->heads / shape->kv_heads, shape->length,
                                      shape->length};
    const struct call_parts run = shape->backward ? unit_gradients(p, t, shape->length, true)
                                                  : unit_forward(p, t, &size, false);
    if (!run.parts) return INFINITY;
    struct counts counts;
    struct roofline roofline;
    count_parts(&run, &size, document, shape->threads, machine_cache(), &counts, &roofline);
    double D = (double)p->spec->head_dim, E = (double)p->spec->value_dim, bytes = 0, q = INFINITY;
    for (int k = 0; k < run.parts; k++) {
        bytes = fmax(bytes, (double)loops_bytes(run.part[k]->loops));
        q = fmin(q, (double)queries_together(run.part[k]));
    }
    /* - The E accumulators of a query are loaded and stored once per tile of keys.
       - The D + E elements of a key and its value are loaded once per q queries. */
    double moved = (counts.tiles * 2 * E + counts.visited * (D + E) / q) * MOVE;
    double over = bytes / (double)t->l2_bytes;
    roofline.work = (roofline.work + moved) * (1 + OUTSIDE * fmax(0, over - 1));
    const struct rates rates = nominal_rates(t, p->spec->dtype);
    return roofline_seconds(&roofline, &rates, NULL);
}
