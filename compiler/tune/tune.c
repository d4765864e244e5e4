/* attnc tune: searches the schedules of a spec, and writes the best ones to SPEC.tuned.yaml.
   - A point is one schedule. A trial measures one point.
   - The leader is the fastest point so far. It is measured again, because its samples may have been lucky. */
#include "tuning.h"
#include "search.h"
#include "tune.h"
#include "../variant/variant.h"
#include "../../runtime/attnrt.h"

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
    if (trial_interrupted() || tuning_spent(t) > t->until) return INFINITY; /* the search ends anyway */
    const int64_t number = point_number(&t->space, &base);
    double cycles = number < t->expected_size ? t->expected[number] : 0;
    if (cycles == 0) cycles = compute_expected(t, &base);
    if (number < t->expected_size) t->expected[number] = cycles;
    return cycles * point_loads(t->target, &t->space, point);
}

/* ---- trials ---- */

/* Each returns the index of a trial, or -1: the trial of the point, and a trial that measured C code with this hash. */
static int trial_at(const struct tune_run *run, const struct tune_point *point)
{
    const struct tune_space *space = &run->experiment.space;
    int k = run->trials - 1;
    while (k >= 0 && point_number(space, &run->trial[k].point) != point_number(space, point)) k--;
    return k;
}

static int trial_of_code(const struct tune_run *run, const char *code)
{
    int k = run->trials - 1;
    while (k >= 0 && (run->trial[k].same_as || strcmp(run->trial[k].result.code, code) != 0)) k--;
    return k;
}

static bool known_code(void *user, const char *code)
{
    return trial_of_code(user, code) >= 0;
}

/* Sets the result of trial `k`, and of the trials that share it. Returns k. */
static int keep(struct tune_run *run, int k, const struct tune_result *result)
{
    run->trial[k].result = *result;
    for (int j = 0; j < run->trials; j++)
        if (run->trial[j].same_as == k + 1) run->trial[j].result = *result;
    return k;
}

static int add_trial(struct tuning *t, const struct tune_point *point, int same_as, const struct tune_result *result)
{
    *tune_trial_add(&t->run, t->arena) = (struct tune_trial){.point = *point, .same_as = same_as, .result = *result};
    return t->run.trials - 1;
}

/* Appends the samples of `before` to the result. */
static void join(struct arena *arena, struct tune_result *result, const struct tune_result *before)
{
    if (result->status != TUNE_MEASURED || before->samples == 0) return;
    struct tune_sample *all = arena_alloc(arena, (size_t)(result->samples + before->samples) * sizeof *all);
    if (result->samples) memcpy(all, result->sample, (size_t)result->samples * sizeof *all);
    memcpy(all + result->samples, before->sample, (size_t)before->samples * sizeof *all);
    result->sample = all;
    result->samples += before->samples;
}

/* Sets the work and the bytes of a call, and the speed of the machine. */
static void add_work(const struct tuning *t, struct tune_result *result)
{
    const struct tune_shape *shape = &t->request.shape[t->shape];
    const struct problem_size size = {shape->batch, shape->kv_heads, shape->heads / shape->kv_heads, shape->length,
                                      shape->length};
    struct counts counts;
    struct roofline roofline;
    const struct target *const target = unit_target_here(t->unit);
    const struct call_parts parts = shape->backward ? unit_gradients(t->unit, target, shape->length, true)
                                                    : unit_forward(t->unit, target, &size, false);
    count_parts(&parts, &size, t->request.document, shape->threads, machine_cache(), &counts, &roofline);
    result->work = counts.flops;
    result->bytes = counts.bytes;
    result->peak = t->speed.peak;
    result->bandwidth = t->speed.bandwidth;
}

/* Measures the point and keeps the result. If `joined` is true, the new samples are added to those that the point has.
   Otherwise they replace these. If another point has equal C code, both share a result. Returns the index of the trial,
   or -1 after an interruption. */
