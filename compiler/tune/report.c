/* Writes the HTML page of attnc tune --report.
   - Without scripts, the page shows a headline and a table of all trials of each run.
   - With scripts, report.js draws charts from the same data, which the page contains as JSON.
   - The page loads no other file. Equal runs give equal bytes. */
#include "report.h"
#include "result.h"
#include "space.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* the contents of report.css and report.js */
extern const char tune_report_style[], tune_report_script[];

/* ---- text from other programs ---- */

static const char *clean(struct arena *arena, const char *text)
{
    struct text out = {0};
    text_plain(&out, text, strlen(text), PLAIN_LINES, "\xef\xbf\xbd");
    const char *made = arena_copy(arena, out.data ? out.data : "");
    text_free(&out);
    return made;
}

static void add_escaped(struct text *out, const char *text)
{
    for (; *text; text++) switch (*text) {
        case '&': text_add(out, "&amp;"); break;
        case '<': text_add(out, "&lt;"); break;
        case '>': text_add(out, "&gt;"); break;
        case '"': text_add(out, "&quot;"); break;
        case '\'': text_add(out, "&#39;"); break;
        default: text_append(out, text, 1);
        }
}

/* ---- facts about a run and its trials ---- */

/* The speed of a trial relative to the default schedule, with a confidence interval from low to high. times = 1 /
   ratio. `known` is false if the trial has no samples. */
struct speed {
    bool known;
    double times, low, high, seconds;
};
/* A run, and the values derived from it that several parts of the page show. */
struct view {
    const struct tune_run *run;
    int number;          /* the number of the run, from 1 */
    struct speed *speed; /* speed[k] is the speed of trial k */
    int measured;        /* the number of trials whose speed is known */
    int by_default;      /* the trial of the default schedule, or -1 */
    /* The result of run_best. NULL if no trial is faster than the default schedule. */
    const struct tune_trial *best;
};
struct page {
    struct text *out;
    struct arena *arena;
    int count;
    struct view *view;
};

static struct speed speed_of(const struct tune_result *r)
{
    const struct tune_gain g = tune_gain(r);
    const bool known = r->status == TUNE_MEASURED && r->samples > 0 && isfinite(g.ratio) && g.ratio > 0 && g.low > 0 &&
                       isfinite(g.high);
    if (!known) return (struct speed){0};
    return (struct speed){
        .known = true, .times = 1 / g.ratio, .low = 1 / g.high, .high = 1 / g.low, .seconds = tune_seconds(r)};
}

static const char *schedule_text(const struct page *p, const struct tune_space *s, const struct tune_point *point)
{
    struct text text = {0};
    point_text(s, point, &text);
    const char *made = clean(p->arena, text.data ? text.data : "");
    text_free(&text);
    return *made ? made : "no knobs";
}

static const char *shape_of(const struct page *p, const struct tune_shape *s)
{
    struct text text = {0};
    shape_text(s, &text);
    const char *made = arena_copy(p->arena, text.data);
    text_free(&text);
    return made;
}

static const char *time_text(const struct page *p, double seconds)
{
    char text[40];
    return arena_copy(p->arena, table_seconds(seconds, text, sizeof text));
}

