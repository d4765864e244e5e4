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
    const char *strategy, *database;
    /* Seconds. `time` is for the whole search, and `limit` is for one trial. */
    double time, limit;
    int64_t trials, samples, document;
    uint64_t seed;
    /* For --shard 2/8, `shard` is 2 and `shards` is 8. Then only points whose number mod 8 is 1 are measured. */
    int64_t shard, shards;
    /* The file of this rank's results if mpirun or Slurm started several ranks, else NULL. They then have a shard
       each. */
    const char *own;
};
/* Reads the options of attnc tune into *r. On failure, prints a message, sets *status and returns false. */
bool tune_request_read(const struct options *o, struct arena *arena, struct tune_request *r, enum status *status);
/* Removes knobs that --knobs does not name from the space. On failure, prints a message and returns false. */
bool tune_knobs(const struct options *o, struct tune_space *space);

/* Whether mpirun or Slurm started this process as one of several. Sets *rank, from 0, and *ranks. (ranks.c) */
bool ranks_launched(int64_t *rank, int64_t *ranks);

#endif
