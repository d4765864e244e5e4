/* Reports the progress of a search, and writes the schedules that it found to SPEC.tuned.yaml. */
#include "tuning.h"
#include "../../runtime/attnrt.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- progress ---- */

double tuning_spent(const struct tuning *t)
{
    return attn_seconds() - t->started;
}

static const double SECONDS_OF_A_LINE = 5;

void tuning_clear_line(const struct tuning *t)
{
    if (t->live) fputs("\r\033[K", stderr);
}

void tuning_progress(struct tuning *t, bool better)
{
    /* Without a terminal there is a line for each schedule that is better, and every few seconds. */
    if (t->o->console.quiet || (!t->live && !better && tuning_spent(t) < t->told + SECONDS_OF_A_LINE)) return;
    t->told = tuning_spent(t);
    struct text line = {0}, point = {0};
    shape_text(&t->request.shape[t->shape], &line);
    if (t->best.ratio < 1) point_text(&t->space, &t->best_point, &point);
    tuning_clear_line(t);
    fprintf(stderr,
            t->live ? "[%d/%d] %s: trial %d%s, best %.3f%s%s, %.0f s left"
                    : "attnc: %d/%d: %s: trial %d%s, best %.3f%s%s, %.0f s left\n",
            t->shape + 1, t->request.shapes, line.data, t->trials,
            t->failures ? arena_printf(t->arena, " (%d failed)", t->failures) : "",
            t->best.ratio < 1 ? 1 / t->best.ratio : 1.0, point.length ? " times as fast with " : "",
            point.length ? point.data : "", fmax(0, t->request.time - tuning_spent(t)));
    fflush(stderr);
    text_free(&line);
    text_free(&point);
}

/* ---- writing SPEC.tuned.yaml ---- */

/* Returns the trial whose schedule is written, or NULL. An interrupted search can have a best trial of few samples. */
static const struct tune_trial *confirmed_best(const struct tune_run *run)
{
    const struct tune_trial *const best = run_best(run);
    return best && best->result.samples >= CONFIRMED ? best : NULL;
}

static void describe(const struct tune_shape *shape, const struct tune_space *space, const struct tune_trial *best,
                     struct text *out)
{
    shape_text(shape, out);
    text_add(out, ": ");
    if (!best) {
        text_add(out, "nothing is faster than the default schedule, beyond noise");
        return;
    }
    struct tune_gain gain = tune_gain(&best->result);
    text_add(out, "%.3f times as fast (%.3f to %.3f) with ", 1 / gain.ratio, 1 / gain.high, 1 / gain.low);
    point_text(space, &best->point, out);
}

void tuning_tell(const struct tuning *t, const struct tune_run *run)
{
    struct text line = {0};
    int measured = 0, shared = 0;
    if (t->o->json && strcmp(t->o->json, "-") == 0) return;
    for (int k = 0; k < run->trials; k++) {
        measured += run->trial[k].result.status == TUNE_MEASURED;
        shared += run->trial[k].same_as != 0;
    }
    if (measured)
        describe(&run->experiment.shape, &run->experiment.space, confirmed_best(run), &line);
    else {
        shape_text(&run->experiment.shape, &line);
        text_add(&line, ": nothing was measured");
    }
    printf("%s; %d measured", line.data, measured);
    if (shared) printf(" (%d with the same C as another)", shared);
    printf(", %d failed\n", t->failures);
    if (t->infinite) printf("! the result of the random arrays is not finite, so other arrays may take another time\n");
    fflush(stdout);
    text_free(&line);
}

/* Keeps the old comment lines about the other direction. These lines are about forward if this search is of
   backward, and about backward otherwise. Lines about backward contain " backward: ". */
static void keep_comments(bool backward, const char *has, struct text *says)
{
    for (const char *line = has; line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const int n = (int)strcspn(line, "\n");
        const char *mark = strstr(line, " backward: ");
        if ((mark && mark < line + n) != backward) text_add(says, "\n%.*s", n, line);
    }
}

/* Makes the entry of SPEC.tuned.yaml for one length. If several shapes have this length, the shape with the largest
   batch * heads decides. Returns false if the old entry should stay. */
