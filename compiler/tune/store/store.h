/* Results on disk, in SQLite. */
#ifndef ATTNC_TUNE_STORE_H
#define ATTNC_TUNE_STORE_H

#include "../../support/support.h"
#include "../result.h"
#include "../space.h"

#include <sqlite3.h>

/* Under what a search was made: trials of equal experiments may be joined. */
struct tune_experiment {
    const char *spec_name, *spec_hash, *spec_text; /* the hash of what the spec means, its schedule aside */
    const char *machine;                           /* processor, caches, threads: one line */
    const char *compiler, *attnc;                  /* "clang 19.1.7", "0.1" */
    const char *target;
    struct tune_shape shape;
    struct tune_space space;
};
struct tune_trial {
    int64_t id,
        same_as; /* 0, or the trial with the same C that was measured in place of this one: the result is of that one */
    double begun; /* seconds since 1970 */
    struct tune_point point;
    struct tune_result result;
};

/* One search over one shape, as it was stored. */
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
    const char *file; /* as it was named */
    const struct options *o;
    enum status status; /* of the last failure */
    char name[];        /* file, or ./file: SQLite gives ":memory:" and "file:" meanings of its own */
};

/* Opens, makes or migrates the database; with `readonly` it has to be there, and is not changed. NULL after a message:
   *status. Several processes may have it open, and any may die at any time: what was finished stays. A forked child
   opens its own. */
struct store *store_open(const char *file, bool readonly, const struct options *o, enum status *status);
void store_close(struct store *s);
/* These return false after a message (a full disk, a file that cannot be written, a lock that never came free). */
/* A run for the experiment: with `resume` the last one of an equal experiment, strategy and seed, if there is one. */
bool store_run(struct store *s, const struct tune_experiment *e, const char *strategy, uint64_t seed, bool resume,
               int64_t *run);
/* A trial of the run: new, or one that was interrupted and is begun again. */
bool store_begin(struct store *s, int64_t run, const struct tune_point *point, const struct tune_space *space,
                 int64_t *trial);
/* Of a trial that was begun: nothing came of it. */
bool store_interrupt(struct store *s, int64_t trial);
/* The result of a trial that was begun is that of another, which was measured with the same C. */
bool store_share(struct store *s, int64_t trial, int64_t measured);
/* All that is known of the trial, samples of before included, in one transaction. */
bool store_finish(struct store *s, int64_t trial, const struct tune_result *result);
/* The last finished trial of a run (`anywhere`: of all runs of its experiment) at the point, in the arena; NULL: none
   (yet). *failed: a message was given. */
const struct tune_trial *store_find(struct store *s, int64_t run, bool anywhere, const struct tune_point *point,
                                    const struct tune_space *space, struct arena *arena, bool *failed);
/* The same for a trial that was measured with C of that hash. */
const struct tune_trial *store_find_code(struct store *s, int64_t run, bool anywhere, const char *code,
                                         const struct tune_space *space, struct arena *arena, bool *failed);
/* All runs (of the spec with that name, if it is not NULL), in the arena; -1 after a message. */
int store_runs(struct store *s, const char *spec_name, struct arena *arena, struct tune_run **runs);
/* One run, in the arena; `anywhere`: with the trials of all runs of its experiment. NULL after a message. */
const struct tune_run *store_run_read(struct store *s, int64_t run, bool anywhere, struct arena *arena);
/* Copies what the other database has and this one lacks; nothing twice, however often. */
bool store_merge(struct store *s, const char *other);

#endif
