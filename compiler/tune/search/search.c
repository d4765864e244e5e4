/* Strategies as one interface, what they share, and the two that learn nothing from results: all points in the cost model's order, and at random. */
#include "../../tune_search.h"

#include "../../../runtime/attnrt.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- random numbers ---- */

uint64_t search_bits(uint64_t seed, uint64_t stream, uint64_t k)
{
    const uint32_t counter[4] = {(uint32_t)k, (uint32_t)(k >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t out[4];
    attn_philox(counter, key, out);
    return (uint64_t)out[1] << 32 | out[0];
}

/* A Feistel network over the least even number of bits that hold all numbers; what falls outside goes round again, which still is a permutation. */
int64_t search_shuffled(uint64_t seed, int64_t count, int64_t k)
{
    int half = 1;
    while (half < 32 && (uint64_t)count > UINT64_C(1) << (2 * half)) half++;
    const uint64_t mask = (UINT64_C(1) << half) - 1;
    uint64_t x = (uint64_t)k;
    do {
        uint64_t left = x >> half, right = x & mask;
        for (uint64_t round = 0; round < 6; round++) {
            const uint64_t mixed = left ^ (search_bits(seed, STREAM_ORDER + round, right) & mask);
            left = right;
            right = mixed;
        }
        x = left << half | right;
    } while (x >= (uint64_t)count);
    return (int64_t)x;
}

/* ---- points ---- */

double search_expected(const struct search_request *request, int64_t number)
{
    if (!request->expected) return INFINITY;
    const struct tune_point point = point_of(request->space, number);
    const double seconds = request->expected(request->user, &point);
    return seconds > 0 && isfinite(seconds) ? log(seconds) : INFINITY;
}

struct ranked {
    double expected;
    int64_t number;
    int index;
};

static int by_expected(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->expected != y->expected) return x->expected < y->expected ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

struct search_pool search_pool_make(struct arena *arena, const struct search_request *request, int most, int room)
{
    const int64_t points = space_points(request->space);
    const struct tune_point usual_point = point_usual(request->space);
    const int64_t usual = point_number(request->space, &usual_point), seen = points <= most ? points : most;
    struct search_pool pool = {0};
    pool.number = arena_alloc(arena, (size_t)(seen + room + 1) * sizeof *pool.number);
    pool.expected = arena_alloc(arena, (size_t)(seen + room + 1) * sizeof *pool.expected);
    pool.ranked = arena_alloc(arena, (size_t)(seen + 1) * sizeof *pool.ranked);
    struct ranked *ranked = arena_alloc(arena, (size_t)(seen + 1) * sizeof *ranked);
    for (int64_t k = 0; k < seen; k++) {
        const int64_t number = points <= most ? k : search_shuffled(request->seed, points, k);
        if (number == usual) continue;
        pool.number[pool.count] = number;
        pool.expected[pool.count] = search_expected(request, number);
        ranked[pool.count] = (struct ranked){pool.expected[pool.count], number, pool.count};
        pool.count++;
    }
    qsort(ranked, (size_t)pool.count, sizeof *ranked, by_expected);
    for (int k = 0; k < pool.count; k++) pool.ranked[k] = ranked[k].index;
    return pool;
}

double search_score(const struct tune_result *result)
{
    if (result->status != TUNE_MEASURED) return INFINITY;
    const double ratio = tune_gain(result).ratio;
    return ratio > 0 && isfinite(ratio) ? log(ratio) : INFINITY;
}

static void learn_nothing(void *state, const struct tune_point *point, const struct tune_result *result)
{
    (void)state;
    (void)point;
    (void)result;
}

/* ---- exhaustive: every point but the usual one, whose ratio is 1 by definition ---- */

enum { MOST_EXHAUSTIVE = 1 << 16 };
struct exhaustive {
    const struct tune_space *space;
    struct search_pool pool;
    int told;
};

static void *exhaustive_open(struct arena *arena, const struct search_request *request, const char *argument, const struct options *o)
{
    (void)argument;
    const int64_t points = space_points(request->space);
    if (points > MOST_EXHAUSTIVE) {
        complain(o, "the space has %" PRId64 " schedules; --strategy=exhaustive ranks up to %d before it begins: random, halving and model take more", points,
                 MOST_EXHAUSTIVE);
        return NULL;
    }
    struct exhaustive *x = arena_alloc(arena, sizeof *x);
    *x = (struct exhaustive){.space = request->space, .pool = search_pool_make(arena, request, MOST_EXHAUSTIVE, 0)};
    return x;
}

static enum search_answer exhaustive_next(void *state, struct tune_point *point, int *samples)
{
    struct exhaustive *x = state;
    if (x->told == x->pool.count) return SEARCH_OVER;
    *point = point_of(x->space, x->pool.number[x->pool.ranked[x->told++]]);
    *samples = TRIAL_SAMPLES;
    return SEARCH_POINT;
}

static const struct strategy search_exhaustive = {"exhaustive", exhaustive_open, exhaustive_next, learn_nothing, NULL};

/* ---- random: the same points in a shuffled order ---- */

struct random {
    const struct tune_space *space;
    uint64_t seed;
    int64_t points, usual, next;
};

static void *random_open(struct arena *arena, const struct search_request *request, const char *argument, const struct options *o)
{
    (void)argument;
    (void)o;
    struct random *x = arena_alloc(arena, sizeof *x);
    const struct tune_point usual = point_usual(request->space);
    *x = (struct random){request->space, request->seed, space_points(request->space), point_number(request->space, &usual), 0};
    return x;
}

static enum search_answer random_next(void *state, struct tune_point *point, int *samples)
{
    struct random *x = state;
    int64_t number = x->usual;
    while (number == x->usual) {
        if (x->next == x->points) return SEARCH_OVER;
        number = search_shuffled(x->seed, x->points, x->next++);
    }
    *point = point_of(x->space, number);
    *samples = TRIAL_SAMPLES;
    return SEARCH_POINT;
}

static const struct strategy search_random = {"random", random_open, random_next, learn_nothing, NULL};

/* ---- the interface ---- */

#define STRATEGIES(ROW) ROW(exhaustive) ROW(random) ROW(halving) ROW(model)
#define NAME(name) #name,
#define ADDRESS(name) &search_##name,
const char *const search_names[] = {STRATEGIES(NAME) NULL};
static const struct strategy *const strategies[] = {STRATEGIES(ADDRESS)};
enum { STRATEGY_COUNT = sizeof strategies / sizeof *strategies };

struct search {
    struct arena *arena;
    const struct strategy *strategy;
    void *state;
    struct search_request request;
    int64_t asked;
    bool over;
};

/* NULL after a message. */
static const struct strategy *strategy_find(const char *name, const struct options *o)
{
    const struct strategy *strategy = NULL;
    for (int k = 0; k < STRATEGY_COUNT; k++)
        if (strcmp(name, strategies[k]->name) == 0) strategy = strategies[k];
    if (strncmp(name, "pipe:", 5) == 0) strategy = &search_pipe;
    if (!strategy) {
        struct text all = {0};
        for (int k = 0; k < STRATEGY_COUNT; k++) text_add(&all, "%s, ", strategies[k]->name);
        complain(o, "--strategy: '%s' is none of %spipe:COMMAND", name, all.data);
        const char *near = nearest_word(name, search_names);
        if (near) fprintf(stderr, "attnc: note: did you mean '%s'?\n", near);
        text_free(&all);
    }
    return strategy;
}

bool search_known(const char *name, const struct options *o)
{
    return strategy_find(name, o) != NULL;
}

struct search *search_open(const char *name, const struct search_request *request, const struct options *o)
{
    const struct strategy *strategy = strategy_find(name, o);
    const char *argument = strchr(name, ':');
    if (!strategy) return NULL;
    struct arena *arena = arena_new();
    struct search *s = arena_alloc(arena, sizeof *s);
    struct tune_space *space = arena_alloc(arena, sizeof *space);
    *space = *request->space;
    *s = (struct search){.arena = arena, .strategy = strategy, .request = *request};
    s->request.space = space;
    s->state = strategy->open(arena, &s->request, argument ? argument + 1 : NULL, o);
    if (s->state) return s;
    arena_free(arena);
    return NULL;
}

bool search_next(struct search *s, struct tune_point *point, int *samples, bool *failed)
{
    enum search_answer answer = SEARCH_OVER;
    /* A command says itself when it is done, and is told when it asks for too much. */
    const bool enough = s->strategy != &search_pipe && s->request.trials > 0 && s->asked >= s->request.trials;
    if (!s->over && !enough) answer = s->strategy->next(s->state, point, samples);
    s->over = answer != SEARCH_POINT;
    s->asked += !s->over;
    *failed = answer == SEARCH_FAILED;
    return !s->over;
}

void search_tell(struct search *s, const struct tune_point *point, const struct tune_result *result)
{
    s->strategy->tell(s->state, point, result);
}

void search_close(struct search *s)
{
    if (!s) return;
    if (s->strategy->close) s->strategy->close(s->state);
    arena_free(s->arena);
}
