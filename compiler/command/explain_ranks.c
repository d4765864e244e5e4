/* attnc explain --ranks: the time of one sequence that several ranks share, as runtime/mpi/ computes it. */
#include "explain_costs.h"
#include "../../runtime/attnrt.h"
#include "../emit/emit.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The cycles a second of a core. */
static const double NOMINAL_CLOCK = 3e9;

/* Reads a number with a unit at the start of `text`. Returns the position after the unit, or NULL. */
static const char *quantity_read(const char *text, const char *const *unit, const double *factor, int units,
                                 double *out)
{
    char *end;
    if (!strchr("0123456789.", *text) || !*text) return NULL;
    *out = strtod(text, &end);
    for (int k = 0; k < units; k++)
        if (strncmp(end, unit[k], strlen(unit[k])) == 0) {
            *out *= factor[k];
            return isfinite(*out) ? end + strlen(unit[k]) : NULL;
        }
    return NULL;
}

static bool link_read(const char *text, struct link *out)
{
    static const char *const rate[] = {"kB/s", "MB/s", "GB/s", "TB/s", "B/s", "Mbit/s", "Gbit/s"};
    static const double of_rate[] = {1e3, 1e6, 1e9, 1e12, 1, 1e6 / 8, 1e9 / 8};
    static const char *const time[] = {"ns", "us", "ms", "s"};
    static const double of_time[] = {1e-9, 1e-6, 1e-3, 1};
    const char *at = quantity_read(text, rate, of_rate, sizeof of_rate / sizeof *of_rate, &out->bandwidth);
    if (!at || *at != ',' || !(out->bandwidth > 0)) return false;
    at = quantity_read(at + 1, time, of_time, sizeof of_time / sizeof *of_time, &out->latency);
    return at && !*at;
}

bool ranks_read(const struct options *o, struct rank_costs *out)
{
    *out = (struct rank_costs){.heads = {1, 1, 0}};
    const char *at = o->heads ? heads_add(o->heads, &out->heads) : "";
    if (!at || *at)
        return complain(o, "explain takes --heads as in 8, or 8/2 for 2 key/value heads, not '%s'", o->heads);
    const char *text = o->link ? o->link : "12.5GB/s,2us";
    if (!link_read(text, &out->link))
        return complain(o, "--link takes a rate and the time of an empty message, as in 12.5GB/s,2us, not '%s'", text);
    if (!o->ranks && (o->link || (o->heads && o->threads <= 1)))
        return complain(o, o->link ? "explain needs --ranks for --link"
                                   : "explain needs --ranks or --threads for --heads");
    for (at = o->ranks; at && *at; at += *at == ',') {
        at = lengths_add(at, &out->ranks);
        if (at && (!*at || (*at == ',' && at[1]))) continue;
        return complain(o, "--ranks takes up to %d numbers and ranges that double, as in 1,8,64..1024, not '%s'",
                        MAX_LENGTHS, o->ranks);
    }
    if (!o->ranks || out->ranks.count) return true;
    return complain(o, "--ranks takes numbers, as in 1,8,64");
}

/* How a kernel is computed on several ranks. */
struct shared {
    const struct unit *unit;
    const struct costs *costs;
    struct rates rates;          /* per second */
    const struct compilation *c; /* of states: the linear form. NULL: each length has its own form */
    double state;                /* the bytes of the states of all heads */
    bool whole;                  /* queries read sums over all keys */
    double row;                  /* the bytes of a key and its value, of all heads */
    int64_t slices;              /* the maximum number of slices of heads */
};

static struct shared shared_of(const struct unit *p, const struct costs *costs)
{
    const struct head_counts *h = &costs->ranks.heads;
    const struct spec *spec = p->spec;
    struct shared s = {.unit = p, .costs = costs, .rates = costs_rates(p)};
    const int64_t together = h->key_heads ? h->heads / h->key_heads : 1;
    s.rates.peak *= NOMINAL_CLOCK;
    s.rates.units *= NOMINAL_CLOCK;
    s.rates.bandwidth *= NOMINAL_CLOCK;
    for (const struct version *v = NULL; !s.c && versions_next(&p->kernel.of[STEP_FORWARD], &v);)
        if (v->c->program.linear && v->target == costs_target(p)) s.c = v->c;
    if (s.c)
        s.state = (double)((s.c->separated.reach + 1) * s.c->separated.features * (spec->value_dim + 1) *
                           dtype_bytes(dtype_of_sums(spec->dtype)) * h->kv_heads);
    s.whole = s.c && emit_key_sums_bytes(s.c) > 0;
    if (s.whole) s.state = (double)(emit_key_sums_bytes(s.c) * h->kv_heads);
    const int64_t key = dtype_row_bytes(spec_type_of_keys(spec), spec->head_dim),
                  value = dtype_row_bytes(spec_type_of_values(spec), spec->value_dim);
    s.row = (double)((key + (spec->values_are_keys ? 0 : value)) * h->kv_heads);
    const bool of_elements = spec->decay && spec->decay->uses[NAME_d];
    if (spec->decay && !s.c)
        s.row += (double)(8 * h->heads * (of_elements ? spec->head_dim : 1)); /* sums of the logarithm, in doubles */
    s.slices = p->kernel.distances.names_heads ? 1 : h->kv_heads / together;
    return s;
}

