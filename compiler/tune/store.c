/* Writes and reads the database of results. */
#include "store.h"
#include "../schedule/schedule.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { STORE_IS_ATTNC = 0x61746e63, STORE_VERSION = 6, PATIENCE = 30000 /* milliseconds to wait for a lock */ };

struct store {
    sqlite3 *db;
    const char *file; /* the path as the user gave it, for messages */
    const struct options *o;
    enum status status; /* the exit status for the last failure */
};

/* - seed: digits, because SQL's integers are signed
   - space: the knobs and their values, as JSON (space_json)
   - point: the number of the point in the space; schedule: the same as text
   - seconds: the median time of a call; ratio: that time divided by the time of the default schedule, with 95%
     confidence from ratio_low to ratio_high; NULL if nothing was measured
   - work: useful FLOPs of a call; peak: the machine's FLOPs per second; bytes: those that a call moves; bandwidth: the
     machine's bytes per second
   - samples: pairs of the seconds of a call and of a call of the default schedule, as JSON */
static const char schema
    [] = "CREATE TABLE runs (id INTEGER PRIMARY KEY, begun REAL NOT NULL, seed TEXT NOT NULL, spec_name TEXT NOT NULL,"
         " spec_hash TEXT NOT NULL, spec_text TEXT NOT NULL, machine TEXT NOT NULL, compiler TEXT NOT NULL,"
         " attnc TEXT NOT NULL, target TEXT NOT NULL, batch INTEGER NOT NULL, heads INTEGER NOT NULL,"
         " kv_heads INTEGER NOT NULL, key_heads INTEGER NOT NULL, length INTEGER NOT NULL, threads INTEGER NOT NULL,"
         " backward INTEGER NOT NULL, space TEXT NOT NULL);"
         "CREATE TABLE trials (id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs, point INTEGER NOT NULL,"
         " schedule TEXT NOT NULL, begun REAL NOT NULL, status TEXT NOT NULL, why TEXT NOT NULL, code TEXT NOT NULL,"
         " same_as INTEGER NOT NULL, seconds REAL, ratio REAL, ratio_low REAL, ratio_high REAL, work REAL, peak REAL,"
         " bytes REAL, bandwidth REAL, samples TEXT NOT NULL, UNIQUE (run, point));";

/* ---- statements ---- */

static bool wrong(struct store *s, enum status status, const char *format, ...) IR_PRINTF(3, 4);

static bool wrong(struct store *s, enum status status, const char *format, ...)
{
    char why[500];
    va_list list;
    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
    complain(s->o, "%s: %s", s->file, why);
    s->status = status;
    return false;
}

static bool failed(struct store *s)
{
    const int code = sqlite3_errcode(s->db) & 0xff, number = sqlite3_system_errno(s->db);
    return wrong(s, code == SQLITE_NOTADB || code == SQLITE_CORRUPT ? STATUS_INPUT : STATUS_MACHINE, "%s%s%s",
                 sqlite3_errmsg(s->db), number ? ": " : "", number ? strerror(number) : "");
}

static bool damaged(struct store *s, const char *what, int64_t id)
{
    return wrong(s, STATUS_INPUT, "this database is damaged: %s %" PRId64 " is not as attnc writes it", what, id);
}

static bool run_sql(struct store *s, const char *sql)
{
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK || failed(s);
}

/* Prepares a statement and binds its parameters. `types` has one letter per parameter: i (int64_t), d (double; NULL if
   it is not finite), t (const char *). On failure, prints a message and returns NULL. */
static sqlite3_stmt *ask(struct store *s, const char *sql, const char *types, ...)
{
    sqlite3_stmt *q = NULL;
    int code = sqlite3_prepare_v2(s->db, sql, -1, &q, NULL);
    va_list list;
    va_start(list, types);
    for (int k = 1; code == SQLITE_OK && *types; k++, types++) {
        const double real = *types == 'd' ? va_arg(list, double) : 0;
        code = *types == 'i'    ? sqlite3_bind_int64(q, k, va_arg(list, int64_t))
               : *types == 't'  ? sqlite3_bind_text(q, k, va_arg(list, const char *), -1, SQLITE_TRANSIENT)
               : isfinite(real) ? sqlite3_bind_double(q, k, real)
                                : sqlite3_bind_null(q, k);
    }
    va_end(list);
    if (code == SQLITE_OK) return q;
    failed(s);
    sqlite3_finalize(q);
    return NULL;
}

