/* Makes the compilations and versions of a unit. For every target and entry of the schedule, they have the forms
   that some number of keys uses. */
#include "driver.h"
#include "unit.h"
#include "../analysis/analysis.h"
#include "../cost/cost.h"
#include "../emit/emit.h"
#include "../pass/pass.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../target/target.h"
#include "../variant/variant.h"

#include <stdlib.h>
#include <string.h>

struct maker {
    struct unit *p;
    const struct options *o;
    struct diagnostics *d;
    bool good; /* false if a compilation has failed */
};

/* Returns the text that --dump-after adds for a program that works on a state, or "". */
static const char *program_said(const struct program *p)
{
    if (program_folds_states(p)) return ", fold";
    if (p->foldable) return ", extend foldable";
    if (program_prepares_keys(p)) return ", prepare";
    return program_keeps_state(p) || program_takes_prepared(p) ? ", extend" : "";
}

/* For --dump-after, prints the IR after this pass. */
static bool dump(const struct compilation *c, const struct pass *pass, void *user)
{
    const struct options *o = user;
    if (strcmp(pass->name, o->dump_after) == 0) {
        struct text t = {0};
        if (pass->level == PASS_GRAPH)
            graph_print(c->graph, &t);
        else
            loops_print(c->loops, &t);
        fprintf(stderr, "# after %s, for %s, %s%s%s\n%s", pass->name, c->target->name,
                c->program.linear     ? "linear"
                : c->program.few      ? "quadratic, few queries"
                : c->program.by_heads ? "quadratic, heads as queries"
                                      : "quadratic",
                program_said(&c->program),
                c->schedule && c->schedule->from
                    ? arena_printf(c->graph->module->arena, ", from %lld keys on", (long long)c->schedule->from)
                    : "",
                t.data);
        text_free(&t);
    }
    return true;
}

/* Returns the program for forward. It also saves values of rows if there are gradients. With 'delta' it saves none,
   because its sums would differ in rounding from the sums that backward computes. */
static enum program_kind forward_program(const struct spec *spec)
{
    return spec->emit & EMIT_BACKWARD && !spec->rate ? PROGRAM_FORWARD_SAVING : PROGRAM_FORWARD;
}

/* Returns whether a state stores prepared keys. Keys of 16 bits are not prepared before they are stored, because
   rounding would change the result. */
static bool stores_prepared(const struct spec *spec)
{
    return spec_prepares_keys(spec) && dtype_of_sums(spec->dtype) == spec->dtype;
}

struct compilation *unit_recompile(const struct unit *p, const struct compilation *like)
{
    struct compilation *c = arena_alloc(p->arena, sizeof *c);
    *c = (struct compilation){.spec = p->spec,
                              .schedule = like->schedule,
                              .target = like->target,
                              .diagnostics = like->diagnostics,
                              .source = p->graph,
                              .program = like->program};
    const struct program *const program = &c->program;
    c->graph = (program_prepares_keys(program)     ? build_graph_that_prepares
                : !program_takes_prepared(program) ? build_graph
                : stores_prepared(p->spec)         ? build_graph_of_prepared
                                                   : build_graph_without_dropout)(p->arena, p->spec, c->diagnostics);
    return c;
}

/* Compiles a program. Sets x->good to false after an error. `shown` is true for a program that --dump-after shows. */
static struct compilation *compile_program(struct maker *x, const struct schedule *schedule,
                                           const struct target *target, struct program program, bool shown)
{
    const struct compilation like = {.schedule = schedule, .target = target, .diagnostics = x->d, .program = program};
    struct compilation *c = unit_recompile(x->p, &like);
    x->good = c->graph && passes_run(c, shown && x->o->dump_after ? dump : NULL, (void *)x->o);
    return c;
}

/* Compiles `extend` again with short tiles, because few tokens would leave most vector lanes empty. Only the loops
   over queries of this compilation are used. */
static void add_short_tile(struct maker *x, struct compilation *extend)
{
    struct compilation like = *extend;
    if (!extend->state.slot_is_kept || extend->tiling.tile_q <= FEW_TOKENS) return;
    like.program.short_tile = true;
    struct compilation *const c = unit_recompile(x->p, &like);
    x->good = c->graph && passes_run(c, NULL, NULL);
    extend->state.few_tokens = c;
}