/* Returns the seconds of a rank with n_q queries, which see `keys` keys, for all heads. */
static double work_seconds(const struct shared *s, int64_t n_q, int64_t keys)
{
    const struct compilation *c = s->c ? s->c : unit_choice(s->unit, costs_target(s->unit), keys);
    const struct call_parts run = {c, &c, 1};
    struct counts counts;
    struct roofline roofline;
    count_head(s->unit, &run, n_q, keys, s->costs, &counts, &roofline);
    return (double)s->costs->ranks.heads.heads * roofline_seconds(&roofline, &s->rates, NULL);
}

/* Returns the seconds in which a rank sums n keys. */
static double sums_seconds(const struct shared *s, int64_t n)
{
    enum { COUNTED = 16384 }; /* counting takes time, and the time of sums is proportional to their keys */
    const int64_t counted = n < COUNTED ? n : COUNTED;
    return work_seconds(s, 1, counted) * (double)n / (double)counted;
}

/* Returns the seconds of a sequence of n tokens whose queries read sums over all keys. */
static double whole_seconds(const struct shared *s, int64_t n, int64_t ranks, bool together)
{
    const int64_t mine = (n - 1) / ranks + 1, wanted = ranks * ATTN_RANKS_SLICES,
                  slices = s->slices < wanted ? s->slices : wanted;
    const double work = work_seconds(s, mine, mine), own = sums_seconds(s, mine), sums = own < work ? own : work;
    return total_seconds(ranks, slices, sums, work - sums, s->state, together, &s->costs->ranks.link,
                         s->rates.bandwidth);
}

/* Returns the seconds of a sequence of n tokens on `ranks` ranks. Sets *received to the bytes of the last rank. */
static double shared_seconds(const struct shared *s, int64_t n, int64_t ranks, double *received)
{
    const int64_t mine = (n - 1) / ranks + 1, before = s->unit->kernel.distances.before,
                  after = s->unit->kernel.distances.after, others = n - mine, seen = before < others ? before : others,
                  later = before == INT64_MAX || after < mine ? 0 : after;
    const struct link *link = &s->costs->ranks.link;
    if (s->whole) {
        *received = ranks > 1 ? s->state : 0;
        return whole_seconds(s, n, ranks, false);
    }
    if (s->c) {
        const int64_t wanted = ranks * ATTN_RANKS_SLICES, slices = s->slices < wanted ? s->slices : wanted;
        *received = ranks > 1 ? s->state : 0;
        return chain_seconds(ranks, slices, work_seconds(s, mine, mine), s->state, link);
    }
    *received = (double)(seen + (later < others ? later : others)) * s->row;
    const double own = work_seconds(s, mine, mine), all = work_seconds(s, mine, n);
    return ring_seconds((seen + mine - 1) / mine, own, all > own ? all - own : 0, *received, link);
}

/* Returns the seconds with problem.foldable: ranks first sum their keys, then join states, then compute their rows. The
   sums of chunks are written to memory and read for the rows, or computed twice. */
static double joined_total(const struct shared *s, int64_t n, int64_t ranks)
{
    if (s->whole) return whole_seconds(s, n, ranks, true);
    const int64_t mine = (n - 1) / ranks + 1, chunk = keys_of_chunk(s->c), chunks = chunk > 0 ? mine / chunk : 0;
    const bool stores = chunk >= ATTN_RANKS_STORED && !s->c->separated.reach && !s->unit->spec->rate;
    const double sums = stores ? 2 * s->state * (double)chunks / s->rates.bandwidth : sums_seconds(s, mine);
    return joined_seconds(ranks, s->slices, sums, work_seconds(s, mine, mine), s->state, &s->costs->ranks.link,
                          s->rates.bandwidth);
}

/* Returns the shortest length that is a power of two and takes less time on `ranks` ranks than on one, or 0. */
static int64_t faster_from(const struct shared *s, int64_t ranks)
{
    const int64_t longest = INT64_C(1) << 26;
    double received;
    for (int64_t n = 16; n <= longest; n *= 2)
        if (n >= ranks && shared_seconds(s, n, ranks, &received) < shared_seconds(s, n, 1, &received)) return n;
    return 0;
}

