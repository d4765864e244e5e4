/* The database of results, an SQLite file.
   - An experiment is a spec, a machine and a shape.
   - A run is one search for an experiment.
   - A trial is the measurement of one point in a run. */
#ifndef ATTNC_TUNE_STORE_H
#define ATTNC_TUNE_STORE_H

#include "../../support/support.h"
#include "../result.h"
#include "../space.h"

#include <sqlite3.h>

/* The conditions under which a search measures. Trials of equal experiments can be compared and combined. */
struct tune_experiment {
    const char *spec_name, *spec_hash, *spec_text; /* the hash does not depend on the spec's schedule */
    const char *machine;                           /* a line with the processor, the caches and the threads */
    const char *compiler, *attnc;                  /* versions, such as "clang 19.1.7" and "0.1" */
    const char *target;
    struct tune_shape shape;
    struct tune_space space;
};
struct tune_trial {
    /* `same_as` is the id of the trial whose result this one shares, or 0. */
    int64_t id, same_as;
    double begun; /* the time when the trial began, in seconds since 1970 */
    struct tune_point point;
    struct tune_result result;
};

/* One search for one shape, read from the database. */
struct tune_run {
    int64_t id;
    double begun;
    const char *strategy;
    uint64_t seed;
    struct tune_experiment experiment;
    int trials;
    struct tune_trial *trial; /* sorted by the time when they began */
};

struct store {
    sqlite3 *db;
    const char *file; /* the path as the user gave it, for messages */
    const struct options *o;
    enum status status; /* the exit status for the last failure */
    char name[];        /* A relative path begins with "./", because names such as ":memory:" are special for SQLite */
};

/* Opens the database, and creates or migrates it if necessary. On failure, prints a message, sets *status and
   returns NULL.
   - If `readonly` is true, the file must exist and is not changed.
   - Several processes may have the database open. A killed process loses no finished trial.
   - A forked child must open the database itself. */
struct store *store_open(const char *file, bool readonly, const struct options *o, enum status *status);
void store_close(struct store *s);
/* If the functions below fail, for example because the disk is full, they print a message and return false. */
/* Sets *run to a new run of the experiment. If `resume` is true and there is a run with this experiment, strategy
   and seed, takes the last such run instead. */
bool store_run(struct store *s, const struct tune_experiment *e, const char *strategy, uint64_t seed, bool resume,
               int64_t *run);
/* Sets *trial to a new trial at the point. If the run has an interrupted trial at this point, uses that trial again. */
bool store_begin(struct store *s, int64_t run, const struct tune_point *point, const struct tune_space *space,
                 int64_t *trial);
bool store_interrupt(struct store *s, int64_t trial);
/* Ends a trial that has the same C code as `measured`, and shares its result. */
bool store_share(struct store *s, int64_t trial, int64_t measured);
/* Ends a trial. The samples of the result replace the stored samples. */
bool store_finish(struct store *s, int64_t trial, const struct tune_result *result);
/* Returns the last trial of the run that measured the point and has a result. If `anywhere` is true, searches all
   runs of the experiment. Returns NULL if there is no such trial. After an error, prints a message, sets *failed and
   returns NULL. */
const struct tune_trial *store_find(struct store *s, int64_t run, bool anywhere, const struct tune_point *point,
                                    const struct tune_space *space, struct arena *arena, bool *failed);
/* Does the same as store_find, but searches for the C code with this hash, at any point. */
const struct tune_trial *store_find_code(struct store *s, int64_t run, bool anywhere, const char *code,
                                         const struct tune_space *space, struct arena *arena, bool *failed);
/* Reads all runs of the spec, or of all specs if `spec_name` is NULL. Returns their number. On failure, prints a
   message and returns -1. */
int store_runs(struct store *s, const char *spec_name, struct arena *arena, struct tune_run **runs);
/* Reads one run. If `anywhere` is true, the run gets the trials of all runs of its experiment. On failure, prints a
   message and returns NULL. */
const struct tune_run *store_run_read(struct store *s, int64_t run, bool anywhere, struct arena *arena);
/* Copies runs and trials that this database lacks from the file `other`. If both have a trial, keeps the newer
   result. */
bool store_merge(struct store *s, const char *other);

#endif
