/* Prints the stored runs, one line per run, for attnc tune --query. */
#include "report.h"
#include "result.h"
#include "space.h"
#include "../support/support.h"
#include "store/store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COLUMNS = 12 };
enum column { RUN, BEGUN, SPEC, SHAPE, THREADS, STRATEGY, SEED, TRIALS, DEFAULT, BEST, RATIO, SCHEDULE };
static const char *const title[COLUMNS] = {"run",  "begun",  "spec",       "shape", "threads",    "strategy",
                                           "seed", "trials", "at default", "best",  "of default", "best schedule"};
struct line {
    struct text cell[COLUMNS];
};

/* Appends the shape in the syntax of --shape, such as "n=4096,heads=8". */
static void shape_cell(const struct tune_shape *s, struct text *out)
{
    text_add(out, "n=%lld,heads=%lld", (long long)s->length, (long long)s->heads);
    if (s->kv_heads != s->heads) text_add(out, ",kv_heads=%lld", (long long)s->kv_heads);
    if (s->key_heads) text_add(out, ",key_heads=%lld", (long long)s->key_heads);
    if (s->batch != 1) text_add(out, ",batch=%lld", (long long)s->batch);
    if (s->backward) text_add(out, " backward");
}

static void begun_cell(double begun, struct text *out)
{
    const time_t when = (time_t)begun;
    struct tm utc;
    char text[40] = "";
    if (gmtime_r(&when, &utc)) strftime(text, sizeof text, "%Y-%m-%d %H:%M", &utc);
    text_add(out, "%s", text);
}

static void trials_cell(const struct tune_run *run, struct text *out)
{
    int count[TUNE_REFUSED + 1] = {0};
    for (int t = 0; t < run->trials; t++) count[run->trial[t].result.status]++;
    text_add(out, "%d %s", count[TUNE_MEASURED], tune_status_name[TUNE_MEASURED]);
    for (int k = 0; k <= TUNE_REFUSED; k++)
        if (k != TUNE_MEASURED && count[k] > 0) text_add(out, ", %d %s", count[k], tune_status_name[k]);
}

static void seconds_cell(double seconds, struct text *out)
{
    char text[40];
    text_add(out, "%s", isfinite(seconds) ? table_seconds(seconds, text, sizeof text) : "-");
}

static void fill(const struct tune_run *run, struct line *l)
{
    const struct tune_experiment *e = &run->experiment;
    const struct tune_trial *best = run_best(run);
    const double by_default = run_default_seconds(run);
    text_add(&l->cell[RUN], "%lld", (long long)run->id);
    begun_cell(run->begun, &l->cell[BEGUN]);
    text_add(&l->cell[SPEC], "%s", e->spec_name);
    shape_cell(&e->shape, &l->cell[SHAPE]);
    text_add(&l->cell[THREADS], "%d", e->shape.threads);
    text_add(&l->cell[STRATEGY], "%s", run->strategy);
    text_add(&l->cell[SEED], "%llu", (unsigned long long)run->seed);
    trials_cell(run, &l->cell[TRIALS]);
    seconds_cell(by_default, &l->cell[DEFAULT]);
    seconds_cell(best ? tune_seconds(&best->result) : INFINITY, &l->cell[BEST]);
    if (!best) {
        text_add(&l->cell[RATIO], "-");
        text_add(&l->cell[SCHEDULE], isfinite(by_default) ? "the default one" : "-");
        return;
    }
    const struct tune_gain gain = tune_gain(&best->result);
    text_add(&l->cell[RATIO], "%.3f (%.3f to %.3f)", gain.ratio, gain.low, gain.high);
    point_text(&e->space, &best->point, &l->cell[SCHEDULE]);
}

static bool same_place(const struct tune_experiment *a, const struct tune_experiment *b)
{
    return strcmp(a->machine, b->machine) == 0 && strcmp(a->compiler, b->compiler) == 0 &&
           strcmp(a->attnc, b->attnc) == 0 && strcmp(a->target, b->target) == 0;
}

/* Prints the machine, target and compiler of run `first`, and a table of the runs that share them. */
static void print_place(const struct tune_run *runs, int count, int first, const struct line *line, const int *width,
                        struct text *out)
{
    const struct tune_experiment *e = &runs[first].experiment;
    struct text place = {0};
    text_add(&place, "%s\n%s, %s, attnc %s\n\n", e->machine, e->target, e->compiler, e->attnc);
    if (first) text_add(out, "\n");
    text_plain(out, place.data, place.length, PLAIN_LINES, "?");
    text_free(&place);
    for (int k = first - 1; k < count; k++) {
        if (k >= first && !same_place(e, &runs[k].experiment)) continue;
        for (int c = 0; c < COLUMNS; c++) {
            const bool left = c == BEGUN || c == SPEC || c == SHAPE || c == STRATEGY || c == TRIALS || c == SCHEDULE;
            table_cell(out, k < first ? title[c] : line[k].cell[c].data, width[c], left, c == COLUMNS - 1);
            text_add(out, c < COLUMNS - 1 ? "  " : "\n");
        }
    }
}

enum status tune_query(const struct options *o, const struct tune_run *runs, int count)
{
    struct text out = {0};
    int width[COLUMNS];
    struct line *line = calloc((size_t)count + 1, sizeof *line);
    if (!line) {
        complain(o, "out of memory");
        return STATUS_MACHINE;
    }
    for (int k = 0; k < count; k++) fill(&runs[k], &line[k]);
    for (int c = 0; c < COLUMNS; c++) {
        width[c] = table_width(title[c]);
        for (int k = 0; k < count; k++)
            if (line[k].cell[c].data && table_width(line[k].cell[c].data) > width[c])
                width[c] = table_width(line[k].cell[c].data);
    }
    for (int k = 0; k < count; k++) {
        bool before = false;
        for (int j = 0; j < k; j++) before |= same_place(&runs[j].experiment, &runs[k].experiment);
        if (!before) print_place(runs, count, k, line, width, &out);
    }
    text_add(&out, count ? "\nTimes are medians; `of default` is the time divided by the time of the default schedule: "
                           "median, 95%% interval.\n"
                         : "no runs\n");
    const enum status status = table_put(o, &out);
    text_free(&out);
    for (int k = 0; k < count; k++)
        for (int c = 0; c < COLUMNS; c++) text_free(&line[k].cell[c]);
    free(line);
    return status;
}
