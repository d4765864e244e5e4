/* attnc bench: measures kernels at several points (request.h).
   - At each point, short runs of all entries alternate, so a disturbance affects all of them.
   - After each point, the machine's peak is measured. */
#include "bench.h"
#include "request.h"
#include "../cost/cost.h"
#include "../driver/driver.h"
#include "../host/host.h"
#include "../schedule/schedule.h"
#include "../support/support.h"
#include "../target/target.h"
#include "../../runtime/attnrt.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_RUNS = 2000 };
static const double RUN_SECONDS = 0.01; /* the minimum duration of a run. A run is one or more calls */
static const double FREE_SHARE = 0.9;   /* the fraction of free memory that may be used */

/* An entry that is ready to be called at the current point. */
struct prepared {
    struct call call;
    double *seconds; /* the time of each timed call */
    double spent;    /* the sum of `seconds`, without the first call */
    int error;
};

struct arrays_of_types {
    enum attn_dtype dtype[ROLE_OUT]; /* of q, k and v */
    bool used;
    struct call_arrays of_call;
};

struct running {
    struct bench *b;
    struct arena *arena;
    struct loaded_kernel loaded[MAX_ENTRIES];   /* backward uses the loaded kernel of forward */
    struct arrays_of_types arrays[MAX_ENTRIES]; /* shared by all specs with arrays of equal types */
    struct prepared prepared[MAX_ENTRIES];
    pthread_mutex_t lock; /* protects the results, which the watcher may print at any time */
    pthread_t watcher;
    sigset_t signals, mask;
    bool watched, live;
    enum status status;
};

/* ---- progress, on standard error ---- */

static void clear_line(const struct running *r)
{
    if (r->live) fputs("\r\033[K", stderr);
}

static void say_point(const struct running *r, int point, const char *what)
{
    const struct bench *b = r->b;
    const struct bench_point *p = &b->point[point];
    if (b->o->console.quiet || (!r->live && what)) return;
    clear_line(r);
    fprintf(stderr, r->live ? "[%d/%d] " : "attnc: %d/%d: ", point + 1, b->points);
    fprintf(stderr, "%s %lld, %lld head%s, %d thread%s", b->o->decode ? "position" : "length", (long long)p->length,
            (long long)p->heads.heads, p->heads.heads == 1 ? "" : "s", p->threads, p->threads == 1 ? "" : "s");
    if (what) fprintf(stderr, ": %s", what);
    fputs(r->live ? "" : "\n", stderr);
}

/* ---- signals ---- */

/* The watcher thread. After a signal, it prints the results so far and raises the signal again, which ends the
   program. The main thread may be inside a long call of a kernel. */

static void *watch(void *user)
{
    struct running *r = user;
    int number = 0;
    if (sigwait(&r->signals, &number) != 0) return NULL;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_mutex_lock(&r->lock);
    clear_line(r);
    pthread_sigmask(SIG_UNBLOCK, &r->signals, NULL); /* a second signal ends the program at once */
    r->b->interrupted = true;
    bench_report(r->b);
    raise(number);
    return NULL;
}

static void watch_begin(struct running *r)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    sigemptyset(&r->signals);
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        struct sigaction action;
        if (sigaction(numbers[k], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&r->signals, numbers[k]);
    }
    pthread_mutex_init(&r->lock, NULL);
    /* Threads inherit the signal mask, so only the watcher gets signals. */
    pthread_sigmask(SIG_BLOCK, &r->signals, &r->mask);
    r->watched = pthread_create(&r->watcher, NULL, watch, r) == 0;
    if (!r->watched) pthread_sigmask(SIG_SETMASK, &r->mask, NULL);
}

/* Ends the watcher. Signals have their default effect again. */
static void watch_end(struct running *r)
{
    if (r->watched) {
        pthread_cancel(r->watcher);
        pthread_join(r->watcher, NULL);
        pthread_sigmask(SIG_SETMASK, &r->mask, NULL);
    }
    pthread_mutex_destroy(&r->lock);
}

static void skip(struct running *r, struct bench_result *result, const char *format, ...) IR_PRINTF(3, 4);

static void skip(struct running *r, struct bench_result *result, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&r->lock);
    vsnprintf(result->skipped, sizeof result->skipped, format, arguments);
    pthread_mutex_unlock(&r->lock);
    va_end(arguments);
}

static void release(struct prepared *p)
{
    call_release(&p->call);
    free(p->seconds);
    *p = (struct prepared){0};
}

/* ---- the work of a point ---- */

/* Returns the expected time of a call: the roofline's time, multiplied by a correction. The correction is the
   measured time / the roofline's time, at the last length with the same heads and threads. */
