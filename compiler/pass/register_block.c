/* Chooses how many results are in vector registers at a time: accumulators (rows times vectors) of a product, or
   vectors of a map. */
#include "pass.h"
#include "../schedule/schedule.h"

void pass_register_block(struct compilation *c)
{
    c->registers = schedule_block(c->target, c->schedule);
}

const char *knob_rows(const struct knob_case *x, struct tune_knob *knob)
{
    (void)x;
    return knob_set_values(knob, DEFAULT_ROWS, 3, (const int64_t[]){4, 8, 12});
}

const char *knob_vectors(const struct knob_case *x, struct tune_knob *knob)
{
    const int by_default = schedule_max_vectors(x->target, DEFAULT_ROWS);
    return knob_set_values(knob, by_default, 2, by_default > 2 ? (const int64_t[]){2, 3} : (const int64_t[]){1, 3});
}

const char *knob_unroll(const struct knob_case *x, struct tune_knob *knob)
{
    return knob_set_values(knob, schedule_max_vectors(x->target, DEFAULT_ROWS), 3, (const int64_t[]){1, 2, 4});
}
