/* Tests the analysis of regions, the pairs of query and key that a mask allows. Compares ranges of keys with the
   definition, on random regions. Checks the number of visited pairs of masks. */
#include "compiler/analysis/analysis.h"
#include "compiler/cost/cost.h"
#include "compiler/pass/pass.h"
#include "compiler/schedule/schedule.h"
#include "compiler/spec/spec.h"
#include "compiler/target/target.h"
#include "compiler/variant/variant.h"
#include "runtime/attnrt.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

enum { I, J, G, M, AXES, REGIONS = 6000, LONGEST = 44 };

static uint64_t state = 1;
static int64_t below(int64_t n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((state >> 33) % (uint64_t)n);
}

/* ---- random regions ---- */

static const struct expr *block_of(struct module *m, const struct expr *x, int64_t block)
{
    const struct expr *k = expr_int(m, block);
    return expr_make(m, EXPR_DIV, expr_make(m, EXPR_SUB, x, expr_make(m, EXPR_FLOORMOD, x, k, NULL), NULL), k, NULL);
}

static const struct expr *position(struct module *m)
{
    const struct expr *shift = expr_make(m, EXPR_SUB, expr_leaf(m, EXPR_SIZE, J), expr_leaf(m, EXPR_SIZE, I), NULL);
    return expr_make(m, EXPR_ADD, expr_leaf(m, EXPR_INDEX, I), shift, NULL);
}

/* Returns the number of a query head. size(M) query heads share one key/value head. */
static const struct expr *head(struct module *m)
{
    return expr_make(m, EXPR_ADD, expr_make(m, EXPR_MUL, expr_leaf(m, EXPR_INDEX, G), expr_leaf(m, EXPR_SIZE, M), NULL),
                     expr_leaf(m, EXPR_INDEX, M), NULL);
}

static const struct expr *random_region(struct module *m, int depth);

static const struct expr *random_number(struct module *m, int depth)
{
    const struct expr *j = expr_leaf(m, EXPR_INDEX, J);
    if (depth <= 0 || below(4) == 0) switch (below(6)) {
        case 0: return expr_int(m, below(30) - 9);
        case 1: return expr_leaf(m, EXPR_INDEX, I);
        case 2: return position(m);
        case 3: return below(2) ? head(m) : expr_leaf(m, EXPR_INDEX, J);
        default: return j;
        }
    const struct expr *a = random_number(m, depth - 1);
    int64_t k = below(9) + 1;
    switch (below(14)) {
    case 0: return expr_make(m, EXPR_ADD, a, random_number(m, depth - 1), NULL);
    case 1:
    case 2: return expr_make(m, EXPR_SUB, a, random_number(m, depth - 1), NULL);
    case 3: return expr_make(m, EXPR_MUL, a, expr_int(m, k - 5), NULL);
    case 4:
    case 5: return block_of(m, a, k);
    case 6: return expr_make(m, EXPR_FLOORMOD, a, expr_int(m, k), NULL);
    case 7: return expr_make(m, EXPR_DIV, a, expr_int(m, k), NULL);
    case 8: return expr_make(m, EXPR_MOD, a, expr_int(m, k), NULL);
    case 9: return expr_make(m, below(2) ? EXPR_MIN : EXPR_MAX, a, random_number(m, depth - 1), NULL);
    case 10: return expr_make(m, EXPR_ABS, a, NULL, NULL);
    case 11: {
        static const enum expr_op bits[] = {EXPR_BIT_AND, EXPR_BIT_OR, EXPR_BIT_XOR};
        return expr_make(m, bits[below(3)], a, random_number(m, depth - 1), NULL);
    }
    case 12: return expr_make(m, below(2) ? EXPR_SHIFT_LEFT : EXPR_SHIFT_RIGHT, a, expr_int(m, k - 3), NULL);
    default: return expr_make(m, EXPR_SELECT, random_region(m, depth - 1), a, random_number(m, depth - 1));
    }
}

