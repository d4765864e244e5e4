/* The request of attnc tune. */
#ifndef ATTNC_TUNE_OPTIONS_H
#define ATTNC_TUNE_OPTIONS_H

#include "result.h"
#include "space.h"
#include "../support/support.h"

struct tune_request {
    int shapes;
    struct tune_shape shape[MAX_SHAPES]; /* by length, ascending; threads 0: OpenMP's default */
    const char *strategy, *database;
    double time, limit; /* seconds: for everything; for one trial */
    int64_t trials, samples, document;
    uint64_t seed;
    int64_t shard, shards; /* the part of the space that is searched here, from 1, of that many */
};
/* False after a message; *status. */
bool tune_request_read(const struct options *o, struct arena *arena, struct tune_request *r, enum status *status);
/* Takes the knobs out of the space that --knobs does not name; false after a message. */
bool tune_knobs(const struct options *o, struct tune_space *space);

#endif