/* Compiles forward in one form. */
static struct compilation *compile(struct maker *x, const struct schedule *schedule, const struct target *target,
                                   bool linear, bool shown)
{
    const struct program program = {.kind = forward_program(x->p->spec), .linear = linear};
    return compile_program(x, schedule, target, program, shown);
}

/* Compiles a part of the gradients and adds it to part[*parts]. The form, target and schedule are those of `first`.
   Returns NULL after an error. */
static const struct compilation *add_part(struct maker *x, const struct compilation *first, enum program_kind kind,
                                          int group, const struct compilation **part, int *parts)
{
    if (!x->good) return NULL;
    if (*parts == (first->program.of_terms ? MAX_PARTS : FIRST_TERMS)) {
        diagnostics_error(x->d, x->p->spec->emit_at, "gradients in more than %d parts are not compiled yet", MAX_PARTS);
        x->good = false;
        return NULL;
    }
    const struct program program = {
        .kind = kind, .linear = first->program.linear, .group = group, .of_terms = first->program.of_terms};
    return part[(*parts)++] = compile_program(x, first->schedule, first->target, program, false);
}

/* Compiles the parts of backward that add the sums of slices, if there are any. */
static void add_totals(struct maker *x, const struct compilation *first, const struct compilation **part, int *parts)
{
    for (int group = 1, groups = 1; first->gradients.totals && group <= groups && x->good; group++) {
        const struct compilation *c = add_part(x, first, PROGRAM_TOTALS, group, part, parts);
        if (c) groups = c->gradients.groups;
    }
}

/* Returns whether the weights have prefix sums whose terms read arrays. Such arrays have gradients. */
static bool terms_have_gradients(const struct unit *p)
{
    return p->spec->decay && p->spec->decay->elements > 0 && has_prefix_sums(p->graph);
}

/* Compiles the gradients of the arrays that prefix sums read. These parts of backward run last, so they are numbered
   from FIRST_TERMS on. */
static void compile_terms(struct maker *x, const struct compilation *like, const struct compilation **part)
{
    const struct program program = {
        .kind = PROGRAM_GRADIENTS, .linear = like->program.linear, .group = 1, .of_terms = true};
    const struct compilation *const first = compile_program(x, like->schedule, like->target, program, false);
    int parts = FIRST_TERMS;
    part[parts++] = first;
    for (int group = 2; x->good && group <= first->gradients.groups; group++)
        add_part(x, first, PROGRAM_GRADIENTS, group, part, &parts);
    if (x->good) add_totals(x, first, part, &parts);
}

/* Compiles the parts of the gradients for a target, in this order:
   - part 0: the saved rows, if forward has not saved them
   - part 1: sums over elements of rows
   - part 2 and later: a part for each group of gradients that share loops
   - from_sums: gradients from stored sums of a group
   - totals: gradients that sum over all rows, from a partial sum per slice
   - terms: gradients of arrays in prefix sums */
static void compile_backward(struct maker *x, const struct schedule *schedule, const struct target *target, bool linear,
                             const struct compilation **part)
{
    struct unit *p = x->p;
    struct program program = {.kind = PROGRAM_GRADIENTS, .linear = linear, .group = 1};
    struct compilation *first = compile_program(x, schedule, target, program, false);
    if (!x->good) return;
    for (int u = 0; u < p->default_count && !(schedule && schedule->knobs); u++)
        if (p->defaults[u].target == target) p->defaults[u].gradients[linear] = first;
    const int saved = first->gradients.saving->outputs - first->gradients.results,
              row_sums = first->gradients.row_sums->outputs;
    if (saved > p->saved) p->saved = saved;
    if (row_sums > p->row_sums) p->row_sums = row_sums;
    program = (struct program){.kind = PROGRAM_SAVED_ROWS, .linear = linear};
    if (saved) part[0] = compile_program(x, schedule, target, program, false);
    program.kind = PROGRAM_ROW_SUMS;
    if (row_sums && x->good) part[1] = compile_program(x, schedule, target, program, false);
    part[2] = first;
    int parts = 3;
    for (int group = 2; group <= first->gradients.groups; group++)
        add_part(x, first, PROGRAM_GRADIENTS, group, part, &parts);
    if (first->gradients.from_sums) add_part(x, first, PROGRAM_FROM_SUMS, 1, part, &parts);
    add_totals(x, first, part, &parts);
    if (x->good && terms_have_gradients(p)) compile_terms(x, first, part);
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
            p->backward[p->backwards++] = (struct version){
                .target = target, .c = parts->part[n], .from = from, .cooperative = 1, .part = n};
        last = parts;
        next = INT64_MAX;
        for (int v = 0; v < p->versions; v++)
            if (p->version[v].target == target && p->version[v].from > from && p->version[v].from < next)
                next = p->version[v].from;
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
        if (linear ? u->linear : u->quadratic)
            u->gradients[linear] = compile_program(x, NULL, u->target, program, false);
    }
}

