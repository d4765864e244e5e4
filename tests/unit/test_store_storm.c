/* Tests the database of results under failures: killed processes, several writers, locks, full disks, read-only
   folders. */
#include "compiler/tune/store/connection.h"
#include "tests/unit/store_cases.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static unsigned noise = 1;
/* Returns a pseudo-random number below `max`, the same in every run. */
static unsigned draw(unsigned max)
{
    noise = noise * 1664525u + 1013904223u;
    return (noise >> 8) % max;
}

/* ---- writers: child processes that store trials and report each finished one through a pipe ---- */

struct report {
    int64_t trial;
    int number, samples;
};

/* Stores trials until this child process is killed, and reports each stored result. Some trials get more samples
 * later. */
static _Noreturn void write_trials(const char *file, int first, int out)
{
    enum status status;
    const struct tune_experiment e = experiment_of(8192);
    struct store *s = store_open(file, false, &options, &status);
    int64_t run, trial;
    if (!s || !store_run(s, &e, "random", 7, true, &run)) {
        fprintf(stderr, "%s\n", said);
        _exit(1);
    }
    for (int k = first;; k++) {
        usleep(500); /* a pause, so that other writers get the lock */
        const struct tune_point p = point_at(k);
        if (!store_begin(s, run, &p, &e.space, &trial)) _exit(2);
        for (int samples = k % 3 ? MAX_SAMPLES : 2; samples <= MAX_SAMPLES; samples += MAX_SAMPLES - 2) {
            const struct tune_result r = result_of(k, samples);
            const struct report report = {trial, k, samples};
            if (!store_finish(s, trial, &r)) _exit(3);
            if (write(out, &report, sizeof report) != sizeof report) _exit(4);
        }
    }
}

struct writer {
    pid_t process;
    int from;
};
static struct report *reports;
static int reported, room;

