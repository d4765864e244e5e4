/* attnc tune --export: prints every trial as comma-separated values or as JSON, for other programs. */
#include "report.h"
#include "result.h"
#include "space.h"
#include "../schedule/schedule.h"
#include "../support/support.h"
#include "store/store.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- comma-separated values: a line for each trial, and a column for each knob that occurs in any run ---- */

struct names {
    int count;
    const char **name;
};

static void names_add(struct names *n, struct arena *arena, const char *name)
{
    for (int k = 0; k < n->count; k++)
        if (strcmp(n->name[k], name) == 0) return;
    const char **grown = arena_alloc(arena, (size_t)(n->count + 1) * sizeof *grown);
    if (n->count) memcpy(grown, n->name, (size_t)n->count * sizeof *grown);
    grown[n->count++] = name;
    n->name = grown;
}

static const char
    csv_head[] = "run,spec,spec_hash,machine,compiler,attnc,target,batch,heads,kv_heads,length,threads,strategy,seed,"
                 "run_begun,trial,begun,status,why,"
                 "samples,seconds,ratio,ratio_low,ratio_high,work_flops,peak_flops_s,bytes,bandwidth_bytes_s,same_as,"
                 "backward,key_heads";

/* Appends a cell. The cell is empty if the value is unknown. */
static void csv_real(struct text *out, double value, bool known)
{
    text_add(out, ",");
    if (known && isfinite(value)) text_add(out, "%.9g", value);
}

static void csv_trial(const struct tune_run *run, const struct tune_trial *trial, const struct names *knobs,
                      struct text *out)
{
    const struct tune_experiment *e = &run->experiment;
    const struct tune_result *r = &trial->result;
    const char *const words[] = {e->spec_name, e->spec_hash, e->machine, e->compiler, e->attnc, e->target};
    const int64_t sizes[] = {e->shape.batch, e->shape.heads, e->shape.kv_heads, e->shape.length, e->shape.threads};
    const struct tune_gain gain = tune_gain(r);
    text_add(out, "%lld", (long long)run->id);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        text_add(out, ",");
        table_csv(out, words[k]);
    }
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) text_add(out, ",%lld", (long long)sizes[k]);
    text_add(out, ",");
    table_csv(out, run->strategy);
    text_add(out, ",%llu,%.3f,%lld,%.3f,%s,", (unsigned long long)run->seed, run->begun, (long long)trial->id,
             trial->begun, tune_status_name[r->status]);
    table_csv(out, r->why);
    text_add(out, ",%d", r->samples);
    csv_real(out, tune_seconds(r), true);
    csv_real(out, gain.ratio, true);
    csv_real(out, gain.low, true);
    csv_real(out, gain.high, true);
    csv_real(out, r->work, r->work > 0);
    csv_real(out, r->peak, r->peak > 0);
    csv_real(out, r->bytes, r->bytes > 0);
    csv_real(out, r->bandwidth, r->bandwidth > 0);
    text_add(out, trial->same_as ? ",%lld" : ",", (long long)trial->same_as);
    text_add(out, ",%d,%lld", e->shape.backward, (long long)e->shape.key_heads);
    for (int n = 0; n < knobs->count; n++) {
        text_add(out, ",");
        for (int k = 0; k < e->space.knobs; k++)
            if (strcmp(e->space.knob[k].name, knobs->name[n]) == 0)
                text_add(out, "%lld", (long long)e->space.knob[k].value[trial->point.at[k]]);
    }
    text_add(out, "\r\n");
}

static bool print_csv(const struct tune_run *runs, int count, struct text *out)
{
    struct arena *arena = arena_new();
    struct names knobs = {0};
    for (int r = 0; r < count; r++)
        for (int k = 0; k < runs[r].experiment.space.knobs; k++)
            names_add(&knobs, arena, runs[r].experiment.space.knob[k].name);
    text_add(out, "%s", csv_head);
    for (int n = 0; n < knobs.count; n++) {
        text_add(out, ",");
        table_csv(out, arena_printf(arena, "knob_%s", knobs.name[n]));
    }
    text_add(out, "\r\n");
    for (int r = 0; r < count; r++)
        for (int t = 0; t < runs[r].trials; t++) csv_trial(&runs[r], &runs[r].trial[t], &knobs, out);
    arena_free(arena);
    return true;
}

/* ---- JSON: everything ---- */

/* Makes a JSON string. Invalid UTF-8 bytes become '?'. Control characters stay, because put_json escapes them. */
static json_t *word(const char *text)
{
    json_t *made = json_string(text);
    if (made) return made;
    struct text plain = {0};
    text_plain(&plain, text, strlen(text), PLAIN_LINES, "?");
    made = json_string(plain.data);
    text_free(&plain);
    return made;
}

/* Appends JSON text. Escapes the control characters U+007F to U+009F, which Jansson does not escape. */
static void put_json(const char *text, struct text *out)
{
    for (size_t left = strlen(text), n; left; text += n, left -= n) {
        n = utf8_character(text, left);
        if (n > 0 && *text != '\n' && utf8_control(text, n))
            text_add(out, "\\u%04x", (unsigned)(unsigned char)text[n - 1]);
        else
            text_append(out, text, n > 0 ? n : (n = 1));
    }
    text_add(out, "\n");
}

