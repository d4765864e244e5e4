/* Copies runs and trials that `to` does not have from the database `from`. Random keys identify equal rows. */
#include "connection.h"
#include "store.h"
#include "../../spec/spec.h"
#include "../../support/support.h"
#include "../result.h"
#include "../space.h"

#include <string.h>
#include <sys/stat.h>

struct merge {
    struct store *to, *from;
    struct arena *arena; /* memory for reading one trial */
};

/* Runs the query `sql` for the key. Sets *id to column 1 of its row and *finished to column 2. If there is no row,
   sets *id to 0. On failure, prints a message and returns false. */
static bool find_key(struct store *s, const char *sql, const char *key, int64_t *id, double *finished)
{
    sqlite3_stmt *q = store_ask(s, sql, "t", key);
    const int row = q ? store_row(s, q) : -1;
    *id = row > 0 ? sqlite3_column_int64(q, 0) : 0;
    if (finished) *finished = row > 0 ? sqlite3_column_double(q, 1) : 0;
    store_done(q);
    return row >= 0;
}

/* Merges one trial. If both databases have it, the result that finished later is kept. */
static bool merge_trial(struct merge *m, sqlite3_stmt *row, const struct tune_space *space, int64_t run)
{
    struct tune_trial trial;
    const char *key = store_text(row, STORE_TRIAL_WIDTH, m->arena),
               *same_as = store_text(row, STORE_TRIAL_WIDTH + 2, m->arena);
    const bool finished = sqlite3_column_type(row, STORE_TRIAL_WIDTH + 1) != SQLITE_NULL;
    const double when = sqlite3_column_double(row, STORE_TRIAL_WIDTH + 1);
    int64_t id;
    double known;
    if (!find_key(m->to, "SELECT id, finished FROM trials WHERE key = ?", key, &id, &known)) return false;
    if (id && (!finished || known >= when)) return true;
    if (!store_trial_read(m->from, row, space, m->arena, &trial)) return false;
    if (!id) {
        if (!store_do(m->to, "INSERT INTO trials (key, run, begun, status, process) VALUES (?, ?, ?, ?, nullif(?, ''))",
                      "tidtt", key, run, trial.begun, tune_status_name[TUNE_RUNNING],
                      store_text(row, STORE_TRIAL_WIDTH - 1, m->arena)))
            return false;
        id = sqlite3_last_insert_rowid(m->to->db);
        if (!store_choose(m->to, id, &trial.point, space)) return false;
    }
    if (finished && *same_as) return store_set_same(m->to, id, when, tune_status_name[trial.result.status], same_as);
    return !finished || store_set_result(m->to, id, when, &trial.result);
}

/* Merges one run and its trials. Columns of `row`: id, key, experiment, spec_name, spec_text, strategy, seed, begun. */
static bool merge_run(struct merge *m, sqlite3_stmt *row)
{
    struct arena *arena = arena_new();
    struct tune_experiment e;
    const char *key = store_text(row, 1, arena);
    int64_t id, experiment;
    bool well = store_experiment_read(m->from, sqlite3_column_int64(row, 2), arena, &e) &&
                find_key(m->to, "SELECT id FROM runs WHERE key = ?", key, &id, NULL);
    if (well && !id) {
        well = store_experiment(m->to, &e, &experiment) &&
               store_do(m->to,
                        "INSERT INTO runs (key, experiment, spec_name, spec_text, strategy, seed, begun) VALUES (?, ?, "
                        "?, ?, ?, ?, ?)",
                        "tittttd", key, experiment, store_text(row, 3, arena), store_text(row, 4, arena),
                        store_text(row, 5, arena), store_text(row, 6, arena), sqlite3_column_double(row, 7));
        if (well) id = sqlite3_last_insert_rowid(m->to->db);
    }
    sqlite3_stmt *q = NULL;
    if (well)
        q = store_ask(m->from,
                      "SELECT " STORE_TRIAL_COLUMNS ", t.key, t.finished, t.same_as FROM " STORE_TRIALS
                      " WHERE t.run = ? ORDER BY t.same_as IS NOT NULL, t.id",
                      "i", sqlite3_column_int64(row, 0));
    int more = -1;
    well = q != NULL;
    while (well && (more = store_row(m->from, q)) > 0) {
        m->arena = arena_new();
        well = merge_trial(m, q, &e.space, id);
        arena_free(m->arena);
    }
    store_done(q);
    arena_free(arena);
    return well && more == 0;
}

static bool merge_runs(struct merge *m)
{
    sqlite3_stmt *q = store_ask(
        m->from, "SELECT id, key, experiment, spec_name, spec_text, strategy, seed, begun FROM runs ORDER BY id", "");
    int more = -1;
    bool well = q != NULL;
    while (well && (more = store_row(m->from, q)) > 0) well = merge_run(m, q);
    store_done(q);
    return well && more == 0;
}

bool store_merge(struct store *s, const char *other)
{
    struct stat a, b;
    if (stat(s->name, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino) return true;
    enum status status;
    struct merge m = {.to = s, .from = store_open(other, true, s->o, &status)};
    if (!m.from) {
        s->status = status;
        return false;
    }
    bool well = store_read(m.from) && store_write(s);
    if (well) well = store_written(s, merge_runs(&m));
    store_have_read(m.from, well);
    store_close(m.from);
    return well;
}
