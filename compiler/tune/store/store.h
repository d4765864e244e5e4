/* Results on disk, in an SQLite database. */
#ifndef ATTNC_TUNE_STORE_H
#define ATTNC_TUNE_STORE_H

#include "../../support/support.h"
#include "../result.h"
#include "../space.h"

#include <sqlite3.h>

/* The conditions of a search: trials of equal experiments may be combined. */
struct tune_experiment {
    const char *spec_name, *spec_hash, *spec_text; /* the hash identifies what the spec computes, without its
                                                      schedule */
    const char *machine;                           /* processor, caches, threads: one line */
    const char *compiler, *attnc;                  /* "clang 19.1.7", "0.1" */
    const char *target;
    struct tune_shape shape;
    struct tune_space space;
};
struct tune_trial {
    int64_t id, same_as; /* 0, or the trial with the same C code that was measured in place of this one and whose result
                            is shared */
    double begun;        /* seconds since 1970 */
    struct tune_point point;
    struct tune_result result;
};

/* One search for one shape, as stored. */
struct tune_run {
    int64_t id;
    double begun;
    const char *strategy;
    uint64_t seed;
    struct tune_experiment experiment;
    int trials;
    struct tune_trial *trial; /* in the order in which they were begun */
};

struct store {
    sqlite3 *db;
    const char *file; /* as given by the user */
    const struct options *o;
    enum status status; /* of the last failure */
    char name[];        /* file, or ./file, because SQLite treats the names ":memory:" and "file:" specially */
};

/* Opens, creates or migrates the database. With `readonly` it must exist and is not changed. NULL after a message,
   with *status set. Several processes may have it open, and any may end at any time: finished trials stay. A forked
   child must open the database itself. */
struct store *store_open(const char *file, bool readonly, const struct options *o, enum status *status);
void store_close(struct store *s);
/* These return false after a message (a full disk, a file that cannot be written, a lock that was not released in
   time). */
/* Makes a run of the experiment. With `resume` it continues the last run with an equal experiment, strategy and
   seed, if there is one. */
bool store_run(struct store *s, const struct tune_experiment *e, const char *strategy, uint64_t seed, bool resume,
               int64_t *run);
/* Begins a trial of the run: a new one, or one that was interrupted. */
bool store_begin(struct store *s, int64_t run, const struct tune_point *point, const struct tune_space *space,
                 int64_t *trial);
/* Ends a trial without a result. */
bool store_interrupt(struct store *s, int64_t trial);
/* Ends a trial with the result of another one, which was measured with the same C code. */
bool store_share(struct store *s, int64_t trial, int64_t measured);
/* Stores the complete result of the trial, including earlier samples, in one transaction. */
bool store_finish(struct store *s, int64_t trial, const struct tune_result *result);
/* The last finished trial of a run (`anywhere`: of all runs of its experiment) at the point, in the arena; NULL if
   there is none. *failed: a message was given. */
const struct tune_trial *store_find(struct store *s, int64_t run, bool anywhere, const struct tune_point *point,
                                    const struct tune_space *space, struct arena *arena, bool *failed);
/* The last finished trial that was measured with C code of that hash. */
const struct tune_trial *store_find_code(struct store *s, int64_t run, bool anywhere, const char *code,
                                         const struct tune_space *space, struct arena *arena, bool *failed);
/* All runs (of the spec with that name, if it is not NULL), in the arena; -1 after a message. */
int store_runs(struct store *s, const char *spec_name, struct arena *arena, struct tune_run **runs);
/* One run, in the arena; `anywhere`: with the trials of all runs of its experiment. NULL after a message. */
const struct tune_run *store_run_read(struct store *s, int64_t run, bool anywhere, struct arena *arena);
/* Copies what only the other database has. Merging again copies nothing twice. */
bool store_merge(struct store *s, const char *other);

#endif