static json_t *real(double value, bool known)
{
    return known && isfinite(value) ? json_real(value) : json_null();
}

static json_t *whole(int64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *space_json(const struct tune_space *s)
{
    json_t *list = json_array();
    for (int k = 0; k < s->knobs; k++) {
        const struct tune_knob *knob = &s->knob[k];
        json_t *values = json_array();
        for (int v = 0; v < knob->values; v++) json_array_append_new(values, whole(knob->value[v]));
        json_array_append_new(list,
                              json_pack("{s:o, s:o, s:o, s:o}", "name", word(knob->name), "says", word(knob->says),
                                        "usual", whole(knob->value[knob->default_at]), "values", values));
    }
    return list;
}

static json_t *trial_json(const struct tune_run *run, const struct tune_trial *trial)
{
    const struct tune_space *s = &run->experiment.space;
    const struct tune_result *r = &trial->result;
    const struct tune_gain gain = tune_gain(r);
    json_t *schedule = json_object(), *samples = json_array();
    for (int k = 0; k < s->knobs; k++)
        json_object_set_new(schedule, s->knob[k].name, whole(s->knob[k].value[trial->point.at[k]]));
    for (int k = 0; k < r->samples; k++)
        json_array_append_new(samples, json_pack("{s:o, s:o}", "seconds", real(r->sample[k].seconds, true), "usual",
                                                 real(r->sample[k].default_seconds, true)));
    json_t *made = json_pack(
        "{s:o, s:o, s:f, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "id", whole(trial->id),
        "same_as", trial->same_as ? whole(trial->same_as) : json_null(), "begun", trial->begun, "status",
        tune_status_name[r->status], "why", *r->why ? word(r->why) : json_null(), "schedule", schedule, "seconds",
        real(tune_seconds(r), true), "ratio", real(gain.ratio, true), "ratio_low", real(gain.low, true), "ratio_high",
        real(gain.high, true), "work_flops", real(r->work, r->work > 0), "peak_flops_s", real(r->peak, r->peak > 0),
        "bytes", real(r->bytes, r->bytes > 0), "bandwidth_bytes_s", real(r->bandwidth, r->bandwidth > 0), "samples",
        samples);
    return made;
}

static json_t *run_json(const struct tune_run *run)
{
    const struct tune_experiment *e = &run->experiment;
    const struct tune_shape *s = &e->shape;
    const struct tune_trial *best = run_best(run);
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)run->seed);
    json_t *trials = json_array();
    for (int t = 0; t < run->trials; t++) json_array_append_new(trials, trial_json(run, &run->trial[t]));
    json_t *shape = json_pack("{s:o, s:o, s:o, s:o, s:o, s:i, s:b}", "batch", whole(s->batch), "heads", whole(s->heads),
                              "kv_heads", whole(s->kv_heads), "key_heads", whole(s->key_heads), "length",
                              whole(s->length), "threads", s->threads, "backward", s->backward);
    json_t *spec = json_pack("{s:o, s:o, s:o}", "name", word(e->spec_name), "hash", word(e->spec_hash), "text",
                             word(e->spec_text));
    /* Jansson's integers are signed, so a seed above INT64_MAX becomes a string */
    json_t *seed = run->seed > INT64_MAX ? json_string(digits) : whole((int64_t)run->seed);
    return json_pack("{s:o, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "id", whole(run->id), "begun",
                     run->begun, "strategy", word(run->strategy), "seed", seed, "spec", spec, "machine",
                     word(e->machine), "compiler", word(e->compiler), "attnc", word(e->attnc), "target",
                     word(e->target), "shape", shape, "space", space_json(&e->space), "best",
                     best ? whole(best->id) : json_null(), "trials", trials);
}

static bool print_json(const struct tune_run *runs, int count, struct text *out)
{
    json_t *list = json_array();
    bool whole_list = list != NULL;
    for (int r = 0; r < count && whole_list; r++) whole_list = json_array_append_new(list, run_json(&runs[r])) == 0;
    json_t *top = json_pack("{s:s, s:o}", "attnc", ATTNC_VERSION, "runs", list);
    char *text = top && whole_list ? json_dumps(top, JSON_INDENT(1)) : NULL;
    if (text) put_json(text, out);
    free(text);
    json_decref(top);
    return text != NULL;
}

enum status tune_export(const struct options *o, const char *format, const struct tune_run *runs, int count)
{
    static const struct {
        const char *name;
        bool (*print)(const struct tune_run *runs, int count, struct text *out);
    } formats[] = {{"csv", print_csv}, {"json", print_json}};
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        if (strcmp(format, formats[k].name) != 0) continue;
        struct text out = {0};
        const bool made = formats[k].print(runs, count, &out);
        if (!made) complain(o, "out of memory");
        const enum status status = made ? table_put(o, &out) : STATUS_MACHINE;
        text_free(&out);
        return status;
    }
    complain(o, "--export takes csv or json, not '%s'", format);
    return STATUS_USAGE;
}
