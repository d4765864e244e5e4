/* attnc explain: what the compiler understood and chose, and what it costs. */
#include "command.h"
#include "command_line.h"
#include "../analysis/analysis.h"
#include "../cost/cost.h"
#include "../driver/driver.h"
#include "../emit/emit.h"
#include "../expression/expression.h"
#include "../host/host.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../target/target.h"
#include "../variant/variant.h"

#include <stdlib.h>
#include <string.h>

static void section(const char *title)
{
    printf("\n%s\n", title);
}

/* One range a line. `every`: those that all queries of the tile see. */
static void print_ranges(const struct compilation *c, const struct stmt *s, bool every)
{
    for (int k = 0; k < s->ranges; k++) {
        const struct range *r = &s->range[k];
        printf("    from %s up to (not with) %s", emit_bound(c, r->from), emit_bound(c, r->to));
        const struct expr *position;
        int64_t keys = 1;
        if (r->drawn && floor_quotient(c->loops->module, r->drawn->arg[1], &position, &keys))
            printf(", of these the blocks of %lld keys drawn for %s block of queries, %lld for each, from seed %llu",
                   (long long)keys, every ? "every" : "some", (long long)r->drawn->draw->count,
                   (unsigned long long)r->drawn->draw->seed);
        printf("\n");
    }
}

/* Which keys of every period the loop takes, or which queries share a tile. */
static void print_period(const struct compilation *c, const struct stmt *s)
{
    const char *phase = emit_bound(c, s->phase);
    long long period = (long long)s->period, last = (long long)s->run - 1;
    if (s->parallel)
        printf("  a tile has queries that are %lld positions apart, which see the same keys\n", period);
    else if (last == 0)
        printf("  of these only the keys that are %s modulo %lld\n", phase, period);
    else
        printf("  of these only the keys that are %s to %s + %lld modulo %lld, %s\n", phase, phase, last, period,
               s->apart ? "one residue at a time" : "one run at a time");
}

static void print_loops(const struct compilation *c, const struct stmt *s)
{
    for (; s; s = s->next) {
        const char *axis = s->op == LOOPS_FOR ? c->loops->module->axis[s->axis].name : "";
        if (s->op == LOOPS_FOR && s->ranges) {
            printf("  for a tile of queries i0 to i1 - 1, keys %s run, %lld at a time, over the union of\n", axis,
                   (long long)s->step);
            print_ranges(c, s, false);
        } else if (s->op == LOOPS_FOR && s->step > 1 && !s->parallel) {
            printf("  for a tile of queries i0 to i1 - 1, keys %s run from %s\n", axis, emit_bound(c, s->from));
            printf("  up to (not with) %s, %lld at a time\n", emit_bound(c, s->to), (long long)s->step);
        }
        if (s->period) print_period(c, s);
        if (s->when) printf("  a tile of keys is left out unless %s\n", emit_bound(c, s->when));
        if (s->op == LOOPS_IF && s->where)
            printf("  a tile of keys is tested against the mask only if %s\n", emit_bound(c, s->where));
        if (s->op == LOOPS_IF && s->ranges) {
            printf("  a tile of keys is tested against the mask only if it is not wholly in the union of\n");
            print_ranges(c, s, true);
        }
        print_loops(c, s->body);
    }
}

/* What is carried from chunk to chunk. */
static void explain_states(const struct compilation *c)
{
    const struct graph *g = c->graph;
    const struct expr *keep = NULL;
    int64_t keys = 0;
    for (int v = 0; v < g->values; v++)
        for (int k = 0; k < g->value[v].rank; k++) {
            const struct axis *axis = &g->module->axis[g->value[v].axes[k]];
            if (axis_is_chunks(axis)) keys = axis->extent;
        }
    if (keys == 0) return;
    if (c->reach)
        printf("  summed over chunks of %lld keys: a query meets the states of the %lld chunks before its own, added "
               "anew for every chunk, and the keys after "
               "them\n",
               (long long)keys, (long long)c->reach);
    else
        printf("  carried over chunks of %lld keys: a query meets the state before the chunk of its last key, and the "
               "keys of that chunk\n",
               (long long)keys);
    for (int v = 0; v < g->values; v++) {
        if (!g->value[v].keep || g->value[v].keep == keep) continue;
        keep = g->value[v].keep;
        struct text text = {0};
        expr_print(g->module, keep, NULL, NULL, NULL, &text);
        printf("  from chunk to chunk a state is multiplied by %s\n", text.data);
        text_free(&text);
    }
}

