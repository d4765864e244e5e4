/* The results of attnc bench as a table and as JSON. */
#include "bench.h"
#include "request.h"
#include "../cost/cost.h"
#include "../host/host.h"
#include "../spec/spec.h"
#include "../support/support.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- figures of a result ---- */

struct figures {
    /* For the best call: its rate, rate / peak, FLOPs per byte, the roofline's time, and best / expected. */
    double gflops, share, intensity, expected, ratio;
    /* Tokens per second, bytes read per second, and this rate / bandwidth. */
    double tokens, read, of_reading;
    bool memory_bound; /* memory limits the speed, according to the roofline */
};

double bench_expected(const struct bench_result *r)
{
    return roofline_seconds(&r->roofline, &r->rates, NULL);
}

static struct figures figures_of(const struct bench *b, const struct bench_result *r)
{
    bool memory;
    double expected = roofline_seconds(&r->roofline, &r->rates, &memory);
    return (struct figures){.gflops = r->counts.flops / r->best / 1e9,
                            .share = r->counts.flops / r->best / r->peak,
                            .intensity = r->counts.flops / r->counts.bytes,
                            .expected = expected,
                            .ratio = r->best / expected,
                            .tokens = (double)b->request.batch / r->best,
                            .read = r->read / r->best,
                            .of_reading = r->read / r->best / r->rates.bandwidth,
                            .memory_bound = memory};
}

/* Whether calls or the peak varied so much that the machine was probably busy. */
static bool bench_shaking(const struct bench_result *r)
{
    return r->measured && (r->spread > SPREAD_MAX || r->peak_spread > SPREAD_MAX);
}

static bool told(const struct bench_result *r)
{
    return r->measured || *r->skipped;
}

/* ---- the table ---- */

/* The columns of the table: their titles, and whether they are shown. */
#define COLUMN_ROWS(COLUMN) \
    COLUMN(LENGTH, decode ? "position" : "length", true) \
    COLUMN(HEADS, "heads", q->heads > 1 || q->head[0].heads > 1) \
    COLUMN(THREADS, "threads", q->threads > 1) \
    COLUMN(SPEC, "spec", true) \
    COLUMN(PASS, "pass", backward) \
    COLUMN(FORM, "form", true) \
    COLUMN(UNIT, "unit", true) \
    COLUMN(MEDIAN, "median", true) \
    COLUMN(BEST, "best", true) \
    COLUMN(SPREAD, "spread", true) \
    COLUMN(GFLOPS, "GFLOP/s", !decode) \
    COLUMN(SHARE, "of peak", !decode) \
    COLUMN(EXPECTED, "of expected", !decode) \
    COLUMN(BYTES, "bytes", !decode) \
    COLUMN(TOKENS, "tokens", decode) \
    COLUMN(TOKENS_A_SECOND, "tokens/s", decode) \
    COLUMN(READ, "reads", decode) \
    COLUMN(READ_A_SECOND, "GB/s", decode) \
    COLUMN(OF_READING, "of memory", decode) \
    COLUMN(STATE, "state", decode) \
    COLUMN(WORKSPACE, "workspace", true) \
    COLUMN(SAVED, "saved", backward) \
    COLUMN(OVER_FORWARD, "of forward", backward) \
    COLUMN(AGAINST, against, b->entries > 1 + backward)
#define NUMBER(name, title, shown) name,
enum column { COLUMN_ROWS(NUMBER) COLUMNS };

enum { CELL = 64 };
struct line {
    char cell[COLUMNS][CELL];
    const char *skipped; /* the reason why the entry was skipped, or NULL. It replaces the cells after PASS */
};

/* Returns (time of backward) / (time of forward), or 0 if it is unknown or the entry is not backward. */
static double over_forward(const struct bench *b, const struct bench_point *p, int entry)
{
    const struct bench_result *r = &p->result[entry];
    if (!b->backward[entry] || !r->measured || !r[-1].measured) return 0;
    return r->best / r[-1].best;
}