static const struct expr *random_region(struct module *m, int depth)
{
    static const enum expr_op comparison[] = {EXPR_LE, EXPR_LT, EXPR_EQ, EXPR_NE};
    int64_t turn = depth <= 0 ? 9 : below(12);
    if (turn < 3) return expr_make(m, EXPR_AND, random_region(m, depth - 1), random_region(m, depth - 1), NULL);
    if (turn < 6) return expr_make(m, EXPR_OR, random_region(m, depth - 1), random_region(m, depth - 1), NULL);
    if (turn == 6) return expr_make(m, EXPR_NOT, random_region(m, depth - 1), NULL, NULL);
    int64_t block = below(9) + 1;
    const struct expr *blocks = expr_make(
        m, EXPR_ADD, block_of(m, expr_make(m, EXPR_SUB, expr_leaf(m, EXPR_SIZE, J), expr_int(m, 1), NULL), block),
        expr_int(m, 1), NULL);
    if (turn == 7)
        return expr_drawn(m, block_of(m, position(m), block), block_of(m, expr_leaf(m, EXPR_INDEX, J), block), blocks,
                          (struct draw){.count = below(4) + 1, .seed = (uint64_t)below(100), .upto = below(2)});
    return expr_make(m, comparison[below(4)], random_number(m, depth - 1), random_number(m, depth - 1), NULL);
}

/* ---- comparison with the definition ---- */

static bool drawn_in(const struct expr *d, const struct environment *env, int64_t *index, int64_t j, bool every)
{
    index[J] = j;
    for (index[G] = env->lo[G]; index[G] < env->hi[G]; index[G]++)
        for (index[M] = env->lo[M]; index[M] < env->hi[M]; index[M]++)
            for (index[I] = env->lo[I]; index[I] < env->hi[I]; index[I]++)
                if ((expr_eval_int(d, env) != 0) != every) return !every;
    return every;
}

static bool in_ranges(const struct ranges *r, const struct environment *env, int64_t *index, int64_t j, bool every)
{
    for (int k = 0; k < r->count; k++) {
        if (r->range[k].from && j < expr_eval_int(r->range[k].from, env)) continue;
        if (r->range[k].to && j >= expr_eval_int(r->range[k].to, env)) continue;
        if (!r->range[k].drawn || drawn_in(r->range[k].drawn, env, index, j, every)) return true;
    }
    return false;
}

static const char *wrong_at(const struct expr *region, const struct ranges *reach, const struct ranges *whole)
{
    int64_t size[AXES] = {below(LONGEST) + 1, below(LONGEST) + 1, below(4) + 1, below(4) + 1}, lo[AXES], hi[AXES],
            index[AXES];
    for (int a = 0; a < AXES; a++) {
        lo[a] = below(size[a]);
        hi[a] = lo[a] + 1 + (a < G || below(2) ? below(size[a] - lo[a]) : 0);
    }
    lo[J] = 0;
    hi[J] = size[J];
    const struct environment env = {.index = index, .size = size, .lo = lo, .hi = hi};
    for (int64_t j = 0; j < size[J]; j++) {
        bool some = false, every = true;
        index[J] = j;
        for (index[G] = lo[G]; index[G] < hi[G]; index[G]++)
            for (index[M] = lo[M]; index[M] < hi[M]; index[M]++)
                for (index[I] = lo[I]; index[I] < hi[I]; index[I]++) {
                    bool holds = expr_eval_int(region, &env) != 0;
                    some |= holds;
                    every &= holds;
                }
        if (some && !in_ranges(reach, &env, index, j, false)) return "an index of the region is not reached";
        if (!every && in_ranges(whole, &env, index, j, true)) return "an index is taken to be wholly inside";
    }
    return NULL;
}

static void test_sound(void)
{
    for (int n = 0; n < REGIONS; n++) {
        struct arena *arena = arena_new();
        struct module *m = module_new(arena, "random", DTYPE_F32);
        module_axis(m, "i", SIZE_N_Q, 0);
        module_axis(m, "j", SIZE_N_K, 0);
        module_axis(m, "g", SIZE_KV_HEADS, 0);
        module_axis(m, "m", SIZE_MEMBERS, 0);
        const struct expr *region = random_region(m, 4);
        struct ranges reach, whole;
        region_ranges(m, region, J, false, &reach);
        region_ranges(m, region, J, true, &whole);
        const char *wrong = NULL;
        for (int k = 0; k < 8 && !wrong; k++) wrong = wrong_at(region, &reach, &whole);
        CU_ASSERT_PTR_NULL(wrong);
        if (wrong) {
            struct text text = {0};
            expr_print(m, region, NULL, NULL, NULL, &text);
            printf("# %s: %s\n", wrong, text.data);
            text_free(&text);
        }
        arena_free(arena);
        if (wrong) return;
    }
}