static const char *date_text(const struct page *p, time_t t)
{
    struct tm tm;
    char text[64];
    if (t == 0 || !gmtime_r(&t, &tm) || strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
        return "not known";
    return arena_copy(p->arena, text);
}

static void look(struct arena *arena, const struct tune_run *run, int number, struct view *v)
{
    const struct tune_space *s = &run->experiment.space;
    const struct tune_point by_default = point_default(s);
    const int64_t number_of_default = point_number(s, &by_default);
    *v = (struct view){.run = run,
                       .number = number,
                       .by_default = -1,
                       .speed = arena_alloc(arena, (size_t)run->trials * sizeof *v->speed)};
    for (int k = 0; k < run->trials; k++) {
        v->speed[k] = speed_of(&run->trial[k].result);
        v->measured += v->speed[k].known;
        if (point_number(s, &run->trial[k].point) == number_of_default) v->by_default = k;
    }
    const struct tune_trial *best = run_best(run);
    if (best && v->speed[best - run->trial].known) v->best = best;
}

static const struct speed *best_speed(const struct view *v)
{
    return v->best ? &v->speed[v->best - v->run->trial] : NULL;
}

/* Returns the run's result as a phrase, such as "1.25 times as fast as the compiler's own choice". Sets *interval to
   the number's confidence interval, such as "1.20 to 1.31", or to "". */
static const char *gain_text(const struct page *p, const struct view *v, const char **interval)
{
    *interval = "";
    if (v->measured == 0) return v->run->trials ? "no trial gave a measurement" : "no trial yet";
    const struct speed *best = best_speed(v);
    if (!best) return "no schedule beat the compiler's own choice";
    *interval = arena_printf(p->arena, "%.2f to %.2f", best->low, best->high);
    return arena_printf(p->arena, "%.2f times as fast as the compiler's own choice", best->times);
}

/* Returns the number of trials, in total and by status, such as "40: 36 measured, 4 wrong". */
static const char *trials_text(const struct page *p, const struct tune_run *run)
{
    struct text text = {0};
    text_add(&text, "%d", run->trials);
    const char *before = ": ";
    for (int s = 0; tune_status_name[s]; s++) {
        int n = 0;
        for (int k = 0; k < run->trials; k++) n += run->trial[k].result.status == (enum tune_status)s;
        if (n == 0) continue;
        text_add(&text, "%s%d %s", before, n, tune_status_name[s]);
        before = ", ";
    }
    const char *made = arena_copy(p->arena, text.data);
    text_free(&text);
    return made;
}

/* ---- the runs as HTML ---- */

static void fact(const struct page *p, const char *name, const char *value)
{
    text_add(p->out, "<div><dt>%s</dt><dd>", name);
    add_escaped(p->out, clean(p->arena, value));
    text_add(p->out, "</dd></div>\n");
}

static void cell(const struct page *p, bool known, double value, const char *text)
{
    if (known)
        text_add(p->out, "<td data-value=\"%.9g\">%s</td>", value, text);
    else
        text_add(p->out, "<td><span class=\"none\">–</span></td>");
}

static void put_trial(const struct page *p, const struct view *v, int k)
{
    const struct tune_run *run = v->run;
    const struct tune_trial *t = &run->trial[k];
    const struct tune_result *r = &t->result;
    const struct tune_space *s = &run->experiment.space;
    const struct speed speed = v->speed[k];
    const char *name = tune_status_name[r->status];
    text_add(
        p->out,
        "<tr id=\"run-%d-trial-%d\" data-trial=\"%d\" class=\"%s\"><th scope=\"row\" data-value=\"%d\">%d</th><td>%s",
        v->number, k + 1, k, name, k + 1, k + 1, name);
    if (t == v->best) text_add(p->out, " <span class=\"tag best\">best</span>");
    if (k == v->by_default) text_add(p->out, " <span class=\"tag\">own choice</span>");
    text_add(p->out, "</td>");
    cell(p, speed.known, speed.times, arena_printf(p->arena, "%.3f", speed.times));
    cell(p, speed.known, speed.low, arena_printf(p->arena, "%.3f to %.3f", speed.low, speed.high));
    cell(p, speed.known, speed.seconds, time_text(p, speed.seconds));
    cell(p, true, r->samples, arena_printf(p->arena, "%d", r->samples));
    for (int j = 0; j < s->knobs; j++) {
        const long long value = s->knob[j].value[t->point.at[j]];
        cell(p, true, (double)value, arena_printf(p->arena, "%lld", value));
    }
    text_add(p->out, "<td class=\"why\">");
    if (r->status != TUNE_MEASURED) add_escaped(p->out, clean(p->arena, r->why));
    if (t->same_as) text_add(p->out, "%sthe same C as trial %d", *r->why ? "; " : "", t->same_as);
    text_add(p->out, "</td></tr>\n");
}

static void put_table(const struct page *p, const struct view *v)
{
    const struct tune_run *run = v->run;
    const struct tune_space *s = &run->experiment.space;
    if (run->trials == 0) return;
    text_add(p->out,
             "<h3 id=\"run-%d-trials\">Trials</h3>\n<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
             "aria-labelledby=\"run-%d-trials\">\n",
             v->number, v->number);
    text_add(p->out, "<table class=\"trials\">\n<thead><tr><th scope=\"col\">trial</th><th scope=\"col\">status</th>"
                     "<th scope=\"col\" data-first=\"descending\">times as fast</th><th scope=\"col\" "
                     "data-first=\"descending\">95%% interval</th>"
                     "<th scope=\"col\">time of a call</th><th scope=\"col\">samples</th>");
    for (int j = 0; j < s->knobs; j++) {
        text_add(p->out, "<th scope=\"col\" data-knob=\"%d\">", j);
        add_escaped(p->out, clean(p->arena, s->knob[j].name));
        text_add(p->out, "</th>");
    }
    text_add(p->out, "<th scope=\"col\">what went wrong</th></tr></thead>\n<tbody>\n");
    for (int k = 0; k < run->trials; k++) put_trial(p, v, k);
    text_add(p->out, "</tbody>\n</table>\n</div>\n");
}

static void put_run(const struct page *p, const struct view *v)
{
    const struct tune_run *run = v->run;
    const struct tune_experiment *e = &run->experiment;
    const struct tune_point by_default = point_default(&e->space);
    const struct tune_trial *best = v->best;
    const char *interval, *gain = gain_text(p, v, &interval), *own = schedule_text(p, &e->space, &by_default);

    text_add(p->out,
             "<section class=\"run\" id=\"run-%d\" tabindex=\"-1\" aria-labelledby=\"run-%d-name\">\n<h2 "
             "id=\"run-%d-name\"><bdi>",
             v->number, v->number, v->number);
    add_escaped(p->out, clean(p->arena, e->spec_name));
    text_add(p->out, "</bdi> <span class=\"shape\">%s</span></h2>\n<p class=\"gain\"><strong>", shape_of(p, &e->shape));
    add_escaped(p->out, gain);
    text_add(p->out, "</strong>");
    if (*interval) text_add(p->out, " (%s)", interval);
    text_add(p->out, "</p>\n");
    text_add(p->out, "<p class=\"schedule\">%s <code>", best ? "Best schedule" : "The compiler's own choice");
    add_escaped(p->out, best ? schedule_text(p, &e->space, &best->point) : own);
    text_add(p->out, "</code>");
    if (best) {
        text_add(p->out, ", the compiler's own choice <code>");
        add_escaped(p->out, own);
        const struct speed *speed = best_speed(v);
        const int samples = best->result.samples;
        text_add(p->out, "</code>.");
        if (samples < 6)
            text_add(p->out, " The interval spans all samples, because there %s only %d.", samples == 1 ? "is" : "are",
                     samples);
        else
            text_add(p->out, " The interval holds the median of %d samples with 95%% confidence.", samples);
        if (speed->low <= 1) text_add(p->out, " The interval contains 1: the gain may be noise.");
    }
    text_add(p->out, "</p>\n<dl class=\"facts\">\n");
    fact(p, "Machine", e->machine);
    fact(p, "Compiler", arena_printf(p->arena, "%s, attnc %s", e->compiler, e->attnc));
    fact(p, "Target", e->target);
    fact(p, "Seed", arena_printf(p->arena, "%llu", (unsigned long long)run->seed));
    const int64_t points = space_points(&e->space);
    fact(p, "Trials", trials_text(p, run));
    fact(p, "Schedules in the space",
         points == INT64_MAX ? "more than 9e18" : arena_printf(p->arena, "%lld", (long long)points));
    fact(p, "Begun", date_text(p, run->begun));
    fact(p, "Spec hash", arena_printf(p->arena, "%.12s", e->spec_hash));
    text_add(p->out, "</dl>\n");
    if (*e->spec_text) {
        text_add(p->out, "<details><summary>The spec</summary><pre>");
        add_escaped(p->out, clean(p->arena, e->spec_text));
        text_add(p->out, "</pre></details>\n");
    }
    put_table(p, v);
    text_add(p->out, "</section>\n");
}

/* Writes a table of all runs with their gains. Each row links to the section of its run. */
static void put_overview(const struct page *p)
{
    text_add(p->out, "<nav class=\"scroll\" aria-label=\"Runs\">\n<table class=\"overview\">\n<thead><tr><th "
                     "scope=\"col\">spec</th><th scope=\"col\">gain (95%% interval)</th>"
                     "<th scope=\"col\">shape</th><th scope=\"col\">trials</th></tr></thead>\n<tbody>\n");
    for (int k = 0; k < p->count; k++) {
        const struct tune_run *run = p->view[k].run;
        const struct speed *best = best_speed(&p->view[k]);
        const char *interval, *gain = gain_text(p, &p->view[k], &interval);
        text_add(p->out, "<tr data-run=\"%d\"><th scope=\"row\"><a href=\"#run-%d\"><bdi>", k, k + 1);
        add_escaped(p->out, clean(p->arena, run->experiment.spec_name));
        text_add(p->out, "</bdi></a></th><td>");
        add_escaped(p->out, best ? arena_printf(p->arena, "%.2f times as fast (%s)", best->times, interval) : gain);
        text_add(p->out, "</td><td>%s</td><td>%d</td></tr>\n", shape_of(p, &run->experiment.shape), run->trials);
    }
    text_add(p->out, "</tbody>\n</table>\n</nav>\n");
}

/* ---- the runs as JSON ---- */

static json_t *number(bool known, double value)
{
    return known && isfinite(value) ? json_real(value) : json_null();
}

static json_t *trial_data(const struct page *p, const struct view *v, int k)
{
    const struct tune_trial *t = &v->run->trial[k];
    const struct tune_result *r = &t->result;
    const struct tune_space *s = &v->run->experiment.space;
    const struct speed speed = v->speed[k];
    json_t *at = json_array();
    for (int j = 0; j < s->knobs; j++) json_array_append_new(at, json_integer(t->point.at[j]));
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:s, s:i, s:o, s:o, s:b}", "status", tune_status_name[r->status],
                     "why", r->status == TUNE_MEASURED ? "" : clean(p->arena, r->why), "at", at, "times",
                     number(speed.known, speed.times), "low", number(speed.known, speed.low), "high",
                     number(speed.known, speed.high), "took", speed.known ? time_text(p, speed.seconds) : "", "samples",
                     r->samples, "flops", number(speed.known && r->work > 0, r->work / speed.seconds), "intensity",
                     number(speed.known && r->work > 0 && r->bytes > 0, r->work / r->bytes), "usual",
                     (int)(k == v->by_default));
}