static void fill_line(const struct bench *b, const struct bench_point *p, int entry, struct line *line)
{
    const struct bench_result *r = &p->result[entry], *first = &p->result[b->backward[entry]];
    struct text heads = {0};
    bench_heads_name(&p->heads, &heads);
    snprintf(line->cell[LENGTH], CELL, "%lld", (long long)p->length);
    snprintf(line->cell[HEADS], CELL, "%s", heads.data);
    text_free(&heads);
    snprintf(line->cell[THREADS], CELL, "%d", p->threads);
    snprintf(line->cell[SPEC], CELL, "%s", bench_label(b, entry));
    snprintf(line->cell[PASS], CELL, "%s", bench_pass(b, entry));
    line->skipped = r->measured ? NULL : r->skipped;
    if (line->skipped) return;
    struct figures f = figures_of(b, r);
    snprintf(line->cell[FORM], CELL, "%s", r->form);
    snprintf(line->cell[UNIT], CELL, "%s", r->unit);
    table_seconds(r->median, line->cell[MEDIAN], CELL);
    table_seconds(r->best, line->cell[BEST], CELL);
    if (r->runs > 1)
        snprintf(line->cell[SPREAD], CELL, "%s%.0f%%", r->spread > SPREAD_MAX ? "! " : "", 100 * r->spread);
    snprintf(line->cell[GFLOPS], CELL, "%.1f", f.gflops);
    if (f.share <= 1)
        snprintf(line->cell[SHARE], CELL, "%.1f%%", 100 * f.share);
    else
        snprintf(line->cell[SHARE], CELL, "!");
    snprintf(line->cell[EXPECTED], CELL, "%.2f, %s", f.ratio, f.memory_bound ? "memory" : "compute");
    table_bytes(r->counts.bytes, line->cell[BYTES], CELL);
    if (b->o->decode) {
        snprintf(line->cell[TOKENS], CELL, "%lld", (long long)r->tokens);
        snprintf(line->cell[TOKENS_A_SECOND], CELL, "%.4g", f.tokens);
        table_bytes(r->read, line->cell[READ], CELL);
        snprintf(line->cell[READ_A_SECOND], CELL, "%.2f", f.read / 1e9);
        snprintf(line->cell[OF_READING], CELL, "%.0f%%", 100 * f.of_reading);
        table_bytes((double)r->state, line->cell[STATE], CELL);
    }
    table_bytes((double)r->workspace, line->cell[WORKSPACE], CELL);
    table_bytes((double)r->saved, line->cell[SAVED], CELL);
    const double over = over_forward(b, p, entry);
    if (over > 0) snprintf(line->cell[OVER_FORWARD], CELL, "%.2f", over);
    if (first->best > 0)
        snprintf(line->cell[AGAINST], CELL, "%s%.3g", first->measured ? "" : "~", first->best / r->best);
}

static const char *unsteady(const struct bench_result *r, char *text, size_t size)
{
    *text = 0;
    if (r->peak_spread > SPREAD_MAX) snprintf(text, size, " (! measurements differ by %.0f%%)", 100 * r->peak_spread);
    return text;
}

static void print_machine(const struct bench *b, struct text *out)
{
    char spread[CELL];
    text_add(out, "%s, %s; kernels compiled by %s\n", b->target->name, machine_vectors(b->machine), b->compiler);
    /* Prints each peak once, with its bandwidth. */
    for (int k = 0; k < b->begun; k++)
        for (int e = 0; e < b->entries; e++) {
            const struct bench_result *r = &b->point[k].result[e];
            bool before = false;
            for (int k2 = 0; k2 <= k; k2++)
                for (int e2 = 0; e2 < b->entries && (k2 < k || e2 < e); e2++)
                    before |= b->point[k2].result[e2].peak == r->peak; /* the peak is already printed */
            if (r->peak > 0 && !before && b->o->decode)
                text_add(out, "%d thread%s: %.1f GB/s read from memory\n", b->point[k].threads,
                         b->point[k].threads == 1 ? "" : "s", r->rates.bandwidth / 1e9);
            else if (r->peak > 0 && !before)
                text_add(out, "%d thread%s: %.1f GFLOP/s at peak in %s%s%s, %.1f GB/s of memory\n", b->point[k].threads,
                         b->point[k].threads == 1 ? "" : "s", r->peak / 1e9,
                         dtype_name(r->on_units ? DTYPE_BF16 : dtype_of_sums(b->unit[e]->spec->dtype)),
                         r->on_units ? " on matrix units" : "", unsteady(r, spread, sizeof spread),
                         r->rates.bandwidth / 1e9);
        }
}