/* Renumbers the parts of backward without gaps. */
static void number_parts(struct unit *p)
{
    int number[MAX_PARTS], kept = 0;
    for (int n = 0; n < MAX_PARTS; n++) {
        number[n] = -1;
        for (int k = 0; k < p->backwards; k++)
            if (p->backward[k].part == n && p->backward[k].c) number[n] = p->parts;
        p->parts += number[n] >= 0;
    }
    for (int k = 0; k < p->backwards; k++) {
        const int n = number[p->backward[k].part];
        if (n < 0) continue;
        p->backward[kept] = p->backward[k];
        p->backward[kept++].part = n;
    }
    p->backwards = kept;
}

/* Returns whether the gradients of the linear form can be compiled. */
static bool linear_has_gradients(const struct maker *x, const struct target *target)
{
    struct maker trial = *x;
    trial.d = diagnostics_new(x->p->arena, "", NULL, 0);
    trial.p = arena_alloc(x->p->arena, sizeof *trial.p);
    *trial.p = *x->p;
    const struct compilation *part[MAX_PARTS] = {NULL};
    compile_backward(&trial, NULL, target, true, part);
    return trial.good;
}

/* Returns whether a spec with the delta rule can have only the quadratic form. Reports what needs the linear form.
   `linear` is the compilation that could not become linear, or NULL if none was tried. */
static bool can_be_quadratic(struct maker *x, const struct compilation *linear)
{
    static const struct {
        unsigned emit;
        const char *says;
    } of[] = {{EMIT_DECODE, "decoding"}, {EMIT_BACKWARD, "gradients"}};
    const struct spec *const spec = x->p->spec;
    for (int k = 0; k < 2; k++) {
        if (!(spec->emit & of[k].emit)) continue;
        const char *const why = linear ? linear->reason : "'algorithm' is 'quadratic'";
        diagnostics_error(x->d, spec->delta_at, "%s with 'delta' needs a linear form, and there is none: %s",
                          of[k].says, why ? why : "its weights are not summed over keys");
        x->good = false;
    }
    return x->good;
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
    struct compilation *const c = x->good && algorithm != ALGORITHM_QUADRATIC ? compile(x, NULL, target, true, shown)
                                                                              : NULL;
    /* With the delta rule, the quadratic form takes twice the time. So it runs only if there is no linear form. */
    if (x->good && solves && (!c || !c->separated.features) && can_be_quadratic(x, c))
        u->quadratic = compile(x, NULL, target, false, shown);
    if (!x->good || !c) return;
    if (first && c->separated.features && algorithm == ALGORITHM_AUTO && !solves)
        p->why_quadratic = linear_never_pays(u->quadratic, c);
    if (c->separated.features && !p->why_quadratic && algorithm == ALGORITHM_AUTO && !solves &&
        (p->spec->emit & EMIT_BACKWARD) && !linear_has_gradients(x, target))
        p->why_quadratic = "the gradients of the linear form cannot be compiled yet";
    if ((c->separated.features && !p->why_quadratic) || algorithm == ALGORITHM_LINEAR)
        u->linear = c;
    else if (!c->separated.features)
        p->why_quadratic = c->reason;
}