/* ---- visited pairs ---- */

struct case_of {
    const char *mask;
    int64_t n_q, n_k, max, tested; /* The mean per query may not exceed these limits. `max` limits visited keys.
                                    * `tested` limits keys in tiles whose pairs are tested one by one. */
};

/* A tile of queries visits every key that one of its queries sees. So a window is wider by a tile. */
static const struct case_of cases[] = {
    {"none", 4096, 4096, 4096, 4096},
    {"causal", 4096, 4096, 2048 + 64, 160},
    {"window: {left: 128}", 4096, 4096, 128 + 64, 128 + 64},
    {"window: {left: 512, right: 512}", 4096, 4096, 1024 + 64, 320},
    {"window: {left: 128, right: 128, dilation: 4}", 4096, 4096, 256 + 64, 256 + 64},
    {"window: {left: 128, right: 128, dilation: 4}", 4093, 4099, 256 + 64, 256 + 64},
    {"window: {left: 40, right: 40, dilation: 7}", 4096, 4096, 80 + 64, 80 + 64},
    {"any: [{window: {left: 128, right: 128, dilation: 4}}, {global: {count: 1}}]", 4096, 4096, 256 + 64 + 1 + 64,
     256 + 64 + 1 + 64},
    {"expr: \"j <= i && (i - j < 64 || j % 64 >= 60)\"", 4096, 4096, 128 + 128 + 8, 128 + 128 + 8},
    {"expr: \"j <= i && (i - j < 64 || j % 64 >= 60)\"", 4000, 4096, 128 + 134 + 8, 128 + 134 + 8},
    {"expr: \"(i - j) % 4 == 0\"", 4096, 4096, 1024, 0},
    {"expr: \"j <= i && (i - j) % 64 == 0\"", 4096, 4096, 32 + 32, 64},
    {"expr: \"j <= i && (i - j < 128 || (i - j) % 128 == 0)\"", 4096, 4096, 660, 660},
    {"expr: \"j <= i && j % 1024 < 128\"", 4096, 4096, 256 + 64, 64},
    {"expr: \"j <= i && (i - j) % 512 < 8\"", 4096, 4096, 4096 / 2 / 512 * 71 + 71, 4096 / 2 / 512 * 71 + 71},
    {"expr: \"j % 64 >= 4\"", 4096, 4096, 4096, 4096},
    {"expr: \"i % 64 == j % 64\"", 4096, 4096, 64, 0},
    {"expr: \"i % 64 == j % 64\"", 4096, 4000, 160, 160},
    {"expr: \"j <= i && i % 64 == j % 64\"", 4096, 4096, 64, 64},
    {"expr: \"i / 64 - j / 64 <= 3 && i % 64 - j % 64 <= 3 && j / 64 - i / 64 <= 3 && j % 64 - i % 64 <= 3\"", 4096,
     4096, 154, 154},
    {"expr: \"i / 64 - j / 64 <= 3 && i % 64 - j % 64 <= 3 && j / 64 - i / 64 <= 3 && j % 64 - i % 64 <= 3\"", 4000,
     4096, 154, 154},
    {"expr: \"i / 56 - j / 56 <= 3 && i % 56 - j % 56 <= 3 && j / 56 - i / 56 <= 3 && j % 56 - i % 56 <= 3\"", 3136,
     3136, 154, 154},
    {"expr: \"i / 256 - j / 256 <= 3 && i % 256 - j % 256 <= 3 && j / 256 - i / 256 <= 3 && j % 256 - i % 256 <= 3\"",
     16384, 16384, 154, 154},
    {"expr: \"i / 64 - j / 64 <= 3 && i % 64 - j % 64 <= 3 && j / 64 - i / 64 <= 3 && j % 64 - i % 64 <= 3 && j <= i\"",
     4096, 4096, 100, 100},
    {"expr: \"fabs(j / 64 - fmin(fmax(i / 64, 3), 60)) <= 3 && fabs(j % 64 - fmin(fmax(i % 64, 3), 60)) <= 3\"", 4096,
     4096, 154, 154},
    {"expr: \"fabs(j / 64 - fmin(fmax(i / 64, 6), 57)) <= 6 && fabs(j % 64 - fmin(fmax(i % 64, 6), 57)) <= 6\"", 4096,
     4096, 494, 494},
    {"block_window: {block: 64, left: 1, right: 1}", 4096, 4096, 192, 0},
    {"block_window: {block: 256}", 4096, 4096, 256, 0},
    {"block_window: {block: 100, left: 1}", 4096, 4096, 264, 192},
    {"all: [causal, {block_window: {block: 256}}]", 4096, 4096, 160, 130},
    {"prefix: {length: 100}", 4096, 4096, 100, 0},
    {"any: [causal, {prefix: {length: 100}}]", 4096, 4096, 2048 + 66, 160},
    {"all: [causal, {any: [{window: {left: 512}}, {prefix: {length: 4}}]}]", 4096, 4096, 512 + 68, 330},
    {"any: [{window: {left: 128, right: 128}}, {global: {count: 1}}]", 4096, 4096, 256 + 65 + 64, 256 + 65 + 64},
    {"any: [{window: {left: 128, right: 128}}, {global: {tokens: [7, 1000, 2000, 2001]}}]", 4096, 4096, 320 + 4 + 192,
     320 + 4 + 192},
    {"global: {count: 64}", 4096, 4096, 64 + 64, 0},
    {"random: {block: 64, count: 3}", 4096, 4096, 192, 0},
    {"random: {block: 64, count: 3, causal: true}", 4096, 4096, 192, 0},
    {"any: [{block_window: {block: 64, left: 1, right: 1}}, {global: {count: 128}}, {random: {block: 64, count: 3}}]",
     4096, 4096, 192 + 256 + 192, 0},
    {"any: [{block_window: {block: 64, left: 1, right: 1}}, {global: {count: 128}}, {random: {block: 64, count: 3}}]",
     16384, 16384, 192 + 256 + 192, 0},
    {"any: [{block_window: {block: 64, left: 1, right: 1}}, {global: {count: 128}}, {random: {block: 64, count: 3}}]",
     4096, 4100, 2 * 640, 2 * 640},
    {"random: {block: 16, count: 3}", 4096, 4096, 48, 0},
    {"not: {window: {left: 2048, right: 2048}}", 4096, 4096, 1024 + 64, 160},
    {"all: [causal, {not: {window: {left: 5}}}]", 4096, 4096, 2048 + 64, 200},
    {"all: [{prefix: {length: 10}}, {not: {prefix: {length: 20}}}]", 4096, 4096, 0, 0},
};

