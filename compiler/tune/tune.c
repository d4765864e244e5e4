/* attnc tune: searches the schedules of a spec, stores every result, and writes the best ones to SPEC.tuned.yaml.
   - A point is one schedule. A trial measures one point.
   - The leader is the fastest point so far. It is measured again, because its samples may have been lucky. */
#include "report.h"
#include "tune.h"
#include "tuning.h"
#include "../cost/cost.h"
#include "../driver/driver.h"
#include "../host/host.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../variant/variant.h"
#include "../target/target.h"
#include "search/search.h"
#include "store/store.h"
#include "../../runtime/attnrt.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double FOR_LEADERS = 0.25; /* the fraction of the time that is reserved for measuring leaders again */
enum { LEADERS = 8 };                   /* the maximum number of leaders to measure again */
enum { MAX_EXPECTED = 1 << 20 };        /* the cost model's results are kept for this number of points */

/* ---- the cost model ---- */

static double compute_expected(const struct tuning *t, const struct tune_point *point)
{
    struct arena *arena = arena_new();
    const struct tune_shape *shape = &t->request.shape[t->shape];
    struct options with = point_options(arena, t->o, &t->space, point, shape->backward, t->in_force);
    enum status status;
    with.emit = 0;
    with.targets = 1;
    with.target[0] = t->target;
    struct unit *p = unit_make(t->file, &with, &status);
    double cycles = p ? schedule_cycles(p, t->target, shape, t->request.document) : INFINITY;
    unit_free(p);
    arena_free(arena);
    return cycles;
}

/* Returns the predicted time of a point. Compiling the spec for every point would take too long. So points that
   differ only in KNOB_PRINT knobs share one result, because these knobs do not change the loops. point_loads adds
   the effect of these knobs. */
static double expected(void *user, const struct tune_point *point)
{
    struct tuning *t = user;
    struct tune_point base = *point;
    for (int k = 0; k < t->space.knobs; k++)
        if (knob_table[knob_find_row(t->space.knob[k].name)].changes == KNOB_PRINT)
            base.at[k] = t->space.knob[k].default_at;
    const int64_t number = point_number(&t->space, &base);
    double cycles = number < t->expected_size ? t->expected[number] : 0;
    if (cycles == 0) cycles = compute_expected(t, &base);
    if (number < t->expected_size) t->expected[number] = cycles;
    return cycles * point_loads(t->target, &t->space, point);
}

static bool stop(void *user)
{
    const struct tuning *t = user;
    return trial_interrupted() != 0 || tuning_spent(t) > t->until;
}

/* ---- trials ---- */

/* Appends the samples of `before` to the result. Returns false if memory runs out. */
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

/* The argument of known_code. */
struct question {
    struct tuning *t;
    struct arena *arena;
    int64_t run;
    const struct tune_trial *answer;
};

static bool known_code(void *user, const char *code)
{
    struct question *q = user;
    q->answer = store_find_code(q->t->store, q->run, q->t->o->resume, code, &q->t->space, q->arena, &q->t->failed);
    return q->answer || q->t->failed;
}

static bool copy(const struct tune_result *from, struct tune_result *to)
{
    const size_t bytes = (size_t)from->samples * sizeof *from->sample;
    *to = *from;
    to->sample = malloc(bytes + 1);
    if (to->sample && bytes) memcpy(to->sample, from->sample, bytes);
    return to->sample != NULL;
}

static bool out_of_memory(struct tuning *t)
{
    complain(t->o, "out of memory");
    t->failed = true;
    return false;
}

/* Measures the point and stores the result. `known` is an earlier trial of the point, or NULL.
   - If `joined` is true, the new samples are added to the samples of `known`. Otherwise they replace these samples.
   - If another point has equal C code, its result is shared.
   Returns false after an interruption or a message. */