static bool entry_of(const struct tuning *t, const struct outcome *outcome, int count, struct tuned_entry *entry)
{
    const struct outcome *max = NULL;
    struct text says = {0};
    for (int k = 0; k < count; k++) {
        const struct tune_shape *shape = &outcome[k].run.experiment.shape;
        if (!outcome[k].measured) continue;
        if (!max || shape->batch * shape->heads > max->run.experiment.shape.batch * max->run.experiment.shape.heads)
            max = &outcome[k];
        if (says.length) text_add(&says, "\n");
        describe(shape, &outcome[k].run.experiment.space, confirmed_best(&outcome[k].run), &says);
    }
    const struct tune_trial *best = max ? confirmed_best(&max->run) : NULL;
    const struct tuned_entry *has = max ? tuned_in_force(&t->file_has, max->run.experiment.shape.length) : NULL;
    const bool own = has && tuned_length(has) == max->run.experiment.shape.length,
               keep = max && !max->compared && (own || !best);
    if (keep && !trial_interrupted())
        mention(t->o, "note",
                "%s keeps its schedule for n=%lld, because that schedule could not be compared with the results",
                t->file_has.path, (long long)max->run.experiment.shape.length);
    if (max && !keep) {
        const struct tune_space *space = &max->run.experiment.space;
        const struct tune_point by_default = point_default(space);
        const bool backward = max->run.experiment.shape.backward;
        if (own) keep_comments(backward, has->says, &says);
        *entry = tuned_entry(space, best ? &best->point : &by_default, 1, arena_copy(t->arena, says.data));
        tuned_join(entry, backward, has);
        entry->length = max->run.experiment.shape.length;
    }
    text_free(&says);
    return max && !keep;
}

enum status tuning_write(struct tuning *t, const struct outcome *outcome, int count)
{
    struct tuned_entry found[MAX_SCHEDULES], all[MAX_SCHEDULES];
    int entries = 0;
    bool measured = false;
    for (int k = 0, next; k < count; k = next) {
        for (next = k;
             next < count && outcome[next].run.experiment.shape.length == outcome[k].run.experiment.shape.length;
             next++)
            measured |= outcome[next].measured;
        if (entries < MAX_SCHEDULES) entries += entry_of(t, outcome + k, next - k, &found[entries]);
    }
    const char *path = t->file_has.path;
    if (!measured)
        mention(t->o, "", "nothing was measured: %s %s", path, t->file_has.there ? "is unchanged" : "is not written");
    if (entries == 0) return STATUS_DONE;
    entries = tuned_merge(&t->file_has, found, entries, all);
    const char *own = arena_printf(t->arena, "Searched by attnc %s on %s, %s.", ATTNC_VERSION, t->experiment.machine,
                                   t->experiment.compiler);
    const char *says = tuned_header(t->arena, &t->file_has, all, entries, own),
               *base = t->file_has.base ? t->file_has.base : t->text.data;
    struct text out = {0};
    enum status status = STATUS_MACHINE;
    if (!tuned_text(base, strlen(base), says, all, entries, &out))
        complain(t->o, "%s: the schedule cannot be inserted in this file", t->file);
    else if (t->file_has.other_spec && rename(path, arena_printf(t->arena, "%s~", path)) != 0)
        complain(t->o, "cannot rename %s to %s~: %s", path, path, strerror(errno));
    else
        status = write_whole(t->o, path, out.data, out.length);
    if (status == STATUS_DONE) mention(t->o, "", "wrote %s", path);
    text_free(&out);
    return status;
}

/* ---- a machine that is not idle ---- */

/* If times or peaks differ by more than this factor, the user is warned. Medians do not correct such differences. */
static const double UNSTEADY = 1.1;

void tuning_say_unsteady(const struct tuning *t, const struct tune_run *run)
{
    struct tune_spread spread = run_spread(run);
    struct text shape = {0};
    if (!(spread.high > UNSTEADY * spread.low)) return;
    shape_text(&run->experiment.shape, &shape);
    mention(t->o, "warning",
            "%s: a call with the default schedule took %.3g to %.3g ms (the middle half of %d samples); other programs "
            "may be running",
            shape.data, 1e3 * spread.low, 1e3 * spread.high, spread.samples);
    text_free(&shape);
}

void tuning_say_peak_moved(struct tuning *t)
{
    struct machine_speed now;
    if (t->o->console.quiet || trial_interrupted() ||
        !trial_machine(t->o, t->unit->spec->dtype, t->speed.threads, false, &now))
        return;
    if (fmax(now.peak, t->speed.peak) > UNSTEADY * fmin(now.peak, t->speed.peak))
        mention(t->o, "warning",
                "the peak of this machine was %.1f GFLOP/s before the search and is %.1f now: its clock changes, or "
                "other programs are running",
                t->speed.peak / 1e9, now.peak / 1e9);
}
