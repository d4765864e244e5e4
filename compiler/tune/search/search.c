/* Finds a strategy by its name and calls it. Also contains the strategies `exhaustive` and `random`, which ignore
   results. */
#include "search.h"
#include "strategy.h"
#include "../../support/support.h"
#include "../result.h"
#include "../space.h"

#include <inttypes.h>
#include <string.h>

/* ---- exhaustive: every point except the default, in ascending order of the predicted time ---- */

enum { MAX_EXHAUSTIVE = 1 << 16 };
struct exhaustive {
    const struct tune_space *space;
    struct search_pool pool;
    int told;
};

static void *exhaustive_open(struct arena *arena, const struct search_request *request, const char *argument,
                             const struct options *o)
{
    (void)argument;
    const int64_t points = space_points(request->space);
    if (points > MAX_EXHAUSTIVE) {
        complain(o,
                 "the space has %" PRId64 " schedules; --strategy=exhaustive ranks all of them first and takes at most "
                 "%d: use random, halving or model",
                 points, MAX_EXHAUSTIVE);
        return NULL;
    }
    struct exhaustive *x = arena_alloc(arena, sizeof *x);
    *x = (struct exhaustive){.space = request->space, .pool = search_pool_make(arena, request, MAX_EXHAUSTIVE, 0)};
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

static const struct strategy search_exhaustive = {"exhaustive", exhaustive_open, exhaustive_next, search_learn_nothing,
                                                  NULL};

/* ---- random: every point except the default one, in random order ---- */

struct random {
    const struct tune_space *space;
    uint64_t seed;
    int64_t points, by_default, next;
};

static void *random_open(struct arena *arena, const struct search_request *request, const char *argument,
                         const struct options *o)
{
    (void)argument;
    (void)o;
    struct random *x = arena_alloc(arena, sizeof *x);
    const struct tune_point by_default = point_default(request->space);
    *x = (struct random){request->space, request->seed, space_points(request->space),
                         point_number(request->space, &by_default), 0};
    return x;
}

static enum search_answer random_next(void *state, struct tune_point *point, int *samples)
{
    struct random *x = state;
    int64_t number = x->by_default;
    while (number == x->by_default) {
        if (x->next == x->points) return SEARCH_OVER;
        number = search_shuffled(x->seed, x->points, x->next++);
    }
    *point = point_of(x->space, number);
    *samples = TRIAL_SAMPLES;
    return SEARCH_POINT;
}

static const struct strategy search_random = {"random", random_open, random_next, search_learn_nothing, NULL};

/* ---- the functions of search.h ---- */

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

/* Returns the strategy with this name. If there is none, prints a message and returns NULL. */
static const struct strategy *strategy_find(const char *name, const struct options *o)
{
    const struct strategy *strategy = NULL;
    for (int k = 0; k < STRATEGY_COUNT; k++)
        if (strcmp(name, strategies[k]->name) == 0) strategy = strategies[k];
    if (strncmp(name, "pipe:", 5) == 0) strategy = &search_pipe;
    if (!strategy) {
        struct text all = {0};
        for (int k = 0; k < STRATEGY_COUNT; k++) text_add(&all, "%s, ", strategies[k]->name);
        complain(o, "--strategy: unknown strategy '%s'; expected one of %spipe:COMMAND", name, all.data);
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
    /* A user's command must end its search itself. If it asks for too many trials, that is an error (pipe.c). */
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
