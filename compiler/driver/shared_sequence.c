/* Decides what calls can do that have only some keys of a sequence, which several ranks share. */
#include "unit.h"
#include "../emit/emit.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../variant/variant.h"

#include <string.h>

/* Whether results for different keys add up to the result for all. They do not if a decay begins again, if earlier keys
   correct a value, or if later keys change weights. Calls can leave out the constant of a denominator
   (attn_problem.sink_mode). */
static bool adds_up(const struct spec *spec)
{
    return !spec->decay && !spec->rate && !spec_has_running(spec);
}

/* Whether results of parts of the keys merge, given the sums of a decay's logarithm over the tokens between the parts
   and the queries. */
static bool results_merge(const struct spec *spec)
{
    return !spec->rate && !spec_has_running(spec) &&
           (!spec->decay || (spec->emit & EMIT_STATISTICS && !(spec->emit & EMIT_DECODE) && !spec_may_be_linear(spec)));
}

/* Whether positions may count from problem.first_key. Other forms than the quadratic one count from key 0. */
static bool can_be_in_parts(const struct spec *spec)
{
    return spec->emit & EMIT_STATISTICS && !(spec->emit & EMIT_DECODE) && results_merge(spec) && !spec->linformer &&
           !spec_may_be_linear(spec);
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
                spec_has_constant(p->spec))
                return 0;
        if (degree > power) power = degree;
    }
    return power;
}

/* Returns distances_of a graph of the unit. */
static struct distances distances_of_unit(const struct unit *p, const struct graph *g, int64_t open_keys)
{
    struct distances of = distances_of(g, open_keys, weight_is_of_rotations(p->spec));
    if (!results_merge(p->spec) || graph_find_scan(g) >= 0 || (p->spec->graph && has_prefix_sums(g))) of.period = 0;
    return of;
}

/* Whether a call of backward may have some tokens of a sequence, given sums over the others, if positions count from
   problem.first_key. */
static bool can_have_outer_sums(const struct unit *p)
{
    const struct spec *const spec = p->spec;
    const bool can = spec->emit & EMIT_BACKWARD && spec->emit & EMIT_DECODE && !(spec->emit & EMIT_STATISTICS) &&
                     !spec->linformer && spec_may_be_linear(spec) && mask_shows_all_earlier_keys(spec->mask);
    return can && !integer_arrays(p->graph) && (part_period(p->graph) == 0 || weight_names_positions(spec));
}

/* Whether a call of a linear form may have sums over keys of a sequence. */
static bool can_sum_keys(const struct spec *spec)
{
    return spec->emit & EMIT_STATISTICS && !(spec->emit & EMIT_DECODE) && adds_up(spec) && !spec->linformer &&
           spec_may_be_linear(spec) && (mask_may_show_same_keys(spec->mask) || spec_sums_earlier_keys(spec));
}

/* Whether such a call needs positions that count from problem.first_key. */
static bool sums_name_positions(const struct unit *p)
{
    return can_sum_keys(p->spec) && (!moves_together(p->graph, 1, false) || weight_names_positions(p->spec));
}

/* Makes positions count from problem.first_key, if a call can then have some keys or tokens of a sequence. */
static void count_in_parts(struct unit *p, struct diagnostics *d)
{
    const bool statistics = p->spec->emit & EMIT_STATISTICS,
               of_keys = can_be_in_parts(p->spec) && !distances_of_unit(p, p->graph, 0).period,
               sums = !of_keys && sums_name_positions(p);
    if (!of_keys && !sums && !can_have_outer_sums(p)) return;
    const bool shown = sums && spec_sums_earlier_keys(p->spec) && mask_hides_keys(p->spec->mask);
    const enum counting counting = shown ? COUNT_SHOWN : COUNT_SEQUENCE;
    struct graph *const g = build_graph(p->arena, p->spec, counting, d);
    if (!g || !(statistics ? distances_of_unit(p, g, 0).period : part_period(g))) return;
    p->counting = counting;
    p->graph = g;
    p->kernel.in_parts = true;
    p->kernel.arrays = kernel_arrays(p->spec, g);
}

void share_positions(struct unit *p, struct diagnostics *d)
{
    count_in_parts(p, d);
    if (diagnostics_errors(d)) return;
    const bool opens = p->kernel.in_parts && !spec_has_constant(p->spec);
    p->kernel.distances = distances_of_unit(p, p->graph, opens ? mask_open_beside(p->spec->mask) : 0);
    p->kernel.distances.end_of_keys = mask_end_of_keys(p->spec->mask);
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
    const bool can = can_sum_keys(spec) && (p->kernel.in_parts || !weight_names_positions(spec)) &&
                     moves_together(p->graph, 1, false);
    p->kernel.sums_whole = can && emit_sums_whole(&p->kernel);
    p->kernel.sums_keys = p->kernel.sums_whole ||
                          (can && spec_sums_earlier_keys(spec) && emit_sums_earlier(&p->kernel));
    if (p->kernel.sums_keys) p->kernel.outer_chunk = 1;
    if (p->kernel.sums_keys && !p->kernel.sums_whole) p->kernel.distances.open_keys = mask_open_keys(spec->mask);
    /* another linear form counts positions from key 0 of a call, so its results for parts of the keys do not merge */
    const bool counts = p->kernel.in_parts && spec->emit & EMIT_STATISTICS && !p->kernel.sums_keys;
    for (const struct version *v = NULL; counts && versions_next(&p->kernel.of[STEP_FORWARD], &v);)
        if (v->c->program.linear) p->kernel.distances.period = 0;
}

void share_sums(struct unit *p)
{
    p->kernel.distances.saved_power = saved_power_of(p);
    take_key_sums(p);
    set_decay_params(p);
}
