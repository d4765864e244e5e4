/* Makes the compilations and versions of a unit. For every target and entry of the schedule, they have the forms
   that some number of keys uses. */
#include "driver.h"
#include "maker.h"
#include "../analysis/analysis.h"
#include "../cost/cost.h"
#include "../emit/emit.h"
#include "../pass/pass.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../target/target.h"
#include "../variant/variant.h"

#include <string.h>

/* Returns the program for forward. It also saves values of rows if there are gradients. With 'delta' it saves none,
   because its sums would differ in rounding from the sums that backward computes. It saves SAVED_SOLUTION then. */
static enum program_kind forward_program(const struct spec *spec)
{
    return spec->emit & EMIT_BACKWARD && !spec->rate ? PROGRAM_FORWARD_SAVING : PROGRAM_FORWARD;
}

/* Compiles forward in one form. */
static struct compilation *compile(struct maker *x, const struct schedule *schedule, const struct target *target,
                                   bool linear, bool shown)
{
    const struct program program = {
        .kind = forward_program(x->p->spec), .linear = linear, .saves_solution = linear && x->p->kernel.saves_solution};
    return maker_compile(x, schedule, target, program, shown);
}

/* Returns the number of parts of a kind. `first` computes the first group of gradients. */
static int parts_of(const struct compilation *first, enum program_kind kind)
{
    const struct gradient_graphs *const g = &first->gradients;
    const bool of_terms = first->program.of_terms;
    switch ((int)kind) {
    case PROGRAM_SAVED_ROWS: return !of_terms && g->saving->outputs > g->results;
    case PROGRAM_ROW_SUMS: return !of_terms && g->row_sums->outputs > 0;
    case PROGRAM_FROM_SUMS: return !of_terms && g->from_sums;
    case PROGRAM_TOTALS: return g->totals != NULL; /* the first of these parts knows how many there are */
    default: return g->groups;
    }
}

/* Compiles the parts of backward for a target and adds them to part[at], in this order:
   - the saved rows, if forward has not saved them, and sums over elements of rows: each has its own number
   - a part for each group of gradients that share loops
   - gradients from stored sums of a group
   - gradients that sum over all rows, from a partial sum per slice
   Returns the first part that computes gradients. */
static const struct compilation *compile_parts(struct maker *x, const struct schedule *schedule,
                                               const struct target *target, struct program program,
                                               const struct compilation **part, int at)
{
    static const enum program_kind kind[] = {PROGRAM_SAVED_ROWS, PROGRAM_ROW_SUMS, PROGRAM_GRADIENTS, PROGRAM_FROM_SUMS,
                                             PROGRAM_TOTALS};
    const struct compilation *const first = maker_compile(x, schedule, target, program, false);
    for (size_t k = 0; k < sizeof kind / sizeof *kind && x->good; k++) {
        const bool grouped = kind[k] != PROGRAM_SAVED_ROWS && kind[k] != PROGRAM_ROW_SUMS;
        int parts = parts_of(first, kind[k]);
        if (!grouped && !parts && !program.of_terms) at++;
        for (int n = 1; n <= parts && x->good; n++) {
            if (at == (program.of_terms ? MAX_PARTS : FIRST_TERMS)) {
                diagnostics_error(x->d, x->p->spec->emit_at, "gradients in more than %d parts are not compiled yet",
                                  MAX_PARTS);
                x->good = false;
                break;
            }
            program.kind = kind[k];
            program.group = grouped ? n : 0;
            part[at] = kind[k] == PROGRAM_GRADIENTS && n == 1 ? first
                                                              : maker_compile(x, schedule, target, program, false);
            if (x->good && kind[k] == PROGRAM_TOTALS) parts = part[at]->gradients.groups;
            at++;
        }
    }
    return first;
}

/* Compiles the parts of backward for a target. The gradients of the arrays that prefix sums read are computed last, by
   parts from number FIRST_TERMS on. */