static double expected_seconds(const struct bench *b, int point, int entry)
{
    const struct bench_point *here = &b->point[point];
    double seconds = bench_expected(&here->result[entry]);
    for (int k = point - 1; k >= 0; k--) {
        const struct bench_point *p = &b->point[k];
        const struct bench_result *before = &p->result[entry];
        if (p->threads != here->threads || p->heads.heads != here->heads.heads ||
            p->heads.kv_heads != here->heads.kv_heads || p->heads.key_heads != here->heads.key_heads)
            break;
        if (!before->measured) continue;
        double ratio = before->best / bench_expected(before);
        return seconds *
               (before->best < RUN_SECONDS && ratio > 2 ? 2 : ratio); /* fixed costs raise the ratio of short calls */
    }
    return seconds;
}

/* Sets the machine's rates and peak in a result. With --decode, the bandwidth is for reading only. */
static void set_rates(const struct bench *b, enum dtype dtype, int threads, struct bench_result *result)
{
    struct machine *m = b->machine;
    result->rates = (struct rates){machine_peak(m, dtype, threads, 0),
                                   result->on_units ? machine_unit_peak(m, threads, 0) : 0,
                                   b->o->decode ? machine_reading(m, threads, 0) : machine_bandwidth(m, threads, 0)};
    result->peak = result->on_units ? result->rates.units : result->rates.peak;
    if (b->o->decode) return; /* the output of --decode has no share of the peak */
    result->peak_spread = machine_peak_spread(m, dtype, threads);
    if (result->on_units) result->peak_spread = fmax(result->peak_spread, machine_unit_peak_spread(m, threads));
}

/* Sets the members of the entry's result that need no measurement. */
static void count(const struct bench *b, int point, int entry, const struct call *call)
{
    struct bench_point *at = &b->point[point];
    struct bench_result *result = &at->result[entry];
    const struct unit *unit = b->unit[entry];
    if (b->o->decode) {
        decode_count(b, entry, at, call, result);
        set_rates(b, unit->spec->dtype, at->threads, result);
        return;
    }
    const struct problem_size size = {b->request.batch, at->heads.kv_heads, at->heads.heads / at->heads.kv_heads,
                                      at->length, at->length};
    const struct target *const target = unit_target_here(unit);
    const struct call_parts run = b->backward[entry] ? unit_gradients(unit, target, at->length, true)
                                                     : unit_forward(unit, target, &size, false);
    result->form = run.whole->program.linear ? "linear" : "quadratic";
    count_parts(&run, &size, b->request.document, at->threads, machine_cache(), &result->counts, &result->roofline);
    result->unit = parts_unit(&run, &result->on_units);
    set_rates(b, unit->spec->dtype, at->threads, result);
}

/* Skips the entry and returns true if a call would take longer than --limit. With --decode, the time to build the
   state counts, too. */
static bool too_long(struct running *r, struct bench_result *result, double expected)
{
    const struct bench *b = r->b;
    char text[32];
    if (b->o->decode) {
        double seconds = (double)result->tokens * expected;
        seconds += result->reach / result->peak + 2 * (double)result->state / result->rates.bandwidth;
        if (seconds <= b->request.limit) return false;
        skip(r, result, "to reach the position and append %lld tokens would take about %s, more than --limit",
             (long long)result->tokens, table_seconds(seconds, text, sizeof text));
    } else {
        if (expected <= b->request.limit) return false;
        skip(r, result, "a call would take about %s, more than --limit", table_seconds(expected, text, sizeof text));
    }
    result->best = expected;
    return true;
}

/* Returns the arrays for calls with q, k and v of these types. */
static struct call_arrays *arrays_for(struct running *r, const struct attn_kernel *kernel, enum call_kind kind)
{
    struct arrays_of_types *a = r->arrays;
    enum attn_dtype dtype[ROLE_OUT];
    for (int role = 0; role < ROLE_OUT; role++) dtype[role] = call_array_dtype(kernel, kind, (enum call_role)role);
    while (a->used && memcmp(a->dtype, dtype, sizeof dtype) != 0) a++;
    a->used = true;
    memcpy(a->dtype, dtype, sizeof dtype);
    return &a->of_call;
}

/* Prepares entry `entry` for calls at point `point`. Returns false if the entry is skipped, with the reason in its
   result. */
