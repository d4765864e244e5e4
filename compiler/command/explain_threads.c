/* attnc explain --threads: how busy the threads of a call are, by a simulation of its tasks. */
#include "explain_costs.h"
#include "../emit/emit.h"
#include "../support/support.h"

#include <stdlib.h>

/* The tasks of one head, in the order in which threads take them, and the work of each. */
struct head_tasks {
    const char *form;
    double *work;
    int64_t count;
    bool of_keys; /* a head is one of keys and values */
    bool shared;  /* threads also compute heads together, whose parallel loops have `count` iterations each */
};

/* Returns the tasks of a head with n queries and keys. The work of all queries from a tile on, minus the work of later
   tiles, is the work of the tile. */
static struct head_tasks tasks_of_head(const struct unit *p, const struct costs *costs, int64_t n)
{
    const struct problem_size whole = {1, 1, 1, n, n};
    const struct call_parts run = unit_forward(p, costs_target(p), &whole, false);
    const struct compilation *const c = run.part[run.parts - 1];
    const int64_t tile = emit_tasks_of(c->loops), chunk = keys_of_chunk(c);
    struct head_tasks t = {.form = compilation_form(c), .shared = emit_in_phases(c->loops), .of_keys = tile == 0};
    t.count = t.shared && chunk > 0 ? (n - 1) / chunk + 1 : tile > 0 ? (n - 1) / tile + 1 : 1;
    t.work = arena_alloc(p->arena, (size_t)t.count * sizeof *t.work);
    double later = 0;
    for (int64_t k = 0; k < t.count; k++) {
        struct counts counts;
        struct roofline roofline;
        t.work[k] = 1;
        if (t.shared || t.count == 1) continue;
        count_head(p, &run, n - (t.count - 1 - k) * tile, n, costs, &counts, &roofline);
        t.work[k] = counts.work - later;
        later = counts.work;
    }
    return t;
}

/* Returns the share of the threads' time in which they have work, if each takes the next task when it has ended one. */
static double busy_with_tasks(const struct head_tasks *t, int64_t heads, int64_t threads)
{
    double *const until = calloc((size_t)threads, sizeof *until), all = 0, last = 0;
    for (int64_t k = 0; until && k < heads * t->count; k++) {
        int64_t first = 0;
        for (int64_t n = 1; n < threads; n++)
            if (until[n] < until[first]) first = n;
        until[first] += t->work[k % t->count];
        all += t->work[k % t->count];
        if (until[first] > last) last = until[first];
    }
    free(until);
    return last > 0 ? all / (last * (double)threads) : 0;
}

/* Returns that share if each thread computes some heads alone, and all threads share the loops of the other heads. */
static double busy_with_heads(const struct head_tasks *t, int64_t heads, int64_t threads)
{
    const int64_t alone = heads / threads, rest = heads % threads, most = (t->count - 1) / threads + 1;
    return (double)heads / (double)threads / ((double)alone + (double)rest * (double)most / (double)t->count);
}

void explain_threads(const struct unit *p, const struct costs *costs)
{
    const struct head_counts *const h = &costs->ranks.heads;
    if (costs->threads <= 1) return;
    section(arena_printf(p->arena, "Threads, for %lld sequence%s of %lld head%s and %d threads",
                         (long long)costs->batch, costs->batch == 1 ? "" : "s", (long long)h->heads,
                         h->heads == 1 ? "" : "s", costs->threads));
    printf("  %9s  %-9s  %10s  %6s\n", "n", "form", "tasks", "busy");
    for (int k = 0; k < costs->lengths.count; k++) {
        const struct head_tasks t = tasks_of_head(p, costs, costs->lengths.length[k]);
        const int64_t heads = costs->batch * (t.of_keys ? h->kv_heads : h->heads);
        printf("  %9lld  %-9s  %10lld  %5.1f%%\n", (long long)costs->lengths.length[k], t.form,
               (long long)(t.shared ? heads : heads * t.count),
               100 * (t.shared ? busy_with_heads : busy_with_tasks)(&t, heads, costs->threads));
    }
    printf(
        "  - tasks: tiles of queries, or heads; threads take one after another, and share the loops of heads that are "
        "left\n"
        "  - busy: the share of the threads' time in which they have work\n");
}
