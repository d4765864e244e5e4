/* The routes of keys. A query sees keys at most `before` positions before it and `after` positions after it. If a query
   may see all keys, all runs travel around the ring of ranks. Otherwise a run travels up the line of ranks to later
   queries, and down to earlier ones, as far as a query sees one of its keys. */
#include "route.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t piece_of_runs(const struct attn_kernel *kernel)
{
    const int64_t period = most(kernel->period, 1);
    return (ATTN_RANKS_PIECE + period - 1) / period * period;
}

int64_t routes_key(const struct routes *x, int rank)
{
    int64_t at = 0;
    for (int r = 0; r < rank; r++) at += x->run[r].n_k;
    return at;
}

int64_t routes_query(const struct routes *x, int rank)
{
    int64_t at = x->first_query;
    for (int r = 0; r < rank; r++) at += x->run[r].n_q;
    return at;
}

int routes_make(const struct attn_kernel *kernel, const struct run *run, int ranks, struct routes *out)
{
    *out = (struct routes){.kernel = kernel, .run = run, .ranks = ranks, .piece = piece_of_runs(kernel)};
    out->around = kernel->before == INT64_MAX && kernel->after == INT64_MAX;
    int64_t keys = 0, queries = 0;
    for (int r = 0; r < ranks; r++) {
        if (run[r].n_k > 0 && keys % most(kernel->period, 1)) return ATTN_ELENGTH;
        keys += run[r].n_k;
        queries += run[r].n_q;
    }
    out->first_query = keys - queries;
    return 0;
}

int64_t routes_pieces(const struct routes *x)
{
    int64_t pieces = 0;
    for (int r = 0; r < x->ranks; r++) pieces = most(pieces, (x->run[r].n_k + x->piece - 1) / x->piece);
    return pieces;
}

struct rows routes_seen(const struct routes *x, int source, int rank, int64_t piece)
{
    const int64_t before = x->kernel->before, after = x->kernel->after, begin = routes_key(x, source),
                  queries = x->run[rank].n_q, query = routes_query(x, rank) - begin;
    struct rows rows = {piece * x->piece, least((piece + 1) * x->piece, x->run[source].n_k)};
    if (queries == 0) return (struct rows){0, 0};
    if (before < INT64_MAX) rows.first = most(rows.first, query - before);
    if (after < INT64_MAX) rows.end = least(rows.end, query + queries + after);
    if (!rows_any(rows)) return (struct rows){0, 0};
    rows.first -= rows.first % most(x->kernel->period, 1); /* a call counts positions from its first key */
    return rows;
}

int routes_source(const struct routes *x, int rank, int step, int hops)
{
    const int source = rank - step * hops;
    if (x->around) return hops < x->ranks ? (source % x->ranks + x->ranks) % x->ranks : -1;
    return source >= 0 && source < x->ranks ? source : -1;
}

struct rows routes_sent(const struct routes *x, int source, int rank, int step, int64_t piece)
{
    struct rows all = {0, 0};
    if (rank < 0 || rank >= x->ranks || source < 0) return all;
    for (int r = rank; r != source && r >= 0 && r < x->ranks;) {
        const struct rows seen = routes_seen(x, source, r, piece);
        if (rows_any(seen) && rows_any(all))
            all = (struct rows){least(all.first, seen.first), most(all.end, seen.end)};
        else if (rows_any(seen))
            all = seen;
        r += step;
        if (x->around) r = (r + x->ranks) % x->ranks;
    }
    return all;
}
