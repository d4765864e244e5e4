/* Runs one trial. A child process compiles a candidate schedule, checks its output, and times it. The parent
   enforces the time limit. Only children use OpenMP, because a process with threads must not fork. */
#include "tuning.h"
#include "../../runtime/attnrt.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const double SAMPLE = 0.004; /* the minimum duration of a sample in seconds; short calls are repeated */
static const double HOPELESS = 1.5; /* a candidate that is slower by this factor gets only FEWEST samples */
static const double GRACE = 1.0;    /* seconds that a child gets to end by itself before it is killed */
enum { FEWEST = 3, SHORT_LENGTH = 333, MAX_WRITTEN = 64 };

/* A message from a child to its parent. A pipe transfers up to 512 bytes as a whole (the minimum PIPE_BUF of POSIX). */
struct message {
    enum { SAID_CODE, SAID_SAMPLE, SAID_RESULT, SAID_MACHINE, SAID_INFINITE } what;
    char code[65];
    struct tune_sample sample;
    enum tune_status status;
    char why[200];
    struct machine_speed speed;
};
_Static_assert(sizeof(struct message) <= 512, "a pipe transfers it as a whole");

/* ---- signals ---- */

static volatile sig_atomic_t interrupted;

static void note_signal(int number)
{
    interrupted = number;
}

void trial_guard(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = note_signal}, before;
    sigemptyset(&action.sa_mask);
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        if (sigaction(numbers[k], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[k], &action, NULL);
}

int trial_interrupted(void)
{
    return (int)interrupted;
}

/* ---- files that OpenMP would leave ---- */

/* LLVM's OpenMP runtime creates a file per process and removes it at exit. A killed child leaves the file, so attnc
   removes it. */
enum { REGISTERED = 64 };
static const char *const registered_in[] = {"/dev/shm", "/tmp"};
enum { REGISTERED_IN = sizeof registered_in / sizeof *registered_in };

static void registered_at(pid_t process, char path[REGISTERED_IN][REGISTERED])
{
    for (int k = 0; k < REGISTERED_IN; k++)
        snprintf(path[k], REGISTERED, "%s/__KMP_REGISTERED_LIB_%ld_%ld", registered_in[k], (long)process,
                 (long)getuid());
}

static void forget_openmp(pid_t process)
{
    char path[REGISTERED_IN][REGISTERED];
    registered_at(process, path);
    for (int k = 0; k < REGISTERED_IN; k++) unlink(path[k]);
}

/* The paths of this child's OpenMP files. The child's signal handler removes them, because the parent may be dead. */
static char own_registration[REGISTERED_IN][REGISTERED];

static void end_child(int number)
{
    for (int k = 0; k < REGISTERED_IN; k++) unlink(own_registration[k]);
    signal(number, SIG_DFL);
    raise(number);
}

/* ---- in the child ---- */

static void tell(int pipe, const struct message *m)
{
    ssize_t wrote;
    do wrote = write(pipe, m, sizeof *m);
    while (wrote < 0 && errno == EINTR);
    if (wrote != (ssize_t)sizeof *m) _exit(STATUS_MACHINE); /* the parent has ended */
}

static void conclude(int pipe, enum tune_status status, const char *format, ...) IR_PRINTF(3, 4);

static void conclude(int pipe, enum tune_status status, const char *format, ...)
{
    struct message m = {.what = SAID_RESULT, .status = status};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(m.why, sizeof m.why, format, arguments);
    va_end(arguments);
    tell(pipe, &m);
}

