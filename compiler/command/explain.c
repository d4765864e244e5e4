/* attnc explain: prints how the compiler understood a spec, its choices, and the cost of the kernel. */
#include "explain_costs.h"
#include "command.h"
#include "command_line.h"
#include "../cost/cost.h"
#include "../driver/driver.h"
#include "../emit/emit.h"
#include "../expression/expression.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../target/target.h"
#include "../view/view.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Prints each range of keys of a loop or test. If `every` is true, all queries of a tile see all these keys.
   Otherwise each key is seen by at least one of the queries. */
static void print_ranges(const struct compilation *c, const struct stmt *s, bool every, int indent)
{
    for (int k = 0; k < s->ranges; k++) {
        const struct range *r = &s->range[k];
        printf("%*sfrom %s up to but excluding %s", indent + 2, "", emit_bound(c, r->from), emit_bound(c, r->to));
        const struct expr *position;
        int64_t keys = 1;
        if (r->drawn && floor_quotient(c->loops->module, r->drawn->arg[1], &position, &keys) && r->drawn->draw->name)
            printf(", only in blocks of %lld keys that '%s' lists for %s block of queries: up to %lld blocks for each",
                   (long long)keys, r->drawn->draw->name, every ? "every" : "some", (long long)r->drawn->draw->count);
        else if (r->drawn && floor_quotient(c->loops->module, r->drawn->arg[1], &position, &keys))
            printf(", only in blocks of %lld keys that are drawn at random for %s block of queries: %lld blocks for "
                   "each, from seed %llu",
                   (long long)keys, every ? "every" : "some", (long long)r->drawn->draw->count,
                   (unsigned long long)r->drawn->draw->seed);
        printf("\n");
    }
}

/* Prints the keys of a period that a loop visits, or the queries that share a tile, for a periodic mask. */
static void print_period(const struct compilation *c, const struct stmt *s, int indent)
{
    const char *phase = emit_bound(c, s->phase);
    long long period = (long long)s->period, last = (long long)s->run - 1;
    printf("%*s", indent, "");
    if (s->parallel)
        printf("a tile has queries that are %lld positions apart, because these see the same keys\n", period);
    else if (last == 0)
        printf("of these only the keys that are %s modulo %lld\n", phase, period);
    else
        printf("of these only the keys that are %s to %s + %lld modulo %lld, %s\n", phase, phase, last, period,
               s->apart ? "one residue at a time" : "one run at a time");
}

/* Prints a loop over tiles, and the tiles that it skips. */
static void print_loop(const struct compilation *c, const struct stmt *s, int indent)
{
    const struct axis *axis = &c->loops->module->axis[s->axis];
    const char *const over = axis->source == SIZE_N_K ? "keys" : axis->source == SIZE_N_Q ? "queries" : "";
    if (s->ranges) {
        printf("%*sfor a tile of queries i0 to i1 - 1, keys %s are visited %lld at a time, over the union of\n", indent,
               "", axis->name, (long long)s->step);
        print_ranges(c, s, false, indent);
    } else if (s->step > 1 && !s->parallel) {
        if (axis->source == SIZE_N_K)
            printf("%*sfor a tile of queries i0 to i1 - 1, keys %s run from %s\n%*s", indent, "", axis->name,
                   emit_bound(c, s->from), indent, "");
        else
            printf("%*s%s%s%s from %s ", indent, "", *over ? "queries " : "", axis->name,
                   *over ? " of the tile run" : " runs", emit_bound(c, s->from));
        printf("up to but excluding %s, %lld at a time\n", emit_bound(c, s->to), (long long)s->step);
    }
    if (s->period) print_period(c, s, indent);
    if (s->when)
        printf("%*sa tile of %s is skipped unless %s\n", indent, "", *over ? over : axis->name, emit_bound(c, s->when));
}

