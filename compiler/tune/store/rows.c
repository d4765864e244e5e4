/* Writes and reads the rows of experiments, runs and trials. Each write is one transaction. */
#include "connection.h"
#include "store.h"
#include "../../schedule/schedule.h"
#include "../../support/support.h"
#include "../result.h"
#include "../space.h"

#include <inttypes.h>
#include <string.h>

/* The columns of an experiment, in the order of the INSERT and SELECT below. */
#define EXPERIMENT_TYPES "tttttiiiiiii"
#define EXPERIMENT_VALUES(e) \
    (e)->spec_hash, (e)->machine, (e)->compiler, (e)->attnc, (e)->target, (e)->shape.batch, (e)->shape.heads, \
        (e)->shape.kv_heads, (e)->shape.length, (int64_t)(e)->shape.threads, (int64_t)(e)->shape.backward, \
        (e)->shape.key_heads

const char *store_text(sqlite3_stmt *statement, int column, struct arena *arena)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return arena_copy(arena, text ? text : "");
}

static bool damaged(struct store *s, const char *what, int64_t id)
{
    return store_wrong(s, STATUS_INPUT, "this database is damaged: %s %" PRId64 " is not as attnc writes it", what, id);
}

/* ---- experiments ---- */

static bool knobs_write(struct store *s, int64_t experiment, const struct tune_space *space)
{
    for (int k = 0; k < space->knobs; k++) {
        const struct tune_knob *knob = &space->knob[k];
        if (!store_do(s, "INSERT INTO knobs (experiment, position, name, says) VALUES (?, ?, ?, ?)", "iitt", experiment,
                      (int64_t)k, knob->name, knob->says ? knob->says : ""))
            return false;
        const int64_t id = sqlite3_last_insert_rowid(s->db);
        for (int v = 0; v < knob->values; v++)
            if (!store_do(s, "INSERT INTO knob_values (knob, position, value, usual) VALUES (?, ?, ?, ?)", "iiii", id,
                          (int64_t)v, knob->value[v], (int64_t)(v == knob->default_at)))
                return false;
    }
    return true;
}

static bool values_read(struct store *s, int64_t id, struct tune_knob *knob)
{
    sqlite3_stmt *q = store_ask(s, "SELECT position, value, usual FROM knob_values WHERE knob = ? ORDER BY position",
                                "i", id);
    int row = -1, by_default = 0;
    while (q && (row = store_row(s, q)) > 0) {
        if (knob->values == MAX_KNOB_VALUES || sqlite3_column_int64(q, 0) != knob->values) break;
        if (sqlite3_column_int(q, 2)) knob->default_at = knob->values, by_default++;
        knob->value[knob->values++] = sqlite3_column_int64(q, 1);
    }
    store_done(q);
    return row == 0 && by_default == 1 ? true : row >= 0 ? damaged(s, "knob", id) : false;
}

static bool knobs_read(struct store *s, int64_t experiment, struct arena *arena, struct tune_space *space)
{
    memset(space, 0, sizeof *space);
    sqlite3_stmt *q = store_ask(s, "SELECT id, position, name, says FROM knobs WHERE experiment = ? ORDER BY position",
                                "i", experiment);
    int row = -1;
    bool well = true;
    while (q && well && (row = store_row(s, q)) > 0) {
        if (space->knobs == MAX_KNOBS || sqlite3_column_int64(q, 1) != space->knobs) {
            well = damaged(s, "experiment", experiment);
            break;
        }
        struct tune_knob *knob = &space->knob[space->knobs++];
        knob->name = store_text(q, 2, arena);
        knob->says = store_text(q, 3, arena);
        well = values_read(s, sqlite3_column_int64(q, 0), knob);
    }
    store_done(q);
    return well && row == 0;
}

static bool same_space(const struct tune_space *a, const struct tune_space *b)
{
    if (a->knobs != b->knobs) return false;
    for (int k = 0; k < a->knobs; k++) {
        const struct tune_knob *x = &a->knob[k], *y = &b->knob[k];
        if (x->values != y->values || x->default_at != y->default_at || strcmp(x->name, y->name) != 0) return false;
        if (memcmp(x->value, y->value, (size_t)x->values * sizeof *x->value) != 0) return false;
    }
    return true;
}