struct options point_options(struct arena *arena, const struct options *o, const struct tune_space *space,
                             const struct tune_point *point, bool backward, const struct tuned_entry *base)
{
    struct tuned_entry e = tuned_entry(space, point, 1, NULL); /* the same knobs as in SPEC.tuned.yaml */
    struct schedule *of[2] = {arena_alloc(arena, sizeof **of), arena_alloc(arena, sizeof **of)};
    tuned_join(&e, backward, base);
    for (int k = 0; k < 2; k++) of[k]->knob = arena_alloc(arena, MAX_KNOBS * sizeof *of[k]->knob);
    for (int k = 0; k < e.knobs; k++) {
        const char *const name = knob_of_backward(e.knob[k].name);
        struct schedule *s = of[name != NULL];
        s->knob[s->knobs++] = (struct knob){.name = name ? name : e.knob[k].name, .value = e.knob[k].value};
    }
    if (of[1]->knobs) of[0]->backward = of[1];
    struct options made = *o;
    made.schedule = of[0];
    return made;
}

/* One of the two kernels of a trial: the candidate or the default schedule. */
struct side {
    struct options o;
    struct unit *unit;
    struct text source, header;
    const char *code; /* a hash of the source */
    struct loaded_kernel loaded;
};

static bool make_source(struct side *s, struct arena *arena, const struct trial_request *r,
                        const struct tune_point *point)
{
    enum status status;
    s->o = point_options(arena, r->o, r->space, point, r->shape->backward, r->base);
    s->o.console.quiet = true;
    s->o.console.color = false;
    s->o.emit = 0; /* The comment with the command line names the schedule, so it would change the hash of equal
                      code. */
    s->unit = unit_make(r->file, &s->o, &status);
    if (!s->unit) return false;
    unit_emit_here(s->unit, &s->o, "attnc tune", &s->source, &s->header);
    s->code = hash_text(arena, s->source.data, s->source.length);
    return true;
}

static bool load(struct side *s)
{
    return kernel_load(s->unit->spec->name, s->source.data, s->header.data, true, &s->loaded) == STATUS_DONE;
}

/* Returns the tolerance for the relative difference of two kernels that add terms in different orders. */
static double rounding(enum attn_dtype dtype)
{
    return dtype == ATTN_F64 ? 1e-9 : dtype == ATTN_F32 ? 1e-3 : 3e-2;
}

/* Runs both kernels on the same arrays and compares their outputs. If the outputs differ or a call fails, reports
   that to the parent and returns false. */
static bool agree(int pipe, struct call *by_default, struct call *candidate)
{
    const bool backward = candidate->kind == CALL_BACKWARD;
    struct written w;
    char *expected[MAX_WRITTEN] = {NULL};
    int count = 0, error = call_run(by_default);
    for (; !error && count < MAX_WRITTEN && call_written(by_default, count, &w); count++) {
        expected[count] = malloc(w.bytes + 1);
        if (!expected[count]) error = ATTN_EMEMORY;
        if (error) break;
        memcpy(expected[count], w.data, w.bytes);
        memset(w.data, 0xff, w.bytes); /* fills the array with NaN, so that unwritten elements are found */
    }
    if (error) conclude(pipe, TUNE_REFUSED, "the default schedule: %s", attn_strerror(error));
    const bool refused = error != 0;
    if (!refused) error = call_run(candidate);
    double off = 0;
    for (int k = 0; k < count && !error; k++) {
        call_written(candidate, k, &w);
        /* terms of a gradient may cancel, so its errors are relative to the largest number */
        const double least = backward ? numbers_largest(expected[k], w.dtype, w.rows * w.row) : 0;
        off = fmax(off, rows_differ(w.data, expected[k], w.dtype, w.rows, w.row, least, false));
    }
    for (int k = 0; k < count; k++) free(expected[k]);
    if (refused) return false;
    if (error)
        conclude(pipe, TUNE_REFUSED, "%s", attn_strerror(error));
    else if (!(off <= rounding(by_default->kernel->dtype)))
        conclude(pipe, TUNE_WRONG, "the result is wrong: a row%s, for %lld queries, differs by %.2g of its norm",
                 backward ? " of the gradients" : "", (long long)candidate->problem.n_q, off);
    else
        return true;
    return false;
}

