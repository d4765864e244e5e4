/* Computes attention as a C user writes it with OpenBLAS, for comparison.
 * - Each block takes two calls of sgemm, and loops that the compiler vectorises.
 * - q, k, v and out are [heads, n, 64].
 * - Threads share blocks and heads for softmax, or heads for polysketch. OpenBLAS runs on one thread. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_thread_num(void)
{
    return 0;
}
#endif

enum { D = 64, R = 32, F = R * (R + 1) / 2, V = D + 1, ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

/* This function is declared here, so that OpenBLAS's headers are not needed. */
void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc);
int softmax_causal(int64_t heads, int64_t n, int64_t block, int threads, const float *q, const float *k, const float *v,
                   float *out);
int polysketch_causal(int64_t heads, int64_t n, int64_t block, int threads, int exact, const float *q, const float *k,
                      const float *v, const float *g, float *out);

static void multiply(int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                     int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
    cblas_sgemm(ROW_MAJOR, trans_a, trans_b, (int)m, (int)n, (int)k, alpha, a, (int)lda, b, (int)ldb, beta, c,
                (int)ldc);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static float *floats(int64_t count)
{
    return aligned_alloc(64, ((size_t)count * sizeof(float) + 63) / 64 * 64);
}

/* Computes rows i0 to i1 - 1 of causal softmax attention with the online softmax. `work` has block * (block + 2)
   elements. */
static void softmax_block(int64_t i0, int64_t i1, int64_t block, const float *q, const float *k, const float *v,
                          float *out, float *work)
{
    float *score = work, *top = work + block * block, *sum = top + block;
    for (int64_t i = 0; i < i1 - i0; i++) {
        top[i] = -INFINITY;
        sum[i] = 0;
    }
    memset(out + i0 * D, 0, (size_t)((i1 - i0) * D) * sizeof(float));
    for (int64_t j0 = 0; j0 < i1; j0 += block) {
        const int64_t columns = least(block, i1 - j0);
        multiply(NO_TRANS, TRANS, i1 - i0, columns, D, 0.125f, q + i0 * D, D, k + j0 * D, D, 0, score, block);
        for (int64_t i = i0; i < i1; i++) {
            float *row = score + (i - i0) * block, *to = out + i * D;
            const int64_t seen = least(columns, i + 1 - j0);
            float largest = top[i - i0], total = 0;
            for (int64_t j = 0; j < seen; j++) largest = row[j] > largest ? row[j] : largest;
            for (int64_t j = 0; j < seen; j++) {
                row[j] = expf(row[j] - largest);
                total += row[j];
            }
            for (int64_t j = seen; j < columns; j++) row[j] = 0;
            if (largest > top[i - i0]) {
                const float factor = expf(top[i - i0] - largest);
                for (int64_t e = 0; e < D; e++) to[e] *= factor;
                sum[i - i0] *= factor;
                top[i - i0] = largest;
            }
            sum[i - i0] += total;
        }
        multiply(NO_TRANS, NO_TRANS, i1 - i0, D, columns, 1, score, block, v + j0 * D, D, 1, out + i0 * D, D);
    }
    for (int64_t i = i0; i < i1; i++) {
        const float factor = 1 / sum[i - i0];
        for (int64_t e = 0; e < D; e++) out[i * D + e] *= factor;
    }
}

/* Returns 0, or -1 if out of memory. */
int softmax_causal(int64_t heads, int64_t n, int64_t block, int threads, const float *q, const float *k, const float *v,
                   float *out)
{
    const int64_t blocks = (n + block - 1) / block, size = block * (block + 2);
    float *work = floats(size * threads);
    if (!work) return -1;
#pragma omp parallel num_threads(threads)
    {
        float *mine = work + omp_get_thread_num() * size;
        /* The last blocks see the most keys, so they come first. */
#pragma omp for schedule(dynamic, 1)
        for (int64_t task = 0; task < heads * blocks; task++) {
            const int64_t h = task % heads, b = blocks - 1 - task / heads, at = h * n * D;
            softmax_block(b * block, least(n, (b + 1) * block), block, q + at, k + at, v + at, out + at, mine);
        }
    }
    free(work);
    return 0;
}

/* sketch[i] = (x[i] G1) * (x[i] G2) / sqrt(R), element by element.
   - g [64, 2 R]: the columns of G1, then of G2
   - halves [rows, 2 R]: memory for both products */
static void sketch_rows(int64_t rows, const float *x, const float *g, float *halves, float *sketch)
{
    const float factor = 1 / sqrtf(R);
    multiply(NO_TRANS, NO_TRANS, rows, 2 * R, D, 1, x, D, g, 2 * R, 0, halves, 2 * R);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t a = 0; a < R; a++) sketch[i * R + a] = factor * halves[i * 2 * R + a] * halves[i * 2 * R + R + a];
}