bool store_experiment(struct store *s, const struct tune_experiment *e, int64_t *id)
{
    sqlite3_stmt *q = store_ask(
        s,
        "SELECT id FROM experiments WHERE spec_hash = ? AND machine = ? AND compiler = ? AND "
        "attnc = ? AND target = ? AND batch = ?"
        " AND heads = ? AND kv_heads = ? AND length = ? AND threads = ? AND backward = ? AND key_heads = ? "
        "ORDER BY id",
        EXPERIMENT_TYPES, EXPERIMENT_VALUES(e));
    struct arena *arena = arena_new();
    int row = -1;
    bool well = q != NULL;
    *id = 0;
    while (well && !*id && (row = store_row(s, q)) > 0) {
        struct tune_space space;
        well = knobs_read(s, sqlite3_column_int64(q, 0), arena, &space);
        if (well && same_space(&space, &e->space)) *id = sqlite3_column_int64(q, 0);
    }
    store_done(q);
    arena_free(arena);
    if (!well || row < 0) return false;
    if (*id) return true;
    if (!store_do(s,
                  "INSERT INTO experiments (spec_hash, machine, compiler, attnc, target, batch, heads, kv_heads, "
                  "length, threads, backward, key_heads)"
                  " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                  EXPERIMENT_TYPES, EXPERIMENT_VALUES(e)))
        return false;
    *id = sqlite3_last_insert_rowid(s->db);
    return knobs_write(s, *id, &e->space);
}

bool store_experiment_read(struct store *s, int64_t id, struct arena *arena, struct tune_experiment *e)
{
    sqlite3_stmt *q = store_ask(s,
                                "SELECT spec_hash, machine, compiler, attnc, target, batch, heads, kv_heads, length, "
                                "threads, backward, key_heads FROM experiments WHERE id = ?",
                                "i", id);
    const int row = q ? store_row(s, q) : -1;
    if (row > 0) {
        e->spec_hash = store_text(q, 0, arena);
        e->machine = store_text(q, 1, arena);
        e->compiler = store_text(q, 2, arena);
        e->attnc = store_text(q, 3, arena);
        e->target = store_text(q, 4, arena);
        e->shape = (struct tune_shape){.batch = sqlite3_column_int64(q, 5),
                                       .heads = sqlite3_column_int64(q, 6),
                                       .kv_heads = sqlite3_column_int64(q, 7),
                                       .length = sqlite3_column_int64(q, 8),
                                       .threads = sqlite3_column_int(q, 9),
                                       .backward = sqlite3_column_int(q, 10) != 0,
                                       .key_heads = sqlite3_column_int64(q, 11)};
    }
    store_done(q);
    if (row == 0) return damaged(s, "experiment", id);
    return row > 0 && knobs_read(s, id, arena, &e->space);
}

/* ---- runs ---- */

static bool run_row(struct store *s, const struct tune_experiment *e, const char *strategy, uint64_t seed, bool resume,
                    int64_t *run)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, seed);
    int64_t experiment;
    if (!store_experiment(s, e, &experiment)) return false;
    if (resume) {
        sqlite3_stmt *q = store_ask(s,
                                    "SELECT id FROM runs WHERE experiment = ? AND strategy = ? AND seed = ? ORDER BY "
                                    "begun DESC, id DESC LIMIT 1",
                                    "itt", experiment, strategy, digits);
        const int row = q ? store_row(s, q) : -1;
        if (row > 0) *run = sqlite3_column_int64(q, 0);
        store_done(q);
        if (row != 0) return row > 0;
    }
    if (!store_do(s,
                  "INSERT INTO runs (key, experiment, spec_name, spec_text, strategy, seed, begun) VALUES "
                  "(lower(hex(randomblob(16))), ?, ?, ?, ?, ?, ?)",
                  "ittttd", experiment, e->spec_name, e->spec_text, strategy, digits, store_now()))
        return false;
    *run = sqlite3_last_insert_rowid(s->db);
    return true;
}