static double seconds_of(const struct call *c, int calls)
{
    double start = attn_seconds();
    for (int k = 0; k < calls; k++)
        if (call_run(c)) return INFINITY;
    return (attn_seconds() - start) / calls;
}

/* Returns the number of calls in a sample, so that it takes SAMPLE seconds. Candidate and default may need different
   numbers, because one may be a thousand times slower. */
static int calls_of(const struct call *c)
{
    const double once = seconds_of(c, 1);
    return once < SAMPLE ? (int)ceil(SAMPLE / fmax(once, 1e-6)) : 1;
}

/* Measures the samples and sends each to the parent. `same` is true if both kernels have equal code. The first call
   of a sample fills the caches. So odd samples call the candidate first, and even samples the default. */
static void sample(int pipe, const struct call *by_default, const struct call *candidate, bool same, int samples)
{
    struct tune_sample first[FEWEST];
    const struct tune_result so_far = {.status = TUNE_MEASURED, .samples = FEWEST, .sample = first};
    const int default_calls = calls_of(by_default), calls = calls_of(candidate);
    for (int k = 0; k < samples; k++) {
        struct message m = {.what = SAID_SAMPLE};
        if (k % 2 && !same) m.sample.seconds = seconds_of(candidate, calls);
        m.sample.default_seconds = seconds_of(by_default, default_calls);
        if (k % 2 == 0 && !same) m.sample.seconds = seconds_of(candidate, calls);
        if (same) m.sample.seconds = m.sample.default_seconds;
        tell(pipe, &m);
        if (k < FEWEST) first[k] = m.sample;
        if (k + 1 == FEWEST && trial_enough(&so_far, samples)) break;
    }
}

/* Prepares calls of both kernels with `length` queries and keys. Returns 0 or ATTN_E... */
static int prepare(const struct trial_request *r, struct call *by_default, struct call *candidate, int64_t length)
{
    struct call *const both[] = {by_default, candidate};
    int error = 0;
    for (int k = 0; k < 2 && !error; k++) {
        call_release(both[k]);
        both[k]->kind = r->shape->backward ? CALL_BACKWARD : CALL_FORWARD;
        both[k]->problem = (struct attn_problem){.batch = r->shape->batch,
                                                 .heads = r->shape->heads,
                                                 .kv_heads = r->shape->kv_heads,
                                                 .key_heads = r->shape->key_heads,
                                                 .n_q = length,
                                                 .n_k = length,
                                                 .threads = r->shape->threads};
        error = call_prepare(both[k], r->seed, r->document);
    }
    return error;
}

static void trial(int pipe, const void *user)
{
    const struct trial_request *r = user;
    struct arena *arena = arena_new();
    const struct tune_point default_point = point_default(r->space);
    struct side without = {.code = ""}, with = {.code = ""};
    bool good = make_source(&with, arena, r, r->point);
    if (good) {
        struct message m = {.what = SAID_CODE};
        snprintf(m.code, sizeof m.code, "%s", with.code);
        tell(pipe, &m);
    }
    if (!good || !make_source(&without, arena, r, &default_point) || !load(&without) || !load(&with)) {
        conclude(pipe, TUNE_REFUSED, "%s", "");
        return;
    }
    struct call_arrays arrays = {{NULL}, {0}};
    struct call by_default = {.kernel = without.loaded.kernel,
                              .arrays = &arrays,
                              .range = unit_drawn_range,
                              .range_of = without.unit},
                candidate = by_default;
    candidate.kernel = with.loaded.kernel;
    int64_t lengths[] = {r->shape->length, SHORT_LENGTH};
    for (int k = 1; k >= 0; k--) {
        if (k == 1 && lengths[1] >= lengths[0]) continue;
        int error = prepare(r, &by_default, &candidate, lengths[k]);
        if (error) {
            conclude(pipe, TUNE_REFUSED, "%s", attn_strerror(error));
            return;
        }
        if (!agree(pipe, &by_default, &candidate)) return;
    }
    if (!call_is_finite(&candidate)) tell(pipe, &(struct message){.what = SAID_INFINITE});
    sample(pipe, &by_default, &candidate, strcmp(without.code, with.code) == 0, r->samples);
    conclude(pipe, TUNE_MEASURED, "%s", "");
}

