/* One sequence over several ranks, as runtime/mpi/ computes it: the time of a call from the work of a rank and the time
   of its messages. */
#include "cost.h"

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double message_seconds(const struct link *link, double bytes)
{
    return link->latency + bytes / link->bandwidth;
}

double chain_seconds(int64_t ranks, int64_t slices, double work, double state, const struct link *link)
{
    const double of_slice = work / (double)slices, hop = ranks > 1 ? message_seconds(link, state / (double)slices) : 0;
    /* the last rank gets its first slice after all others have computed it */
    return (double)(ranks - 1) * (of_slice + hop) + (double)(slices - 1) * larger(of_slice, hop) + of_slice;
}

double joined_seconds(int64_t ranks, int64_t slices, double sums, double work, double state, const struct link *link,
                      double bandwidth)
{
    if (ranks == 1) return work;
    const double of_slice = state / (double)slices,
                 join = message_seconds(link, of_slice) +
                        3 * of_slice / bandwidth; /* two states are read, one written */
    return sums + (double)(ranks + slices - 2) * join + work;
}

double total_seconds(int64_t ranks, int64_t slices, double sums, double rows, double state, bool together,
                     const struct link *link, double bandwidth)
{
    if (ranks == 1) return sums + rows;
    const double back = (double)(ranks + slices - 2) * message_seconds(link, state / (double)slices);
    return back + (together ? joined_seconds(ranks, slices, sums, rows, state, link, bandwidth)
                            : chain_seconds(ranks, slices, sums, state, link) + rows);
}

double ring_seconds(int64_t runs, double own, double others, double bytes, const struct link *link)
{
    if (runs == 0) return own;
    const double of_run = others / (double)runs, hop = message_seconds(link, bytes / (double)runs);
    /* a rank computes with one run while it receives the next one */
    return larger(own, hop) + (double)(runs - 1) * larger(of_run, hop) + of_run;
}