/* Reads the next row. Returns 1 if there is one, and 0 if there are no more. On failure, prints a message and returns
   -1. The statement may be NULL after a failure of `ask`. */
static int next_row(struct store *s, sqlite3_stmt *q)
{
    const int code = q ? sqlite3_step(q) : SQLITE_ERROR;
    if (code != SQLITE_ROW && code != SQLITE_DONE && q) failed(s);
    return code == SQLITE_ROW ? 1 : code == SQLITE_DONE ? 0 : -1;
}

static bool insert(struct store *s, sqlite3_stmt *q)
{
    const bool done = next_row(s, q) == 0;
    sqlite3_finalize(q);
    return done;
}

static const char *text_at(sqlite3_stmt *q, int column, struct arena *arena)
{
    const char *text = (const char *)sqlite3_column_text(q, column);
    return arena_copy(arena, text ? text : "");
}

static bool number(struct store *s, const char *sql, int64_t *out)
{
    sqlite3_stmt *q = ask(s, sql, "");
    const bool found = next_row(s, q) > 0;
    *out = found ? sqlite3_column_int64(q, 0) : 0;
    sqlite3_finalize(q);
    return found;
}

/* ---- opening the database ---- */

/* Creates the tables if the file is empty and `create` is true. A file of another program is not changed. */
static bool prepare(struct store *s, bool create)
{
    int64_t program, version, tables;
    if (!run_sql(s, create ? "BEGIN IMMEDIATE" : "BEGIN") || !number(s, "PRAGMA application_id", &program) ||
        !number(s, "PRAGMA user_version", &version) || !number(s, "SELECT count(*) FROM sqlite_master", &tables))
        return false;
    if (program == 0 && version == 0 && tables == 0 && create) {
        char marks[100];
        snprintf(marks, sizeof marks, "PRAGMA application_id = %d; PRAGMA user_version = %d", STORE_IS_ATTNC,
                 STORE_VERSION);
        if (!run_sql(s, schema) || !run_sql(s, marks)) return false;
    } else if (program != STORE_IS_ATTNC)
        return wrong(s, STATUS_INPUT, "this database belongs to another program");
    else if (version != STORE_VERSION)
        return wrong(s, STATUS_INPUT,
                     "another version of attnc made this database: move it away, or name another file with --db");
    return run_sql(s, "COMMIT");
}

struct store *store_open(const char *file, bool create, struct arena *arena, const struct options *o,
                         enum status *status)
{
    struct store *s = arena_alloc(arena, sizeof *s);
    *s = (struct store){.file = file, .o = o};
    /* names such as ":memory:" are special for SQLite */
    const char *path = arena_printf(arena, "%s%s", *file == '/' ? "" : "./", file);
    struct stat info;
    const bool there = stat(path, &info) == 0;
    *status = STATUS_DONE;
    if (!there && !create)
        wrong(s, STATUS_INPUT, "%s", strerror(errno));
    else if (there && !S_ISREG(info.st_mode))
        wrong(s, STATUS_INPUT, "this is not a file");
    else if (sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0), NULL) !=
             SQLITE_OK)
        s->db ? failed(s) : wrong(s, STATUS_MACHINE, "out of memory");
    else {
        sqlite3_busy_timeout(s->db, PATIENCE);
        if (prepare(s, create)) return s;
    }
    *status = s->status;
    store_close(s);
    return NULL;
}

void store_close(struct store *s)
{
    if (s) sqlite3_close(s->db);
}

double store_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- trials ---- */

struct tune_trial *tune_trial_add(struct tune_run *run, struct arena *arena)
{
    /* the room is a power of 2 */
    if ((run->trials & (run->trials - 1)) == 0) {
        struct tune_trial *more = arena_alloc(arena, (size_t)(2 * run->trials + 1) * sizeof *more);
        if (run->trials) memcpy(more, run->trial, (size_t)run->trials * sizeof *more);
        run->trial = more;
    }
    return &run->trial[run->trials++];
}