bool store_run(struct store *s, const struct tune_experiment *e, const char *strategy, uint64_t seed, bool resume,
               int64_t *run)
{
    return store_write(s) && store_written(s, run_row(s, e, strategy, seed, resume, run));
}

/* ---- trials ---- */

bool store_choose(struct store *s, int64_t trial, const struct tune_point *point, const struct tune_space *space)
{
    for (int k = 0; k < space->knobs; k++) {
        if (!store_do(s,
                      "INSERT INTO choices (trial, knob, position) SELECT t.id, k.id, ? FROM trials t JOIN runs r ON "
                      "r.id = t.run"
                      " JOIN knobs k ON k.experiment = r.experiment AND k.position = ? WHERE t.id = ?",
                      "iii", (int64_t)point->at[k], (int64_t)k, trial))
            return false;
        if (sqlite3_changes(s->db) != 1) return damaged(s, "the run of trial", trial);
    }
    return true;
}

/* Appends to a WHERE clause the condition that trial t measures this point. */
static void at_point(struct text *sql, const struct tune_point *point, const struct tune_space *space)
{
    for (int k = 0; k < space->knobs; k++)
        text_add(sql,
                 " AND EXISTS (SELECT 1 FROM choices c JOIN knobs k ON k.id = c.knob WHERE c.trial = t.id AND "
                 "k.position = %d AND c.position = %d)",
                 k, point->at[k]);
}

/* Sets *trial to an interrupted trial of the run at this point, or to 0. A trial is also interrupted if its process
   died. */
static bool find_interrupted(struct store *s, int64_t run, const struct tune_point *point,
                             const struct tune_space *space, struct arena *arena, int64_t *trial)
{
    struct text sql = {0};
    text_add(&sql, "SELECT t.id, t.status, t.process, t.begun FROM trials t WHERE t.run = ? AND t.status IN "
                   "('running', 'interrupted')");
    at_point(&sql, point, space);
    sqlite3_stmt *q = store_ask(s, sql.data, "i", run);
    text_free(&sql);
    int row = -1;
    *trial = 0;
    while (q && !*trial && (row = store_row(s, q)) > 0)
        if (strcmp(store_text(q, 1, arena), tune_status_name[TUNE_INTERRUPTED]) == 0 ||
            process_gone(store_text(q, 2, arena), sqlite3_column_double(q, 3)))
            *trial = sqlite3_column_int64(q, 0);
    store_done(q);
    return row >= 0;
}

static bool begin_row(struct store *s, int64_t run, const struct tune_point *point, const struct tune_space *space,
                      int64_t *trial)
{
    struct arena *arena = arena_new();
    const char *process = process_here(arena);
    bool well = find_interrupted(s, run, point, space, arena, trial);
    if (well && *trial)
        well = store_do(s, "UPDATE trials SET begun = ?, finished = NULL, status = ?, process = ? WHERE id = ?", "dtti",
                        store_now(), tune_status_name[TUNE_RUNNING], process, *trial);
    else if (well) {
        well = store_do(
            s, "INSERT INTO trials (key, run, begun, status, process) VALUES (lower(hex(randomblob(16))), ?, ?, ?, ?)",
            "idtt", run, store_now(), tune_status_name[TUNE_RUNNING], process);
        *trial = sqlite3_last_insert_rowid(s->db);
        well = well && store_choose(s, *trial, point, space);
    }
    arena_free(arena);
    return well;
}

bool store_begin(struct store *s, int64_t run, const struct tune_point *point, const struct tune_space *space,
                 int64_t *trial)
{
    return store_write(s) && store_written(s, begin_row(s, run, point, space, trial));
}

