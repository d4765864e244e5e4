/* The parsed command line of attnc tune. */
#ifndef ATTNC_TUNE_OPTIONS_H
#define ATTNC_TUNE_OPTIONS_H

#include "result.h"
#include "space.h"
#include "../support/support.h"

struct tune_request {
    int shapes;
    struct tune_shape shape[MAX_SHAPES]; /* sorted by length; threads 0: OpenMP's default */
    const char *strategy, *database;
    double time, limit; /* in seconds: for the whole search, and for one trial */
    int64_t trials, samples, document;
    uint64_t seed;
    int64_t shard, shards; /* --shard 2/8: shard is 2, shards is 8. Only points whose number mod 8 is 1 are measured */
};
/* Returns false after a message, with *status set. */
bool tune_request_read(const struct options *o, struct arena *arena, struct tune_request *r, enum status *status);
/* Removes knobs that --knobs does not name from the space. Returns false after a message. */
bool tune_knobs(const struct options *o, struct tune_space *space);

#endif