/* Problems with 8 heads in two groups. The heads of a group share their keys. */
static const struct case_of cases_of_heads[] = {
    {"expr: \"j <= i && (h >= 4 || i - j < 256)\"", 4096, 4096, (2048 + 256) / 2 + 64, 220},
    {"expr: \"j <= i && i - j < 64 * (h + 1)\"", 4096, 4096, 32 * 9 + 64, 240},
    {"expr: \"h % 2 == 0 ? j <= i : j == 0\"", 4096, 4096, (2048 + 1) / 2 + 64, 90},
    {"expr: \"h / 2 == 1 && j <= i\"", 4096, 4096, 2048 / 4 + 64, 40},
};

static void visit_all(const struct case_of *list, size_t count, int64_t kv_heads, int64_t members)
{
    for (size_t n = 0; n < count; n++) {
        const struct case_of *k = &list[n];
        const int64_t rows = kv_heads * members * k->n_q;
        struct arena *arena = arena_new();
        const char *text = arena_printf(
            arena, "similarity: softmax\nshape: {head_dim: 16}\nschedule: {tile_k: 144}\nmask: %s%s%s\n",
            strchr(k->mask, ':') ? "{" : "", k->mask, strchr(k->mask, ':') ? "}" : "");
        struct diagnostics *d = diagnostics_new(arena, "visits", text, strlen(text));
        const struct spec *spec = spec_read(arena, "visits.yaml", text, strlen(text), 0, NULL, d);
        struct compilation c = {.spec = spec,
                                .schedule = spec ? spec->schedule : NULL,
                                .target = target_find("x86-64-v3"),
                                .diagnostics = d};
        c.source = c.graph = spec ? build_graph(arena, spec, COUNT_CALL, d) : NULL;
        struct visits seen = {0, 0, 0};
        bool made = c.graph && passes_run(&c, NULL, NULL);
        CU_ASSERT(made);
        const struct problem_size size = {1, kv_heads, members, k->n_q, k->n_k};
        struct visited counted = {0};
        if (made) CU_ASSERT_PTR_NULL(loops_visits(c.loops, &size, &seen));
        if (made) count_visits(c.loops, &size, NULL, &counted);
        CU_ASSERT_TRUE(counted.exact);
        CU_ASSERT_EQUAL((int64_t)counted.pairs, seen.points);
        if ((int64_t)counted.pairs != seen.points)
            printf("# %s: %lld pairs, counted as %.0f\n", k->mask, (long long)seen.points, counted.pairs);
        if (seen.points > k->max * rows || seen.tested > k->tested * rows) {
            printf("# %s: %lld keys a query, %lld tested\n", k->mask, (long long)(seen.points / rows),
                   (long long)(seen.tested / rows));
            CU_FAIL("more is visited");
        }
        diagnostics_flush(d, stdout, false);
        arena_free(arena);
    }
}

