/* Tests the space of schedules: points and their numbers, values and defaults of knobs, and the text of a spec with
   a schedule. */
#include "compiler/driver/driver.h"
#include "compiler/schedule/schedule.h"
#include "compiler/support/support.h"
#include "compiler/target/target.h"
#include "compiler/tune/run.h"
#include "compiler/tune/tuned_text.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Replaces complain() of attnc, and prints to standard output. */
bool complain(const struct options *o, const char *format, ...)
{
    (void)o;
    printf("%s\n", format);
    return false;
}

static void test_points(void)
{
    const struct tune_space s = {.knobs = 3,
                                 .knob = {{.name = "a", .values = 2, .default_at = 1, .value = {1, 5}},
                                          {.name = "b", .values = 3, .default_at = 0, .value = {2, 4, 6}},
                                          {.name = "c", .values = 4, .default_at = 2, .value = {0, 1, 2, 3}}}};
    CU_ASSERT_EQUAL(space_points(&s), 24);
    for (int64_t k = 0; k < 24; k++) {
        const struct tune_point p = point_of(&s, k);
        CU_ASSERT_EQUAL(point_number(&s, &p), k);
    }
    const struct tune_point by_default = point_default(&s);
    struct text t = {0};
    point_text(&s, &by_default, &t);
    CU_ASSERT_STRING_EQUAL(t.data, "a=5 b=2 c=2");
    text_free(&t);
    struct tune_space large = {.knobs = MAX_KNOBS};
    for (int k = 0; k < MAX_KNOBS; k++) large.knob[k].values = MAX_KNOB_VALUES;
    CU_ASSERT_EQUAL(space_points(&large), 36520347436056576); /* 24^12 */
    for (int k = 0; k < MAX_KNOBS; k++) large.knob[k].values = 1 << 10;
    CU_ASSERT_EQUAL(space_points(&large), INT64_MAX);
}

static void test_values(void)
{
    struct tune_knob knob;
    knob_set_values(&knob, 7, 4, (const int64_t[]){9, 7, 3, 9});
    CU_ASSERT_EQUAL(knob.values, 3);
    CU_ASSERT_EQUAL(knob.default_at, 1);
    CU_ASSERT_EQUAL(knob.value[0], 3);
    CU_ASSERT_EQUAL(knob.value[1], 7);
    CU_ASSERT_EQUAL(knob.value[2], 9);
}

