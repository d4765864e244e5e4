/* The parsed command line of attnc tune. */
#ifndef ATTNC_TUNE_OPTIONS_H
#define ATTNC_TUNE_OPTIONS_H

#include "result.h"
#include "space.h"
#include "../support/support.h"

struct tune_request {
    int shapes;
    /* Sorted by length. 0 threads means OpenMP's default. */
    struct tune_shape shape[MAX_SHAPES];
    /* Seconds. `time` is for the whole search, and `limit` is for one trial. */
    double time, limit;
    int64_t trials, samples, document;
    uint64_t seed;
};
/* Reads the options of attnc tune into *r. On failure, prints a message and returns false. */
bool tune_request_read(const struct options *o, struct tune_request *r);
/* Removes knobs that --knobs does not name from the space. On failure, prints a message and returns false. */
bool tune_knobs(const struct options *o, struct tune_space *space);

#endif
