/* How much of a computation is in registers at a time: the block of sums of a product, and the vectors of a map. */
#include "pass.h"
#include "../schedule/schedule.h"

void pass_block(struct compilation *c)
{
    const struct register_block block = schedule_block(c->target, c->schedule);
    c->rows = block.rows;
    c->vectors = block.vectors;
    c->unroll = (int)schedule_knob(c, "unroll", schedule_max_vectors(c->target, DEFAULT_ROWS));
}

const char *knob_rows(const struct knob_case *x, struct tune_knob *knob)
{
    (void)x;
    knob_set_values(knob, DEFAULT_ROWS, 3, (const int64_t[]){4, 8, 12});
    return NULL;
}

const char *knob_vectors(const struct knob_case *x, struct tune_knob *knob)
{
    const int by_default = schedule_max_vectors(x->target, DEFAULT_ROWS);
    knob_set_values(knob, by_default, 2, by_default > 2 ? (const int64_t[]){2, 3} : (const int64_t[]){1, 3});
    return NULL;
}

const char *knob_unroll(const struct knob_case *x, struct tune_knob *knob)
{
    knob_set_values(knob, schedule_max_vectors(x->target, DEFAULT_ROWS), 3, (const int64_t[]){1, 2, 4});
    return NULL;
}