/* Says why a result has no share of the peak: useful FLOPs are at most those of the loops, so the peak is too low. */
static void print_above_peak(const struct bench *b, struct text *out)
{
    bool above = false;
    for (int k = 0; k < b->begun; k++)
        for (int e = 0; e < b->entries; e++) {
            const struct bench_result *r = &b->point[k].result[e];
            above |= r->measured && !b->o->decode && figures_of(b, r).share > 1;
        }
    if (above)
        text_add(
            out,
            "! a kernel was faster than the measured peak: other programs ran while the peak was measured, so there "
            "is no share of it.\n");
}

/* Names the results that are not finite. Infinite numbers may take another path through the code. */
static void print_infinite(const struct bench *b, struct text *out)
{
    for (int k = 0; k < b->begun; k++)
        for (int e = 0; e < b->entries; e++) {
            if (!b->point[k].result[e].infinite) continue;
            text_add(
                out,
                "! %s, %s at %lld: the result of the random arrays is not finite, so other arrays may take another "
                "time.\n",
                bench_label(b, e), bench_pass(b, e), (long long)b->point[k].length);
        }
}

static void print_notes(const struct bench *b, bool inexact, bool shaking, struct text *out)
{
    const struct bench_request *q = &b->request;
    char cache[CELL];
    table_bytes((double)machine_cache(), cache, sizeof cache);
    if (b->o->decode)
        text_add(
            out,
            "\nBatch %lld. Times are for one token of every sequence at the position: the mean over `tokens` calls of "
            "extend.\n"
            "- `tokens`: a whole chunk of a linear form, because its last token takes longest; %d under a window; else "
            "%d.\n"
            "- `spread`: three of four means are at most so much larger than the best. The median is that of all "
            "means, "
            "the other columns are for the best.\n"
            "- `reads`: the bytes of sums, keys, values, queries and parameters that a token reads.\n"
            "- `of memory`: the share of the bandwidth above; more than 100%% if the data stays in the cache of %s.\n",
            (long long)q->batch, DECODE_TOKENS_OF_WINDOW, DECODE_TOKENS, cache);
    else
        text_add(out,
                 "\nBatch %lld, as many keys as queries.\n"
                 "- `spread`: three of four calls took at most so much longer than the best. The median is that of all "
                 "calls, the other columns are for the best.\n"
                 "- `of expected`: the best time divided by the roofline's time, and what limits the roofline; memory "
                 "counts only if the arrays exceed the cache of %s.\n",
                 (long long)q->batch, cache);
    print_infinite(b, out);
    print_above_peak(b, out);
    if (shaking)
        text_add(out, "! repeats differ by more than %.0f%%: this machine is probably busy.\n", 100 * SPREAD_MAX);
    if (b->o->backward)
        text_add(out,
                 "Forward saves `saved` bytes for backward, which computes the gradients with respect to q, k, v; `of "
                 "forward` is the time of backward divided by the time of forward.\n");
    if (b->integers & ASSUMED_IDS)
        text_add(out, "Integer parameters: %lld consecutive positions have the same id.\n", (long long)q->document);
    if (b->integers & ASSUMED_BOUNDS) text_add(out, "Half of the keys of a sequence are padding.\n");
    if (b->integers & ASSUMED_LISTS) text_add(out, "Lists of blocks have different blocks, drawn at random.\n");
    if (inexact) text_add(out, "Visited pairs were counted for a sample of the queries.\n");
    if (b->interrupted) text_add(out, "Interrupted: %d of %d points were started.\n", b->begun, b->points);
}

