/* attnc tune: searches the schedules of a spec for the shapes named, keeps every result, and writes the best of them beside the spec. */
#include "tune.h"

#include "../runtime/attnrt.h"
#include "tune_options.h"
#include "tune_trial.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double FOR_LEADERS = 0.25; /* of a shape's time that is kept for measuring the leaders anew */
enum { CONFIRMED = 21, LEADERS = 8 };   /* samples of a leader, for which what it was chosen by does not count; how many at most */
enum { MOST_EXPECTED = 1 << 20 };       /* points whose expected time is kept */

struct tuning {
    const struct options *o;
    const char *file;
    struct text text; /* of it */
    struct arena *arena;
    struct tune_request request;
    struct product *product;
    struct tune_space space;
    const struct target *target;
    struct store *store;
    struct machine_speed speed;
    struct tune_experiment experiment;
    double started;
    bool live, failed;
    /* the shape at work */
    int shape, trials, failures;
    double until; /* seconds after the start: of its search */
    double *expected; /* by the number of the point; 0: not known yet */
    int64_t expected_size;
    struct tune_gain best;
    struct tune_point best_point;
};

/* ---- progress ---- */

static double spent(const struct tuning *t)
{
    return attn_seconds() - t->started;
}

static void clear_line(const struct tuning *t)
{
    if (t->live) fputs("\r\033[K", stderr);
}

static void shape_text(const struct tune_shape *s, struct text *out)
{
    text_add(out, "n=%lld heads=%lld", (long long)s->length, (long long)s->heads);
    if (s->kv_heads != s->heads) text_add(out, "/%lld", (long long)s->kv_heads);
    if (s->batch != 1) text_add(out, " batch=%lld", (long long)s->batch);
    text_add(out, " threads=%d", s->threads);
}

/* A line that is written over on a terminal; elsewhere a line when something is better than all before. */
static void progress(const struct tuning *t, bool better)
{
    if (t->o->quiet || (!t->live && !better)) return;
    struct text line = {0}, point = {0};
    shape_text(&t->request.shape[t->shape], &line);
    if (t->best.ratio < 1) point_text(&t->space, &t->best_point, &point);
    clear_line(t);
    fprintf(stderr, t->live ? "[%d/%d] %s: trial %d%s, best %.3f%s%s, %.0f s left" : "attnc: %d/%d: %s: trial %d%s, best %.3f%s%s, %.0f s left\n", t->shape + 1,
            t->request.shapes, line.data, t->trials, t->failures ? arena_printf(t->arena, " (%d failed)", t->failures) : "",
            t->best.ratio < 1 ? 1 / t->best.ratio : 1.0, point.length ? " times as fast with " : "", point.length ? point.data : "",
            fmax(0, t->request.time - spent(t)));
    fflush(stderr);
    text_free(&line);
    text_free(&point);
}

/* ---- the cost model ---- */

static double compute_expected(const struct tuning *t, const struct tune_point *point)
{
    struct arena *arena = arena_new();
    struct options with = point_options(arena, t->o, &t->space, point);
    enum status status;
    with.emit = 0;
    with.targets = 1;
    with.target[0] = t->target;
    struct product *p = product_make(t->file, &with, &status);
    double cycles = p ? schedule_cycles(p, t->target, &t->request.shape[t->shape], t->request.document) : INFINITY;
    product_free(p);
    arena_free(arena);
    return cycles;
}

/* Knobs that only the printer of C reads: they change nothing that the model sees but loads, so the spec is compiled for few of the points. */
static bool of_printer(const char *name)
{
    static const char *const names[] = {"rows", "vectors", "unroll", "together"};
    bool found = false;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) found |= strcmp(name, names[n]) == 0;
    return found;
}

static int64_t value_of(const struct tune_space *s, const struct tune_point *point, const char *name, int64_t otherwise)
{
    for (int k = 0; k < s->knobs; k++)
        if (strcmp(s->knob[k].name, name) == 0) return s->knob[k].value[point->at[k]];
    return otherwise;
}

static double expected(void *user, const struct tune_point *point)
{
    struct tuning *t = user;
    struct tune_point base = *point;
    for (int k = 0; k < t->space.knobs; k++)
        if (of_printer(t->space.knob[k].name)) base.at[k] = t->space.knob[k].usual;
    const int64_t number = point_number(&t->space, &base);
    double cycles = number < t->expected_size ? t->expected[number] : 0;
    if (cycles == 0) cycles = compute_expected(t, &base);
    if (number < t->expected_size) t->expected[number] = cycles;
    return cycles * schedule_loads(value_of(&t->space, point, "rows", 6), value_of(&t->space, point, "vectors", 4));
}

static bool stop(void *user)
{
    const struct tuning *t = user;
    return trial_interrupted() != 0 || spent(t) > t->until;
}

