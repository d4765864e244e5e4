/* Tests the database of results: rows, versions of the schema, files of other programs, merging. */
#include "compiler/schedule/schedule.h"
#include "compiler/tune/report.h"
#include "tests/unit/store_cases.h"

#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <sys/vfs.h>
#include <sys/wait.h>

/* ---- rows ---- */

static int64_t run_in(struct store *s, const struct tune_experiment *e, const char *strategy, uint64_t seed,
                      bool resume)
{
    int64_t run = 0;
    CU_ASSERT_FATAL(store_run(s, e, strategy, seed, resume, &run));
    CU_ASSERT(run > 0);
    return run;
}

static int64_t trial_in(struct store *s, int64_t run, int k, int samples)
{
    const struct tune_experiment e = experiment_of(1);
    const struct tune_point p = point_at(k);
    const struct tune_result r = result_of(k, samples);
    int64_t trial = 0;
    CU_ASSERT_FATAL(store_begin(s, run, &p, &e.space, &trial));
    CU_ASSERT_FATAL(samples < 0 || store_finish(s, trial, &r));
    return trial;
}

static bool found(struct store *s, int64_t run, int k, int samples)
{
    struct arena *arena = arena_new();
    const struct tune_experiment e = experiment_of(1);
    const struct tune_point p = point_at(k);
    bool failed = true;
    const struct tune_trial *t = store_find(s, run, false, &p, &e.space, arena, &failed);
    CU_ASSERT(!failed);
    bool same = !t;
    if (t && samples >= 0) {
        const struct tune_result wanted = result_of(k, samples);
        same = same_result(&t->result, &wanted) && memcmp(&t->point, &p, sizeof p) == 0;
    }
    same &= (t == NULL) == (samples < 0);
    arena_free(arena);
    return same;
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
                p->default_at == q->default_at;
        same &= memcmp(p->value, q->value, sizeof p->value) == 0;
    }
    return same && a->shape.batch == b->shape.batch && a->shape.heads == b->shape.heads &&
           a->shape.kv_heads == b->shape.kv_heads && a->shape.length == b->shape.length &&
           a->shape.threads == b->shape.threads && a->shape.backward == b->shape.backward &&
           a->shape.key_heads == b->shape.key_heads;
}