static bool prepare(struct running *r, int point, int entry)
{
    struct bench *b = r->b;
    struct bench_point *at = &b->point[point];
    struct bench_result *result = &at->result[entry];
    struct prepared *p = &r->prepared[entry];
    const struct unit *unit = b->unit[entry];
    const struct attn_kernel *kernel = r->loaded[entry].kernel;
    const enum call_kind kind = b->backward[entry] ? CALL_BACKWARD : b->o->backward ? CALL_SAVING : CALL_FORWARD;
    *p = (struct prepared){.call = {.kernel = kernel,
                                    .kind = kind,
                                    .arrays = arrays_for(r, kernel, b->o->decode ? CALL_EXTEND : kind),
                                    .range = unit_drawn_range,
                                    .range_of = unit}};
    p->call.problem = (struct attn_problem){.batch = b->request.batch,
                                            .heads = at->heads.heads,
                                            .kv_heads = at->heads.kv_heads,
                                            .key_heads = at->heads.key_heads,
                                            .n_q = at->length,
                                            .n_k = at->length,
                                            .threads = at->threads};
    if (b->o->decode) call_extends(&p->call, at->length, decode_tokens(unit), unit->kernel.read_back < 0);
    result->workspace = call_workspace(&p->call);
    result->saved = p->call.kind == CALL_FORWARD || b->o->decode ? 0 : kernel->saved(&p->call.problem);
    double bytes = call_lacks(&p->call), free_bytes = FREE_SHARE * (double)machine_memory();
    char one[32], two[32];
    if (bytes > free_bytes) {
        skip(r, result, "its %sarrays and workspace take %s, and %s are free", b->o->decode ? "state, " : "",
             table_bytes(bytes, one, sizeof one), table_bytes(free_bytes, two, sizeof two));
        return false;
    }
    count(b, point, entry, &p->call);
    if (too_long(r, result, expected_seconds(b, point, entry))) return false;
    p->seconds = malloc(MAX_RUNS * sizeof *p->seconds);
    p->error = p->seconds ? call_prepare(&p->call, b->request.seed, b->request.document) : ATTN_EMEMORY;
    if (p->error == ATTN_EMEMORY) {
        skip(r, result, "out of memory");
        return false;
    }
    if (!p->error) return true;
    clear_line(r);
    skip(r, result, "%s", attn_strerror(p->error));
    complain(b->o, "%s: %s", p->call.kernel->name, attn_strerror(p->error));
    r->status = STATUS_INPUT;
    return false;
}

/* ---- measuring ---- */

static double call(struct running *r, int entry, struct bench_result *result)
{
    struct prepared *p = &r->prepared[entry];
    p->error = call_rewind(&p->call);
    double start = attn_seconds();
    if (!p->error) p->error = call_run(&p->call);
    double seconds = attn_seconds() - start;
    if (p->error) {
        clear_line(r);
        skip(r, result, "%s", attn_strerror(p->error));
        complain(r->b->o, "%s: %s", p->call.kernel->name, attn_strerror(p->error));
        r->status = STATUS_INPUT;
    }
    return seconds;
}

/* Returns the minimum number of timed calls: 3, or fewer if calls are longer than --time. */
static int min_runs(const struct bench *b, double call_seconds)
{
    return call_seconds <= b->request.time ? 3 : call_seconds <= 4 * b->request.time ? 2 : 1;
}

static void note_runs(struct running *r, int entry, struct bench_result *result, int runs)
{
    double *seconds = r->prepared[entry].seconds;
    const double calls = r->b->o->decode ? (double)result->tokens : 1;
    numbers_sort(seconds, runs);
    pthread_mutex_lock(&r->lock);
    result->runs = runs;
    result->best = seconds[0] / calls;
    result->median = median_of(seconds, runs) / calls;
    result->spread = repeats_spread(seconds, runs);
    result->measured = true;
    pthread_mutex_unlock(&r->lock);
}

/* Calls the entry until `length` seconds have passed. Returns false if the entry needs no more runs. */
static bool run_entry(struct running *r, struct bench_result *result, int entry, double length)
{
    const struct bench *b = r->b;
    struct prepared *p = &r->prepared[entry];
    double spent = 0;
    int runs = result->runs;
    do {
        p->seconds[runs] = call(r, entry, result);
        if (p->error) return false;
        spent += p->seconds[runs++];
    } while (spent < length && runs < MAX_RUNS);
    note_runs(r, entry, result, runs);
    p->spent += spent;
    return runs < MAX_RUNS && (p->spent < b->request.time || runs < min_runs(b, p->seconds[0]));
}