static void test_visits(void)
{
    visit_all(cases, sizeof cases / sizeof *cases, 1, 1);
    visit_all(cases_of_heads, sizeof cases_of_heads / sizeof *cases_of_heads, 2, 4);
}

/* ---- ranges of the runtime ---- */

static void test_union(void)
{
    for (int n = 0; n < 2000; n++) {
        struct attn_range range[40], made[40];
        int64_t count = below(40), from = below(20), to = below(120);
        for (int64_t k = 0; k < count; k++) {
            range[k].from = below(140) - 20;
            range[k].to = range[k].from + below(12) - 2;
        }
        memcpy(made, range, sizeof made);
        int64_t left = attn_union(made, count, from, to);
        for (int64_t x = -30; x < 160; x++) {
            bool in = false, found = false;
            for (int64_t k = 0; k < count; k++) in |= x >= from && x < to && x >= range[k].from && x < range[k].to;
            for (int64_t k = 0; k < left; k++) found |= x >= made[k].from && x < made[k].to;
            CU_ASSERT_EQUAL(in, found);
            CU_ASSERT_EQUAL(attn_covers(made, left, x, x + 1), in);
        }
        for (int64_t k = 0; k < left; k++) {
            CU_ASSERT(made[k].from < made[k].to && (k == 0 || made[k - 1].to < made[k].from));
            CU_ASSERT(!attn_covers(made, left, made[k].from, made[k].to + 1));
            CU_ASSERT(attn_covers(made, left, made[k].from, made[k].to));
        }
        CU_ASSERT(attn_covers(made, left, 5, 5));
    }
}

/* Tests masks that read lists of the caller, with repeated and negative numbers. */
static void test_listed(void)
{
    enum { ROWS = 3, COUNT = 5 };
    for (int n = 0; n < 100; n++) {
        int32_t number[ROWS * COUNT];
        int64_t list[ROWS * (COUNT + 1)];
        double data[ROWS * COUNT];
        for (int k = 0; k < ROWS * COUNT; k++) data[k] = number[k] = (int32_t)below(9) - 2;
        struct ids ids = {0};
        ids_add(&ids, "blocks", data, ROWS, COUNT, false);
        const struct draw draw = {.name = "blocks", .count = COUNT};
        struct attn_draw lists = {.count = COUNT, .first = 1, .last = 2, .list = list};
        attn_draw_listed(&lists, number + COUNT);
        for (int64_t a = 1; a < ROWS; a++) {
            for (int64_t b = -3; b < 9; b++) {
                CU_ASSERT_EQUAL(attn_drawn(&lists, a, b), draw_holds(&draw, &ids, a, b, 0));
                CU_ASSERT_EQUAL(ids_any(&ids, "blocks", a, a + 1, b, b + 1) && b >= 0,
                                draw_holds(&draw, &ids, a, b, 0));
            }
            const int64_t *const row = list + (a - 1) * (COUNT + 1);
            for (int64_t k = 1; k < row[0]; k++) CU_ASSERT(row[k] < row[k + 1]);
        }
        CU_ASSERT(ids_read(&ids, "blocks", 1, COUNT + 3) == number[2 * COUNT - 1]);
        CU_ASSERT(ids_read(&ids, "blocks", 1, -1) == INT64_MIN && !ids.outside);
        CU_ASSERT(!draw_holds(&draw, &ids, ROWS, 0, 0) && ids.outside);
    }
}