static bool has_few(const struct unit *p)
{
    for (int k = 0; k < p->versions; k++)
        if (p->version[k].few) return true;
    return false;
}

/* Where few queries have loops of their own. */
static void explain_few(const struct unit *p)
{
    const struct version *v = p->version;
    for (int k = 0; k < p->versions && v[k].target == v[0].target; k++) {
        if (!v[k].few || (k > 0 && v[k - 1].few_rows == v[k].few_rows)) continue;
        const struct module *m = v[k].few->graph->module;
        int64_t chunk = 0;
        for (int a = 0; a < m->axes; a++)
            if (axis_is_chunks(&m->axis[a])) chunk = m->axis[a].extent;
        printf("  few:%s up to %d queries, where the heads that share keys have %lld rows of them or fewer, meet the "
               "keys in chunks of %lld, shared out\n"
               "  among threads; a key is read once for all rows\n",
               v[k].from ? arena_printf(p->arena, " from %lld keys on", (long long)v[k].from) : "", MAX_FEW_QUERIES,
               (long long)v[k].few_rows, (long long)chunk);
    }
}

static void explain_algorithm(const struct unit *p)
{
    const struct compilation *first = p->compilation[0], *linear = NULL;
    for (int k = p->compilations - 1; k >= 0; k--)
        if (p->compilation[k]->linear && p->compilation[k]->target == first->target) linear = p->compilation[k];
    if (!graph_has_pairs(p->graph)) {
        section("Algorithm: linear as it stands");
        printf("  no query meets a key: queries meet sums over all keys\n");
        return;
    }
    section(!linear         ? "Algorithm: quadratic"
            : first->linear ? "Algorithm: linear"
                            : "Algorithm: quadratic for short, linear for long sequences");
    if (!first->linear) printf("  quadratic: every query meets every key that its mask lets it see\n");
    explain_few(p);
    if (!linear) {
        printf("  no linear form: %s\n", p->why_quadratic ? p->why_quadratic : "'algorithm: quadratic' asks for none");
        return;
    }
    long long columns = (long long)p->spec->value_dim + 1, element = dtype_bytes(dtype_of_sums(p->spec->dtype));
    printf("  linear: the weight is an inner product of %lld features; a state of %lld x %lld numbers, %lld bytes, is "
           "their sum over keys\n",
           (long long)linear->features, (long long)linear->features, columns,
           (long long)linear->features * columns * element);
    explain_states(linear);
    struct counts counts;
    const int64_t many = 1 << 14;
    count_work(linear, &(struct problem_size){1, 1, 1, many, many}, many, 0, &counts);
    printf("  %.0f FLOPs for each token and head, whatever the length\n", counts.flops / (double)many);
    printf("  work of %.0f FLOPs of a product, the maps and folds around them included\n", linear_cost(linear));
    int64_t from = 0;
    for (int k = p->versions - 1; k >= 0; k--)
        if (p->version[k].c == linear) from = p->version[k].from;
    if (!first->linear && p->spec->schedules)
        printf("  crossover: by the schedule the linear form is taken from %lld keys on\n", (long long)from);
    else if (!first->linear)
        printf("  crossover: the linear form takes less work from %lld keys on%s\n", (long long)from,
               loops_on_matrix_units(linear->loops)  ? loops_on_matrix_units(first->loops)
                                                           ? ", with both on matrix units"
                                                           : ", with the linear one on matrix units"
               : loops_on_matrix_units(first->loops) ? ", with the quadratic one on matrix units"
               : loops_paired(first->loops)          ? ", with products of bf16 in the quadratic one"
                                                     : "");
}