static bool measure(struct tuning *t, int64_t run, const struct tune_point *point, int samples,
                    const struct tune_trial *known, bool joined, struct tune_result *result)
{
    const struct tune_shape *shape = &t->request.shape[t->shape];
    const int more = samples - (known && joined ? known->result.samples : 0);
    struct question question = {.t = t, .arena = arena_new(), .run = run};
    const struct trial_request request = {t->o,
                                          t->file,
                                          &t->space,
                                          point,
                                          t->in_force,
                                          shape,
                                          t->request.seed,
                                          t->request.document,
                                          more,
                                          t->request.limit,
                                          known ? NULL : known_code,
                                          &question};
    int64_t trial = known ? known->same_as ? known->same_as : known->id : 0;
    bool done = false;
    if (!known && !store_begin(t->store, run, point, &t->space, &trial)) t->failed = true;
    const enum trial_end end = t->failed ? TRIAL_INTERRUPTED : trial_run(&request, result);
    t->infinite |= result->infinite;
    if (end == TRIAL_INTERRUPTED) {
        if (!known && !t->failed && !store_interrupt(t->store, trial)) t->failed = true;
    } else if (end == TRIAL_KNOWN) {
        const struct tune_trial *same = question.answer;
        if (t->failed || !store_share(t->store, trial, same->id))
            t->failed = true;
        else if (trial_enough(&same->result, samples))
            done = copy(&same->result, result) || out_of_memory(t);
        else
            done = measure(t, run, point, samples, same, true, result);
    } else if (joined && known && !join(result, &known->result))
        out_of_memory(t);
    else {
        const struct problem_size size = {shape->batch, shape->kv_heads, shape->heads / shape->kv_heads, shape->length,
                                          shape->length};
        struct counts counts;
        struct roofline roofline;
        const struct compilation *forward = unit_choice(t->unit, unit_target_here(t->unit), shape->length);
        const struct call_parts parts = shape->backward
                                            ? unit_gradients(t->unit, unit_target_here(t->unit), shape->length, true)
                                            : (struct call_parts){forward, &forward, 1};
        count_parts(&parts, &size, t->request.document, shape->threads, machine_cache(), &counts, &roofline);
        result->work = counts.flops;
        result->bytes = counts.bytes;
        result->peak = t->speed.peak;
        result->bandwidth = t->speed.bandwidth;
        done = store_finish(t->store, trial, result);
        t->failed |= !done;
    }
    arena_free(question.arena);
    return done;
}

static bool confirmed(const struct tune_result *result)
{
    return result->status == TUNE_MEASURED && result->samples >= CONFIRMED;
}

static bool leads(const struct tuning *t, const struct tune_result *result)
{
    const struct tune_gain gain = tune_gain(result);
    return result->status == TUNE_MEASURED && gain.high < 1 && gain.ratio < t->best.ratio;
}

static void note(struct tuning *t, const struct tune_point *point, const struct tune_result *result)
{
    t->trials++;
    t->failures += result->status != TUNE_MEASURED;
    const bool better = confirmed(result) && leads(t, result);
    if (better) {
        t->best = tune_gain(result);
        t->best_point = *point;
    }
    tuning_progress(t, better);
}

/* Gets a result with at least `samples` samples, from the database or by measuring. If the point then leads,
   measures it again with CONFIRMED new samples. The caller frees result->sample. */
static bool try_point(struct tuning *t, int64_t run, const struct tune_point *point, int samples,
                      struct tune_result *result)
{
    bool done = false;
    for (int round = 0; round < 2 && !t->failed; round++) {
        struct arena *arena = arena_new();
        const struct tune_trial *known = store_find(t->store, run, t->o->resume, point, &t->space, arena, &t->failed);
        free(result->sample);
        result->sample = NULL;
        if (t->failed)
            done = false;
        else if (round == 1)
            done = measure(t, run, point, CONFIRMED, known, false, result);
        else if (known && trial_enough(&known->result, samples))
            done = copy(&known->result, result) || out_of_memory(t);
        else
            done = measure(t, run, point, samples, known, true, result);
        arena_free(arena);
        if (!done || confirmed(result) || !leads(t, result)) break;
    }
    if (done) note(t, point, result);
    return done;
}

static bool in_shard(const struct tuning *t, const struct tune_point *point)
{
    return point_number(&t->space, point) % t->request.shards == t->request.shard - 1;
}

/* Measures the strategy's points until it has no more, or the time is over. */
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
        struct tune_result result = {.sample = NULL};
        if (try_point(t, run, &point, wanted, &result)) search_tell(s, &point, &result);
        free(result.sample);
    }
    search_close(s);
}

static const struct tune_run *read_run(struct tuning *t, int64_t id)
{
    const struct tune_run *run = store_run_read(t->store, id, t->o->resume, t->arena);
    if (!run) t->failed = true;
    return run;
}

/* Returns the fastest trial if it is faster than the default and not yet confirmed. Otherwise returns NULL. */
static const struct tune_trial *leader(const struct tune_run *run)
{
    const struct tune_trial *found = NULL;
    double min = 1;
    for (int k = 0; k < run->trials; k++) {
        const struct tune_trial *trial = &run->trial[k];
        double ratio = tune_gain(&trial->result).ratio;
        if (trial->result.status != TUNE_MEASURED || ratio >= min) continue;
        min = ratio;
        found = trial->result.samples >= CONFIRMED ? NULL : trial;
    }
    return found;
}