/* ---- trials ---- */

/* What the point's samples and those of before are together. */
static bool join(struct tune_result *result, const struct tune_result *before)
{
    if (result->status != TUNE_MEASURED || before->samples == 0) return true;
    struct tune_sample *all = realloc(result->sample, (size_t)(result->samples + before->samples) * sizeof *all);
    if (!all) return false;
    memcpy(all + result->samples, before->sample, (size_t)before->samples * sizeof *all);
    result->sample = all;
    result->samples += before->samples;
    return true;
}

/* Measures the point `samples` times and keeps that, with what was known if `joined`, in place of it if not; false: it was interrupted, or something failed
   and a message was given. */
static bool measure(struct tuning *t, int64_t run, const struct tune_point *point, int samples, const struct tune_trial *known, bool joined,
                    struct tune_result *result)
{
    const struct tune_shape *shape = &t->request.shape[t->shape];
    const struct trial_request request = {t->o, t->file, &t->space, point, shape, t->request.seed, t->request.document, samples, t->request.limit};
    int64_t trial = known ? known->id : 0;
    if (!known && !store_begin(t->store, run, point, &t->space, &trial)) t->failed = true;
    if (t->failed || !trial_run(&request, result)) return false;
    if (joined && known && !join(result, &known->result)) {
        complain(t->o, "out of memory");
        t->failed = true;
        return false;
    }
    const struct problem_size size = {shape->batch, shape->kv_heads, shape->heads / shape->kv_heads, shape->length, shape->length};
    struct counts counts;
    count_work(product_choice(t->product, product_target_here(t->product), shape->length), &size, t->request.document, machine_cache(), &counts);
    result->work = counts.flops;
    result->bytes = counts.bytes;
    result->peak = t->speed.peak;
    result->bandwidth = t->speed.bandwidth;
    if (!store_finish(t->store, trial, result)) t->failed = true;
    return !t->failed;
}

static void note(struct tuning *t, const struct tune_point *point, const struct tune_result *result)
{
    t->trials++;
    t->failures += result->status != TUNE_MEASURED;
    struct tune_gain gain = tune_gain(result);
    bool better = gain.ratio < t->best.ratio;
    if (better) {
        t->best = gain;
        t->best_point = *point;
    }
    progress(t, better);
}

static bool in_shard(const struct tuning *t, const struct tune_point *point)
{
    return point_number(&t->space, point) % t->request.shards == t->request.shard - 1;
}

/* Until the strategy has no more questions, or the time is over. */
static void search(struct tuning *t, int64_t run)
{
    const struct search_request request = {&t->space, t->request.seed, t->request.trials, expected, t, stop};
    struct search *s = search_open(t->request.strategy, &request, t->o);
    struct tune_point point;
    int wanted;
    if (!s) t->failed = true;
    while (!t->failed && !stop(t) && search_next(s, &point, &wanted, &t->failed)) {
        if (t->request.shards > 1 && !in_shard(t, &point)) continue;
        if (wanted < t->request.samples) wanted = (int)t->request.samples;
        struct arena *arena = arena_new();
        const struct tune_trial *known = store_find(t->store, run, t->o->resume, &point, &t->space, arena, &t->failed);
        struct tune_result result = {.sample = NULL};
        if (!t->failed && known && trial_enough(&known->result, wanted)) {
            note(t, &point, &known->result);
            search_tell(s, &point, &known->result);
        } else if (!t->failed && measure(t, run, &point, wanted - (known ? known->result.samples : 0), known, true, &result)) {
            note(t, &point, &result);
            search_tell(s, &point, &result);
        }
        free(result.sample);
        arena_free(arena);
    }
    search_close(s);
}

static const struct tune_run *read_run(struct tuning *t, int64_t id)
{
    const struct tune_run *run = store_run_read(t->store, id, t->o->resume, t->arena);
    if (!run) t->failed = true;
    return run;
}

/* The fastest trial that has not been confirmed and may be the best. */
static const struct tune_trial *leader(const struct tune_run *run)
{
    const struct tune_trial *found = NULL;
    double least = 1;
    for (int k = 0; k < run->trials; k++) {
        const struct tune_trial *trial = &run->trial[k];
        double ratio = tune_gain(&trial->result).ratio;
        if (trial->result.status != TUNE_MEASURED || ratio >= least) continue;
        least = ratio;
        found = trial->result.samples >= CONFIRMED ? NULL : trial;
    }
    return found;
}

/* Of many candidates the luckiest leads: leaders are measured anew, until the first of them has been. */
static void confirm(struct tuning *t, int64_t run)
{
    for (int k = 0; k < LEADERS && !t->failed && !trial_interrupted(); k++) {
        const struct tune_run *stored = read_run(t, run);
        const struct tune_trial *first = stored ? leader(stored) : NULL;
        struct tune_result result = {.sample = NULL};
        if (!first) return;
        measure(t, run, &first->point, CONFIRMED, first, false, &result);
        free(result.sample);
    }
}