/* Prints what ranks send, and what the spec needs for it. Returns false if ranks refuse the spec. */
static bool print_needs(const struct shared *s)
{
    const struct spec *const spec = s->unit->spec;
    const struct distances *const d = &s->unit->kernel.distances;
    const int64_t open = mask_open_keys(spec->mask);
    const bool of_states = s->c && !s->whole && !spec_sums_earlier_keys(spec),
               served = of_states ? spec->emit & EMIT_DECODE : spec->emit & EMIT_STATISTICS;
    if (!of_states && spec->sums) {
        printf("  several ranks merge the results of one sum: compute each of 'sums' by another kernel\n");
        return false;
    }
    /* Of several sums the distances may be unknown, and the compiler refuses decoding if queries see later keys. */
    if (of_states && !spec->sums && d->period == 0 && (d->after > 0 || d->open_keys > 0)) {
        printf("  several ranks refuse this form, whose queries see later keys: use algorithm: quadratic\n");
        return false;
    }
    if (!s->c && served && d->period == 0) {
        printf("  several ranks refuse this kernel, because results for some of the keys do not merge%s\n",
               spec->algorithm == ALGORITHM_AUTO && spec_may_be_linear(spec) && !spec->rate
                   ? ": use algorithm: quadratic"
                   : "");
        return false;
    }
    if (s->whole)
        printf("  sums over keys, %.0f bytes, go to the last rank, and those over all keys back to all ranks, in up to "
               "%lld slices of heads",
               s->state, (long long)s->slices);
    else if (s->c && open)
        printf(
            "  sums over keys, %.0f bytes, go from rank to rank, and those over the first %lld keys back to the ranks "
            "before, in up to %lld slices of heads",
            s->state, (long long)open, (long long)s->slices);
    else if (s->c)
        printf("  a state of %.0f bytes goes from rank to rank, in up to %lld slices of heads", s->state,
               (long long)s->slices);
    else
        printf("  keys and values go from rank to rank, %.0f bytes a token; times are of the last rank", s->row);
    printf("%s\n", served      ? ""
                   : of_states ? "; this needs emit: [forward, decode]"
                               : "; this needs emit: [forward, statistics]");
    return true;
}

void explain_ranks(const struct unit *p, const struct costs *costs)
{
    const struct rank_costs *r = &costs->ranks;
    char time[32], one[32], bytes[32];
    if (!r->ranks.count) return;
    const struct shared s = shared_of(p, costs);
    section("Ranks, for one sequence of n tokens");
    printf("  a rank has a core of %s at %.0f GHz; %lld heads, %lld of keys and values\n", costs_target(p)->name,
           NOMINAL_CLOCK / 1e9, (long long)r->heads.heads, (long long)r->heads.kv_heads);
    printf("  a link has %.4g GB/s, and an empty message takes %s\n", r->link.bandwidth / 1e9,
           table_seconds(r->link.latency, time, sizeof time));
    if (!print_needs(&s)) return;
    printf("  %9s  %6s  %10s  %10s  %10s  %10s%s  %s\n", "n", "ranks", "on one", "time", "received", "efficiency",
           s.c ? "   foldable" : "", "faster than one from");
    for (int k = 0; k < costs->lengths.count; k++)
        for (int x = 0; x < r->ranks.count; x++) {
            const int64_t n = costs->lengths.length[k], ranks = r->ranks.length[x];
            if (n < ranks) continue;
            double received, none;
            const double alone = shared_seconds(&s, n, 1, &none), seconds = shared_seconds(&s, n, ranks, &received);
            const int64_t from = k == 0 && ranks > 1 ? faster_from(&s, ranks) : 0;
            const double joined = s.c ? 100 * alone / ((double)ranks * joined_total(&s, n, ranks)) : 0;
            printf("  %9lld  %6lld  %10s  %10s  %10s  %9.1f%%%s  %s\n", (long long)n, (long long)ranks,
                   table_seconds(alone, one, sizeof one), table_seconds(seconds, time, sizeof time),
                   table_bytes(received, bytes, sizeof bytes), 100 * alone / ((double)ranks * seconds),
                   s.c ? arena_printf(p->arena, "  %8.1f%%", joined) : "",
                   k > 0 || ranks == 1 ? ""
                   : from              ? arena_printf(p->arena, "%lld tokens", (long long)from)
                                       : "no length");
        }
    printf(
        "  - on one: the time of one rank for all tokens; efficiency: the share of the ranks' time that one rank would "
        "need\n"
        "  - received: bytes that arrive at the last rank\n");
    if (s.c)
        printf("  - foldable: the efficiency with problem.foldable: ranks sum their tokens at the same time, and join "
               "states\n");
}
