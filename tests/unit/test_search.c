/* Tests the search of `attnc tune`: its points, and how close it gets to the optimum of artificial landscapes. */
#include "compiler/schedule/schedule.h"
#include "search_landscape.h"
#include "suite.h"

static const struct landscape *landscape_called(const char *name)
{
    for (int l = 0; l < landscape_count; l++)
        if (strcmp(landscapes[l].name, name) == 0) return &landscapes[l];
    abort();
}

/* ---- points that a search tries ---- */

enum { MAX_ASKED = 5000 };
struct asked {
    int count;
    int64_t number[MAX_ASKED];
    int samples[MAX_ASKED];
};

/* Runs a search to its end. Records its points in *a. If `broken`, every point crashes. */
static void ask_all(const struct landscape *l, const struct search_request *request, bool broken, struct asked *a)
{
    struct search *s = search_open(request);
    struct tune_point p;
    int samples;
    a->count = 0;
    while (search_next(s, &p, &samples)) {
        CU_ASSERT_FATAL(a->count < MAX_ASKED);
        a->number[a->count] = point_number(request->space, &p);
        a->samples[a->count++] = samples;
        struct tune_result result = {.status = TUNE_REFUSED};
        if (!broken) result = landscape_measure(l, &p, samples, request->seed);
        search_tell(s, &p, &result);
        free(result.sample);
    }
    CU_ASSERT_FALSE(search_next(s, &p, &samples)); /* a search that has ended stays ended */
    search_close(s);
}

static struct search_request request_of(const struct landscape *l, uint64_t seed, int64_t trials)
{
    return (struct search_request){.space = &l->space,
                                   .seed = seed,
                                   .trials = trials,
                                   .expected = landscape_expects,
                                   .user = (void *)(uintptr_t)l};
}

static bool same(const struct asked *a, const struct asked *b)
{
    const size_t count = (size_t)a->count;
    return a->count == b->count && memcmp(a->number, b->number, count * sizeof *a->number) == 0 &&
           memcmp(a->samples, b->samples, count * sizeof *a->samples) == 0;
}

/* Checks that every point is in the space and is not the default. If `again`, a point may be repeated with more
 * samples. */
static void expect_proper(const struct tune_space *space, const struct asked *a, bool again)
{
    const struct tune_point by_default = point_default(space);
    int wrong = 0, repeated = 0;
    for (int k = 0; k < a->count; k++) {
        wrong += a->number[k] < 0 || a->number[k] >= space_points(space) ||
                 a->number[k] == point_number(space, &by_default) || a->samples[k] < 1;
        for (int j = 0; j < k; j++)
            repeated += a->number[j] == a->number[k] && (!again || a->samples[j] >= a->samples[k]);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(repeated, 0);
}

static void test_order(void)
{
    static struct asked a, b, c;
    for (int n = 0; n < UNIT_TIMES(landscape_count); n++) {
        const struct landscape *l = &landscapes[n];
        struct search_request request = request_of(l, 5, 60);
        ask_all(l, &request, false, &a);
        ask_all(l, &request, false, &b);
        request.seed = UINT64_MAX - 5;
        ask_all(l, &request, false, &c);
        CU_ASSERT_EQUAL(a.count, 60);
        CU_ASSERT_TRUE(same(&a, &b));
        CU_ASSERT_FALSE(same(&a, &c));
        expect_proper(&l->space, &a, true);
    }
}

static void test_limits(void)
{
    static const int64_t limits[] = {1, 2, 3, 7, 40, 200};
    static struct asked a;
    const struct landscape *l = landscape_called("crashing");
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
        const struct search_request request = request_of(l, 2, limits[k]);
        ask_all(l, &request, false, &a);
        CU_ASSERT_EQUAL(a.count, limits[k]);
        expect_proper(&l->space, &a, true);
    }
    const struct search_request no_limit = request_of(l, 2, 0);
    ask_all(l, &no_limit, false, &a);
    CU_ASSERT(a.count >= 20);
    expect_proper(&l->space, &a, true);
}

/* Tests spaces with fewer points than trials, down to one point. */
static void test_small_spaces(void)
{
    static const struct landscape small[] = {
        {"one", {1, {{.name = "tile_q", .values = 1, .value = {64}}}}, valley, valley_expected, 0.02},
        {"two", {1, {{.name = "pack", .values = 2, .default_at = 1, .value = {0, 1}}}}, valley, valley_expected, 0.02},
        {"none", {0}, valley, valley_expected, 0.02},
        {"six",
         {3,
          {{.name = "tile_q", .values = 3, .default_at = 1, .value = {16, 32, 64}},
           {.name = "tile_k", .values = 1, .value = {64}},
           {.name = "pack", .values = 2, .value = {0, 1}}}},
         valley,
         valley_expected,
         0.02}};
    static struct asked a;
    for (size_t n = 0; n < sizeof small / sizeof *small; n++)
        for (int64_t trials = 0; trials < 60; trials += 50) {
            const struct search_request request = {.space = &small[n].space, .seed = 1, .trials = trials};
            ask_all(&small[n], &request, true, &a);
            CU_ASSERT_EQUAL(a.count, space_points(&small[n].space) - 1); /* failed points are not tried again */
            expect_proper(&small[n].space, &a, false);
        }
}

static double nothing_expected(const struct tune_space *s, const struct tune_point *p)
{
    const double odd[] = {NAN, INFINITY, -1, 0, 3};
    return odd[point_number(s, p) % 5];
}
static double same_expected(const struct tune_space *s, const struct tune_point *p)
{
    (void)s;
    (void)p;
    return 1;
}

