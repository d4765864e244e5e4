/* The space of schedules: the rows of knobs.def with what their owners say of them for a spec, the check of what `schedule:` sets, and points of the space. */
#include "../knobs.h"

#include <string.h>

const struct knob_row knob_table[KNOBS] = {
#define KNOB(name, low, high, multiple, says) {#name, says, low, high, multiple, knob_##name},
#include "../knobs.def"
#undef KNOB
};
_Static_assert((int)KNOBS <= (int)MOST_KNOBS, "a space holds every knob");

void knob_value(struct tune_knob *knob, int64_t value)
{
    int at = 0;
    while (at < knob->values && knob->value[at] < value) at++;
    if (knob->values == MOST_VALUES || (at < knob->values && knob->value[at] == value)) return;
    memmove(knob->value + at + 1, knob->value + at, (size_t)(knob->values - at) * sizeof *knob->value);
    knob->value[at] = value;
    if (knob->values++ && at <= knob->usual) knob->usual++;
}

void knob_values(struct tune_knob *knob, int64_t usual, int count, const int64_t *value)
{
    knob->values = knob->usual = 0;
    knob_value(knob, usual);
    for (int k = 0; k < count; k++) knob_value(knob, value[k]);
}

bool knob_about(const struct usual *usual, const struct compilation *form, int64_t keys, int row, struct tune_knob *knob, const char **why_not)
{
    if (!form) form = !usual->quadratic || (usual->linear && keys >= usual->crossover) ? usual->linear : usual->quadratic;
    const struct knob_case x = {usual->target, usual->quadratic, usual->linear, form, keys, usual->crossover};
    *knob = (struct tune_knob){.name = knob_table[row].name, .says = knob_table[row].says};
    *why_not = knob_table[row].about(&x, knob);
    return !*why_not;
}

const char *knob_domain(struct arena *arena, int row)
{
    const struct knob_row *r = &knob_table[row];
    const char *what = r->multiple > 1 ? arena_printf(arena, "a multiple of %lld from ", (long long)r->multiple) : "";
    return arena_printf(arena, "%s%lld to %lld", what, (long long)r->low, (long long)r->high);
}

static int find_row(const char *name)
{
    int row = 0;
    while (row < KNOBS && strcmp(knob_table[row].name, name) != 0) row++;
    return row;
}

/* Whether a knob does something on any target. */
static bool applies(const struct product *p, int row, const char **why_not)
{
    struct tune_knob knob;
    for (int u = p->usuals - 1; u >= 0; u--)
        if (knob_about(&p->usual[u], NULL, 0, row, &knob, why_not)) return true;
    return false;
}

static void check_knob(const struct product *p, const struct knob *knob, struct diagnostics *d)
{
    const struct position nowhere = {0, 0};
    const int row = find_row(knob->name);
    const char *why_not = NULL;
    if (row == KNOBS) {
        const char *words[KNOBS + 1] = {NULL};
        int count = 0;
        for (int k = 0; k < KNOBS; k++)
            if (applies(p, k, &why_not)) words[count++] = knob_table[k].name;
        const char *near = nearest_word(knob->name, words);
        diagnostics_error(d, knob->at, "unknown knob '%s' in schedule", knob->name);
        if (near)
            diagnostics_note(d, nowhere, "did you mean '%s'?", near);
        else
            diagnostics_note(d, nowhere, "'attnc explain' lists the knobs of a spec");
    } else if (!applies(p, row, &why_not))
        diagnostics_error(d, knob->at, "the knob '%s' does nothing for this spec: %s", knob->name, why_not);
    else if (knob->value < knob_table[row].low || knob->value > knob_table[row].high || knob->value % knob_table[row].multiple != 0)
        diagnostics_error(d, knob->value_at, "%s is %s%s", knob->name, knob_table[row].multiple > 1 ? "" : "from ", knob_domain(p->arena, row));
}

void knobs_check(const struct product *p, struct diagnostics *d)
{
    for (int e = 0; e < p->spec->schedules; e++)
        for (int k = 0; k < p->spec->schedule[e].knobs; k++) check_knob(p, &p->spec->schedule[e].knob[k], d);
}

int64_t knob_taken(const struct product *p, const struct compilation *c, int row)
{
    struct tune_knob knob = {0};
    const char *why_not;
    for (int u = 0; u < p->usuals; u++)
        if (p->usual[u].target == c->target) knob_about(&p->usual[u], c->linear ? p->usual[u].linear : p->usual[u].quadratic, 0, row, &knob, &why_not);
    return schedule_knob(c, knob_table[row].name, knob.value[knob.usual]);
}

/* ---- the space ---- */

void knob_space(const struct product *p, int64_t keys, struct tune_space *space)
{
    const char *why_not;
    space->knobs = 0;
    for (int k = 0; k < KNOBS; k++)
        if (knob_about(product_usual(p), NULL, keys, k, &space->knob[space->knobs], &why_not)) space->knobs++;
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

struct tune_point point_usual(const struct tune_space *s)
{
    struct tune_point p = {{0}};
    for (int k = 0; k < s->knobs; k++) p.at[k] = s->knob[k].usual;
    return p;
}

void point_text(const struct tune_space *s, const struct tune_point *p, struct text *out)
{
    for (int k = 0; k < s->knobs; k++) text_add(out, "%s%s=%lld", k ? " " : "", s->knob[k].name, (long long)s->knob[k].value[p->at[k]]);
}

/* The knob of that name which takes the value, or may be given it; NULL: there is none. */
static struct tune_knob *knob_taking(struct tune_space *s, const char *name, int64_t value)
{
    const int row = find_row(name);
    if (row == KNOBS || value < knob_table[row].low || value > knob_table[row].high || value % knob_table[row].multiple != 0) return NULL;
    for (int k = 0; k < s->knobs; k++)
        if (strcmp(s->knob[k].name, name) == 0 && s->knob[k].values < MOST_VALUES) return &s->knob[k];
    return NULL;
}

bool tuned_point(struct tune_space *s, const struct tuned_entry *e, struct tune_point *p)
{
    for (int j = 0; j < e->knobs; j++)
        if (!knob_taking(s, e->knob[j].name, e->knob[j].value)) return false;
    for (int j = 0; j < e->knobs; j++) knob_value(knob_taking(s, e->knob[j].name, e->knob[j].value), e->knob[j].value);
    *p = point_usual(s);
    for (int j = 0; j < e->knobs; j++)
        for (int k = 0; k < s->knobs; k++)
            for (int v = 0; v < s->knob[k].values && strcmp(s->knob[k].name, e->knob[j].name) == 0; v++)
                if (s->knob[k].value[v] == e->knob[j].value) p->at[k] = v;
    return true;
}