static void print_loops(const struct compilation *c, const struct stmt *s, int indent)
{
    const struct expr *tested = NULL; /* several statements may have the same test */
    for (; s; s = s->next) {
        const bool loop = s->op == LOOPS_FOR;
        if (loop) print_loop(c, s, indent);
        const bool whole = s->op == LOOPS_IF && s->where && s->where->op == EXPR_NOT; /* follows its opposite */
        if (s->op == LOOPS_IF && s->where && s->where != tested && !whole)
            printf("%*sa tile of keys is tested against the mask only if %s\n", indent, "", emit_bound(c, s->where));
        if (s->op == LOOPS_IF && !whole) tested = s->where;
        if (s->op == LOOPS_IF && s->ranges) {
            printf("%*sa tile of keys is tested against the mask only if it is not wholly in the union of\n", indent,
                   "");
            print_ranges(c, s, true, indent);
        }
        print_loops(c, s->body, indent + (loop && !s->parallel ? 2 : 0));
    }
}

/* Prints the state that is carried from chunk to chunk. */
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
    if (c->separated.reach)
        printf("  summed over chunks of %lld keys: for every chunk of queries, the states of the %lld chunks before it "
               "are added; a query is multiplied with this sum, and attends to the keys after these chunks\n",
               (long long)keys, (long long)c->separated.reach);
    else
        printf("  carried over chunks of %lld keys: a query attends to the keys of the chunk with its last visible "
               "key, and is multiplied with the state of all chunks before that one\n",
               (long long)keys);
    for (int v = 0; v < g->values; v++) {
        if (!g->value[v].keep || g->value[v].keep == keep) continue;
        keep = g->value[v].keep;
        struct text text = {0};
        if (g->value[v].operands > graph_summed(&g->value[v]))
            text_add(&text, "the decay over the chunk");
        else
            expression_print(keep, NULL, g->module, &text);
        printf("  from chunk to chunk a state is multiplied by %s\n", text.data);
        text_free(&text);
    }
}

/* Prints the maximum number of rows for the version for few queries. It may depend on the number of keys. */
static void explain_few(const struct unit *p)
{
    const struct version *v = p->kernel.of[STEP_FORWARD].version, *first = NULL, *last = NULL;
    struct text more = {0};
    for (int k = 0; k < p->kernel.of[STEP_FORWARD].count && v[k].target == v[0].target; k++) {
        const int64_t rows = v[k].few ? v[k].few_rows : 0, chunk = v[k].few ? keys_of_chunk(v[k].few) : 0;
        if (!first && !v[k].few) continue;
        if (first && (rows != (last->few ? last->few_rows : 0) || (rows && chunk != keys_of_chunk(first->few))))
            text_add(&more, ", from %lld keys on %lld", (long long)v[k].from, (long long)rows);
        if (first && rows && chunk != keys_of_chunk(first->few))
            text_add(&more, " in chunks of %lld", (long long)chunk);
        first = first ? first : &v[k];
        last = &v[k];
    }
    if (first)
        printf("  few:%s up to %d queries, if the heads that share keys have at most %lld rows of queries%s;\n"
               "   threads share the keys in chunks of %lld; a key is read once for all rows\n",
               first->from ? arena_printf(p->arena, " from %lld keys on", (long long)first->from) : "", MAX_FEW_QUERIES,
               (long long)first->few_rows, more.length ? arena_printf(p->arena, " (%s)", more.data + strlen(", ")) : "",
               (long long)keys_of_chunk(first->few));
    if (first && first->heads && loops_gather(first->heads->loops))
        printf("  heads: calls that save nothing for gradients; a tile has one query of up to %lld heads that share "
               "keys,\n"
               "  and reads only the rows of its listed keys, once for all of them\n",
               (long long)first->heads->tiling.tile_q);
    else if (first && first->heads)
        printf("  heads: up to %d queries, if at least %d heads share keys (with several queries, if all heads do);\n"
               "  a tile has one query of up to %lld heads, and reads each key once for all of them\n",
               MAX_FEW_QUERIES, MANY_HEADS, (long long)first->heads->tiling.tile_q);
    text_free(&more);
}

