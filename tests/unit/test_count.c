/* Tests the counts of the cost model. Pairs are compared with a count of all pairs, FLOPs with formulas. */
#include "compiler/cost/cost.h"
#include "compiler/pass/pass.h"
#include "compiler/schedule/schedule.h"
#include "compiler/spec/spec.h"
#include "compiler/target/target.h"
#include "compiler/variant/variant.h"
#include "suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DOCUMENT = 70 };

struct made {
    struct arena *arena;
    struct compilation c;
};

static struct program forced_form; /* of make */

/* Compiles a form of the spec. Returns false if the spec does not have it. */
static bool make(struct made *m, const char *text, bool linear)
{
    static struct target target;
    target = *target_find("x86-64-v4");
    m->arena = arena_new();
    struct diagnostics *d = diagnostics_new(m->arena, "test.yaml", text, strlen(text));
    const struct spec *spec = spec_read(m->arena, "test.yaml", text, strlen(text), 0, NULL, d);
    CU_ASSERT_PTR_NOT_NULL_FATAL(spec);
    m->c = (struct compilation){.spec = spec, .target = &target, .diagnostics = d, .program = forced_form};
    m->c.program.linear |= linear;
    m->c.source = build_graph(m->arena, spec, COUNT_CALL, d);
    m->c.graph = build_graph(m->arena, spec, COUNT_CALL, d);
    if (!linear && m->c.graph && graph_find_solve(m->c.graph) >= 0) return false;
    bool good = m->c.graph && passes_run(&m->c, NULL, NULL);
    CU_ASSERT_TRUE_FATAL(good && diagnostics_errors(d) == 0);
    return !linear || m->c.separated.features > 0;
}

static struct counts count(const struct made *m, int64_t heads, int64_t members, int64_t n_q, int64_t n_k)
{
    struct counts counts;
    count_work(&m->c, &(struct problem_size){2, heads, members, n_q, n_k}, DOCUMENT, 1 << 20, &counts);
    return counts;
}