/* Compiles a form for few queries. If there is none, returns NULL without a message. */
static struct compilation *make_for_few(const struct maker *x, const struct target *target, struct program program,
                                        bool shown)
{
    struct maker trial = *x;
    trial.d = diagnostics_new(x->p->arena, "", NULL, 0);
    const struct compilation like = {.target = target, .diagnostics = trial.d, .program = program};
    struct compilation *c = unit_recompile(x->p, &like);
    const bool good = c->graph && passes_run(c, shown && x->o->dump_after ? dump : NULL, (void *)x->o);
    return good && !c->reason ? c : NULL;
}

static struct compilation *make_few(const struct maker *x, const struct target *target, enum program_kind kind,
                                    bool shown)
{
    return make_for_few(x, target, (struct program){.kind = kind, .few = true}, shown);
}

/* Compiles the form for few queries, and adds it to the target's versions from p->version[first] on. */
static void add_few(struct maker *x, const struct target *target, const struct defaults *by_default, int first,
                    bool shown)
{
    struct unit *p = x->p;
    const bool solves = graph_find_solve(p->graph) >= 0;
    struct compilation *c = p->spec->algorithm == ALGORITHM_LINEAR || (solves && by_default->linear)
                                ? NULL
                                : make_few(x, target, PROGRAM_FORWARD, shown);
    bool any = false;
    for (int v = first; v < p->versions && c; v++) {
        const struct compilation *linear = p->version[v].c->program.linear ? by_default->linear : NULL;
        p->version[v].few_rows = linear ? rows_before_linear(by_default->quadratic, linear) : MAX_FEW_ROWS;
        if (p->version[v].few_rows > MAX_FEW_ROWS) p->version[v].few_rows = MAX_FEW_ROWS;
        if (p->version[v].few_rows > 0) p->version[v].few = c;
        any |= p->version[v].few != NULL;
    }
    if (any) p->compilation[p->compilations++] = c;
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
    bool some = p->spec->values_are_keys && !has_prefix_sums(p->graph) && first < p->versions;
    for (int v = first; v < p->versions; v++) some &= p->version[v].few && !p->version[v].c->program.linear;
    if (!some) return;
    struct compilation *c = make_for_few(x, target, (struct program){.kind = PROGRAM_FORWARD, .by_heads = true}, shown);
    if (!c || ((p->spec->emit & EMIT_DECODE) && !reads_alike(c, p->version[first].c))) return;
    for (int v = first; v < p->versions; v++) p->version[v].heads = c;
    p->compilation[p->compilations++] = c;
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
    while (k < p->compilations && !same_code(p->compilation[k], c)) k++;
    const int cooperative = (int)schedule_knob(c, "together", 1);
    if (k == p->compilations) p->compilation[p->compilations++] = c;
    const struct version *last = p->versions > first_version ? &p->version[p->versions - 1] : NULL;
    if (last && last->c == p->compilation[k] && last->cooperative == cooperative) return;
    p->version[p->versions++] = (struct version){
        .target = c->target, .c = p->compilation[k], .from = from, .cooperative = cooperative};
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
    for (int k = first; k < p->compilations; k++) used |= features_used(p->compilation[k]);
    const unsigned features = first < p->compilations ? p->compilation[first]->target->features : 0;
    if ((features & ~used) <= features / 2) return;
    for (int u = 0; u < p->default_count; u++)
        if (p->defaults[u].target == p->compilation[first]->target) {
            memmove(&p->defaults[u], &p->defaults[u + 1], (size_t)(--p->default_count - u) * sizeof *p->defaults);
            break;
        }
    for (int k = first; k < p->compilations; k++) p->compilation[k] = NULL;
    p->compilations = first;
    p->versions = first_version;
}

/* Returns the compilation for the longest sequences on a target. */
static const struct compilation *longest(const struct unit *p, const struct target *target)
{
    const struct compilation *c = NULL;
    for (int v = 0; v < p->versions; v++)
        if (p->version[v].target == target) c = p->version[v].c;
    return c;
}

