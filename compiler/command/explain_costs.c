/* The tables of costs of `attnc explain`: FLOPs, bytes and times of calls. */
#include "explain_costs.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../target/target.h"

#include <string.h>

void section(const char *title)
{
    printf("\n%s\n", title);
}

struct costs costs_allowed(const struct costs *all, int64_t longest)
{
    struct costs costs = *all;
    costs.lengths.count = 0;
    for (int k = 0; k < all->lengths.count; k++)
        if (!longest || all->lengths.length[k] <= longest)
            costs.lengths.length[costs.lengths.count++] = all->lengths.length[k];
    if (costs.lengths.count == 0) costs.lengths.length[costs.lengths.count++] = longest;
    return costs;
}

struct rates costs_rates(const struct unit *p)
{
    const struct target *target = costs_target(p);
    struct rates rates = nominal_rates(target, p->spec->dtype);
    if (!target_has(target, TARGET_MATRIX_UNITS)) rates.units = 0;
    return rates;
}

/* The tables of costs. Each is for one kind of call: forward with all queries, forward with one query, extend with
   one token, or backward. Those of a list of the best keys, with all queries or one query, follow. */
enum costs_of { ALL_QUERIES, ONE_QUERY, ONE_TOKEN, GRADIENTS, LISTS };

/* If heads or batch entries see different keys, pairs are counted for the first few, and averaged. */
enum { COUNTED_HEADS = 8, COUNTED_BATCH = 4 };

/* Returns true if the keys that a query sees depend on the index of an axis of this source. Here all batch entries
   have equal ids. */
static bool keys_differ(const struct graph *g, enum size_source source)
{
    const struct module *m = g->module;
    bool differ = false;
    for (int v = 0; v < g->values; v++)
        for (int a = 0; a < m->axes && g->value[v].where; a++)
            differ |= m->axis[a].source == source && axes_beside_ids(g->value[v].where) >> a & 1;
    return differ;
}

static int64_t counted_heads(const struct graph *g)
{
    return keys_differ(g, SIZE_KV_HEADS) || keys_differ(g, SIZE_MEMBERS) ? COUNTED_HEADS : 1;
}

static int64_t counted_batch(const struct graph *g)
{
    return keys_differ(g, SIZE_BATCH) ? COUNTED_BATCH : 1;
}

/* Turns the counts for `heads` heads into the mean of one head. */
static void of_one_head(int64_t heads, struct counts *counts, struct roofline *roofline)
{
    double *const of[] = {&counts->pairs,   &counts->visited,     &counts->tiles,  &counts->flops,
                          &counts->scalars, &counts->work,        &counts->bytes,  &counts->once,
                          &roofline->work,  &roofline->unit_work, &roofline->bytes};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) *of[k] /= (double)heads;
}

void count_head(const struct unit *p, const struct call_parts *run, int64_t n_q, int64_t keys,
                const struct costs *costs, struct counts *counts, struct roofline *roofline)
{
    const int64_t heads = counted_heads(p->graph), batch = counted_batch(p->graph);
    const struct problem_size size = {batch, heads, 1, n_q, keys};
    count_parts(run, &size, costs->document, 1, costs_target(p)->l2_bytes, counts, roofline);
    of_one_head(batch * heads, counts, roofline);
}

/* A row of a table, for one head. */
struct cost_row {
    const char *form, *bound;
    struct counts counts;
};

static struct cost_row row_of(const struct unit *p, const struct costs *costs, enum costs_of of, int64_t n)
{
    const struct target *target = costs_target(p);
    const struct rates rates = costs_rates(p);
    const bool one = of == ONE_QUERY || of == ONE_TOKEN || (of >= LISTS && (of - LISTS) % 2);
    struct call_parts run = of == GRADIENTS ? unit_gradients(p, target, n, true)
                                            : unit_forward(p, target, &(struct problem_size){1, 1, 1, one ? 1 : n, n},
                                                           of == ONE_TOKEN);
    if (of >= LISTS) run = (struct call_parts){run.part[(of - LISTS) / 2], run.part + (of - LISTS) / 2, 1};
    struct cost_row row = {.form = compilation_form(of == GRADIENTS ? run.whole : run.part[run.parts - 1])};
    struct roofline roofline;
    bool memory;
    count_head(p, &run, one ? 1 : n, n, costs, &row.counts, &roofline);
    (void)roofline_seconds(&roofline, &rates, &memory);
    row.bound = memory ? "memory" : "compute";
    return row;
}

