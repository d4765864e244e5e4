/* The tables of the database, and the migration of older databases. */
#include "connection.h"
#include "store.h"
#include "../../support/support.h"

/* The columns and tables of the view `results` since version 2. A step never changes, so later columns of this view
   need another macro. */
#define RESULTS_OF_TRIALS \
    " r.strategy, coalesce(o.status, t.status) AS status, coalesce(o.why, t.why) AS why," \
    " (SELECT group_concat(name || '=' || value, ' ') FROM (SELECT k.name, v.value FROM choices c JOIN knobs k ON " \
    "k.id " \
    "= c.knob" \
    "   JOIN knob_values v ON v.knob = c.knob AND v.position = c.position WHERE c.trial = t.id ORDER BY k.position)) " \
    "AS schedule," \
    " o.id AS same_as," \
    " (SELECT count(*) FROM samples s WHERE s.trial = coalesce(o.id, t.id)) AS samples," \
    " (SELECT min(seconds) FROM samples s WHERE s.trial = coalesce(o.id, t.id)) AS least_seconds," \
    " (SELECT avg(seconds) FROM samples s WHERE s.trial = coalesce(o.id, t.id)) AS mean_seconds," \
    " (SELECT avg(usual) FROM samples s WHERE s.trial = coalesce(o.id, t.id)) AS mean_usual" \
    " FROM trials t JOIN runs r ON r.id = t.run JOIN experiments e ON e.id = r.experiment LEFT JOIN trials o ON " \
    "o.key " \
    "= t.same_as;"

/* steps[k] migrates a database from version k to version k + 1. Never change a released step; append new ones. In the
   tables
   - positions count from 0, times are seconds since 1970, and unknown values are NULL;
   - `id` identifies a row in this database only;
   - `key` has 128 random bits and identifies a row in all copies of the database. */