/* Measures the schedule of SPEC.tuned.yaml for this length, to compare it with the best candidate. Returns false if
   there is no result. */
static bool compare(struct tuning *t, int64_t run)
{
    const struct tune_point by_default = point_default(&t->space);
    if (!t->in_force ||
        (t->comparable && point_number(&t->space, &by_default) == point_number(&t->space, &t->in_force_point)))
        return true;
    if (!t->comparable || t->failed || trial_interrupted() ||
        (t->request.shards > 1 && !in_shard(t, &t->in_force_point)))
        return false;
    struct tune_result result = {.sample = NULL};
    const bool done = try_point(t, run, &t->in_force_point, (int)t->request.samples, &result);
    free(result.sample);
    return done;
}

/* Measures the fastest trial again until the fastest trial is confirmed. New samples may show that another trial is
   faster. */
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

/* ---- output ---- */

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

static bool room_for_all(const struct tuning *t)
{
    struct tuned_entry found[MAX_SHAPES], all[MAX_SCHEDULES];
    int count = 0;
    for (int k = 0; k < t->request.shapes; k++)
        if (count == 0 || found[count - 1].length != t->request.shape[k].length)
            found[count++] = (struct tuned_entry){.length = t->request.shape[k].length};
    if (tuned_merge(&t->file_has, found, count, all) <= MAX_SCHEDULES) return true;
    complain(t->o,
             "%s has schedules for other lengths; with the lengths of --shape there would be more than %d: tune fewer "
             "lengths, or remove schedules from the file",
             t->file_has.path, MAX_SCHEDULES);
    return false;
}

static enum status prepare(struct tuning *t)
{
    if (source_is_graph(t->file)) {
        complain(t->o, "%s: tune takes a spec; '--set schedule.tile_q=32' and the like set the knobs of a graph",
                 t->file);
        return STATUS_INPUT;
    }
    enum status status = read_spec_file(t->file, t->o, &t->text);
    if (status != STATUS_DONE) return status;
    t->unit = unit_make(t->file, t->o, &status);
    if (!t->unit) return status;
    unit_warn(t->unit, t->o);
    for (int k = 0; k < t->request.shapes; k++)
        if (!unit_allows(t->unit, t->o, t->request.shape[k].length)) return STATUS_USAGE;
    for (int k = 0; k < t->o->targets && !t->target; k++)
        if (target_runs(t->o->target[k])) t->target = t->o->target[k];
    if (!t->target) {
        complain(
            t->o,
            "this machine runs none of the targets; without --target, attnc tune takes a target that the machine runs");
        return STATUS_INPUT;
    }
    if (!tuned_read(t->file, &t->text, t->arena, t->o, &t->file_has, &status)) return status;
    if (t->file_has.other_spec)
        mention(t->o, "warning",
                "%s was tuned for a different version of %s: its schedules are not used; the old file is kept as %s~",
                t->file_has.path, t->file, t->file_has.path);
    if (!room_for_all(t)) return STATUS_INPUT;
    t->store = store_open(t->request.own ? t->request.own : t->request.database, false, t->o, &status);
    if (!t->store) return status;
    if (t->request.own && t->o->resume && access(t->request.database, F_OK) == 0 &&
        !store_merge(t->store, t->request.database))
        return STATUS_MACHINE;
    int threads = t->request.shape[0].threads;
    if (!trial_machine(t->o, t->unit->spec->dtype, threads, true, &t->speed)) return STATUS_MACHINE;
    for (int k = 0; k < t->request.shapes; k++)
        if (t->request.shape[k].threads == 0) t->request.shape[k].threads = t->speed.threads;
    const char *compiler = compiler_version(t->arena, &t->o->console);
    if (!compiler) return STATUS_MACHINE;
    t->experiment = (struct tune_experiment){.spec_name = t->unit->spec->name,
                                             .spec_hash = unit_source_hash(t->unit),
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
    struct outcome *outcome = arena_alloc(t->arena, MAX_SHAPES * sizeof *outcome);
    int count = 0;
    if (status != STATUS_DONE) return status;
    mention(t->o, "", "%s, %s; %.1f GFLOP/s and %.1f GB/s at best on %d thread%s", t->experiment.compiler,
            t->target->name, t->speed.peak / 1e9, t->speed.bandwidth / 1e9, t->speed.threads,
            t->speed.threads == 1 ? "" : "s");
    t->started = attn_seconds();
    for (t->shape = 0; t->shape < t->request.shapes && !t->failed && !trial_interrupted(); t->shape++) {
        double begin = tuning_spent(t), share = (t->request.time - begin) / (t->request.shapes - t->shape);
        int64_t run;
        t->trials = t->failures = 0;
        t->infinite = false;
        t->best = (struct tune_gain){INFINITY, INFINITY, INFINITY};
        t->experiment.shape = t->request.shape[t->shape];
        knob_space(t->unit, t->experiment.shape.backward, t->experiment.shape.length, &t->space);
        if (!tune_knobs(t->o, &t->space)) return STATUS_USAGE;
        t->in_force = tuned_in_force(&t->file_has, t->experiment.shape.length);
        t->comparable = t->in_force &&
                        tuned_point(&t->space, t->experiment.shape.backward, t->in_force, &t->in_force_point);
        t->experiment.space = t->space;
        t->expected_size = space_points(&t->space) < MAX_EXPECTED ? space_points(&t->space) : MAX_EXPECTED;
        t->expected = arena_alloc(t->arena, (size_t)t->expected_size * sizeof *t->expected);
        if (!store_run(t->store, &t->experiment, t->request.strategy, t->request.seed, t->o->resume, &run))
            return STATUS_MACHINE;
        t->until = begin + share * (1 - FOR_LEADERS);
        search(t, run);
        const bool tried = t->trials > 0, compared = tried && compare(t, run);
        if (tried && !t->failed) confirm(t, run);
        tuning_clear_line(t);
        const struct tune_run *stored = t->failed ? NULL : read_run(t, run);
        if (!stored) break;
        outcome[count++] = (struct outcome){*stored, t->trials > t->failures, compared};
        tuning_tell(t, stored);
        tuning_say_unsteady(t, stored);
    }
    if (t->failed) return STATUS_MACHINE;
    if (count > 0) tuning_say_peak_moved(t);
    if (t->request.own)
        status = ranks_join(t, outcome, count);
    else if (count > 0)
        status = tuning_write(t, outcome, count);
    if (status == STATUS_DONE && t->o->report) {
        struct tune_run *runs = arena_alloc(t->arena, (size_t)count * sizeof *runs);
        for (int k = 0; k < count; k++) runs[k] = outcome[k].run;
        status = write_report(t->o, runs, count);
    }
    return status;
}

/* Prints, exports, merges or reports stored runs, without a search. */
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
    if (status == STATUS_DONE && o->report && o->files && count == 0) {
        complain(o, "%s has no run of a spec called '%s'; attnc tune --query lists all runs", request->database,
                 o->file[0]);
        status = STATUS_INPUT;
    }
    if (status == STATUS_DONE && o->export) status = tune_export(o, o->export, runs, count);
    if (status == STATUS_DONE && o->query) status = tune_query(o, runs, count);
    if (status == STATUS_DONE && o->report) status = write_report(o, runs, count);
    store_close(store);
    return status;
}