/* Sets p->folds, p->moves and p->any_order, and compiles programs that add two states. */
static void make_fold(struct maker *x)
{
    struct unit *const p = x->p;
    p->folds = p->extends && p->read_back == 0;
    p->moves = true;
    for (int v = 0; v < p->graph->values; v++)
        p->folds &= !p->graph->value[v].integers; /* sums that ids reset cannot be added */
    for (int k = 0; k < p->extends; k++) {
        const struct compilation *const c = p->extend[k].c;
        p->folds &= c->state.slot_is_kept;
        p->moves &= moves_on(p->graph, c->state.chunk);
    }
    p->any_order = p->folds && takes_any_order(p->graph);
    p->terms_move = prefix_terms_move(p->graph);
    for (int k = 0; k < p->extends && p->folds && x->good; k++) {
        const struct compilation *const c = p->extend[k].c;
        p->extend[k].fold = compile_program(x, c->schedule, c->target,
                                            (struct program){.kind = PROGRAM_FOLD_STATES, .linear = true}, k == 0);
    }
}

/* Returns whether the sums of a state depend on the factors between chunks. Then they depend on positions, because
   the first chunk of a sequence has no factor. */
static bool has_factors(const struct graph *g)
{
    bool has = false;
    for (int v = 0; v < g->values; v++) has |= g->value[v].keep != NULL;
    return has;
}

/* With 'delta', compiles programs for states that also have transitions, and programs that join such states. */
static void make_foldable(struct maker *x)
{
    struct unit *const p = x->p;
    bool can = p->extends > 0 && p->read_back == 0 && graph_find_solve(p->graph) >= 0;
    for (int v = 0; v < p->graph->values; v++) can &= !p->graph->value[v].integers; /* ids reset the sums */
    for (int k = 0; k < p->extends && can && x->good; k++) {
        const struct compilation *const like = p->extend[k].c;
        struct program program = {.kind = PROGRAM_EXTEND, .linear = true, .foldable = true};
        p->moves &= !has_factors(like->graph);
        struct version *const made = &p->foldable[p->foldables++];
        *made = p->extend[k];
        made->c = compile_program(x, like->schedule, like->target, program, k == 0);
        program.kind = PROGRAM_FOLD_STATES;
        if (x->good) made->fold = compile_program(x, like->schedule, like->target, program, k == 0);
    }
}

/* Finds the keys that a state must store for all versions. These are the first *first and the last *back keys.
   Returns false if a version may read any key. */
static bool kept_by_all(const struct version *version, int versions, int64_t *first, int64_t *back)
{
    *first = *back = 0;
    int64_t early = 0; /* Earlier tiles of queries may read more keys. All keys that such a tile reads are stored. */
    for (int v = 0; v < 3 * versions; v++) {
        const struct version *const of = &version[v / 3];
        const struct compilation *const c = v % 3 == 0 ? of->c : v % 3 == 1 ? of->few : of->heads;
        int64_t begin, before;
        if (!c) continue;
        if (!keys_read_on(c, &begin, &before)) return false;
        if (begin > *first) *first = begin;
        if (before > *back) *back = before;
        if (begin + before > early) early = begin + before;
    }
    if (early - *first > *back) *back = early - *first;
    return true;
}

/* Compiles the programs that decode with a state of keys, if forward cannot decode. If the state stores prepared
   keys, one program prepares keys, and the other programs attend to them. These programs have no dropout. */