static void explain_expression(const char *key, const struct expression *e, bool *any)
{
    if (!*any) section("Expressions, as they were understood");
    *any = true;
    struct text text = {0};
    expression_print(e->value, &text);
    printf("  %s: %s\n", key, text.data);
    text_free(&text);
}

static void explain_mask(const struct mask *m, bool *any)
{
    if (m->kind == MASK_EXPR) explain_expression("expr", m->expr, any);
    for (int k = 0; k < m->parts; k++) explain_mask(m->part[k], any);
}

static void explain_expressions(const struct spec *spec)
{
    bool any = false;
    if (spec->similarity.modify) explain_expression("modify", spec->similarity.modify, &any);
    if (spec->similarity.weight) explain_expression("weight", spec->similarity.weight, &any);
    explain_mask(spec->mask, &any);
}

/* What the tables of costs are of: lengths, and the machine if it was asked for. */
struct costs {
    struct lengths lengths;
    int64_t document;
    struct machine *machine; /* NULL: a core as the target's row of the table has it */
    const char *compiler;    /* that the machine was measured with */
    int threads;
};

/* What a unit is held against. */
struct limits {
    struct rates rates; /* those of matrix units, where the first target has some and the machine too */
    double spread;
    int64_t cache;
};

/* The best target that was asked for, or where the machine was, the one that it runs. */
static const struct target *costs_target(const struct unit *p, const struct costs *costs)
{
    const struct target *const here = costs->machine ? unit_target_here(p) : NULL;
    return here ? here : p->compilation[0]->target;
}

static struct limits limits_of(const struct unit *p, const struct costs *costs)
{
    const struct target *target = costs_target(p, costs);
    const enum dtype dtype = p->spec->dtype;
    const bool units = target_has(target, TARGET_MATRIX_UNITS);
    struct limits limits = {nominal_rates(target, dtype), 0, target->l2_bytes};
    struct machine *const m = costs->machine;
    if (m)
        limits = (struct limits){{machine_peak(m, dtype, costs->threads, 0),
                                  units ? machine_unit_peak(m, costs->threads, 0) : 0,
                                  machine_bandwidth(m, costs->threads, 0)},
                                 machine_peak_spread(m, dtype, costs->threads),
                                 machine_cache()};
    if (!units) limits.rates.units = 0;
    return limits;
}

/* What a table is of: forward of as many queries as keys, or of one; a token that follows a state; backward. */
enum costs_of { ALL_QUERIES, ONE_QUERY, ONE_TOKEN, GRADIENTS };

/* The rows of a table. Returns whether all pairs were counted. */
static bool print_costs(const struct unit *p, const struct costs *costs, const struct limits *limits, enum costs_of of)
{
    const struct target *target = costs_target(p, costs);
    bool exact = true;
    printf("  %9s  %-9s  %10s  %10s  %6s  %10s  %10s  %12s  %-8s%s\n", "n", "form", "FLOPs", "visited", "useful",
           "work", "bytes", "FLOPs a byte", "bound by", costs->machine ? "  expected" : "");
    for (int k = 0; k < costs->lengths.count; k++) {
        const int64_t n = costs->lengths.length[k];
        int64_t rows;
        const bool one = of == ONE_QUERY || of == ONE_TOKEN;
        const struct compilation *few = of == ONE_TOKEN ? unit_extend_few(p, target, n, &rows)
                                        : one           ? unit_few(p, target, n, &rows)
                                                        : NULL,
                                 *forward = few               ? few
                                            : of == ONE_TOKEN ? unit_extend_choice(p, target, n)
                                                              : unit_choice(p, target, n),
                                 *whole = !few              ? forward
                                          : of == ONE_TOKEN ? unit_extend_quadratic(p, target)
                                                            : unit_defaults(p)->quadratic;
        const struct program program = of == GRADIENTS ? unit_gradients(p, target, n, true)
                                                       : (struct program){whole, &forward, 1};
        const struct problem_size size = {1, 1, 1, one ? 1 : n, n};
        struct counts counts;
        struct roofline roofline;
        bool memory;
        char time[32], share[16] = "-";
        count_parts(&program, &size, costs->document, costs->machine ? costs->threads : 1, limits->cache, &counts,
                    &roofline);
        double seconds = roofline_seconds(&roofline, &limits->rates, &memory);
        if (counts.visited > 0) snprintf(share, sizeof share, "%.1f%%", 100 * counts.pairs / counts.visited);
        printf("  %9lld  %-9s  %10.4g  %10.4g  %6s  %10.4g  %10.4g  %12.1f  %-8s", (long long)n,
               compilation_form(few ? few : program.whole), counts.flops, counts.visited, share, counts.work,
               counts.bytes, counts.flops / counts.bytes, memory ? "memory" : "compute");
        printf("%s%s\n", costs->machine ? "  " : "", costs->machine ? table_seconds(seconds, time, sizeof time) : "");
        exact &= counts.exact;
    }
    return exact;
}