/* Prints the rows of a table. Returns true if no pairs were estimated. */
static bool print_costs(const struct unit *p, const struct costs *costs, enum costs_of of)
{
    bool exact = true;
    printf("  %9s  %-9s  %10s  %10s  %6s  %10s  %13s  %12s  %-8s\n", "n", "form", "FLOPs", "visited", "useful", "work",
           "bytes", "FLOPs a byte", "bound by");
    for (int k = 0; k < costs->lengths.count; k++) {
        const int64_t n = costs->lengths.length[k];
        const struct cost_row row = row_of(p, costs, of, n);
        const struct counts counts = row.counts;
        char share[16] = "-";
        if (counts.visited > 0) snprintf(share, sizeof share, "%.1f%%", 100 * counts.pairs / counts.visited);
        printf("  %9lld  %-9s  %10.4g  %10.4g  %6s  %10.4g  %13.0f  %12.1f  %-8s\n", (long long)n, row.form,
               counts.flops, counts.visited, share, counts.work, counts.bytes, counts.flops / counts.bytes, row.bound);
        exact &= counts.exact;
    }
    return exact;
}

void explain_forward(const struct unit *p, const struct costs *costs)
{
    (void)print_costs(p, costs, ALL_QUERIES);
}

static bool has_few(const struct unit *p)
{
    for (const struct version *v = NULL; versions_next(&p->kernel.of[STEP_FORWARD], &v);)
        if (v->few) return true;
    return false;
}

json_t *explain_costs_json(const struct unit *p, const struct costs *costs)
{
    static const char *const call[] = {
        [ALL_QUERIES] = "forward", [ONE_QUERY] = "one query", [ONE_TOKEN] = "one token", [GRADIENTS] = "backward"};
    const bool has[] = {[ALL_QUERIES] = true,
                        [ONE_QUERY] = has_few(p),
                        [ONE_TOKEN] = p->kernel.of[STEP_ATTEND].count > 0,
                        [GRADIENTS] = p->spec->emit & EMIT_BACKWARD};
    json_t *const list = json_array();
    for (int of = ALL_QUERIES; of <= GRADIENTS; of++)
        for (int k = 0; k < costs->lengths.count && has[of]; k++) {
            const int64_t n = costs->lengths.length[k];
            const struct cost_row row = row_of(p, costs, (enum costs_of)of, n);
            json_array_append_new(list, json_pack("{s:s, s:I, s:s, s:f, s:f, s:f, s:f, s:f, s:b, s:s}", "call",
                                                  call[of], "n", (json_int_t)n, "form", row.form, "flops",
                                                  row.counts.flops, "pairs", row.counts.pairs, "visited",
                                                  row.counts.visited, "work", row.counts.work, "bytes",
                                                  row.counts.bytes, "exact", row.counts.exact, "bound_by", row.bound));
        }
    return list;
}

/* Returns the text that follows the rate of vectors, such as " (products of bf16 on matrix units, AMX: 1024)".
   Returns "" if there are no matrix units. */
static const char *unit_rate_text(const struct unit *p, double rate)
{
    if (rate <= 0) return "";
    return arena_printf(p->arena, " (products of bf16 on matrix units, %s: %.0f)",
                        target_unit(costs_target(p), TARGET_MATRIX_UNITS), rate);
}

