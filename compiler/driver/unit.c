/* Makes a unit from a spec: reads, checks, compiles for every target, and emits C. */
#include "driver.h"
#include "unit.h"
#include "../analysis/analysis.h"
#include "../emit/emit.h"
#include "../expression/expression.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../target/target.h"
#include "../variant/variant.h"

#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Adds the word in single quotes for a shell. */
static void add_quoted(struct text *out, const char *word)
{
    text_add(out, "'");
    for (const char *c = word; *c; c++)
        if (*c == '\'')
            text_add(out, "'\\''");
        else
            text_append(out, c, 1);
    text_add(out, "'");
}

/* Returns an attnc command that makes the same output. The command leaves out the spec's folder. */
static const char *reproducing(struct arena *arena, const char *file, const struct options *o, const struct unit *p)
{
    struct text t = {0};
    const char *name = base_name(file);
    text_add(&t, "attnc ");
    if (name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+,=@%")])
        add_quoted(&t, name);
    else
        text_add(&t, "%s", name);
    if (o->named_targets) {
        text_add(&t, " --target ");
        for (int k = 0; k < o->targets; k++) text_add(&t, "%s%s", k ? "," : "", o->target[k]->name);
    }
    if (o->standalone) text_add(&t, " --standalone");
    if (o->tuned) text_add(&t, " --tuned");
    if (p->asked)
        text_add(&t, " --set 'emit=[forward%s%s]'", p->spec->emit & EMIT_BACKWARD ? ", backward" : "",
                 p->spec->emit & EMIT_DECODE ? ", decode" : "");
    for (int k = 0; k < o->sets; k++) {
        text_add(&t, " --set ");
        add_quoted(&t, o->set[k]);
    }
    const char *made = arena_copy(arena, t.data);
    text_free(&t);
    return made;
}

/* Replaces the schedule of the spec by a copy of s. */
static void take_schedule(struct spec *spec, struct arena *arena, const struct schedule *s)
{
    spec->schedule = arena_alloc(arena, sizeof *spec->schedule);
    *spec->schedule = *s;
    spec->schedules = s->knobs > 0 || s->backward;
}

/* Reports arrays of the spec that have the name of another parameter in C, such as features_w and features.w, or class_
   and class. */
static void check_members(const struct unit *p, struct diagnostics *d)
{
    for (int k = 0; k < p->spec->arrays.count; k++) {
        const struct user_array *const own = &p->spec->arrays.array[k];
        for (int n = 0; n < p->kernel.arrays->count; n++) {
            const struct kernel_array *const a = &p->kernel.arrays->array[n];
            if (a->place == PLACE_PARAMS && strcmp(a->member, own->name) == 0 && strcmp(a->name, own->name) != 0)
                diagnostics_error(d, own->at, "'arrays': '%s' is the parameter '%s' in C; choose another name",
                                  own->name, a->name);
        }
    }
}

/* Reports prefix sums of a user's graph that no kernel computes. It computes those of one value, up to each query and
   up to each key. */
static void check_prefix_sums(const struct graph *g, struct diagnostics *d)
{
    struct prefix_sum sum;
    int terms = -1, count[2] = {0, 0};
    bool same = true;
    for (int v = 0; v < g->values; v++) {
        if (!prefix_sum_of(g, v, &sum)) continue;
        same &= terms < 0 || sum.terms == terms;
        terms = sum.terms;
        count[sum.of_query]++;
    }
    if (terms < 0 || (same && count[0] == 1 && count[1] == 1)) return;
    diagnostics_error(d, (struct position){0, 0},
                      "sums up to a position are compiled only as one sum up to each query and one up to each key, "
                      "of the same value");
}

/* Whether an inner product of a rotated query and a rotated key is all that depends on rotations. It then depends only
   on the difference of their positions, although the rotated rows do not. */
static bool rotates_pairs(const struct spec *spec)
{
    const enum similarity_kind kind = spec->similarity.kind;
    bool rotated = false, pairs = spec->similarity.compatibility == COMPATIBILITY_DOT &&
                                  (kind == SIMILARITY_SOFTMAX || kind == SIMILARITY_POLYNOMIAL);
    for (int k = 0; k < spec->prepares; k++) {
        const struct prepare *const step = &spec->prepare[k];
        const bool rope = step->kind == PREPARE_ROPE;
        pairs &= rope ? !step->angle : !rotated || step->kind == PREPARE_SCALE;
        rotated |= rope;
    }
    return rotated && pairs;
}

/* Whether results for different keys add up to the result for all. They do not if a decay begins again, or if earlier
   keys correct a value. Calls can leave out the constant of a denominator (attn_problem.sink_mode). */
static bool adds_up(const struct spec *spec)
{
    return !spec->decay && !spec->rate;
}

/* Whether results of parts of the keys merge, given the sums of a decay's logarithm over the tokens between the parts
   and the queries. */
static bool results_merge(const struct spec *spec)
{
    return !spec->rate &&
           (!spec->decay || (spec->emit & EMIT_STATISTICS && !(spec->emit & EMIT_DECODE) &&
                             (spec->similarity.kind == SIMILARITY_SOFTMAX || spec->algorithm == ALGORITHM_QUADRATIC)));
}

/* Whether positions may count from problem.first_key. Other forms than the quadratic one count from key 0. */
static bool can_be_in_parts(const struct spec *spec)
{
    return spec->emit & EMIT_STATISTICS && !(spec->emit & EMIT_DECODE) && results_merge(spec) && !spec->linformer &&
           (spec->similarity.kind == SIMILARITY_SOFTMAX || spec->algorithm == ALGORITHM_QUADRATIC);
}

/* Returns saved_power of struct attn_kernel. */
static int64_t saved_power_of(const struct unit *p)
{
    int64_t power = spec_statistics(p->spec) == STATISTICS_ABSENT || spec_statistics(p->spec) == STATISTICS_UNDIVIDED
                        ? 0
                        : p->kernel.saved == 1;
    for (int k = 0; k < p->kernel.compilations && power; k++) {
        const struct graph *const g = p->kernel.compilation[k]->graph;
        const int64_t degree = relative_degree(g);
        bool exponent = false; /* sums are divided by exponentials of a maximum */
        for (int v = 0; v < g->values; v++) exponent |= g->value[v].online >= 0 && g->value[v].power == 0;
        if (exponent && !spec_has_logarithms(p->spec)) return 0;
        /* a saved sum without the constant of the denominator, for weights that are constant */
        for (int o = 1; o < g->outputs; o++)
            if (strncmp(g->output[o].name, "saved", 5) == 0 && g->value[g->output[o].value].op == GRAPH_REDUCE &&
                p->spec->normalize != NORMALIZE_SUM)
                return 0;
        if (degree > power) power = degree;
    }
    return power;
}

/* Returns distances_of the graph. Rotations do not count if results depend only on differences of their angles. */
static struct distances distances_of_unit(const struct unit *p, struct diagnostics *d)
{
    struct distances of = distances_of(p->graph);
    const bool merge = results_merge(p->spec) && !(p->spec->graph && has_prefix_sums(p->graph));
    if (!merge) of.period = 0;
    if (of.period || !merge || !rotates_pairs(p->spec)) return of;
    struct spec without = *p->spec;
    without.prepare = arena_alloc(p->arena, (size_t)without.prepares * sizeof *without.prepare);
    without.prepares = 0;
    for (int k = 0; k < p->spec->prepares; k++)
        if (p->spec->prepare[k].kind != PREPARE_ROPE) without.prepare[without.prepares++] = p->spec->prepare[k];
    of.period = distances_of(build_graph(p->arena, &without, d)).period;
    return of;
}

/* Sets the limits of masks that count positions from the first key. `any` of a prefix and of other masks has the
   distances of the others, but for the keys of the prefix. */
static void set_ends(struct unit *p, struct diagnostics *d)
{
    const struct mask *const mask = p->spec->mask, *const prefix = mask_requires(mask, MASK_PREFIX);
    p->kernel.distances.end_of_keys = prefix ? prefix->length : INT64_MAX;
    if (!p->spec->in_parts || !mask || mask->kind != MASK_ANY || p->spec->normalize == NORMALIZE_SINK ||
        p->spec->normalize == NORMALIZE_SUM_PLUS)
        return;
    struct mask others = *mask;
    int64_t open = 0;
    others.part = arena_alloc(p->arena, (size_t)mask->parts * sizeof *others.part);
    others.parts = 0;
    for (int k = 0; k < mask->parts; k++)
        if (mask->part[k]->kind != MASK_PREFIX)
            others.part[others.parts++] = mask->part[k];
        else if (mask->part[k]->length > open)
            open = mask->part[k]->length;
    if (!open || !others.parts) return;
    struct spec without = *p->spec;
    without.mask = &others;
    const struct distances of = distances_of(build_graph(p->arena, &without, d));
    p->kernel.distances.before = of.before;
    p->kernel.distances.after = of.after;
    p->kernel.distances.open_keys = of.before < INT64_MAX || of.after < INT64_MAX ? open : 0;
}

/* Whether a call of backward may have some tokens of a sequence, given sums over the others, if positions count from
   problem.first_key. */
static bool can_have_outer_sums(const struct unit *p)
{
    const struct spec *const spec = p->spec;
    bool can = spec->emit & EMIT_BACKWARD && spec->emit & EMIT_DECODE && !(spec->emit & EMIT_STATISTICS) &&
               !spec->linformer && spec->similarity.kind != SIMILARITY_SOFTMAX &&
               spec->algorithm != ALGORITHM_QUADRATIC && spec->mask && spec->mask->kind == MASK_CAUSAL;
    for (int v = 0; v < p->graph->values; v++) can &= !p->graph->value[v].integers;
    return can && (part_period(p->graph) == 0 || weight_names_positions(spec));
}

/* Whether a mask may let all queries see the same keys. */
static bool may_show_same_keys(const struct mask *mask)
{
    if (!mask) return true;
    const enum mask_kind kind = mask->kind;
    bool same = kind == MASK_NONE || kind == MASK_LENGTHS || kind == MASK_PREFIX || kind == MASK_EXPR ||
                kind == MASK_ALL || kind == MASK_ANY;
    for (int k = 0; k < mask->parts; k++) same &= may_show_same_keys(mask->part[k]);
    return same;
}

/* Whether a call of a linear form may have sums over keys of a sequence. */
static bool can_sum_keys(const struct spec *spec)
{
    return spec->emit & EMIT_STATISTICS && !(spec->emit & EMIT_DECODE) && adds_up(spec) && !spec->linformer &&
           spec->similarity.kind != SIMILARITY_SOFTMAX && spec->algorithm != ALGORITHM_QUADRATIC &&
           (may_show_same_keys(spec->mask) || spec_sums_earlier_keys(spec));
}

/* Whether such a call needs positions that count from problem.first_key. */
static bool sums_name_positions(const struct unit *p)
{
    return can_sum_keys(p->spec) && (distances_of(p->graph).period != 1 || weight_names_positions(p->spec));
}

/* Returns the conditions of the mask on keys alone if `of_keys`, else the others. NULL: there are none. */
static const struct mask *part_of_mask(const struct unit *p, bool of_keys)
{
    const struct mask *const mask = p->spec->mask;
    if (mask_is_of_order(mask)) return of_keys ? NULL : mask;
    struct mask *const part = arena_alloc(p->arena, sizeof *part);
    *part = *mask;
    part->part = arena_alloc(p->arena, (size_t)part->parts * sizeof *part->part);
    part->parts = 0;
    for (int k = 0; k < mask->parts; k++)
        if (mask_is_of_order(mask->part[k]) != of_keys) part->part[part->parts++] = mask->part[k];
    return part->parts ? part : NULL;
}

/* Makes positions count from problem.first_key, if a call can then have some keys or tokens of a sequence. */
static void count_in_parts(struct unit *p, struct diagnostics *d)
{
    const bool of_keys = !p->kernel.distances.period && can_be_in_parts(p->spec);
    struct unit parts = *p;
    if (!of_keys && !can_have_outer_sums(p) && !sums_name_positions(p)) return;
    struct spec *const spec = arena_alloc(p->arena, sizeof *spec);
    *spec = *p->spec;
    spec->in_parts = true;
    if (!of_keys && sums_name_positions(p) && spec_sums_earlier_keys(spec)) {
        spec->key_mask = part_of_mask(p, true);
        spec->order_mask = part_of_mask(p, false);
    }
    parts.spec = spec;
    parts.graph = build_graph(p->arena, spec, d);
    if (!parts.graph) return;
    parts.kernel.distances = distances_of_unit(&parts, d);
    const bool moves = p->spec->emit & EMIT_STATISTICS ? parts.kernel.distances.period : part_period(parts.graph);
    if (!moves) return;
    p->spec->in_parts = true;
    p->spec->key_mask = spec->key_mask;
    p->spec->order_mask = spec->order_mask;
    p->graph = parts.graph;
    p->kernel.arrays = kernel_arrays(p->spec, p->graph);
    p->kernel.distances = parts.kernel.distances;
}

/* Sets decay_params. A gradient of a parameter that other parts of a weight read, too, would have to be summed from
   both parts: results for parts of the keys are then not merged. */
static void set_decay_params(struct unit *p)
{
    int number = 0;
    for (int k = 0; k < p->kernel.arrays->count; k++) {
        const struct kernel_array *const a = &p->kernel.arrays->array[k];
        if (a->place != PLACE_PARAMS) continue;
        const bool terms = prefix_terms_read(p->graph, a->name), others = terms && others_read(p->graph, a->name);
        if (terms && (number >= 64 || (others && p->spec->emit & EMIT_BACKWARD && a->origin == ORIGIN_LEARNED)))
            p->kernel.distances.period = 0;
        if (terms && !others && number < 64) p->kernel.decay_params |= UINT64_C(1) << number;
        number++;
    }
}

/* Lets calls have some keys of a sequence, and read sums over all of them or over earlier ones. */
static void take_key_sums(struct unit *p)
{
    const struct spec *const spec = p->spec;
    const bool can = can_sum_keys(spec) && (spec->in_parts || !weight_names_positions(spec)) &&
                     distances_of(p->graph).period == 1;
    p->kernel.sums_whole = can && emit_sums_whole(&p->kernel);
    p->kernel.sums_keys = p->kernel.sums_whole ||
                          (can && spec_sums_earlier_keys(spec) && emit_sums_earlier(&p->kernel));
    if (p->kernel.sums_keys) p->kernel.outer_chunk = 1;
    if (p->kernel.sums_keys && !p->kernel.sums_whole) p->kernel.distances.open_keys = mask_open_keys(spec->mask);
    /* another linear form counts positions from key 0 of a call, so its results for parts of the keys do not merge */
    const bool counts = spec->in_parts && spec->emit & EMIT_STATISTICS && !p->kernel.sums_keys;
    for (const struct version *v = NULL; counts && versions_next(&p->kernel.of[STEP_FORWARD], &v);)
        if (v->c->program.linear) p->kernel.distances.period = 0;
}

/* Returns the target to load on this machine, or NULL for all targets. */
static const struct target *target_to_load(const struct unit *p, const struct options *o)
{
    return o->named_targets ? NULL : unit_target_here(p);
}

struct unit *unit_make(const char *file, const struct options *o, enum status *status)
{
    struct text source = {0};
    *status = read_spec_file(file, o, &source);
    if (*status != STATUS_DONE) {
        text_free(&source);
        return NULL;
    }
    struct arena *arena = arena_new();
    struct unit *p = arena_alloc(arena, sizeof *p);
    p->arena = arena;
    p->file = arena_copy(arena, file);
    p->text = memcpy(arena_alloc(arena, source.length + 1), source.data, source.length);
    p->text_length = source.length;
    struct diagnostics *d = diagnostics_new(arena, file, source.data, source.length);
    p->spec = source_read(arena, file, source.data, source.length, o->sets, o->set, d);
    p->kernel.spec = p->spec;
    if (p->spec && o->no_remainders) spec_warn(p->spec, true, d);
    if (p->spec && o->schedule) take_schedule(p->spec, arena, o->schedule);
    if (p->spec) {
        const unsigned wanted = (o->backward ? EMIT_BACKWARD : 0U) | (o->chunks || o->decode ? EMIT_DECODE : 0U);
        p->asked = wanted & ~(unsigned)p->spec->emit;
        if (p->asked && p->spec->emit & EMIT_JVP)
            diagnostics_error(d, p->spec->emit_at,
                              "'jvp' stands alone: a kernel of tangents has no gradients and no state");
        p->spec->emit |= p->asked;
    }
    if (p->spec && o->python) python_check_name(p->spec, d);
    if (p->spec) p->graph = build_graph(arena, p->spec, d);
    if (p->graph) p->kernel.arrays = kernel_arrays(p->spec, p->graph);
    if (p->graph) check_members(p, d);
    if (p->graph && p->spec->graph) check_prefix_sums(p->graph, d);
    if (p->graph) unit_check_decay(p, d);
    if (p->graph && diagnostics_errors(d) == 0) p->kernel.distances = distances_of_unit(p, d);
    if (p->graph && diagnostics_errors(d) == 0) count_in_parts(p, d);
    if (p->graph && diagnostics_errors(d) == 0) set_ends(p, d);
    bool good = p->graph != NULL && diagnostics_errors(d) == 0 &&
                (!(p->spec->emit & EMIT_DECODE) || unit_can_decode(p, p->asked & EMIT_DECODE, d));
    const struct target *target[MAX_VERSIONS];
    int targets = 0;
    for (int t = 0; p->spec && t < o->targets; t++)
        targets += target_versions(arena, o->target[t], p->spec->dtype, target + targets);
    if (o->only_here && !o->named_targets) targets = targets_to_load(target, targets, target_runs);
    struct diagnostics *of_schedule = d;
    if (good && o->tuned && !o->schedule) good = tuned_schedule(p, file, o, &of_schedule, status);
    good = good && versions_make(p, target, targets, o, d, of_schedule);
    if (good) p->kernel.distances.saved_power = saved_power_of(p);
    if (good) take_key_sums(p);
    if (good) set_decay_params(p);
    if (!good && p->asked & EMIT_BACKWARD && diagnostics_errors(d))
        diagnostics_note(d, (struct position){0, 0},
                         "--backward asks for gradients, as 'emit: [forward, backward]' does");
    if (!good && p->asked & EMIT_DECODE && diagnostics_errors(d))
        diagnostics_note(d, (struct position){0, 0}, "%s asks for a state, as 'emit: [forward, decode]' does",
                         o->decode ? "--decode" : "--chunks");
    if (diagnostics_flush(d, stderr, o->console.color) > 0) good = false;
    if (of_schedule != d && diagnostics_flush(of_schedule, stderr, o->console.color) > 0) good = false;
    text_free(&source);
    if (!good) {
        if (*status == STATUS_DONE) *status = expression_library_missing() ? STATUS_MACHINE : STATUS_INPUT;
        unit_free(p);
        return NULL;
    }
    p->kernel.standalone = o->standalone;
    p->command = reproducing(arena, file, o, p);
    if (!o->emit) return p;
    if (!o->only_here || !target_to_load(p, o)) emit_source(&p->kernel, NULL, p->command, &p->source);
    emit_header(&p->kernel, p->command, &p->header);
    return p;
}

bool unit_allows(const struct unit *p, const struct options *o, int64_t length)
{
    const int64_t most = p->spec->max_length;
    if (!most || length <= most) return true;
    complain(o, "%s: max_length is %lld, so a length of %lld is too large; give other lengths", p->spec->name,
             (long long)most, (long long)length);
    return false;
}

void unit_warn(const struct unit *p, const struct options *o)
{
    if (o->console.quiet) return;
    struct diagnostics *d = diagnostics_new(p->arena, p->file, p->text, p->text_length);
    spec_warn(p->spec, false, d);
    for (int k = 0; k < p->spec->arrays.count; k++) {
        const struct user_array *const a = &p->spec->arrays.array[k];
        if (graph_find(p->graph, a->name) < 0)
            diagnostics_warning(d, a->at, "no expression reads the array '%s', so the kernel does not take it",
                                a->name);
    }
    overflow_warn(p->spec, p->graph, p->kernel.compilation, p->kernel.compilations, d);
    bool gradients = false;
    for (const struct version *v = NULL; versions_next(&p->kernel.of[STEP_BACKWARD], &v);)
        gradients |= v->c->gradients.overflows;
    if (gradients) {
        diagnostics_warning(d, p->spec->similarity.at,
                            "gradients of the linear form overflow if the exponent of a factor of the weight is large");
        diagnostics_note(d, p->spec->similarity.at,
                         "bound the exponent, or compute gradients of such weights with 'algorithm: quadratic'");
    }
    diagnostics_flush(d, stderr, o->console.color);
}

void unit_emit_here(const struct unit *p, const struct options *o, const char *command, struct text *source,
                    struct text *header)
{
    emit_source(&p->kernel, target_to_load(p, o), command, source);
    emit_header(&p->kernel, command, header);
}

const char *unit_source_here(struct unit *p, const struct options *o)
{
    const struct target *here = target_to_load(p, o);
    if (!here) return p->source.data;
    if (!p->source_here.data)
        emit_source(&p->kernel, here, arena_printf(p->arena, "%s --target %s", p->command, here->name),
                    &p->source_here);
    return p->source_here.data;
}

void unit_free(struct unit *p)
{
    if (!p) return;
    text_free(&p->source_here);
    text_free(&p->source);
    text_free(&p->header);
    arena_free(p->arena);
}

bool unit_drawn_range(const void *unit, const char *param, double *low, double *high)
{
    const struct unit *const p = unit;
    struct expr_range range;
    if (!drawn_range(p->spec, param, &range)) return false;
    *low = range.low;
    *high = range.high;
    return true;
}
