/* Successive halving (Jamieson and Talwalkar, 2016). The first round measures many points with few samples. Each later
   round has three quarters as many trials. A later round measures
   - the best third of the points of the previous round, with three times as many samples;
   - a few points that may have been unlucky: their confidence interval begins below the best score;
   - new points: neighbours of the best points, then points of the pool. */
#include "search.h"
#include "strategy.h"
#include "../../support/support.h"
#include "../result.h"
#include "../space.h"

#include <math.h>
#include <stdlib.h>

enum { POOL = 4096, MIN_TRIALS = 64 };

/* A point that was measured or is in this round. */
struct look {
    int64_t number;
    /* `score` is the log of the ratio. Less is better. `low` is the lower end of the confidence interval of `score`. */
    double score, low;
    int samples;
};
struct halving {
    struct search_request request;
    struct search_pool pool;
    /* `ranked` counts the points taken from the cost model's order. `drawn` counts the points taken at random. If
       `turns` is odd, the next point is random. */
    int ranked, drawn, turns;
    int64_t left;      /* the number of trials left */
    struct look *look; /* all points that were measured, and the default point */
    int looks;
    struct look *round; /* the points of this round: points to measure again, then new points */
    /* `size` is the length of `round`. `at` is the next point to measure. */
    int size, at;
};

static bool in_round(const struct halving *h, int64_t number)
{
    for (int k = 0; k < h->size; k++)
        if (h->round[k].number == number) return true;
    return false;
}

static bool known(const struct halving *h, int64_t number)
{
    for (int k = 0; k < h->looks; k++)
        if (h->look[k].number == number) return true;
    return in_round(h, number);
}

static bool add(struct halving *h, int64_t number)
{
    if (known(h, number)) return false;
    h->round[h->size++] = (struct look){number, INFINITY, INFINITY, FEW_SAMPLES};
    return true;
}

/* Adds a new point of the pool to the round, alternately from the cost model's order and at random. Returns false if
   no new point is left. */
static bool add_from_pool(struct halving *h)
{
    const int count = h->pool.count;
    while (h->ranked < count || h->drawn < count) {
        const bool draw = h->ranked == count || (h->drawn < count && h->turns % 2 == 1);
        const int index = draw ? (int)search_shuffled(h->request.seed, count, h->drawn++) : h->pool.ranked[h->ranked++];
        if (!add(h, h->pool.number[index])) continue;
        h->turns++;
        return true;
    }
    return false;
}

/* Adds neighbours of a point until the round has `size` points. A step is to the next value of a knob.
   - Without `far`, neighbours are one step away in one knob.
   - With `far`, they are two steps away in one knob, or one step in each of two knobs. */
static void add_neighbours(struct halving *h, int64_t number, bool far, int size)
{
    const struct tune_space *space = h->request.space;
    const struct tune_point centre = point_of(space, number);
    for (int a = 0; a < space->knobs; a++)
        for (int b = a; b < (far ? space->knobs : a + 1); b++)
            for (int signs = 0; signs < 4; signs++) {
                struct tune_point p = centre;
                if (!far && signs % 2) continue;
                if (far || a == b) p.at[a] += signs / 2 ? 1 : -1;
                if (far) p.at[b] += a == b ? (signs / 2 ? 1 : -1) : signs % 2 ? 1 : -1;
                const bool inside = p.at[a] >= 0 && p.at[a] < space->knob[a].values && p.at[b] >= 0 &&
                                    p.at[b] < space->knob[b].values;
                if (inside && h->size < size) add(h, point_number(space, &p));
            }
}

static int by_score(const void *a, const void *b)
{
    const struct look *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Adds the point to the round with three times as many samples, unless it already has SURE_SAMPLES. */
static void look_again(struct halving *h, const struct look *look)
{
    if (look->samples >= SURE_SAMPLES) return;
    h->round[h->size] = *look;
    h->round[h->size++].samples = look->samples * 3 > SURE_SAMPLES ? SURE_SAMPLES : look->samples * 3;
}

/* Chooses the points of the next round. Returns false if no point is left to measure. */
static bool begin_round(struct halving *h)
{
    const bool first = h->looks == 1;
    int size = first ? (int)(h->left / 4) : (h->size * 3 + 3) / 4, last = h->size;
    if (size < 1) size = 1;
    if (size > h->left) size = (int)h->left;
    h->size = h->at = 0;
    qsort(h->look, (size_t)h->looks, sizeof *h->look, by_score);
    int stay = first ? 1 : (last + 2) / 3;
    if (stay > h->looks) stay = h->looks;
    while (stay > 0 && h->look[stay - 1].score == INFINITY) stay--;
    for (int k = 0; k < stay && h->size < size && !first; k++) look_again(h, &h->look[k]);
    for (int luckless = 0; luckless <= size / 8 && h->size < size && !first; luckless++) {
        const struct look *rival = NULL;
        for (int k = stay; k < h->looks; k++)
            if (h->look[k].samples < SURE_SAMPLES && h->look[k].low < h->look[0].score &&
                (!rival || h->look[k].low < rival->low) && !in_round(h, h->look[k].number))
                rival = &h->look[k];
        if (rival) look_again(h, rival);
    }
    for (int far = 0; far < 2 && !first; far++)
        for (int k = 0; k < stay; k++) add_neighbours(h, h->look[k].number, far, size);
    while (h->size < size && add_from_pool(h)) {
    }
    return h->size > 0;
}

static void *halving_open(struct arena *arena, const struct search_request *request, const char *argument,
                          const struct options *o)
{
    (void)argument;
    (void)o;
    struct halving *h = arena_alloc(arena, sizeof *h);
    *h = (struct halving){
        .request = *request, .pool = search_pool_make(arena, request, POOL, 0), .left = request->trials};
    /* a point is measured at most three times: with 3, 9 and 21 samples */
    const int64_t max = INT64_C(3) * h->pool.count + 1;
    if (h->left <= 0) h->left = h->pool.count / 4 > MIN_TRIALS ? h->pool.count / 4 : MIN_TRIALS;
    if (h->left > max) h->left = max;
    h->look = arena_alloc(arena, (size_t)(h->left + 1) * sizeof *h->look);
    h->round = arena_alloc(arena, (size_t)(h->left + 1) * sizeof *h->round);
    const struct tune_point by_default = point_default(request->space);
    h->look[h->looks++] = (struct look){point_number(request->space, &by_default), 0, 0, SURE_SAMPLES};
    return h;
}

static enum search_answer halving_next(void *state, struct tune_point *point, int *samples)
{
    struct halving *h = state;
    if (h->left == 0 || (h->at == h->size && !begin_round(h))) return SEARCH_OVER;
    *point = point_of(h->request.space, h->round[h->at].number);
    *samples = h->round[h->at].samples;
    return SEARCH_POINT;
}

static void halving_tell(void *state, const struct tune_point *point, const struct tune_result *result)
{
    struct halving *h = state;
    const int64_t number = point_number(h->request.space, point);
    int k = 0;
    while (k < h->looks && h->look[k].number != number) k++;
    const double score = search_score(result);
    h->look[k] = (struct look){number, score, score == INFINITY ? score : log(tune_gain(result).low),
                               h->round[h->at].samples};
    if (k == h->looks) h->looks++;
    h->at++;
    h->left--;
}

const struct strategy search_halving = {"halving", halving_open, halving_next, halving_tell, NULL};
