/* Functions for delta.py: the kernel written by hand for several heads, and one pass over memory. FLOOR is the file of
   that kernel, with `head` and `struct pairs`. */
#define main floor_main
#include FLOOR
#undef main

size_t floor_scratch(int n, int heads)
{
    return sizeof(struct pairs) * (size_t)heads * (size_t)(n / T);
}

void floor_forward(int n, int heads, int threads, const float *q, const float *k, const float *v, const float *gate,
                   const float *beta, float *out, struct pairs *scratch)
{
    const size_t each = (size_t)n * D;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int h = 0; h < heads; h++)
        head(n, q + h * each, k + h * each, v + h * each, gate + (size_t)h * n, beta + (size_t)h * n, out + h * each,
             scratch + (size_t)h * (n / T));
}

/* Reads and writes each number once. */
void pass_over(long count, int threads, float *x, float by)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (long i = 0; i < count; i++) x[i] *= by;
}
