/* Artificial landscapes for tests of searches. A landscape is a space of knobs with a known time for each
   point, so the optimum is known. */
#ifndef ATTNC_TESTS_SEARCH_LANDSCAPE_H
#define ATTNC_TESTS_SEARCH_LANDSCAPE_H

#include "compiler/support/support.h"
#include "compiler/tune/run.h"
#include "compiler/tune/search.h"
#include "runtime/attnrt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct landscape {
    const char *name;
    struct tune_space space;
    double (*seconds)(const struct tune_space *,
                      const struct tune_point *); /* the time without noise, or infinity for a crash */
    double (*expected)(const struct tune_space *, const struct tune_point *); /* the cost model's prediction, which
                                                                                 differs from the time */
    double noise;                                                             /* the relative noise of a sample */
};

/* ---- numbers ---- */

static double landscape_uniform(uint32_t a, uint32_t b, uint32_t c)
{
    const uint32_t counter[4] = {a, b, c, 7}, key[2] = {11, 13};
    uint32_t out[4];
    attn_philox(counter, key, out);
    return ((double)out[0] + 0.5) / 4294967296.0;
}

static double landscape_normal(uint32_t a, uint32_t b, uint32_t c)
{
    return sqrt(-2 * log(landscape_uniform(a, b, 2 * c))) * cos(6.283185307179586 * landscape_uniform(a, b, 2 * c + 1));
}

static double knob_value(const struct tune_space *s, const struct tune_point *p, int k)
{
    return (double)s->knob[k].value[p->at[k]];
}

static double octaves(const struct tune_space *s, const struct tune_point *p, int k, double from)
{
    return log2(knob_value(s, p, k) / from);
}

/* ---- landscapes ---- */

/* A valley in the times. A step along the valley changes two knobs together. */
static double valley(const struct tune_space *s, const struct tune_point *p)
{
    const double a = octaves(s, p, 0, 112), b = octaves(s, p, 1, 300), along = a + b, across = a - b;
    return exp(0.05 * along * along + 0.12 * across * across);
}
static double valley_expected(const struct tune_space *s, const struct tune_point *p)
{
    const double a = octaves(s, p, 0, 64), b = octaves(s, p, 1, 128);
    return exp(0.1 * a * a + 0.1 * b * b);
}

/* Larger tiles reduce overheads but must fit into a cache. More unrolling spills registers. */
static double cache(const struct tune_space *s, const struct tune_point *p)
{
    const double q = knob_value(s, p, 0), k = knob_value(s, p, 1), unroll = knob_value(s, p, 2);
    const double bytes = 4 * (q * 64 * 2 + k * 64 * 2 + q * k), over = bytes / 400e3,
                 spilled = unroll * q / 16 > 24 ? 0.15 : 0;
    return 1 + 9 / q + 14 / k + 0.2 / unroll + 0.02 * unroll + 0.5 / (1 + exp(-6 * log2(over))) + spilled;
}
static double cache_expected(const struct tune_space *s, const struct tune_point *p)
{
    const double q = knob_value(s, p, 0), k = knob_value(s, p, 1);
    return 1 + 5 / q + 5 / k + (q * k * 4 > 128e3 ? 0.4 : 0);
}

/* A rugged landscape: the time jumps with the tile size, because the last tile is padded. Each point has a random
   offset of up to 2%. */
static double rugged(const struct tune_space *s, const struct tune_point *p)
{
    const double q = knob_value(s, p, 0), k = knob_value(s, p, 1), chunk = octaves(s, p, 2, 512), n = 8200;
    const double padded = ceil(n / q) * q / n * ceil(n / k) * k / n,
                 luck = landscape_uniform((uint32_t)point_number(s, p), 1, 2);
    const double a = log2(q / 80), b = log2(k / 220);
    return padded * (1 + 0.03 * a * a + 0.04 * b * b + 0.03 * a * b + 0.03 * chunk * chunk) * (1 + 0.02 * luck);
}
static double rugged_expected(const struct tune_space *s, const struct tune_point *p)
{
    const double a = octaves(s, p, 0, 128), b = octaves(s, p, 1, 128);
    return 1 + 0.05 * a * a + 0.05 * b * b;
}