static int measure(struct tuning *t, const struct tune_point *point, int samples, bool joined)
{
    struct tune_run *run = &t->run;
    int k = trial_at(run, point);
    if (k >= 0 && run->trial[k].same_as) k = run->trial[k].same_as - 1;
    const int has = k >= 0 && joined ? run->trial[k].result.samples : 0;
    const struct trial_request request = {t->o,
                                          t->file,
                                          &t->space,
                                          point,
                                          t->in_force,
                                          &t->request.shape[t->shape],
                                          t->request.seed,
                                          t->request.document,
                                          samples - has,
                                          t->request.limit,
                                          k < 0 ? known_code : NULL,
                                          run};
    struct tune_result result;
    const enum trial_end end = trial_run(&request, t->arena, &result);
    t->infinite |= result.infinite;
    if (end == TRIAL_INTERRUPTED) return -1;
    if (end == TRIAL_KNOWN) {
        int same = trial_of_code(run, result.code);
        if (!trial_enough(&run->trial[same].result, samples)) same = measure(t, &run->trial[same].point, samples, true);
        return same < 0 ? -1 : add_trial(t, point, same + 1, &run->trial[same].result);
    }
    if (has) join(t->arena, &result, &run->trial[k].result);
    add_work(t, &result);
    return k < 0 ? add_trial(t, point, 0, &result) : keep(run, k, &result);
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

/* Gets a result with at least `samples` samples, from the run or by measuring. If the point then leads, measures it
   again with CONFIRMED new samples. Returns the result, or NULL. */
static const struct tune_result *try_point(struct tuning *t, const struct tune_point *point, int samples)
{
    int k = trial_at(&t->run, point);
    if (k < 0 || !trial_enough(&t->run.trial[k].result, samples)) k = measure(t, point, samples, true);
    if (k >= 0 && !confirmed(&t->run.trial[k].result) && leads(t, &t->run.trial[k].result))
        k = measure(t, point, CONFIRMED, false);
    if (k < 0) return NULL;
    note(t, point, &t->run.trial[k].result);
    return &t->run.trial[k].result;
}

/* Measures points until the search has no more, or the time is over. */
static void search(struct tuning *t)
{
    struct search *s = search_open(
        &(struct search_request){&t->space, t->request.seed, t->request.trials, expected, t});
    struct tune_point point;
    int wanted;
    while (!trial_interrupted() && tuning_spent(t) <= t->until && search_next(s, &point, &wanted)) {
        if (wanted < t->request.samples) wanted = (int)t->request.samples;
        const struct tune_result *result = try_point(t, &point, wanted);
        if (result) search_tell(s, &point, result);
    }
    search_close(s);
}

/* Returns the index of the fastest trial if it is faster than the default and not yet confirmed. Otherwise returns -1.
 */
static int leader(const struct tune_run *run)
{
    int found = -1;
    double min = 1;
    for (int k = 0; k < run->trials; k++) {
        const struct tune_result *result = &run->trial[k].result;
        double ratio = tune_gain(result).ratio;
        if (result->status != TUNE_MEASURED || ratio >= min) continue;
        min = ratio;
        found = confirmed(result) ? -1 : k;
    }
    return found;
}

/* Measures the schedule of SPEC.tuned.yaml for this length, to compare it with the best candidate. Returns false if
   there is no result. */
static bool compare(struct tuning *t)
{
    const struct tune_point by_default = point_default(&t->space);
    if (!t->in_force ||
        (t->comparable && point_number(&t->space, &by_default) == point_number(&t->space, &t->in_force_point)))
        return true;
    return t->comparable && !trial_interrupted() && try_point(t, &t->in_force_point, (int)t->request.samples);
}

/* Measures the fastest trial again until the fastest trial is confirmed. New samples may show that another trial is
   faster. */
static void confirm(struct tuning *t)
{
    for (int k = 0; k < LEADERS && !trial_interrupted(); k++) {
        const int first = leader(&t->run);
        if (first < 0) return;
        const struct tune_point point = t->run.trial[first].point;
        measure(t, &point, CONFIRMED, false);
    }
}

/* ---- output ---- */

static enum status write_runs(const struct options *o, const char *file,
                              void (*print)(const struct tune_run *runs, int count, struct text *out),
                              const struct tune_run *runs, int count)
{
    struct text text = {0};
    print(runs, count, &text);
    enum status status = STATUS_MACHINE;
    if (!text.data)
        complain(o, "out of memory");
    else if (strcmp(file, "-") == 0)
        status = table_put(o, &text);
    else
        status = write_whole(o, file, text.data, text.length);
    text_free(&text);
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
    return complain(
        t->o,
        "%s has schedules for other lengths; with the lengths of --shape there would be more than %d: tune fewer "
        "lengths, or remove schedules from the file",
        t->file_has.path, MAX_SCHEDULES);
}

static enum status prepare(struct tuning *t)
{
    if (source_is_graph(t->file))
        return complain_as(t->o, STATUS_INPUT,
                           "%s: tune takes a spec; '--set schedule.tile_q=32' and the like set the knobs of a graph",
                           t->file);
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
    for (t->shape = 0; t->shape < t->request.shapes && !trial_interrupted(); t->shape++) {
        double begin = tuning_spent(t), share = (t->request.time - begin) / (t->request.shapes - t->shape);
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
        t->run = (struct tune_run){.begun = time(NULL), .seed = t->request.seed, .experiment = t->experiment};
        t->until = begin + share * (1 - FOR_LEADERS);
        search(t);
        const bool tried = t->trials > 0, compared = tried && compare(t);
        if (tried) confirm(t);
        tuning_clear_line(t);
        outcome[count++] = (struct outcome){t->run, t->trials > t->failures, compared};
        tuning_tell(t, &t->run);
        tuning_say_unsteady(t, &t->run);
    }
    if (count > 0) {
        tuning_say_peak_moved(t);
        status = tuning_write(t, outcome, count);
    }
    struct tune_run *runs = arena_alloc(t->arena, MAX_SHAPES * sizeof *runs);
    for (int k = 0; k < count; k++) runs[k] = outcome[k].run;
    if (status == STATUS_DONE && t->o->report) status = write_runs(t->o, t->o->report, tune_report, runs, count);
    if (status == STATUS_DONE && t->o->json) status = write_runs(t->o, t->o->json, tune_json, runs, count);
    return status;
}

int command_tune(const struct options *o)
{
    struct arena *arena = arena_new();
    struct tuning *t = calloc(1, sizeof *t);
    enum status status = STATUS_MACHINE;
    if (!t)
        complain(o, "out of memory");
    else if (o->files != 1) {
        status = complain_as(o, STATUS_USAGE,
                             o->files ? "tune takes one spec"
                                      : "tune takes a spec: attnc tune SPEC.yaml; attnc tune --help lists the options");
    } else if (!tune_request_read(o, &t->request))
        status = STATUS_USAGE;
    else {
        t->o = o;
        t->file = o->file[0];
        t->arena = arena;
        t->live = isatty(STDERR_FILENO) && !o->console.quiet;
        trial_guard();
        status = tune(t);
        unit_free(t->unit);
        text_free(&t->text);
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