/* Measures the machine's peak and bandwidth again, after a point. If a rate grows, earlier results get the new rate. */
static void measure_machine(struct running *r, int point)
{
    struct bench *b = r->b;
    say_point(r, point, "the machine");
    int threads = b->point[point].threads;
    const bool decodes = b->o->decode;
    bool units = false;
    if (decodes)
        machine_reading(b->machine, threads, RUN_SECONDS);
    else
        machine_bandwidth(b->machine, threads, RUN_SECONDS);
    for (int e = 0; e < b->entries && !decodes; e++) {
        machine_peak(b->machine, b->unit[e]->spec->dtype, threads, RUN_SECONDS);
        units |= b->point[point].result[e].on_units;
    }
    if (units) machine_unit_peak(b->machine, threads, RUN_SECONDS);
    pthread_mutex_lock(&r->lock);
    for (int k = 0; k <= point; k++)
        for (int e = 0; e < b->entries && b->point[k].threads == threads; e++)
            set_rates(b, b->unit[e]->spec->dtype, threads, &b->point[k].result[e]);
    pthread_mutex_unlock(&r->lock);
}

static void measure(struct running *r, int point)
{
    struct bench *b = r->b;
    struct bench_point *at = &b->point[point];
    bool more[MAX_ENTRIES] = {false}, any = true;
    double length = RUN_SECONDS;
    pthread_mutex_lock(&r->lock);
    b->begun = point + 1;
    pthread_mutex_unlock(&r->lock);
    say_point(r, point, NULL);
    for (int e = 0; e < b->entries; e++) {
        if (!prepare(r, point, e)) continue;
        say_point(r, point, r->prepared[e].call.kernel->name);
        /* The first call has cold caches, so its time counts only if there is no second call. */
        double seconds = r->prepared[e].seconds[0] = call(r, e, &at->result[e]);
        at->result[e].infinite = !r->prepared[e].error && !call_is_finite(&r->prepared[e].call);
        more[e] = !r->prepared[e].error && min_runs(b, seconds) > 1;
        if (!r->prepared[e].error && !more[e]) note_runs(r, e, &at->result[e], 1);
        if (seconds > length) length = seconds;
    }
    /* The slowest first call sets the duration of runs. It is at most a third of --time, so that there are three
       runs. */
    if (length > b->request.time / 3) length = b->request.time / 3;
    while (any) {
        any = false;
        for (int e = 0; e < b->entries; e++) {
            if (!more[e]) continue;
            say_point(r, point, r->prepared[e].call.kernel->name);
            more[e] = run_entry(r, &at->result[e], e, length);
            any |= more[e];
        }
    }
    measure_machine(r, point);
    for (int e = 0; e < b->entries; e++) release(&r->prepared[e]);
}

/* ---- the command ---- */

/* Warns if repeated measurements differ too much. Uses standard error, because the user sees it even if output is
   redirected. */
static void warn_shaking(const struct bench *b)
{
    double calls = 0, peak = 0;
    int measured = 0, shaking = 0;
    for (int k = 0; k < b->begun; k++)
        for (int e = 0; e < b->entries; e++) {
            const struct bench_result *r = &b->point[k].result[e];
            if (!r->measured) continue;
            measured++;
            shaking += r->spread > SPREAD_MAX;
            calls = fmax(calls, r->spread);
            peak = fmax(peak, r->peak_spread);
        }
    if (b->o->console.quiet) return;
    if (peak > SPREAD_MAX)
        fprintf(stderr,
                "attnc: warning: measurements of the machine's peak differed by up to %.0f%%: shares of it are not "
                "reliable\n",
                100 * peak);
    if (shaking > 0)
        fprintf(
            stderr,
            "attnc: warning: in %d of %d results, calls differed by more than %.0f%%, up to %.0f%%: this machine is "
            "probably busy\n",
            shaking, measured, 100 * SPREAD_MAX, 100 * calls);
}

static void make_points(struct bench *b, struct arena *arena)
{
    struct bench_request *q = &b->request;
    if (q->thread[0] == 0) q->thread[0] = machine_threads(b->machine);
    b->points = q->heads * q->threads * q->lengths.count;
    b->point = arena_alloc(arena, (size_t)b->points * sizeof *b->point);
    for (int k = 0; k < b->points; k++)
        b->point[k] = (struct bench_point){.length = q->lengths.length[k % q->lengths.count],
                                           .threads = q->thread[k / q->lengths.count % q->threads],
                                           .heads = q->head[k / q->lengths.count / q->threads]};
}