static void compile_backward(struct maker *x, const struct schedule *schedule, const struct target *target, bool linear,
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

/* Makes the gradients for a target. For each number of keys, they have the same form as forward, because they read
   its saved values. */
static void make_backward(struct maker *x, const struct target *target)
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
            compile_backward(x, parts->schedule, target, linear, parts->part);
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

/* If `backward` sets knobs, compiles the first group of gradients with default knobs. The knobs are checked against
   this compilation. */
static void make_default_gradients(struct maker *x, struct defaults *u)
{
    const struct spec *spec = x->p->spec;
    bool set = false;
    for (int e = 0; e < spec->schedules; e++) set |= spec->schedule[e].backward != NULL;
    if (!set || !(spec->emit & EMIT_BACKWARD)) return;
    for (int linear = 0; linear < 2 && x->good; linear++) {
        const struct program program = {.kind = PROGRAM_GRADIENTS, .linear = linear, .group = 1};
        if (linear ? u->linear : u->quadratic) u->gradients[linear] = maker_compile(x, NULL, u->target, program, false);
    }
}

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

/* Returns whether the gradients of the linear form can be compiled. Sets *reads_solution to whether they read
   SAVED_SOLUTION. */
static bool linear_has_gradients(const struct maker *x, const struct target *target, bool *reads_solution)
{
    struct maker trial = *x;
    trial.d = diagnostics_new(x->p->arena, "", NULL, 0);
    trial.p = arena_alloc(x->p->arena, sizeof *trial.p);
    *trial.p = *x->p;
    const struct compilation *part[MAX_PARTS] = {NULL};
    compile_backward(&trial, NULL, target, true, part);
    *reads_solution = trial.good && part[2]->gradients.parts &&
                      graph_find(part[2]->gradients.parts, SAVED_SOLUTION) >= 0;
    return trial.good;
}

/* Compiles the forms of a target with default knobs. The loops of the first target decide for all targets whether
   the linear form takes less time. */
static void make_defaults(struct maker *x, const struct target *target, bool shown)
{
    struct unit *p = x->p;
    const enum algorithm_kind algorithm = p->spec->algorithm;
    const bool first = p->default_count == 0, solves = graph_find_solve(p->graph) >= 0;
    struct defaults *u = &p->defaults[p->default_count++];
    *u = (struct defaults){.target = target};
    if (algorithm != ALGORITHM_LINEAR && !solves) u->quadratic = compile(x, NULL, target, false, shown);
    const bool backward = p->spec->emit & EMIT_BACKWARD;
    struct compilation *c = x->good && algorithm != ALGORITHM_QUADRATIC
                                ? compile(x, NULL, target, true, shown && !(solves && backward))
                                : NULL;
    const bool separates = x->good && c && c->separated.features, may_choose = separates && algorithm == ALGORITHM_AUTO;
    if (first && may_choose && !solves) p->why_quadratic = linear_never_pays(u->quadratic, c);
    if (separates && backward && !p->why_quadratic && (may_choose || (solves && first))) {
        bool reads_solution;
        if (!linear_has_gradients(x, target, &reads_solution) && may_choose)
            p->why_quadratic = "the gradients of the linear form cannot be compiled yet";
        if (first) p->kernel.saves_solution = reads_solution;
    }
    if (separates && backward && solves && !p->why_quadratic) {
        c = compile(x, NULL, target, true, shown);
        p->kernel.saves_solution &= x->good && graph_find_output(c->graph, SAVED_SOLUTION) >= 0;
    }
    /* With the delta rule, the quadratic form takes twice the time. So it is compiled only in place of the linear form.
     */
    if (x->good && solves && (!separates || p->why_quadratic)) u->quadratic = compile(x, NULL, target, false, shown);
    if (algorithm == ALGORITHM_QUADRATIC) p->why_quadratic = "'algorithm: quadratic' asks for no linear form";
    if (!x->good || !c) return;
    if ((separates && !p->why_quadratic) || algorithm == ALGORITHM_LINEAR)
        u->linear = c;
    else if (!separates)
        p->why_quadratic = c->reason;
}

/* Compiles the form for few queries, and adds it to the target's versions of forward from number `first` on. */
static void add_few(struct maker *x, const struct target *target, const struct defaults *by_default, int first,
                    bool shown)
{
    struct unit *p = x->p;
    struct versions *const forward = &p->kernel.of[STEP_FORWARD];
    const bool solves = graph_find_solve(p->graph) >= 0;
    struct compilation *c = p->spec->algorithm == ALGORITHM_LINEAR || (solves && by_default->linear)
                                ? NULL
                                : maker_few(x, target, PROGRAM_FORWARD, shown);
    bool any = false;
    for (struct version *v = forward->version + first; c && v < forward->version + forward->count; v++) {
        const struct compilation *linear = v->c->program.linear ? by_default->linear : NULL;
        v->few_rows = linear ? rows_before_linear(by_default->quadratic, linear) : MAX_FEW_ROWS;
        if (v->few_rows > MAX_FEW_ROWS) v->few_rows = MAX_FEW_ROWS;
        if (v->few_rows > 0) v->few = c;
        any |= v->few != NULL;
    }
    if (any) p->kernel.compilation[p->kernel.compilations++] = c;
}

/* Returns whether a state stores as many keys for the form "heads" as for the quadratic form. */
static bool reads_alike(const struct compilation *heads, const struct compilation *quadratic)
{
    int64_t first, back, of_heads, back_of_heads;
    return !keys_read_on(quadratic, &first, &back) || keys_read_on(heads, &of_heads, &back_of_heads);
}

/* Compiles the form "heads" (few queries of many heads), and adds it to the target's versions. Only kernels whose
   keys are also the values have this form, as in multi-head latent attention. */
static void add_heads(struct maker *x, const struct target *target, int first, bool shown)
{
    struct unit *p = x->p;
    struct versions *const forward = &p->kernel.of[STEP_FORWARD];
    bool some = p->spec->values_are_keys && !has_prefix_sums(p->graph) && first < forward->count;
    for (int v = first; v < forward->count; v++)
        some &= forward->version[v].few && !forward->version[v].c->program.linear;
    if (!some) return;
    struct compilation *c = maker_for_few(x, target, (struct program){.kind = PROGRAM_FORWARD, .by_heads = true},
                                          shown);
    if (!c || ((p->spec->emit & EMIT_DECODE) && !reads_alike(c, forward->version[first].c))) return;
    for (int v = first; v < forward->count; v++) forward->version[v].heads = c;
    p->kernel.compilation[p->kernel.compilations++] = c;
}

/* Returns whether both compilations print the same C. */
static bool same_code(const struct compilation *a, const struct compilation *b)
{
    if (a->program.linear != b->program.linear || a->tiling.tile_q != b->tiling.tile_q ||
        a->registers.rows != b->registers.rows || a->registers.vectors != b->registers.vectors ||
        a->registers.unroll != b->registers.unroll)
        return false;
    struct text s = {0}, t = {0};
    loops_print(a->loops, &s);
    loops_print(b->loops, &t);
    const bool same = s.length == t.length && memcmp(s.data, t.data, s.length) == 0;
    text_free(&s);
    text_free(&t);
    return same;
}

/* Adds a version that runs c from `from` keys on. If the target has an equal compilation, the version uses that one.
   The target's compilations start at number `first`, and its versions at `first_version`. */
static void add(struct unit *p, struct compilation *c, int64_t from, int first, int first_version)
{
    int k = first;
    while (k < p->kernel.compilations && !same_code(p->kernel.compilation[k], c)) k++;
    const int cooperative = (int)schedule_knob(c, "together", 1);
    if (k == p->kernel.compilations) p->kernel.compilation[p->kernel.compilations++] = c;
    struct versions *const forward = &p->kernel.of[STEP_FORWARD];
    const struct version *last = forward->count > first_version ? &forward->version[forward->count - 1] : NULL;
    if (last && last->c == p->kernel.compilation[k] && last->cooperative == cooperative) return;
    versions_add(
        p->arena, forward,
        (struct version){.target = c->target, .c = p->kernel.compilation[k], .from = from, .cooperative = cooperative});
}

/* Returns the features that a compilation uses, as bits of enum target_feature. */
static unsigned features_used(const struct compilation *c)
{
    return (loops_paired(c->loops) ? 1U << TARGET_BF16_PRODUCTS : 0U) |
           (loops_on_matrix_units(c->loops) ? 1U << TARGET_MATRIX_UNITS : 0U);
}

/* Removes a target if no compilation uses the target's highest feature. The next target lacks only this feature. */
static void drop_idle(struct unit *p, int first, int first_version)
{
    unsigned used = 0;
    for (int k = first; k < p->kernel.compilations; k++) used |= features_used(p->kernel.compilation[k]);
    const unsigned features = first < p->kernel.compilations ? p->kernel.compilation[first]->target->features : 0;
    if ((features & ~used) <= features / 2) return;
    for (int u = 0; u < p->default_count; u++)
        if (p->defaults[u].target == p->kernel.compilation[first]->target) {
            memmove(&p->defaults[u], &p->defaults[u + 1], (size_t)(--p->default_count - u) * sizeof *p->defaults);
            break;
        }
    for (int k = first; k < p->kernel.compilations; k++) p->kernel.compilation[k] = NULL;
    p->kernel.compilations = first;
    p->kernel.of[STEP_FORWARD].count = first_version;
}

/* Compiles the programs that compute the terms of prefix sums and the corrected values, if other programs read them. */
static void make_first(struct maker *x)
{
    const struct versions *const forward = &x->p->kernel.of[STEP_FORWARD];
    const bool corrects = graph_find_solve(x->p->graph) >= 0 && forward->count && !forward->version->c->program.linear;
    if (has_prefix_sums(x->p->graph)) maker_each(x, STEP_TERMS, false);
    if (corrects) maker_each(x, STEP_CORRECT, true);
}

/* Returns the number of keys from which an entry of the schedule uses the linear form. It is the entry's knob
   `crossover`, or the default. */
static int64_t crossover_of(const struct defaults *u, const struct schedule *schedule)
{
    for (int k = 0; schedule && k < schedule->knobs && u->linear && u->quadratic; k++)
        if (strcmp(schedule->knob[k].name, "crossover") == 0) {
            const int64_t keys = schedule->knob[k].value;
            return keys == NEVER ? INT64_MAX : keys == 1 ? 0 : keys;
        }
    return u->crossover;
}

/* Adds a note that the error is about gradients. Returns false. */
static bool no_gradients(const struct maker *x)
{
    diagnostics_note(x->d, x->p->spec->emit_at, "this concerns the gradients that 'emit' asks for");
    return false;
}

int targets_to_load(const struct target **target, int targets, bool (*runs)(const struct target *))
{
    int kept = 0;
    for (int t = 0; t < targets; t++)
        if (runs(target[t]) && (kept == 0 || strcmp(target[t]->name, target[0]->name) == 0)) target[kept++] = target[t];
    return kept;
}

bool versions_make(struct unit *p, const struct target *const *target, int targets, const struct options *o,
                   struct diagnostics *d, struct diagnostics *schedule)
{
    const struct spec *spec = p->spec;
    const int entries = spec->schedules ? spec->schedules : 1;
    const bool one = o->only_here && !o->named_targets; /* without a target's idle features, the next target has code */
    const struct versions *const forward = &p->kernel.of[STEP_FORWARD];
    struct maker maker = {p, o, d, true}, *x = &maker;
    for (int t = 0; t < targets && x->good; t++) make_defaults(x, target[t], t == 0 && !spec->schedules);
    if (!x->good) return false;
    const int errors = diagnostics_errors(schedule);
    /* Targets without features share the crossover of the first such target. Each target with features has its own
       crossover. */
    const struct defaults *plain = &p->defaults[0];
    for (int u = 0; plain->target->features && u < p->default_count; u++) plain = &p->defaults[u];
    for (int u = 0; u < p->default_count; u++) {
        const struct defaults *of = p->defaults[u].target->features ? &p->defaults[u] : plain;
        p->defaults[u].crossover = !of->linear      ? INT64_MAX
                                   : !of->quadratic ? 0
                                                    : crossover_length(of->quadratic, of->linear);
    }
    for (int u = 0; u < p->default_count && x->good; u++) make_default_gradients(x, &p->defaults[u]);
    if (!x->good) return no_gradients(x);
    knobs_check(p, schedule);
    if (diagnostics_errors(schedule) > errors) return false;
    struct defaults by_default[MAX_VERSIONS]; /* includes the defaults of targets that drop_idle removes */
    memcpy(by_default, p->defaults, sizeof by_default);
    for (int t = 0; t < targets && x->good; t++) {
        const int first = p->kernel.compilations, first_version = forward->count;
        for (int e = 0; e < entries && x->good; e++) {
            const struct schedule *entry = spec->schedules ? &spec->schedule[e] : NULL;
            const int64_t from = entry ? entry->from : 0,
                          next = e + 1 < entries ? spec->schedule[e + 1].from : INT64_MAX;
            /* The quadratic form runs from `from` keys up to the crossover. The linear form runs after it. */
            const int64_t crossover = crossover_of(&by_default[t], entry);
            struct compilation *quadratic = crossover > from ? by_default[t].quadratic : NULL,
                               *linear = crossover < next ? by_default[t].linear : NULL;
            if (entry && quadratic) quadratic = compile(x, entry, target[t], false, t == 0);
            if (entry && linear && x->good) linear = compile(x, entry, target[t], true, t == 0);
            if (!x->good) break;
            if (quadratic) add(p, quadratic, from, first, first_version);
            if (linear) add(p, linear, crossover > from ? crossover : from, first, first_version);
        }
        if (x->good) drop_idle(p, first, first_version);
        if (x->good && p->kernel.compilations > first) add_few(x, target[t], &by_default[t], first_version, t == 0);
        if (x->good && p->kernel.compilations > first) add_heads(x, target[t], first_version, t == 0);
        if (one && p->kernel.compilations > 0) break;
    }
    if (x->good) make_first(x);
    if (!x->good) return false;
    const bool backward = spec->emit & EMIT_BACKWARD;
    for (const struct version *v = NULL; backward && x->good && versions_next_target(forward, &v);)
        make_backward(x, v->target);
    number_parts(p);
    if (!x->good) return no_gradients(x);
    if (spec->emit & EMIT_DECODE) maker_extend(x);
    if (!x->good) return false;
    bool linear = false;
    for (int k = 0; k < p->kernel.compilations; k++) linear |= p->kernel.compilation[k]->program.linear;
    if (!linear && p->defaults[0].linear) p->why_quadratic = "the schedule does not use it at any length";
    return true;
}
