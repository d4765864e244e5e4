/* The command attnc bench. */
#ifndef ATTNC_BENCH_H
#define ATTNC_BENCH_H

#include "../support/support.h"

int command_bench(const struct options *o);

enum { MAX_COUNTS = 32, MAX_SPECS = 32, MAX_ENTRIES = 2 * MAX_SPECS };

struct bench_request {
    struct lengths lengths; /* the numbers of queries, and of keys, in ascending order */
    int threads, heads;     /* the number of elements in `thread` and in `head` */
    int thread[MAX_COUNTS];
    struct head_counts head[MAX_COUNTS];
    int64_t batch, document;
    /* Seconds. `time`: the minimum measuring time of an entry at a point. `limit`: longer calls are skipped. */
    double time, limit;
    uint64_t seed;
};

bool heads_read(const struct options *o, struct bench_request *r); /* sets r->heads and r->head from --heads */

#endif