bool store_set_result(struct store *s, int64_t trial, double finished, const struct tune_result *result)
{
    if (!store_do(s,
                  "UPDATE trials SET finished = ?, status = ?, why = nullif(?, ''), work = nullif(?, 0.0), peak = "
                  "nullif(?, 0.0), bytes = nullif(?, 0.0),"
                  " bandwidth = nullif(?, 0.0), code = nullif(?, '') WHERE id = ?",
                  "dttddddti", finished, tune_status_name[result->status], result->why, result->work, result->peak,
                  result->bytes, result->bandwidth, result->code, trial))
        return false;
    if (sqlite3_changes(s->db) != 1) return store_wrong(s, STATUS_MACHINE, "trial %" PRId64 " no longer exists", trial);
    if (!store_do(s, "DELETE FROM samples WHERE trial = ?", "i", trial)) return false;
    if (result->samples == 0) return true;
    sqlite3_stmt *q = store_ask(s, "INSERT INTO samples (trial, position, seconds, usual) VALUES (?, ?, ?, ?)", "");
    bool well = q != NULL;
    for (int k = 0; well && k < result->samples; k++)
        well = store_again(s, q, "iidd", trial, (int64_t)k, result->sample[k].seconds,
                           result->sample[k].default_seconds) &&
               store_step(s, q);
    store_done(q);
    return well;
}

bool store_finish(struct store *s, int64_t trial, const struct tune_result *result)
{
    return store_write(s) && store_written(s, store_set_result(s, trial, store_now(), result));
}

bool store_interrupt(struct store *s, int64_t trial)
{
    return store_do(s, "UPDATE trials SET finished = ?, status = ? WHERE id = ? AND finished IS NULL", "dti",
                    store_now(), tune_status_name[TUNE_INTERRUPTED], trial);
}

bool store_set_same(struct store *s, int64_t trial, double finished, const char *status, const char *key)
{
    return store_do(s, "UPDATE trials SET finished = ?, status = ?, same_as = ? WHERE id = ?", "dtti", finished, status,
                    key, trial);
}

static bool share(struct store *s, int64_t trial, int64_t measured)
{
    struct arena *arena = arena_new();
    sqlite3_stmt *q = store_ask(s, "SELECT status, key FROM trials WHERE id = ?", "i", measured);
    const bool well = q && store_row(s, q) > 0 &&
                      store_set_same(s, trial, store_now(), store_text(q, 0, arena), store_text(q, 1, arena));
    store_done(q);
    arena_free(arena);
    return well;
}

bool store_share(struct store *s, int64_t trial, int64_t measured)
{
    return store_write(s) && store_written(s, share(s, trial, measured));
}

/* ---- reading rows ---- */

static bool samples_read(struct store *s, struct arena *arena, struct tune_trial *trial)
{
    struct tune_result *r = &trial->result;
    const int64_t of = trial->same_as ? trial->same_as : trial->id;
    sqlite3_stmt *q = store_ask(s, "SELECT count(*) FROM samples WHERE trial = ?", "i", of);
    int row = q ? store_row(s, q) : -1;
    const int samples = row > 0 ? sqlite3_column_int(q, 0) : 0;
    store_done(q);
    if (row <= 0 || samples == 0) return row > 0;
    r->sample = arena_alloc(arena, (size_t)samples * sizeof *r->sample);
    q = store_ask(s, "SELECT seconds, usual FROM samples WHERE trial = ? ORDER BY position", "i", of);
    row = -1;
    while (q && (row = store_row(s, q)) > 0 && r->samples < samples)
        r->sample[r->samples++] = (struct tune_sample){sqlite3_column_double(q, 0), sqlite3_column_double(q, 1)};
    store_done(q);
    return row == 0;
}

static bool choices_read(struct store *s, const struct tune_space *space, struct tune_trial *trial)
{
    sqlite3_stmt *q = store_ask(s,
                                "SELECT k.position, c.position FROM choices c JOIN knobs k ON k.id = c.knob WHERE "
                                "c.trial = ? ORDER BY k.position",
                                "i", trial->id);
    int row = -1, knobs = 0;
    bool well = true;
    while (q && well && (row = store_row(s, q)) > 0) {
        const int64_t knob = sqlite3_column_int64(q, 0), at = sqlite3_column_int64(q, 1);
        well = knob == knobs && knobs < space->knobs && at >= 0 && at < space->knob[knobs].values;
        if (well) trial->point.at[knobs++] = (int)at;
    }
    store_done(q);
    if (!q || row < 0) return false;
    return (well && knobs == space->knobs) || damaged(s, "trial", trial->id);
}