struct machine_request {
    const struct options *o;
    enum dtype dtype;
    int threads;
    bool memory;
};

static void probe(int pipe, const void *user)
{
    const struct machine_request *r = user;
    struct arena *arena = arena_new();
    enum status status;
    struct machine *machine = machine_open(arena, r->o->console.quiet, &status);
    if (!machine) return;
    struct message m = {.what = SAID_MACHINE, .speed = {.threads = r->threads ? r->threads : machine_threads(machine)}};
    m.speed.peak = machine_peak(machine, r->dtype, m.speed.threads, 0);
    if (r->memory) m.speed.bandwidth = machine_bandwidth(machine, m.speed.threads, 0);
    tell(pipe, &m);
    machine_close(machine);
}

/* ---- in the parent ---- */

/* A child process, from `start` to `finish`. */
struct child {
    pid_t pid;
    /* `pipe` gets the messages of the child. `errors` is a file with its standard error, or -1. */
    int pipe, errors;
};

/* Starts a child that calls `work`. If `speaks` is true, the user sees the standard error of the child. Otherwise a
   file gets it. On failure, returns false and sets errno. */
static bool start(struct child *c, void (*work)(int pipe, const void *user), const void *user, bool speaks)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    FILE *file = speaks ? NULL : tmpfile();
    c->errors = file ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 3) : -1;
    if (file) fclose(file);
    pid_t parent = getpid();
    fflush(NULL);
    c->pid = fork();
    if (c->pid < 0) {
        int error = errno;
        close(ends[0]);
        close(ends[1]);
        if (c->errors >= 0) close(c->errors);
        errno = error;
        return false;
    }
    if (c->pid > 0) {
        close(ends[1]);
        c->pipe = ends[0];
        setpgid(c->pid, c->pid);
        return true;
    }
    /* The child has its own process group, so Ctrl-C reaches only the parent. PR_SET_PDEATHSIG ends the child when
       the parent dies. */
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    registered_at(getpid(), own_registration);
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) signal(numbers[k], end_child);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(STATUS_MACHINE);
    int errors = c->errors >= 0 ? c->errors : speaks ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (errors >= 0) dup2(errors, STDERR_FILENO);
    work(ends[1], user);
    fflush(NULL);
    _exit(STATUS_DONE);
}

/* Waits for a message of the child. Returns 1 if there is one, 0 if the child closed the pipe. Returns -1 at the
   time `until`, or after a signal. */
static int hear(const struct child *c, double until, struct message *m)
{
    for (;;) {
        double left = until - attn_seconds();
        if (left <= 0 || interrupted) return -1;
        struct pollfd one = {.fd = c->pipe, .events = POLLIN};
        int ready = poll(&one, 1, left > 1 ? 1000 : (int)(left * 1000) + 1);
        if (ready <= 0) continue;
        ssize_t got = read(c->pipe, m, sizeof *m);
        if (got == (ssize_t)sizeof *m) return 1;
        if (got >= 0 || errno != EINTR) return 0;
    }
}

/* Waits for the child to end, and kills it after GRACE seconds. If `at_once` is true, sends SIGTERM first. Returns
   the wait status of the child. */
static int finish(struct child *c, bool at_once)
{
    int status = 0;
    if (at_once) kill(c->pid, SIGTERM);
    for (double until = attn_seconds() + GRACE;;) {
        pid_t ended = waitpid(c->pid, &status, WNOHANG);
        if (ended == c->pid || (ended < 0 && errno != EINTR)) break;
        if (attn_seconds() > until) {
            kill(-c->pid, SIGKILL);
            kill(c->pid, SIGKILL);
        }
        poll(NULL, 0, 2);
    }
    forget_openmp(c->pid);
    close(c->pipe);
    return status;
}

