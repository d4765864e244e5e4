/* Declarations shared by the files of the store: connection, statements, transactions, schema, rows, processes. */
#ifndef ATTNC_TUNE_STORE_CONNECTION_H
#define ATTNC_TUNE_STORE_CONNECTION_H

#include "store.h"
#include "../../support/support.h"
#include "../result.h"
#include "../space.h"

#include <sqlite3.h>

/* Prints a message for SQLite's last error, sets s->status and returns false. */
bool store_failed(struct store *s);
/* Prints the file's name and this message, sets s->status and returns false. */
bool store_wrong(struct store *s, enum status status, const char *format, ...) IR_PRINTF(3, 4);
/* Prepares a statement and binds its parameters. `types` has one letter per parameter: i (int64_t), d (double), t
   (const char *). On failure, prints a message and returns NULL. Free the statement with store_done. */
sqlite3_stmt *store_ask(struct store *s, const char *sql, const char *types, ...);
/* Resets the statement and binds new parameters, to run it again. */
bool store_again(struct store *s, sqlite3_stmt *statement, const char *types, ...);
/* Reads the next row. Returns 1 if there is one, and 0 if there are no more. On failure, prints a message and
   returns -1. */
int store_row(struct store *s, sqlite3_stmt *statement);
/* Runs the statement to its end and ignores its rows. */
bool store_step(struct store *s, sqlite3_stmt *statement);
void store_done(sqlite3_stmt *statement);
/* Prepares, runs and frees a statement. */
bool store_do(struct store *s, const char *sql, const char *types, ...);
/* store_write begins a transaction that writes. store_written commits it if `well`, otherwise rolls it back.
   store_write takes the write lock, so no other process writes in between. */
bool store_write(struct store *s);
bool store_written(struct store *s, bool well);
/* store_read begins a transaction that only reads. store_have_read ends it and returns `well`. All reads in between
   see the same data. */
bool store_read(struct store *s);
bool store_have_read(struct store *s, bool well);

/* ---- the schema ---- */

enum { STORE_IS_ATTNC = 0x61746e63 }; /* the value of PRAGMA application_id: "atnc" */
/* Returns the newest version of the schema: the number of steps in schema.c. */
int store_newest(void);
/* Returns the version of the database, or 0 if it is empty. If another program or a newer attnc made it, prints a
   message and returns -1. */
int store_version(struct store *s);
bool store_migrate(struct store *s);

/* ---- rows ---- */

/* Sets *id to the id of this experiment in the database. Inserts the experiment if it is new. */
bool store_experiment(struct store *s, const struct tune_experiment *e, int64_t *id);
bool store_experiment_read(struct store *s, int64_t id, struct arena *arena, struct tune_experiment *e);
/* Records that `trial` shares the result of the trial with the key `key`. */
bool store_set_same(struct store *s, int64_t trial, double finished, const char *status, const char *key);
/* Stores the point of a trial: one row of `choices` for each knob. */
bool store_choose(struct store *s, int64_t trial, const struct tune_point *point, const struct tune_space *space);
bool store_set_result(struct store *s, int64_t trial, double finished, const struct tune_result *result);
/* Reads a trial with its point and samples. The row of `statement` must begin with STORE_TRIAL_COLUMNS from
   STORE_TRIALS. There, t is the trial, and o is the trial whose result t shares, or NULL. */
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

/* Describes this process in one line: host name, boot, PID namespace, process id, start time. */
const char *process_here(struct arena *arena);
/* Returns true if the process with this description has ended. A process on another machine cannot be checked. It
   counts as ended a day after `begun`, in seconds since 1970. */
bool process_gone(const char *process, double begun);

/* The number of milliseconds to wait for the lock of another process. Tests shorten this time. */
extern int store_patience;

#endif