static void make_attending(struct maker *x)
{
    struct unit *const p = x->p;
    const bool prepared = stores_prepared(p->spec);
    if (p->extends || (!prepared && p->spec->dropout == 0)) return;
    for (int v = 0; v < p->versions && x->good; v++) {
        const struct version *const like = &p->version[v];
        if (prepared && (v == 0 || like->target != like[-1].target)) {
            struct compilation *const made = compile_program(x, NULL, like->target,
                                                             (struct program){.kind = PROGRAM_PREPARE_KEYS}, v == 0);
            if (!x->good) return;
            p->prepare[p->prepares++] = (struct version){.target = like->target, .c = made, .cooperative = 1};
            p->of_prepared[p->of_prepareds++] = made;
        }
        /* These variables replace like->c, like->few and like->heads. Versions can share a compilation. */
        const struct compilation *c = NULL, *few = NULL, *heads = NULL;
        for (int u = 0; u < v; u++) {
            if (p->version[u].c == like->c) c = p->attend[u].c;
            if (like->few && p->version[u].few == like->few) few = p->attend[u].few;
            if (like->heads && p->version[u].heads == like->heads) heads = p->attend[u].heads;
        }
        if (!c) {
            const struct program program = {.kind = PROGRAM_QUERY_PREPARED, .linear = like->c->program.linear};
            struct compilation *const made = compile_program(x, like->c->schedule, like->target, program, v == 0);
            if (!x->good) return;
            c = p->of_prepared[p->of_prepareds++] = made;
        }
        if (like->few && !few) {
            struct compilation *const made = make_few(x, like->target, PROGRAM_QUERY_PREPARED, v == 0);
            if (made) few = p->of_prepared[p->of_prepareds++] = made;
        }
        if (like->heads && few && !heads) {
            const struct program program = {.kind = PROGRAM_QUERY_PREPARED, .by_heads = true};
            struct compilation *const made = make_for_few(x, like->target, program, v == 0);
            if (made) heads = p->of_prepared[p->of_prepareds++] = made;
        }
        p->attend[p->attends] = *like;
        p->attend[p->attends].heads = heads;
        p->attend[p->attends].c = c;
        p->attend[p->attends++].few = few;
    }
}

/* Compiles a program that a call runs before the main program, for each target that has a version. Returns the
   number of versions in `made`. */
static int make_first(struct maker *x, enum program_kind kind, bool shown, struct version *made)
{
    struct unit *const p = x->p;
    const struct program program = {.kind = kind};
    int count = 0;
    for (int v = 0; v < p->versions && x->good; v++) {
        const struct target *const target = p->version[v].target;
        if (v > 0 && target == p->version[v - 1].target) continue;
        struct compilation *const c = compile_program(x, NULL, target, program, shown && count == 0);
        made[count++] = (struct version){.target = target, .c = c, .cooperative = 1};
    }
    return count;
}

/* Compiles the programs that compute the terms of prefix sums and the corrected values, if other programs read them. */
static void make_all_first(struct maker *x)
{
    struct unit *const p = x->p;
    const bool corrects = graph_find_solve(p->graph) >= 0 && p->versions && !p->version[0].c->program.linear;
    if (has_prefix_sums(p->graph)) p->prefixes = make_first(x, PROGRAM_PREFIX_TERMS, false, p->prefix);
    if (corrects && x->good) p->corrects = make_first(x, PROGRAM_CORRECT_VALUES, true, p->correct);
}

/* Whether a region compares ids of tokens in an array of the spec. A call gets only the ids of new tokens. */
static bool compares_rows(const struct unit *p)
{
    bool compares = false;
    for (int k = 0; k < p->arrays->count; k++) compares |= p->arrays->array[k].compared && p->arrays->array[k].declared;
    return compares;
}

/* Returns whether a program attends to keys in a state. */
static bool attends_to_state(const struct compilation *c)
{
    return program_is_forward(&c->program) || program_takes_prepared(&c->program);
}

/* Lets the rows of a state be in pages, if all programs that attend to them can read pages. */
static void take_pages(struct unit *p, struct compilation *const *compilation, int compilations)
{
    p->paged = !p->extends && !p->prefixes;
    for (int k = 0; k < p->arrays->count; k++)
        p->paged &= !p->arrays->array[k].integer_rows || p->arrays->array[k].role != ROLE_PER_KEY;
    for (int k = 0; k < compilations; k++)
        p->paged &= !attends_to_state(compilation[k]) || loops_read_pages(compilation[k]->loops);
    for (int k = 0; k < compilations && p->paged; k++) {
        struct compilation *const c = compilation[k];
        if (!attends_to_state(c)) continue;
        c->state.paged = true;
        c->loops->workspace += pages_workspace(c);
    }
}

/* Returns whether the expression has the position of a token, except in a subscript of an array. */
static bool names_position(const struct module *m, const struct expr *e)
{
    if (!e || e->op == EXPR_ID || e->op == EXPR_ELEMENT) return false;
    if (e->op == EXPR_START || (e->op == EXPR_INDEX && axis_is_sequence(&m->axis[e->integer]))) return true;
    for (int k = 0; k < expr_arity(e->op); k++)
        if (names_position(m, e->arg[k])) return true;
    return false;
}