static bool fades(const struct versions *list)
{
    for (const struct version *v = NULL; versions_next(list, &v);)
        if (loops_fade(v->c->loops)) return true;
    return false;
}

/* Says whether tiles are skipped because of a decay. */
static void explain_faded(const struct unit *p)
{
    const bool forward = fades(&p->kernel.of[STEP_FORWARD]), backward = fades(&p->kernel.of[STEP_BACKWARD]);
    if (!forward && !backward) return;
    printf("  skips tiles that the decay empties, in %s: if no weight of a tile can be more than 2^-%d / n_k of its\n"
           "  query's sum, by the norms of its queries and keys; 'schedule: {faded: 0}' computes them\n",
           forward && backward ? "forward and backward"
           : forward           ? "forward"
                               : "backward",
           p->spec->dtype == DTYPE_F64 ? 53 : 24);
}

/* Prints how the kernel avoids overflow of high powers, or the base above which the weight overflows. */
static void explain_powers(const struct unit *p, const struct compilation *c)
{
    static const double FROM = 8; /* below this degree, only bases above 65536 overflow in f32 */
    const double growth = weight_growth(p->graph);
    const int64_t degree = relative_degree(c->graph);
    const char *sums = dtype_name(dtype_of_sums(p->spec->dtype));
    if (degree)
        printf("  powers of degree %lld are computed relative to the largest of their row, so that none overflows "
               "(from degree %lld on in %s)\n",
               (long long)degree, (long long)overflow_degree(p->spec->dtype), sums);
    else if (growth >= FROM)
        printf(
            "  a weight of degree %.0f overflows %s if its base exceeds %.0f, and underflows if all bases of a row are "
            "below %.2g\n",
            growth, sums, overflow_base(p->spec->dtype, growth), underflow_base(p->spec->dtype, growth));
}

/* Prints what dropout does, and what its random numbers cost. */
static void explain_dropout(const struct unit *p)
{
    const struct target *const target = p->kernel.compilation[0]->target;
    if (p->spec->dropout == 0) return;
    printf("  dropout: drops a weight with probability %g; which takes about %.1f cycles a pair with %s\n",
           p->spec->dropout, random_cycles(target, p->spec->dtype), target->vectors);
    if (p->spec->emit & EMIT_DECODE) printf("  NAME_extend drops nothing\n");
}

static void explain_algorithm(const struct unit *p)
{
    const struct compilation *first = p->kernel.compilation[0], *linear = NULL;
    for (int k = p->kernel.compilations - 1; k >= 0; k--)
        if (p->kernel.compilation[k]->program.linear && p->kernel.compilation[k]->target == first->target)
            linear = p->kernel.compilation[k];
    if (!graph_has_pairs(p->graph)) {
        section("Algorithm: linear by definition");
        printf("  queries are multiplied with sums over all keys, so there are no pairs of queries and keys\n");
        return;
    }
    section(!linear                 ? "Algorithm: quadratic"
            : first->program.linear ? "Algorithm: linear"
                                    : "Algorithm: quadratic for short, linear for long sequences");
    if (!first->program.linear) printf("  quadratic: every query attends to every key that its mask allows\n");
    if (!first->program.linear) explain_powers(p, first);
    explain_few(p);
    explain_faded(p);
    explain_dropout(p);
    if (!linear) {
        printf("  no linear form: %s\n", p->why_quadratic);
        return;
    }
    long long columns = (long long)p->spec->value_dim + 1, element = dtype_bytes(dtype_of_sums(p->spec->dtype));
    printf("  linear: the weight is an inner product of %lld feature%s; a state of %lld x %lld numbers, %lld bytes, is "
           "their sum over keys\n",
           (long long)linear->separated.features, linear->separated.features == 1 ? "" : "s",
           (long long)linear->separated.features, columns, (long long)linear->separated.features * columns * element);
    explain_powers(p, linear);
    explain_states(linear);
    struct counts counts;
    const int64_t many = 1 << 14;
    count_work(linear, &(struct problem_size){1, 1, 1, many, many}, many, 0, &counts);
    printf("  %.0f FLOPs for each token and head at every length\n", counts.flops / (double)many);
    printf("  with feature maps and updates of the state, this takes as long as %.0f FLOPs of a matrix product\n",
           linear_cost(linear));
    int64_t from = 0;
    const struct version *v = NULL;
    while (versions_next(&p->kernel.of[STEP_FORWARD], &v) && v->c != linear) continue;
    if (v->c == linear) from = v->from;
    if (!first->program.linear && p->spec->schedules)
        printf("  crossover: the schedule uses the linear form from %lld keys on\n", (long long)from);
    else if (!first->program.linear)
        printf("  crossover: the linear form takes less work from %lld keys on%s\n", (long long)from,
               loops_on_matrix_units(linear->loops)  ? loops_on_matrix_units(first->loops)
                                                           ? ", with both on matrix units"
                                                           : ", with the linear one on matrix units"
               : loops_on_matrix_units(first->loops) ? ", with the quadratic one on matrix units"
               : loops_paired(first->loops)          ? ", with products of bf16 in the quadratic one"
                                                     : "");
}