/* The best points are next to points that crash. Of all other points, 6% crash. */
static double crashing(const struct tune_space *s, const struct tune_point *p)
{
    const double q = knob_value(s, p, 0), k = knob_value(s, p, 1), unroll = octaves(s, p, 2, 4);
    if (q * k > 40000 || landscape_uniform((uint32_t)point_number(s, p), 3, 4) < 0.06) return INFINITY;
    return 1 + 20 / q + 20 / k + 0.04 * unroll * unroll + 0.02 * fabs(log2(q / k));
}
static double crashing_expected(const struct tune_space *s, const struct tune_point *p)
{
    return 1 + 1 / knob_value(s, p, 0) + 1 / knob_value(s, p, 1);
}

/* Five knobs. The values of the last two have no order. The fourth moves the optimum of the third. */
static double choices(const struct tune_space *s, const struct tune_point *p)
{
    const double q = octaves(s, p, 0, 128), k = octaves(s, p, 1, 256), unroll = octaves(s, p, 2, p->at[3] ? 8 : 2);
    const double axis[] = {0.25, 0, 0.1};
    return (1 + 0.06 * q * q + 0.04 * k * k + 0.05 * unroll * unroll + (p->at[3] ? 0 : 0.08)) *
           (1 + axis[p->at[4]] * (1 + 0.2 * q));
}
static double choices_expected(const struct tune_space *s, const struct tune_point *p)
{
    const double q = octaves(s, p, 0, 64), k = octaves(s, p, 1, 128);
    return 1 + 0.05 * q * q + 0.05 * k * k + (p->at[3] ? 0.05 : 0);
}
/* A misleading cost model: it predicts the inverse of the time. */
static double misled_expected(const struct tune_space *s, const struct tune_point *p)
{
    return 1 / valley(s, p);
}

#define TILES_16 {16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512}
#define TILES_12 {16, 32, 48, 64, 96, 128, 160, 192, 256, 320, 384, 512}
static const struct landscape landscapes[] = {
    {"valley",
     {2,
      {{.name = "tile_q", .values = 16, .default_at = 3, .value = TILES_16},
       {.name = "tile_k", .values = 20, .default_at = 7, .value = {16,  32,  48,  64,  80,  96,  112,
                                                                   128, 160, 192, 224, 256, 288, 320,
                                                                   384, 448, 512, 640, 768, 1024}}}},
     valley,
     valley_expected,
     0.02},
    {"misled",
     {2,
      {{.name = "tile_q", .values = 16, .default_at = 3, .value = TILES_16},
       {.name = "tile_k", .values = 16, .default_at = 7, .value = TILES_16}}},
     valley,
     misled_expected,
     0.01},
    {"cache",
     {3,
      {{.name = "tile_q", .values = 12, .default_at = 3, .value = TILES_12},
       {.name = "tile_k", .values = 16, .default_at = 5, .value = TILES_16},
       {.name = "unroll", .values = 4, .default_at = 1, .value = {1, 2, 4, 8}}}},
     cache,
     cache_expected,
     0.01},
    {"rugged",
     {3,
      {{.name = "tile_q", .values = 12, .default_at = 5, .value = TILES_12},
       {.name = "tile_k", .values = 16, .default_at = 5, .value = TILES_16},
       {.name = "chunk", .values = 5, .default_at = 2, .value = {128, 256, 512, 1024, 2048}}}},
     rugged,
     rugged_expected,
     0.01},
    {"crashing",
     {3,
      {{.name = "tile_q", .values = 12, .default_at = 2, .value = TILES_12},
       {.name = "tile_k", .values = 12, .default_at = 2, .value = TILES_12},
       {.name = "unroll", .values = 4, .default_at = 0, .value = {1, 2, 4, 8}}}},
     crashing,
     crashing_expected,
     0.01},
    {"choices",
     {5,
      {{.name = "tile_q", .values = 6, .default_at = 2, .value = {16, 32, 64, 128, 256, 512}},
       {.name = "tile_k", .values = 6, .default_at = 3, .value = {32, 64, 128, 256, 512, 1024}},
       {.name = "unroll", .values = 4, .default_at = 0, .value = {1, 2, 4, 8}},
       {.name = "pack", .values = 2, .default_at = 0, .value = {0, 1}},
       {.name = "parallel", .values = 3, .default_at = 0, .value = {0, 1, 2}}}},
     choices,
     choices_expected,
     0.01},
};
enum { landscape_count = sizeof landscapes / sizeof *landscapes };