static bool status_read(const char *name, enum tune_status *status)
{
    for (int k = TUNE_RUNNING; k <= TUNE_REFUSED; k++)
        if (strcmp(name, tune_status_name[k]) == 0) {
            *status = (enum tune_status)k;
            return true;
        }
    return false;
}

bool store_trial_read(struct store *s, sqlite3_stmt *statement, const struct tune_space *space, struct arena *arena,
                      struct tune_trial *trial)
{
    *trial = (struct tune_trial){.id = sqlite3_column_int64(statement, 0),
                                 .begun = sqlite3_column_double(statement, 1)};
    struct tune_result *r = &trial->result;
    if (!status_read(store_text(statement, 2, arena), &r->status)) return damaged(s, "trial", trial->id);
    snprintf(r->why, sizeof r->why, "%s", store_text(statement, 3, arena));
    r->work = sqlite3_column_double(statement, 4);
    r->peak = sqlite3_column_double(statement, 5);
    r->bytes = sqlite3_column_double(statement, 6);
    r->bandwidth = sqlite3_column_double(statement, 7);
    snprintf(r->code, sizeof r->code, "%s", store_text(statement, 8, arena));
    trial->same_as = sqlite3_column_int64(statement, 9);
    if (r->status == TUNE_RUNNING && process_gone(store_text(statement, 10, arena), trial->begun))
        r->status = TUNE_INTERRUPTED;
    return choices_read(s, space, trial) && samples_read(s, arena, trial);
}

/* Selects the trials t of run ?1. If ?2 is true, selects the trials of all runs of the experiment. */
#define OF_RUN \
    " WHERE (t.run = ?1 OR (?2 AND t.run IN (SELECT o.id FROM runs o JOIN runs r ON o.experiment = r.experiment " \
    "WHERE r.id = ?1)))"

/* Sets *found to the last trial with a result at `point`. If `point` is NULL, sets it to the last trial whose C code
   has the hash `code`. Sets *found to NULL if there is no such trial. */
static bool find(struct store *s, int64_t run, bool anywhere, const struct tune_point *point, const char *code,
                 const struct tune_space *space, struct arena *arena, struct tune_trial **found)
{
    struct text sql = {0};
    text_add(&sql, "SELECT " STORE_TRIAL_COLUMNS " FROM " STORE_TRIALS OF_RUN
                   " AND t.finished IS NOT NULL AND t.status <> 'interrupted'");
    if (point)
        at_point(&sql, point, space);
    else
        text_add(&sql, " AND t.code = ?3 AND t.same_as IS NULL");
    text_add(&sql, " ORDER BY t.finished DESC, t.id DESC LIMIT 1");
    sqlite3_stmt *q = point ? store_ask(s, sql.data, "ii", run, (int64_t)anywhere)
                            : store_ask(s, sql.data, "iit", run, (int64_t)anywhere, code);
    text_free(&sql);
    const int row = q ? store_row(s, q) : -1;
    *found = row > 0 ? arena_alloc(arena, sizeof **found) : NULL;
    const bool well = row == 0 || (row > 0 && store_trial_read(s, q, space, arena, *found));
    store_done(q);
    return well;
}

const struct tune_trial *store_find(struct store *s, int64_t run, bool anywhere, const struct tune_point *point,
                                    const struct tune_space *space, struct arena *arena, bool *failed)
{
    struct tune_trial *found = NULL;
    *failed = !(store_read(s) && store_have_read(s, find(s, run, anywhere, point, NULL, space, arena, &found)));
    return *failed ? NULL : found;
}

