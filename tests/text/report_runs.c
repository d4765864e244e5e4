/* Prints a page of tune_report for tests/text/report.py. usage: report_runs NAME. NAME selects a fixed list of trials
   or a simulated search. */
#include "compiler/support/support.h"
#include "compiler/tune/run.h"

#include <math.h>
#include <string.h>

static struct arena *arena;

static uint64_t state;

static double uniform(void)
{
    state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

static struct tune_space tiles(void)
{
    return (struct tune_space){.knobs = 4,
                               .knob = {{"tile_q", "queries of a tile", 6, 2, {16, 32, 48, 64, 96, 128}},
                                        {"tile_k", "keys of a tile", 8, 3, {64, 96, 128, 192, 256, 288, 384, 512}},
                                        {"unroll", "turns of the innermost loop that are written out", 3, 1, {1, 2, 4}},
                                        {"pack", "whether tiles of keys are copied", 2, 1, {0, 1}}}};
}

static struct tune_run new_run(const char *name, int64_t length, int trials)
{
    return (struct tune_run){
        .begun = 1795219200,
        .seed = 42,
        .experiment = {.spec_name = name,
                       .spec_hash = "0123456789abcdef0123456789abcdef",
                       .spec_text = "similarity: softmax\nmask: causal\nhead_dim: 64\n",
                       .machine = "AMD EPYC 9654, 32 KiB L1, 1 MiB L2, 384 MiB L3, 2 threads",
                       .compiler = "clang 19.1.7",
                       .attnc = "0.1.0",
                       .target = "x86-64-v4",
                       .shape = {.batch = 1, .heads = 8, .kv_heads = 2, .length = length, .threads = 2},
                       .space = tiles()},
        .trials = trials,
        .trial = arena_alloc(arena, (size_t)trials * sizeof(struct tune_trial))};
}

static void fail(struct tune_result *r, enum tune_status status, const char *why)
{
    r->status = status;
    r->samples = 0;
    snprintf(r->why, sizeof r->why, "%s", why);
}

/* Returns a simulated search. The optimum is tile_q = 64 and tile_k = 256. */
static struct tune_run search(const char *name, int64_t length, int trials, uint64_t seed, double gain)
{
    struct tune_run run = new_run(name, length, trials);
    struct tune_space *s = &run.experiment.space;
    state = seed;
    run.seed = seed;
    for (int k = 0; k < trials; k++) {
        struct tune_trial *t = &run.trial[k];
        struct tune_result *r = &t->result;
        for (int j = 0; j < s->knobs; j++)
            t->point.at[j] = k == 0 ? s->knob[j].default_at : (int)(uniform() * s->knob[j].values);
        const int64_t q = s->knob[0].value[t->point.at[0]], keys = s->knob[1].value[t->point.at[1]];
        const double off = 0.06 * pow(log2((double)q / 64), 2) + 0.05 * pow(log2((double)keys / 256), 2) +
                           (t->point.at[3] ? 0 : 0.12) - gain;
        const double usual = (double)length * (double)length * 2e-10, ratio = k == 0 ? 1 : 1 + off + 0.02 * uniform();
        r->work = 2.0 * 128 * 8 * (double)length * (double)length;
        r->bytes = (double)length * 8 * 128 * 4 * (1 + 512 / (double)q);
        r->peak = 2.4e13;
        r->bandwidth = length == 8192 ? 6e10 : 0;
        r->status = TUNE_MEASURED;
        r->samples = 5 + (int)(uniform() * 12);
        r->sample = arena_alloc(arena, (size_t)r->samples * sizeof *r->sample);
        for (int n = 0; n < r->samples; n++) {
            const double then = usual * (1 + 0.02 * uniform());
            r->sample[n] = (struct tune_sample){then * ratio * (1 + 0.02 * (uniform() - 0.5)), then};
        }
        if (k % 11 == 5) fail(r, TUNE_WRONG, "row 17 of head 3 is off by 0.25, more than 1e-5");
        if (k % 13 == 7) fail(r, TUNE_CRASHED, "killed by SIGSEGV");
        if (k % 17 == 9) fail(r, TUNE_LATE, "no answer within 10 s");
        if (k % 19 == 11)
            fail(r, TUNE_REFUSED,
                 "clang-19: error: tile_q=48 </td></tr></table><script>document.title = 'taken'</script>");
    }
    return run;
}

/* Makes a run with known ratios. Four trials take 1, 1/2, 2 and 8 times the default's time. The other trials fail. */
static struct tune_run by_hand(void)
{
    static const double quotient[] = {1, 0.5, 2, 8};
    struct tune_run run = new_run("by_hand", 4096, 6);
    for (int k = 0; k < run.trials; k++) {
        struct tune_trial *t = &run.trial[k];
        t->point = point_default(&run.experiment.space);
        t->point.at[0] = k == 0 ? 2 : k == 2 ? 5 : k == 3 ? 0 : k;
        if (k >= 4) {
            fail(&t->result, k == 4 ? TUNE_CRASHED : TUNE_MEASURED, "killed by SIGILL");
            continue;
        }
        t->result = (struct tune_result){
            .status = TUNE_MEASURED, .samples = 3, .sample = arena_alloc(arena, 3 * sizeof(struct tune_sample))};
        for (int n = 0; n < 3; n++)
            t->result.sample[n] = (struct tune_sample){0.25 * quotient[k] * (n == 0 ? 0.8 : n == 1 ? 1 : 1.25), 0.25};
    }
    return run;
}

static int several(struct tune_run *run)
{
    run[0] = search("softmax_8k", 8192, 60, 1, 0.06);
    run[1] = search(
        "</script><script>document.title='taken'</script><!--<script> & \"quoted\" 'names' \xff\xc3\x28 \x01 é", 65536,
        240, 2, 0.2);
    run[1].experiment.compiler = "<img src=http://example.com/x onerror=alert(1)>";
    run[1].experiment.space.knob[2].name = "<b>unroll</b>";
    run[1].experiment.spec_text = "name: </pre></script>\n";
    run[2] = new_run("nothing_tried", 1024, 0);
    run[3] = search("no_measurement", 1024, 5, 3, 0);
    for (int k = 0; k < run[3].trials; k++) fail(&run[3].trial[k].result, TUNE_REFUSED, "no memory");
    run[4] = search("no_gain", 4096, 40, 4, -0.5);
    run[5] = by_hand();
    return 6;
}

int main(int count, char **argument)
{
    const char *name = count == 2 ? argument[1] : "";
    struct tune_run run[6];
    int runs = -1;
    arena = arena_new();
    if (strcmp(name, "none") == 0) runs = 0;
    if (strcmp(name, "one") == 0) {
        runs = 1;
        run[0] = search("one_trial", 8192, 1, 5, 0);
    }
    if (strcmp(name, "large") == 0) {
        runs = 1;
        run[0] = search("large", 32768, 2000, 6, 0.1);
    }
    if (strcmp(name, "several") == 0) runs = several(run);
    if (runs < 0) {
        fprintf(stderr, "usage: report_runs none|one|several|large\n");
        return STATUS_USAGE;
    }
    struct text page = {0};
    tune_report(run, runs, &page);
    const bool whole = page.data && fwrite(page.data, 1, page.length, stdout) == page.length && fflush(stdout) == 0;
    text_free(&page);
    arena_free(arena);
    return whole ? STATUS_DONE : STATUS_MACHINE;
}
