/* Reads the knobs of a schedule, collects values that `attnc tune` tries, and describes compilations in words. */
#include "schedule.h"
#include "../target/target.h"

#include <string.h>

int schedule_max_vectors(const struct target *t, int64_t rows)
{
    return (int)((t->registers - 1) / (rows + 1));
}

void knob_add_value(struct tune_knob *knob, int64_t value)
{
    int at = 0;
    while (at < knob->values && knob->value[at] < value) at++;
    if (knob->values == MAX_KNOB_VALUES || (at < knob->values && knob->value[at] == value)) return;
    memmove(knob->value + at + 1, knob->value + at, (size_t)(knob->values - at) * sizeof *knob->value);
    knob->value[at] = value;
    if (knob->values++ && at <= knob->default_at) knob->default_at++;
}

const char *knob_set_values(struct tune_knob *knob, int64_t by_default, int count, const int64_t *value)
{
    knob->values = knob->default_at = 0;
    knob_add_value(knob, by_default);
    for (int k = 0; k < count; k++) knob_add_value(knob, value[k]);
    return NULL;
}

static int64_t value_set(const struct schedule *s, const char *name, int64_t otherwise)
{
    for (int k = 0; s && k < s->knobs; k++)
        if (strcmp(s->knob[k].name, name) == 0) return s->knob[k].value;
    return otherwise;
}

int64_t schedule_knob(const struct compilation *c, const char *name, int64_t otherwise)
{
    return value_set(c->schedule, name, otherwise);
}

struct register_block schedule_block(const struct target *t, const struct schedule *s)
{
    int64_t rows = value_set(s, "rows", DEFAULT_ROWS);
    if (rows > t->registers - 2) rows = t->registers - 2;
    const int max = schedule_max_vectors(t, rows);
    const int64_t vectors = value_set(s, "vectors", max);
    const int64_t unroll = value_set(s, "unroll", schedule_max_vectors(t, DEFAULT_ROWS));
    return (struct register_block){(int)rows, vectors < max ? (int)vectors : max, (int)unroll};
}

const char *compilation_products(const struct compilation *c)
{
    return loops_on_matrix_units(c->loops) ? " on matrix units"
           : loops_paired(c->loops)        ? " with products of bf16"
                                           : "";
}

int64_t queries_together(const struct compilation *c)
{
    for (const struct stmt *s = c->loops ? c->loops->body : NULL; s; s = s->body)
        if (s->block) return s->step;
    return c->tiling.tile_q;
}

const char *compilation_tiles(struct arena *arena, const struct compilation *c)
{
    const int64_t together = queries_together(c);
    return arena_printf(
        arena, "%lld queries and %lld keys%s", (long long)c->tiling.tile_q, (long long)c->tiling.tile_k,
        together == c->tiling.tile_q ? "" : arena_printf(arena, ", in blocks of %lld queries", (long long)together));
}

const char *compilation_form(const struct compilation *c)
{
    return c->program.linear ? "linear" : c->program.few ? "few" : c->program.by_heads ? "heads" : "quadratic";
}

bool heads_are_many(const struct problem_size *size)
{
    return size->members >= MANY_HEADS && size->n_q <= MAX_FEW_QUERIES;
}

bool queries_are_few(const struct problem_size *size)
{
    return size->n_q <= MAX_FEW_QUERIES && size->members * size->n_q <= MAX_FEW_ROWS;
}