static enum status load_all(struct running *r)
{
    struct bench *b = r->b;
    enum status status = STATUS_DONE;
    for (int k = 0; k < b->o->targets && !b->target; k++)
        if (target_runs(b->o->target[k])) b->target = b->o->target[k];
    if (!b->target)
        return complain_as(
            b->o, STATUS_INPUT,
            "this machine runs none of the targets; without --target, attnc bench takes a target that the "
            "machine runs");
    b->machine = machine_open(r->arena, b->o->console.quiet, &status);
    if (status == STATUS_DONE && !(b->compiler = compiler_version(r->arena, &b->o->console))) status = STATUS_MACHINE;
    for (int e = 0; e < b->entries && status == STATUS_DONE; e++) {
        const struct unit *p = b->unit[e];
        if (b->backward[e]) {
            r->loaded[e] = r->loaded[e - 1];
            continue;
        }
        status = kernel_load(p->spec->name, p->source.data, p->header.data, b->o->console.quiet, &r->loaded[e]);
        b->integers |= assumed_integers(p->graph);
    }
    return status;
}

static enum status run(struct bench *b, struct arena *arena)
{
    struct running running = {.b = b, .arena = arena, .live = isatty(STDERR_FILENO) && !b->o->console.quiet},
                   *r = &running;
    enum status status = load_all(r);
    if (status == STATUS_DONE) {
        make_points(b, arena);
        watch_begin(r);
        for (int k = 0; k < b->points; k++) measure(r, k);
        watch_end(r);
        clear_line(r);
        status = bench_report(b);
        warn_shaking(b);
        if (r->status > status) status = r->status;
    }
    for (int k = 0; k < MAX_ENTRIES; k++) call_arrays_free(&r->arrays[k].of_call);
    for (int e = 0; e < b->entries; e++)
        if (!b->backward[e]) kernel_unload(&r->loaded[e]);
    machine_close(b->machine);
    return status;
}

/* Checks before the measurements that each output file has a different name and can be written, and that plots end
   in .svg. */
static enum status check_files(const struct options *o)
{
    const char *const file[] = {o->json, o->plot}, *const option[] = {"--json", "--plot"};
    const char *base = o->plot ? strrchr(o->plot, '/') : NULL,
               *suffix = o->plot ? strrchr(base ? base : o->plot, '.') : NULL;
    if (suffix && strcasecmp(suffix, ".svg") != 0)
        return complain_as(
            o, STATUS_USAGE,
            "--plot writes SVG, so the file's name must end in .svg, not '%s'; other programs convert SVG, as in "
            "rsvg-convert out.svg -o out%s",
            o->plot, suffix);
    for (int k = 0; k < 2; k++) {
        if (!file[k]) continue;
        for (int other = 0; other < k; other++)
            if (file[other] && strcmp(file[k], file[other]) == 0)
                return complain_as(o, STATUS_USAGE, "%s and %s cannot both go to %s", option[other], option[k],
                                   strcmp(file[k], "-") == 0 ? "standard output" : file[k]);
        if (strcmp(file[k], "-") == 0) continue;
        const char *slash = strrchr(file[k], '/');
        struct text folder = {0};
        struct stat info;
        text_add(&folder, "%.*s", slash ? (int)(slash - file[k]) + 1 : 1, slash ? file[k] : ".");
        int why = access(folder.data, W_OK) != 0                       ? errno
                  : !*file[k]                                          ? ENOENT
                  : stat(file[k], &info) == 0 && S_ISDIR(info.st_mode) ? EISDIR
                                                                       : 0;
        text_free(&folder);
        if (!why) continue;
        return complain_as(o, STATUS_MACHINE, "cannot write %s: %s", file[k], strerror(why));
    }
    return STATUS_DONE;
}

int command_bench(const struct options *o)
{
    struct bench bench = {.o = o}, *b = &bench;
    if (o->files == 0 || o->files > MAX_SPECS)
        return (int)complain_as(o, STATUS_USAGE,
                                o->files ? "bench takes up to %d specs" : "bench takes specs: attnc bench SPEC.yaml...",
                                MAX_SPECS);
    if (!bench_request_read(o, &b->request)) return STATUS_USAGE;
    if (o->decode && o->backward)
        return (int)complain_as(o, STATUS_USAGE, "--backward and --decode cannot be given together");
    enum status worst = check_files(o);
    if (worst != STATUS_DONE) return (int)worst;
    for (int k = 0; k < o->files; k++) {
        enum status status;
        struct unit *p = unit_make(o->file[k], o, &status);
        const int passes = o->backward ? 2 : 1;
        if (p) unit_warn(p, o);
        for (int pass = 0; p && pass < passes; pass++) {
            b->backward[b->entries] = pass > 0;
            b->unit[b->entries++] = p;
        }
        if (status > worst) worst = status;
    }
    struct arena *arena = arena_new();
    if (worst == STATUS_DONE) worst = run(b, arena);
    arena_free(arena);
    for (int e = 0; e < b->entries; e++)
        if (!b->backward[e]) unit_free((struct unit *)b->unit[e]);
    return (int)worst;
}
