/* Tests the database of results: rows, resumed runs, files of other programs, damaged files. */
#include "compiler/schedule/schedule.h"
#include "tests/unit/store_cases.h"

#include <math.h>

/* ---- rows ---- */

static struct tune_run run_in(struct store *s, const struct tune_experiment *e, uint64_t seed, bool resume,
                              struct arena *arena)
{
    struct tune_run run;
    CU_ASSERT_FATAL(store_run(s, e, seed, resume, arena, &run));
    CU_ASSERT(run.id > 0 && run.begun > 1.6e9);
    return run;
}

/* Stores a trial with `samples` samples at point k, in place of the row of `id` if that is not 0. Returns its id. */
static int64_t trial_in(struct store *s, const struct tune_run *run, int64_t id, int k, int samples)
{
    struct tune_trial trial = {.id = id, .begun = 1e9 + k, .point = point_at(k), .result = result_of(k, samples)};
    CU_ASSERT_FATAL(store_trial(s, run, &trial));
    return trial.id;
}

static bool same_experiment(const struct tune_experiment *a, const struct tune_experiment *b)
{
    bool same = a->space.knobs == b->space.knobs;
    const char *const x[] = {a->spec_name, a->spec_hash, a->spec_text, a->machine, a->compiler, a->attnc, a->target};
    const char *const y[] = {b->spec_name, b->spec_hash, b->spec_text, b->machine, b->compiler, b->attnc, b->target};
    for (size_t k = 0; k < sizeof x / sizeof *x; k++) same &= strcmp(x[k], y[k]) == 0;
    for (int k = 0; k < a->space.knobs && same; k++) {
        const struct tune_knob *p = &a->space.knob[k], *q = &b->space.knob[k];
        same &= strcmp(p->name, q->name) == 0 && strcmp(p->says, q->says) == 0 && p->values == q->values &&
                p->default_at == q->default_at && memcmp(p->value, q->value, sizeof p->value) == 0;
    }
    return same && a->shape.batch == b->shape.batch && a->shape.heads == b->shape.heads &&
           a->shape.kv_heads == b->shape.kv_heads && a->shape.length == b->shape.length &&
           a->shape.threads == b->shape.threads && a->shape.backward == b->shape.backward &&
           a->shape.key_heads == b->shape.key_heads;
}

static void test_rows(void)
{
    const char *file = path("rows.db");
    struct arena *arena = arena_new();
    struct store *s = opened(file, arena);
    struct tune_experiment e = experiment_of(4096), other = experiment_of(65536);
    other.spec_name = "it's, \"another\"";
    const struct tune_run run = run_in(s, &e, UINT64_MAX, false, arena), second = run_in(s, &other, 0, false, arena);
    for (int k = 0; k < 7; k++) CU_ASSERT_EQUAL(trial_in(s, &run, 0, k, k), k + 1);
    CU_ASSERT_EQUAL(trial_in(s, &run, 3, 2, 9), 3); /* replaces the row */

    struct tune_run *runs;
    CU_ASSERT_EQUAL_FATAL(store_runs(s, arena, &runs), 2);
    CU_ASSERT(runs[1].id == second.id && runs[1].trials == 0 && runs[1].seed == 0);
    CU_ASSERT(same_experiment(&runs[1].experiment, &other));
    CU_ASSERT(runs->id == run.id && runs->seed == UINT64_MAX && same_experiment(&runs->experiment, &e) &&
              runs->begun == run.begun);
    CU_ASSERT_EQUAL_FATAL(runs->trials, 7);
    for (int k = 0; k < 7; k++) {
        const struct tune_result wanted = result_of(k, k == 2 ? 9 : k);
        const struct tune_trial *trial = &runs->trial[k];
        CU_ASSERT(same_result(&trial->result, &wanted));
        CU_ASSERT(trial->id == k + 1 && trial->same_as == 0 && trial->begun == 1e9 + k);
        const struct tune_point point = point_at(k);
        CU_ASSERT_EQUAL(point_number(&e.space, &trial->point), point_number(&e.space, &point));
    }
    store_close(s);
    check_whole(file);
    /* people may ask with SQL */
    CU_ASSERT_EQUAL(sql_number(file, "SELECT count(*) FROM trials WHERE schedule = 'tile_q=256 tile_k=96' AND "
                                     "json_array_length(samples) = 5 AND abs(seconds - 6.002e-3) < 1e-9"),
                    1);
    CU_ASSERT_EQUAL(sql_number(file, "SELECT count(*) FROM trials WHERE id = 6 AND ratio_low <= ratio AND ratio <= "
                                     "ratio_high AND ratio BETWEEN 2.57 AND 2.58"),
                    1);
    CU_ASSERT_EQUAL(sql_number(file, "SELECT count(*) FROM trials WHERE ratio IS NULL AND seconds IS NULL"), 1);
    arena_free(arena);
}