/* Returns true if the operand is the name of a spec in the database. */
static bool is_name(const char *operand)
{
    const char *dot = strrchr(operand, '.');
    const bool yaml = dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
    return !yaml && !strchr(operand, '/') && access(operand, F_OK) != 0;
}

int command_tune(const struct options *o)
{
    struct arena *arena = arena_new();
    struct tuning *t = calloc(1, sizeof *t);
    enum status status = STATUS_MACHINE;
    const bool consults = o->merge || o->query || o->export || (o->report && (o->files == 0 || is_name(o->file[0])));
    if (!t)
        complain(o, "out of memory");
    else if (o->files != 1 && !(consults && o->files == 0)) {
        complain(o, o->files ? "tune takes one spec"
                             : "tune takes a spec: attnc tune SPEC.yaml; attnc tune --help lists the options");
        status = STATUS_USAGE;
    } else if (o->export && strcmp(o->export, "csv") != 0 && strcmp(o->export, "json") != 0) {
        complain(o, "--export takes csv or json, not '%s'", o->export);
        status = STATUS_USAGE;
    } else if (tune_request_read(o, arena, &t->request, &status)) {
        t->o = o;
        t->file = o->files ? o->file[0] : NULL;
        t->arena = arena;
        t->live = isatty(STDERR_FILENO) && !o->console.quiet;
        if (consults)
            status = consult(o, &t->request, arena);
        else {
            trial_guard();
            status = tune(t);
            store_close(t->store);
            unit_free(t->unit);
            text_free(&t->text);
        }
    }
    free(t);
    arena_free(arena);
    if (trial_interrupted()) { /* the results are written; now end as if the signal had not been caught */
        signal(trial_interrupted(), SIG_DFL);
        raise(trial_interrupted());
    }
    if (status == STATUS_DONE) status = output_finish(o);
    return (int)status;
}