static void explain_expression(void *user, const struct expression *e)
{
    bool *const any = user;
    if (!*any) section("Expressions, as understood");
    *any = true;
    struct text text = {0};
    expression_print(e->value, e, NULL, &text);
    printf("  %s: %s\n", e->key, text.data);
    text_free(&text);
}

/* Prints the knobs of forward or backward that have an effect, with their defaults for the first target. */
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

/* Prints the knobs and the values that `schedule:` sets. */
static void explain_knobs(const struct unit *p)
{
    section("Knobs of schedule:");
    explain_knobs_of(p, false);
    if (p->kernel.of[STEP_BACKWARD].count) {
        printf("  backward: knobs of the gradients; by default each part has its own tiles; here are the tiles of the "
               "first part\n");
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
    for (const struct version *v = NULL; p->spec->schedules > 1 && versions_next(&p->kernel.of[STEP_FORWARD], &v);) {
        const struct compilation *const c = v->c;
        if (c->target != p->kernel.compilation[0]->target) continue;
        printf("  from %lld keys on %s runs %s, tiles of %s\n", (long long)(v->from ? v->from : 1), c->target->name,
               c->program.linear ? "linear" : "quadratic", compilation_tiles(p->arena, c));
    }
}

/* Prints the quadratic form's loops over tiles of keys. */
static void explain_loops(const struct compilation *c)
{
    if (c->program.linear || !graph_has_pairs(c->graph)) return;
    section("Loops of the quadratic form");
    print_loops(c, c->loops->body, 2);
}

static void explain_targets(const struct unit *p)
{
    section("Targets");
    for (int t = 0; p->kernel.compilation[t]; t++)
        printf("  %-10s %2d-byte vectors, %2d registers, %s%s: tiles of %s\n", p->kernel.compilation[t]->target->name,
               p->kernel.compilation[t]->target->vector_bytes, p->kernel.compilation[t]->target->registers,
               compilation_form(p->kernel.compilation[t]), compilation_products(p->kernel.compilation[t]),
               compilation_tiles(p->arena, p->kernel.compilation[t]));
}

/* Prints what NAME_workspace and NAME_saved return. */
static void explain_memory(const struct unit *p, const struct costs *costs)
{
    const int threads = costs->threads > 0 ? costs->threads : 1;
    section(arena_printf(p->arena, "Bytes of memory for one sequence and head with n queries and keys, %d thread%s",
                         threads, threads == 1 ? "" : "s"));
    printf("  %9s", "n");
    for (int k = 0; k < p->default_count; k++)
        printf("  %*s", (int)strlen("workspace on ") + 10,
               arena_printf(p->arena, "workspace on %s", p->defaults[k].target->name));
    printf("%s\n", p->kernel.parts ? "       saved" : "");
    for (int n = 0; n < costs->lengths.count; n++) {
        const int64_t length = costs->lengths.length[n];
        const struct problem_size size = {1, 1, 1, length, length};
        printf("  %9lld", (long long)length);
        for (int k = 0; k < p->default_count; k++)
            printf("  %*lld", (int)strlen("workspace on ") + 10,
                   (long long)emit_workspace(&p->kernel, p->defaults[k].target, &size, threads));
        if (p->kernel.parts) printf("  %10lld", (long long)emit_saved(&p->kernel, &size));
        printf("\n");
    }
    printf("  NAME_workspace%s these numbers; --threads and --lengths choose other ones%s\n",
           p->kernel.parts ? " and NAME_saved return" : " returns",
           p->kernel.parts ? "; NAME_backward_workspace returns more" : "");
}

static void explain_pairs(const struct unit *p)
{
    const struct spec *spec = p->spec;
    const struct compilation *c = p->kernel.compilation[0];
    const long long element = dtype_bytes(spec->dtype), keys = (long long)spec_pair_bytes(spec);
    long long products, scalars;
    count_pair(p->graph, &products, &scalars);
    section("Cost");
    if (graph_has_pairs(p->graph)) {
        printf("  %lld FLOPs in products and about %lld scalar operation%s for a pair of query and key that is not "
               "masked\n",
               products, scalars, scalars == 1 ? "" : "s");
        printf("  %lld bytes read for a key and its value, once for every %lld queries: %.1f FLOPs a byte\n", keys,
               (long long)queries_together(c), (double)products * (double)queries_together(c) / (double)keys);
    }
    for (const struct version *v = NULL; versions_next(&p->kernel.of[STEP_SELECT], &v);) {
        if (v->target != c->target) continue;
        const struct graph *const g = v->c->graph;
        const struct value *const list = &g->value[g->output[0].value];
        const struct version *const forward = p->kernel.of[STEP_FORWARD].version;
        count_pair(g, &products, &scalars);
        printf(
            "  first a sweep over all keys that lists the %lld best %s of each row, once for %s: %lld FLOPs in "
            "products and about %lld scalar operation%s for a pair; the sweep over values then %s\n",
            (long long)g->module->axis[list->axes[list->rank - 1]].extent, list->block > 1 ? "blocks of keys" : "keys",
            axes_have(g->module, list->rank, list->axes, SIZE_MEMBERS)    ? "each query head"
            : axes_have(g->module, list->rank, list->axes, SIZE_KV_HEADS) ? "each key/value head"
                                                                          : "all heads",
            products, scalars, scalars == 1 ? "" : "s",
            forward->heads && loops_gather(forward->heads->loops)
                ? "gathers the rows of listed keys, for calls that save nothing; others visit tiles with a listed key"
                : "visits tiles of keys with a listed key");
    }
    printf("  %lld bytes read and %lld written for a query\n", element * (long long)spec->head_dim,
           element * (long long)spec->value_dim);
}

/* Prints whether the state stores keys before or after `prepare:`. */
static void explain_kept_keys(const struct unit *p)
{
    const struct versions *const prepare = &p->kernel.of[STEP_PREPARE];
    if (prepare->count)
        printf("  %s are prepared once, when they are appended, and stored prepared%s\n",
               prepare->version[0].part                    ? "rows of arrays"
               : prepare->version[prepare->count - 1].part ? "keys and rows of arrays"
                                                           : "keys",
               p->spec->k_storage ? ", then rounded" : "");
    else if (spec_prepares_keys(p->spec))
        printf("  keys are stored as given, and prepared again for every token that attends to them%s\n",
               p->kernel.of[STEP_EXTEND].count ? "" : ", because prepared keys are not rounded to 16 bits");
}

/* Returns a phrase for the largest error of an element that is stored in this type. */
static const char *rounding_text(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F16: return "2^-11 of itself";
    case DTYPE_BF16: return "2^-9 of itself";
    case DTYPE_FP8: return "1/16 of itself";
    case DTYPE_I8: return "1/254 of the largest element of its row";
    case DTYPE_I8_32:
    case DTYPE_I8_64:
    case DTYPE_Q8_0: return "1/254 of the largest element of its block";
    case DTYPE_Q4_0: return "1/8 of the largest element of its block, mostly up to 1/16";
    default: return "nothing";
    }
}

