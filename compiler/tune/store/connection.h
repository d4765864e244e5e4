/* What the files of the store share: the connection and statements on it, the schema, rows. */
#ifndef ATTNC_TUNE_STORE_CONNECTION_H
#define ATTNC_TUNE_STORE_CONNECTION_H

#include "store.h"
#include "../../support/support.h"
#include "../result.h"
#include "../space.h"

#include <sqlite3.h>

/* Says what SQLite has just refused to do, in words for people; false. */
bool store_failed(struct store *s);
/* A message of our own, after the file's name; false. */
bool store_wrong(struct store *s, enum status status, const char *format, ...) IR_PRINTF(3, 4);
/* A statement with its parameters bound: `types` has i (int64_t), d (double) or t (const char *) for each. store_done
   ends it. */
sqlite3_stmt *store_ask(struct store *s, const char *sql, const char *types, ...);
/* The same for the next turn of a statement. */
bool store_again(struct store *s, sqlite3_stmt *statement, const char *types, ...);
/* 1: there is a row; 0: no more; -1 after a message. */
int store_row(struct store *s, sqlite3_stmt *statement);
/* To the end of the statement, without its rows. */
bool store_step(struct store *s, sqlite3_stmt *statement);
void store_done(sqlite3_stmt *statement);
bool store_do(struct store *s, const char *sql, const char *types, ...);
/* Every writer takes the lock before it reads, so that what it read still holds when it writes. `well`: what came of
   all in between; else nothing is kept. */
bool store_write(struct store *s);
bool store_written(struct store *s, bool well);
/* What is read in between is of one moment. */
bool store_read(struct store *s);
bool store_have_read(struct store *s, bool well);

/* ---- the schema ---- */

enum { STORE_IS_ATTNC = 0x61746e63 }; /* PRAGMA application_id: "atnc" */
/* The steps there are: the version of the schema after all of them. */
int store_newest(void);
/* The version in the database: 0 where there is nothing in it; -1 after a message (another program's, a newer one). */
int store_version(struct store *s);
bool store_migrate(struct store *s);

/* ---- rows ---- */

/* The experiment's id: found, or made. */
bool store_experiment(struct store *s, const struct tune_experiment *e, int64_t *id);
bool store_experiment_read(struct store *s, int64_t id, struct arena *arena, struct tune_experiment *e);
/* The trial has the result of another one, whose key that is. */
bool store_set_same(struct store *s, int64_t trial, double finished, const char *status, const char *key);
bool store_choose(struct store *s, int64_t trial, const struct tune_point *point, const struct tune_space *space);
bool store_set_result(struct store *s, int64_t trial, double finished, const struct tune_result *result);
/* The trial with its schedule and samples; of one that shares a result, that of the other. `statement` has a row of
   STORE_TRIAL_COLUMNS first, from STORE_TRIALS. */
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

/* This one, in one line. */
const char *process_here(struct arena *arena);
/* Whether a process of before, which said so of itself and began a trial then, has ended. Of one on another machine
   that is known after a day. */
bool process_gone(const char *process, double begun);

/* Milliseconds that another process's lock is waited for. */
extern int store_patience;

#endif