static void test_rows(void)
{
    const char *file = path("rows.db");
    struct store *s = opened(file);
    struct tune_experiment e = experiment_of(4096), other = experiment_of(65536);
    other.spec_name = "it's, \"another\"";
    const int64_t run = run_in(s, &e, "random", UINT64_MAX, false), second = run_in(s, &other, "exhaustive", 0, false);
    CU_ASSERT(found(s, run, 0, -1));
    for (int k = 0; k < 7; k++) trial_in(s, run, k, k);
    const int64_t again = trial_in(s, run, 0, 2), running = trial_in(s, run, 8, -1);
    for (int k = 1; k < 7; k++) CU_ASSERT(found(s, run, k, k));
    CU_ASSERT(found(s, run, 0, 2));     /* the later of two trials is found */
    CU_ASSERT(found(s, run, 8, -1));    /* the trial was only begun */
    CU_ASSERT(found(s, second, 1, -1)); /* the trial belongs to another run */
    const struct tune_result more = result_of(0, 9), fewer = result_of(0, 1);
    CU_ASSERT(store_finish(s, again, &more));
    CU_ASSERT(found(s, run, 0, 9));
    CU_ASSERT(store_finish(s, again, &fewer)); /* replaces all samples of the trial */
    CU_ASSERT(found(s, run, 0, 1));
    CU_ASSERT(!store_finish(s, 999, &more));
    CU_ASSERT(said_only("rows.db: trial 999 no longer exists"));
    struct tune_point outside = {{0, 4}};
    int64_t trial;
    CU_ASSERT(!store_begin(s, run, &outside, &e.space, &trial));
    CU_ASSERT(said_only("rows.db: FOREIGN KEY"));
    CU_ASSERT(!store_begin(s, 999, &outside, &e.space, &trial));
    CU_ASSERT(said_only("rows.db: "));

    struct arena *arena = arena_new();
    struct tune_run *runs;
    CU_ASSERT_EQUAL(store_runs(s, "nothing", arena, &runs), 0);
    CU_ASSERT_EQUAL_FATAL(store_runs(s, other.spec_name, arena, &runs), 1);
    CU_ASSERT(runs->id == second && runs->trials == 0 && runs->seed == 0 && strcmp(runs->strategy, "exhaustive") == 0);
    CU_ASSERT(same_experiment(&runs->experiment, &other));
    CU_ASSERT_EQUAL_FATAL(store_runs(s, NULL, arena, &runs), 2);
    CU_ASSERT(runs->id == run && runs->seed == UINT64_MAX && same_experiment(&runs->experiment, &e) &&
              runs->begun > 1.6e9);
    CU_ASSERT_EQUAL_FATAL(runs->trials, 9);
    for (int k = 1; k < 7; k++) {
        const struct tune_result wanted = result_of(k, k);
        CU_ASSERT(same_result(&runs->trial[k].result, &wanted));
        CU_ASSERT(runs->trial[k].begun >= runs->trial[k - 1].begun);
    }
    CU_ASSERT(runs->trial[8].id == running && runs->trial[8].result.status == TUNE_RUNNING &&
              runs->trial[8].result.samples == 0);
    arena_free(arena);
    store_close(s);
    check_whole(file);

    CU_ASSERT_EQUAL(sql_number(file, "SELECT value FROM trial_knobs WHERE trial = 6 AND name = 'tile_k'"), 96);
    CU_ASSERT_EQUAL(
        sql_number(
            file,
            "SELECT count(*) FROM results WHERE schedule = 'tile_q=256 tile_k=96' AND samples = 5 AND length = 4096"),
        1);
    CU_ASSERT_EQUAL(
        sql_number(file,
                   "SELECT count(*) FROM results WHERE abs(mean_usual * 3e3 - 7) < 0.01 AND least_seconds = 6e-3"),
        1);
    CU_ASSERT_EQUAL(sql_number(file, "SELECT count(*) FROM results WHERE status = 'running' AND samples = 0"), 1);
    static const unsigned local[] = {0xef53 /* ext4 */, 0x58465342 /* XFS */, 0x9123683e /* btrfs */,
                                     0x01021994 /* tmpfs */, 0x794c7630 /* overlayfs */};
    struct statfs info;
    CU_ASSERT_EQUAL(statfs(file, &info), 0);
    for (size_t k = 0; k < sizeof local / sizeof *local; k++)
        if ((unsigned)info.f_type == local[k])
            CU_ASSERT_EQUAL(sql_number(file, "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'"), 1);
}

static void test_resume(void)
{
    const char *file = path("resume.db");
    struct store *s = opened(file);
    const struct tune_experiment e = experiment_of(4096);
    const int64_t first = run_in(s, &e, "random", 1, true); /* there is no run to resume yet */
    trial_in(s, first, 4, 4);
    trial_in(s, first, 5, -1);
    const int64_t last = run_in(s, &e, "random", 1, false);
    CU_ASSERT(last != first);
    store_close(s);
    s = opened(file);
    CU_ASSERT_EQUAL(run_in(s, &e, "random", 1, true), last);
    CU_ASSERT(run_in(s, &e, "random", 2, true) > last);
    CU_ASSERT(run_in(s, &e, "halving", 1, true) > last);
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
        const int64_t own = run_in(s, &changed[k], "random", 1, true);
        CU_ASSERT(own > last);
        CU_ASSERT_EQUAL(run_in(s, &changed[k], "random", 1, true), own);
    }
    struct tune_experiment renamed = e; /* the name of the spec does not matter */
    renamed.spec_name = "other";
    renamed.space.knob[0].says = "in other words";
    CU_ASSERT_EQUAL(run_in(s, &renamed, "random", 1, true), last);
    CU_ASSERT(found(s, first, 4, 4));
    CU_ASSERT(found(s, first, 5, -1));
    store_close(s);
    CU_ASSERT_EQUAL(sql_number(file, "SELECT count(*) FROM experiments"), 15);
    check_whole(file);
}

/* ---- trials of processes that have ended ---- */