/* What stands after the rate of vectors: " (products of bf16 on matrix units, AMX: 1024)", or nothing. */
static const char *unit_rate_text(const struct unit *p, const struct costs *costs, double rate)
{
    if (rate <= 0) return "";
    return arena_printf(p->arena, " (products of bf16 on matrix units, %s: %.*f)",
                        target_unit(costs_target(p, costs), TARGET_MATRIX_UNITS), costs->machine ? 1 : 0, rate);
}

static void explain_costs(const struct unit *p, const struct costs *costs, bool quiet)
{
    const struct limits limits = limits_of(p, costs);
    bool ids = false;
    section("Roofline, for one head with n queries and keys");
    if (costs->machine) {
        printf("  this machine, %d thread%s: %.1f GFLOP/s%s, %.1f GB/s of memory; measured with %s\n", costs->threads,
               costs->threads == 1 ? "" : "s", limits.rates.peak / 1e9,
               unit_rate_text(p, costs, limits.rates.units / 1e9), limits.rates.bandwidth / 1e9, costs->compiler);
        if (limits.spread > SPREAD_MAX)
            printf("  ! that peak differed by %.0f%% from turn to turn: something else keeps this machine busy\n",
                   100 * limits.spread);
    } else {
        printf("  a core of %s: %.0f FLOPs%s and %.0f bytes of memory a cycle\n", p->compilation[0]->target->name,
               limits.rates.peak, unit_rate_text(p, costs, limits.rates.units), limits.rates.bandwidth);
    }
    printf("  so memory bounds what has less than %.1f FLOPs of work a byte and arrays that do not fit %lld bytes of "
           "cache\n",
           limits.rates.peak / limits.rates.bandwidth, (long long)limits.cache);
    if (limits.rates.units > 0)
        printf("  and of products on matrix units what has less than %.1f\n",
               limits.rates.units / limits.rates.bandwidth);
    const bool exact = print_costs(p, costs, &limits, ALL_QUERIES);
    if (has_few(p)) {
        printf("  and with one query and n keys\n");
        print_costs(p, costs, &limits, ONE_QUERY);
    }
    if (p->meets) {
        printf("  and for a token after others, n keys in all, which its state has prepared\n");
        print_costs(p, costs, &limits, ONE_TOKEN);
    }
    printf("  FLOPs are those of products, of the pairs that the mask leaves. The loops visit whole tiles: work and "
           "bytes are of all visited pairs;\n"
           "  `useful` is the share of these that the mask leaves. Work has maps too, an exponential at what it takes. "
           "Memory is read once, but keys and\n"
           "  values for every tile of queries where those that a query sees do not fit the cache.\n");
    for (int v = 0; v < p->graph->values; v++) ids |= p->graph->value[v].integers;
    if (ids) printf("  Integer parameters number runs of %lld positions.\n", (long long)costs->document);
    if (!exact) printf("  Pairs under the mask were counted for some queries that stand for their neighbours.\n");
    if (limits.spread > SPREAD_MAX && !quiet)
        fprintf(stderr,
                "attnc: warning: the machine's peak differed by %.0f%% from turn to turn: the times to expect are not "
                "to be relied on\n",
                100 * limits.spread);
}