/* Computes the features of a row s. They are s[a] * s[b] for a <= b, multiplied by `twice` if a < b. */
static void feature_rows(int64_t rows, const float *sketch, float twice, float *feature)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *s = sketch + i * R;
        float *to = feature + i * F;
        for (int64_t a = 0; a < R; a++) {
            const float left = twice * s[a];
            *to++ = s[a] * s[a];
            for (int64_t c = a + 1; c < R; c++) *to++ = left * s[c];
        }
    }
}

/* Computes one head block by block. Pairs in one block are computed directly. Earlier keys are in the state [F, E +
   1], the sums of features times values. */
static void polysketch_head(int64_t n, int64_t block, int exact, const float *q, const float *k, const float *v,
                            const float *g, float *out, float *work)
{
    float *state = work, *feature = state + F * V, *halves = feature + block * F, *sq = halves + block * 2 * R,
          *sk = sq + block * R, *score = sk + block * R;
    float *value = score + block * block, *sum = value + block * V;
    memset(state, 0, (size_t)(F * V) * sizeof(float));
    for (int64_t i0 = 0; i0 < n; i0 += block) {
        const int64_t rows = least(block, n - i0);
        sketch_rows(rows, q + i0 * D, g, halves, sq);
        sketch_rows(rows, k + i0 * D, g, halves, sk);
        for (int64_t i = 0; i < rows; i++) {
            memcpy(value + i * V, v + (i0 + i) * D, D * sizeof(float));
            value[i * V + D] = 1;
        }
        if (exact)
            multiply(NO_TRANS, TRANS, rows, rows, D, 1, q + i0 * D, D, k + i0 * D, D, 0, score, block);
        else
            multiply(NO_TRANS, TRANS, rows, rows, R, 1, sq, R, sk, R, 0, score, block);
        for (int64_t i = 0; i < rows; i++) {
            float *row = score + i * block;
            for (int64_t j = 0; j < rows; j++) {
                const float square = row[j] * row[j], weight = exact ? square * square : square;
                row[j] = j <= i ? weight : 0;
            }
        }
        multiply(NO_TRANS, NO_TRANS, rows, V, rows, 1, score, block, value, V, 0, sum, V);
        if (i0 > 0) {
            feature_rows(rows, sq, 2, feature);
            multiply(NO_TRANS, NO_TRANS, rows, V, F, 1, feature, F, state, V, 1, sum, V);
        }
        for (int64_t i = 0; i < rows; i++) {
            const float factor = 1 / (1 + sum[i * V + D]);
            for (int64_t e = 0; e < D; e++) out[(i0 + i) * D + e] = sum[i * V + e] * factor;
        }
        if (i0 + block < n) {
            feature_rows(rows, sk, 1, feature);
            multiply(TRANS, NO_TRANS, F, V, rows, 1, feature, F, value, V, 1, state, V);
        }
    }
}

/* If `exact`, the weight of a pair in the same block is <q, k>^4. Otherwise the sketch estimates it. g [64, 2 * 32]
 * has G1 and then G2. Returns 0, or -1 if out of memory. */
int polysketch_causal(int64_t heads, int64_t n, int64_t block, int threads, int exact, const float *q, const float *k,
                      const float *v, const float *g, float *out)
{
    const int64_t size = (F * V + block * (F + 4 * R + block + 2 * V) + 15) / 16 * 16;
    float *work = floats(size * threads);
    if (!work) return -1;
#pragma omp parallel num_threads(threads)
    {
        float *mine = work + omp_get_thread_num() * size;
#pragma omp for schedule(dynamic, 1)
        for (int64_t h = 0; h < heads; h++)
            polysketch_head(n, block, exact, q + h * n * D, k + h * n * D, v + h * n * D, g, out + h * n * D, mine);
    }
    free(work);
    return 0;
}
