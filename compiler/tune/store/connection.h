/* Declarations shared by the files of the store: the connection and its statements, the schema, rows. */
#ifndef ATTNC_TUNE_STORE_CONNECTION_H
#define ATTNC_TUNE_STORE_CONNECTION_H

#include "store.h"
#include "../../support/support.h"
#include "../result.h"
#include "../space.h"

#include <sqlite3.h>

/* Reports the last error of SQLite in words for people; returns false. */
bool store_failed(struct store *s);
/* Reports an error after the file's name; returns false. */
bool store_wrong(struct store *s, enum status status, const char *format, ...) IR_PRINTF(3, 4);
/* Makes a statement and binds its parameters: `types` has i (int64_t), d (double) or t (const char *) for each. End
   it with store_done. */
sqlite3_stmt *store_ask(struct store *s, const char *sql, const char *types, ...);
/* Resets the statement and binds new parameters. */
bool store_again(struct store *s, sqlite3_stmt *statement, const char *types, ...);
/* Returns 1 if there is a row, 0 if there are no more, -1 after a message. */
int store_row(struct store *s, sqlite3_stmt *statement);
/* Runs the statement to its end and ignores its rows. */
bool store_step(struct store *s, sqlite3_stmt *statement);
void store_done(sqlite3_stmt *statement);
bool store_do(struct store *s, const char *sql, const char *types, ...);
/* Every writer takes the lock before it reads, so that the values it read are still current when it writes. `well`:
   whether everything in between succeeded; if not, nothing is kept. */
bool store_write(struct store *s);
bool store_written(struct store *s, bool well);
/* All reads between these two see the same state of the database. */
bool store_read(struct store *s);
bool store_have_read(struct store *s, bool well);

/* ---- the schema ---- */

enum { STORE_IS_ATTNC = 0x61746e63 }; /* PRAGMA application_id: "atnc" */
/* The number of steps, which is the version of the schema after all of them. */
int store_newest(void);
/* The version of the database: 0 if it is empty; -1 after a message (it belongs to another program or a newer
   version). */
int store_version(struct store *s);
bool store_migrate(struct store *s);

/* ---- rows ---- */

/* Finds or inserts the experiment and returns its id. */
bool store_experiment(struct store *s, const struct tune_experiment *e, int64_t *id);
bool store_experiment_read(struct store *s, int64_t id, struct arena *arena, struct tune_experiment *e);
/* Records that `trial` shares the result of the trial whose key is `key`. */
bool store_set_same(struct store *s, int64_t trial, double finished, const char *status, const char *key);
bool store_choose(struct store *s, int64_t trial, const struct tune_point *point, const struct tune_space *space);
bool store_set_result(struct store *s, int64_t trial, double finished, const struct tune_result *result);
/* The trial with its schedule and samples; if it shares a result, that result. `statement` must begin with a row of
   STORE_TRIAL_COLUMNS from STORE_TRIALS. */
#define STORE_TRIALS "trials t LEFT JOIN trials o ON o.key = t.same_as"
#define STORE_TRIAL_COLUMNS \
    "t.id, t.begun, coalesce(o.status, t.status), coalesce(o.why, t.why), coalesce(o.work, t.work), coalesce(o.peak, " \
    "t.peak)," \
    " coalesce(o.bytes, t.bytes), coalesce(o.bandwidth, t.bandwidth), coalesce(o.code, t.code), o.id, t.process"
enum { STORE_TRIAL_WIDTH = 11 };
bool store_trial_read(struct store *s, sqlite3_stmt *statement, const struct tune_space *space, struct arena *arena,
                      struct tune_trial *trial);
const char *store_text(sqlite3_stmt *statement, int column, struct arena *arena);
double store_now(void);

/* ---- processes ---- */

/* This process, described in one line. */
const char *process_here(struct arena *arena);
/* Whether a process that was described by process_here, and began a trial at that time, has ended. For a process on
   another machine this is assumed after a day. */
bool process_gone(const char *process, double begun);

/* how many milliseconds to wait for the lock of another process */
extern int store_patience;

#endif