static enum tune_status status_of(struct store *s, int64_t trial)
{
    struct arena *arena = arena_new();
    struct tune_run *runs;
    enum tune_status status = TUNE_REFUSED;
    const int count = store_runs(s, NULL, arena, &runs);
    for (int r = 0; r < count; r++)
        for (int t = 0; t < runs[r].trials; t++)
            if (runs[r].trial[t].id == trial) status = runs[r].trial[t].result.status;
    arena_free(arena);
    return status;
}

/* Starts the trial in a process that ends at once. If `killed`, a signal ends it. */
static void begin_elsewhere(const char *file, int64_t run, int k, bool killed)
{
    const pid_t child = fork();
    CU_ASSERT_FATAL(child >= 0);
    if (child == 0) {
        enum status status;
        struct store *s = store_open(file, false, &options, &status);
        if (s) trial_in(s, run, k, -1);
        if (killed) raise(SIGKILL);
        store_close(s);
        _exit(0);
    }
    siginfo_t info;
    CU_ASSERT_EQUAL(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0); /* The process with this id has ended. */
}

static void test_interrupted(void)
{
    const char *file = path("interrupted.db");
    struct store *s = opened(file);
    const struct tune_experiment e = experiment_of(4096);
    const int64_t run = run_in(s, &e, "random", 1, false), second = run_in(s, &e, "random", 1, false);
    const int64_t mine = trial_in(s, run, 1, -1);
    CU_ASSERT_EQUAL(status_of(s, mine), TUNE_RUNNING);
    CU_ASSERT(trial_in(s, run, 1, -1) != mine); /* another trial of this process */
    CU_ASSERT(store_interrupt(s, mine));
    CU_ASSERT_EQUAL(status_of(s, mine), TUNE_INTERRUPTED);
    CU_ASSERT(found(s, run, 1, -1));
    CU_ASSERT(trial_in(s, second, 1, -1) != mine);
    CU_ASSERT_EQUAL(trial_in(s, run, 1, 1), mine); /* restarts and finishes the interrupted trial */
    CU_ASSERT(found(s, run, 1, 1));
    CU_ASSERT(store_interrupt(s, mine)); /* a finished trial keeps its result */
    CU_ASSERT(found(s, run, 1, 1));

    for (int killed = 0; killed < 2; killed++) {
        begin_elsewhere(file, run, 4 + killed, killed);
        const int64_t dead = sql_number(file, "SELECT max(id) FROM trials");
        CU_ASSERT_EQUAL(
            sql_number(file,
                       "SELECT count(*) FROM trials WHERE status = 'running' AND id = (SELECT max(id) FROM trials)"),
            1);
        CU_ASSERT_EQUAL(status_of(s, dead), TUNE_INTERRUPTED);
        CU_ASSERT_EQUAL(trial_in(s, run, 4 + killed, 2), dead);
        CU_ASSERT(found(s, run, 4 + killed, 2));
    }
    while (waitpid(-1, NULL, 0) > 0) continue;

    static const struct {
        const char *sql;
        enum tune_status status;
    } others[] = {{"process = NULL", TUNE_INTERRUPTED}, /* older versions did not record the process */
                  {"process = 'elsewhere 1-2 pid:[3] 4 5'", TUNE_RUNNING},
                  {"process = 'elsewhere 1-2 pid:[3] 4 5', begun = begun - 90000", TUNE_INTERRUPTED},
                  {"process = replace(process, ' pid:[', ' pid:[9')", TUNE_RUNNING}, /* this process runs in another
                                                                                      * container */
                  {"process = substr(process, 1, length(process) - 1) || 'x'", TUNE_INTERRUPTED}};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        const int64_t trial = trial_in(s, run, 7, -1);
        char sql[300];
        snprintf(sql, sizeof sql, "UPDATE trials SET %s WHERE id = %lld", others[k].sql, (long long)trial);
        CU_ASSERT(sql_do(file, sql));
        CU_ASSERT_EQUAL(status_of(s, trial), others[k].status);
        CU_ASSERT(
            sql_do(file, "UPDATE trials SET status = 'refused', finished = 1 WHERE id = (SELECT max(id) FROM trials)"));
    }
    store_close(s);
    check_whole(file);
}

