/* The table of knobs, the description of a knob for a spec, and the check of `schedule:`. */
#include "driver.h"
#include "unit.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"

#include <string.h>

const struct knob_row knob_table[KNOBS] = {
#define KNOB(name, low, high, multiple, changes, of, says) \
    {#name, "backward." #name, says, low, high, multiple, KNOB_##changes, KNOB_OF_##of, knob_##name},
#include "../schedule/knobs.def"
#undef KNOB
};
_Static_assert((int)KNOBS <= (int)MAX_KNOBS, "a space holds every knob");

bool knob_about(const struct defaults *by_default, bool backward, const struct compilation *form, int64_t keys, int row,
                struct tune_knob *knob, const char **reason)
{
    const struct knob_row *r = &knob_table[row];
    const struct compilation *quadratic = by_default->quadratic, *linear = by_default->linear;
    if (backward) {
        quadratic = by_default->gradients[0];
        linear = by_default->gradients[1];
    }
    *knob = (struct tune_knob){.name = backward ? r->of_backward : r->name, .says = r->says};
    *reason = NULL;
    if (backward && !quadratic && !linear)
        *reason = "'emit' asks for no gradients";
    else if (backward && !(r->of & KNOB_OF_BACKWARD))
        *reason = "it is a knob of forward only: gradients use the form of forward, and distribute heads in their own "
                  "way";
    else if (!backward && !(r->of & KNOB_OF_FORWARD))
        *reason = "it is a knob of the gradients, under 'backward'";
    if (*reason) return false;
    if (!form) form = !quadratic || (linear && keys >= by_default->crossover) ? linear : quadratic;
    const struct knob_case x = {backward, by_default->target, quadratic, linear, form, keys, by_default->crossover};
    *reason = r->about(&x, knob);
    return !*reason;
}

const char *knob_domain(struct arena *arena, int row)
{
    const struct knob_row *r = &knob_table[row];
    const char *what = r->multiple > 1 ? arena_printf(arena, "a multiple of %lld from ", (long long)r->multiple) : "";
    return arena_printf(arena, "%s%lld to %lld", what, (long long)r->low, (long long)r->high);
}

const char *knob_of_backward(const char *name)
{
    static const char prefix[] = "backward.";
    return strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : NULL;
}

int knob_find_row(const char *name)
{
    const char *const own = knob_of_backward(name) ? knob_of_backward(name) : name;
    int row = 0;
    while (row < KNOBS && strcmp(knob_table[row].name, own) != 0) row++;
    return row;
}

/* Returns whether the knob has an effect on some target. If it has none, sets *reason. */
static bool applies(const struct unit *p, bool backward, int row, const char **reason)
{
    struct tune_knob knob;
    for (int u = p->default_count - 1; u >= 0; u--)
        if (knob_about(&p->defaults[u], backward, NULL, 0, row, &knob, reason)) return true;
    return false;
}

/* Reports a knob that is unknown, has no effect, or has an invalid value. If there are no gradients, it does not
   check whether knobs of backward have an effect. */
static void check_knob(const struct unit *p, bool backward, const struct knob *knob, struct diagnostics *d)
{
    const bool waits = backward && !(p->spec->emit & EMIT_BACKWARD);
    const struct position nowhere = {0, 0};
    const struct knob_row *r;
    int row = 0;
    while (row < KNOBS && strcmp(knob_table[row].name, knob->name) != 0) row++;
    r = &knob_table[row];
    const char *reason = NULL;
    if (row == KNOBS) {
        const char *words[KNOBS + 1] = {NULL};
        int count = 0;
        for (int k = 0; k < KNOBS; k++)
            if (applies(p, backward, k, &reason)) words[count++] = knob_table[k].name;
        const char *near = nearest_word(knob->name, words);
        diagnostics_error(d, knob->at, "unknown knob '%s' in schedule", knob->name);
        if (near)
            diagnostics_note(d, nowhere, "did you mean '%s'?", near);
        else
            diagnostics_note(d, nowhere, "'attnc explain' lists the knobs of a spec");
    } else if (!waits && !applies(p, backward, row, &reason))
        diagnostics_error(d, knob->at, "the knob '%s' has no effect on this spec: %s", knob->name, reason);
    else if (knob->value < r->low || knob->value > r->high || knob->value % r->multiple != 0)
        diagnostics_error(d, knob->value_at, "%s is %s%s", knob->name, r->multiple > 1 ? "" : "from ",
                          knob_domain(p->arena, row));
}

void knobs_check(const struct unit *p, struct diagnostics *d)
{
    for (int e = 0; e < p->spec->schedules; e++) {
        const struct schedule *entry = &p->spec->schedule[e], *backward = entry->backward;
        for (int k = 0; k < entry->knobs; k++) check_knob(p, false, &entry->knob[k], d);
        for (int k = 0; backward && k < backward->knobs; k++) check_knob(p, true, &backward->knob[k], d);
    }
}

int64_t knob_taken(const struct unit *p, const struct compilation *c, int row)
{
    const bool backward = program_is_backward(&c->program);
    struct tune_knob knob = {0};
    const char *reason;
    for (int u = 0; u < p->default_count; u++) {
        const struct defaults *d = &p->defaults[u];
        if (d->target != c->target) continue;
        const struct compilation *form = c->program.linear ? d->linear : d->quadratic;
        knob_about(d, backward, backward ? d->gradients[c->program.linear] : form, 0, row, &knob, &reason);
    }
    return schedule_knob(c, knob_table[row].name, knob.value[knob.default_at]);
}