static const char *const steps[] = {
    /* An experiment (store.h). Its space is in the tables knobs and knob_values. `usual` marks the default value. */
    "CREATE TABLE experiments (id INTEGER PRIMARY KEY, spec_hash TEXT NOT NULL, machine TEXT NOT NULL, compiler TEXT "
    "NOT NULL, attnc TEXT NOT NULL,"
    " target TEXT NOT NULL, batch INTEGER NOT NULL, heads INTEGER NOT NULL, kv_heads INTEGER NOT NULL, length INTEGER "
    "NOT NULL, threads INTEGER NOT NULL);"
    "CREATE TABLE knobs (id INTEGER PRIMARY KEY, experiment INTEGER NOT NULL REFERENCES experiments ON DELETE CASCADE, "
    "position INTEGER NOT NULL,"
    " name TEXT NOT NULL, says TEXT NOT NULL, UNIQUE (experiment, position), UNIQUE (experiment, name));"
    "CREATE TABLE knob_values (knob INTEGER NOT NULL REFERENCES knobs ON DELETE CASCADE, position INTEGER NOT NULL, "
    "value INTEGER NOT NULL,"
    " usual INTEGER NOT NULL CHECK (usual IN (0, 1)), PRIMARY KEY (knob, position), UNIQUE (knob, value)) WITHOUT "
    "ROWID;"
    /* A run: one search. The seed is stored as digits, because SQL's integers are signed. */
    "CREATE TABLE runs (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, experiment INTEGER NOT NULL REFERENCES "
    "experiments ON DELETE CASCADE,"
    " spec_name TEXT NOT NULL, spec_text TEXT NOT NULL, strategy TEXT NOT NULL, seed TEXT NOT NULL, begun REAL NOT "
    "NULL);"
    /* A trial: one point, measured in one process. The status is 'running' until the result is complete.
       - work: FLOPs of a call
       - peak: the machine's FLOPs per second
       - bytes: the bytes that a call moves
       - bandwidth: the machine's bytes per second */
    "CREATE TABLE trials (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, run INTEGER NOT NULL REFERENCES runs ON "
    "DELETE CASCADE, begun REAL NOT NULL,"
    " finished REAL, status TEXT NOT NULL, why TEXT, work REAL, peak REAL, bytes REAL, bandwidth REAL, CHECK "
    "((finished IS NULL) = (status = 'running')));"
    /* The point: for each knob, the position of its value. */
    "CREATE TABLE choices (trial INTEGER NOT NULL REFERENCES trials ON DELETE CASCADE, knob INTEGER NOT NULL, position "
    "INTEGER NOT NULL,"
    " PRIMARY KEY (trial, knob), FOREIGN KEY (knob, position) REFERENCES knob_values (knob, position)) WITHOUT ROWID;"
    /* Seconds of a call of the candidate, and of the default schedule measured with it. */
    "CREATE TABLE samples (trial INTEGER NOT NULL REFERENCES trials ON DELETE CASCADE, position INTEGER NOT NULL, "
    "seconds REAL NOT NULL, usual REAL NOT NULL,"
    " PRIMARY KEY (trial, position)) WITHOUT ROWID;",

    /* Views for people who use SQL. trial_knobs has one row per knob of a trial. results has one row per trial. */
    "CREATE INDEX trials_of_run ON trials (run);"
    "CREATE INDEX runs_of_experiment ON runs (experiment, strategy, seed);"
    "CREATE VIEW trial_knobs AS SELECT c.trial, k.name, v.value, v.usual FROM choices c JOIN knobs k ON k.id = c.knob"
    " JOIN knob_values v ON v.knob = c.knob AND v.position = c.position;"
    "CREATE VIEW results AS SELECT t.id AS trial, r.id AS run, r.spec_name, e.machine, e.compiler, e.target, e.batch, "
    "e.heads, e.kv_heads, e.length, e.threads,"
    " r.strategy, t.status, t.why,"
    " (SELECT group_concat(name || '=' || value, ' ') FROM (SELECT k.name, v.value FROM choices c JOIN knobs k ON k.id "
    "= c.knob"
    "   JOIN knob_values v ON v.knob = c.knob AND v.position = c.position WHERE c.trial = t.id ORDER BY k.position)) "
    "AS schedule,"
    " (SELECT count(*) FROM samples s WHERE s.trial = t.id) AS samples,"
    " (SELECT min(seconds) FROM samples s WHERE s.trial = t.id) AS least_seconds,"
    " (SELECT avg(seconds) FROM samples s WHERE s.trial = t.id) AS mean_seconds,"
    " (SELECT avg(usual) FROM samples s WHERE s.trial = t.id) AS mean_usual"
    " FROM trials t JOIN runs r ON r.id = t.run JOIN experiments e ON e.id = r.experiment;",

    /* - process: the process that began the trial, which may have been killed (process_here)
       - code: a hash of the C code that was measured
       - same_as: the key of the trial whose result this one shares */
    "ALTER TABLE trials ADD COLUMN process TEXT;"
    "ALTER TABLE trials ADD COLUMN code TEXT;"
    "ALTER TABLE trials ADD COLUMN same_as TEXT;"
    "CREATE INDEX trials_without_result ON trials (run) WHERE status IN ('running', 'interrupted');"
    "CREATE INDEX trials_of_code ON trials (code);"
    "DROP VIEW results;"
    "CREATE VIEW results AS SELECT t.id AS trial, r.id AS run, r.spec_name, e.machine, e.compiler, e.target, e.batch, "
    "e.heads, e.kv_heads, e.length, e.threads," RESULTS_OF_TRIALS,

    /* backward: 1 if backward was measured, 0 if forward was. */
    "ALTER TABLE experiments ADD COLUMN backward INTEGER NOT NULL DEFAULT 0 CHECK (backward IN (0, 1));"
    "DROP VIEW results;"
    "CREATE VIEW results AS SELECT t.id AS trial, r.id AS run, r.spec_name, e.machine, e.compiler, e.target, e.batch, "
    "e.heads, e.kv_heads, e.length, e.threads, e.backward," RESULTS_OF_TRIALS,

    /* key_heads: heads of q and k if v has more, or 0. */
    "ALTER TABLE experiments ADD COLUMN key_heads INTEGER NOT NULL DEFAULT 0;"
    "DROP VIEW results;"
    "CREATE VIEW results AS SELECT t.id AS trial, r.id AS run, r.spec_name, e.machine, e.compiler, e.target, e.batch, "
    "e.heads, e.kv_heads, e.length, e.threads, e.backward, e.key_heads," RESULTS_OF_TRIALS,
};

int store_newest(void)
{
    return (int)(sizeof steps / sizeof *steps);
}

static bool number(struct store *s, const char *sql, int64_t *out)
{
    sqlite3_stmt *q = store_ask(s, sql, "");
    const int row = q ? store_row(s, q) : -1;
    *out = row > 0 ? sqlite3_column_int64(q, 0) : 0;
    store_done(q);
    return row >= 0;
}

int store_version(struct store *s)
{
    int64_t program, version, things;
    if (!number(s, "PRAGMA application_id", &program) || !number(s, "PRAGMA user_version", &version) ||
        !number(s, "SELECT count(*) FROM sqlite_master", &things))
        return -1;
    if (program == 0 && version == 0 && things == 0) return 0;
    if (program != STORE_IS_ATTNC || version < 1) {
        store_wrong(s, STATUS_INPUT, "this database belongs to another program");
        return -1;
    }
    if (version > store_newest()) {
        store_wrong(
            s, STATUS_INPUT,
            "a newer attnc made this database: its tables have version %lld; this attnc supports versions up to %d",
            (long long)version, store_newest());
        return -1;
    }
    return (int)version;
}

static bool climb(struct store *s)
{
    int version = store_version(s); /* another process may have just migrated it */
    if (version < 0 || version == store_newest()) return version >= 0;
    for (; version < store_newest(); version++)
        if (sqlite3_exec(s->db, steps[version], NULL, NULL, NULL) != SQLITE_OK) return store_failed(s);
    char sql[100];
    snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d", STORE_IS_ATTNC, version);
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK || store_failed(s);
}

bool store_migrate(struct store *s)
{
    return store_write(s) && store_written(s, climb(s));
}
