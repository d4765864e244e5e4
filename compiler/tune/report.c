/* The outputs of attnc tune about runs: JSON, and the HTML page of --report.
   - The page contains the same JSON, from which report.js draws tables and charts.
   - The page loads no other file. Equal runs give equal bytes. */
#include "run.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* the contents of report.css and report.js */
extern const char tune_report_style[], tune_report_script[];

static const char *clean(struct arena *arena, const char *text)
{
    struct text out = {0};
    text_plain(&out, text, strlen(text), PLAIN_LINES, "\xef\xbf\xbd");
    return text_take(&out, arena);
}

static json_t *number(bool known, double value)
{
    return known && isfinite(value) ? json_real(value) : json_null();
}

static json_t *trial_json(struct arena *arena, const struct tune_run *run, const struct tune_trial *t)
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
                     "status", tune_status_name[r->status], "why",
                     r->status == TUNE_MEASURED ? "" : clean(arena, r->why), "same_as",
                     t->same_as ? json_integer(t->same_as) : json_null(), "median_s", number(true, tune_seconds(r)),
                     "ratio", number(true, gain.ratio), "ratio_low", number(true, gain.low), "ratio_high",
                     number(true, gain.high), "flops", number(r->work > 0, r->work), "peak_flops_s",
                     number(r->peak > 0, r->peak), "bytes", number(r->bytes > 0, r->bytes), "bandwidth_bytes_s",
                     number(r->bandwidth > 0, r->bandwidth), "samples", samples);
}

/* Returns the runs with all their trials and samples, in the format of json_dumps. The caller frees the text. It is
   NULL if memory runs out. */
static char *runs_json(const struct tune_run *runs, int count, size_t format)
{
    struct arena *arena = arena_new();
    json_t *list = json_array();
    for (int k = 0; k < count; k++) {
        const struct tune_experiment *e = &runs[k].experiment;
        const struct tune_trial *best = run_best(&runs[k]);
        json_t *trials = json_array();
        for (int t = 0; t < runs[k].trials; t++)
            json_array_append_new(trials, trial_json(arena, &runs[k], &runs[k].trial[t]));
        /* Jansson's integers are signed, so a larger seed becomes a string. */
        json_t *const seed = runs[k].seed > INT64_MAX ? json_sprintf("%llu", (unsigned long long)runs[k].seed)
                                                      : json_integer((json_int_t)runs[k].seed);
        struct text shape = {0};
        shape_text(&e->shape, &shape);
        json_t *run = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:b, s:o, "
                                "s:o, s:o, s:o}",
                                "spec", clean(arena, e->spec_name), "spec_hash", e->spec_hash, "spec_text",
                                clean(arena, e->spec_text), "machine", clean(arena, e->machine), "compiler",
                                clean(arena, e->compiler), "attnc", e->attnc, "target", e->target, "shape", shape.data,
                                "begun", (json_int_t)runs[k].begun, "batch", (json_int_t)e->shape.batch, "heads",
                                (json_int_t)e->shape.heads, "kv_heads", (json_int_t)e->shape.kv_heads, "key_heads",
                                (json_int_t)e->shape.key_heads, "length", (json_int_t)e->shape.length, "threads",
                                e->shape.threads, "backward", (int)e->shape.backward, "seed", seed, "best",
                                best ? json_integer(best - runs[k].trial + 1) : json_null(), "knobs",
                                space_json(&e->space), "trials", trials);
        text_free(&shape);
        json_array_append_new(list, run);
    }
    char *data = json_dumps(list, format | JSON_REAL_PRECISION(9));
    json_decref(list);
    arena_free(arena);
    return data;
}

void tune_json(const struct tune_run *runs, int count, struct text *out)
{
    char *data = runs_json(runs, count, JSON_INDENT(1));
    if (data) text_add(out, "%s\n", data);
    free(data);
}

void tune_report(const struct tune_run *runs, int count, struct text *out)
{
    char *const data = runs_json(runs, count, JSON_COMPACT | JSON_ENSURE_ASCII);
    if (!data) return;
    text_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src "
                  "'unsafe-inline'; script-src 'unsafe-inline'\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" "
                  "href=\"data:,\">\n"
                  "<title>Schedules measured by attnc tune</title>\n<style>\n");
    text_add(out,
             "%s</style>\n</head>\n<body>\n<header>\n<h1>Schedules measured by attnc tune</h1>\n</header>\n<main>\n"
             "<noscript><p>A script draws the tables and charts of this page from its data.</p></noscript>\n</main>\n"
             "<script type=\"application/json\" id=\"runs\">",
             tune_report_style);
    for (const char *c = data; *c; c++) /* "</script>" in the name of a spec would end the element */
        text_add(out, *c == '<' ? "\\u003c" : "%c", *c);
    text_add(out, "</script>\n<script>\n%s</script>\n</body>\n</html>\n", tune_report_script);
    free(data);
}
