/* Checks kernels that estimate their weights by random features. Computes the same features in float64, and from
   them the weight of every pair. Only one chunk of features is stored. */
#include "next_byte.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1024 };

struct estimate {
    enum features kind;
    int count;
    double *map, *other; /* [HEAD_DIM, count]: the two random matrices of a sketch. For Performer, `map` has random
                            directions as columns and `other` is NULL */
};

/* Sums over the keys j that a query sees: of w[j], of w[j] * v[j], and of w[j] * |v[j]|. */
struct row_sums {
    double weight, value[HEAD_DIM], absolute[HEAD_DIM];
};

static const struct attn_param *find_param(const struct attn_kernel *kernel, const char *name)
{
    for (int k = 0; k < kernel->params; k++)
        if (!strcmp(kernel->param[k].name, name)) return &kernel->param[k];
    return NULL;
}

/* Returns a parameter [HEAD_DIM, count] in float64, or NULL. If `turned`, the parameter is [count, HEAD_DIM] and is
 * transposed. */
static double *widen(const struct attn_param *p, const void *params, int count, bool turned)
{
    const float *from;
    memcpy(&from, (const char *)params + p->offset, sizeof from);
    double *to = malloc(sizeof *to * HEAD_DIM * (size_t)count);
    for (int d = 0; to && d < HEAD_DIM; d++)
        for (int c = 0; c < count; c++) to[d * count + c] = from[turned ? c * HEAD_DIM + d : d * count + c];
    return to;
}

static bool estimate_open(struct estimate *e, const struct prepared *p)
{
    bool sketch = e->kind == FEATURES_SKETCH;
    const struct attn_param *one = find_param(p->kernel, sketch ? "sketch.g1" : "features.w"),
                            *two = sketch ? find_param(p->kernel, "sketch.g2") : NULL;
    if (!one || (sketch && !two) || one->shape[sketch ? 1 : 0] > MOST_FEATURES) {
        fprintf(stderr, "next_byte: error: %s has other parameters than its features need\n", p->kernel->name);
        return false;
    }
    e->count = (int)one->shape[sketch ? 1 : 0];
    e->map = widen(one, p->params, e->count, !sketch);
    e->other = two ? widen(two, p->params, e->count, false) : NULL;
    if (e->map && (e->other || !two)) return true;
    fprintf(stderr, "next_byte: error: out of memory\n");
    return false;
}

static void product(const double *x, const double *map, int count, double *out)
{
    for (int c = 0; c < count; c++) out[c] = 0;
    for (int d = 0; d < HEAD_DIM; d++)
        for (int c = 0; c < count; c++) out[c] += x[d] * map[d * count + c];
}

/* Computes the features sqrt(1 / r) (x G1) (x G2) of PolySketchFormer, algorithm 1 for degree 4, r = count. The
 * weight of a pair is the square of their inner product. */
static void sketch(const struct estimate *e, const float *row, double *out, double *scratch)
{
    double x[HEAD_DIM];
    for (int d = 0; d < HEAD_DIM; d++) x[d] = (double)row[d];
    product(x, e->map, e->count, out);
    product(x, e->other, e->count, scratch);
    for (int c = 0; c < e->count; c++) out[c] *= scratch[c] / sqrt(e->count);
}

/* Computes Performer's features: exp(W x' - |x'|^2 / 2) / sqrt(count) with x' = layernorm(x) / D^(1/4). */
static void favor(const struct estimate *e, const float *row, double *out)
{
    const double size = HEAD_DIM;
    double x[HEAD_DIM], mean = 0, variance = 0, half = 0;
    for (int d = 0; d < HEAD_DIM; d++) mean += (double)row[d] / size;
    for (int d = 0; d < HEAD_DIM; d++) variance += ((double)row[d] - mean) * ((double)row[d] - mean) / size;
    for (int d = 0; d < HEAD_DIM; d++) {
        x[d] = ((double)row[d] - mean) / sqrt(variance + 1e-5) / pow(size, 0.25);
        half += x[d] * x[d] / 2;
    }
    product(x, e->map, e->count, out);
    for (int c = 0; c < e->count; c++) out[c] = exp(out[c] - half) / sqrt(e->count);
}

