/* The database of results, an SQLite file. An experiment is a spec, a machine and a shape; a run is one search for an
   experiment; a trial is the measurement of one point in a run. */
#ifndef ATTNC_TUNE_STORE_H
#define ATTNC_TUNE_STORE_H

#include "../../support/support.h"
#include "../result.h"
#include "../space.h"

#include <sqlite3.h>

/* The conditions under which a search measures. Trials of equal experiments can be compared and combined. */
struct tune_experiment {
    const char *spec_name, *spec_hash, *spec_text; /* the hash depends on what the spec computes, and not on its
                                                      schedule */
    const char *machine;                           /* one line: processor, caches, threads */
    const char *compiler, *attnc;                  /* versions, such as "clang 19.1.7" and "0.1" */
    const char *target;
    struct tune_shape shape;
    struct tune_space space;
};
struct tune_trial {
    int64_t id, same_as; /* same_as: the id of the trial whose result this one shares, because both have the same C
                            code; 0: this trial was measured itself */
    double begun;        /* seconds since 1970 */
    struct tune_point point;
    struct tune_result result;
};

/* One search for one shape, as it was read from the database. */
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
    char name[];        /* the path; a relative path begins with "./", because SQLite gives the names ":memory:" and
                           "file:..." a special meaning */
};

/* Opens the database; creates it if it does not exist, and migrates an older version. Returns NULL with *status set,
   after a message.
   - `readonly`: the file must exist and is not changed.
   - Several processes may have the database open. If one is killed, its finished trials remain.
   - A forked child must open the database itself. */
struct store *store_open(const char *file, bool readonly, const struct options *o, enum status *status);
void store_close(struct store *s);
/* The functions below return false after a message, for example if the disk is full, the file cannot be written, or
   another process holds the lock for too long. */
/* Sets *run to a new run of the experiment. With `resume`, to the last run with the same experiment, strategy and seed,
   if there is one. */
bool store_run(struct store *s, const struct tune_experiment *e, const char *strategy, uint64_t seed, bool resume,
               int64_t *run);
/* Sets *trial to a new trial of the run at the point. If the run has an interrupted trial there, that one is begun
   again. */
bool store_begin(struct store *s, int64_t run, const struct tune_point *point, const struct tune_space *space,
                 int64_t *trial);
/* Marks a trial as interrupted, so without a result. */
bool store_interrupt(struct store *s, int64_t trial);
/* Ends a trial that shares the result of the trial `measured`, because both have the same C code. */
bool store_share(struct store *s, int64_t trial, int64_t measured);
/* Ends a trial with a result, in one transaction. The samples replace the stored samples of the trial. */
bool store_finish(struct store *s, int64_t trial, const struct tune_result *result);
/* Returns the last trial at the point that has a result. Searches the run; with `anywhere`, all runs of its experiment.
   Returns NULL if there is none; also after an error, with *failed set after a message. */
const struct tune_trial *store_find(struct store *s, int64_t run, bool anywhere, const struct tune_point *point,
                                    const struct tune_space *space, struct arena *arena, bool *failed);
/* Like store_find, for the last trial whose measured C code has that hash, at any point. */
const struct tune_trial *store_find_code(struct store *s, int64_t run, bool anywhere, const char *code,
                                         const struct tune_space *space, struct arena *arena, bool *failed);
/* Reads all runs of the spec with that name, or of all specs if it is NULL. Returns their number; -1 after a
   message. */
int store_runs(struct store *s, const char *spec_name, struct arena *arena, struct tune_run **runs);
/* Reads one run; `anywhere`: with the trials of all runs of its experiment. NULL after a message. */
const struct tune_run *store_run_read(struct store *s, int64_t run, bool anywhere, struct arena *arena);
/* Copies runs and trials from the database file `other` that this database lacks. For trials in both databases, keeps
   the newer result. */
bool store_merge(struct store *s, const char *other);

#endif
