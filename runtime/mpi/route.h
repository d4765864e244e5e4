/* The routes of keys: the rows that each rank sends to each other rank, and their order. All ranks compute the same
   routes. */
#ifndef ATTNRT_ROUTE_H
#define ATTNRT_ROUTE_H

#include "ranks.h"

/* The keys of a run that are sent at a time. Tests compile shorter pieces. */
#ifndef ATTN_RANKS_PIECE
#define ATTN_RANKS_PIECE 4096
#endif

/* Keys first … end - 1 of a run. */
struct rows {
    int64_t first, end;
};
struct routes {
    const struct attn_kernel *kernel;
    const struct run *run;
    int ranks;
    bool around;                 /* all runs travel around a ring; otherwise they travel up and down a line */
    int64_t first_query;         /* the position of the first query of all */
    int64_t piece;               /* the number of keys of a piece, a multiple of kernel->period */
    int64_t end_of_keys;         /* no query sees a key from this position on */
    const int32_t *ids;          /* NULL, or the ids of all keys: a query sees only keys with its own id */
    const struct listed *listed; /* NULL, or the units of keys that each rank's queries list: they see no others */
    int64_t all_keys, batch, unit;
};
/* Makes the routes of a call. Sets run[…].min_id and max_id. Returns 0, or ATTN_ELENGTH if a run does not begin at a
   multiple of kernel->period, or its queries not with a list of blocks. */
int routes_make(const struct ranks_call *call, struct routes *out);
/* Lets the routes leave out keys that no list of blocks names. Returns an error of the transport. */
int routes_gather(const struct ranks_call *call, struct routes *x);
/* Gathers call->listed for `keys` keys of all ranks, and sets *unit to the keys of a unit (listed.c). */
int listed_gather(const struct ranks_call *call, int64_t keys, int64_t *unit);
int64_t piece_of_runs(const struct attn_kernel *kernel);
int64_t routes_pieces(const struct routes *x); /* the number of pieces of the longest run */
/* Returns the position of the first key or query of a rank. */
int64_t routes_key(const struct routes *x, int rank);
int64_t routes_query(const struct routes *x, int rank);
/* Returns the rows of a piece of the run of rank `source` that the queries of `rank` see. */
struct rows routes_seen(const struct routes *x, int source, int rank, int64_t piece);
/* Returns the rows of the piece that are sent to `rank`, which travel in direction `step`, 1 or -1. */
struct rows routes_sent(const struct routes *x, int source, int rank, int step, int64_t piece);
/* Returns the rank that is `hops` steps before `rank`, or -1 if there is none. */
int routes_source(const struct routes *x, int rank, int step, int hops);

static inline bool rows_any(struct rows r)
{
    return r.first < r.end;
}

#endif