/* Computes out [rows, count]: the features of the positions at[0], at[1], …. If `at` is NULL, the positions are
   first, first + 1, … */
static void features_of(const struct estimate *e, const struct text_vectors *t, int64_t first, const int64_t *at,
                        int rows, double *out, int threads)
{
    (void)threads; /* not used without OpenMP */
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads)
#endif
    for (int k = 0; k < rows; k++) {
        double scratch[MOST_FEATURES];
        const float *row = t->context + (at ? at[k] : first + k) * HEAD_DIM;
        if (e->kind == FEATURES_SKETCH)
            sketch(e, row, out + (int64_t)k * e->count, scratch);
        else
            favor(e, row, out + (int64_t)k * e->count);
    }
}

/* Adds the keys first … first + keys - 1 to the sums *s of a query. `q` and `k` have the features of the query and
 * of these keys. */
static void add_keys(const struct estimate *e, const struct text_vectors *t, const double *q, const double *k,
                     int64_t first, int64_t keys, struct row_sums *s)
{
    for (int64_t j = 0; j < keys; j++) {
        double w = 0;
        const float *v = t->value + (first + j) * HEAD_DIM;
#ifdef _OPENMP
#pragma omp simd reduction(+ : w)
#endif
        for (int c = 0; c < e->count; c++) w += q[c] * k[j * e->count + c];
        if (e->kind == FEATURES_SKETCH) w *= w;
        s->weight += w;
        for (int d = 0; d < HEAD_DIM; d++) {
            s->value[d] += w * (double)v[d];
            s->absolute[d] += w * fabs((double)v[d]);
        }
    }
}

static double row_error(const struct row_sums *s, const float *got)
{
    double scale = 0, error = 0;
    for (int d = 0; d < HEAD_DIM; d++) {
        double off = fabs((double)got[d] - (s->weight != 0 ? s->value[d] / s->weight : 0));
        if (!(off <= error)) error = isnan(off) ? INFINITY : off;
        scale = fmax(scale, s->weight != 0 ? s->absolute[d] / s->weight : 0);
    }
    return scale > 0 ? error / scale : error;
}

double features_error(enum features kind, const struct prepared *p, const struct text_vectors *t, const float *out,
                      int rows, int threads)
{
    struct estimate e = {.kind = kind};
    double worst = -1, *q = NULL, *k = NULL;
    struct row_sums *sums = calloc((size_t)rows, sizeof *sums);
    int64_t *at = calloc((size_t)rows, sizeof *at);
    if (!estimate_open(&e, p)) goto done;
    q = malloc(sizeof *q * (size_t)rows * (size_t)e.count);
    k = malloc(sizeof *k * CHUNK * (size_t)e.count);
    if (!sums || !at || !q || !k) {
        fprintf(stderr, "next_byte: error: out of memory\n");
        goto done;
    }
    for (int r = 0; r < rows; r++)
        at[r] = sampled_row(t, r, rows) + 1; /* row i of the output is for the query at position i + 1 */
    features_of(&e, t, 0, at, rows, q, threads);
    for (int64_t first = 0; first < t->length - 1; first += CHUNK) {
        int keys = (int)(t->length - 1 - first < CHUNK ? t->length - 1 - first : CHUNK);
        features_of(&e, t, first, NULL, keys, k, threads);
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
#endif
        for (int r = 0; r < rows; r++) {
            int64_t seen = at[r] - first < keys ? at[r] - first : keys;
            if (seen > 0) add_keys(&e, t, q + (int64_t)r * e.count, k, first, seen, &sums[r]);
        }
    }
    worst = 0;
    for (int r = 0; r < rows; r++) worst = fmax(worst, row_error(&sums[r], out + (at[r] - 1) * HEAD_DIM));
done:
    free(e.map);
    free(e.other);
    free(sums);
    free(at);
    free(q);
    free(k);
    return worst;
}
