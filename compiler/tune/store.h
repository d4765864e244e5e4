/* The database of results, an SQLite file. Its table `runs` has a row for each search for one shape, and `trials` has a
   row for each measured point of a run. */
#ifndef ATTNC_TUNE_STORE_H
#define ATTNC_TUNE_STORE_H

#include "result.h"
#include "space.h"
#include "../support/support.h"

/* The conditions under which a search measures. */
struct tune_experiment {
    const char *spec_name, *spec_hash, *spec_text; /* the hash does not depend on the spec's schedule */
    const char *machine;                           /* a line with the processor, the caches and the threads */
    const char *compiler, *attnc;                  /* versions, such as "clang 19.1.7" and "0.1" */
    const char *target;
    struct tune_shape shape;
    struct tune_space space;
};
struct tune_trial {
    /* `id` is 0 before the trial is stored. `same_as` is the id of the trial whose result this one shares because its C
       code is equal, or 0. */
    int64_t id, same_as;
    double begun; /* the time when the trial began, in seconds since 1970 */
    struct tune_point point;
    struct tune_result result;
};

/* One search for one shape. A point has at most one trial. */
struct tune_run {
    int64_t id;
    double begun;
    uint64_t seed;
    struct tune_experiment experiment;
    int trials;
    struct tune_trial *trial;
};

/* Appends a trial to the run. Pointers to the run's earlier trials become invalid. */
struct tune_trial *tune_trial_add(struct tune_run *run, struct arena *arena);

struct store;
/* Opens the database. On failure, prints a message, sets *status and returns NULL.
   - If `create` is false, the file must exist and is not changed.
   - Several processes may have the database open. A killed process loses no stored trial. */
struct store *store_open(const char *file, bool create, struct arena *arena, const struct options *o,
                         enum status *status);
void store_close(struct store *s);
/* The functions below print a message if they fail, for example because the disk is full. */
/* Sets *run to a new run of the experiment. If `resume` is true, takes the last run with this experiment and seed
   instead, with its trials, if there is one. */
bool store_run(struct store *s, const struct tune_experiment *e, uint64_t seed, bool resume, struct arena *arena,
               struct tune_run *run);
/* Inserts the trial, or replaces its row. Sets trial->id. */
bool store_trial(struct store *s, const struct tune_run *run, struct tune_trial *trial);
/* Reads all runs. Returns their number, or -1 on failure. */
int store_runs(struct store *s, struct arena *arena, struct tune_run **runs);

/* Returns the time in seconds since 1970. */
double store_now(void);

#endif