/* A trial can share the result of another trial. This remains so after both are copied to another database. */
static void test_share(void)
{
    char file[300], copy[300];
    snprintf(file, sizeof file, "%s", path("share.db"));
    snprintf(copy, sizeof copy, "%s", path("share-copy.db"));
    struct store *s = opened(file), *t = opened(copy);
    const struct tune_experiment e = experiment_of(4096);
    const int64_t run = run_in(s, &e, "random", 1, false), second = run_in(s, &e, "halving", 1, false);
    trial_in(t, run_in(t, &e, "random", 9, false), 3, 3); /* makes the ids in the copy different */
    struct tune_result first = result_of(5, 5);
    struct arena *arena = arena_new();
    bool failed;
    strcpy(first.code, "c0de");
    const int64_t measured = trial_in(s, run, 5, -1);
    CU_ASSERT_PTR_NULL(store_find_code(s, run, false, "c0de", &e.space, arena, &failed));
    CU_ASSERT(store_finish(s, measured, &first));
    const struct tune_trial *one = store_find_code(s, run, false, "c0de", &e.space, arena, &failed);
    CU_ASSERT_FATAL(one && one->id == measured && one->same_as == 0 && strcmp(one->result.code, "c0de") == 0);
    CU_ASSERT_PTR_NULL(store_find_code(s, run, false, "c0", &e.space, arena, &failed));
    CU_ASSERT_PTR_NULL(store_find_code(s, second, false, "c0de", &e.space, arena, &failed));
    CU_ASSERT_PTR_NOT_NULL(store_find_code(s, second, true, "c0de", &e.space, arena, &failed));
    const int64_t sharing = trial_in(s, second, 6, -1);
    CU_ASSERT(store_share(s, sharing, measured));
    for (int samples = 5; samples < 8; samples++) {
        struct tune_result now = result_of(5, samples);
        const struct tune_point p = point_at(6);
        CU_ASSERT(store_finish(s, measured, &now));
        CU_ASSERT(store_merge(t, file));
        for (int k = 0; k < 2; k++) {
            const int64_t where = k ? sql_number(copy, "SELECT id FROM runs WHERE strategy = 'halving'") : second;
            const struct tune_trial *other = store_find(k ? t : s, where, false, &p, &e.space, arena, &failed);
            now = result_of(5, samples);
            CU_ASSERT_FATAL(other && same_result(&other->result, &now));
            CU_ASSERT(other->same_as > 0 && other->same_as != other->id && (k || other->same_as == measured));
        }
    }
    CU_ASSERT_EQUAL(sql_number(copy, "SELECT count(*) FROM results WHERE samples = 7"), 2);
    CU_ASSERT_EQUAL(
        sql_number(copy,
                   "SELECT count(*) FROM results a JOIN results b ON a.same_as = b.trial WHERE b.same_as IS NULL"),
        1);
    arena_free(arena);
    store_close(s);
    store_close(t);
    check_whole(file);
    check_whole(copy);
}

/* ---- damaged and foreign files ---- */

static void put_bytes(const char *file, const char *bytes, size_t length)
{
    FILE *f = fopen(file, "wb");
    CU_ASSERT_FATAL(f && fwrite(bytes, 1, length, f) == length && fclose(f) == 0);
}