static json_t *run_data(const struct page *p, const struct view *v)
{
    const struct tune_run *run = v->run;
    double peak = 0, bandwidth = 0;
    json_t *trials = json_array();
    for (int k = 0; k < run->trials; k++) {
        peak = fmax(peak, run->trial[k].result.peak);
        bandwidth = fmax(bandwidth, run->trial[k].result.bandwidth);
        json_array_append_new(trials, trial_data(p, v, k));
    }
    const char *title = arena_printf(p->arena, "%s, %s", clean(p->arena, run->experiment.spec_name),
                                     shape_of(p, &run->experiment.shape));
    return json_pack("{s:s, s:o, s:o, s:i, s:o, s:o}", "title", title, "peak", number(peak > 0, peak), "bandwidth",
                     number(bandwidth > 0, bandwidth), "best", v->best ? (int)(v->best - run->trial) : -1, "knobs",
                     space_json(&run->experiment.space), "trials", trials);
}

/* Writes the runs as JSON in a script element. Escapes `<`, because "</script>" in the name of a spec would end the
   element. */
static bool put_data(const struct page *p)
{
    json_t *list = json_array();
    bool whole = list != NULL;
    for (int k = 0; k < p->count && whole; k++) whole = json_array_append_new(list, run_data(p, &p->view[k])) == 0;
    char *data = whole ? json_dumps(list, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(list);
    if (!data) return false;
    text_add(p->out, "<script type=\"application/json\" id=\"runs\">");
    for (const char *c = data; *c; c++) {
        if (*c == '<')
            text_add(p->out, "\\u003c");
        else
            text_append(p->out, c, 1);
    }
    text_add(p->out, "</script>\n");
    free(data);
    return true;
}

void tune_report(const struct tune_run *runs, int count, struct text *out)
{
    struct page p = {.out = out, .arena = arena_new(), .count = count};
    p.view = arena_alloc(p.arena, (size_t)count * sizeof *p.view);
    for (int k = 0; k < count; k++) look(p.arena, &runs[k], k + 1, &p.view[k]);
    text_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src "
                  "'unsafe-inline'; script-src 'unsafe-inline'\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" "
                  "href=\"data:,\">\n"
                  "<title>Schedules measured by attnc tune</title>\n<style>\n");
    text_add(out,
             "%s</style>\n</head>\n<body>\n<header>\n<h1>Schedules measured by attnc tune</h1>\n</header>\n<main>\n",
             tune_report_style);
    if (count == 0) text_add(out, "<p class=\"gain\">There is no run to show.</p>\n");
    if (count > 1) put_overview(&p);
    for (int k = 0; k < count; k++) put_run(&p, &p.view[k]);
    text_add(out, "</main>\n");
    const bool whole = put_data(&p);
    text_add(out, "<script>\n%s</script>\n</body>\n</html>\n", tune_report_script);
    arena_free(p.arena);
    if (!whole) text_free(out); /* if memory ran out, the text is empty */
}