static void print_table(const struct bench *b, struct text *out)
{
    const struct bench_request *q = &b->request;
    char against[CELL];
    snprintf(against, sizeof against, "x %.40s", bench_label(b, 0));
    const bool backward = b->o->backward, decode = b->o->decode;
    const struct {
        const char *title;
        bool shown;
    } column[COLUMNS] = {
#define ROW(name, title, shown) {title, shown},
        COLUMN_ROWS(ROW)};
    int lines = 0, width[COLUMNS], last = 0;
    struct line *line = calloc((size_t)(b->begun * b->entries + 1), sizeof *line);
    bool inexact = false, shaking = false;
    for (int k = 0; k < b->begun && line; k++)
        for (int e = 0; e < b->entries; e++) {
            const struct bench_result *r = &b->point[k].result[e];
            if (told(r)) fill_line(b, &b->point[k], e, &line[lines++]);
            inexact |= r->measured && !r->counts.exact;
            shaking |= bench_shaking(r);
        }
    for (int c = 0; c < COLUMNS; c++) {
        width[c] = table_width(column[c].title);
        for (int k = 0; k < lines; k++)
            if (table_width(line[k].cell[c]) > width[c]) width[c] = table_width(line[k].cell[c]);
        if (column[c].shown) last = c;
    }
    print_machine(b, out);
    text_add(out, "\n");
    for (int k = -1; k < lines; k++) {
        for (int c = 0; c < COLUMNS; c++) {
            if (!column[c].shown) continue;
            if (k >= 0 && c == FORM && line[k].skipped) {
                text_add(out, "left out: %s", line[k].skipped);
                break;
            }
            table_cell(out, k < 0 ? column[c].title : line[k].cell[c], width[c],
                       c == SPEC || c == PASS || c == FORM || c == UNIT, c == last);
            if (c < last) text_add(out, "  ");
        }
        text_add(out, "\n");
    }
    free(line);
    print_notes(b, inexact, shaking, out);
}

/* ---- JSON ---- */

static void add(json_t *to, const char *name, bool known, json_t *value)
{
    if (known)
        json_object_set_new(to, name, value);
    else
        json_decref(value);
}

static json_t *result_json(const struct bench *b, const struct bench_point *p, int entry)
{
    const struct bench_result *r = &p->result[entry];
    const struct spec *s = b->unit[entry]->spec;
    const double over = over_forward(b, p, entry);
    const bool yes = r->measured, call = yes && !b->o->decode, token = yes && b->o->decode;
    const struct figures f = yes ? figures_of(b, r) : (struct figures){0};
    json_t *const one = json_object();
    add(one, "spec", true, json_string(bench_label(b, entry)));
    add(one, "dtype", true, json_string(dtype_name(s->dtype)));
    add(one, "head_dim", true, json_integer(s->head_dim));
    add(one, "value_dim", true, json_integer(s->value_dim));
    add(one, "batch", true, json_integer(b->request.batch));
    add(one, "heads", true, json_integer(p->heads.heads));
    add(one, "kv_heads", true, json_integer(p->heads.kv_heads));
    add(one, "key_heads", true, json_integer(p->heads.key_heads));
    add(one, "threads", true, json_integer(p->threads));
    add(one, "length", true, json_integer(p->length));
    add(one, "skipped", !yes, json_string(r->skipped));
    add(one, "form", yes, json_string(r->form));
    add(one, "runs", yes, json_integer(r->runs));
    add(one, "median_s", yes, json_real(r->median));
    add(one, "best_s", yes, json_real(r->best));
    add(one, "spread", yes && r->runs > 1, json_real(r->spread));
    add(one, "flops", call, json_real(r->counts.flops));
    add(one, "gflops", call, json_real(f.gflops));
    add(one, "peak_gflops", call, json_real(r->peak / 1e9));
    add(one, "peak_spread", call, json_real(r->peak_spread));
    add(one, "shaking", yes, json_boolean(bench_shaking(r)));
    add(one, "share_of_peak", call && f.share <= 1, json_real(f.share));
    add(one, "pairs", call, json_real(r->counts.pairs));
    add(one, "visited", call, json_real(r->counts.visited));
    add(one, "pairs_exact", call, json_boolean(r->counts.exact));
    add(one, "scalar_operations", call, json_real(r->counts.scalars));
    add(one, "bytes", call, json_real(r->counts.bytes));
    add(one, "flops_per_byte", call, json_real(f.intensity));
    add(one, "bandwidth_gbs", yes, json_real(r->rates.bandwidth / 1e9));
    add(one, "bound", call, json_string(f.memory_bound ? "memory" : "compute"));
    add(one, "expected_s", call, json_real(f.expected));
    add(one, "measured_over_expected", call, json_real(f.ratio));
    add(one, "workspace_bytes", yes, json_integer((json_int_t)r->workspace));
    add(one, "would_take_s", !yes && r->best > 0, json_real(r->best));
    add(one, "compiler", true, json_string(b->compiler));
    add(one, "pass", true, json_string(bench_pass(b, entry)));
    add(one, "saved_bytes", yes && b->o->backward, json_integer((json_int_t)r->saved));
    add(one, "over_forward", over > 0, json_real(over));
    add(one, "unit", yes, json_string(r->unit));
    add(one, "finite", yes, json_boolean(!r->infinite));
    add(one, "flops_of_loops", call, json_real(r->counts.loops));
    add(one, "tokens", token, json_integer(r->tokens));
    add(one, "tokens_per_s", token, json_real(f.tokens));
    add(one, "read_bytes", token, json_real(r->read));
    add(one, "read_gbs", token, json_real(f.read / 1e9));
    add(one, "share_of_bandwidth", token, json_real(f.of_reading));
    add(one, "state_bytes", token, json_integer((json_int_t)r->state));
    return one;
}