/* Copies the first line of the child's standard error to `why`, without the text up to "error: ". */
static void read_errors(struct child *c, char *why, size_t size)
{
    if (c->errors < 0) return;
    ssize_t got = pread(c->errors, why, size - 1, 0);
    close(c->errors);
    why[got > 0 ? got : 0] = 0;
    why[strcspn(why, "\n")] = 0;
    const char *from = strstr(why, "error: ");
    if (from) memmove(why, from + strlen("error: "), strlen(from + strlen("error: ")) + 1);
}

enum trial_end trial_run(const struct trial_request *request, struct arena *arena, struct tune_result *result)
{
    *result = (struct tune_result){.status = TUNE_REFUSED};
    struct child child = {.errors = -1};
    struct message m;
    int heard, capacity = 0;
    bool concluded = false, known = false;
    if (!start(&child, trial, request, false)) {
        snprintf(result->why, sizeof result->why, "cannot start a process for it: %s", strerror(errno));
        return TRIAL_DONE;
    }
    double until = attn_seconds() + request->limit;
    while (!known && (heard = hear(&child, until, &m)) > 0) {
        if (m.what == SAID_CODE) {
            memcpy(result->code, m.code, sizeof result->code);
            known = request->known && request->known(request->user, m.code);
        } else if (m.what == SAID_RESULT) {
            result->status = m.status;
            memcpy(result->why, m.why, sizeof result->why);
            concluded = true;
        } else if (m.what == SAID_INFINITE) {
            result->infinite = true;
        } else if (m.what == SAID_SAMPLE) {
            result->sample = arena_grow(arena, result->sample, result->samples, &capacity, sizeof m.sample);
            result->sample[result->samples++] = m.sample;
        }
    }
    int status = finish(&child, !concluded || heard != 0);
    if (interrupted || known) {
        if (child.errors >= 0) close(child.errors);
        result->samples = 0;
        return interrupted ? TRIAL_INTERRUPTED : TRIAL_KNOWN;
    }
    char said[sizeof result->why] = "";
    read_errors(&child, said, sizeof said);
    if (!concluded && heard < 0) {
        result->status = TUNE_LATE;
        snprintf(result->why, sizeof result->why, "not finished after %.3g s", request->limit);
    } else if (!concluded && WIFSIGNALED(status)) {
        result->status = TUNE_CRASHED;
        snprintf(result->why, sizeof result->why, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else if (!concluded) {
        result->status = TUNE_CRASHED;
        snprintf(result->why, sizeof result->why, "it ended with status %d before it had a result",
                 WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    } else if (!*result->why)
        memcpy(result->why, said, sizeof said);
    if (result->status == TUNE_MEASURED) {
        *result->why = 0;
        for (int k = 0; k < result->samples; k++)
            if (!isfinite(result->sample[k].seconds)) result->status = TUNE_CRASHED;
    }
    if (result->status != TUNE_MEASURED) result->samples = 0;
    return TRIAL_DONE;
}

bool trial_enough(const struct tune_result *result, int wanted)
{
    if (result->status != TUNE_MEASURED || result->samples >= wanted) return true;
    return result->samples >= FEWEST && tune_gain(result).ratio > HOPELESS;
}

bool trial_machine(const struct options *o, enum dtype dtype, int threads, bool memory, struct machine_speed *speed)
{
    struct machine_request request = {o, dtype, threads, memory};
    struct child child = {.errors = -1};
    struct message m;
    if (!start(&child, probe, &request, true))
        return complain(o, "cannot start a process that measures the machine: %s", strerror(errno));
    int heard = hear(&child, attn_seconds() + 120, &m);
    finish(&child, heard <= 0);
    if (heard > 0) *speed = m.speed;
    if (heard <= 0 && !interrupted) complain(o, "the speed of this machine could not be measured");
    return heard > 0;
}
