/* The values of knobs: those that a schedule sets, and those worth trying. */
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

void knob_set_values(struct tune_knob *knob, int64_t by_default, int count, const int64_t *value)
{
    knob->values = knob->default_at = 0;
    knob_add_value(knob, by_default);
    for (int k = 0; k < count; k++) knob_add_value(knob, value[k]);
}

int64_t schedule_knob(const struct compilation *c, const char *name, int64_t otherwise)
{
    for (int k = 0; c->schedule && k < c->schedule->knobs; k++)
        if (strcmp(c->schedule->knob[k].name, name) == 0) return c->schedule->knob[k].value;
    return otherwise;
}