/* ---- all results as JSON ---- */

static json_t *plain_trial(struct arena *arena, const struct tune_run *run, const struct tune_trial *t)
{
    const struct tune_space *s = &run->experiment.space;
    const struct tune_result *r = &t->result;
    const struct tune_gain gain = tune_gain(r);
    json_t *schedule = json_object(), *samples = json_array();
    for (int k = 0; k < s->knobs; k++)
        json_object_set_new(schedule, s->knob[k].name, json_integer(s->knob[k].value[t->point.at[k]]));
    for (int k = 0; k < r->samples; k++)
        json_array_append_new(samples, json_pack("[f, f]", r->sample[k].seconds, r->sample[k].default_seconds));
    return json_pack("{s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schedule", schedule,
                     "status", tune_status_name[r->status], "why", clean(arena, r->why), "same_as",
                     t->same_as ? json_integer(t->same_as) : json_null(), "median_s", number(true, tune_seconds(r)),
                     "ratio", number(true, gain.ratio), "ratio_low", number(true, gain.low), "ratio_high",
                     number(true, gain.high), "flops", number(r->work > 0, r->work), "peak_flops_s",
                     number(r->peak > 0, r->peak), "bytes", number(r->bytes > 0, r->bytes), "bandwidth_bytes_s",
                     number(r->bandwidth > 0, r->bandwidth), "samples", samples);
}