/* ---- what comes out ---- */

static void describe(const struct tune_shape *shape, const struct tune_space *space, const struct tune_trial *best, struct text *out)
{
    shape_text(shape, out);
    text_add(out, ": ");
    if (!best) {
        text_add(out, "nothing is faster than the usual schedule, beyond noise");
        return;
    }
    struct tune_gain gain = tune_gain(&best->result);
    text_add(out, "%.3f times as fast (%.3f to %.3f) with ", 1 / gain.ratio, 1 / gain.high, 1 / gain.low);
    point_text(space, &best->point, out);
}

static void tell(const struct tuning *t, const struct tune_run *run)
{
    struct text line = {0};
    describe(&run->experiment.shape, &run->experiment.space, run_best(run), &line);
    int measured = 0;
    for (int k = 0; k < run->trials; k++) measured += run->trial[k].result.status == TUNE_MEASURED;
    printf("%s; %d measured, %d failed\n", line.data, measured, t->failures);
    fflush(stdout);
    text_free(&line);
}

/* SPEC.tuned.yaml: for every length the schedule of the shape with most work, from halfway (by quotients) between it and the length before. */
static enum status write_tuned(struct tuning *t, const struct tune_run *runs, int count)
{
    struct tuned_entry entry[MOST_SCHEDULES];
    int entries = 0;
    for (int k = 0, next; k < count; k = next) {
        const struct tune_run *run = &runs[k];
        struct text says = {0};
        for (next = k; next < count && runs[next].experiment.shape.length == runs[k].experiment.shape.length; next++) {
            const struct tune_shape *shape = &runs[next].experiment.shape;
            if (shape->batch * shape->heads > run->experiment.shape.batch * run->experiment.shape.heads) run = &runs[next];
            if (next > k) text_add(&says, "\n");
            describe(shape, &runs[next].experiment.space, run_best(&runs[next]), &says);
        }
        const struct tune_trial *best = run_best(run);
        const struct tune_space *space = &run->experiment.space;
        struct tune_point usual = point_usual(space);
        double length = (double)run->experiment.shape.length, before = k ? (double)runs[k - 1].experiment.shape.length : 0;
        if (entries < MOST_SCHEDULES)
            entry[entries++] = tuned_entry(space, best ? &best->point : &usual, k ? (int64_t)ceil(sqrt(length * before)) : 1, arena_copy(t->arena, says.data));
        text_free(&says);
    }
    const char *from = arena_printf(t->arena, "Searched by attnc %s on %s, %s.", ATTNC_VERSION, t->experiment.machine, t->experiment.compiler);
    const char *path = tuned_path(t->arena, t->file);
    struct text out = {0};
    enum status status = STATUS_MACHINE;
    if (tuned_text(t->text.data, t->text.length, from, entry, entries, &out))
        status = write_whole(t->o, path, out.data, out.length);
    else
        complain(t->o, "%s: there is no place for a schedule in it", t->file);
    if (status == STATUS_DONE && !t->o->quiet) fprintf(stderr, "attnc: wrote %s\n", path);
    text_free(&out);
    return status;
}

static enum status write_report(const struct options *o, const struct tune_run *runs, int count)
{
    struct text page = {0};
    tune_report(runs, count, &page);
    enum status status = STATUS_MACHINE;
    if (page.data)
        status = write_whole(o, o->report, page.data, page.length);
    else
        complain(o, "out of memory");
    text_free(&page);
    return status;
}

/* ---- the commands ---- */

static enum status prepare(struct tuning *t)
{
    enum status status = read_spec_file(t->file, t->o, &t->text);
    if (status != STATUS_DONE) return status;
    t->product = product_make(t->file, t->o, &status);
    if (!t->product) return status;
    for (int k = 0; k < t->o->targets && !t->target; k++)
        if (target_runs(t->o->target[k])) t->target = t->o->target[k];
    if (!t->target) {
        complain(t->o, "this machine runs none of the targets; attnc tune without --target takes those that it can");
        return STATUS_INPUT;
    }
    t->store = store_open(t->request.database, false, t->o, &status);
    if (!t->store) return status;
    int threads = t->request.shape[0].threads;
    if (!trial_machine(t->o, t->product->spec->dtype, threads, &t->speed)) return STATUS_MACHINE;
    for (int k = 0; k < t->request.shapes; k++)
        if (t->request.shape[k].threads == 0) t->request.shape[k].threads = t->speed.threads;
    const char *compiler = compiler_version(t->arena, t->o);
    if (!compiler) return STATUS_MACHINE;
    t->experiment = (struct tune_experiment){.spec_name = t->product->spec->name,
                                             .spec_hash = product_meaning_hash(t->product),
                                             .spec_text = t->text.data,
                                             .machine = machine_text(t->arena),
                                             .compiler = compiler,
                                             .attnc = ATTNC_VERSION,
                                             .target = t->target->name};
    return STATUS_DONE;
}