static struct writer writer_start(const char *file, int first)
{
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
    struct writer w = {fork(), ends[0]};
    CU_ASSERT_FATAL(w.process >= 0);
    if (w.process == 0) {
        close(ends[0]);
        write_trials(file, first, ends[1]);
    }
    close(ends[1]);
    CU_ASSERT_EQUAL(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    return w;
}

/* Reads the reports of the writer and returns their number. */
static int listen(const struct writer *w)
{
    int got = 0;
    for (;; got++) {
        if (reported == room) {
            room = 2 * room + 1000;
            struct report *grown = realloc(reports, (size_t)room * sizeof *reports);
            if (!grown) abort();
            reports = grown;
        }
        if (read(w->from, &reports[reported], sizeof *reports) != sizeof *reports) return got;
        reported++;
    }
}

static void forget_reports(void)
{
    free(reports);
    reports = NULL;
    reported = room = 0;
}

static bool killed(const struct writer *w)
{
    int status = 0;
    kill(w->process, SIGKILL);
    waitpid(w->process, &status, 0);
    listen(w);
    close(w->from);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static int by_id(const void *a, const void *b)
{
    const int64_t x = ((const struct tune_trial *)a)->id, y = ((const struct tune_trial *)b)->id;
    return (x > y) - (x < y);
}

static void test_storm(void)
{
    enum { KILLS = 50 };
    const char *file = path("storm.db");
    struct writer other = writer_start(file, 1000000); /* this writer must keep running when other writers are
                                                        * killed */
    struct pollfd first = {.fd = other.from, .events = POLLIN};
    CU_ASSERT_EQUAL_FATAL(poll(&first, 1, 30000), 1);
    for (int k = 0; k < KILLS; k++) {
        struct writer w = writer_start(file, k * 10000);
        struct pollfd wait = {.fd = w.from, .events = POLLIN};
        if (k % 2) CU_ASSERT_EQUAL(poll(&wait, 1, 30000), 1);
        usleep(draw(20000));
        CU_ASSERT(killed(&w));
        listen(&other);
    }
    CU_ASSERT(killed(&other));
    CU_ASSERT(reported > KILLS / 2); /* every second writer, and the one that lives, have reported */

    check_whole(file);
    struct store *s = opened(file);
    struct arena *arena = arena_new();
    struct tune_run *runs;
    CU_ASSERT_EQUAL_FATAL(store_runs(s, NULL, arena, &runs), 1); /* all writers resumed the same run */
    qsort(runs->trial, (size_t)runs->trials, sizeof *runs->trial, by_id);
    int lost = 0, running = 0;
    for (int k = 0; k < reported; k++) {
        const struct tune_trial key = {.id = reports[k].trial},
                                *t = bsearch(&key, runs->trial, (size_t)runs->trials, sizeof key, by_id);
        if (!t || t->result.samples < reports[k].samples || t->result.work != reports[k].number + 1.0) lost++;
    }
    for (int k = 0; k < runs->trials; k++) { /* unreported results are complete as well */
        const struct tune_trial *t = &runs->trial[k];
        if (!tune_ended(&t->result)) {
            running++;
            continue;
        }
        const int number = (int)t->result.work - 1;
        const struct tune_point p = point_at(number);
        const struct tune_result wanted = result_of(number, t->result.samples);
        if (!same_result(&t->result, &wanted) || memcmp(p.at, t->point.at, 2 * sizeof *p.at) != 0) lost++;
        if (t->result.samples != MAX_SAMPLES && t->result.samples != 2) lost++;
    }
    CU_ASSERT_EQUAL(lost, 0);
    CU_ASSERT(running <= KILLS + 1);
    int64_t run = 0;
    const struct tune_experiment e = experiment_of(8192);
    CU_ASSERT(store_run(s, &e, "random", 7, true, &run));
    CU_ASSERT_EQUAL(run, runs->id);
    arena_free(arena);
    store_close(s);
    forget_reports();
}

static void test_killed_at_birth(void)
{
    for (int k = 0; k < 25; k++) {
        char name[40];
        snprintf(name, sizeof name, "born-%d.db", k);
        const char *file = path(name);
        struct writer a = writer_start(file, 0), b = writer_start(file, 1000);
        usleep(draw(12000));
        CU_ASSERT(killed(&a));
        CU_ASSERT(killed(&b));
        struct store *s = opened(file);
        store_close(s);
        check_whole(file);
    }
    forget_reports();
}

/* Several processes create the same database at almost the same time. */
static void test_born_together(void)
{
    enum { FILES = 100, PROCESSES = 3 };
    for (int k = 0; k < FILES; k++) {
        char name[40];
        snprintf(name, sizeof name, "together-%d.db", k);
        const char *file = path(name);
        pid_t process[PROCESSES];
        for (int p = 0; p < PROCESSES; p++) {
            const useconds_t later = draw(3000);
            process[p] = fork();
            CU_ASSERT_FATAL(process[p] >= 0);
            if (process[p] != 0) continue;
            usleep(later);
            enum status status;
            struct store *s = store_open(file, false, &options, &status);
            if (!s) fprintf(stderr, "%s\n", said);
            _exit(s ? 0 : 1);
        }
        for (int p = 0; p < PROCESSES; p++) {
            int status = 0;
            waitpid(process[p], &status, 0);
            CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        }
    }
}

/* Runs the function in a child process, because its effects cannot be undone. Returns the exit status. */
static int apart(int (*work)(void))
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) _exit(work());
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status)) return 1000 + WTERMSIG(status);
    return WEXITSTATUS(status);
}

/* ---- locks ---- */