static struct unit *unit_for(const char *target, const char *text, int sets, const char *const *set)
{
    char file[] = "/tmp/attnc_knobs_XXXXXX";
    const int handle = mkstemp(file);
    struct options o = {.console = {.quiet = true},
                        .set = set,
                        .sets = sets,
                        .targets = 1,
                        .target = {target_find(target)},
                        .named_targets = true};
    enum status status = STATUS_MACHINE;
    struct unit *p = NULL;
    if (handle >= 0 && write(handle, text, strlen(text)) == (ssize_t)strlen(text)) p = unit_make(file, &o, &status);
    if (handle >= 0) close(handle);
    unlink(file);
    CU_ASSERT_EQUAL_FATAL(status, STATUS_DONE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    return p;
}

static struct unit *unit_of(const char *text, int sets, const char *const *set)
{
    return unit_for("x86-64-v4", text, sets, set);
}

static const char soft[] = "name: soft\nsimilarity: softmax\nmask: causal\nshape: {head_dim: 64}\n";
static const char
    sketch[] = "name: sketch\nsimilarity: {polysketch: {degree: 4, sketch: 8}}\nmask: causal\nshape: {head_dim: 16}\n";

static int find(const struct tune_space *s, const char *name)
{
    for (int k = 0; k < s->knobs; k++)
        if (strcmp(s->knob[k].name, name) == 0) return k;
    return -1;
}

static int64_t default_of(const struct tune_space *s, const char *name)
{
    const int k = find(s, name);
    return k < 0 ? -1 : s->knob[k].value[s->knob[k].default_at];
}

/* Setting every knob to its default gives the same code as setting none. */
static void same_as_default(const char *text, int64_t keys)
{
    struct unit *p = unit_of(text, 0, NULL);
    struct tune_space space;
    knob_space(p, false, keys, &space);
    const char *set[MAX_KNOBS];
    for (int k = 0; k < space.knobs; k++)
        set[k] = arena_printf(p->arena, "schedule.%s=%lld", space.knob[k].name,
                              (long long)space.knob[k].value[space.knob[k].default_at]);
    struct unit *q = unit_of(text, space.knobs, set);
    const struct compilation *a = unit_choice(p, p->kernel.compilation[0]->target, keys),
                             *b = unit_choice(q, q->kernel.compilation[0]->target, keys);
    struct text s = {0}, t = {0};
    loops_print(a->loops, &s);
    loops_print(b->loops, &t);
    CU_ASSERT_STRING_EQUAL(s.data, t.data);
    CU_ASSERT_EQUAL(a->registers.rows, b->registers.rows);
    CU_ASSERT_EQUAL(a->registers.vectors, b->registers.vectors);
    CU_ASSERT_EQUAL(a->registers.unroll, b->registers.unroll);
    /* A schedule in the spec changes neither the space of knobs nor the defaults. */
    struct tune_space again;
    knob_space(q, false, keys, &again);
    CU_ASSERT_EQUAL(again.knobs, space.knobs);
    for (int k = 0; k < space.knobs; k++)
        CU_ASSERT_EQUAL(default_of(&again, space.knob[k].name), space.knob[k].value[space.knob[k].default_at]);
    text_free(&s);
    text_free(&t);
    unit_free(q);
    unit_free(p);
}

static void test_default(void)
{
    same_as_default(soft, 1000);
    same_as_default(sketch, 10);
    same_as_default(sketch, 100000);
}

static void test_space(void)
{
    struct tune_space space;
    struct unit *p = unit_of(soft, 0, NULL);
    knob_space(p, false, 4096, &space);
    CU_ASSERT_EQUAL(find(&space, "chunk"), -1);
    CU_ASSERT_EQUAL(find(&space, "crossover"), -1);
    CU_ASSERT_EQUAL(default_of(&space, "rows"), 6);
    unit_free(p);
    p = unit_of(sketch, 0, NULL);
    knob_space(p, false, 10, &space);
    CU_ASSERT_EQUAL(default_of(&space, "crossover"), NEVER);
    knob_space(p, false, 100000, &space);
    CU_ASSERT_EQUAL(default_of(&space, "crossover"), 1);
    CU_ASSERT(find(&space, "chunk") >= 0);
    for (int k = 0; k < space.knobs; k++)
        for (int v = 1; v < space.knob[k].values; v++) CU_ASSERT(space.knob[k].value[v] > space.knob[k].value[v - 1]);
    const char *hash = unit_source_hash(p);
    struct unit *same = unit_of(sketch, 2, (const char *const[]){"name=other", "schedule.tile_k=40"}),
                *other = unit_of(sketch, 1, (const char *const[]){"mask=none"});
    CU_ASSERT_STRING_EQUAL(unit_source_hash(same), hash);
    CU_ASSERT_STRING_NOT_EQUAL(unit_source_hash(other), hash);
    unit_free(other);
    unit_free(same);
    unit_free(p);
}

/* The number of registers limits the register block. With 32 registers it is 6 rows of 4 vectors, with 16 it is 6
   rows of 2. The cost model must know the block. */
static void test_registers(void)
{
    struct unit *p = unit_for("x86-64-v3", soft, 0, NULL);
    const struct target *target = p->kernel.compilation[0]->target;
    struct tune_space all,
        made = {.knobs = 2, .knob = {{.name = "rows", .values = 1}, {.name = "vectors", .values = 1}}};
    knob_space(p, false, 4096, &all);
    const struct tune_space rows = {.knobs = 1, .knob = {all.knob[find(&all, "rows")]}};
    const struct tune_point only = {{0}};
    double expected[MAX_KNOB_VALUES] = {0};
    CU_ASSERT_EQUAL(target->registers, 16);
    CU_ASSERT_EQUAL(default_of(&all, "vectors"), 2);
    for (int v = 0; v < rows.knob[0].values; v++) {
        const struct tune_point point = {{v}};
        const char *set = arena_printf(p->arena, "schedule.rows=%lld", (long long)rows.knob[0].value[v]);
        struct unit *q = unit_for("x86-64-v3", soft, 1, &set);
        made.knob[0].value[0] = q->kernel.compilation[0]->registers.rows;
        made.knob[1].value[0] = q->kernel.compilation[0]->registers.vectors;
        expected[v] = point_loads(target, &rows, &point);
        CU_ASSERT_EQUAL(expected[v], point_loads(target, &made, &only));
        unit_free(q);
    }
    CU_ASSERT(expected[0] < expected[rows.knob[0].default_at]);                       /* 4 rows of 3 vectors are best */
    CU_ASSERT(expected[rows.knob[0].default_at] < expected[rows.knob[0].values - 1]); /* 12 rows of 1 vector are
                                                                                       * worst */
    unit_free(p);
}

static void test_entry(void)
{
    struct unit *p = unit_of(sketch, 0, NULL);
    struct tune_space space;
    knob_space(p, false, 100000, &space);
    struct tune_point point = point_default(&space);
    CU_ASSERT_EQUAL(tuned_entry(&space, &point, 1, NULL).knobs, 0);
    point.at[find(&space, "chunk")]++;
    struct tuned_entry e = tuned_entry(&space, &point, 5, "why");
    CU_ASSERT_EQUAL(e.knobs, space.knobs - 1);
    CU_ASSERT_EQUAL(e.from, 5);
    for (int k = 0; k < e.knobs; k++) CU_ASSERT_STRING_NOT_EQUAL(e.knob[k].name, "crossover");
    /* A missing knob has its default, so setting it does not change the code. */
    const char *set[2][MAX_KNOBS];
    for (int k = 0; k < e.knobs; k++)
        set[0][k] = arena_printf(p->arena, "schedule.%s=%lld", e.knob[k].name, (long long)e.knob[k].value);
    for (int k = 0; k < space.knobs; k++)
        set[1][k] = arena_printf(p->arena, "schedule.%s=%lld", space.knob[k].name,
                                 (long long)space.knob[k].value[point.at[k]]);
    struct unit *made[2] = {unit_of(sketch, e.knobs, set[0]), unit_of(sketch, space.knobs, set[1])};
    struct text loops[2] = {{0}, {0}};
    for (int k = 0; k < 2; k++)
        loops_print(unit_choice(made[k], made[k]->kernel.compilation[0]->target, 100000)->loops, &loops[k]);
    CU_ASSERT_STRING_EQUAL(loops[0].data, loops[1].data);
    CU_ASSERT(!unit_choice(made[0], made[0]->kernel.compilation[0]->target, 10)->program.linear);
    CU_ASSERT(unit_choice(made[1], made[1]->kernel.compilation[0]->target, 10)->program.linear);
    point.at[find(&space, "crossover")] = 1; /* the kernel never changes to the linear form */
    e = tuned_entry(&space, &point, 1, NULL);
    CU_ASSERT_EQUAL(e.knobs, space.knobs);
    for (int k = 0; k < 2; k++) {
        text_free(&loops[k]);
        unit_free(made[k]);
    }
    unit_free(p);
}

/* The knobs of backward are a separate space. `schedule:` has them inside `backward: {...}`. */
static void test_backward(void)
{
    const char *const emit = "emit=[forward, backward]";
    struct unit *p = unit_of(soft, 1, &emit);
    struct tune_space space;
    struct tune_point point;
    knob_space(p, true, 4096, &space);
    CU_ASSERT_EQUAL(default_of(&space, "backward.sweep"), 1);
    CU_ASSERT_EQUAL(default_of(&space, "backward.rows"), 6);
    CU_ASSERT_EQUAL(default_of(&space, "backward.tile_q"), p->defaults[0].gradients[0]->tiling.tile_q);
    CU_ASSERT_EQUAL(find(&space, "backward.crossover"), -1);
    CU_ASSERT_EQUAL(find(&space, "backward.together"), -1);
    CU_ASSERT_EQUAL(find(&space, "tile_q"), -1);
    point = point_default(&space);
    CU_ASSERT_EQUAL(tuned_entry(&space, &point, 1, NULL).knobs, 0);
    point.at[find(&space, "backward.sweep")] = 0;
    struct tuned_entry e = tuned_entry(&space, &point, 1, NULL);
    CU_ASSERT_EQUAL(e.knobs, space.knobs - 2); /* default tile sizes are left out, because they vary */
    const struct tuned_entry of_both = {1, NULL, 2, {{"tile_q", 32}, {"backward.rows", 8}}, 0},
                             of_backward = {9, NULL, 1, {{"backward.sweep", 0}}, 0};
    e = (struct tuned_entry){1, NULL, 1, {{"backward.sweep", 0}}, 0};
    tuned_join(&e, true, &of_both);
    struct tuned_entry two_of[2] = {e, of_backward};
    struct text out = {0};
    CU_ASSERT(tuned_text("a: 1\n", 5, NULL, two_of, 2, &out));
    CU_ASSERT_STRING_EQUAL(out.data, "a: 1\nschedule:\n  - {tile_q: 32, backward: {sweep: 0}}\n"
                                     "  - {from: 9, backward: {sweep: 0}}\n");
    text_free(&out);
    CU_ASSERT(tuned_point(&space, true, &e, &point));
    CU_ASSERT_EQUAL(space.knob[find(&space, "backward.sweep")].value[point.at[find(&space, "backward.sweep")]], 0);
    knob_space(p, false, 4096, &space);
    CU_ASSERT(tuned_point(&space, false, &e, &point));
    CU_ASSERT_EQUAL(space.knob[find(&space, "tile_q")].value[point.at[find(&space, "tile_q")]], 32);

    /* Setting knobs to their defaults gives the same code as setting none. */
    const char *const set[] = {emit, "schedule.backward.sweep=1", "schedule.backward.rows=6",
                               "schedule.backward.vectors=4", "schedule.backward.unroll=4"};
    struct unit *q = unit_of(soft, 5, set);
    const struct versions *const of_p = &p->kernel.of[STEP_BACKWARD], *const of_q = &q->kernel.of[STEP_BACKWARD];
    CU_ASSERT_EQUAL_FATAL(of_p->count, of_q->count);
    for (int k = 0; k < of_p->count; k++) {
        struct text s = {0}, t = {0};
        loops_print(of_p->version[k].c->loops, &s);
        loops_print(of_q->version[k].c->loops, &t);
        CU_ASSERT_STRING_EQUAL(s.data, t.data);
        CU_ASSERT_EQUAL(of_p->version[k].c->registers.rows, of_q->version[k].c->registers.rows);
        text_free(&s);
        text_free(&t);
    }
    unit_free(q);
    unit_free(p);
}

/* ---- the text ---- */

static const struct tuned_entry two[] = {{1, "for short ones\n1.2 times as fast", 2, {{"tile_q", 32}, {"rows", 8}}, 0},
                                         {4096, NULL, 1, {{"tile_k", 96}}, 0}};
#define BLOCK \
    "# tuned\nschedule:\n  # for short ones\n  # 1.2 times as fast\n  - {tile_q: 32, rows: 8}\n  - {from: 4096, " \
    "tile_k: 96}\n"
#define FLOW \
    "\n  # tuned\n  schedule: [\n    # for short ones\n    # 1.2 times as fast\n    {tile_q: 32, rows: 8},\n    " \
    "{from: 4096, tile_k: 96}]"

static void test_text(void)
{
    static const char *const cases[][2] = {
        {"a: 1\nb: 2\n", "a: 1\nb: 2\n" BLOCK},
        {"a: 1", "a: 1\n" BLOCK},
        {"a: 1\nschedule: {tile_q: 16} # old\n# of b\nb: 2\n", "a: 1\n" BLOCK "# of b\nb: 2\n"},
        {"schedule:\n  # old\n  tile_q: 16\n  tile_k: 3\nb: 2\n", BLOCK "b: 2\n"},
        {"schedule:\n- {tile_q: 16}\n- from: 3\n  tile_k: 3\n\n# b\nb: 2\n", BLOCK "\n# b\nb: 2\n"},
        {"b: 2 # ä€ before\nschedule: {tile_q: 16,\n  tile_k: 3}", "b: 2 # ä€ before\n" BLOCK},
        {"b: 2\nschedule:\n", "b: 2\n" BLOCK},
        {"b: 2\nschedule:\nc: {schedule: 1}\n", "b: 2\n" BLOCK "c: {schedule: 1}\n"},
        {"---\nb: |\n  text\n\n...\n# end\n", "---\nb: |\n  text\n\n" BLOCK "...\n# end\n"},
        {"{a: 1, b: [2, 3]}\n", "{a: 1, b: [2, 3]," FLOW "}\n"},
        {"{a: 1, # x, y\n  b: 2 # z,\n}\n", "{a: 1, # x, y\n  b: 2 # z,\n," FLOW "}\n"},
        {"{a: 1,}\n", "{a: 1," FLOW "}\n"},
        {"{a: 1, schedule: {tile_q: 16}, b: 2}\n", "{a: 1, " FLOW ", b: 2}\n"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct text out = {0};
        CU_ASSERT(tuned_text(cases[k][0], strlen(cases[k][0]), "tuned", two, 2, &out));
        if (!out.data || strcmp(out.data, cases[k][1]) != 0)
            printf("from\n%s\ncame\n%s\n", cases[k][0], out.data ? out.data : "nothing");
        CU_ASSERT_STRING_EQUAL(out.data ? out.data : "", cases[k][1]);
        text_free(&out);
    }
    static const char *const none[] = {"", "- a\n", "word\n", "a: [\n", "a: 1\nschedule: 2\nschedule: 3\n"};
    for (size_t k = 0; k < sizeof none / sizeof *none; k++) {
        struct text out = {0};
        CU_ASSERT(!tuned_text(none[k], strlen(none[k]), NULL, two, 2, &out));
        CU_ASSERT_EQUAL(out.length, 0);
        text_free(&out);
    }
}

static void test_path(void)
{
    struct arena *arena = arena_new();
    CU_ASSERT_STRING_EQUAL(tuned_path(arena, "a.b/soft.yaml"), "a.b/soft.tuned.yaml");
    CU_ASSERT_STRING_EQUAL(tuned_path(arena, "soft.yml"), "soft.tuned.yml");
    CU_ASSERT_STRING_EQUAL(tuned_path(arena, "a.yaml/soft"), "a.yaml/soft.tuned.yaml");
    arena_free(arena);
}

int main(void)
{
    static const struct unit_test tests[] = {
        {"knobs/points", test_points},     {"knobs/values", test_values},       {"knobs/usual", test_default},
        {"knobs/space", test_space},       {"knobs/registers", test_registers}, {"knobs/entry", test_entry},
        {"knobs/backward", test_backward}, {"knobs/text", test_text},           {"knobs/path", test_path}};
    return unit_tests_run("knobs", tests, sizeof tests / sizeof *tests);
}