bool store_trial(struct store *s, const struct tune_run *run, struct tune_trial *trial)
{
    const struct tune_result *r = &trial->result;
    const struct tune_space *space = &run->experiment.space;
    const struct tune_gain gain = tune_gain(r);
    struct text schedule = {0}, samples = {0};
    point_text(space, &trial->point, &schedule);
    for (int k = 0; k < r->samples; k++)
        text_add(&samples, "%s[%.17g, %.17g]", k ? ", " : "[", r->sample[k].seconds, r->sample[k].default_seconds);
    text_add(&samples, r->samples ? "]" : "[]");
    const bool done = insert(
        s, ask(s,
               "INSERT OR REPLACE INTO trials (id, run, point, schedule, begun, status, why, code, same_as, seconds, "
               "ratio, ratio_low, ratio_high, work, peak, bytes, bandwidth, samples) VALUES (nullif(?, 0), ?, ?, ?, ?, "
               "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
               "iiitdtttiddddddddt", trial->id, run->id, point_number(space, &trial->point),
               schedule.data ? schedule.data : "", trial->begun, tune_status_name[r->status], r->why, r->code,
               trial->same_as, tune_seconds(r), gain.ratio, gain.low, gain.high, r->work, r->peak, r->bytes,
               r->bandwidth, samples.data));
    text_free(&schedule);
    text_free(&samples);
    if (done) trial->id = sqlite3_last_insert_rowid(s->db);
    return done;
}

static bool samples_read(const char *text, struct arena *arena, struct tune_result *r)
{
    json_t *list = json_loads(text, 0, NULL);
    const size_t count = json_array_size(list);
    bool good = json_is_array(list);
    r->sample = arena_alloc(arena, (count + 1) * sizeof *r->sample);
    for (size_t k = 0; k < count && good; k++) {
        struct tune_sample *sample = &r->sample[r->samples++];
        good = json_unpack(json_array_get(list, k), "[F, F]", &sample->seconds, &sample->default_seconds) == 0;
    }
    json_decref(list);
    return good;
}

/* Reads the trials of the run, in the order in which they began. */
static bool trials_read(struct store *s, struct arena *arena, struct tune_run *run)
{
    sqlite3_stmt *q = ask(s,
                          "SELECT id, point, begun, status, why, code, same_as, work, peak, bytes, bandwidth, samples "
                          "FROM trials WHERE run = ? ORDER BY begun, id",
                          "i", run->id);
    int row;
    bool good = true;
    while (good && (row = next_row(s, q)) > 0) {
        struct tune_trial *t = tune_trial_add(run, arena);
        struct tune_result *r = &t->result;
        const int64_t point = sqlite3_column_int64(q, 1);
        *t = (struct tune_trial){.id = sqlite3_column_int64(q, 0),
                                 .same_as = sqlite3_column_int64(q, 6),
                                 .begun = sqlite3_column_double(q, 2),
                                 .point = point_of(&run->experiment.space, point),
                                 .result = {.work = sqlite3_column_double(q, 7),
                                            .peak = sqlite3_column_double(q, 8),
                                            .bytes = sqlite3_column_double(q, 9),
                                            .bandwidth = sqlite3_column_double(q, 10)}};
        snprintf(r->why, sizeof r->why, "%s", text_at(q, 4, arena));
        snprintf(r->code, sizeof r->code, "%s", text_at(q, 5, arena));
        const char *status = text_at(q, 3, arena);
        int k = 0;
        while (tune_status_name[k] && strcmp(status, tune_status_name[k]) != 0) k++;
        r->status = (enum tune_status)k;
        if (!tune_status_name[k] || point < 0 || point >= space_points(&run->experiment.space) ||
            !samples_read(text_at(q, 11, arena), arena, r))
            good = damaged(s, "trial", t->id);
    }
    sqlite3_finalize(q);
    return good && row == 0;
}

/* ---- runs ---- */

#define EXPERIMENT \
    "spec_hash, machine, compiler, attnc, target, batch, heads, kv_heads, key_heads, length, threads, backward, space"
