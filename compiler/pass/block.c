/* How much of a computation is in registers at a time: the block of sums of a product, and the vectors of a map. */
#include "../knobs.h"

enum { USUAL_ROWS = 6 };

/* A block keeps its sums, a vector of each column and one number in registers. */
static int most_vectors(const struct target *t, int64_t rows)
{
    return (int)((t->registers - 1) / (rows + 1));
}

void pass_block(struct compilation *c)
{
    int64_t rows = schedule_knob(c, "rows", USUAL_ROWS);
    if (rows > c->target->registers - 2) rows = c->target->registers - 2;
    const int most = most_vectors(c->target, rows);
    const int64_t vectors = schedule_knob(c, "vectors", most);
    c->rows = (int)rows;
    c->vectors = vectors < most ? (int)vectors : most;
    c->unroll = (int)schedule_knob(c, "unroll", most_vectors(c->target, USUAL_ROWS));
}

const char *emit_suffix(const struct compilation *c)
{
    if (c->rows == USUAL_ROWS && c->vectors == most_vectors(c->target, USUAL_ROWS)) return c->target->suffix;
    return arena_printf(c->graph->module->arena, "%s_%dx%d", c->target->suffix, c->rows, c->vectors);
}

const char *knob_rows(const struct knob_case *x, struct tune_knob *knob)
{
    (void)x;
    knob_values(knob, USUAL_ROWS, 3, (const int64_t[]){4, 8, 12});
    return NULL;
}

const char *knob_vectors(const struct knob_case *x, struct tune_knob *knob)
{
    const int usual = most_vectors(x->target, USUAL_ROWS);
    knob_values(knob, usual, 2, usual > 2 ? (const int64_t[]){2, 3} : (const int64_t[]){1, 3});
    return NULL;
}

const char *knob_unroll(const struct knob_case *x, struct tune_knob *knob)
{
    knob_values(knob, most_vectors(x->target, USUAL_ROWS), 3, (const int64_t[]){1, 2, 4});
    return NULL;
}

const char *knob_together(const struct knob_case *x, struct tune_knob *knob)
{
    if (!(x->linear && emit_in_phases(x->linear->loops)) && !(x->quadratic && emit_in_phases(x->quadratic->loops)))
        return "it has no form in which threads share a head";
    knob_values(knob, 1, 2, (const int64_t[]){0, 2});
    return NULL;
}