static enum status tune(struct tuning *t)
{
    enum status status = prepare(t);
    struct tune_run *runs = arena_alloc(t->arena, MOST_SHAPES * sizeof *runs);
    int count = 0;
    if (status != STATUS_DONE) return status;
    t->started = attn_seconds();
    for (t->shape = 0; t->shape < t->request.shapes && !t->failed && !trial_interrupted(); t->shape++) {
        double begin = spent(t), share = (t->request.time - begin) / (t->request.shapes - t->shape);
        int64_t run;
        t->trials = t->failures = 0;
        t->best = (struct tune_gain){INFINITY, INFINITY, INFINITY};
        t->experiment.shape = t->request.shape[t->shape];
        knob_space(t->product, t->experiment.shape.length, &t->space);
        if (!tune_knobs(t->o, &t->space)) return STATUS_USAGE;
        t->experiment.space = t->space;
        t->expected_size = space_points(&t->space) < MOST_EXPECTED ? space_points(&t->space) : MOST_EXPECTED;
        t->expected = arena_alloc(t->arena, (size_t)t->expected_size * sizeof *t->expected);
        if (!store_run(t->store, &t->experiment, t->request.strategy, t->request.seed, t->o->resume, &run)) return STATUS_MACHINE;
        t->until = begin + share * (1 - FOR_LEADERS);
        search(t, run);
        if (!t->failed) confirm(t, run);
        clear_line(t);
        const struct tune_run *stored = t->failed ? NULL : read_run(t, run);
        if (!stored) break;
        runs[count++] = *stored;
        tell(t, stored);
    }
    if (t->failed) return STATUS_MACHINE;
    if (count > 0) status = write_tuned(t, runs, count);
    if (status == STATUS_DONE && t->o->report) status = write_report(t->o, runs, count);
    return status;
}

/* What is in the database. */
static enum status consult(const struct options *o, const struct tune_request *request, struct arena *arena)
{
    enum status status;
    struct store *store = store_open(request->database, o->merge == NULL, o, &status);
    if (!store) return status;
    status = STATUS_DONE;
    if (o->merge && !store_merge(store, o->merge)) status = STATUS_MACHINE;
    struct tune_run *runs = NULL;
    int count = status == STATUS_DONE ? store_runs(store, o->files ? o->file[0] : NULL, arena, &runs) : 0;
    if (count < 0) status = STATUS_MACHINE;
    if (status == STATUS_DONE && o->export) status = tune_export(o, o->export, runs, count);
    if (status == STATUS_DONE && o->query) status = tune_query(o, runs, count);
    if (status == STATUS_DONE && o->report) status = write_report(o, runs, count);
    store_close(store);
    return status;
}

int command_tune(const struct options *o)
{
    struct arena *arena = arena_new();
    struct tuning *t = calloc(1, sizeof *t);
    enum status status = STATUS_MACHINE;
    const bool consults = o->merge || o->query || o->export || (o->report && o->files == 0);
    if (!t)
        complain(o, "out of memory");
    else if (o->files != 1 && !(consults && o->files == 0)) {
        complain(o, o->files ? "tune takes one spec" : "tune takes a spec: attnc tune SPEC.yaml; attnc tune --help says what else");
        status = STATUS_USAGE;
    } else if (o->export && strcmp(o->export, "csv") != 0 && strcmp(o->export, "json") != 0) {
        complain(o, "--export takes csv or json, not '%s'", o->export);
        status = STATUS_USAGE;
    } else if (tune_request_read(o, arena, &t->request, &status)) {
        t->o = o;
        t->file = o->files ? o->file[0] : NULL;
        t->arena = arena;
        t->live = isatty(STDERR_FILENO) && !o->quiet;
        if (consults)
            status = consult(o, &t->request, arena);
        else {
            trial_guard();
            status = tune(t);
            store_close(t->store);
            product_free(t->product);
            text_free(&t->text);
        }
    }
    free(t);
    arena_free(arena);
    if (trial_interrupted()) { /* what was found is written: the program ends as if nobody had listened */
        signal(trial_interrupted(), SIG_DFL);
        raise(trial_interrupted());
    }
    if (status == STATUS_DONE && (fflush(stdout) != 0 || ferror(stdout))) {
        complain(o, "cannot write to standard output: %s", strerror(errno));
        status = STATUS_MACHINE;
    }
    return (int)status;
}