static void test_lock(void)
{
    const char *file = path("locked.db");
    const struct tune_experiment e = experiment_of(1);
    const struct tune_point p = point_at(0);
    const struct tune_result r = result_of(0, 3);
    struct store *s = opened(file);
    int64_t run, trial;
    CU_ASSERT(store_run(s, &e, "random", 1, false, &run));
    CU_ASSERT(store_begin(s, run, &p, &e.space, &trial));
    store_close(s);
    store_patience = 50;
    s = opened(file);
    sqlite3 *db;
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(file, &db), SQLITE_OK);
    CU_ASSERT_EQUAL(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    CU_ASSERT(!store_run(s, &e, "random", 1, true, &run));
    CU_ASSERT(said_only("locked.db: another program has kept it locked for 0.05 s"));
    CU_ASSERT(!store_begin(s, run, &p, &e.space, &trial));
    CU_ASSERT(said_only("locked"));
    CU_ASSERT(!store_finish(s, trial, &r));
    CU_ASSERT(said_only("locked"));
    CU_ASSERT(!store_merge(s, path("storm.db")));
    CU_ASSERT(said_only("locked.db: another"));
    bool failed = true; /* readers do not wait for a writer */
    struct arena *arena = arena_new();
    CU_ASSERT_PTR_NULL(store_find(s, run, false, &p, &e.space, arena, &failed));
    CU_ASSERT(!failed);
    arena_free(arena);
    struct store *second = opened(file); /* opening an existing database does not wait either */
    store_close(second);
    CU_ASSERT_EQUAL(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    CU_ASSERT(store_finish(s, trial, &r));
    store_close(s);
    sqlite3_close(db);

    file = path("making.db"); /* another program is creating the database */
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(file, &db), SQLITE_OK);
    CU_ASSERT_EQUAL(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    enum status status = STATUS_DONE;
    CU_ASSERT_PTR_NULL(store_open(file, false, &options, &status));
    CU_ASSERT_EQUAL(status, STATUS_MACHINE);
    CU_ASSERT(said_only("making.db: another program"));
    sqlite3_close(db);
    store_patience = 30000;
}

/* ---- no space ---- */

/* Stores trials until the disk is full, calls `make_room`, and continues. Returns 0 or the number of the failed
   check. */
static int fill_up(const char *file, void (*make_room)(void))
{
    enum status status;
    const struct tune_experiment e = experiment_of(64);
    struct store *s = store_open(file, false, &options, &status);
    int64_t run, trial;
    if (!s || !store_run(s, &e, "random", 1, true, &run)) return 1;
    int k = 0;
    for (; k < 100000; k++) {
        const struct tune_point p = point_at(k);
        const struct tune_result r = result_of(k, MAX_SAMPLES);
        if (!store_begin(s, run, &p, &e.space, &trial) || !store_finish(s, trial, &r)) break;
    }
    if (k == 0 || k == 100000) return 2;
    if (!said_only("there is no space left to write to it")) return 3;
    struct arena *arena = arena_new();
    struct tune_run *runs;
    if (store_runs(s, "softmax", arena, &runs) != 1) return 4;
    if (runs->trials != k && runs->trials != k + 1) return 5;
    for (int t = 0; t < runs->trials; t++) {
        const struct tune_result wanted = result_of(t, MAX_SAMPLES);
        if (t < k ? !same_result(&runs->trial[t].result, &wanted) : runs->trial[t].result.status != TUNE_RUNNING)
            return 6;
    }
    make_room();
    const struct tune_point p = point_at(k);
    const struct tune_result r = result_of(k, MAX_SAMPLES);
    if (!store_begin(s, run, &p, &e.space, &trial) || !store_finish(s, trial, &r)) return 7;
    arena_free(arena);
    store_close(s);
    return *said ? 8 : sql_number(file, "SELECT count(*) FROM trials WHERE finished IS NOT NULL") != k + 1 ? 9 : 0;
}

static void lift_limit(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
}

static int within_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return 20;
    limit.rlim_cur = 300000;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 21;
    return fill_up(path("limited.db"), lift_limit);
}

/* The limit on file sizes is too small for the tables. */
static int within_no_room(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return 20;
    limit.rlim_cur = 5000;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 21;
    const char *file = path("unborn.db");
    enum status status = STATUS_DONE;
    if (store_open(file, false, &options, &status) || status != STATUS_MACHINE) return 22;
    if (!said_only("there is no space left to write to it")) return 23;
    lift_limit();
    struct store *s = store_open(file, false, &options, &status);
    if (!s) return 24;
    store_close(s);
    return 0;
}

enum { NOT_HERE = 77 };
static char ballast[400];

static void drop_ballast(void)
{
    unlink(ballast);
}

/* Tests a full file system of 400 kB. The test mounts it if it has the right to. */
static int on_a_full_disk(void)
{
    const char *disk = path("disk");
    if (mkdir(disk, 0700) != 0) return 30;
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return NOT_HERE;
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount("none", disk, "tmpfs", 0, "size=400k") != 0)
        return NOT_HERE;
    snprintf(ballast, sizeof ballast, "%s/ballast", disk);
    const int file = open(ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    static const char zero[100000];
    if (file < 0 || write(file, zero, sizeof zero) != sizeof zero || close(file) != 0) return 31;
    return fill_up(path("disk/results.db"), drop_ballast);
}

static void test_full(void)
{
    CU_ASSERT_EQUAL(apart(within_limit), 0);
    CU_ASSERT_EQUAL(apart(within_no_room), 0);
    check_whole(path("limited.db"));
}