/* Returns the time of the point divided by that of the default point, without noise. */
static double landscape_true(const struct landscape *l, const struct tune_point *p)
{
    const struct tune_point by_default = point_default(&l->space);
    return l->seconds(&l->space, p) / l->seconds(&l->space, &by_default);
}

static double landscape_best(const struct landscape *l)
{
    double best = INFINITY;
    for (int64_t k = 0; k < space_points(&l->space); k++) {
        const struct tune_point p = point_of(&l->space, k);
        best = fmin(best, landscape_true(l, &p));
    }
    return best;
}

static double landscape_expects(void *user, const struct tune_point *p)
{
    const struct landscape *l = user;
    return l->expected(&l->space, p);
}

/* Returns the number of a random point. */
static int64_t landscape_drawn(const struct landscape *l, uint64_t seed, int64_t k)
{
    return (int64_t)(landscape_uniform((uint32_t)seed, 5, (uint32_t)k) * (double)space_points(&l->space));
}

/* Simulates a measurement with noisy samples. Equal arguments give equal samples. One sample in thirty takes 1.5 times
 * as long. */
static struct tune_result landscape_measure(const struct landscape *l, const struct tune_point *p, int samples,
                                            uint64_t seed)
{
    const double ratio = landscape_true(l, p);
    struct tune_result result = {.status = isfinite(ratio) ? TUNE_MEASURED : TUNE_CRASHED,
                                 .samples = isfinite(ratio) ? samples : 0};
    result.sample = calloc((size_t)samples, sizeof *result.sample);
    const uint32_t number = (uint32_t)point_number(&l->space, p);
    for (int k = 0; k < result.samples && result.sample; k++) {
        const uint32_t what = 4 * (uint32_t)k, which = (uint32_t)seed;
        const double disturbed = landscape_uniform(number, which, 1000000 + what) < 1.0 / 30 ? 1.5 : 1;
        result.sample[k].seconds = 1e-3 * ratio * disturbed * exp(l->noise * landscape_normal(number, which, what));
        result.sample[k].default_seconds = 1e-3 * exp(l->noise * landscape_normal(number, which, what + 1));
    }
    return result;
}

/* Runs a search, or draws points at random, and chooses the point with the best noisy median. Returns the time of that
   point without noise. */
static double landscape_search(const struct landscape *l, bool random, uint64_t seed, int64_t trials)
{
    const struct search_request request = {.space = &l->space,
                                           .seed = seed,
                                           .trials = trials,
                                           .expected = landscape_expects,
                                           .user = (void *)(uintptr_t)l};
    struct search *s = search_open(&request);
    const int64_t points = space_points(&l->space);
    double *ratio = calloc((size_t)points, sizeof *ratio), chosen = NAN, min = INFINITY;
    struct tune_point p;
    int samples = 7;
    for (int64_t k = 0; k < points; k++) ratio[k] = INFINITY;
    p = point_default(&l->space);
    ratio[point_number(&l->space, &p)] = 1;
    int64_t asked = 0;
    while (random ? asked < trials : search_next(s, &p, &samples)) {
        if (random) p = point_of(&l->space, landscape_drawn(l, seed, asked));
        struct tune_result result = landscape_measure(l, &p, samples, seed);
        if (!random) search_tell(s, &p, &result);
        ratio[point_number(&l->space, &p)] = result.status == TUNE_MEASURED ? tune_gain(&result).ratio : INFINITY;
        free(result.sample);
        asked++;
    }
    for (int64_t k = 0; k < points; k++)
        if (ratio[k] < min) {
            min = ratio[k];
            p = point_of(&l->space, k);
            chosen = landscape_true(l, &p);
        }
    free(ratio);
    search_close(s);
    return trials > 0 && asked > trials ? NAN : chosen;
}

#endif