/* Of each length that has other parts than the one before: which they are, what they keep. */
static void explain_parts(const struct unit *p, const struct costs *costs)
{
    const struct target *target = p->compilation[0]->target;
    const char *last = NULL;
    for (int k = 0; k < costs->lengths.count; k++) {
        const int64_t n = costs->lengths.length[k];
        const struct program program = unit_gradients(p, target, n, true);
        struct text text = {0};
        int64_t workspace = 0;
        for (int part = 0; part < program.parts; part++) {
            const int64_t bytes = loops_bytes(program.part[part]->loops);
            workspace = bytes > workspace ? bytes : workspace;
            text_add(&text, "%s%s", part ? "; " : "", unit_part_name(p, program.part[part]));
        }
        const size_t saved = unit_saved_bytes(p, target, n);
        text_add(&text, "\n  forward saves %s for them; %lld bytes of workspace a thread\n",
                 saved ? arena_printf(p->arena, "%zu bytes a row and head", saved) : "nothing", (long long)workspace);
        if (!last)
            printf("  parts, one after the other: %s", text.data);
        else if (strcmp(text.data, last) != 0)
            printf("  from %lld keys on: %s", (long long)n, text.data);
        last = arena_copy(p->arena, text.data);
        text_free(&text);
    }
}

static void explain_gradients(const struct unit *p, const struct costs *costs)
{
    if (!(p->spec->emit & EMIT_BACKWARD)) return;
    const struct limits limits = limits_of(p, costs);
    section("Gradients, for one head with n queries and keys");
    explain_parts(p, costs);
    print_costs(p, costs, &limits, GRADIENTS);
    printf(
        "  FLOPs count every product once, `visited` the pairs of all parts: those that share no loops compute their "
        "weights again, and so\n"
        "  less is useful.\n");
}

/* The knobs that do something for the spec, with the default on the first target. */
static void explain_knobs_of(const struct unit *p, bool backward)
{
    const struct defaults *u = &p->defaults[0];
    const struct compilation *quadratic = backward ? u->gradients[0] : u->quadratic,
                             *linear = backward ? u->gradients[1] : u->linear;
    struct tune_knob knob, far;
    const char *reason;
    for (int k = 0; k < KNOBS; k++) {
        if (!knob_about(u, backward, quadratic, 0, k, &knob, &reason)) continue;
        struct text by_default = {0}, worth = {0};
        text_add(&by_default, "%lld", (long long)knob.value[knob.default_at]);
        if (quadratic && linear && knob_about(u, backward, linear, 0, k, &far, &reason) &&
            far.value[far.default_at] != knob.value[knob.default_at])
            text_add(&by_default, ", linear %lld", (long long)far.value[far.default_at]);
        for (int v = 0; v < knob.values; v++) text_add(&worth, "%s%lld", v ? " " : "", (long long)knob.value[v]);
        printf("  %-10s %-15s %s\n  %27s%s; worth trying: %s\n", knob_table[k].name, by_default.data, knob.says, "",
               knob_domain(p->arena, k), worth.data);
        text_free(&by_default);
        text_free(&worth);
    }
}

static void print_set(const struct schedule *s)
{
    for (int k = 0; k < s->knobs; k++) printf("%s %s %lld", k ? "," : "", s->knob[k].name, (long long)s->knob[k].value);
}

/* The knobs, and what the schedule sets. */
static void explain_knobs(const struct unit *p)
{
    section("Knobs of schedule:");
    explain_knobs_of(p, false);
    if (p->backwards) {
        printf("  backward: of the gradients; a tile that is not set is each part's own, here the first one's\n");
        explain_knobs_of(p, true);
    }
    for (int e = 0; e < p->spec->schedules; e++) {
        const struct schedule *entry = &p->spec->schedule[e];
        const struct schedule *backward = entry->backward && entry->backward->knobs ? entry->backward : NULL;
        printf("  set%s:", p->spec->schedules > 1 ? arena_printf(p->arena, " from %lld keys on",
                                                                 (long long)(entry->from ? entry->from : 1))
                                                  : "");
        print_set(entry);
        if (backward) printf("%s backward", entry->knobs ? "," : "");
        if (backward) print_set(backward);
        printf("%s\n", entry->knobs || backward ? "" : " nothing");
    }
    for (int k = 0; k < p->versions && p->spec->schedules > 1 && p->version[k].target == p->compilation[0]->target;
         k++) {
        const struct compilation *c = p->version[k].c;
        printf("  from %lld keys on %s runs %s, tiles of %s\n",
               (long long)(p->version[k].from ? p->version[k].from : 1), c->target->name,
               c->linear ? "linear" : "quadratic", compilation_tiles(p->arena, c));
    }
}