const struct tune_trial *store_find_code(struct store *s, int64_t run, bool anywhere, const char *code,
                                         const struct tune_space *space, struct arena *arena, bool *failed)
{
    struct tune_trial *found = NULL;
    *failed = !(store_read(s) && store_have_read(s, find(s, run, anywhere, NULL, code, space, arena, &found)));
    return *failed ? NULL : found;
}

static bool trials_read(struct store *s, bool anywhere, struct arena *arena, struct tune_run *run)
{
    sqlite3_stmt *q = store_ask(s, "SELECT count(*) FROM trials t" OF_RUN, "ii", run->id, (int64_t)anywhere);
    int row = q ? store_row(s, q) : -1;
    const int trials = row > 0 ? sqlite3_column_int(q, 0) : 0;
    store_done(q);
    if (row <= 0) return false;
    run->trial = arena_alloc(arena, (size_t)trials * sizeof *run->trial);
    q = store_ask(s, "SELECT " STORE_TRIAL_COLUMNS " FROM " STORE_TRIALS OF_RUN " ORDER BY t.begun, t.id", "ii",
                  run->id, (int64_t)anywhere);
    bool well = q != NULL;
    while (well && (row = store_row(s, q)) > 0 && run->trials < trials)
        well = store_trial_read(s, q, &run->experiment.space, arena, &run->trial[run->trials++]);
    store_done(q);
    return well && row == 0;
}

/* Reads runs into *runs and returns their number. On failure, prints a message and returns -1.
   - spec_name: only runs of this spec are read. NULL means all specs.
   - id: only the run with this id is read. 0 means all runs.
   - anywhere: if true, each run gets the trials of all runs of its experiment. */
static int runs_read(struct store *s, const char *spec_name, int64_t id, bool anywhere, struct arena *arena,
                     struct tune_run **runs)
{
    sqlite3_stmt *q = store_ask(s, "SELECT count(*) FROM runs WHERE (?1 IS NULL OR spec_name = ?1) AND ?2 IN (0, id)",
                                "ti", spec_name, id);
    int row = q ? store_row(s, q) : -1, count = 0;
    const int max = row > 0 ? sqlite3_column_int(q, 0) : 0;
    store_done(q);
    if (row <= 0) return -1;
    *runs = arena_alloc(arena, (size_t)max * sizeof **runs);
    q = store_ask(s,
                  "SELECT id, begun, strategy, seed, spec_name, spec_text, experiment FROM runs WHERE (?1 IS NULL OR "
                  "spec_name = ?1) AND ?2 IN (0, id) ORDER BY id",
                  "ti", spec_name, id);
    bool well = q != NULL;
    while (well && (row = store_row(s, q)) > 0 && count < max) {
        struct tune_run *r = &(*runs)[count++];
        *r = (struct tune_run){.id = sqlite3_column_int64(q, 0),
                               .begun = sqlite3_column_double(q, 1),
                               .strategy = store_text(q, 2, arena)};
        const char *digits = store_text(q, 3, arena);
        well = sscanf(digits, "%" SCNu64, &r->seed) == 1 || damaged(s, "run", r->id);
        if (well) well = store_experiment_read(s, sqlite3_column_int64(q, 6), arena, &r->experiment);
        r->experiment.spec_name = store_text(q, 4, arena);
        r->experiment.spec_text = store_text(q, 5, arena);
        if (well) well = trials_read(s, anywhere, arena, r);
    }
    store_done(q);
    return well && row == 0 ? count : -1;
}

int store_runs(struct store *s, const char *spec_name, struct arena *arena, struct tune_run **runs)
{
    if (!store_read(s)) return -1;
    const int count = runs_read(s, spec_name, 0, false, arena, runs);
    return store_have_read(s, count >= 0) ? count : -1;
}

const struct tune_run *store_run_read(struct store *s, int64_t run, bool anywhere, struct arena *arena)
{
    struct tune_run *found = NULL;
    if (!store_read(s)) return NULL;
    const int count = runs_read(s, NULL, run, anywhere, arena, &found);
    return store_have_read(s, count == 1) ? found : NULL;
}