void explain_costs(const struct unit *p, const struct costs *costs)
{
    const struct rates rates = costs_rates(p);
    section("Roofline, for one head with n queries and keys");
    printf("  a core of %s: %.0f FLOPs%s and %.0f bytes of memory a cycle\n", costs_target(p)->name, rates.peak,
           unit_rate_text(p, rates.units), rates.bandwidth);
    printf("  so memory is the limit below %.1f FLOPs of work a byte, if the arrays exceed %lld bytes of cache\n",
           rates.peak / rates.bandwidth, (long long)costs_target(p)->l2_bytes);
    if (rates.units > 0) printf("  for products on matrix units, below %.1f\n", rates.units / rates.bandwidth);
    if (counted_heads(p->graph) > 1)
        printf("  heads do not see the same keys: numbers are the mean of the first %d heads\n", COUNTED_HEADS);
    if (counted_batch(p->graph) > 1)
        printf("  batch entries do not see the same keys: numbers are the mean of the first %d\n", COUNTED_BATCH);
    const bool exact = print_costs(p, costs, ALL_QUERIES);
    if (has_few(p)) {
        printf("  with one query and n keys:\n");
        print_costs(p, costs, ONE_QUERY);
    }
    if (p->kernel.of[STEP_ATTEND].count) {
        printf("  with one token appended to a state of %skeys, n keys in total:\n",
               p->kernel.of[STEP_PREPARE].count ? "prepared " : "");
        print_costs(p, costs, ONE_TOKEN);
    }
    for (int list = 0; list < graph_count(p->graph, GRAPH_SELECT); list++) {
        printf("  of these, the sweep that lists the best keys of a row, once for all heads that share the list:\n");
        print_costs(p, costs, (enum costs_of)(LISTS + 2 * list));
        print_costs(p, costs, (enum costs_of)(LISTS + 2 * list + 1));
    }
    printf("  - FLOPs: products of the pairs that the mask allows\n"
           "  - visited: the pairs of the tiles that the loops visit; useful: the share that the mask allows\n"
           "  - work: FLOPs of products of all visited pairs; maps are counted as the FLOPs that take the same time\n"
           "  - bytes: every array is read once, but keys and values once per tile of queries if the keys that a query "
           "sees exceed the cache\n");
    const unsigned integers = assumed_integers(p->graph);
    if (integers & ASSUMED_IDS)
        printf("  Integer parameters: %lld consecutive positions have the same id.\n", (long long)costs->document);
    if (integers & ASSUMED_BOUNDS) printf("  Half of the keys of a sequence are padding.\n");
    if (integers & ASSUMED_LISTS) printf("  Lists of blocks have different blocks, drawn at random.\n");
    if (integers & ASSUMED_BEST) printf("  The best keys of a row are spread over those that other masks show.\n");
    if (!exact) printf("  Visited pairs were counted for a sample of the queries.\n");
}

/* Prints the parts of backward and their gradients. If the parts change with the length, prints both lists. */
static void explain_parts(const struct unit *p, const struct costs *costs)
{
    const struct target *target = p->kernel.compilation[0]->target;
    const char *last = NULL;
    for (int k = 0; k < costs->lengths.count; k++) {
        const int64_t n = costs->lengths.length[k];
        const struct call_parts run = unit_gradients(p, target, n, true);
        struct text text = {0};
        for (int part = 0; part < run.parts; part++)
            text_add(&text, "%s%s", part ? "; " : "", unit_part_name(p, run.part[part]));
        const size_t saved = unit_saved_bytes(p, target, n);
        text_add(&text, "\n  forward saves %s for them\n",
                 saved ? arena_printf(p->arena, "%zu bytes a row and head", saved) : "nothing");
        if (!last)
            printf("  parts, one after the other: %s", text.data);
        else if (strcmp(text.data, last) != 0)
            printf("  from %lld keys on: %s", (long long)n, text.data);
        last = text_take(&text, p->arena);
    }
}

void explain_gradients(const struct unit *p, const struct costs *costs)
{
    if (!(p->spec->emit & EMIT_BACKWARD)) return;
    section("Gradients, for one head with n queries and keys");
    explain_parts(p, costs);
    print_costs(p, costs, GRADIENTS);
    printf(
        "  FLOPs count every product once, `visited` the pairs of all parts. Parts that do not share loops compute the "
        "weights again,\n"
        "  so a smaller share is useful.\n");
}
