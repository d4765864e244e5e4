/* The space of schedules of one spec, and its points. */
#include "run.h"
#include "tuned_text.h"

#include <jansson.h>
#include <string.h>

void shape_text(const struct tune_shape *s, struct text *out)
{
    text_add(out, "n=%lld heads=%lld", (long long)s->length, (long long)s->heads);
    if (s->kv_heads != s->heads || s->key_heads) text_add(out, "/%lld", (long long)s->kv_heads);
    if (s->key_heads) text_add(out, "/%lld", (long long)s->key_heads);
    if (s->batch != 1) text_add(out, " batch=%lld", (long long)s->batch);
    text_add(out, " threads=%d%s", s->threads, s->backward ? " backward" : "");
}

/* ---- making the space ---- */

void knob_space(const struct unit *p, bool backward, int64_t keys, struct tune_space *space)
{
    const char *reason;
    space->knobs = 0;
    for (int k = 0; k < KNOBS; k++)
        if (knob_about(unit_defaults(p), backward, NULL, keys, k, &space->knob[space->knobs], &reason)) space->knobs++;
}

int64_t space_points(const struct tune_space *s)
{
    int64_t points = 1;
    for (int k = 0; k < s->knobs; k++) {
        if (points > INT64_MAX / s->knob[k].values) return INT64_MAX;
        points *= s->knob[k].values;
    }
    return points;
}

int64_t point_number(const struct tune_space *s, const struct tune_point *p)
{
    int64_t number = 0;
    for (int k = 0; k < s->knobs; k++) number = number * s->knob[k].values + p->at[k];
    return number;
}

struct tune_point point_of(const struct tune_space *s, int64_t number)
{
    struct tune_point p = {{0}};
    for (int k = s->knobs - 1; k >= 0; k--) {
        p.at[k] = (int)(number % s->knob[k].values);
        number /= s->knob[k].values;
    }
    return p;
}

struct tune_point point_default(const struct tune_space *s)
{
    struct tune_point p = {{0}};
    for (int k = 0; k < s->knobs; k++) p.at[k] = s->knob[k].default_at;
    return p;
}

void point_text(const struct tune_space *s, const struct tune_point *p, struct text *out)
{
    for (int k = 0; k < s->knobs; k++)
        text_add(out, "%s%s=%lld", k ? " " : "", s->knob[k].name, (long long)s->knob[k].value[p->at[k]]);
}

json_t *space_json(const struct tune_space *s)
{
    json_t *list = json_array();
    for (int k = 0; k < s->knobs; k++) {
        const struct tune_knob *knob = &s->knob[k];
        json_t *values = json_array();
        for (int v = 0; v < knob->values; v++) json_array_append_new(values, json_integer(knob->value[v]));
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:i, s:o}", "name", knob->name, "says",
                                        knob->says ? knob->says : "", "usual", knob->default_at, "values", values));
    }
    return list;
}

/* Returns the knob with this name. Returns NULL if there is none, if it does not accept the value, or if it has no
   room for one more value. */
static struct tune_knob *knob_taking(struct tune_space *s, const char *name, int64_t value)
{
    const int row = knob_find_row(name);
    if (row == KNOBS || value < knob_table[row].low || value > knob_table[row].high ||
        value % knob_table[row].multiple != 0)
        return NULL;
    for (int k = 0; k < s->knobs; k++)
        if (strcmp(s->knob[k].name, name) == 0 && s->knob[k].values < MAX_KNOB_VALUES) return &s->knob[k];
    return NULL;
}

bool tuned_point(struct tune_space *s, bool backward, const struct tuned_entry *all, struct tune_point *p)
{
    struct tuned_entry own = *all, *const e = &own;
    for (int j = e->knobs = 0; j < all->knobs; j++)
        if ((knob_of_backward(all->knob[j].name) != NULL) == backward) e->knob[e->knobs++] = all->knob[j];
    for (int j = 0; j < e->knobs; j++)
        if (!knob_taking(s, e->knob[j].name, e->knob[j].value)) return false;
    for (int j = 0; j < e->knobs; j++)
        knob_add_value(knob_taking(s, e->knob[j].name, e->knob[j].value), e->knob[j].value);
    *p = point_default(s);
    for (int j = 0; j < e->knobs; j++)
        for (int k = 0; k < s->knobs; k++)
            for (int v = 0; v < s->knob[k].values && strcmp(s->knob[k].name, e->knob[j].name) == 0; v++)
                if (s->knob[k].value[v] == e->knob[j].value) p->at[k] = v;
    return true;
}