/* Prints how keys and values are stored, if they have other types than q and out. */
static void explain_storage(const struct unit *p)
{
    const struct spec *const spec = p->spec;
    const struct {
        const char *name;
        enum dtype dtype;
        int64_t elements;
    } of[] = {{"keys", spec_type_of_keys(spec), spec->head_dim},
              {"values", spec_type_of_values(spec), spec->value_dim}};
    if (!spec_has_storage(spec)) return;
    section("Storage");
    for (int k = 0; k < (spec->values_are_keys ? 1 : 2); k++)
        if (of[k].dtype != spec->dtype)
            printf("  %s: %s, %lld bytes a row in place of %lld; rounding changes an element by up to %s\n", of[k].name,
                   dtype_name(of[k].dtype), (long long)dtype_row_bytes(of[k].dtype, of[k].elements),
                   (long long)dtype_row_bytes(spec->dtype, of[k].elements), rounding_text(of[k].dtype));
    printf(
        "  rows are widened to f32 in registers. Products are not computed in integers%s, because rounding queries or "
        "weights to 8 bits would add an error of 1/254 of the largest element\n",
        of[0].dtype == DTYPE_Q4_0 ? ", except for keys with AVX512-VNNI and queries rounded to 24 bits" : "");
}

/* Prints the bytes per token of arrays with a row for each key. */
static void explain_kept_arrays(const struct unit *p)
{
    for (int k = 0; k < p->kernel.arrays->count; k++) {
        const struct kernel_array *const a = &p->kernel.arrays->array[k];
        if (a->place != PLACE_PARAMS || !array_grows(a) || a->role != ROLE_PER_KEY) continue;
        const int64_t own = array_own_heads(a) ? array_own_heads(a) : 1;
        printf("  %s: %lld bytes more for each of these tokens and each sequence%s\n", a->name,
               (long long)dtype_bytes(a->dtype) * (long long)(own * array_row_elements(a)),
               array_has_size(a, ARRAY_SIZE_HEADS)      ? " and head"
               : array_has_size(a, ARRAY_SIZE_KV_HEADS) ? " and key/value head"
                                                        : "");
    }
}