/* Returns whether a stored row may move to the position of another token: it is no sum, and its keys are not prepared
   for a position. */
static bool rows_move(const struct unit *p)
{
    if (p->extends || p->prefixes) return false;
    for (int k = 0; k < p->prepares; k++) {
        const struct graph *const g = p->prepare[k].c->source;
        for (int v = 0; v < g->values; v++)
            if (names_position(g->module, g->value[v].expr)) return false;
    }
    return true;
}

/* Decides what a state stores, and compiles the programs that extend a state.
   - If the longest sequences use the linear form on every target, a state stores sums over chunks. It also stores
     the last p->read_back keys and values.
   - Otherwise, a state stores all keys and values. The keys may be prepared. */
static void make_extend(struct maker *x)
{
    struct unit *const p = x->p;
    struct text t = {0};
    /* A linear form compares ids of keys with the id of the last key that is in the sums. */
    int64_t read_back = compares_rows(p), first = 0;
    for (int v = 0; v < p->versions && x->good; v++) {
        if (v > 0 && p->version[v].target == p->version[v - 1].target) continue;
        const struct compilation *const like = longest(p, p->version[v].target);
        const struct program program = {.kind = PROGRAM_EXTEND, .linear = true};
        struct compilation *const c = like->program.linear
                                          ? compile_program(x, like->schedule, like->target, program, v == 0)
                                          : NULL;
        if (c && x->good) add_short_tile(x, c);
        if (!x->good) return;
        const int64_t back = c && c->state.chunk ? keys_read_back(c) : -1;
        if (back < 0) {
            p->extends = 0;
            break;
        }
        if (back > read_back) read_back = back;
        p->extend[p->extends++] = (struct version){
            .target = like->target, .c = c, .cooperative = (int)schedule_knob(c, "together", 1)};
    }
    if (p->extends && spec_has_storage(p->spec)) {
        diagnostics_error(x->d, p->spec->storage_at,
                          "with 'decode', 'storage' needs a state that stores keys, but the linear form of this spec "
                          "stores sums over them; leave out 'storage', or set 'algorithm: quadratic'");
        x->good = false;
        return;
    }
    make_attending(x);
    if (!x->good) return;
    const struct version *const version = p->attends ? p->attend : p->version;
    const int versions = p->attends ? p->attends : p->versions;
    if (!p->extends && !kept_by_all(version, versions, &first, &read_back)) read_back = -1;
    for (int k = 0; k < p->arrays->count && first; k++) /* such arrays are read at any position */
        if (p->arrays->array[k].integer_rows && p->arrays->array[k].role == ROLE_PER_KEY) read_back = -1;
    p->read_back = read_back;
    p->read_first = read_back < 0 ? 0 : first;
    struct compilation *const *const attending = p->attends ? p->of_prepared : p->compilation;
    const int attendings = p->attends ? p->of_prepareds : p->compilations;
    for (int k = 0; k < attendings; k++) {
        if (!attends_to_state(attending[k])) continue;
        attending[k]->state.read_first = p->read_first;
        attending[k]->state.read_back = read_back;
    }
    take_pages(p, attending, attendings);
    p->rows_move = rows_move(p);
    make_fold(x);
    if (x->good) make_foldable(x);
    if (!x->good) return;
    graph_print(p->graph, &t);
    char *meaning = arena_copy(p->arena, strchr(t.data, '\n')); /* skips the line with the spec's name */
    text_free(&t);
    text_add(&t, "%s%d %lld\n", meaning, (int)p->spec->dtype, (long long)read_back);
    if (p->read_first) text_add(&t, "first %lld\n", (long long)p->read_first);
    if (p->prepares) text_add(&t, "prepared\n");
    if (spec_has_storage(p->spec))
        text_add(&t, "%s %s\n", dtype_name(spec_type_of_keys(p->spec)), dtype_name(spec_type_of_values(p->spec)));
    for (int a = 0; p->extends && a < p->extend[0].c->loops->arrays; a++) {
        const struct array *const array = &p->extend[0].c->loops->array[a];
        for (int k = 0; array->kept && k < array->rank; k++) text_add(&t, " %lld", (long long)array->extent[k]);
        if (array->kept) text_add(&t, " at %lld\n", (long long)array->offset);
    }
    p->fingerprint = strtoull(arena_printf(p->arena, "%.16s", hash_text(p->arena, t.data, t.length)), NULL, 16);
    text_free(&t);
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

bool versions_make(struct unit *p, const struct target *const *target, int targets, const struct options *o,
                   struct diagnostics *d, struct diagnostics *schedule)
{
    const struct spec *spec = p->spec;
    const int entries = spec->schedules ? spec->schedules : 1;
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
        const int first = p->compilations, first_version = p->versions;
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
        if (x->good && p->compilations > first) add_few(x, target[t], &by_default[t], first_version, t == 0);
        if (x->good && p->compilations > first) add_heads(x, target[t], first_version, t == 0);
    }
    if (x->good) make_all_first(x);
    if (!x->good) return false;
    for (int v = 0; v < p->versions && (spec->emit & EMIT_BACKWARD) && x->good; v++)
        if (v == 0 || p->version[v].target != p->version[v - 1].target) make_backward(x, p->version[v].target);
    number_parts(p);
    if (!x->good) return no_gradients(x);
    if (spec->emit & EMIT_DECODE) make_extend(x);
    if (!x->good) return false;
    bool linear = false;
    for (int k = 0; k < p->compilations; k++) linear |= p->compilation[k]->program.linear;
    if (!linear && p->defaults[0].linear) p->why_quadratic = "the schedule does not use it at any length";
    return true;
}