/* Counts the pairs that the mask allows, one by one. */
static double pairs_by_points(const struct graph *g, int64_t heads, int64_t members, int64_t n_q, int64_t n_k)
{
    const struct module *m = g->module;
    const struct problem_size size = {2, heads, members, n_q, n_k};
    const struct value *sum = NULL;
    int query = -1, key = -1, head[2] = {-1, -1};
    int64_t index[MAX_AXES] = {0}, extent[MAX_AXES] = {0}, pairs = 0;
    struct ids ids = {0};
    double *id = arena_alloc(m->arena, (size_t)n_k * sizeof *id);
    for (int64_t k = 0; k < n_k; k++) {
        int64_t number = k / DOCUMENT;
        id[k] = (double)number;
    }
    for (int a = 0; a < m->axes; a++) {
        extent[a] = axis_extent(m, a, &size);
        if (m->axis[a].source == SIZE_N_Q) query = a;
        if (m->axis[a].source == SIZE_N_K) key = a;
        if (m->axis[a].source == SIZE_KV_HEADS) head[0] = a;
        if (m->axis[a].source == SIZE_MEMBERS) head[1] = a;
    }
    for (int v = 0; v < g->values; v++) {
        if (g->value[v].integers) ids_add(&ids, g->value[v].name, id, 1, n_k, false);
        if (g->value[v].op == GRAPH_CONTRACT && value_has_axis(&g->value[v], query) &&
            !value_has_axis(&g->value[v], key) && ref_uses_axis(&g->value[v].operand[1], key))
            sum = &g->value[v];
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(sum);
    const struct environment env = {.index = index, .size = extent, .ids = &ids};
    for (int64_t h = 0; h < heads * members; h++) {
        index[head[0]] = h / members;
        index[head[1]] = h % members;
        for (index[query] = 0; index[query] < n_q; index[query]++)
            for (index[key] = 0; index[key] < n_k; index[key]++)
                pairs += !sum->where || expr_eval_int(sum->where, &env);
    }
    return 2 * (double)pairs;
}

static void expect_pairs(const char *name, const char *text)
{
    static const int64_t lengths[][2] = {{41, 190}, {1, 1}, {200, 57}, {300, 300}};
    for (size_t k = 0; k < UNIT_TIMES(sizeof lengths / sizeof *lengths); k++) {
        struct made m;
        make(&m, text, false);
        struct counts counts = count(&m, 2, 2, lengths[k][0], lengths[k][1]);
        double expected = pairs_by_points(m.c.source, 2, 2, lengths[k][0], lengths[k][1]);
        if (!counts.exact || counts.pairs != expected)
            printf("%s, %lld queries and %lld keys: %.0f pairs, not %.0f\n", name, (long long)lengths[k][0],
                   (long long)lengths[k][1], counts.pairs, expected);
        CU_ASSERT_TRUE(counts.exact);
        CU_ASSERT_EQUAL(counts.pairs, expected);
        arena_free(m.arena);
    }
}

#define SHAPE "similarity: softmax\nshape: {head_dim: 8, value_dim: 4}\n"

static void pairs_of_masks(void)
{
    static const char *const masks[] = {
        "none",
        "causal",
        "{window: {left: 10, right: 3}}",
        "{window: {left: 30, dilation: 3}}",
        "{prefix: {length: 9}}",
        "document",
        "{all: [causal, document]}",
        "{any: [document, {window: {left: 5, dilation: 2}}]}",
        "{not: document}",
        "{random: {block: 16, count: 2, seed: 3}}",
        "{any: [{global: {count: 5}}, {window: {left: 7}}, {random: {block: 8, count: 1, seed: 1}}]}",
        "{not: {random: {block: 16, count: 2, seed: 3}}}",
        "{expr: \"(i * j) % 7 == 0\"}",
        "{expr: \"j <= i + h\"}"};
    for (size_t k = 0; k < sizeof masks / sizeof *masks; k++) {
        struct text text = {0};
        text_add(&text, SHAPE "mask: %s\n", masks[k]);
        expect_pairs(masks[k], text.data);
        text_free(&text);
    }
}

static void pairs_that_are_too_many(void)
{
    const int64_t n = 4000;
    static const char *const masks[] = {"{expr: \"(i * j) % 3 == 0\"}",
                                        "{any: [{global: {count: 9}}, {random: {block: 4, count: 9, seed: 1}}]}"};
    for (size_t k = 0; k < UNIT_TIMES(sizeof masks / sizeof *masks); k++) {
        struct text text = {0};
        struct made m;
        text_add(&text, SHAPE "mask: %s\n", masks[k]);
        make(&m, text.data, false);
        struct counts counts = count(&m, 1, 1, n, n);
        double expected = pairs_by_points(m.c.source, 1, 1, n, n);
        CU_ASSERT_EQUAL(counts.exact, k > 0); /* a drawn block is counted without testing its keys */
        CU_ASSERT_TRUE(fabs(counts.pairs - expected) <= (counts.exact ? 0 : 0.05 * expected));
        arena_free(m.arena);
        text_free(&text);
    }
}

/* The work is the number of visited pairs. A mask without ranges and periods does not reduce this number. */
static void work_of_visited(void)
{
    static const struct {
        const char *mask;
        double visited; /* the maximum of visited pairs, as a fraction of n * n */
    } masks[] = {{"{expr: \"(i * j) % 29 == 0\"}", 1},
                 {"{expr: \"j <= i && (i - j < 64 || j % 64 >= 60)\"}", 0.12},
                 {"{window: {left: 20, dilation: 5}}", 0.06}};
    const int64_t n = 1500;
    const double all = 2.0 * 2 * 2 * (double)(n * n); /* two batches of four heads */
    for (size_t k = 0; k < sizeof masks / sizeof *masks; k++) {
        struct text text = {0};
        struct made m;
        text_add(&text, SHAPE "mask: %s\n", masks[k].mask);
        make(&m, text.data, false);
        struct counts counts = count(&m, 2, 2, n, n);
        CU_ASSERT_TRUE(counts.visited >= counts.pairs && counts.visited <= all * masks[k].visited);
        CU_ASSERT_TRUE(counts.work > counts.visited * 2 * (8 + 4));
        CU_ASSERT_TRUE(k > 0 || (counts.visited == all && counts.pairs < all / 10));
        if (counts.visited > all * masks[k].visited)
            printf("%s: %.4f of all pairs visited\n", masks[k].mask, counts.visited / all);
        arena_free(m.arena);
        text_free(&text);
    }
}

/* Counts FLOPs per token of one head, for n tokens. For a linear form, n should be a multiple of its chunk. */
static double flops_of_token(const char *text, bool linear, int64_t n)
{
    struct made m;
    CU_ASSERT_TRUE_FATAL(make(&m, text, linear));
    double flops = count(&m, 1, 1, n, n).flops / 2 / (double)n;
    arena_free(m.arena);
    return flops;
}

static void flops_of_formulas(void)
{
    const double n = 4096, causal = (n + 1) / 2;
    CU_ASSERT_EQUAL(flops_of_token("similarity: softmax\nmask: causal\nshape: {head_dim: 64}\n", false, 4096),
                    4 * 64 * causal);
    CU_ASSERT_EQUAL(flops_of_token("similarity: softmax\nshape: {head_dim: 64, value_dim: 16}\n", false, 4096),
                    (2 * 64 + 2 * 16) * n);
    CU_ASSERT_EQUAL(
        flops_of_token("similarity: {polynomial: {degree: 4}}\nmask: causal\nshape: {head_dim: 64}\n", false, 4096),
        4 * 64 * causal);
    /* Each stored feature counts. Equal products f[a] f[b] and f[b] f[a] are stored once. Both the query and the
     * key of a token are multiplied by two sketch matrices. */
    for (int r = 16; r <= 64; r *= 2) {
        struct text text = {0};
        text_add(&text,
                 "similarity: {polysketch: {degree: 4, sketch: %d, local: exact}}\nblock: 128\nmask: causal\nshape: "
                 "{head_dim: 64}\n",
                 r);
        double features = r * (r + 1) / 2.0, own = (128 + 1) / 2.0;
        CU_ASSERT_EQUAL(flops_of_token(text.data, true, 4096), 4 * features * 65 + 4 * 64 * own + 4 * 2.0 * 64 * r);
        text_free(&text);
    }
    CU_ASSERT_EQUAL(
        flops_of_token("similarity: {linear: {features: relu}}\nblock: 64\nmask: causal\nshape: {head_dim: 32}\n", true,
                       4096),
        4 * 32 * 33 + 4 * 32 * 65 / 2.0);
    CU_ASSERT_EQUAL(
        flops_of_token("similarity: {linear: {features: relu}}\nmask: none\nshape: {head_dim: 32}\n", true, 4096),
        4 * 32 * 33);
}

/* Polysketch has two kinds of weights, chosen by position. The FLOPs of each kind count only for the pairs that use
 * it. */
static void flops_of_choices(void)
{
    const char *text = "similarity: {polysketch: {degree: 4, sketch: 16, local: exact}}\nblock: 128\nmask: "
                       "causal\nshape: {head_dim: 64}\n";
    double own = (128 + 1) / 2.0, all = (4096 + 1) / 2.0;
    CU_ASSERT_EQUAL(flops_of_token(text, false, 4096),
                    2 * 64 * own + 2 * 16 * (all - own) + 2 * 64 * all + 4 * 2.0 * 64 * 16);
}

static void grouped_heads(void)
{
    struct made m;
    make(&m, SHAPE "mask: causal\n", false);
    struct counts one = count(&m, 1, 1, 100, 100), many = count(&m, 3, 2, 100, 100);
    CU_ASSERT_EQUAL(many.flops, 6 * one.flops);
    CU_ASSERT_EQUAL(one.bytes, 2 * 4.0 * 2 * (8 + 4) * 100);
    CU_ASSERT_EQUAL(many.bytes, 2 * 4.0 * (6 + 3) * (8 + 4) * 100);
    arena_free(m.arena);
}

/* A row takes min(count, its keys) of the keys that other masks show it, in every form. */
static void best_keys(void)
{
    static const struct {
        const char *mask;
        int64_t window, count;
    } row[] = {{"{all: [causal, {top: {count: 40, by: r}}]}", 1 << 20, 40},
               {"{all: [causal, {window: {left: 89}}, {top: {count: 40, by: r}}]}", 90, 40},
               {"{all: [causal, {top: {count: 5, block: 8, by: r}}]}", 1 << 20, 40}};
    for (size_t k = 0; k < sizeof row / sizeof *row; k++)
        for (int heads = 0; heads < 2; heads++) {
            char text[300];
            struct made m;
            snprintf(text, sizeof text,
                     "similarity: softmax\nmask: %s\nshape: {head_dim: 8}\n"
                     "arrays: {qi: {shape: [B, 1, Nq, 4]}, ki: {shape: [B, 1, Nk, 4]}}\n"
                     "scores: {r: {query: qi, key: ki, sum: r}}\n",
                     row[k].mask);
            forced_form = (struct program){.by_heads = heads};
            make(&m, text, false);
            forced_form = (struct program){0};
            const struct counts counts = count(&m, 1, 3, 200, 200);
            double pairs = 0;
            for (int64_t i = 0; i < 200; i++) {
                const int64_t shown = i + 1 < row[k].window ? i + 1 : row[k].window;
                pairs += 2 * 3 * (double)(shown < row[k].count ? shown : row[k].count);
            }
            /* a row may take a part of its last block */
            CU_ASSERT_TRUE(fabs(counts.pairs - pairs) <= (k == 2 ? 0.1 * pairs : 0));
            CU_ASSERT_TRUE(!heads || counts.visited == counts.pairs || k == 2);
            arena_free(m.arena);
        }
}

static void library(void)
{
    for (const struct library_spec *s = library_specs; s->name; s++) {
        for (int linear = 0; linear < 2; linear++) {
            struct made m;
            if (make(&m, s->text, linear)) {
                struct counts counts = count(&m, 1, 1, 700, 700);
                if (!(counts.flops > 0 && counts.work >= counts.flops && counts.bytes > 0))
                    printf("%s: %g FLOPs, work %g\n", s->name, counts.flops, counts.work);
                CU_ASSERT_TRUE(counts.flops > 0 && counts.work >= counts.flops && counts.bytes > 0);
            }
            arena_free(m.arena);
        }
    }
}

static void ranks(void)
{
    const struct link link = {1e6, 1};
    CU_ASSERT_DOUBLE_EQUAL(chain_seconds(1, 4, 40, 8e6, &link), 40, 1e-9);
    /* slices of 10 s and messages of 3 s: the last of 3 ranks begins after 26 s */
    CU_ASSERT_DOUBLE_EQUAL(chain_seconds(3, 4, 40, 8e6, &link), 2 * (10 + 3) + 40, 1e-9);
    /* messages of 21 s are slower than slices */
    CU_ASSERT_DOUBLE_EQUAL(chain_seconds(2, 4, 40, 80e6, &link), 10 + 21 + 3 * 21 + 10, 1e-9);
    /* a state of a slice takes 3 seconds to send and 6 to join; five times, one after the other */
    CU_ASSERT_DOUBLE_EQUAL(joined_seconds(3, 4, 12, 40, 8e6, &link, 1e6), 12 + 5 * (3 + 6) + 40, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(joined_seconds(1, 4, 12, 40, 8e6, &link, 1e6), 40, 1e-9);
    /* the sums over all keys go back in five messages of 3 s, after all ranks have summed their keys */
    CU_ASSERT_DOUBLE_EQUAL(total_seconds(3, 4, 40, 7, 8e6, false, &link, 1e6), 2 * (10 + 3) + 40 + 5 * 3 + 7, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(total_seconds(3, 4, 40, 7, 8e6, true, &link, 1e6), 40 + 5 * (3 + 6) + 5 * 3 + 7, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(total_seconds(1, 4, 40, 7, 8e6, false, &link, 1e6), 47, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ring_seconds(0, 7, 0, 0, &link), 7, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ring_seconds(2, 7, 20, 4e6, &link), 7 + 10 + 10, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ring_seconds(2, 7, 20, 40e6, &link), 21 + 21 + 10, 1e-9);
}

int main(void)
{
    static const struct unit_test tests[] = {
        {"count/pairs", pairs_of_masks},     {"count/pairs_sampled", pairs_that_are_too_many},
        {"count/visited", work_of_visited},  {"count/formulas", flops_of_formulas},
        {"count/choices", flops_of_choices}, {"count/heads", grouped_heads},
        {"count/library", library},          {"count/ranks", ranks},
        {"count/best_keys", best_keys}};
    return unit_tests_run("count", tests, sizeof tests / sizeof *tests);
}