/* Checks that the file cannot be opened, and that it stays unchanged. */
static void refused(const char *file, enum status wanted, const char *why)
{
    size_t before, after;
    struct stat info;
    const bool there = stat(file, &info) == 0 && S_ISREG(info.st_mode);
    char *old = there ? bytes_of(file, &before) : NULL;
    for (int readonly = 0; readonly < 2; readonly++) {
        enum status status = STATUS_DONE;
        CU_ASSERT_PTR_NULL(store_open(file, readonly, &options, &status));
        CU_ASSERT_EQUAL(status, wanted);
        CU_ASSERT(said_only(why));
    }
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
    refused(path("short.db"), STATUS_INPUT, "short.db: this is not a database");
    put_bytes(path("long.db"), long_text, sizeof long_text);
    refused(path("long.db"), STATUS_INPUT, "long.db: this is not a database");
    CU_ASSERT(sql_do(path("theirs.db"), "CREATE TABLE runs (id INTEGER PRIMARY KEY)"));
    refused(path("theirs.db"), STATUS_INPUT, "theirs.db: this database belongs to another program");
    CU_ASSERT(sql_do(path("marked.db"), "PRAGMA application_id = 5; PRAGMA user_version = 1; PRAGMA journal_mode = "
                                        "WAL; CREATE TABLE runs (id INTEGER)"));
    refused(path("marked.db"), STATUS_INPUT, "marked.db: this database belongs to another program");
    /* This database has attnc's mark and no version. */
    CU_ASSERT(sql_do(path("stolen.db"), "PRAGMA application_id = 0x61746e63; CREATE TABLE runs (id INTEGER)"));
    refused(path("stolen.db"), STATUS_INPUT, "stolen.db: this database belongs to another program");
    refused(folder, STATUS_INPUT, "this is not a file but a folder");
    refused("/dev/null", STATUS_INPUT, "/dev/null: this is not a file but a device");
    enum status status = STATUS_DONE;
    CU_ASSERT_PTR_NULL(store_open(path("none.db"), true, &options, &status));
    CU_ASSERT(status == STATUS_INPUT && said_only("none.db: No such file") && access(path("none.db"), F_OK) != 0);
    CU_ASSERT_PTR_NULL(store_open(path("none/none.db"), false, &options, &status));
    CU_ASSERT(status == STATUS_MACHINE && said_only("none.db: cannot be created: No such file"));

    put_bytes(path("empty.db"), "", 0); /* a process that died early leaves an empty or preallocated file */
    struct store *s = store_open(path("empty.db"), true, &options, &status);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    struct arena *arena = arena_new();
    struct tune_run *runs;
    CU_ASSERT_EQUAL(store_runs(s, NULL, arena, &runs), 0);
    arena_free(arena);
    store_close(s);
    size_t length;
    free(bytes_of(path("empty.db"), &length));
    CU_ASSERT_EQUAL(length, 0);
    store_close(opened(path("empty.db")));
    check_whole(path("empty.db"));
}

/* Names that are special for SQLite are ordinary here. */
static void test_names(void)
{
    char before[300];
    CU_ASSERT_FATAL(getcwd(before, sizeof before) && chdir(folder) == 0);
    static const char *const names[] = {":memory:", "file:x?mode=memory", "100%41 #?.db", "-"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        struct store *s = opened(names[k]);
        run_in(s,
               &(struct tune_experiment){.spec_name = "",
                                         .spec_hash = "",
                                         .spec_text = "",
                                         .machine = "",
                                         .compiler = "",
                                         .attnc = "",
                                         .target = ""},
               "", 0, true);
        store_close(s);
        CU_ASSERT_EQUAL(access(names[k], F_OK), 0);
        s = opened(names[k]);
        struct arena *arena = arena_new();
        struct tune_run *runs;
        CU_ASSERT_EQUAL(store_runs(s, NULL, arena, &runs), 1);
        arena_free(arena);
        store_close(s);
    }
    CU_ASSERT_EQUAL(chdir(before), 0);
}

/* A reader of a database neither changes nor creates a file. */
static void test_reading(void)
{
    const char *file = path("read.db");
    const struct tune_experiment e = experiment_of(4096);
    const struct tune_point p = point_at(1);
    struct store *s = opened(file);
    const int64_t run = run_in(s, &e, "random", 1, false);
    trial_in(s, run, 4, 4);
    store_close(s);
    size_t before, after;
    char *old = bytes_of(file, &before);
    enum status status;
    s = store_open(file, true, &options, &status);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT(found(s, run, 4, 4));
    int64_t id;
    CU_ASSERT(!store_run(s, &e, "random", 2, false, &id));
    CU_ASSERT(said_only("read.db: cannot be written"));
    CU_ASSERT(!store_begin(s, run, &p, &e.space, &id));
    CU_ASSERT(said_only("read.db: cannot be written"));
    store_close(s);
    char *now = bytes_of(file, &after);
    CU_ASSERT(before == after && memcmp(old, now, before) == 0);
    free(old);
    free(now);
    CU_ASSERT(access(path("read.db-wal"), F_OK) != 0 && access(path("read.db-shm"), F_OK) != 0);
}

