/* The space of schedules: the rows of schedule/knobs.def with what their owners say of them for a spec, the check of
   what `schedule:` sets, and points of the space. */
#include "driver.h"
#include "unit.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"

#include <string.h>

const struct knob_row knob_table[KNOBS] = {
#define KNOB(name, low, high, multiple, changes, says) {#name, says, low, high, multiple, KNOB_##changes, knob_##name},
#include "../schedule/knobs.def"
#undef KNOB
};
_Static_assert((int)KNOBS <= (int)MAX_KNOBS, "a space holds every knob");

bool knob_about(const struct defaults *by_default, const struct compilation *form, int64_t keys, int row,
                struct tune_knob *knob, const char **reason)
{
    if (!form)
        form = !by_default->quadratic || (by_default->linear && keys >= by_default->crossover) ? by_default->linear
                                                                                               : by_default->quadratic;
    const struct knob_case x = {by_default->target,   by_default->quadratic, by_default->linear, form, keys,
                                by_default->crossover};
    *knob = (struct tune_knob){.name = knob_table[row].name, .says = knob_table[row].says};
    *reason = knob_table[row].about(&x, knob);
    return !*reason;
}

const char *knob_domain(struct arena *arena, int row)
{
    const struct knob_row *r = &knob_table[row];
    const char *what = r->multiple > 1 ? arena_printf(arena, "a multiple of %lld from ", (long long)r->multiple) : "";
    return arena_printf(arena, "%s%lld to %lld", what, (long long)r->low, (long long)r->high);
}

int knob_find_row(const char *name)
{
    int row = 0;
    while (row < KNOBS && strcmp(knob_table[row].name, name) != 0) row++;
    return row;
}

/* Whether a knob does something on any target. */
static bool applies(const struct unit *p, int row, const char **reason)
{
    struct tune_knob knob;
    for (int u = p->default_count - 1; u >= 0; u--)
        if (knob_about(&p->defaults[u], NULL, 0, row, &knob, reason)) return true;
    return false;
}

static void check_knob(const struct unit *p, const struct knob *knob, struct diagnostics *d)
{
    const struct position nowhere = {0, 0};
    const int row = knob_find_row(knob->name);
    const char *reason = NULL;
    if (row == KNOBS) {
        const char *words[KNOBS + 1] = {NULL};
        int count = 0;
        for (int k = 0; k < KNOBS; k++)
            if (applies(p, k, &reason)) words[count++] = knob_table[k].name;
        const char *near = nearest_word(knob->name, words);
        diagnostics_error(d, knob->at, "unknown knob '%s' in schedule", knob->name);
        if (near)
            diagnostics_note(d, nowhere, "did you mean '%s'?", near);
        else
            diagnostics_note(d, nowhere, "'attnc explain' lists the knobs of a spec");
    } else if (!applies(p, row, &reason))
        diagnostics_error(d, knob->at, "the knob '%s' does nothing for this spec: %s", knob->name, reason);
    else if (knob->value < knob_table[row].low || knob->value > knob_table[row].high ||
             knob->value % knob_table[row].multiple != 0)
        diagnostics_error(d, knob->value_at, "%s is %s%s", knob->name, knob_table[row].multiple > 1 ? "" : "from ",
                          knob_domain(p->arena, row));
}

void knobs_check(const struct unit *p, struct diagnostics *d)
{
    for (int e = 0; e < p->spec->schedules; e++)
        for (int k = 0; k < p->spec->schedule[e].knobs; k++) check_knob(p, &p->spec->schedule[e].knob[k], d);
}

int64_t knob_taken(const struct unit *p, const struct compilation *c, int row)
{
    struct tune_knob knob = {0};
    const char *reason;
    for (int u = 0; u < p->default_count; u++)
        if (p->defaults[u].target == c->target)
            knob_about(&p->defaults[u], c->linear ? p->defaults[u].linear : p->defaults[u].quadratic, 0, row, &knob,
                       &reason);
    return schedule_knob(c, knob_table[row].name, knob.value[knob.default_at]);
}