void tune_json(const struct tune_run *runs, int count, struct text *out)
{
    struct arena *arena = arena_new();
    json_t *list = json_array();
    for (int k = 0; k < count; k++) {
        const struct tune_experiment *e = &runs[k].experiment;
        const struct tune_trial *best = run_best(&runs[k]);
        json_t *trials = json_array();
        for (int t = 0; t < runs[k].trials; t++)
            json_array_append_new(trials, plain_trial(arena, &runs[k], &runs[k].trial[t]));
        /* Jansson's integers are signed, so a larger seed becomes a string. */
        json_t *const seed = runs[k].seed > INT64_MAX ? json_sprintf("%llu", (unsigned long long)runs[k].seed)
                                                      : json_integer((json_int_t)runs[k].seed);
        json_t *run = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:i, s:b, s:o, s:o, s:o, s:o}",
                                "spec", clean(arena, e->spec_name), "spec_hash", e->spec_hash, "machine",
                                clean(arena, e->machine), "compiler", clean(arena, e->compiler), "attnc", e->attnc,
                                "target", e->target, "batch", (json_int_t)e->shape.batch, "heads",
                                (json_int_t)e->shape.heads, "kv_heads", (json_int_t)e->shape.kv_heads, "key_heads",
                                (json_int_t)e->shape.key_heads, "length", (json_int_t)e->shape.length, "threads",
                                e->shape.threads, "backward", (int)e->shape.backward, "seed", seed, "best",
                                best ? json_integer(best - runs[k].trial + 1) : json_null(), "knobs",
                                space_json(&e->space), "trials", trials);
        json_array_append_new(list, run);
    }
    char *data = json_dumps(list, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    if (data) text_add(out, "%s\n", data);
    free(data);
    json_decref(list);
    arena_free(arena);
}