const struct defaults *unit_defaults(const struct unit *p)
{
    for (int u = 0; u < p->default_count; u++)
        if (target_runs(p->defaults[u].target)) return &p->defaults[u];
    return &p->defaults[0];
}

const struct target *unit_target_here(const struct unit *p)
{
    for (int k = 0; k < p->compilations; k++)
        if (target_runs(p->compilation[k]->target)) return p->compilation[k]->target;
    return NULL;
}

/* Returns the version on target t for this number of keys, or NULL. */
static const struct version *version_for(const struct version *version, int versions, const struct target *t,
                                         int64_t keys)
{
    const struct version *choice = NULL;
    for (int k = 0; k < versions; k++)
        if (version[k].target == t && version[k].from <= keys) choice = &version[k];
    return choice;
}

const struct compilation *unit_choice(const struct unit *p, const struct target *t, int64_t keys)
{
    const struct version *const choice = version_for(p->version, p->versions, t, keys);
    return choice ? choice->c : NULL;
}

const struct compilation *unit_few(const struct unit *p, const struct target *t, int64_t keys, int64_t *rows)
{
    const struct version *const choice = version_for(p->version, p->versions, t, keys);
    *rows = choice ? choice->few_rows : 0;
    return choice ? choice->few : NULL;
}

const struct compilation *unit_extend_heads(const struct unit *p, const struct target *t, int64_t keys)
{
    const struct version *const choice = p->attends ? version_for(p->attend, p->attends, t, keys)
                                                    : version_for(p->version, p->versions, t, keys);
    return choice ? choice->heads : NULL;
}

const struct compilation *unit_extend_choice(const struct unit *p, const struct target *t, int64_t keys)
{
    const struct version *const choice = version_for(p->attend, p->attends, t, keys);
    return choice ? choice->c : unit_choice(p, t, keys);
}

const struct compilation *unit_extend_few(const struct unit *p, const struct target *t, int64_t keys, int64_t *rows)
{
    if (!p->attends) return unit_few(p, t, keys, rows);
    const struct version *const choice = version_for(p->attend, p->attends, t, keys);
    *rows = choice ? choice->few_rows : 0;
    return choice ? choice->few : NULL;
}

const struct compilation *unit_extend_quadratic(const struct unit *p, const struct target *t)
{
    for (int k = 0; k < p->of_prepareds; k++) {
        const struct compilation *const c = p->of_prepared[k];
        if (c->target == t && program_takes_prepared(&c->program) && !c->program.few && !c->program.by_heads &&
            !c->program.linear)
            return c;
    }
    return unit_defaults(p)->quadratic;
}