static void make_old(const char *file)
{
    struct store *s = opened(file);
    const struct tune_experiment e = experiment_of(4096);
    trial_in(s, run_in(s, &e, "random", 1, false), 4, 4);
    store_close(s);
    CU_ASSERT(sql_do(
        file, "DROP VIEW results; DROP VIEW trial_knobs; DROP INDEX trials_of_run; DROP INDEX trials_without_result; "
              "DROP INDEX trials_of_code; DROP INDEX runs_of_experiment; PRAGMA user_version = 1;"
              "ALTER TABLE trials DROP COLUMN process; ALTER TABLE trials DROP COLUMN code; ALTER TABLE trials DROP "
              "COLUMN same_as; ALTER TABLE experiments DROP COLUMN backward; ALTER TABLE experiments DROP COLUMN "
              "key_heads;"
              "PRAGMA journal_mode = DELETE"));
}

static void test_versions(void)
{
    const char *file = path("old.db");
    make_old(file);
    size_t before, after;
    char *old = bytes_of(file, &before);
    enum status status;
    struct store *s = store_open(file, true, &options, &status); /* a reader gets a migrated copy */
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT(found(s, 1, 4, 4));
    store_close(s);
    char *now = bytes_of(file, &after);
    CU_ASSERT(before == after && memcmp(old, now, before) == 0);
    free(old);
    free(now);
    s = opened(file);
    CU_ASSERT(found(s, 1, 4, 4));
    store_close(s);
    CU_ASSERT_EQUAL(sql_number(file, "SELECT user_version FROM pragma_user_version"), 5);
    CU_ASSERT_EQUAL(sql_number(file, "SELECT count(*) FROM results WHERE schedule = 'tile_q=64 tile_k=96'"), 1);
    check_whole(file);

    make_old(path("stuck.db")); /* a failed migration leaves the file unchanged */
    CU_ASSERT(sql_do(path("stuck.db"), "CREATE VIEW results AS SELECT 1"));
    CU_ASSERT_PTR_NULL(store_open(path("stuck.db"), false, &options, &status));
    CU_ASSERT(status == STATUS_MACHINE && said_only("stuck.db: view results already exists"));
    CU_ASSERT_EQUAL(sql_number(path("stuck.db"), "SELECT user_version FROM pragma_user_version"), 1);
    CU_ASSERT_EQUAL(sql_number(path("stuck.db"), "SELECT count(*) FROM sqlite_master WHERE name = 'trials_of_run'"), 0);

    CU_ASSERT(sql_do(file, "PRAGMA user_version = 6; PRAGMA journal_mode = DELETE"));
    refused(
        file, STATUS_INPUT,
        "old.db: a newer attnc made this database: its tables have version 6; this attnc supports versions up to 5");
}

static void test_damaged(void)
{
    static const char *const harm[] = {"UPDATE trials SET status = 'odd'",
                                       "DELETE FROM choices WHERE knob = 1",
                                       "UPDATE choices SET position = 99",
                                       "UPDATE knob_values SET usual = 0",
                                       "UPDATE knobs SET position = position + 5",
                                       "UPDATE runs SET seed = 'many'",
                                       "PRAGMA foreign_keys = OFF; DELETE FROM experiments"};
    for (size_t k = 0; k < sizeof harm / sizeof *harm; k++) {
        char name[40];
        snprintf(name, sizeof name, "harm-%zu.db", k);
        struct store *s = opened(path(name));
        const struct tune_experiment e = experiment_of(4096);
        trial_in(s, run_in(s, &e, "random", 1, false), 4, 4);
        CU_ASSERT(sql_do(path(name), harm[k]));
        struct arena *arena = arena_new();
        struct tune_run *runs;
        CU_ASSERT_EQUAL(store_runs(s, NULL, arena, &runs), -1);
        CU_ASSERT(said_only(": this database is damaged"));
        arena_free(arena);
        store_close(s);
    }
    size_t length;
    char *whole = bytes_of(path("rows.db"), &length);
    put_bytes(path("cut.db"), whole, length / 2);
    refused(path("cut.db"), STATUS_INPUT, "cut.db: this database is damaged");
    free(whole);
}

/* ---- merging ---- */