/* Prints what a state needs so that it can be joined with another state of the delta rule. */
static void explain_foldable(const struct unit *p, long long token)
{
    const struct compilation *const extend = emission_extend(&p->kernel);
    if (!p->kernel.of[STEP_FOLDABLE].count) return;
    const struct compilation *const foldable = p->kernel.of[STEP_FOLDABLE].version[0].c;
    const long long more = (long long)(foldable->loops->kept - extend->loops->kept),
                    chunk = (long long)foldable->state.chunk, features = (long long)extend->separated.features;
    printf(
        "  problem.foldable: %lld bytes more, for a matrix of %lld x %lld that maps the sums before the tokens to the "
        "sums after them, and for %lld more tokens; NAME_state_fold can then join states\n",
        more + chunk * token, features, features, chunk);
}

/* Prints whether the rows of a state may be in pages. */
static void explain_pages(const struct unit *p)
{
    if (p->kernel.paged) printf("  or in pages of 16 to 256 tokens, which sequences can share (problem.pages)\n");
}

/* Prints the size of the state for decoding, in bytes per sequence and head. */
static void explain_state(const struct unit *p)
{
    if (!(p->spec->emit & EMIT_DECODE)) return;
    const struct spec *const spec = p->spec;
    const struct compilation *const extend = emission_extend(&p->kernel);
    const bool one_copy = spec->values_are_keys && !p->kernel.of[STEP_ATTEND].count;
    const long long token = (long long)(dtype_row_bytes(spec_type_of_keys(spec), spec->head_dim) +
                                        (one_copy ? 0 : dtype_row_bytes(spec_type_of_values(spec), spec->value_dim))),
                    rows = (long long)emit_state_rows(p->kernel.read_first, p->kernel.read_back,
                                                      extend ? extend->state.chunk : 0, p->kernel.folds);
    section("State");
    if (p->kernel.read_back < 0) {
        printf("  %lld bytes of key%s for every token, sequence and key/value head, for as many tokens as the "
               "problem's capacity\n",
               token, one_copy ? "" : " and value");
        if (p->kernel.of[STEP_APPEND].count)
            printf("  %lld bytes more for the corrected value of every token\n",
                   (long long)dtype_row_bytes(dtype_of_sums(spec->dtype), spec->value_dim));
        explain_pages(p);
        explain_kept_keys(p);
        explain_kept_arrays(p);
        return;
    }
    const long long sums = extend ? (long long)extend->loops->kept : 0, all = sums + rows * token;
    if (extend)
        printf("    %lld bytes of sums%s and the last tokens, up to %lld tokens of %lld bytes", sums,
               graph_find_solve(p->graph) >= 0 ? ", corrected values" : "", rows, token);
    else if (p->kernel.read_first)
        printf("    the first %lld tokens and the last ones, up to %lld tokens of %lld bytes",
               (long long)p->kernel.read_first, rows, token);
    else
        printf("  the last tokens, up to %lld tokens of %lld bytes", rows, token);
    printf(": %lld bytes for every sequence and %s, however long it is\n", all,
           extend && emit_tasks_over(extend->loops, SIZE_MEMBERS) ? "head" : "key/value head");
    printf("  smaller than all keys and values from %lld tokens on\n", all / token + 1);
    explain_foldable(p, token);
    explain_pages(p);
    explain_kept_keys(p);
    explain_kept_arrays(p);
}