static void print_json(const struct bench *b, struct text *out)
{
    json_t *top = json_object(), *results = json_array();
    json_object_set_new(top, "attnc", json_string(ATTNC_VERSION));
    json_object_set_new(top, "target", json_string(b->target->name));
    json_object_set_new(top, "peak_of", json_string(machine_vectors(b->machine)));
    json_object_set_new(top, "cache_bytes", json_integer(machine_cache()));
    const uint64_t seed = b->request.seed;
    json_object_set_new(top, "seed", seed <= INT64_MAX ? json_integer((json_int_t)seed) : json_real((double)seed));
    if (b->integers & ASSUMED_IDS) json_object_set_new(top, "document", json_integer(b->request.document));
    json_object_set_new(top, "interrupted", json_boolean(b->interrupted));
    for (int k = 0; k < b->begun; k++)
        for (int e = 0; e < b->entries; e++)
            if (told(&b->point[k].result[e])) json_array_append_new(results, result_json(b, &b->point[k], e));
    json_object_set_new(top, "results", results);
    char *text = json_dumps(top, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    text_add(out, "%s\n", text ? text : "");
    free(text);
    json_decref(top);
}

/* ---- all outputs ---- */

static enum status put(const struct bench *b, const char *file, const struct text *text)
{
    if (strcmp(file, "-") != 0) return write_whole(b->o, file, text->data, text->length);
    return table_put(b->o, text);
}

enum status bench_report(const struct bench *b)
{
    const char *const files[] = {b->o->json, b->o->plot};
    const char *table = "-";
    for (int k = 0; k < 2; k++)
        if (files[k] && strcmp(files[k], "-") == 0) table = NULL;
    const struct {
        const char *file;
        void (*print)(const struct bench *b, struct text *out);
    } output[] = {{table, print_table}, {b->o->json, print_json}, {b->o->plot, bench_plot}};
    enum status worst = STATUS_DONE;
    for (size_t k = 0; k < sizeof output / sizeof *output; k++) {
        if (!output[k].file) continue;
        struct text text = {0};
        output[k].print(b, &text);
        enum status status = put(b, output[k].file, &text);
        if (status > worst) worst = status;
        text_free(&text);
    }
    return worst;
}