/* Tests cost models that do not help: they are NaN, infinite, negative, or equal for all points. */
static void test_odd_models(void)
{
    static struct asked a, b;
    struct landscape odd = *landscape_called("choices");
    struct search_request request = request_of(&odd, 1, 150);
    odd.expected = nothing_expected;
    ask_all(&odd, &request, false, &a);
    CU_ASSERT_EQUAL(a.count, 150);
    expect_proper(&odd.space, &a, true);
    odd.expected = same_expected;
    ask_all(&odd, &request, false, &a);
    request.expected = NULL;
    ask_all(&odd, &request, false, &b);
    CU_ASSERT_TRUE(same(&a, &b));
    CU_ASSERT_EQUAL(a.count, 150);
}

/* If every point fails, a search continues to its maximum of trials, without repetition. */
static void test_all_fail(void)
{
    static struct asked a;
    const struct landscape *l = landscape_called("valley");
    const struct search_request request = request_of(l, 1, 120);
    ask_all(l, &request, true, &a);
    CU_ASSERT_EQUAL(a.count, 120);
    expect_proper(&l->space, &a, false);
}

/* Tests a space with too many points to list. A second search has more trials than are kept. */
static void test_large_space(void)
{
    static struct asked a, b;
    struct landscape large = {"large", {MAX_KNOBS, {{.name = "", .values = 0}}}, valley, valley_expected, 0.02};
    for (int k = 0; k < MAX_KNOBS; k++) {
        large.space.knob[k] = (struct tune_knob){.name = "knob", .values = MAX_KNOB_VALUES, .default_at = 5};
        for (int v = 0; v < MAX_KNOB_VALUES; v++) large.space.knob[k].value[v] = 16 * (v + 1);
    }
    const struct search_request in_large = request_of(&large, 1, 60);
    ask_all(&large, &in_large, false, &a);
    ask_all(&large, &in_large, false, &b);
    CU_ASSERT_EQUAL(a.count, 60);
    CU_ASSERT_TRUE(same(&a, &b));
    expect_proper(&large.space, &a, true);
    const struct landscape *l = landscape_called("valley");
    const struct search_request request = request_of(l, 1, 4000);
    ask_all(l, &request, false, &a);
    CU_ASSERT(a.count >= space_points(&l->space) - 1);
    expect_proper(&l->space, &a, true);
}

/* ---- results of searches ---- */

enum { SEEDS = UNIT_TIMES(6) };

/* Returns the number of searches whose point is more than 3% slower than the optimum. */
static int misses(const struct landscape *l, bool random)
{
    const double best = landscape_best(l);
    int missed = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const double found = landscape_search(l, random, seed, space_points(&l->space) / 4);
        CU_ASSERT_FALSE(isnan(found));
        missed += !(found <= 1.03 * best);
    }
    return missed;
}

static void test_near(void)
{
    int random = 0;
    for (int n = 0; n < landscape_count; n++) {
        CU_ASSERT_EQUAL(misses(&landscapes[n], false), 0);
        random += misses(&landscapes[n], true);
    }
    /* The landscapes are not too easy: random choice often misses their optimum. */
    CU_ASSERT(random >= SEEDS);
}

static double wide(const struct tune_space *s, const struct tune_point *p)
{
    double sum = 1;
    for (int k = 0; k < s->knobs; k++) sum += 0.05 * pow(octaves(s, p, k, 96 << k % 3), 2);
    return sum;
}

/* Searches also get close to the optimum in a space with too many points to list. */
static void test_near_in_large_space(void)
{
    struct landscape large = {"large", {.knobs = 5}, wide, same_expected, 0.01};
    for (int k = 0; k < large.space.knobs; k++) {
        large.space.knob[k] = (struct tune_knob){.name = "knob", .values = 12, .default_at = 2};
        for (int v = 0; v < 12; v++)
            large.space.knob[k].value[v] = INT64_C(16) << v / 2 | (v % 2 ? INT64_C(8) << v / 2 : 0);
    }
    const double best = landscape_best(&large);
    const uint64_t seeds = UNIT_TIMES(3);
    double drawn = 0, max = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        max = fmax(max, landscape_search(&large, false, seed, 200) / best - 1);
        drawn += landscape_search(&large, true, seed, 200) / best - 1;
    }
    CU_ASSERT(max <= 0.03);
    CU_ASSERT(drawn / (double)seeds > 0.05); /* the space is not too easy */
}

/* The search tries fewer crashing points than random choice. */
static void test_avoids_crashes(void)
{
    static struct asked a;
    const struct landscape *l = landscape_called("crashing");
    const struct search_request request = request_of(l, 4, 140);
    int drawn = 0, crashes = 0;
    ask_all(l, &request, false, &a);
    for (int k = 0; k < a.count; k++) {
        const struct tune_point p = point_of(&l->space, a.number[k]), q = point_of(&l->space, landscape_drawn(l, 4, k));
        crashes += l->seconds(&l->space, &p) == INFINITY;
        drawn += l->seconds(&l->space, &q) == INFINITY;
    }
    CU_ASSERT(drawn > 10);
    CU_ASSERT(4 * crashes < 3 * drawn);
}

int main(void)
{
    static const struct unit_test tests[] = {{"search_order", test_order},
                                             {"search_limits", test_limits},
                                             {"search_small_spaces", test_small_spaces},
                                             {"search_odd_models", test_odd_models},
                                             {"search_all_fail", test_all_fail},
                                             {"search_large_space", test_large_space},
                                             {"search_near", test_near},
                                             {"search_near_in_large_space", test_near_in_large_space},
                                             {"search_avoids_crashes", test_avoids_crashes}};
    return unit_tests_run("search", tests, sizeof tests / sizeof *tests);
}