#define EXPERIMENT_TYPES "tttttiiiiiiit"
#define EXPERIMENT_VALUES(e, space) \
    (e)->spec_hash, (e)->machine, (e)->compiler, (e)->attnc, (e)->target, (e)->shape.batch, (e)->shape.heads, \
        (e)->shape.kv_heads, (e)->shape.key_heads, (e)->shape.length, (int64_t)(e)->shape.threads, \
        (int64_t)(e)->shape.backward, (space)

bool store_run(struct store *s, const struct tune_experiment *e, uint64_t seed, bool resume, struct arena *arena,
               struct tune_run *run)
{
    json_t *space = space_json(&e->space);
    char *knobs = json_dumps(space, JSON_COMPACT);
    const char *digits = arena_printf(arena, "%" PRIu64, seed);
    *run = (struct tune_run){.begun = store_now(), .seed = seed, .experiment = *e};
    json_decref(space);
    bool done = knobs || wrong(s, STATUS_MACHINE, "out of memory");
    if (done && resume) {
        sqlite3_stmt *q = ask(s,
                              "SELECT id, begun FROM runs WHERE (" EXPERIMENT
                              ", seed) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ORDER BY id DESC LIMIT 1",
                              EXPERIMENT_TYPES "t", EXPERIMENT_VALUES(e, knobs), digits);
        const int row = next_row(s, q);
        if (row > 0) run->id = sqlite3_column_int64(q, 0), run->begun = sqlite3_column_double(q, 1);
        sqlite3_finalize(q);
        done = row >= 0;
    }
    if (done && run->id)
        done = trials_read(s, arena, run);
    else if (done) {
        done = insert(s, ask(s,
                             "INSERT INTO runs (" EXPERIMENT ", seed, begun, spec_name, spec_text) VALUES (?, ?, ?, ?, "
                             "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                             EXPERIMENT_TYPES "tdtt", EXPERIMENT_VALUES(e, knobs), digits, run->begun, e->spec_name,
                             e->spec_text));
        run->id = sqlite3_last_insert_rowid(s->db);
    }
    free(knobs);
    return done;
}

int store_runs(struct store *s, struct arena *arena, struct tune_run **runs)
{
    int64_t most = 0;
    int count = 0, row = -1;
    if (!run_sql(s, "BEGIN") || !number(s, "SELECT count(*) FROM runs", &most)) return -1;
    *runs = arena_alloc(arena, (size_t)most * sizeof **runs);
    sqlite3_stmt *q = ask(s, "SELECT " EXPERIMENT ", seed, begun, spec_name, spec_text, id FROM runs ORDER BY id", "");
    bool good = true;
    while (good && (row = next_row(s, q)) > 0 && count < most) {
        struct tune_run *r = &(*runs)[count++];
        *r = (struct tune_run){.id = sqlite3_column_int64(q, 17),
                               .begun = sqlite3_column_double(q, 14),
                               .seed = strtoull(text_at(q, 13, arena), NULL, 10),
                               .experiment = {.spec_hash = text_at(q, 0, arena),
                                              .machine = text_at(q, 1, arena),
                                              .compiler = text_at(q, 2, arena),
                                              .attnc = text_at(q, 3, arena),
                                              .target = text_at(q, 4, arena),
                                              .spec_name = text_at(q, 15, arena),
                                              .spec_text = text_at(q, 16, arena),
                                              .shape = {.batch = sqlite3_column_int64(q, 5),
                                                        .heads = sqlite3_column_int64(q, 6),
                                                        .kv_heads = sqlite3_column_int64(q, 7),
                                                        .key_heads = sqlite3_column_int64(q, 8),
                                                        .length = sqlite3_column_int64(q, 9),
                                                        .threads = sqlite3_column_int(q, 10),
                                                        .backward = sqlite3_column_int(q, 11) != 0}}};
        good = space_read(text_at(q, 12, arena), arena, &r->experiment.space) ? trials_read(s, arena, r)
                                                                              : damaged(s, "run", r->id);
    }
    sqlite3_finalize(q);
    return good && row == 0 && run_sql(s, "COMMIT") ? count : -1;
}