static int64_t rows_of(const char *file)
{
    return sql_number(file, "SELECT (SELECT count(*) FROM runs) * 1000000 + (SELECT count(*) FROM trials) * 1000 + "
                            "(SELECT count(*) FROM samples)");
}

static void test_merge(void)
{
    char a[300], b[300], old[300];
    snprintf(a, sizeof a, "%s", path("a.db"));
    snprintf(b, sizeof b, "%s", path("b.db"));
    snprintf(old, sizeof old, "%s", path("merge-old.db"));
    const struct tune_experiment e = experiment_of(4096), other = experiment_of(8192);
    struct store *s = opened(a), *t = opened(b);
    const int64_t run_a = run_in(s, &e, "random", 1, false);
    trial_in(s, run_a, 4, 4);
    const int64_t running = trial_in(s, run_a, 5, -1);
    trial_in(t, run_in(t, &other, "random", 1, false), 6, 6);
    trial_in(t, run_in(t, &e, "random", 1, false), 8, 8);
    CU_ASSERT(store_merge(t, a));
    CU_ASSERT_EQUAL(rows_of(b), 3004018);
    CU_ASSERT(store_merge(t, a));
    CU_ASSERT(store_merge(t, b));
    CU_ASSERT_EQUAL(rows_of(b), 3004018);
    CU_ASSERT_EQUAL(sql_number(b, "SELECT count(*) FROM experiments"), 2);
    const struct tune_result late = result_of(5, 5), later = result_of(5, 7);
    /* The trial was running when the file was copied. A later merge takes its result. */
    CU_ASSERT(store_finish(s, running, &late));
    CU_ASSERT(store_merge(t, a));
    CU_ASSERT_EQUAL(rows_of(b), 3004023);
    CU_ASSERT(store_merge(s, b)); /* merges in the other direction */
    CU_ASSERT_EQUAL(rows_of(a), 3004023);
    CU_ASSERT(store_merge(t, a));
    CU_ASSERT_EQUAL(rows_of(b), 3004023);
    CU_ASSERT(store_finish(s, running, &later));
    CU_ASSERT(store_merge(s, b)); /* the earlier result in b does not replace the later one */
    CU_ASSERT(found(s, run_a, 5, 7));
    CU_ASSERT(store_merge(t, a));
    CU_ASSERT_EQUAL(rows_of(b), 3004025);
    CU_ASSERT_EQUAL(rows_of(a), 3004025);

    make_old(old);
    size_t before, after;
    char *bytes = bytes_of(old, &before);
    CU_ASSERT(store_merge(s, old));
    CU_ASSERT_EQUAL(rows_of(a), 4005029);
    char *now = bytes_of(old, &after);
    CU_ASSERT(before == after && memcmp(bytes, now, before) == 0);
    free(bytes);
    free(now);
    CU_ASSERT(!store_merge(s, path("none.db")));
    CU_ASSERT(said_only("none.db: No such file"));
    put_bytes(path("text.db"), "no", 2);
    CU_ASSERT(!store_merge(s, path("text.db")));
    CU_ASSERT(said_only("text.db: this is not a database"));
    /* a database is merged completely or not at all */
    CU_ASSERT(sql_do(b, "UPDATE trials SET key = 'new', status = 'odd' WHERE id = (SELECT max(id) FROM trials); UPDATE "
                        "runs SET key = 'new' WHERE id = 1"));
    CU_ASSERT(!store_merge(s, b));
    CU_ASSERT(said_only("b.db: this database is damaged"));
    CU_ASSERT_EQUAL(rows_of(a), 4005029);
    struct arena *arena = arena_new();
    struct tune_run *runs;
    CU_ASSERT_EQUAL(store_runs(s, NULL, arena, &runs), 4);
    arena_free(arena);
    store_close(s);
    store_close(t);
    check_whole(a);
}

int main(void)
{
    static const struct unit_test tests[] = {
        {"store_rows", test_rows},       {"store_resume", test_resume},     {"store_interrupted", test_interrupted},
        {"store_share", test_share},     {"store_foreign", test_foreign},   {"store_names", test_names},
        {"store_reading", test_reading}, {"store_versions", test_versions}, {"store_damaged", test_damaged},
        {"store_merge", test_merge}};
    return scratch_run("store", tests, sizeof tests / sizeof *tests);
}