/* The tiles of the quadratic form, as loops over keys. */
static void explain_loops(const struct compilation *c)
{
    if (c->linear || !graph_has_pairs(c->graph)) return;
    section("Loops of the quadratic form");
    print_loops(c, c->loops->body);
}

static void explain_targets(const struct unit *p)
{
    section("Targets");
    for (int t = 0; p->compilation[t]; t++)
        printf("  %-10s %2d-byte vectors, %2d registers, %s%s: tiles of %s, %lld bytes of workspace a thread\n",
               p->compilation[t]->target->name, p->compilation[t]->target->vector_bytes,
               p->compilation[t]->target->registers, compilation_form(p->compilation[t]),
               compilation_products(p->compilation[t]), compilation_tiles(p->arena, p->compilation[t]),
               (long long)loops_bytes(p->compilation[t]->loops));
}

static void explain_pairs(const struct unit *p)
{
    const struct spec *spec = p->spec;
    const struct compilation *c = p->compilation[0];
    long long products, scalars;
    count_pair(p->graph, &products, &scalars);
    section("Cost");
    printf("  %lld FLOPs in products and about %lld scalar operations for a pair of query and key that is not masked\n",
           products, scalars);
    long long element = dtype_bytes(spec->dtype), keys = element * (long long)(spec->head_dim + spec->value_dim);
    printf("  %lld bytes read for a key and its value, once for every %lld queries: %.1f FLOPs a byte\n", keys,
           (long long)queries_together(c), (double)products * (double)queries_together(c) / (double)keys);
    printf("  %lld bytes read and %lld written for a query\n", element * (long long)spec->head_dim,
           element * (long long)spec->value_dim);
}

/* How the keys of a state lie in it, where `prepare` makes that a question. */
static void explain_kept_keys(const struct unit *p)
{
    if (p->meets)
        printf("  keys lie in it as `prepare` has made them, once, when they were appended\n");
    else if (prepares_keys(p->spec))
        printf("  keys lie in it as they came, and every token that meets one prepares it again%s\n",
               p->extends ? "" : ": a prepared one is not rounded to 16 bits");
}

/* What decoding has to remember: bytes for a sequence and a head. */
static void explain_state(const struct unit *p)
{
    if (!(p->spec->emit & EMIT_DECODE)) return;
    const struct spec *const spec = p->spec;
    const long long token = (long long)dtype_bytes(spec->dtype) * (spec->head_dim + spec->value_dim),
                    rows = (long long)emit_state_rows(p->read_first, p->read_back,
                                                      p->extends ? p->extend[0].c->chunk : 0, p->folds);
    section("State");
    if (p->read_back < 0) {
        printf("  %lld bytes of key and value for every token, sequence and key/value head, of as many tokens as the "
               "problem's capacity\n",
               token);
        explain_kept_keys(p);
        return;
    }
    const long long sums = p->extends ? (long long)p->extend[0].c->loops->kept : 0, all = sums + rows * token;
    if (p->extends)
        printf("  %lld bytes of sums and the last tokens, up to %lld of %lld bytes", sums, rows, token);
    else if (p->read_first)
        printf("  the first %lld tokens and the last ones, up to %lld of %lld bytes", (long long)p->read_first, rows,
               token);
    else
        printf("  the last tokens, up to %lld of %lld bytes", rows, token);
    printf(": %lld bytes for every sequence and %s, however long it is\n", all,
           p->extends && emit_tasks_over(p->extend[0].c->loops, SIZE_MEMBERS) ? "head" : "key/value head");
    printf("  smaller than all keys and values from %lld tokens on\n", all / token + 1);
    explain_kept_keys(p);
}

