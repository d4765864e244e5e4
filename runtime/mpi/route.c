/* The routes of keys. A query sees keys at most `before` positions before it and `after` positions after it. If a query
   may see all keys, all runs travel around the ring of ranks. Otherwise a run travels up the line of ranks to later
   queries, and down to earlier ones, as far as a query sees one of its keys. Integers of a mask, which all ranks have,
   tell that some keys are not seen: keys after the longest sequence, and keys of other documents. */
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

/* Sets the range of the ids of each rank's queries, over all sequences. */
static void set_ids(const struct routes *x, struct run *run, int64_t all)
{
    for (int r = 0; r < x->ranks; r++) {
        const int64_t first = routes_query(x, r), begin = most(first, 0), end = least(first + run[r].n_q, all);
        run[r].min_id = INT32_MAX;
        run[r].max_id = INT32_MIN;
        for (int64_t b = 0; b < x->batch; b++)
            for (int64_t i = begin; i < end; i++) {
                const int32_t id = x->ids[b * all + i];
                if (id < run[r].min_id) run[r].min_id = id;
                if (id > run[r].max_id) run[r].max_id = id;
            }
    }
}

int routes_make(const struct ranks_call *call, struct routes *out)
{
    const struct attn_kernel *const kernel = call->kernel;
    const struct run *const run = call->run;
    const int ranks = call->transport->ranks;
    *out = (struct routes){.kernel = kernel,
                           .run = run,
                           .ranks = ranks,
                           .piece = piece_of_runs(kernel),
                           .end_of_keys = kernel->end_of_keys,
                           .batch = call->problem.batch};
    out->around = kernel->before == INT64_MAX && kernel->after == INT64_MAX;
    int64_t keys = 0, queries = 0;
    for (int r = 0; r < ranks; r++) {
        if (run[r].n_k > 0 && keys % most(kernel->period, 1)) return ATTN_ELENGTH;
        if (run[r].n_q > 0 && queries % queries_of_block(kernel)) return ATTN_ELENGTH;
        keys += run[r].n_k;
        queries += run[r].n_q;
    }
    out->first_query = keys - queries;
    out->all_keys = keys;
    for (int k = 0; k < kernel->params; k++) {
        const int32_t *const data = all_integers(call, &kernel->param[k]);
        int64_t longest = 0;
        for (int64_t b = 0; data && kernel->param[k].limits == ATTN_LENGTHS && b < out->batch; b++)
            longest = most(longest, data[b]);
        if (data && kernel->param[k].limits == ATTN_LENGTHS) out->end_of_keys = least(out->end_of_keys, longest);
        if (data && kernel->param[k].limits == ATTN_IDS && call->problem.all_keys == keys) out->ids = data;
    }
    if (out->ids) set_ids(out, call->run, keys);
    return 0;
}

int routes_gather(const struct ranks_call *call, struct routes *x)
{
    x->listed = call->listed;
    return listed_gather(call, x->all_keys, &x->unit);
}

int64_t routes_pieces(const struct routes *x)
{
    int64_t pieces = 0;
    for (int r = 0; r < x->ranks; r++) pieces = most(pieces, (x->run[r].n_k + x->piece - 1) / x->piece);
    return pieces;
}

/* Whether the key at a position has an id of the rank's queries in some sequence. */
static bool has_id(const struct routes *x, int rank, int64_t key)
{
    const int64_t all = x->all_keys;
    bool has = false;
    for (int64_t b = 0; b < x->batch && !has; b++)
        has = x->ids[b * all + key] >= x->run[rank].min_id && x->ids[b * all + key] <= x->run[rank].max_id;
    return has;
}

static bool lists(const struct routes *x, int rank, int64_t key)
{
    const int64_t at = key / x->unit;
    return x->listed[rank].bits[at / 64] >> at % 64 & 1;
}

/* Returns the rows without the first and last units that no query of the rank lists. `begin` is the position of the
   run. */
static struct rows listed_rows(const struct routes *x, int rank, int64_t begin, struct rows rows)
{
    while (rows_any(rows) && !lists(x, rank, begin + rows.first))
        rows.first = ((begin + rows.first) / x->unit + 1) * x->unit - begin;
    while (rows_any(rows) && !lists(x, rank, begin + rows.end - 1))
        rows.end = (begin + rows.end - 1) / x->unit * x->unit - begin;
    return rows;
}

struct rows routes_seen(const struct routes *x, int source, int rank, int64_t piece)
{
    const int64_t before = x->kernel->before, after = x->kernel->after, begin = routes_key(x, source),
                  queries = x->run[rank].n_q, query = routes_query(x, rank) - begin;
    struct rows rows = {piece * x->piece, least((piece + 1) * x->piece, x->run[source].n_k)};
    if (queries == 0) return (struct rows){0, 0};
    const int64_t open = x->kernel->open_keys - begin;
    if (before < INT64_MAX && rows.first >= open) rows.first = most(rows.first, query - before);
    if (after < INT64_MAX) rows.end = least(rows.end, most(query + queries + after, open));
    if (x->end_of_keys < INT64_MAX) rows.end = least(rows.end, x->end_of_keys - begin);
    while (x->ids && rows_any(rows) && !has_id(x, rank, begin + rows.first)) rows.first++;
    while (x->ids && rows_any(rows) && !has_id(x, rank, begin + rows.end - 1)) rows.end--;
    if (x->listed) rows = listed_rows(x, rank, begin, rows);
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