static void explain_parameters(const struct unit *p)
{
    bool any = false;
    for (int k = 0; k < p->kernel.arrays->count; k++) {
        const struct kernel_array *const a = &p->kernel.arrays->array[k];
        if (a->place != PLACE_PARAMS) continue;
        if (!any) section("Parameters");
        any = true;
        printf("  %s [", a->name);
        for (int x = 0; x < a->rank; x++) printf("%s%s", x ? ", " : "", array_axis_word(p->arena, &a->axis[x]));
        printf("]%s%s%s%s\n",
               a->dtype == DTYPE_I32  ? ", integers"
               : a->dtype == DTYPE_U8 ? ", truth values"
                                      : "",
               a->tiled ? "; each call reads them once, into a table of blocks of 16 queries and 64 keys, unless "
                          "the caller gives the table"
                        : "",
               a->origin == ORIGIN_LEARNED ? "" : ", from a seed: ", origin_name(a->origin));
    }
}

/* Prints the graph for --emit graph, and the loops for --emit loops. */
static void explain_ir(const struct unit *p, unsigned emit)
{
    struct text text = {0};
    if (emit & 1U << OUTPUT_graph) {
        section("Graph");
        graph_print(p->graph, &text);
        for (char *line = strtok(text.data, "\n"); line; line = strtok(NULL, "\n"))
            if (line[0] == '%' || strncmp(line, "output", 6) == 0) printf("  %s\n", line);
    }
    text_free(&text);
    if (emit & 1U << OUTPUT_loops) {
        section(arena_printf(p->arena, "Loops for %s", p->kernel.compilation[0]->target->name));
        loops_print(p->kernel.compilation[0]->loops, &text);
        fputs(text.data, stdout);
    }
    text_free(&text);
}

