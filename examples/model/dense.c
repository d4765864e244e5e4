/* Matrix products of the model. Threads share the rows. Each element is computed by one thread in a fixed order, so
 * the bits do not depend on the number of threads. */
#include "model.h"

/* A function with EACH_MACHINE is compiled for several processors. The dynamic loader picks a version. */
#if defined(__x86_64__) && defined(__GNUC__)
#define EACH_MACHINE __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define EACH_MACHINE
#endif

/* With fewer than FEW_ROWS rows, waking threads takes longer than the work. */
enum { ROWS_A_BLOCK = 256, ROWS_AT_ONCE = 8, FEW_ROWS = 4 };

/* c[j] += sum over x < count of a[x * a_step] * b[x * m + j], for all j < m. */
EACH_MACHINE static void add_rows(float *restrict c, const float *restrict a, int64_t a_step, const float *restrict b,
                                  int64_t count, int64_t m)
{
    int64_t x = 0;
    for (; x + 4 <= count; x += 4) {
        const float a0 = a[x * a_step], a1 = a[(x + 1) * a_step], a2 = a[(x + 2) * a_step], a3 = a[(x + 3) * a_step];
        const float *b0 = b + x * m, *b1 = b0 + m, *b2 = b1 + m, *b3 = b2 + m;
#ifdef _OPENMP
#pragma omp simd
#endif
        for (int64_t j = 0; j < m; j++) c[j] += a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j];
    }
    for (; x < count; x++)
        for (int64_t j = 0; j < m; j++) c[j] += a[x * a_step] * b[x * m + j];
}

void dense_product(float *c, const float *a, const float *b, int64_t n, int64_t k, int64_t m, bool adds, int threads)
{
    (void)threads; /* not used without OpenMP */
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(static) if (n > FEW_ROWS)
#endif
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; !adds && j < m; j++) c[i * m + j] = 0;
        add_rows(c + i * m, a + i * k, 1, b, k, m);
    }
}

void dense_weight_gradient(float *c, const float *a, const float *b, int64_t n, int64_t k, int64_t m, int threads)
{
    (void)threads;
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(static)
#endif
    for (int64_t turn = 0; turn < k; turn += ROWS_AT_ONCE) {
        int64_t end = turn + ROWS_AT_ONCE < k ? turn + ROWS_AT_ONCE : k;
        for (int64_t j = turn * m; j < end * m; j++) c[j] = 0;
        for (int64_t i = 0; i < n; i += ROWS_A_BLOCK)
            for (int64_t row = turn; row < end; row++)
                add_rows(c + row * m, a + i * k + row, k, b + i * m, n - i < ROWS_A_BLOCK ? n - i : ROWS_A_BLOCK, m);
    }
}

void dense_transpose(float *to, const float *from, int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) to[j * rows + i] = from[i * columns + j];
}