static void test_resume(void)
{
    const char *file = path("resume.db");
    struct arena *arena = arena_new();
    struct store *s = opened(file, arena);
    const struct tune_experiment e = experiment_of(4096);
    const struct tune_run first = run_in(s, &e, 1, true, arena); /* there is no run to resume yet */
    trial_in(s, &first, 0, 4, 4);
    const struct tune_run last = run_in(s, &e, 1, false, arena);
    CU_ASSERT(last.id != first.id && last.trials == 0);
    trial_in(s, &last, 0, 5, 3);
    trial_in(s, &last, 0, 6, 2);
    store_close(s);
    s = opened(file, arena);
    const struct tune_run again = run_in(s, &e, 1, true, arena);
    const struct tune_result wanted = result_of(6, 2);
    CU_ASSERT_EQUAL(again.id, last.id);
    CU_ASSERT_EQUAL_FATAL(again.trials, 2);
    CU_ASSERT(same_result(&again.trial[1].result, &wanted));
    CU_ASSERT(run_in(s, &e, 2, true, arena).id > last.id);
    struct tune_experiment changed[14];
    for (int k = 0; k < 14; k++) changed[k] = e;
    changed[0].spec_hash = "0100";
    changed[1].machine = "another";
    changed[2].compiler = "gcc 12";
    changed[3].attnc = "0.2.0";
    changed[4].target = "generic";
    changed[5].shape.length++;
    changed[6].shape.kv_heads++;
    changed[7].shape.threads++;
    changed[8].space.knob[1].value[3]--;
    changed[9].space.knob[0].default_at = 2;
    changed[10].space.knob[0].name = "tile";
    changed[11].space.knobs = 1;
    changed[12].shape.backward = true;
    changed[13].shape.key_heads = 2;
    for (int k = 0; k < 14; k++) {
        const int64_t own = run_in(s, &changed[k], 1, true, arena).id;
        CU_ASSERT(own > last.id);
        CU_ASSERT_EQUAL(run_in(s, &changed[k], 1, true, arena).id, own);
    }
    struct tune_experiment renamed = e; /* the name of the spec does not matter */
    renamed.spec_name = "other";
    CU_ASSERT_EQUAL(run_in(s, &renamed, 1, true, arena).id, last.id);
    store_close(s);
    check_whole(file);
    arena_free(arena);
}

/* ---- damaged and foreign files ---- */

static void put_bytes(const char *file, const char *bytes, size_t length)
{
    FILE *f = fopen(file, "wb");
    CU_ASSERT_FATAL(f && fwrite(bytes, 1, length, f) == length && fclose(f) == 0);
}

/* Checks that the file cannot be opened, and that it stays unchanged. */
static void refused(const char *file, const char *why)
{
    size_t before, after;
    struct stat info;
    const bool there = stat(file, &info) == 0 && S_ISREG(info.st_mode);
    char *old = there ? bytes_of(file, &before) : NULL;
    struct arena *arena = arena_new();
    for (int create = 0; create < 2; create++) {
        enum status status = STATUS_DONE;
        CU_ASSERT_PTR_NULL(store_open(file, create, arena, &options, &status));
        CU_ASSERT_EQUAL(status, STATUS_INPUT);
        CU_ASSERT(said_only(why));
    }
    arena_free(arena);
    if (!there) return;
    char *now = bytes_of(file, &after);
    CU_ASSERT(before == after && memcmp(old, now, before) == 0);
    free(old);
    free(now);
    static const char *const beside[] = {"-wal", "-shm", "-journal"};
    for (int k = 0; k < 3; k++) {
        char name[400];
        snprintf(name, sizeof name, "%s%s", file, beside[k]);
        CU_ASSERT(access(name, F_OK) != 0);
    }
}