/* Prints the form and the costs of each sum as a kernel that computes it alone. */
static void explain_sums(const struct unit *p, const struct costs *costs, const struct options *o)
{
    const struct schedule none = {0};
    if (p->spec->sums < 2) return;
    section("Sums, each as if it were computed alone; together they share keys, and weights that are equal");
    for (int k = 0; k < p->spec->sums; k++) {
        const char *const name = p->spec->sum[k]->name,
                          **const set = arena_alloc(p->arena, (size_t)(o->sets + 2) * sizeof *set);
        struct options alone = *o;
        enum status status;
        for (int n = 0; n < o->sets; n++) set[n] = o->set[n];
        set[alone.sets++] = arena_printf(p->arena, "output=%s", name);
        set[alone.sets++] = "emit=[forward]";
        alone.set = set;
        alone.schedule = &none;
        alone.tuned = alone.backward = alone.decode = false;
        alone.emit = 0;
        struct unit *const sum = unit_of_text(p->file, p->text, p->text_length, &alone, &status);
        if (!sum) continue;
        printf("  %s%s%s\n", name, sum->why_quadratic ? ": no linear form: " : "",
               sum->why_quadratic ? sum->why_quadratic : "");
        explain_forward(sum, costs);
        unit_free(sum);
    }
}

/* Prints all sections about a spec, first the form and its costs. */
static void explain(const struct unit *p, const struct costs *all, const struct options *o)
{
    const struct spec *spec = p->spec;
    const struct costs allowed = costs_allowed(all, spec->max_length), *const costs = &allowed;
    bool expressions = false;
    printf("%s: head_dim %lld, value_dim %lld, %s%s\n", spec->name, (long long)spec->head_dim,
           (long long)spec->value_dim, dtype_name(spec->dtype),
           spec->max_length ? arena_printf(p->arena, ", up to %lld positions", (long long)spec->max_length) : "");
    if (*spec->description)
        print_plain(stdout, arena_printf(p->arena, "%.*s\n", (int)strcspn(spec->description, "\n"), spec->description));
    explain_algorithm(p);
    explain_pairs(p);
    explain_costs(p, costs);
    explain_sums(p, costs, o);
    explain_gradients(p, costs);
    explain_threads(p, costs);
    explain_ranks(p, costs);
    explain_storage(p);
    explain_state(p);
    explain_targets(p);
    explain_memory(p, costs);
    spec_expressions(spec, explain_expression, &expressions);
    explain_loops(p->kernel.compilation[0]);
    explain_knobs(p);
    explain_parameters(p);
    explain_ir(p, o->emit);
}

/* Prints the object of NAME.json in one line, with the rows of the tables of costs. */
static enum status explain_json(const struct unit *p, const struct costs *all, const struct options *o)
{
    const struct costs allowed = costs_allowed(all, p->spec->max_length);
    struct text description = {0};
    json_t *const says = emit_json(p, &description) ? json_loads(description.data, 0, NULL) : NULL;
    const bool good = says && json_object_set_new(says, "costs", explain_costs_json(p, &allowed)) == 0;
    char *const line = good ? json_dumps(says, JSON_COMPACT) : NULL;
    if (line)
        printf("%s\n", line);
    else
        complain(o, "%s: out of memory", p->spec->name);
    free(line);
    json_decref(says);
    text_free(&description);
    return line ? STATUS_DONE : STATUS_MACHINE;
}

int command_explain(const struct options *o)
{
    if (o->files == 0) return (int)complain_as(o, STATUS_USAGE, "explain takes a spec: attnc explain SPEC.yaml");
    struct costs costs = {.threads = o->threads, .batch = 1};
    if (!lengths_read(o, "1k,4k,16k,64k", &costs.lengths) || !document_read(o, &costs.document) ||
        !ranks_read(o, &costs.ranks) || !one_number(o, "--batch", o->batch, 1 << 20, &costs.batch))
        return STATUS_USAGE;
    enum status worst = STATUS_DONE;
    for (int k = 0; k < o->files && worst != STATUS_MACHINE; k++) {
        enum status status;
        struct unit *p = unit_make(o->file[k], o, &status);
        if (p && k && !o->json) printf("\n");
        if (p) unit_warn(p, o);
        if (p && o->json)
            status = explain_json(p, &costs, o);
        else if (p)
            explain(p, &costs, o);
        unit_free(p);
        if (status > worst) worst = status;
    }
    return output_finish(o) == STATUS_DONE ? (int)worst : STATUS_MACHINE;
}