static void test_full_disk(void)
{
    const int code = apart(on_a_full_disk);
    CU_ASSERT(code == 0 || code == NOT_HERE);
    if (code == NOT_HERE) unit_skip("no file system can be mounted here");
    rmdir(path("disk"));
}

/* ---- no write permission ---- */

/* Drops root's capability to write without permission. Keeps the capability to enter every folder. */
static bool obey_modes(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, sets) != 0) return false;
    struct __user_cap_data_struct *with = &sets[CAP_TO_INDEX(CAP_DAC_OVERRIDE)];
    with->effective &= ~CAP_TO_MASK(CAP_DAC_OVERRIDE);
    with->permitted &= ~CAP_TO_MASK(CAP_DAC_OVERRIDE);
    return syscall(SYS_capset, &header, sets) == 0;
}

static int without_rights(void)
{
    enum status status = STATUS_DONE;
    if (!obey_modes()) return 9;
    const char *const files[] = {path("closed/file.db"), path("half/file.db")};
    for (int k = 0; k < 2; k++) {
        if (store_open(files[k], false, &options, &status) || status != STATUS_MACHINE) return 1;
        if (!said_only("file.db: cannot be ")) return 2;
        struct store *s = store_open(files[k], true, &options, &status);
        if (!s) return 3;
        struct arena *arena = arena_new();
        struct tune_run *runs;
        if (store_runs(s, NULL, arena, &runs) != 1 || runs->trials != 1) return 4;
        int64_t run;
        if (store_run(s, &runs->experiment, "random", 1, false, &run) || !said_only("read-only")) return 5;
        arena_free(arena);
        store_close(s);
    }
    if (store_open(path("closed/new.db"), false, &options, &status) || status != STATUS_MACHINE ||
        !said_only("new.db: cannot be created: Permission denied"))
        return 6;
    struct stat info;
    if (stat(path("closed/left.db-wal"), &info) != 0 || info.st_size == 0)
        return *said ? 8 : 0; /* this file system has no write-ahead log */
    if (store_open(path("closed/left.db"), true, &options, &status) || status != STATUS_MACHINE ||
        !said_only("left a log next to it"))
        return 7;
    return *said ? 8 : 0;
}

static void test_readonly(void)
{
    const struct tune_experiment e = experiment_of(1);
    const struct tune_point p = point_at(0);
    CU_ASSERT_EQUAL(chmod(folder, 0755), 0);
    static const char *const folders[] = {"closed", "half"};
    for (int k = 0; k < 2; k++) {
        char name[60];
        snprintf(name, sizeof name, "%s/file.db", folders[k]);
        CU_ASSERT_EQUAL(mkdir(path(folders[k]), 0755), 0);
        struct store *s = opened(path(name));
        int64_t run, trial;
        CU_ASSERT(store_run(s, &e, "random", 1, false, &run));
        CU_ASSERT(store_begin(s, run, &p, &e.space, &trial));
        store_close(s);
        CU_ASSERT_EQUAL(chmod(path(name), 0444), 0);
    }
    struct writer w = writer_start(path("closed/left.db"), 0); /* this process is killed below and leaves its log */
    struct pollfd wait = {.fd = w.from, .events = POLLIN};
    CU_ASSERT_EQUAL(poll(&wait, 1, 30000), 1);
    CU_ASSERT(killed(&w));
    forget_reports();
    CU_ASSERT(unlink(path("closed/left.db-shm")) == 0 || errno == ENOENT);
    CU_ASSERT_EQUAL(chmod(path("closed"), 0555), 0);
    CU_ASSERT_EQUAL(chmod(path("half"), 0777), 0);
    const int code = apart(without_rights);
    CU_ASSERT_EQUAL(code, 0);
    if (code != 0) fprintf(stderr, "readonly: %d\n", code);
    for (int k = 0; k < 2; k++) {
        CU_ASSERT_EQUAL(chmod(path(folders[k]), 0755), 0);
        remove_folder(path(folders[k]));
    }
}

int main(void)
{
    static const struct unit_test tests[] = {{"store_storm", test_storm},
                                             {"store_killed_at_birth", test_killed_at_birth},
                                             {"store_born_together", test_born_together},
                                             {"store_lock", test_lock},
                                             {"store_full", test_full},
                                             {"store_full_disk", test_full_disk},
                                             {"store_readonly", test_readonly}};
    return scratch_run("store_storm", tests, sizeof tests / sizeof *tests);
}