static void explain_parameters(const struct graph *g)
{
    const struct module *m = g->module;
    bool any = false;
    for (int v = 0; v < g->values; v++) {
        const struct value *value = &g->value[v];
        if (value->op != GRAPH_PARAM) continue;
        if (!any) section("Parameters");
        any = true;
        printf("  %s [", value->name);
        for (int k = 0; k < value->rank; k++) {
            const struct axis *a = &m->axis[value->axes[k]];
            bool heads = a->source == SIZE_KV_HEADS && k + 1 < value->rank &&
                         m->axis[value->axes[k + 1]].source == SIZE_MEMBERS;
            printf("%s%s", k ? ", " : "", heads ? "heads" : emit_size(m, value->axes[k]));
            k += heads;
        }
        printf("]%s%s%s\n", value->integers ? ", integers" : "",
               value->origin == ORIGIN_LEARNED ? "" : ", from a seed: ", origin_name(value->origin));
    }
}

/* --emit graph, --emit loops: the two IRs. */
static void explain_ir(const struct unit *p, unsigned emit)
{
    struct text text = {0};
    if (emit & 1U << OUTPUT_graph) {
        section("What it computes");
        graph_print(p->graph, &text);
        for (char *line = strtok(text.data, "\n"); line; line = strtok(NULL, "\n"))
            if (line[0] == '%' || strncmp(line, "output", 6) == 0) printf("  %s\n", line);
    }
    text_free(&text);
    if (emit & 1U << OUTPUT_loops) {
        section(arena_printf(p->arena, "Loops for %s", p->compilation[0]->target->name));
        loops_print(p->compilation[0]->loops, &text);
        fputs(text.data, stdout);
    }
    text_free(&text);
}

/* The answer comes first: the form that is taken, why, and what that costs. */
static void explain(const struct unit *p, const struct costs *costs, const struct options *o)
{
    const struct spec *spec = p->spec;
    printf("%s: head_dim %lld, value_dim %lld, %s\n", spec->name, (long long)spec->head_dim, (long long)spec->value_dim,
           dtype_name(spec->dtype));
    if (*spec->description)
        print_plain(stdout, arena_printf(p->arena, "%.*s\n", (int)strcspn(spec->description, "\n"), spec->description));
    explain_algorithm(p);
    explain_pairs(p);
    explain_costs(p, costs, o->console.quiet);
    explain_gradients(p, costs);
    explain_state(p);
    explain_targets(p);
    explain_expressions(spec);
    explain_loops(p->compilation[0]);
    explain_knobs(p);
    explain_parameters(p->graph);
    explain_ir(p, o->emit);
}

int command_explain(const struct options *o)
{
    if (o->files == 0) {
        complain(o, "explain takes a spec: attnc explain SPEC.yaml");
        return STATUS_USAGE;
    }
    struct costs costs = {.threads = o->threads};
    if (!lengths_read(o, "1k,4k,16k,64k", &costs.lengths) || !document_read(o, &costs.document)) return STATUS_USAGE;
    enum status worst = STATUS_DONE;
    struct arena *arena = arena_new();
    if (o->machine) costs.machine = machine_open(arena, o->console.quiet, &worst);
    if (costs.machine && costs.threads == 0) costs.threads = machine_threads(costs.machine);
    if (costs.machine && !(costs.compiler = compiler_version(arena, &o->console))) worst = STATUS_MACHINE;
    for (int k = 0; k < o->files && worst != STATUS_MACHINE; k++) {
        enum status status;
        struct unit *p = unit_make(o->file[k], o, &status);
        if (p && k) printf("\n");
        if (p) unit_warn(p, o);
        if (p) explain(p, &costs, o);
        unit_free(p);
        if (status > worst) worst = status;
    }
    machine_close(costs.machine);
    arena_free(arena);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        complain(o, "cannot write to standard output");
        worst = STATUS_MACHINE;
    }
    return (int)worst;
}
