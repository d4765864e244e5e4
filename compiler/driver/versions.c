/* Makes the compilations and versions of a unit. For every target and entry of the schedule, they have the forms
   that some number of keys uses. */
#include "driver.h"
#include "maker.h"
#include "../cost/cost.h"
#include "../emit/emit.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../target/target.h"

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

/* Returns whether the gradients of the linear form can be compiled. Sets *reads_solution to whether they read
   SAVED_SOLUTION. */
static bool linear_has_gradients(const struct maker *x, const struct target *target, bool *reads_solution)
{
    struct maker trial = *x;
    trial.d = diagnostics_new(x->p->arena, "", NULL, 0);
    trial.p = arena_alloc(x->p->arena, sizeof *trial.p);
    *trial.p = *x->p;
    const struct compilation *part[MAX_PARTS] = {NULL};
    maker_parts(&trial, NULL, target, true, part);
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
    if (first && may_choose && !solves)
        p->why_quadratic = c->reason && visits_all_keys(c) ? c->reason : linear_never_pays(u->quadratic, c);
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

/* Returns whether a region of the graph is a list of keys. */
static bool has_lists(const struct graph *g)
{
    bool has = false;
    for (int v = 0; v < g->values; v++)
        for (struct exprs w = {.of = g->value[v].where}; g->value[v].where && exprs_next(&w);)
            has |= w.e->op == EXPR_DRAWN && w.e->draw->name;
    return has;
}

/* Compiles the form "heads", and adds it to the target's versions. Only these kernels have this form:
   - kernels whose keys are also the values, as in multi-head latent attention, for few queries of many heads
   - kernels that gather the keys in lists, for any call */
static void add_heads(struct maker *x, const struct target *target, int first, bool shown)
{
    struct unit *p = x->p;
    struct versions *const forward = &p->kernel.of[STEP_FORWARD];
    bool some = (p->spec->values_are_keys || has_lists(p->graph)) && !has_prefix_sums(p->graph) &&
                first < forward->count;
    for (int v = first; v < forward->count; v++)
        some &= forward->version[v].few && !forward->version[v].c->program.linear;
    if (!some) return;
    struct compilation *c = maker_for_few(x, target, (struct program){.kind = PROGRAM_FORWARD, .by_heads = true},
                                          shown);
    if (!c || !(p->spec->values_are_keys || loops_gather(c->loops))) return;
    if ((p->spec->emit & EMIT_DECODE) && !reads_alike(c, forward->version[first].c)) return;
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

/* Removes a target if no compilation uses the target's highest feature. The next target lacks only this feature. */
static void drop_idle(struct unit *p, int first, int first_version)
{
    unsigned used = 0;
    for (int k = first; k < p->kernel.compilations; k++) {
        const struct loops *const l = p->kernel.compilation[k]->loops;
        used |= loops_paired(l) ? 1U << TARGET_BF16_PRODUCTS : 0U;
        used |= loops_on_matrix_units(l) ? 1U << TARGET_MATRIX_UNITS : 0U;
    }
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

int targets_to_load(const struct target **target, int targets, bool (*runs)(const struct target *))
{
    int kept = 0;
    for (int t = 0; t < targets; t++)
        if (runs(target[t]) && (kept == 0 || strcmp(target[t]->name, target[0]->name) == 0)) target[kept++] = target[t];
    return kept;
}

/* Makes the versions of forward. */
static void make_forward(struct maker *x)
{
    struct unit *const p = x->p;
    const struct spec *spec = p->spec;
    const int entries = spec->schedules ? spec->schedules : 1;
    const bool one = x->o->only_here && !x->o->named_targets; /* without idle features, the next target has code */
    const struct versions *const forward = &p->kernel.of[STEP_FORWARD];
    for (int t = 0; t < x->targets && x->good; t++) make_defaults(x, x->target[t], t == 0 && !spec->schedules);
    if (!x->good) return;
    const int errors = diagnostics_errors(x->of_schedule);
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
    if (!x->good) {
        maker_note_gradients(x);
        return;
    }
    knobs_check(p, x->of_schedule);
    x->good = diagnostics_errors(x->of_schedule) == errors;
    struct defaults by_default[MAX_VERSIONS]; /* includes the defaults of targets that drop_idle removes */
    memcpy(by_default, p->defaults, sizeof by_default);
    for (int t = 0; t < x->targets && x->good; t++) {
        const int first = p->kernel.compilations, first_version = forward->count;
        for (int e = 0; e < entries && x->good; e++) {
            const struct schedule *entry = spec->schedules ? &spec->schedule[e] : NULL;
            const int64_t from = entry ? entry->from : 0,
                          next = e + 1 < entries ? spec->schedule[e + 1].from : INT64_MAX;
            /* The quadratic form runs from `from` keys up to the crossover. The linear form runs after it. */
            const int64_t crossover = crossover_of(&by_default[t], entry);
            struct compilation *quadratic = crossover > from ? by_default[t].quadratic : NULL,
                               *linear = crossover < next ? by_default[t].linear : NULL;
            if (entry && quadratic) quadratic = compile(x, entry, x->target[t], false, t == 0);
            if (entry && linear && x->good) linear = compile(x, entry, x->target[t], true, t == 0);
            if (!x->good) break;
            if (quadratic) add(p, quadratic, from, first, first_version);
            if (linear) add(p, linear, crossover > from ? crossover : from, first, first_version);
        }
        if (x->good) drop_idle(p, first, first_version);
        if (x->good && p->kernel.compilations > first) add_few(x, x->target[t], &by_default[t], first_version, t == 0);
        if (x->good && p->kernel.compilations > first) add_heads(x, x->target[t], first_version, t == 0);
        if (one && p->kernel.compilations > 0) break;
    }
    bool linear = false;
    for (int k = 0; k < p->kernel.compilations; k++) linear |= p->kernel.compilation[k]->program.linear;
    if (!linear && p->defaults[0].linear) p->why_quadratic = "the schedule does not use it at any length";
}

/* Whether the kernel has a step, by its row in program.def, if the steps of earlier rows are made. */
static bool has_step(const struct unit *p, enum kernel_step step)
{
    const struct spec *const spec = p->spec;
    const struct versions *const forward = &p->kernel.of[STEP_FORWARD];
    bool linear = forward->count;
    for (const struct version *v = NULL; versions_next_target(forward, &v);)
        linear &= versions_find(forward, v->target, INT64_MAX)->c->program.linear;
    const bool learns = spec->emit & EMIT_BACKWARD, decodes = spec->emit & EMIT_DECODE,
               has_prefixes = has_prefix_sums(p->graph), solves = graph_find_solve(p->graph) >= 0,
               selects = graph_count(p->graph, GRAPH_SELECT) > 0, stores_sums = p->kernel.of[STEP_EXTEND].count,
               joins = states_join(p), weighs = spec->emit & EMIT_WEIGHTS, prepares = spec_stores_any_prepared(spec),
               drops = spec->dropout > 0;
    const bool has[STEPS] = {
#define STEP(step, name, kind, first, wanted) [STEP_##step] = wanted,
#include "../schedule/program.def"
    };
    return has[step];
}

/* Returns the number of programs of a step: one for each list of the best keys, or for each system of equations. */
static int programs_of(const struct graph *g, enum kernel_step step)
{
    if (step == STEP_SELECT || step == STEP_SELECT_NEW) return graph_count(g, GRAPH_SELECT);
    return step == STEP_CORRECT ? graph_count(g, GRAPH_SOLVE) : 1;
}

bool versions_make(struct unit *p, const struct target *const *target, int targets, const struct options *o,
                   struct diagnostics *d, struct diagnostics *schedule)
{
    static void (*const make[STEPS])(struct maker *) = {
        [STEP_FORWARD] = make_forward,  [STEP_BACKWARD] = maker_backward, [STEP_EXTEND] = maker_extend,
        [STEP_PREPARE] = maker_prepare, [STEP_ATTEND] = maker_attend,     [STEP_FOLDABLE] = maker_foldable};
    struct maker maker = {p, o, d, schedule, target, targets, true}, *x = &maker;
    for (int step = 0; step < STEPS && x->good; step++) {
        if (!has_step(p, (enum kernel_step)step)) continue;
        if (make[step]) make[step](x);
        for (int part = 0; !make[step] && part < programs_of(p->graph, (enum kernel_step)step); part++)
            maker_each(x, (enum kernel_step)step, part);
    }
    if (x->good && p->spec->emit & EMIT_DECODE) maker_state(x);
    return x->good;
}
