/* Makes the versions of backward: the parts that compute gradients. */
#include "maker.h"
#include "../spec/spec.h"
#include "../support/support.h"

#include <string.h>

/* Compiles the parts of backward for a target (program.def), and adds them to part[at]. A kind that is not grouped has
   a number even without a part. Returns the first part that computes gradients. */
static const struct compilation *compile_parts(struct maker *x, const struct schedule *schedule,
                                               const struct target *target, struct program program,
                                               const struct compilation **part, int at)
{
    const struct compilation *const first = maker_compile(x, schedule, target, program, false);
    if (!x->good) return first;
    const struct gradient_graphs *const g = &first->gradients;
    const bool of_terms = program.of_terms;
    const struct {
        enum program_kind kind;
        bool grouped;
        int number;
    } row[] = {
#define PART(kind, grouped, number) {PROGRAM_##kind, grouped, number},
#include "../schedule/program.def"
    };
    for (size_t k = 0; k < sizeof row / sizeof *row && x->good; k++) {
        int parts = row[k].number;
        if (!row[k].grouped && !parts && !of_terms) at++;
        for (int n = 1; n <= parts && x->good; n++) {
            if (at == (of_terms ? MAX_PARTS : FIRST_TERMS)) {
                x->good = diagnostics_error(x->d, x->p->spec->emit_at,
                                            "gradients in more than %d parts are not compiled yet", MAX_PARTS);
                break;
            }
            program.kind = row[k].kind;
            program.group = row[k].grouped ? n : 0;
            part[at] = row[k].kind == PROGRAM_GRADIENTS && n == 1 ? first
                                                                  : maker_compile(x, schedule, target, program, false);
            if (x->good && (row[k].kind == PROGRAM_TOTALS || row[k].kind == PROGRAM_FROM_SUMS))
                parts = part[at]->gradients.groups;
            at++;
        }
    }
    return first;
}

void maker_parts(struct maker *x, const struct schedule *schedule, const struct target *target, bool linear,
                 const struct compilation **part)
{
    struct unit *p = x->p;
    struct program program = {.kind = PROGRAM_GRADIENTS, .linear = linear, .group = 1};
    const struct compilation *const first = compile_parts(x, schedule, target, program, part, 0);
    if (!x->good) return;
    for (int u = 0; u < p->default_count && !(schedule && schedule->knobs); u++)
        if (p->defaults[u].target == target) p->defaults[u].gradients[linear] = first;
    const int saved = first->gradients.saving->outputs - first->gradients.results,
              row_sums = first->gradients.row_sums->outputs;
    if (saved > p->kernel.saved) p->kernel.saved = saved;
    if (row_sums > p->kernel.row_sums) p->kernel.row_sums = row_sums;
    for (int o = 0; o < row_sums; o++) {
        const struct graph *const g = first->gradients.row_sums;
        const int64_t elements = graph_constant_elements(g, g->output[o].value);
        if (elements > p->kernel.row_elements[o]) p->kernel.row_elements[o] = elements;
    }
    for (int k = 0; k < p->kernel.arrays->count; k++) {
        const struct kernel_array *const a = &p->kernel.arrays->array[k];
        program.of_terms |= a->learned && prefix_terms_read(p->graph, a->name);
    }
    if (program.of_terms) compile_parts(x, schedule, target, program, part, FIRST_TERMS);
}

/* Returns the entry of the schedule for this number of keys, or NULL if there is none. */
static const struct schedule *entry_for(const struct spec *spec, int64_t keys)
{
    const struct schedule *entry = NULL;
    for (int e = 0; e < spec->schedules; e++)
        if (spec->schedule[e].from <= keys) entry = &spec->schedule[e];
    return entry;
}

/* Returns whether both schedules set the same knobs. NULL is a schedule without knobs. */
static bool same_knobs(const struct schedule *a, const struct schedule *b)
{
    const int knobs = a ? a->knobs : 0;
    int found = 0;
    if (knobs != (b ? b->knobs : 0)) return false;
    for (int k = 0; k < knobs; k++)
        for (int n = 0; n < knobs; n++)
            found += strcmp(a->knob[k].name, b->knob[n].name) == 0 && a->knob[k].value == b->knob[n].value;
    return found == knobs;
}

/* The parts of the gradients for one form and one setting of knobs. */
struct made_parts {
    bool linear;
    const struct schedule *schedule;
    const struct compilation *part[MAX_PARTS];
};

/* Renumbers the parts of backward without gaps. */
static void number_parts(struct unit *p)
{
    struct versions *const backward = &p->kernel.of[STEP_BACKWARD];
    int number[MAX_PARTS], kept = 0;
    for (int n = 0; n < MAX_PARTS; n++) {
        number[n] = -1;
        for (const struct version *v = NULL; versions_next(backward, &v);)
            if (v->part == n) number[n] = p->kernel.parts;
        p->kernel.parts += number[n] >= 0;
    }
    for (int k = 0; k < backward->count; k++) {
        const int n = number[backward->version[k].part];
        if (n < 0) continue;
        backward->version[kept] = backward->version[k];
        backward->version[kept++].part = n;
    }
    backward->count = kept;
}

/* Makes the gradients for a target. For each number of keys, they have the same form as forward, because they read
   its saved values. */
static void make_target(struct maker *x, const struct target *target)
{
    struct unit *p = x->p;
    struct made_parts *const made = arena_alloc(p->arena, 2 * MAX_SCHEDULES * sizeof *made), *last = NULL;
    int count = 0;
    for (int64_t from = 0, next; from < INT64_MAX && x->good; from = next) {
        const bool linear = unit_choice(p, target, from)->program.linear;
        const struct schedule *entry = entry_for(p->spec, from);
        const struct schedule *schedule = entry ? entry->backward : NULL;
        struct made_parts *parts = made;
        while (parts < made + count && !(parts->linear == linear && same_knobs(parts->schedule, schedule))) parts++;
        if (parts == made + count) {
            /* A schedule without knobs still gives `from`, which the names of C functions contain. */
            struct schedule *none = arena_alloc(p->arena, sizeof *none);
            none->from = entry ? entry->from : 0;
            *parts = (struct made_parts){.linear = linear, .schedule = schedule ? schedule : none};
            maker_parts(x, parts->schedule, target, linear, parts->part);
            count++;
        }
        for (int n = 0; n < MAX_PARTS && parts != last; n++)
            versions_add(
                p->arena, &p->kernel.of[STEP_BACKWARD],
                (struct version){.target = target, .c = parts->part[n], .from = from, .cooperative = 1, .part = n});
        last = parts;
        next = INT64_MAX;
        for (const struct version *v = NULL; versions_next(&p->kernel.of[STEP_FORWARD], &v);)
            if (v->target == target && v->from > from && v->from < next) next = v->from;
        for (int e = 0; e < p->spec->schedules; e++)
            if (p->spec->schedule[e].from > from && p->spec->schedule[e].from < next) next = p->spec->schedule[e].from;
    }
}

void maker_backward(struct maker *x)
{
    for (const struct version *v = NULL; x->good && versions_next_target(&x->p->kernel.of[STEP_FORWARD], &v);)
        make_target(x, v->target);
    number_parts(x->p);
    if (!x->good) maker_note_gradients(x);
}
