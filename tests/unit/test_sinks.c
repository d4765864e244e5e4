/* Tests which keys a decoding state must store: the first `first` keys and the last `back` keys. The tested queries
 * must see no other key. */
#include "compiler/analysis/analysis.h"
#include "compiler/pass/pass.h"
#include "compiler/spec/spec.h"
#include "compiler/target/target.h"
#include "compiler/variant/variant.h"
#include "suite.h"

#include <string.h>

enum { ALL = -1, QUERIES = 700 };

static const struct {
    const char *mask;
    int64_t first, back; /* The expected result. If `first` is ALL, a state must store all keys. */
} cases[] = {
    {"causal", ALL, 0},
    {"{window: {left: 30}}", 0, 30},
    {"{window: {left: 9, dilation: 5}}", 0, 45},
    {"{all: [causal, {block_window: {block: 24, left: 1}}]}", 0, 47},
    {"{all: [causal, {prefix: {length: 70}}]}", 70, 0},
    {"{all: [causal, {any: [{window: {left: 30}}, {prefix: {length: 4}}]}]}", 4, 30},
    {"{any: [{all: [causal, {prefix: {length: 4}}]}, {window: {left: 30}}]}", 4, 30},
    {"{any: [{any: [{window: {left: 3}}, {all: [causal, {prefix: {length: 2}}]}]}, {window: {left: 30}}]}", 2, 30},
    {"{all: [causal, {not: {all: [{not: {window: {left: 30}}}, {not: {prefix: {length: 4}}}]}}]}", 4, 30},
    {"{all: [{window: {left: 30}}, {prefix: {length: 400}}]}", 0, 30},
    {"{all: [causal, {any: [{window: {left: 30}}, {global: {count: 3}}]}]}", 3, 30},
    {"{all: [causal, {any: [{window: {left: 9, dilation: 3}}, {global: {tokens: [0, 4, 20]}}]}]}", 21, 27},
    {"{all: [causal, {any: [{block_window: {block: 16, left: 1}}, {global: {count: 16}}]}]}", 16, 31},
    /* query 199 sees all earlier keys, so a state stores 200 keys */
    {"{all: [causal, {any: [{window: {left: 5}}, {global: {tokens: [3, 199]}}]}]}", 200, 5},
    {"{expr: \"j <= i && (i - j < 40 || i < 100)\"}", 0, 99},
    {"{expr: \"j <= i && (i - j < 40 || j / 8 == 1)\"}", 16, 39},
    {"{expr: \"j <= i && (i - j < 40 || (j < 3 && i < 5000))\"}", 3, 39},
    /* a few queries at large positions see more keys */
    {"{expr: \"j <= i && (i - j < 40 || i == 5000)\"}", 0, 5000},
    {"{expr: \"j <= i && (i - j < 40 || i == 900000000)\"}", ALL, 0},
    {"{expr: \"j <= i && (i - j < 40 || i % 100000 == 0)\"}", ALL, 0},
    {"{expr: \"j <= i && (i - j < 40 || j % 7 == 0)\"}", ALL, 0},
    {"{expr: \"j <= i && i - j < 40 + i / 1000000\"}", ALL, 0},
    {"{expr: \"j <= i && 2 * j >= i\"}", ALL, 0},
    {"{all: [causal, {any: [{window: {left: 30}}, document]}]}", ALL, 0},
    {"{any: [{window: {left: 30}}, {random: {block: 16, count: 2, causal: true}}]}", ALL, 0},
};

/* Returns whether a query sees a key after the first `first` keys and before the last `back` keys. Early queries
 * are not tested. */
static bool sees_others(const struct graph *g, int64_t first, int64_t back)
{
    const struct expr *where = NULL;
    int query = 0, key = 0;
    for (int v = 0; v < g->values; v++)
        if (g->value[v].where) where = g->value[v].where;
    for (int a = 0; a < g->module->axes; a++) {
        if (g->module->axis[a].source == SIZE_N_Q) query = a;
        if (g->module->axis[a].source == SIZE_N_K) key = a;
    }
    if (!where) return true;
    int64_t size[MAX_AXES] = {0}, index[MAX_AXES] = {0};
    const struct environment env = {.size = size, .index = index};
    size[query] = 1;
    for (int64_t i = first + back + 1; i < first + back + QUERIES; i++) {
        size[key] = i + 1;
        for (index[key] = first; index[key] < i - back; index[key]++)
            if (expr_eval_int(where, &env)) return true;
    }
    return false;
}

static void finds(const char *mask, int64_t first, int64_t back, bool few)
{
    struct arena *arena = arena_new();
    const char *text = arena_printf(arena, "similarity: softmax\nshape: {head_dim: 16}\nmask: %s\n", mask);
    struct diagnostics *d = diagnostics_new(arena, "sinks", text, strlen(text));
    const struct spec *spec = spec_read(arena, "sinks.yaml", text, strlen(text), 0, NULL, d);
    struct compilation c = {.spec = spec, .program.few = few, .target = target_find("x86-64-v3"), .diagnostics = d};
    c.source = c.graph = spec ? build_graph(arena, spec, COUNT_CALL, d) : NULL;
    const bool made = c.graph && passes_run(&c, NULL, NULL);
    int64_t begin = 0, before = 0;
    CU_ASSERT(made);
    const bool found = made && keys_read_on(&c, &begin, &before);
    if (found != (first != ALL) || (found && (begin != first || before != back))) {
        printf("# %s: %s, the first %lld and %lld back\n", mask, found ? "found" : "not found", (long long)begin,
               (long long)before);
        CU_FAIL("other keys are read on");
    }
    if (found && sees_others(build_graph(arena, spec, COUNT_CALL, d), begin, before)) {
        printf("# %s\n", mask);
        CU_FAIL("a query sees another key");
    }
    diagnostics_flush(d, stdout, false);
    arena_free(arena);
}

static void test_masks(void)
{
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
        finds(cases[n].mask, cases[n].first, cases[n].back, false);
}

static void test_few(void)
{
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) finds(cases[n].mask, cases[n].first, cases[n].back, true);
}

int main(void)
{
    static const struct unit_test tests[] = {{"sinks/masks", test_masks}, {"sinks/few", test_few}};
    return unit_tests_run("sinks", tests, sizeof tests / sizeof *tests);
}