static void test_draw(void)
{
    for (int n = 0; n < 300; n++) {
        struct draw draw = {.count = below(n % 5 ? 7 : 90) + 1, .seed = (uint64_t)below(5), .upto = below(2)};
        struct attn_draw lists = {
            .seed = draw.seed, .count = draw.count, .upto = draw.upto, .among = below(100), .first = below(30) - 10};
        lists.last = lists.first + below(5);
        lists.list = attn_alloc((size_t)((lists.last - lists.first + 1) * (draw.count + 1)) * sizeof *lists.list);
        CU_ASSERT_PTR_NOT_NULL_FATAL(lists.list);
        attn_draw(&lists);
        for (int64_t a = lists.first; a <= lists.last; a++) {
            int64_t among = draw.upto ? a + 1 : lists.among, found = 0;
            for (int64_t b = -2; b < 120; b++) {
                CU_ASSERT_EQUAL(attn_drawn(&lists, a, b), draw_holds(&draw, NULL, a, b, lists.among));
                found += attn_drawn(&lists, a, b);
            }
            CU_ASSERT_EQUAL(found, among < 0 ? 0 : among < draw.count ? among : draw.count);
        }
        CU_ASSERT_EQUAL(attn_drawn(&lists, lists.last + 1, 0), 0);
        struct attn_range *range = attn_alloc((size_t)((lists.last - lists.first + 1) * draw.count + 1) *
                                              sizeof *range);
        CU_ASSERT_PTR_NOT_NULL_FATAL(range);
        int64_t block = below(5) + 1, from = below(60) - 10, to = below(400);
        for (int every = 0; every < 2; every++) {
            int64_t count = attn_union(range, attn_drawn_ranges(&lists, block, from, to, every, range), INT64_MIN,
                                       INT64_MAX);
            for (int64_t x = 0; x < 500; x++) {
                bool some = false, all = true;
                for (int64_t a = lists.first; a <= lists.last; a++) {
                    some |= attn_drawn(&lists, a, x / block);
                    all &= attn_drawn(&lists, a, x / block);
                }
                CU_ASSERT_EQUAL(attn_covers(range, count, x, x + 1), (every ? all : some) && x >= from && x < to);
            }
        }
        attn_free(range);
        attn_free(lists.list);
    }
    /* The blocks that tests/numeric/lib/definitions.py draws. */
    static const struct {
        struct draw draw;
        int64_t a, among, drawn[3];
    } known[] = {
        {{.count = 3, .seed = UINT64_C(0)}, 0, 64, {17, 32, 46}},
        {{.count = 3, .seed = UINT64_C(7)}, 5, 64, {1, 40, 42}},
        {{.count = 3, .seed = UINT64_C(18446744073709551615)}, 63, 100, {55, 77, 94}},
        {{.count = 3, .seed = UINT64_C(3)}, -2, 50, {23, 26, 48}},
        {{.count = 3, .seed = UINT64_C(12345678901234567890)}, 1000, 1001, {408, 856, 885}},
    };
    for (size_t n = 0; n < sizeof known / sizeof *known; n++)
        for (int64_t b = 0, k = 0; b < known[n].among; b++) {
            bool wanted = k < 3 && known[n].drawn[k] == b;
            k += wanted;
            CU_ASSERT_EQUAL(draw_holds(&known[n].draw, NULL, known[n].a, b, known[n].among), wanted);
        }
}

int main(void)
{
    static const struct unit_test tests[] = {{"region/sound", test_sound},
                                             {"region/visits", test_visits},
                                             {"region/union", test_union},
                                             {"region/draw", test_draw},
                                             {"region/listed", test_listed}};
    return unit_tests_run("region", tests, sizeof tests / sizeof *tests);
}