static void test_foreign(void)
{
    char long_text[5000];
    memset(long_text, 'x', sizeof long_text);
    put_bytes(path("short.db"), "hello\n", 6);
    refused(path("short.db"), "short.db: file is not a database");
    put_bytes(path("long.db"), long_text, sizeof long_text);
    refused(path("long.db"), "long.db: file is not a database");
    CU_ASSERT(sql_do(path("theirs.db"), "CREATE TABLE runs (id INTEGER PRIMARY KEY)"));
    refused(path("theirs.db"), "theirs.db: this database belongs to another program");
    CU_ASSERT(sql_do(path("marked.db"), "PRAGMA application_id = 5; PRAGMA user_version = 6; PRAGMA journal_mode = "
                                        "WAL; CREATE TABLE runs (id INTEGER)"));
    refused(path("marked.db"), "marked.db: this database belongs to another program");
    CU_ASSERT(sql_do(path("older.db"), "PRAGMA application_id = 0x61746e63; PRAGMA user_version = 5; "
                                       "CREATE TABLE runs (id INTEGER)"));
    refused(path("older.db"), "older.db: another version of attnc made this database: move it away");
    refused(folder, "this is not a file");
    refused("/dev/null", "/dev/null: this is not a file");

    struct arena *arena = arena_new();
    struct tune_run *runs;
    enum status status = STATUS_DONE;
    CU_ASSERT_PTR_NULL(store_open(path("none.db"), false, arena, &options, &status));
    CU_ASSERT(status == STATUS_INPUT && said_only("none.db: No such file") && access(path("none.db"), F_OK) != 0);
    CU_ASSERT_PTR_NULL(store_open(path("none/none.db"), true, arena, &options, &status));
    CU_ASSERT(status == STATUS_MACHINE && said_only("none.db: unable to open database file"));
    put_bytes(path("empty.db"), "", 0); /* a process that died early leaves an empty file */
    struct store *s = opened(path("empty.db"), arena);
    CU_ASSERT_EQUAL(store_runs(s, arena, &runs), 0);
    store_close(s);
    check_whole(path("empty.db"));
    arena_free(arena);
}

/* Names that are special for SQLite, and relative ones. */
static void test_names(void)
{
    static const char *const names[] = {":memory:", "file:x?mode=ro", "with space.db", "-x", "ä.db"};
    char before[500];
    struct arena *arena = arena_new();
    CU_ASSERT_FATAL(getcwd(before, sizeof before) && chdir(folder) == 0);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const struct tune_experiment e = experiment_of(1);
        struct tune_run *runs;
        struct store *s = opened(names[k], arena);
        run_in(s, &e, 0, true, arena);
        store_close(s);
        CU_ASSERT_EQUAL(access(names[k], F_OK), 0);
        s = opened(names[k], arena);
        CU_ASSERT_EQUAL(store_runs(s, arena, &runs), 1);
        store_close(s);
    }
    CU_ASSERT_EQUAL(chdir(before), 0);
    arena_free(arena);
}

static void test_damaged(void)
{
    static const char *const harm[] = {"UPDATE trials SET status = 'odd'",
                                       "UPDATE trials SET point = 99",
                                       "UPDATE trials SET point = -1",
                                       "UPDATE trials SET samples = '[[1, 2], [3]]'",
                                       "UPDATE trials SET samples = 'many'",
                                       "UPDATE runs SET space = ''",
                                       "UPDATE runs SET space = '{}'",
                                       "UPDATE runs SET space = replace(space, '\"usual\":1', '\"usual\":7')",
                                       "UPDATE runs SET space = replace(space, 'says', 'said')"};
    struct arena *arena = arena_new();
    for (size_t k = 0; k < sizeof harm / sizeof *harm; k++) {
        char name[40];
        snprintf(name, sizeof name, "harm-%zu.db", k);
        struct store *s = opened(path(name), arena);
        const struct tune_experiment e = experiment_of(4096);
        const struct tune_run run = run_in(s, &e, 1, false, arena);
        struct tune_run *runs;
        trial_in(s, &run, 0, 4, 4);
        CU_ASSERT(sql_do(path(name), harm[k]));
        CU_ASSERT_EQUAL(store_runs(s, arena, &runs), -1);
        CU_ASSERT(said_only(": this database is damaged"));
        store_close(s);
    }
    arena_free(arena);
}

int main(void)
{
    static const struct unit_test tests[] = {{"store_rows", test_rows},
                                             {"store_resume", test_resume},
                                             {"store_foreign", test_foreign},
                                             {"store_names", test_names},
                                             {"store_damaged", test_damaged}};
    return scratch_run("store", tests, sizeof tests / sizeof *tests);
}
